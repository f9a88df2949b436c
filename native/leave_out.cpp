// Scores from the counts less those of the document that is scored.
#include "scorer.hpp"

// What taking the document away does to the vocabulary and to the number of positions in each class.
Scorer::Held Scorer::held(const Bag& bag, Own own) const {
    const auto& rule = rule_.vocabulary;
    Held out{positions_, vocabulary_, all_positions_, {}, {}, std::vector<bool>(bag.size()), std::vector<std::uint64_t>(bag.size())};
    constexpr std::size_t ahead = 12;
    const auto expect = [&](std::size_t i, auto&& memory) {
        if (i < bag.size() && bag[i].id().term != Shard::absent) memory(bag[i].id());
    };
    for (std::size_t i = 0; i < bag.size(); ++i) {
        expect(i + 2 * ahead, [&](TermId id) { part(id).expect_term_at(id.term); });
        const TermId id = bag[i].id();
        out.inside[i] = id.term != Shard::absent && row(id).inside;
        if (own.label == nobody) continue;
        expect(i + ahead, [&](TermId other) { part(other).expect_cell(other.term, own.label); });
        const Cell* cell = id.term == Shard::absent ? nullptr : part(id).cell(id.term, own.label);
        if (!cell || cell->occurrences < own.times * bag[i].times || cell->documents < own.times)
            throw std::invalid_argument("a document that is to be left out was never learned in its class");
        out.own[i] = cell->occurrences - own.times * bag[i].times;
    }
    if (own.label == nobody) return out;

    // Among the first `drop + distinct terms` of the order are all that can be the most frequent ones now.
    struct Ranked {
        TermId id;
        std::uint64_t total;
        std::size_t entry;
    };
    const auto key = [](TermId id) { return std::uint64_t{id.shard} << 32 | id.term; };
    std::unordered_set<std::uint64_t> dropped;
    if (rule.drop_most_frequent) {
        std::vector<Ranked> ranked;
        std::unordered_set<std::uint64_t> mine;
        for (std::size_t i = 0; i < bag.size(); ++i)
            if (row(bag[i].id()).fits) {
                mine.insert(key(bag[i].id()));
                if (const std::uint64_t less = own.times * bag[i].times; total(bag[i].id()) > less)
                    ranked.push_back({bag[i].id(), total(bag[i].id()) - less, i});
            }
        const std::size_t reach = std::min(frequent_.size(), rule.drop_most_frequent + mine.size());
        for (std::size_t i = 0; i < reach; ++i)
            if (!mine.contains(key(frequent_[i]))) ranked.push_back({frequent_[i], total(frequent_[i]), bag.size()});
        const auto count = std::min(rule.drop_most_frequent, ranked.size());
        std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count), ranked.end(),
                          [&](const Ranked& a, const Ranked& b) { return before(a.id, a.total, b.id, b.total); });
        for (std::size_t i = 0; i < count; ++i) {
            dropped.insert(key(ranked[i].id));
            if (ranked[i].entry == bag.size() && row(ranked[i].id).inside) out.leaving.push_back(ranked[i].id);
        }
        // A dropped term that no document word pushed out stays dropped, unless others fell behind it: only words of
        // this document can fall, so every other term that was dropped is dropped still.
    }
    for (std::size_t i = 0; i < bag.size(); ++i) {
        const TermId id = bag[i].id();
        const std::uint64_t left = total(id) - own.times * bag[i].times;
        const bool inside = row(id).fits && left > 0 && left >= rule.min_count && !dropped.contains(key(id));
        if (row(id).inside && !inside) out.leaving.push_back(id);
        if (!row(id).inside && inside) out.entering.push_back(id);
        out.inside[i] = inside;
    }
    out.vocabulary += out.entering.size();
    out.vocabulary -= out.leaving.size();
    for (const TermId id : out.leaving)
        part(id).each(id.term, [&](const Cell& cell) { out.positions[cell.label] -= cell.occurrences; });
    for (const TermId id : out.entering)
        part(id).each(id.term, [&](const Cell& cell) { out.positions[cell.label] += cell.occurrences; });
    for (std::size_t i = 0; i < bag.size(); ++i)
        if (out.inside[i]) out.positions[own.label] -= own.times * bag[i].times;
    out.all_positions = 0;
    for (const auto n : out.positions) out.all_positions += n;
    return out;
}

Scorer::Summary Scorer::score_without(Bag& bag, Own own, double* scores) const {
    check_unchanged();
    weights_.look_up(terms_.table(), bag, [](TermId) {});
    const Held held = this->held(bag, own);
    Summary out{bag.tokens(), 0};
    for (std::size_t i = 0; i < bag.size(); ++i)
        if (held.inside[i]) out.known += bag[i].times;
    for (std::uint32_t c = 0; c < classes(); ++c) scores[c] = log_prior(c, own);
    if (bernoulli()) bernoulli_without(bag, own, held, scores);
    else multinomial_without(bag, own, held, scores);
    return out;
}

