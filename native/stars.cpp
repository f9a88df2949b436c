// The E step of stars with a hidden centre: sparse rows of categories or words, and columns of numbers with gaps.
//
// Tables of few features are summed row by row, rows cut into shards as for Gaussians. Bags of words have so many that
// each feature is summed by itself, over the rows that hold it. Either way threads change no digit.
#include <nanobind/stl/optional.h>

#include <cmath>
#include <limits>
#include <optional>

#include "arrays.hpp"
#include "lanes.hpp"
#include "module.hpp"
#include "sparse.hpp"
#include "sums.hpp"

namespace {

using lanes::Buffer;
using lanes::Doubles;
using sums::demand;
using sums::Matrix;
using sums::Vector;

using sparse::Columns;
using sparse::Padded;
using sparse::Starts;
using Times = sparse::Values<float>;

constexpr double infinity = std::numeric_limits<double>::infinity();

// log P(row and component j) = log_weights[j] + sum of times * log_tables[feature][j] over the row's entries
//                            + sum over the numbers present of scales[d][j] - precisions[d][j] (x_d - means[d][j])^2 / 2.
struct Stars {
    sparse::Entries<float> entries;
    Padded log_tables;
    const double *log_weights, *numbers, *scales, *means, *precisions;
    std::size_t rows, components, columns;

