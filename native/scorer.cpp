#include "scorer.hpp"

#include <numeric>

Scorer::Scorer(Terms& terms, std::vector<std::uint64_t> documents, Rule rule)
    : terms_(terms), documents_(std::move(documents)), rule_(std::move(rule)) {
    version_ = terms_.version();
    all_documents_ = std::accumulate(documents_.begin(), documents_.end(), std::uint64_t{0});
    choose_vocabulary();
    estimate();
}

void Scorer::check_unchanged() const {
    if (terms_.version() != version_) throw std::logic_error("the counts have changed since they were estimated");
}

// More frequent first; of equally frequent terms the one that sorts first.
bool Scorer::before(TermId a, std::uint64_t a_total, TermId b, std::uint64_t b_total) const {
    return a_total != b_total ? a_total > b_total : terms_.text(a) < terms_.text(b);
}

void Scorer::choose_vocabulary() {
    const auto& rule = rule_.vocabulary;
    totals_.resize(Table::shards);
    rows_.resize(Table::shards);
    positions_.assign(classes(), 0);
    for (std::uint32_t s = 0; s < Table::shards; ++s) {
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
            const auto text = shard.text(t);
            row.fits = all > 0 && (rule.min_length <= 1 || unicode::long_enough(text, rule.min_length)) &&
                       (rule.stop.empty() || !rule.stop.contains(std::string(text)));
            row.inside = row.fits && all >= rule.min_count;
            if (row.fits && rule.drop_most_frequent) frequent_.push_back({s, t});
        }
    }
    std::sort(frequent_.begin(), frequent_.end(), [&](TermId a, TermId b) { return before(a, total(a), b, total(b)); });
    for (std::size_t i = 0; i < std::min(rule.drop_most_frequent, frequent_.size()); ++i) row(frequent_[i]).inside = false;
    for (std::uint32_t s = 0; s < Table::shards; ++s)
        for (std::uint32_t t = 0; t < rows_[s].size(); ++t) {
            if (!rows_[s][t].inside) continue;
            ++vocabulary_;
            terms_.table().part(s).each(t, [&](const Cell& cell) { positions_[cell.label] += cell.occurrences; });
        }
    all_positions_ = std::accumulate(positions_.begin(), positions_.end(), std::uint64_t{0});
}

double Scorer::log_prior(std::uint32_t label, std::uint32_t own) const {
    const std::uint64_t here = documents_[label] - (label == own);
    if (here == 0) return -std::numeric_limits<double>::infinity();
    if (!rule_.log_prior.empty()) return rule_.log_prior[label];
    return std::log(static_cast<double>(here)) - std::log(static_cast<double>(all_documents_ - (own != nobody)));
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

void Scorer::estimate() {
    const double all = m(vocabulary_);
    const double uniform = vocabulary_ ? all / static_cast<double>(vocabulary_) : 0;
    intercepts_.resize(classes());
    steps_.assign(classes(), 0);
    absent_.resize(classes());
    for (std::uint32_t c = 0; c < classes(); ++c) {
        intercepts_[c] = log_prior(c, nobody);
        const double over = static_cast<double>(bernoulli() ? documents_[c] : positions_[c]) + all;
        if (bernoulli()) {
            const double none = absent_factor(0, documents_[c]);
            if (smoothed()) steps_[c] = std::log(all / 2 / over) - std::log(none);
        } else if (over > 0) {
            steps_[c] = -std::log(over);
        }
    }
    std::vector<double> logs;  // ln(1 + n / (m p)) for the small n that make up nearly all counts
    if (smoothed() && !bernoulli() && !rule_.share)
        for (int n = 0; n < 4096; ++n) logs.push_back(std::log1p(n / uniform));
    std::vector<std::vector<std::uint32_t>> held(bernoulli() ? classes() : 0);
    weights_.begin(terms_.table(), classes());
    if (uniform > 0 && !bernoulli()) ground_ = std::log(uniform);
    if (rule_.share && smoothed() && !bernoulli()) grounds_.resize(Table::shards);
    for (std::uint32_t s = 0; s < Table::shards; ++s) {
        if (!grounds_.empty()) grounds_[s].resize(rows_[s].size());
        for (std::uint32_t t = 0; t < rows_[s].size(); ++t) {
            if (!rows_[s][t].inside) continue;
            double mp = uniform;
            if (!grounds_.empty()) {
                mp = all * static_cast<double>(total({s, t})) / static_cast<double>(all_positions_);
                grounds_[s][t] = std::log(mp);
            }
            if (bernoulli()) part({s, t}).each(t, [&](const Cell& cell) { held[cell.label].push_back(cell.documents); });
            if (!smoothed()) continue;
            weights_.put(terms_.table(), {s, t}, [&](const Cell& cell) {
                if (!bernoulli()) {
                    const auto n = cell.occurrences;
                    return n < logs.size() ? logs[n] : std::log1p(static_cast<double>(n) / mp);
                }
                const double has = static_cast<double>(cell.documents) + all / 2;
                const double factor = absent_factor(cell.documents, documents_[cell.label]);
                return std::log(has / (static_cast<double>(documents_[cell.label]) + all)) - std::log(factor) - steps_[cell.label];
            });
        }
    }
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
    if (!smoothed()) return score_without(bag, nobody, scores);
    terms_.table().look_up(bag);
    Summary out{bag.tokens(), 0};
    std::uint64_t steps = 0;
    double ground = 0;
    std::fill_n(scores, classes(), 0.0);
    weights_.add(bag, scores, [&](const Bag::Entry& entry) {
        out.known += entry.times;
        const double times = bernoulli() ? 1 : entry.times;
        steps += bernoulli() ? 1 : entry.times;
        if (!bernoulli()) ground += times * this->ground(entry.id());
        return times;
    });
    for (std::size_t c = 0; c < classes(); ++c)
        scores[c] += intercepts_[c] + ground + static_cast<double>(steps) * steps_[c] + (bernoulli() ? absent_[c].value() : 0);
    return out;
}

std::optional<std::vector<double>> Scorer::weights(const Key& term) const {
    check_unchanged();
    const TermId id = terms_.table().find(term);
    if (id.term == Shard::absent || !row(id).inside) return std::nullopt;
    constexpr double none = -std::numeric_limits<double>::infinity();
    std::vector<double> out(classes(), smoothed() ? (bernoulli() ? 0 : ground(id)) : none);
    if (smoothed())
        for (std::size_t c = 0; c < classes(); ++c) out[c] += steps_[c];
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
    return out;
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
