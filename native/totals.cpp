#include "totals.hpp"

#include <numeric>

#include "logs.hpp"

namespace {
constexpr const char* never_learned = "a document that is to be left out was never learned in its class";

// How many terms so many documents hold. A sum over them in the order of size does not depend on the order in which terms
// were met.
class Holding {
public:
    void add(std::uint64_t documents) {
        if (documents < few) ++few_[documents];
        else many_.push_back(documents);
    }
    void add(const Holding& more) {
        for (std::size_t documents = 0; documents < few; ++documents) few_[documents] += more.few_[documents];
        many_.insert(many_.end(), more.many_.begin(), more.many_.end());
    }

    // The sum of of(documents) over all terms.
    template <class Of>
    double sum(Of&& of) {
        double all = 0;
        for (std::size_t documents = 0; documents < few; ++documents) {
            if (!few_[documents]) continue;
            const double one = of(documents);
            for (std::uint64_t term = 0; term < few_[documents]; ++term) all += one;
        }
        std::sort(many_.begin(), many_.end());
        for (const auto documents : many_) all += of(documents);
        return all;
    }

private:
    static constexpr std::size_t few = 1024;
    std::vector<std::uint64_t> few_ = std::vector<std::uint64_t>(few), many_;
};

}  // namespace

Totals::Totals(Terms& terms, std::vector<std::uint64_t> documents, Style style, bool grams, std::size_t min_length,
               std::unordered_set<std::string> stop, const Frequencies* collection, int threads)
    : terms_(terms), version_(terms.version()), documents_(std::move(documents)), apart_(collection), style_(style),
      grams_(grams), threads_(threads) {
    all_documents_ = std::accumulate(documents_.begin(), documents_.end(), std::uint64_t{0});
    collected_ = apart_ ? std::max(all_documents_, collection->documents()) : all_documents_;
    count_per_document({0, 0}, per_document_);
    struct Found {
        View views[2];
        Holding with[2];  // of the terms that take part
    };
    std::vector<Found> found(Table::shards);
    rows_.resize(Table::shards);
    share(Table::shards, 1, threads, [&](int, std::size_t s) {
        Found mine;
        for (View& view : mine.views) view.class_sums.assign(classes(), 0);
        const Shard& shard = table().part(s);
        rows_[s].resize(shard.size());
        std::vector<std::uint32_t> with_factor;
        std::vector<double> logs_of;
        for (std::uint32_t t = 0; t < shard.size(); ++t) {
            const auto text = shard.text(t);
            const bool gram = is_gram(text);
            Row& row = rows_[s][t];
            row.fits = (!gram || grams_) && (min_length <= 1 || unicode::long_enough(text, min_length)) &&
                       (stop.empty() || !stop.contains(std::string(text)));
            if (!row.fits) continue;
            shard.each(t, [&](const Cell& cell) {
                if (cell.label >= classes()) throw std::invalid_argument("a count belongs to no class");
                row.sum += seen(cell);
                row.documents += cell.documents;
            });
            row.inside = row.documents >= style_.least[gram];
            if (!row.inside) continue;
            View& view = mine.views[gram];
            ++view.terms;
            view.all += row.sum;
            row.with = apart_ ? std::max(row.documents, collection->with(shard.key(t).hashed)) : row.documents;
            mine.with[gram].add(row.with);
            with_factor.push_back(t);
            logs_of.push_back((static_cast<double>(collected_) + 1) / (static_cast<double>(row.with) + 0.5));
            shard.each(t, [&](const Cell& cell) { view.class_sums[cell.label] += seen(cell); });
        }
        logs(logs_of.data(), logs_of.size());
        for (std::size_t i = 0; i < with_factor.size(); ++i)
            rows_[s][with_factor[i]].factor = rarity(logs_of[i], is_gram(shard.text(with_factor[i])));
        found[s] = std::move(mine);
    });
    for (std::size_t gram = 0; gram < 2; ++gram) {
        View& view = views_[gram];
        view.class_sums.assign(classes(), 0);
        Holding with;
        for (const Found& some : found) {
            view.terms += some.views[gram].terms;
            view.all += some.views[gram].all;
            for (std::size_t c = 0; c < classes(); ++c) view.class_sums[c] += some.views[gram].class_sums[c];
            with.add(some.with[gram]);
        }
        view.spread = with.sum([this](std::uint64_t documents_with) { return spread(documents_with); });
    }
}

void Totals::check_unchanged() const {
    if (terms_.version() != version_) throw std::logic_error("the counts have changed since they were estimated");
}

