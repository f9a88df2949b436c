// How scores become probabilities, and how far from the truth these are: u = (sum of factor * score + bias) sharp with
// sharp = (length / mean length)^-power, and p = (1 - tail) softmax(u) + tail softmax(flat u). The tail is for documents
// whose own label may be wrong.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "arrays.hpp"
#include "descent.hpp"
#include "lanes.hpp"
#include "logs.hpp"
#include "module.hpp"
#include "texts.hpp"

namespace {

using lanes::Doubles, lanes::wide;
using Matrix = nb::ndarray<nb::array_api, double, nb::ndim<2>, nb::c_contig>;
using Counts = nb::ndarray<nb::array_api, std::uint64_t, nb::ndim<1>, nb::c_contig>;
template <class T, std::size_t dimensions = 1>
using Given = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

constexpr double farthest = 5;  // of ln sharp
constexpr double least_gain = 1e-8;
constexpr int most_steps = 200;

double sharpness(double away, double power) { return power == 0 ? 1 : std::exp(std::clamp(-power * away, -farthest, farthest)); }

// What `log_posteriors` does with each row, eight of them side by side.
struct Posteriors {
    struct Link {
        double power, mean_log_length, tail, flat, factor;
    };

    const double* scores;  // `width` of each row
    std::size_t width;
    const std::vector<std::size_t>& order;
    const std::vector<double>&fallback, &bias;
    const std::uint64_t *lengths, *known;  // the latter or null
    Link link;
    double* out;
    std::uint64_t* best;
    char* impossible;

    WIDE void of(std::size_t first, std::size_t last) const {
        constexpr double none = -std::numeric_limits<double>::infinity();
        const std::size_t classes = order.size();
        const double least = 1e-280, log_rest = std::log1p(-link.tail), log_tail = std::log(link.tail);
        lanes::Buffer rows(3 * classes);
        Doubles *u = rows.data(), *p = u + classes, *flattened = p + classes;
        std::uint64_t length = 0;
        double sharp = sharpness_of(0);
        for (std::size_t row = first; row < last; row += wide) {
            const std::size_t few = std::min(wide, last - row);
            Doubles by_prior = {};  // 1 in rows that the fallback answers
            for (std::size_t lane = 0; lane < few; ++lane) {
                const std::size_t i = row + lane;
                if (lengths[i] != length) sharp = sharpness_of(length = lengths[i]);
                bool possible = false;
                for (std::size_t k = 0; k < classes; ++k) {
                    const double x = (scores[i * width + order[k]] * link.factor + (bias.empty() ? 0 : bias[k])) * sharp;
                    u[k][lane] = x;
                    possible |= x > none;
                }
                impossible[i] = !possible;
                if (possible && !(known && known[i] == 0)) continue;
                by_prior[lane] = 1;
                for (std::size_t k = 0; k < classes; ++k) u[k][lane] = fallback[k];
            }
            Doubles most = u[0], at = {}, over = {}, flat_over = {};
            for (std::size_t k = 1; k < classes; ++k) {
                at = u[k] > most ? static_cast<double>(k) - Doubles{} : at;
                most = u[k] > most ? u[k] : most;
            }
            for (std::size_t k = 0; k < classes; ++k) {
                p[k] = u[k] - most;
                lanes::exp_of_negative(p[k]);
                over += p[k];
            }
            Doubles log_over = over;
            logs_of(log_over);
            if (link.tail > 0) {
                for (std::size_t k = 0; k < classes; ++k) {
                    flattened[k] = link.flat * (u[k] - most);
                    lanes::exp_of_negative(flattened[k]);
                    flat_over += flattened[k];
                }
                over = (1 - link.tail) / over;
                const Doubles of_tail = link.tail / flat_over;
                for (std::size_t k = 0; k < classes; ++k) p[k] = over * p[k] + of_tail * flattened[k];
            }
            for (std::size_t k = 0; k < classes; ++k) {
                Doubles ln = u[k] - most - log_over;
                if (link.tail > 0) {
                    Doubles mixed = p[k] > least ? p[k] : 1 - Doubles{};
                    logs_of(mixed);
                    ln = by_prior != 0 ? ln : mixed;
                }
                for (std::size_t lane = 0; lane < few; ++lane) out[(row + lane) * classes + k] = ln[lane];
            }
            for (std::size_t lane = 0; lane < few; ++lane) {
                if (link.tail == 0 || by_prior[lane] != 0) continue;
                for (std::size_t k = 0; k < classes; ++k) {
                    if (p[k][lane] > least) continue;
                    const double away = u[k][lane] - most[lane];
                    const double one = log_rest + away - log_over[lane], other = log_tail + link.flat * away - std::log(flat_over[lane]);
                    const double larger = std::max(one, other);
                    out[(row + lane) * classes + k] = larger == none ? larger : larger + std::log1p(std::exp(std::min(one, other) - larger));
                }
            }
            for (std::size_t lane = 0; lane < few; ++lane) best[row + lane] = static_cast<std::uint64_t>(at[lane]);
        }
    }

private:
    double sharpness_of(std::uint64_t length) const {
        if (link.power == 0) return 1;
        return sharpness(std::log(static_cast<double>(std::max<std::uint64_t>(length, 1))) - link.mean_log_length, link.power);
    }