    Stars(const Starts& starts, const Columns& features, const Times& times, const Matrix& tables, const Vector& weights, const Matrix& x,
          const Matrix& log_scales, const Matrix& centres, const Matrix& inverse_variances, int threads)
        : entries(starts, features, times, tables.shape(0), threads), log_tables(tables.data(), tables.shape(0), tables.shape(1), threads),
          log_weights(weights.data()), numbers(x.data()), scales(log_scales.data()), means(centres.data()),
          precisions(inverse_variances.data()), rows(x.shape(0)), components(weights.shape(0)), columns(x.shape(1)) {
        demand(components > 0 && tables.shape(1) == components, "one weight a component is needed");
        demand(entries.rows == rows, "one start a row, and the end, are needed");
        for (const Matrix* of : {&log_scales, &centres, &inverse_variances})
            demand(of->shape(0) == columns && of->shape(1) == components, "one Gaussian a column and component is needed");
    }
};

// Log densities that some components lack are minus infinity; a sum with an infinite table is, too, and never NaN.
WIDE double softmax(Doubles* r, std::size_t vectors) {
    Doubles high = r[0];
    for (std::size_t v = 1; v < vectors; ++v) high = r[v] > high ? r[v] : high;
    double most = high[0];
    for (std::size_t i = 1; i < lanes::wide; ++i) most = std::max(most, high[i]);
    if (most == -infinity) {  // a row that no component can make: it says nothing of them
        for (std::size_t v = 0; v < vectors; ++v) r[v] = Doubles{};
        return most;
    }
    Doubles all = {};
    for (std::size_t v = 0; v < vectors; ++v) {
        r[v] -= most;
        lanes::exp_of_negative(r[v]);
        all += r[v];
    }
    const double total = lanes::sum(all);
    for (std::size_t v = 0; v < vectors; ++v) r[v] *= 1 / total;
    return most + std::log(total);
}

// The components' shares of a row, into `r`; gives the row's log probability.
double share_star(const Stars& s, std::size_t row, Doubles* r) {
    const std::size_t k = s.components, vectors = s.log_tables.vectors;
    auto* each = reinterpret_cast<double*>(r);
    std::copy_n(s.log_weights, k, each);
    std::fill(each + k, each + vectors * lanes::wide, -infinity);
    sparse::add(s.entries, row, s.log_tables, r);
    for (std::size_t d = 0; d < s.columns; ++d) {
        const double x = s.numbers[row * s.columns + d];
        if (std::isnan(x)) continue;
        const double *scale = s.scales + d * k, *mean = s.means + d * k, *precision = s.precisions + d * k;
        for (std::size_t j = 0; j < k; ++j) each[j] += scale[j] - std::min(0.5 * precision[j] * (x - mean[j]) * (x - mean[j]), 1e300);
    }
    return softmax(r, vectors);
}

INLINE void add_numbers(const Stars& s, std::size_t row, const double* r, double* n, double* moments) {
    const std::size_t k = s.components;
    for (std::size_t j = 0; j < k; ++j) n[j] += r[j];
    for (std::size_t d = 0; d < s.columns; ++d) {
        const double x = s.numbers[row * s.columns + d];
        if (std::isnan(x)) continue;
        const double* mean = s.means + d * k;
        double *count = moments + d * 3 * k, *shift = count + k, *square = shift + k;
        for (std::size_t j = 0; j < k; ++j) {
            const double t = x - mean[j];
            count[j] += r[j];
            shift[j] += r[j] * t;
            square[j] += r[j] * t * t;
        }
    }
}

WIDE void add_star(const Stars& s, std::size_t row, const double* r, double* n, double* tables, double* moments) {
    const std::size_t k = s.components;
    for (std::size_t entry = s.entries.begin(row); entry < s.entries.begin(row + 1); ++entry) {
        double* to = tables + static_cast<std::size_t>(s.entries.columns[entry]) * k;
        const double times = s.entries.value(entry);
        for (std::size_t j = 0; j < k; ++j) to[j] += times * r[j];
    }
    add_numbers(s, row, r, n, moments);
}

std::vector<double> part(const std::vector<double>& of, std::size_t first, std::size_t last) {
    return {of.begin() + static_cast<std::ptrdiff_t>(first), of.begin() + static_cast<std::ptrdiff_t>(last)};
}

nb::tuple star_step(const Starts& starts, const Columns& features, const Times& times, const Matrix& log_tables,
                    const Vector& log_weights, const Matrix& numbers, const Matrix& scales, const Matrix& means,
                    const Matrix& precisions, int threads) {
    const Stars s(starts, features, times, log_tables, log_weights, numbers, scales, means, precisions, threads);
    const std::size_t k = s.components, values = log_tables.shape(0);
    const std::size_t tables = 1 + k, moments = tables + values * k, all = moments + s.columns * 3 * k;
    std::vector<double> found;
    {
        const nb::gil_scoped_release release;
        const std::size_t row_bytes = s.columns * sizeof(double) + features.shape(0) * 8 / std::max<std::size_t>(s.rows, 1);
        found = sums::total(s.rows, row_bytes, all, threads, [&](std::size_t first, std::size_t last, double* to) {
            Buffer r(s.log_tables.vectors);
            for (; first < last; ++first) {
                to[0] += share_star(s, first, r.data());
                add_star(s, first, reinterpret_cast<const double*>(r.data()), to + 1, to + tables, to + moments);
            }
        });
    }
    return nb::make_tuple(arrays::out(part(found, 1, tables), {k}), arrays::out(part(found, tables, moments), {values, k}),
                          arrays::out(part(found, moments, all), {s.columns, 3, k}), found[0]);
}

// The same, each feature summed over the rows that hold it.
nb::tuple feature_step(const Starts& starts, const Columns& features, const Times& times, const Starts& by_feature, const Columns& holders,
                       const Times& held, const Matrix& log_tables, const Vector& log_weights, const Matrix& numbers,
                       const Matrix& scales, const Matrix& means, const Matrix& precisions, int threads) {
    const Stars s(starts, features, times, log_tables, log_weights, numbers, scales, means, precisions, threads);
    const sparse::Entries<float> turned(by_feature, holders, held, s.rows, threads);
    const std::size_t k = s.components, values = log_tables.shape(0);
    demand(turned.rows == values, "the features don't fit the tables");
    const std::size_t moments = 1 + k, all = moments + s.columns * 3 * k;
    std::vector<double> found, counts(values * k);
    {
        const nb::gil_scoped_release release;
        Padded shares(s.rows, k);
        found = sums::total(s.rows, 1 << 10, all, threads, [&](std::size_t first, std::size_t last, double* to) {
            Buffer r(s.log_tables.vectors);
            const auto* each = reinterpret_cast<const double*>(r.data());
            for (; first < last; ++first) {
                to[0] += share_star(s, first, r.data());
                shares.put(first, each, k);
                add_numbers(s, first, each, to + 1, to + moments);
            }
        });
        sparse::product(turned, shares, k, threads, counts.data());
    }
    return nb::make_tuple(arrays::out(part(found, 1, moments), {k}), arrays::out(std::move(counts), {values, k}),
                          arrays::out(part(found, moments, all), {s.columns, 3, k}), found[0]);
}

nb::tuple star_posterior(const Starts& starts, const Columns& features, const Times& times, const Matrix& log_tables,
                         const Vector& log_weights, const Matrix& numbers, const Matrix& scales, const Matrix& means,
                         const Matrix& precisions, int threads) {
    const Stars s(starts, features, times, log_tables, log_weights, numbers, scales, means, precisions, threads);
    const std::size_t k = s.components;
    std::vector<double> shares(s.rows * k), logs(s.rows);
    {
        const nb::gil_scoped_release release;
        constexpr std::size_t chunk = 64;
        share((s.rows + chunk - 1) / chunk, 1, threads, [&](int, std::size_t i) {
            Buffer r(s.log_tables.vectors);
            for (std::size_t row = i * chunk; row < std::min(s.rows, (i + 1) * chunk); ++row) {
                logs[row] = share_star(s, row, r.data());
                std::copy_n(reinterpret_cast<const double*>(r.data()), k, shares.data() + row * k);
            }
        });
    }
    return nb::make_tuple(arrays::out(std::move(shares), {s.rows, k}), arrays::out(std::move(logs), {s.rows}));
}

}  // namespace

void bind_stars(nb::module_& m) {
    using namespace nb::literals;
    m.def("star_step", &star_step, "starts"_a, "features"_a, "times"_a.none(), "log_tables"_a, "log_weights"_a, "numbers"_a, "scales"_a,
          "means"_a, "precisions"_a, "threads"_a = 1,
          "For each component its expected rows, (features, components) counts, (columns, 3, components) sums of r, r (x - mean) "
          "and r (x - mean)^2 over the numbers present; and the log-likelihood.");
    m.def("feature_step", &feature_step, "starts"_a, "features"_a, "times"_a.none(), "by_feature"_a, "holders"_a, "held"_a.none(),
          "log_tables"_a, "log_weights"_a, "numbers"_a, "scales"_a, "means"_a, "precisions"_a, "threads"_a = 1,
          "The same of rows that are there a second time, turned: which rows hold each feature, and how often.");
    m.def("star_posterior", &star_posterior, "starts"_a, "features"_a, "times"_a.none(), "log_tables"_a, "log_weights"_a, "numbers"_a,
          "scales"_a, "means"_a, "precisions"_a, "threads"_a = 1,
          "The components' shares of each row, shape (rows, components), and each row's log probability.");
}
