#include "weighted.hpp"

#include <array>
#include <numeric>

#include "lanes.hpp"
#include "logs.hpp"
#include "wide.hpp"

namespace {

constexpr std::ptrdiff_t at_once = 1024;  // ratios whose logarithms are taken together
constexpr std::size_t widest = 32;      // rows that are told apart by how many classes have seen the term

// Terms that as many classes have seen follow one another, so that the processor knows how often their loops turn.
const std::vector<std::uint32_t>& by_width(const std::vector<Totals::Part>& parts) {
    const auto width = [](const Totals::Part& part) { return part.seen.dense ? 0 : std::min(part.seen.size, widest); };
    std::array<std::uint32_t, widest + 2> starts{};
    for (const auto& part : parts) ++starts[width(part) + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    thread_local std::vector<std::uint32_t> order;
    order.resize(parts.size());
    for (std::uint32_t i = 0; i < parts.size(); ++i) order[starts[width(parts[i])]++] = i;
    return order;
}

}  // namespace

Weighted::Weighted(const Totals& totals, std::vector<Channel> channels) : totals_(totals), channels_(std::move(channels)) {
    for (const Channel& channel : channels_) {
        if (channel.grams && !totals_.grams()) throw std::invalid_argument("the totals have no n-grams");
        if (!(channel.own > 0) && !(channel.rest > 0)) throw std::invalid_argument("a channel needs a smoothing above 0");
        if (totals_.style().rates && channel.rest > 0) throw std::invalid_argument("rates have no evidence of the other classes");
    }
}

Weighted::Odds Weighted::odds(const Channel& channel, double all, double relative) {
    return {channel.own > 0 ? 1 / (channel.own * relative) : 0, channel.rest > 0 ? 1 / (all + channel.rest * relative) : 0};
}

WIDE void Weighted::add_logs(Odds odds, double x, const double* __restrict seen, std::size_t size, double* __restrict scores) {
    const auto add = [=](auto&& ratio) {
        for (std::size_t c = 0; c < size / lanes::wide * lanes::wide; ++c) scores[c] += x * log_of(ratio(seen[c]));
    };
    if (odds.own == 0) add([=](double s) { return 1 - s * odds.rest; });
    else if (odds.rest == 0) add([=](double s) { return 1 + s * odds.own; });
    else add([=](double s) { return (1 + s * odds.own) / (1 - s * odds.rest); });
}

double Weighted::step(const Channel& channel, const Totals::View& view, std::size_t c) const {
    if (totals_.style().rates) return 0;
    const double unit = totals_.scale(), terms = static_cast<double>(view.terms);
    const double in = static_cast<double>(view.class_sums[c]) * unit, all = static_cast<double>(view.all) * unit;
    double step = channel.own > 0 ? -std::log(in + channel.own * terms) : 0;
    if (channel.rest > 0) step += std::log(all - in + channel.rest * terms);
    return step;
}

Scorer::Summary Weighted::channels_without(Bag& bag, Scorer::Own own, double* scores) const {
    struct Some {  // ratios of the classes that have seen a term
        const Totals::Part& part;
        double x;
        double* scores;
    };
    struct Room {  // kept, since it is large
        Totals::Left left;
        std::vector<Some> some;
        std::vector<double> ratios, seen, dense;
    };
    thread_local Room room;
    auto& [left, some, ratios, seen, dense] = room;
    totals_.leave_out(bag, own, left);
    const std::size_t size = classes(), padded = (size + lanes::wide - 1) / lanes::wide * lanes::wide;
    const bool rates = totals_.style().rates;
    std::fill_n(scores, channels() * size, 0.0);
    seen.assign(padded, 0);
    dense.assign(channels() * padded, 0);  // what rows that hold every class add up to
    ratios.resize(at_once + size);
    double masses[2] = {0, 0};
    double* to = ratios.data();
    const auto add = [&] {  // while they lie in the first cache
        logs(ratios.data(), static_cast<std::size_t>(to - ratios.data()));
        const double* log = ratios.data();
        for (const auto& [part, x, sums] : some)
            for (std::size_t j = 0; j < part.seen.size; ++j) sums[Weights::label(part.seen.weights + 2 * j)] += x * *log++;
        some.clear();
        to = ratios.data();
    };
    for (const std::uint32_t i : by_width(left.parts)) {
        const Totals::Part& part = left.parts[i];
        const double x = part.mass * part.factor;
        masses[part.gram] += x;
        if (part.seen.dense) {
            std::copy_n(part.seen.weights, size, seen.data());
            seen[part.own] -= part.less;
            if (rates)
                for (std::size_t c = 0; c < size; ++c) seen[c] *= left.per_document[c];
        }
        for (std::size_t k = 0; k < channels(); ++k) {
            if (channels_[k].grams != part.gram) continue;
            const Odds odds = Weighted::odds(channels_[k], part.all, part.relative);
            if (part.seen.dense) {
                add_logs(odds, x * odds.sign(), seen.data(), padded, dense.data() + k * padded);
                continue;
            }
            const double* at = part.seen.weights;
            for (std::size_t j = 0; j < part.seen.size; ++j, at += 2)
                to[j] = odds.ratio((*at - (j == part.own ? part.less : 0)) * (rates ? left.per_document[Weights::label(at)] : 1));
            some.push_back({part, x * odds.sign(), scores + k * size});
            to += part.seen.size;
            if (to - ratios.data() >= at_once) add();
        }
    }
    add();
    for (std::size_t k = 0; k < channels(); ++k) {
        const double mass = masses[channels_[k].grams];
        if (mass == 0) continue;
        for (std::size_t c = 0; c < size; ++c)
            scores[k * size + c] += dense[k * padded + c] + mass * step(channels_[k], left.views[channels_[k].grams], c);
    }
    return left.summary;
}

void Weighted::fold(const std::vector<double>& factors) {
    totals_.check_unchanged();
    if (factors.size() != channels()) throw std::invalid_argument("one factor a channel is needed");
    factors_ = factors;
    weights_.begin(totals_.table(), classes());
    laid_out_ = false;
    for (auto& steps : steps_) steps.assign(classes(), 0);
    for (std::size_t k = 0; k < channels(); ++k) {
        const Totals::View& view = totals_.view(channels_[k].grams);
        if (!view.terms) continue;
        for (std::size_t c = 0; c < classes(); ++c) steps_[channels_[k].grams][c] += factors[k] * step(channels_[k], view, c);
    }
}

void Weighted::lay_out(TermId id) const {
    const Totals::Row& row = totals_.row(id);
    if (!row.inside || weights_.holds(id)) return;
    const bool gram = totals_.is_gram(totals_.terms().text(id));
    const double unit = totals_.scale(), all = static_cast<double>(row.sum) * unit;
    const double relative = totals_.relative(row, gram);
    weights_.put(totals_.table(), id, [&](const Cell& cell) {
        const double s = static_cast<double>(totals_.seen(cell)) * unit * totals_.per_document(cell.label);
        double weight = 0;
        for (std::size_t k = 0; k < channels(); ++k)
            if (channels_[k].grams == gram) {
                const Odds odds = Weighted::odds(channels_[k], all, relative);
                weight += factors_[k] * odds.sign() * std::log(odds.ratio(s));
            }
        return weight * row.factor;
    });
}

void Weighted::check_ready() const {
    totals_.check_unchanged();
    if (factors_.empty()) throw std::logic_error("the channels are not folded");
}

void Weighted::lay_out() const {
    check_ready();
    const std::lock_guard lock(laying_out_);
    if (laid_out_) return;
    share(Table::shards, 1, totals_.threads(), [&](int, std::size_t s) {
        for (std::uint32_t t = 0; t < totals_.terms_of(s); ++t) lay_out(TermId{static_cast<std::uint32_t>(s), t});
    });
    laid_out_ = true;
}

Scorer::Summary Weighted::score_alone(Bag& bag, double* scores) const {
    check_ready();
    const std::lock_guard lock(laying_out_);
    weights_.look_up(totals_.table(), bag, [&](TermId id) { lay_out(id); });
    return sum(bag, scores);
}

Scorer::Summary Weighted::score(Bag& bag, double* scores) const {
    if (!laid_out_) lay_out();
    totals_.check_unchanged();
    weights_.look_up(totals_.table(), bag, [](TermId) {});
    return sum(bag, scores);
}

Scorer::Summary Weighted::sum(Bag& bag, double* scores) const {
    const bool grams = totals_.terms().grams();
    bag.weigh();
    Scorer::Summary out{bag.tokens(), 0};
    const double unit = totals_.scale();
    double masses[2] = {0, 0};
    std::fill_n(scores, classes(), 0.0);
    weights_.add(bag, scores, [&](const Bag::Term& term) {
        out.known += term.times;
        const double x = static_cast<double>(totals_.seen(term)) * unit;
        masses[grams && Bag::is_gram(term)] += x * totals_.row(term.id()).factor;
        return x;
    });
    for (std::size_t c = 0; c < classes(); ++c) scores[c] += masses[0] * steps_[0][c] + masses[1] * steps_[1][c];
    return out;
}

std::optional<std::vector<double>> Weighted::weights(const Bag::Term& term) const {
    std::vector<double> out(classes());
    if (term.id().term == Shard::absent) return std::nullopt;
    check_ready();
    const std::lock_guard lock(laying_out_);
    if (!laid_out_) lay_out(term.id());
    if (!laid_weights(term.id(), out.data())) return std::nullopt;
    for (double& weight : out) weight *= static_cast<double>(totals_.seen(term)) * totals_.scale();
    return out;
}

bool Weighted::unit_weights(TermId id, double* out) const {
    if (!laid_out_) lay_out();
    totals_.check_unchanged();
    return laid_weights(id, out);
}

bool Weighted::laid_weights(TermId id, double* out) const {
    const Totals::Row& here = totals_.row(id);
    if (!here.inside) return false;
    const bool gram = totals_.is_gram(totals_.part(id).text(id.term));
    for (std::size_t c = 0; c < classes(); ++c) out[c] = here.factor * steps_[gram][c];
    std::uint32_t k = 0;
    totals_.part(id).each(id.term, [&](const Cell& cell) { out[cell.label] += weights_.of(id, cell.label, k++); });
    return true;
}

std::vector<std::string> Weighted::words() const {
    totals_.check_unchanged();
    std::vector<std::string> out;
    for (std::uint32_t s = 0; s < Table::shards; ++s)
        for (std::uint32_t t = 0; t < totals_.terms_of(s); ++t)
            if (totals_.row({s, t}).inside) out.emplace_back(totals_.table().part(s).text(t));
    std::sort(out.begin(), out.end());
    return out;
}