    static INLINE void logs_of(Doubles& x) {
        double each[wide];
        for (std::size_t lane = 0; lane < wide; ++lane) each[lane] = x[lane];
        for (double& one : each) one = log_of(one);
        for (std::size_t lane = 0; lane < wide; ++lane) x[lane] = each[lane];
    }
};

// ln p of the classes in `order`, in that order, and the most probable; of rows in which no class is possible, `fallback`.
nb::tuple log_posteriors(Given<double, 2> scores, const std::vector<std::size_t>& order, const std::vector<double>& fallback,
                         Given<std::uint64_t> lengths, std::optional<Given<std::uint64_t>> known, double power, double mean_log_length,
                         double tail, double flat, const std::vector<double>& bias, double factor, int threads) {
    if (order.empty() || fallback.size() != order.size()) throw nb::value_error("one fallback a class is needed");
    if (lengths.shape(0) != scores.shape(0)) throw nb::value_error("one length a row is needed");
    if (known && known->shape(0) != scores.shape(0)) throw nb::value_error("the known terms of each row are needed");
    if (!bias.empty() && bias.size() != order.size()) throw nb::value_error("one bias a class is needed");
    for (const auto c : order)
        if (c >= scores.shape(1)) throw nb::value_error("a class index is out of range");
    const std::size_t rows = scores.shape(0), classes = order.size();
    std::vector<double> out(rows * classes);
    std::vector<std::uint64_t> best(rows), undefined;
    std::vector<char> impossible(rows);
    const Posteriors posteriors{scores.data(), scores.shape(1), order, fallback, bias, lengths.data(), known ? known->data() : nullptr,
                                {power, mean_log_length, tail, flat, factor}, out.data(), best.data(), impossible.data()};
    {
        const nb::gil_scoped_release release;
        constexpr std::size_t block = 4096;
        share((rows + block - 1) / block, 1, threads, [&](int, std::size_t b) { posteriors.of(b * block, std::min(rows, (b + 1) * block)); });
    }
    for (std::size_t i = 0; i < rows; ++i)
        if (impossible[i]) undefined.push_back(i);
    return nb::make_tuple(arrays::holding<Matrix>(std::move(out), {rows, classes}), arrays::holding<Counts>(std::move(best), {rows}), undefined);
}

// The Brier score of the link over documents whose classes are known, eight of them side by side.
class LinkLoss {
public:
    LinkLoss(Given<double, 3> scores, Given<double> away, Given<std::int64_t> truth, Given<double> shares)
        : channels_(scores.shape(1)), classes_(scores.shape(2)), blocks_((scores.shape(0) + wide - 1) / wide),
          scores_(blocks_ * channels_ * classes_), away_(blocks_), shares_(blocks_), truth_(blocks_) {
        const std::size_t documents = scores.shape(0);
        if (away.shape(0) != documents || truth.shape(0) != documents || shares.shape(0) != documents)
            throw nb::value_error("a length, a class and a share of each document are needed");
        for (std::size_t i = 0; i < documents; ++i) {
            const std::size_t block = i / wide, lane = i % wide;
            if (truth(i) < 0 || static_cast<std::size_t>(truth(i)) >= classes_) throw nb::value_error("a class is out of range");
            truth_.data()[block][lane] = static_cast<double>(truth(i));
            away_.data()[block][lane] = away(i);
            shares_.data()[block][lane] = shares(i);
            for (std::size_t k = 0; k < channels_ * classes_; ++k)
                scores_.data()[block * channels_ * classes_ + k][lane] = scores.data()[i * channels_ * classes_ + k];
        }
    }