void Scorer::multinomial_without(const Bag& bag, Own own, const Held& held, double* scores) const {
    const double all = m(held.vocabulary), uniform = all / static_cast<double>(held.vocabulary);
    // Where m p of the terms stays what it is, only the class of the document has other weights than are laid out.
    const bool others_stay = smoothed() && !rule_.share && held.entering.empty() && std::log(uniform) == ground_;
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < bag.size(); ++i)
        if (held.inside[i]) length += bag[i].times;
    if (length == 0) return;
    std::vector<double> sums(classes());
    std::vector<std::uint64_t> seen(smoothed() ? 0 : classes());
    std::uint64_t distinct = 0;
    double ground = 0;
    if (others_stay) {
        ground = static_cast<double>(length) * ground_;
        weights_.add(bag, sums.data(), [](const Bag::Term& term) { return static_cast<double>(term.times); });
        for (std::size_t i = 0; i < bag.size(); ++i) {
            const TermId id = bag[i].id();
            const double times = bag[i].times;
            if (held.inside[i]) {
                if (own.label != nobody)
                    sums[own.label] += times * (log_ratio(held.own[i], uniform) - weights_.of_class(id, own.label));
            } else if (weights_.holds(id)) {
                std::uint32_t k = 0;
                part(id).each(id.term, [&](const Cell& cell) { sums[cell.label] -= times * weights_.of(id, cell.label, k++); });
            }
        }
    } else {
        for (std::size_t i = 0; i < bag.size(); ++i) {
            if (!held.inside[i]) continue;
            const double times = bag[i].times;
            const TermId id = bag[i].id();
            const auto left = static_cast<double>(total(id) - own.times * bag[i].times);
            const double mp = rule_.share ? all * left / static_cast<double>(held.all_positions) : uniform;
            ++distinct;
            if (smoothed()) ground += times * std::log(mp);
            part(id).each(id.term, [&](const Cell& cell) {
                const std::uint64_t n = cell.label == own.label ? held.own[i] : cell.occurrences;
                if (n == 0) return;
                sums[cell.label] += times * (smoothed() ? std::log1p(static_cast<double>(n) / mp) : std::log(static_cast<double>(n)));
                if (!smoothed()) ++seen[cell.label];
            });
        }
    }
    for (std::size_t c = 0; c < classes(); ++c) {
        if (!smoothed() && seen[c] < distinct) scores[c] = -std::numeric_limits<double>::infinity();
        else scores[c] += sums[c] + ground - static_cast<double>(length) * std::log(static_cast<double>(held.positions[c]) + all);
    }
}

void Scorer::prepare_without() const {
    absent_without_.resize(classes());
    for (std::uint32_t c = 0; c < classes(); ++c)
        if (documents_[c]) absent_without_[c] = absent_sum(c, documents_[c] - 1);
}

void Scorer::bernoulli_without(const Bag& bag, Own own, const Held& held, double* scores) const {
    const double all = m(held.vocabulary);
    std::vector<LogSum> sums = absent_;
    if (own.times == 1) {
        std::call_once(prepared_, [this] { prepare_without(); });
        sums[own.label] = absent_without_[own.label];
    } else if (own.label != nobody) {
        sums[own.label] = absent_sum(own.label, documents_[own.label] - own.times);
    }
    const auto documents = [&](std::size_t c) { return documents_[c] - (c == own.label ? own.times : 0); };

    // The share of a term in `sums`: taken out for terms that leave, put in for terms that enter.
    const auto change = [&](TermId id, bool enters) {
        std::vector<std::uint64_t> with(classes());
        part(id).each(id.term, [&](const Cell& cell) { with[cell.label] = cell.documents; });
        for (std::size_t c = 0; c < classes(); ++c) {
            if (with[c] > documents(c)) continue;  // a word of this document, not in the sum of its class
            if (enters) sums[c].add(absent_factor(with[c], documents(c)));
            else sums[c].remove(absent_factor(with[c], documents(c)));
        }
    };
    for (const TermId id : held.leaving) change(id, false);
    for (const TermId id : held.entering) change(id, true);

    // The document's own terms: absent no more, but present, with their counts less the document's.
    std::vector<std::uint64_t> with(classes());
    for (std::size_t i = 0; i < bag.size(); ++i) {
        if (!held.inside[i]) continue;
        const TermId id = bag[i].id();
        std::fill(with.begin(), with.end(), 0);
        part(id).each(id.term, [&](const Cell& cell) { with[cell.label] = cell.documents; });
        for (std::size_t c = 0; c < classes(); ++c) {
            if (with[c] <= documents(c)) sums[c].remove(absent_factor(with[c], documents(c)));
            const double over = static_cast<double>(documents(c)) + all;
            const double has = static_cast<double>(with[c] - (c == own.label ? own.times : 0)) + all / 2;
            sums[c].add(over > 0 ? has / over : 0);
        }
    }
    for (std::size_t c = 0; c < classes(); ++c) scores[c] += sums[c].value();
}
