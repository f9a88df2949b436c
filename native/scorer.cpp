#include "scorer.hpp"

#include <numeric>

Scorer::Scorer(Terms& terms, std::vector<std::uint64_t> documents, Rule rule, int threads)
    : terms_(terms), documents_(std::move(documents)), rule_(std::move(rule)) {
    version_ = terms_.version();
    all_documents_ = std::accumulate(documents_.begin(), documents_.end(), std::uint64_t{0});
    choose_vocabulary(threads);
    estimate(threads);
}

void Scorer::check_unchanged() const {
    if (terms_.version() != version_) throw std::logic_error("the counts have changed since they were estimated");
}

// More frequent first; of equally frequent terms the one that sorts first.
bool Scorer::before(TermId a, std::uint64_t a_total, TermId b, std::uint64_t b_total) const {
    return a_total != b_total ? a_total > b_total : terms_.text(a) < terms_.text(b);
}

void Scorer::choose_vocabulary(int threads) {
    const auto& rule = rule_.vocabulary;
    totals_.resize(Table::shards);
    rows_.resize(Table::shards);
    std::vector<TermId> frequent[Table::shards];
    share(Table::shards, 1, threads, [&](int, std::size_t at) {
        const auto s = static_cast<std::uint32_t>(at);
        const Shard& shard = terms_.table().part(s);
        totals_[s].assign(shard.size(), 0);
        rows_[s].resize(shard.size());
        for (std::uint32_t t = 0; t < shard.size(); ++t) {
            std::uint64_t all = 0;
            shard.each(t, [&](const Cell& cell) {
                if (cell.label >= classes()) throw std::invalid_argument("a count belongs to no class");
                all += cell.occurrences;
            });
            totals_[s][t] = all;
            Row& row = rows_[s][t];
            row.fits = all > 0;
            if (row.fits && (rule.min_length > 1 || !rule.stop.empty())) {
                const auto text = shard.text(t);
                row.fits = unicode::long_enough(text, rule.min_length) && !rule.stop.contains(std::string(text));
            }
            row.inside = row.fits && all >= rule.min_count;
            if (row.fits && rule.drop_most_frequent) frequent[s].push_back({s, t});
        }
    });
    for (const auto& some : frequent) frequent_.insert(frequent_.end(), some.begin(), some.end());
    std::sort(frequent_.begin(), frequent_.end(), [&](TermId a, TermId b) { return before(a, total(a), b, total(b)); });
    for (std::size_t i = 0; i < std::min(rule.drop_most_frequent, frequent_.size()); ++i) row(frequent_[i]).inside = false;

    struct Sums {
        std::uint64_t terms = 0;
        std::vector<std::uint64_t> positions;
    };
    std::vector<Sums> sums(Table::shards);
    share(Table::shards, 1, threads, [&](int, std::size_t s) {
        Sums mine{0, std::vector<std::uint64_t>(classes())};
        for (std::uint32_t t = 0; t < rows_[s].size(); ++t) {
            if (!rows_[s][t].inside) continue;
            ++mine.terms;
            terms_.table().part(s).each(t, [&](const Cell& cell) { mine.positions[cell.label] += cell.occurrences; });
        }
        sums[s] = std::move(mine);
    });
    positions_.assign(classes(), 0);
    for (const Sums& some : sums) {
        vocabulary_ += some.terms;
        for (std::size_t c = 0; c < classes(); ++c) positions_[c] += some.positions[c];
    }
    all_positions_ = std::accumulate(positions_.begin(), positions_.end(), std::uint64_t{0});
}

double Scorer::log_prior(std::uint32_t label, Own own) const {
    const std::uint64_t here = documents_[label] - (label == own.label ? own.times : 0);
    if (here == 0) return -std::numeric_limits<double>::infinity();
    if (!rule_.log_prior.empty()) return rule_.log_prior[label];
    return std::log(static_cast<double>(here)) - std::log(static_cast<double>(all_documents_ - own.times));
}

// 1 - P(term given c) where `documents_with` of the class's `documents` hold the term.
double Scorer::absent_factor(std::uint64_t documents_with, std::uint64_t documents) const {
    const double all = m(vocabulary_);
    const double without = static_cast<double>(documents) - static_cast<double>(documents_with) + all / 2;
    const double over = static_cast<double>(documents) + all;
    return over > 0 ? without / over : 1;
}

// ln P(no term given c), summed in the order of size, so that it does not depend on the order in which terms were met.
// Terms that more than `documents` hold are left to the caller: they are words of a document that is taken away.
LogSum Scorer::absent_sum(std::uint32_t label, std::uint64_t documents) const {
    LogSum out;
    auto others = static_cast<std::int64_t>(vocabulary_);
    for (const auto& [with, terms] : holding_[label]) {
        others -= terms;
        if (with <= documents) out.add(absent_factor(with, documents), terms);
    }
    if (others) out.add(absent_factor(0, documents), others);
    return out;
}