    std::size_t channels() const { return channels_; }
    std::size_t classes() const { return classes_; }

    // The score and its slopes at x: a factor a channel, the power, the log-odds of tail and flatness, and a bias a class if
    // there is one.
    double at(const std::vector<double>& x, std::vector<double>& slopes) const {
        const auto logistic = [](double odds) { return 1 / (1 + std::exp(-odds)); };
        const double tail = logistic(x[channels_ + 1]), flat = logistic(x[channels_ + 2]);
        std::vector<double> bias(x.begin() + static_cast<std::ptrdiff_t>(channels_ + 3), x.end()), all(channels_ + 3 + classes_);
        bias.resize(classes_);
        const double value = sum({x.data(), bias.data(), x[channels_], tail, flat}, all.data());
        all[channels_ + 1] *= tail * (1 - tail);
        all[channels_ + 2] *= flat * (1 - flat);
        std::copy_n(all.begin(), slopes.size(), slopes.begin());
        return value;
    }

private:
    struct Link {
        const double *factors, *bias;
        double power, tail, flat;
    };

    WIDE double sum(const Link& link, double* slopes) const {
        const std::size_t values = channels_ + 3 + classes_;
        lanes::Buffer rows(4 * classes_), sums(values);
        Doubles *u = rows.data(), *one = u + classes_, *two = one + classes_, *steep = two + classes_, *slope = sums.data();
        const Doubles none = {};
        Doubles value = {};
        for (std::size_t block = 0; block < blocks_; ++block) {
            const Doubles* z = scores_.data() + block * channels_ * classes_;
            const Doubles away = away_.data()[block], share = shares_.data()[block], truth = truth_.data()[block];
            Doubles sharp = none, moves = none, most = none;
            for (std::size_t lane = 0; lane < wide; ++lane) {
                sharp[lane] = sharpness(away[lane], link.power);
                moves[lane] = std::abs(link.power * away[lane]) < farthest ? away[lane] : 0;
            }
            for (std::size_t c = 0; c < classes_; ++c) {
                Doubles x = link.bias[c] - none;
                for (std::size_t k = 0; k < channels_; ++k) x += link.factors[k] * z[k * classes_ + c];
                u[c] = x * sharp;
                most = c && most > u[c] ? most : u[c];
            }
            Doubles of_one = {}, of_two = {};
            for (std::size_t c = 0; c < classes_; ++c) {
                one[c] = u[c] - most;
                two[c] = link.flat * one[c];
                lanes::exp_of_negative(one[c]);
                lanes::exp_of_negative(two[c]);
                of_one += one[c];
                of_two += two[c];
            }
            of_one = 1 / of_one;
            of_two = 1 / of_two;
            Doubles along_one = {}, along_two = {}, between = {}, flatter = {}, sharper = {};
            for (std::size_t c = 0; c < classes_; ++c) {
                one[c] *= of_one;
                two[c] *= of_two;
                const Doubles error = (1 - link.tail) * one[c] + link.tail * two[c] - (truth == static_cast<double>(c) ? 1 - none : none);
                value += share * error * error;
                steep[c] = 2 * share * error;
                along_one += steep[c] * one[c];
                along_two += steep[c] * two[c];
                between += steep[c] * (two[c] - one[c]);
            }
            for (std::size_t c = 0; c < classes_; ++c) {
                const Doubles back_two = two[c] * (steep[c] - along_two);
                const Doubles back = (1 - link.tail) * one[c] * (steep[c] - along_one) + link.tail * link.flat * back_two;
                flatter += back_two * u[c];
                sharper += back * u[c];
                const Doubles scaled = back * sharp;
                for (std::size_t k = 0; k < channels_; ++k) slope[k] += z[k * classes_ + c] * scaled;
                slope[channels_ + 3 + c] += scaled;
            }
            slope[channels_] -= sharper * moves;
            slope[channels_ + 1] += between;
            slope[channels_ + 2] += link.tail * flatter;
        }
        for (std::size_t k = 0; k < values; ++k) slopes[k] = lanes::sum(slope[k]);
        return lanes::sum(value);
    }

