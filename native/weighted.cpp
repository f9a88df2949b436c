#include "weighted.hpp"

#include "logs.hpp"
#include "wide.hpp"

#include <numeric>

Weighted::Weighted(Terms& terms, std::vector<std::uint64_t> documents, Style style, std::vector<Channel> channels,
                   std::size_t min_length, std::unordered_set<std::string> stop, int threads)
    : terms_(terms), documents_(std::move(documents)), style_(style), channels_(std::move(channels)), threads_(threads) {
    version_ = terms_.version();
    all_documents_ = std::accumulate(documents_.begin(), documents_.end(), std::uint64_t{0});
    for (const Channel& channel : channels_) {
        grams_used_ |= channel.grams;
        if (!(channel.own > 0) && !(channel.rest > 0)) throw std::invalid_argument("a channel needs a smoothing above 0");
    }
    struct Found {
        View views[2];
        std::vector<std::uint64_t> with[2];  // documents with each term that takes part
    };
    std::vector<Found> found(Table::shards);
    rows_.resize(Table::shards);
    share(Table::shards, 1, threads, [&](int, std::size_t s) {
        Found mine;
        for (View& view : mine.views) view.class_sums.assign(classes(), 0);
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
            View& view = mine.views[gram];
            ++view.terms;
            view.all += row.sum;
            mine.with[gram].push_back(row.documents);
            row.factor = rarity(row.documents, all_documents_, gram);
            shard.each(t, [&](const Cell& cell) { view.class_sums[cell.label] += seen(cell); });
        }
        found[s] = std::move(mine);
    });
    for (std::size_t gram = 0; gram < 2; ++gram) {
        View& view = views_[gram];
        view.class_sums.assign(classes(), 0);
        std::vector<std::uint64_t> with;
        for (const Found& some : found) {
            view.terms += some.views[gram].terms;
            view.all += some.views[gram].all;
            for (std::size_t c = 0; c < classes(); ++c) view.class_sums[c] += some.views[gram].class_sums[c];
            with.insert(with.end(), some.with[gram].begin(), some.with[gram].end());
        }
        // Summed in the order of size, so that the sum does not depend on the order in which terms were met.
        std::sort(with.begin(), with.end());
        for (const auto documents_with : with) view.spread += spread(documents_with);
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

Weighted::Odds Weighted::odds(const Channel& channel, double all, double relative) {
    return {channel.own > 0 ? 1 / (channel.own * relative) : 0, channel.rest > 0 ? 1 / (all + channel.rest * relative) : 0};
}

WIDE void Weighted::ratios(Odds odds, const double* seen, std::size_t size, double* out) {
    for (std::size_t i = 0; i < size; ++i) out[i] = odds.ratio(seen[i]);
}

const Weights& Weighted::all_seen() const {
    std::call_once(gathered_, [this] {
        seen_.begin(terms_.table(), classes());
        share(Table::shards, 1, threads_, [&](int, std::size_t s) {
            for (std::uint32_t t = 0; t < rows_[s].size(); ++t)
                if (rows_[s][t].fits)
                    seen_.put(terms_.table(), {static_cast<std::uint32_t>(s), t}, [&](const Cell& cell) { return static_cast<double>(seen(cell)) * scale(); });
        });
    });
    return seen_;
}

Scorer::Summary Weighted::channels_without(Bag& bag, Scorer::Own own, double* scores) const {
    check_unchanged();
    const Weights& all_seen = this->all_seen();
    bag.weigh(terms_.grams());
    terms_.table().look_up(bag);
    Scorer::Summary out{bag.tokens(), 0};
    const std::size_t size = classes();
    std::fill_n(scores, channels() * size, 0.0);

    // The sums of each view without the document.
    View left[2] = {views_[0], views_[1]};
    std::vector<signed char> view_of(bag.size(), -1);
    constexpr std::size_t ahead = 12;
    const auto expect = [&](std::size_t i, auto&& memory) {
        if (i < bag.size() && bag[i].term != Shard::absent) memory(bag[i].id());
    };
    for (std::size_t i = 0; i < bag.size(); ++i) {
        expect(i + 2 * ahead, [&](TermId id) {
            part(id).expect_term_at(id.term);
            __builtin_prefetch(&row(id));
            all_seen.expect_row(id);
        });
        expect(i + ahead, [&](TermId id) {
            part(id).expect_cell(id.term, own.label);
            all_seen.expect_weights(id);
        });
        const TermId id = bag[i].id();
        const Cell* cell = id.term == Shard::absent ? nullptr : part(id).cell(id.term, own.label);
        if (!cell || cell->occurrences < own.times * bag[i].times || cell->mass < own.times * bag[i].mass || cell->documents < own.times)
            throw std::invalid_argument("a document that is to be left out was never learned in its class");
        const Row& here = row(id);
        const bool gram = terms_.grams() && Bag::is_gram(bag[i]);
        if (!inside(here, gram)) continue;
        View& view = left[gram];
        view.spread -= spread(here.documents);
        if (here.documents - own.times >= std::max<std::uint64_t>(style_.least[gram], 1)) {
            view.spread += spread(here.documents - own.times);
            view.class_sums[own.label] -= own.times * seen(bag[i]);
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
    struct Block {  // the logarithms of a term in a channel
        Weights::Laid row;
        double x;
        std::size_t channel;
    };
    thread_local std::vector<Block> kept_blocks;  // since they are large
    thread_local std::vector<double> kept_ratios;
    auto& blocks = kept_blocks;
    auto& ratios = kept_ratios;
    blocks.clear();
    std::vector<double> mine(size);
    std::size_t number = 0;
    for (std::size_t i = 0; i < bag.size(); ++i) {
        if (view_of[i] < 0) continue;
        const bool gram = view_of[i] == 1;
        const Row& here = row(bag[i].id());
        const View& view = left[gram];
        const auto less = static_cast<double>(own.times * seen(bag[i])) * unit;
        const double x = static_cast<double>(seen(bag[i])) * unit * rarity(here.documents - own.times, all_documents_ - own.times, gram);
        const double relative = spread(here.documents - own.times) * static_cast<double>(view.terms) / view.spread;
        const double all = static_cast<double>(here.sum - own.times * seen(bag[i])) * unit;
        masses[gram] += x;
        const Weights::Laid laid = all_seen.laid(bag[i].id());
        const std::size_t width = laid.dense ? size : laid.size;
        if (laid.dense) {
            std::copy_n(laid.weights, size, mine.data());
            mine[own.label] -= less;
        } else {
            for (std::size_t j = 0; j < width; ++j) {
                const double* at = laid.weights + 2 * j;
                mine[j] = *at - (Weights::label(at) == own.label ? less : 0);
            }
        }
        if (const auto most = number + channels() * width; most > ratios.size()) ratios.resize(2 * most);
        for (std::size_t k = 0; k < channels(); ++k) {
            if (channels_[k].grams != gram) continue;
            Weighted::ratios(odds(channels_[k], all, relative), mine.data(), width, ratios.data() + number);
            blocks.push_back({laid, x, k});
            number += width;
        }
    }
    logs(ratios.data(), number);
    const double* log = ratios.data();
    for (const auto& [row, x, channel] : blocks) {
        double* to = scores + channel * size;
        if (row.dense)
            for (std::size_t c = 0; c < size; ++c) to[c] += x * *log++;
        else
            for (std::size_t j = 0; j < row.size; ++j) to[Weights::label(row.weights + 2 * j)] += x * *log++;
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
    factors_ = factors;
    weights_.begin(terms_.table(), classes());
    laid_out_ = false;
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
}

void Weighted::lay_out(TermId id) const {
    const Row& row = this->row(id);
    const bool gram = is_gram(terms_.text(id));
    if (!inside(row, gram) || weights_.holds(id)) return;
    const View& view = views_[gram];
    const double unit = scale(), all = static_cast<double>(row.sum) * unit;
    const double relative = spread(row.documents) * static_cast<double>(view.terms) / view.spread;
    weights_.put(terms_.table(), id, [&](const Cell& cell) {
        const double s = static_cast<double>(seen(cell)) * unit;
        double weight = 0;
        for (std::size_t k = 0; k < channels(); ++k)
            if (channels_[k].grams == gram) weight += factors_[k] * std::log(odds(channels_[k], all, relative).ratio(s));
        return weight * row.factor;
    });
}

void Weighted::lay_out() const {
    check_unchanged();
    if (factors_.empty()) throw std::logic_error("the channels are not folded");
    const std::lock_guard lock(laying_out_);
    if (laid_out_) return;
    share(Table::shards, 1, threads_, [&](int, std::size_t s) {
        for (std::uint32_t t = 0; t < rows_[s].size(); ++t) lay_out(TermId{static_cast<std::uint32_t>(s), t});
    });
    laid_out_ = true;
}

Scorer::Summary Weighted::score_alone(Bag& bag, double* scores) const {
    check_unchanged();
    if (factors_.empty()) throw std::logic_error("the channels are not folded");
    terms_.table().look_up(bag);
    const std::lock_guard lock(laying_out_);
    for (std::size_t i = 0; i < bag.size(); ++i)
        if (bag[i].term != Shard::absent) lay_out(bag[i].id());
    return sum(bag, scores);
}

Scorer::Summary Weighted::score(Bag& bag, double* scores) const {
    if (!laid_out_) lay_out();
    check_unchanged();
    terms_.table().look_up(bag);
    return sum(bag, scores);
}

Scorer::Summary Weighted::sum(Bag& bag, double* scores) const {
    bag.weigh(terms_.grams());
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
    std::vector<double> out(classes());
    if (entry.term == Shard::absent || !unit_weights(entry.id(), out.data())) return std::nullopt;
    for (double& weight : out) weight *= static_cast<double>(seen(entry)) * scale();
    return out;
}

bool Weighted::unit_weights(TermId id, double* out) const {
    if (!laid_out_) lay_out();
    check_unchanged();
    const bool gram = is_gram(part(id).text(id.term));
    const Row& here = row(id);
    if (!inside(here, gram)) return false;
    for (std::size_t c = 0; c < classes(); ++c) out[c] = here.factor * steps_[gram][c];
    std::uint32_t k = 0;
    part(id).each(id.term, [&](const Cell& cell) { out[cell.label] += weights_.of(id, cell.label, k++); });
    return true;
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
