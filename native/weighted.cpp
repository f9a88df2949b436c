#include "weighted.hpp"

#include <numeric>

Weighted::Weighted(Terms& terms, std::vector<std::uint64_t> documents, Style style, std::vector<Channel> channels,
                   std::size_t min_length, std::unordered_set<std::string> stop)
    : terms_(terms), documents_(std::move(documents)), style_(style), channels_(std::move(channels)) {
    version_ = terms_.version();
    all_documents_ = std::accumulate(documents_.begin(), documents_.end(), std::uint64_t{0});
    for (const Channel& channel : channels_) {
        grams_used_ |= channel.grams;
        if (!(channel.own > 0) && !(channel.rest > 0)) throw std::invalid_argument("a channel needs a smoothing above 0");
    }
    for (View& view : views_) view.class_sums.assign(classes(), 0);
    std::vector<std::uint64_t> with[2];  // documents with each term that takes part
    rows_.resize(Table::shards);
    for (std::uint32_t s = 0; s < Table::shards; ++s) {
        const Shard& shard = terms_.table().part(s);
        rows_[s].resize(shard.size());
        for (std::uint32_t t = 0; t < shard.size(); ++t) {
            const auto text = shard.text(t);
            const bool gram = is_gram(text);
            Row& row = rows_[s][t];
            row.fits = (min_length <= 1 || unicode::long_enough(text, min_length)) &&
                       (stop.empty() || !stop.contains(std::string(text)));
            if (!row.fits || (gram && !grams_used_)) {
                row.fits = false;
                continue;
            }
            shard.each(t, [&](const Cell& cell) {
                if (cell.label >= classes()) throw std::invalid_argument("a count belongs to no class");
                row.sum += seen(cell);
                row.documents += cell.documents;
            });
            if (row.documents == 0) row.fits = false;
            if (!inside(row, gram)) continue;
            View& view = views_[gram];
            ++view.terms;
            view.all += row.sum;
            with[gram].push_back(row.documents);
            row.factor = rarity(row.documents, all_documents_, gram);
            shard.each(t, [&](const Cell& cell) { view.class_sums[cell.label] += seen(cell); });
        }
    }
    // Summed in the order of size, so that the sum does not depend on the order in which terms were met.
    for (std::size_t gram = 0; gram < 2; ++gram) {
        std::sort(with[gram].begin(), with[gram].end());
        for (const auto documents_with : with[gram]) views_[gram].spread += spread(documents_with);
    }
}

void Weighted::check_unchanged() const {
    if (terms_.version() != version_) throw std::logic_error("the counts have changed since they were estimated");
}

double Weighted::rarity(std::uint64_t with, std::uint64_t documents, bool gram) const {
    const double power = style_.rarity[gram];
    if (power == 0) return 1;
    const double log = std::log((static_cast<double>(documents) + 1) / (static_cast<double>(with) + 0.5));
    return power == 0.5 ? std::sqrt(log) : power == 1 ? log : std::pow(log, power);
}

double Weighted::spread(std::uint64_t with) const {
    const double x = static_cast<double>(with) + 0.5;
    return style_.spread == 0 ? 1 : style_.spread == 0.5 ? std::sqrt(x) : std::pow(x, style_.spread);
}

Scorer::Summary Weighted::channels_without(Bag& bag, std::uint32_t own, double* scores) const {
    check_unchanged();
    bag.weigh(terms_.grams());
    terms_.table().look_up(bag);
    Scorer::Summary out{bag.tokens(), 0};
    const std::size_t size = classes();
    std::fill_n(scores, channels() * size, 0.0);

    // The sums of each view without the document.
    View left[2] = {views_[0], views_[1]};
    std::vector<signed char> view_of(bag.size(), -1);
    for (std::size_t i = 0; i < bag.size(); ++i) {
        const TermId id = bag[i].id();
        const Cell* cell = id.term == Shard::absent ? nullptr : part(id).cell(id.term, own);
        if (!cell || cell->occurrences < bag[i].times || cell->mass < bag[i].mass || cell->documents < 1)
            throw std::invalid_argument("a document that is to be left out was never learned in its class");
        const Row& here = row(id);
        const bool gram = terms_.grams() && Bag::is_gram(bag[i]);
        if (!inside(here, gram)) continue;
        View& view = left[gram];
        view.spread -= spread(here.documents);
        if (here.documents - 1 >= std::max<std::uint64_t>(style_.least[gram], 1)) {
            view.spread += spread(here.documents - 1);
            view.class_sums[own] -= seen(bag[i]);
            view_of[i] = gram;
            out.known += bag[i].times;
        } else {
            --view.terms;
            part(id).each(id.term, [&](const Cell& other) { view.class_sums[other.label] -= seen(other); });
        }
    }
    for (View& view : left) view.all = std::accumulate(view.class_sums.begin(), view.class_sums.end(), std::uint64_t{0});

    const double unit = scale();
    double masses[2] = {0, 0};
    for (std::size_t i = 0; i < bag.size(); ++i) {
        if (view_of[i] < 0) continue;
        const bool gram = view_of[i] == 1;
        const Row& here = row(bag[i].id());
        const View& view = left[gram];
        const std::uint64_t mine = seen(bag[i]);
        const double x = static_cast<double>(mine) * unit * rarity(here.documents - 1, all_documents_ - 1, gram);
        const double relative = spread(here.documents - 1) * static_cast<double>(view.terms) / view.spread;
        const double all = static_cast<double>(here.sum - mine) * unit;
        masses[gram] += x;
        part(bag[i].id()).each(bag[i].term, [&](const Cell& cell) {
            const double s = static_cast<double>(seen(cell) - (cell.label == own ? mine : 0)) * unit;
            if (s == 0) return;
            for (std::size_t k = 0; k < channels(); ++k) {
                const Channel& channel = channels_[k];
                if (channel.grams != gram) continue;
                double weight = channel.own > 0 ? std::log1p(s / (channel.own * relative)) : 0;
                if (channel.rest > 0) weight -= std::log1p(-s / (all + channel.rest * relative));
                scores[k * size + cell.label] += x * weight;
            }
        });
    }
    for (std::size_t k = 0; k < channels(); ++k) {
        const Channel& channel = channels_[k];
        const View& view = left[channel.grams];
        if (masses[channel.grams] == 0) continue;
        const auto terms = static_cast<double>(view.terms);
        for (std::size_t c = 0; c < size; ++c) {
            const double in = static_cast<double>(view.class_sums[c]) * unit, all = static_cast<double>(view.all) * unit;
            double step = channel.own > 0 ? -std::log(in + channel.own * terms) : 0;
            if (channel.rest > 0) step += std::log(all - in + channel.rest * terms);
            scores[k * size + c] += masses[channel.grams] * step;
        }
    }
    return out;
}