double Totals::rarity(double log, bool gram) const {
    const double power = style_.rarity[gram];
    return power == 0 ? 1 : power == 0.5 ? std::sqrt(log) : power == 1 ? log : std::pow(log, power);
}

double Totals::spread(std::uint64_t with) const {
    const double x = static_cast<double>(with) + 0.5;
    return style_.spread == 0 ? 1 : style_.spread == 0.5 ? std::sqrt(x) : std::pow(x, style_.spread);
}

double Totals::relative(double spread, std::uint64_t collected, const View& view) const {
    if (style_.rates) return spread / std::pow(static_cast<double>(collected) + 1, style_.spread);
    return spread * static_cast<double>(view.terms) / view.spread;
}

void Totals::count_per_document(Scorer::Own out, std::vector<double>& to) const {
    to.assign(classes(), 1);
    if (!style_.rates) return;
    const auto left = static_cast<double>(all_documents_ - out.times);
    for (std::size_t c = 0; c < classes(); ++c)
        if (const std::uint64_t of_class = documents_[c] - (c == out.label ? out.times : 0)) to[c] = left / static_cast<double>(of_class);
}

const Weights& Totals::seen() const {
    std::call_once(gathered_, [this] {
        seen_.begin(table(), classes());
        share(Table::shards, 1, threads_, [&](int, std::size_t s) {
            for (std::uint32_t t = 0; t < rows_[s].size(); ++t)
                if (rows_[s][t].inside)
                    seen_.put(table(), {static_cast<std::uint32_t>(s), t}, [&](const Cell& cell) { return static_cast<double>(seen(cell)) * scale(); });
        });
    });
    return seen_;
}

void Totals::leave_out(Bag& bag, Scorer::Own own, Left& left) const {
    check_unchanged();
    const Weights& all_seen = seen();
    bag.weigh();
    all_seen.look_up(table(), bag, [](TermId) {});
    for (const bool gram : {false, true}) left.views[gram] = views_[gram];
    left.parts.clear();
    left.summary = {bag.tokens(), 0};
    count_per_document(own, left.per_document);
    const std::uint64_t out = apart_ ? 0 : own.times;  // a larger collection still holds it
    thread_local std::vector<double> kept_logs;
    auto& logs_of = kept_logs;
    logs_of.clear();
    for (std::size_t i = 0; i < bag.size(); ++i) {
        const Bag::Entry& entry = bag[i].entry;
        if (entry.term == Shard::absent) throw std::invalid_argument(never_learned);
        __builtin_prefetch(&row(entry.id()));
        all_seen.expect_weights(entry);
    }
    for (std::size_t i = 0; i < bag.size(); ++i) {
        const Bag::Term term = bag[i];
        const TermId id = term.id();
        const std::uint64_t less = own.times * seen(term);
        const Row& here = row(id);
        if (!here.fits) continue;
        if (here.documents < own.times) throw std::invalid_argument(never_learned);
        if (!here.inside) continue;
        const Weights::Laid of_term = all_seen.laid(term.entry);
        const std::size_t place = of_term.place(own.label);
        const double lost = static_cast<double>(less) * scale();
        if ((!of_term.dense && place == of_term.size) || of_term[place] < lost) throw std::invalid_argument(never_learned);
        const bool gram = terms_.grams() && Bag::is_gram(term);
        View& view = left.views[gram];
        view.spread -= spread(here.with);
        const std::uint64_t documents = here.documents - own.times;
        if (documents >= std::max<std::uint64_t>(style_.least[gram], 1)) {
            const double spreads = spread(here.with - out);
            view.spread += spreads;
            view.class_sums[own.label] -= less;
            left.summary.known += term.times;
            left.parts.push_back({of_term, place, lost, static_cast<double>(seen(term)) * scale(), static_cast<double>(here.sum - less) * scale(), spreads, 0, gram});
            logs_of.push_back((static_cast<double>(collected_ - out) + 1) / (static_cast<double>(here.with - out) + 0.5));
        } else {
            --view.terms;
            of_term.each(classes(), [&](std::size_t c, double seen_of) { view.class_sums[c] -= static_cast<std::uint64_t>(seen_of / scale()); });
        }
    }
    logs(logs_of.data(), logs_of.size());
    for (std::size_t i = 0; i < left.parts.size(); ++i) {
        Part& part = left.parts[i];
        part.factor = rarity(logs_of[i], part.gram);
        part.relative = relative(part.relative, collected_ - out, left.views[part.gram]);
    }
    for (View& view : left.views) view.all = std::accumulate(view.class_sums.begin(), view.class_sums.end(), std::uint64_t{0});
}