    std::size_t channels_, classes_, blocks_;
    lanes::Buffer scores_, away_, shares_, truth_;
};

// The link with the least Brier score and sum of hold (x - usual)^2; x as in `LinkLoss::at`.
std::vector<double> fit_link(Given<double, 3> scores, Given<double> away, Given<std::int64_t> truth, Given<double> shares,
                             const std::vector<double>& start, const std::vector<double>& usual, const std::vector<double>& hold,
                             std::vector<double> lower, std::vector<double> upper) {
    const LinkLoss loss(scores, away, truth, shares);
    const std::size_t size = start.size(), least = loss.channels() + 3;
    if (size != least && size != least + loss.classes()) throw nb::value_error("a factor a channel, three numbers and biases are needed");
    for (const auto* given : {&usual, &hold, static_cast<const std::vector<double>*>(&lower), static_cast<const std::vector<double>*>(&upper)})
        if (given->size() != size) throw nb::value_error("all that is said of the link must be of one length");
    const nb::gil_scoped_release release;
    const auto penalised = [&](const std::vector<double>& x, std::vector<double>& slopes) {
        double value = loss.at(x, slopes);
        for (std::size_t i = 0; i < size; ++i) {
            value += hold[i] * (x[i] - usual[i]) * (x[i] - usual[i]);
            slopes[i] += 2 * hold[i] * (x[i] - usual[i]);
        }
        return value;
    };
    return descent::descend(penalised, start, {std::move(lower), std::move(upper)}, least_gain, most_steps);
}

}  // namespace

void bind_link(nb::module_& m) {
    using namespace nb::literals;
    m.def("log_posteriors", &log_posteriors, "scores"_a, "order"_a, "fallback"_a, "lengths"_a, "known"_a = nb::none(),
          "power"_a = 0.0, "mean_log_length"_a = 0.0, "tail"_a = 0.0, "flat"_a = 1.0, "bias"_a = std::vector<double>{}, "factor"_a = 1.0,
          "threads"_a = 1,
          "Of each row of scores: ln P(c given text) of the classes in `order`, the position of the largest (the first of "
          "equals), and the rows in which no class is possible, which get `fallback`, as do rows with no known term.");
    m.def("fit_link", &fit_link, "scores"_a, "away"_a, "truth"_a, "shares"_a, "start"_a, "usual"_a, "hold"_a, "lower"_a, "upper"_a,
          "The factors of the channels, the power, the log-odds of tail and flatness, and the biases if `start` has some, with the "
          "least Brier score plus hold (x - usual)^2 inside the bounds. Scores have shape (documents, channels, classes); `away` is "
          "ln of each length over the mean; `shares` sum to 1.");
}