void Weighted::fold(const std::vector<double>& factors) {
    check_unchanged();
    if (factors.size() != channels()) throw std::invalid_argument("one factor a channel is needed");
    weights_.begin(terms_.table(), classes());
    const double unit = scale();
    for (auto& steps : steps_) steps.assign(classes(), 0);
    for (std::size_t k = 0; k < channels(); ++k) {
        const Channel& channel = channels_[k];
        const View& view = views_[channel.grams];
        const auto terms = static_cast<double>(view.terms);
        if (!view.terms) continue;
        for (std::size_t c = 0; c < classes(); ++c) {
            const double in = static_cast<double>(view.class_sums[c]) * unit, all = static_cast<double>(view.all) * unit;
            double step = channel.own > 0 ? -std::log(in + channel.own * terms) : 0;
            if (channel.rest > 0) step += std::log(all - in + channel.rest * terms);
            steps_[channel.grams][c] += factors[k] * step;
        }
    }
    for (std::uint32_t s = 0; s < Table::shards; ++s) {
        const Shard& shard = terms_.table().part(s);
        for (std::uint32_t t = 0; t < rows_[s].size(); ++t) {
            Row& row = rows_[s][t];
            if (!row.fits) continue;
            const bool gram = is_gram(shard.text(t));
            if (!inside(row, gram)) continue;
            const View& view = views_[gram];
            const double relative = spread(row.documents) * static_cast<double>(view.terms) / view.spread;
            const double all = static_cast<double>(row.sum) * unit;
            weights_.put(terms_.table(), {s, t}, [&](const Cell& cell) {
                const double s_cw = static_cast<double>(seen(cell)) * unit;
                double weight = 0;
                for (std::size_t k = 0; k < channels(); ++k) {
                    const Channel& channel = channels_[k];
                    if (channel.grams != gram) continue;
                    if (channel.own > 0) weight += factors[k] * std::log1p(s_cw / (channel.own * relative));
                    if (channel.rest > 0) weight -= factors[k] * std::log1p(-s_cw / (all + channel.rest * relative));
                }
                return weight * row.factor;
            });
        }
    }
}

Scorer::Summary Weighted::score(Bag& bag, double* scores) const {
    check_unchanged();
    if (steps_[0].empty()) throw std::logic_error("the channels are not folded");
    bag.weigh(terms_.grams());
    terms_.table().look_up(bag);
    Scorer::Summary out{bag.tokens(), 0};
    const double unit = scale();
    double masses[2] = {0, 0};
    std::fill_n(scores, classes(), 0.0);
    weights_.add(bag, scores, [&](const Bag::Entry& entry) {
        out.known += entry.times;
        const double x = static_cast<double>(seen(entry)) * unit;
        masses[terms_.grams() && Bag::is_gram(entry)] += x * row(entry.id()).factor;
        return x;
    });
    for (std::size_t c = 0; c < classes(); ++c) scores[c] += masses[0] * steps_[0][c] + masses[1] * steps_[1][c];
    return out;
}

std::optional<std::vector<double>> Weighted::weights(const Bag::Entry& entry) const {
    check_unchanged();
    if (entry.term == Shard::absent) return std::nullopt;
    const bool gram = terms_.grams() && Bag::is_gram(entry);
    const Row& here = row(entry.id());
    if (!inside(here, gram)) return std::nullopt;
    const double x = static_cast<double>(seen(entry)) * scale();
    std::vector<double> out(classes());
    for (std::size_t c = 0; c < classes(); ++c) out[c] = x * here.factor * steps_[gram][c];
    std::uint32_t k = 0;
    part(entry.id()).each(entry.term, [&](const Cell& cell) {
        out[cell.label] += x * weights_.of(entry.id(), cell.label, k++);
    });
    return out;
}

std::vector<std::string> Weighted::words() const {
    check_unchanged();
    std::vector<std::string> out;
    for (std::uint32_t s = 0; s < Table::shards; ++s)
        for (std::uint32_t t = 0; t < rows_[s].size(); ++t) {
            const auto text = terms_.table().part(s).text(t);
            if (inside(rows_[s][t], is_gram(text))) out.emplace_back(text);
        }
    std::sort(out.begin(), out.end());
    return out;
}