void Scorer::estimate(int threads) {
    const double all = m(vocabulary_);
    const double uniform = vocabulary_ ? all / static_cast<double>(vocabulary_) : 0;
    intercepts_.resize(classes());
    steps_.assign(classes(), 0);
    absent_.resize(classes());
    for (std::uint32_t c = 0; c < classes(); ++c) {
        intercepts_[c] = log_prior(c, {});
        const double over = static_cast<double>(bernoulli() ? documents_[c] : positions_[c]) + all;
        if (bernoulli()) {
            const double none = absent_factor(0, documents_[c]);
            if (smoothed()) steps_[c] = std::log(all / 2 / over) - std::log(none);
        } else if (over > 0) {
            steps_[c] = -std::log(over);
        }
    }
    if (smoothed() && !bernoulli() && !rule_.share)
        for (int n = 0; n < 4096; ++n) logs_.push_back(std::log1p(n / uniform));
    weights_.begin(terms_.table(), classes());
    if (uniform > 0 && !bernoulli()) ground_ = std::log(uniform);
    if (rule_.share && smoothed() && !bernoulli()) grounds_.resize(Table::shards);
    share(Table::shards, 1, smoothed() ? threads : 1, [&](int, std::size_t at) {
        const auto s = static_cast<std::uint32_t>(at);
        if (!grounds_.empty()) grounds_[s].resize(rows_[s].size());
        for (std::uint32_t t = 0; t < rows_[s].size(); ++t) {
            if (!rows_[s][t].inside || !smoothed()) continue;
            double mp = uniform;
            if (!grounds_.empty()) {
                mp = all * static_cast<double>(total({s, t})) / static_cast<double>(all_positions_);
                grounds_[s][t] = std::log(mp);
            }
            weights_.put(terms_.table(), {s, t}, [&](const Cell& cell) {
                if (!bernoulli()) return log_ratio(cell.occurrences, mp);
                const double has = static_cast<double>(cell.documents) + all / 2;
                const double factor = absent_factor(cell.documents, documents_[cell.label]);
                return std::log(has / (static_cast<double>(documents_[cell.label]) + all)) - std::log(factor) - steps_[cell.label];
            });
        }
    });
    if (!bernoulli()) return;
    std::vector<std::vector<std::uint32_t>> held(classes());
    for (std::uint32_t s = 0; s < Table::shards; ++s)
        for (std::uint32_t t = 0; t < rows_[s].size(); ++t)
            if (rows_[s][t].inside) part({s, t}).each(t, [&](const Cell& cell) { held[cell.label].push_back(cell.documents); });
    holding_.resize(held.size());
    for (std::uint32_t c = 0; c < held.size(); ++c) {
        std::sort(held[c].begin(), held[c].end());
        for (const auto with : held[c]) {
            if (holding_[c].empty() || holding_[c].back().first != with) holding_[c].push_back({with, 0});
            ++holding_[c].back().second;
        }
        absent_[c] = absent_sum(c, documents_[c]);
    }
}

std::vector<double> Scorer::intercepts() const {
    auto out = intercepts_;
    if (bernoulli())
        for (std::size_t c = 0; c < classes(); ++c) out[c] += absent_[c].value();
    return out;
}

Scorer::Summary Scorer::score(Bag& bag, double* scores) const {
    check_unchanged();
    if (!smoothed()) return score_without(bag, {}, scores);
    weights_.look_up(terms_.table(), bag, [](TermId) {});
    Summary out{bag.tokens(), 0};
    std::uint64_t steps = 0;
    double ground = 0;
    std::fill_n(scores, classes(), 0.0);
    weights_.add(bag, scores, [&](const Bag::Term& term) {
        out.known += term.times;
        const double times = bernoulli() ? 1 : term.times;
        steps += bernoulli() ? 1 : term.times;
        if (!bernoulli()) ground += times * this->ground(term.id());
        return times;
    });
    for (std::size_t c = 0; c < classes(); ++c)
        scores[c] += intercepts_[c] + ground + static_cast<double>(steps) * steps_[c] + (bernoulli() ? absent_[c].value() : 0);
    return out;
}

std::optional<std::vector<double>> Scorer::weights(const Key& term) const {
    const TermId id = terms_.table().find(term);
    std::vector<double> out(classes());
    if (id.term == Shard::absent || !unit_weights(id, out.data())) return std::nullopt;
    return out;
}

bool Scorer::unit_weights(TermId id, double* out) const {
    check_unchanged();
    if (!row(id).inside) return false;
    constexpr double none = -std::numeric_limits<double>::infinity();
    const double start = bernoulli() ? 0 : ground(id);
    for (std::size_t c = 0; c < classes(); ++c) out[c] = smoothed() ? start + steps_[c] : none;
    std::uint32_t k = 0;
    part(id).each(id.term, [&](const Cell& cell) {
        if (smoothed()) {
            out[cell.label] += weights_.of(id, cell.label, k++);
        } else if (bernoulli()) {
            const double has = cell.documents / static_cast<double>(documents_[cell.label]);
            out[cell.label] = std::log(has) - (has < 1 ? std::log(1 - has) : 0);
        } else {
            out[cell.label] = std::log(static_cast<double>(cell.occurrences)) + steps_[cell.label];
        }
    });
    return true;
}

std::vector<std::string> Scorer::words() const {
    check_unchanged();
    std::vector<std::string> out;
    for (std::uint32_t s = 0; s < Table::shards; ++s)
        for (std::uint32_t t = 0; t < rows_[s].size(); ++t)
            if (rows_[s][t].inside) out.emplace_back(terms_.text({s, t}));
    std::sort(out.begin(), out.end());
    return out;
}
