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
#include "sums.hpp"

namespace {

using lanes::Buffer;
using lanes::Doubles;
using sums::demand;
using sums::Matrix;
using sums::Vector;

using Starts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Features = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr double infinity = std::numeric_limits<double>::infinity();

// Rows of k numbers, each filled up to whole vectors.
struct Padded {
    std::size_t vectors;
    Buffer values;

    Padded(const double* from, std::size_t rows, std::size_t k, int threads)
        : vectors((k + lanes::wide - 1) / lanes::wide), values(rows * vectors) {
        auto* to = reinterpret_cast<double*>(values.data());
        share(rows, 4096, threads, [&](int, std::size_t i) { std::copy_n(from + i * k, k, to + i * vectors * lanes::wide); });
    }
    const Doubles* row(std::size_t i) const { return values.data() + i * vectors; }
};

void check_entries(const Starts& starts, const Features& at, const std::optional<Vector>& times, std::size_t rows, std::size_t bound) {
    demand(starts.shape(0) == rows + 1, "one start a row, and the end, are needed");
    demand(!times || times->shape(0) == at.shape(0), "one count an entry is needed");
    demand(starts(0) == 0 && starts(rows) == static_cast<std::int64_t>(at.shape(0)), "starts don't fit the entries");
    for (std::size_t i = 0; i < rows; ++i) demand(starts(i) <= starts(i + 1), "starts must not fall");
    bool inside = true;
    const std::int32_t* entries = at.data();
    for (std::size_t i = 0; i < at.shape(0); ++i) inside &= static_cast<std::uint32_t>(entries[i]) < bound;
    demand(inside, "an entry is out of range");
}

// Sparse rows: which, and how often.
struct Entries {
    const std::int64_t* starts;
    const std::int32_t* at;
    const double* times;  // once each, if null

    std::size_t begin(std::size_t row) const { return static_cast<std::size_t>(starts[row]); }
    double count(std::size_t entry) const { return times ? times[entry] : 1.0; }
};

// Adds `width` vectors of table rows, each times its count, to `sum`.
template <std::size_t width>
PLAUSIBLE_INLINE void add_rows(const Entries& e, std::size_t row, const Doubles* table, std::size_t stride, Doubles* sum) {
    constexpr std::size_t ahead = 16;
    Doubles held[width];
    for (std::size_t v = 0; v < width; ++v) held[v] = sum[v];
    const std::size_t end = e.begin(row + 1);
    for (std::size_t entry = e.begin(row); entry < end; ++entry) {
        if (entry + ahead < end) {
            const Doubles* next = table + static_cast<std::size_t>(e.at[entry + ahead]) * stride;
            for (std::size_t v = 0; v < width; ++v) __builtin_prefetch(next + v);
        }
        const Doubles* from = table + static_cast<std::size_t>(e.at[entry]) * stride;
        const double times = e.count(entry);
        for (std::size_t v = 0; v < width; ++v) held[v] += times * from[v];
    }
    for (std::size_t v = 0; v < width; ++v) sum[v] = held[v];
}

PLAUSIBLE_WIDE void add_entries(const Entries& e, std::size_t row, const Padded& table, Doubles* sum) {
    const std::size_t stride = table.vectors;
    std::size_t v = 0;
    for (; v + 4 <= stride; v += 4) add_rows<4>(e, row, table.row(0) + v, stride, sum + v);
    if (stride - v == 3) add_rows<3>(e, row, table.row(0) + v, stride, sum + v);
    if (stride - v == 2) add_rows<2>(e, row, table.row(0) + v, stride, sum + v);
    if (stride - v == 1) add_rows<1>(e, row, table.row(0) + v, stride, sum + v);
}

// log P(row and component j) = log_weights[j] + sum of times * log_tables[feature][j] over the row's entries
//                            + sum over the numbers present of scales[d][j] - precisions[d][j] (x_d - means[d][j])^2 / 2.
struct Stars {
    Entries entries;
    Padded log_tables;
    const double *log_weights, *numbers, *scales, *means, *precisions;
    std::size_t rows, components, columns;

    Stars(const Starts& starts, const Features& features, const std::optional<Vector>& times, const Matrix& tables, const Vector& weights,
          const Matrix& x, const Matrix& log_scales, const Matrix& centres, const Matrix& inverse_variances, int threads)
        : entries{starts.data(), features.data(), times ? times->data() : nullptr},
          log_tables(tables.data(), tables.shape(0), tables.shape(1), threads), log_weights(weights.data()), numbers(x.data()),
          scales(log_scales.data()), means(centres.data()), precisions(inverse_variances.data()), rows(x.shape(0)),
          components(weights.shape(0)), columns(x.shape(1)) {
        demand(components > 0 && tables.shape(1) == components, "one weight a component is needed");
        for (const Matrix* of : {&log_scales, &centres, &inverse_variances})
            demand(of->shape(0) == columns && of->shape(1) == components, "one Gaussian a column and component is needed");
        check_entries(starts, features, times, rows, tables.shape(0));
    }
};

// Log densities that some components lack are minus infinity; a sum with an infinite table is, too, and never NaN.
PLAUSIBLE_WIDE double softmax(Doubles* r, std::size_t vectors) {
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
    add_entries(s.entries, row, s.log_tables, r);
    for (std::size_t d = 0; d < s.columns; ++d) {
        const double x = s.numbers[row * s.columns + d];
        if (std::isnan(x)) continue;
        const double *scale = s.scales + d * k, *mean = s.means + d * k, *precision = s.precisions + d * k;
        for (std::size_t j = 0; j < k; ++j) each[j] += scale[j] - std::min(0.5 * precision[j] * (x - mean[j]) * (x - mean[j]), 1e300);
    }
    return softmax(r, vectors);
}

PLAUSIBLE_WIDE void add_star(const Stars& s, std::size_t row, const double* r, double* n, double* tables, double* moments) {
    const std::size_t k = s.components;
    for (std::size_t j = 0; j < k; ++j) n[j] += r[j];
    for (std::size_t entry = s.entries.begin(row); entry < s.entries.begin(row + 1); ++entry) {
        double* to = tables + static_cast<std::size_t>(s.entries.at[entry]) * k;
        const double times = s.entries.count(entry);
        for (std::size_t j = 0; j < k; ++j) to[j] += times * r[j];
    }
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

nb::tuple star_step(const Starts& starts, const Features& features, const std::optional<Vector>& times, const Matrix& log_tables,
                    const Vector& log_weights, const Matrix& numbers, const Matrix& scales, const Matrix& means,
                    const Matrix& precisions, int threads) {
    const Stars s(starts, features, times, log_tables, log_weights, numbers, scales, means, precisions, threads);
    const std::size_t k = s.components, values = log_tables.shape(0);
    const std::size_t tables = 1 + k, moments = tables + values * k, all = moments + s.columns * 3 * k;
    std::vector<double> found;
    {
        const nb::gil_scoped_release release;
        const std::size_t row_bytes = s.columns * sizeof(double) + features.shape(0) * 12 / std::max<std::size_t>(s.rows, 1);
        found = sums::total(s.rows, row_bytes, all, threads, [&](std::size_t first, std::size_t last, double* to) {
            Buffer r(s.log_tables.vectors);
            for (; first < last; ++first) {
                to[0] += share_star(s, first, r.data());
                add_star(s, first, reinterpret_cast<const double*>(r.data()), to + 1, to + tables, to + moments);
            }
        });
    }
    const auto part = [&](std::size_t first, std::size_t last) {
        return std::vector<double>(found.begin() + static_cast<std::ptrdiff_t>(first), found.begin() + static_cast<std::ptrdiff_t>(last));
    };
    return nb::make_tuple(arrays::out(part(1, tables), {k}), arrays::out(part(tables, moments), {values, k}),
                          arrays::out(part(moments, all), {s.columns, 3, k}), found[0]);
}

nb::tuple star_posterior(const Starts& starts, const Features& features, const std::optional<Vector>& times, const Matrix& log_tables,
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

arrays::Out<double> sparse_product(const Starts& starts, const Features& columns, const std::optional<Vector>& values, const Matrix& by, int threads) {
    demand(starts.shape(0) > 0, "one start a row, and the end, are needed");
    const std::size_t rows = starts.shape(0) - 1, k = by.shape(1);
    check_entries(starts, columns, values, rows, by.shape(0));
    std::vector<double> product(rows * k);
    {
        const nb::gil_scoped_release release;
        const Padded padded(by.data(), by.shape(0), k, threads);
        const Entries entries{starts.data(), columns.data(), values ? values->data() : nullptr};
        constexpr std::size_t chunk = 64;
        share((rows + chunk - 1) / chunk, 1, threads, [&](int, std::size_t i) {
            Buffer sum(padded.vectors);
            for (std::size_t row = i * chunk; row < std::min(rows, (i + 1) * chunk); ++row) {
                std::fill_n(reinterpret_cast<double*>(sum.data()), padded.vectors * lanes::wide, 0.0);
                add_entries(entries, row, padded, sum.data());
                std::copy_n(reinterpret_cast<const double*>(sum.data()), k, product.data() + row * k);
            }
        });
    }
    return arrays::out(std::move(product), {rows, k});
}

nb::tuple sparse_transpose(const Starts& starts, const Features& columns, const Vector& values, std::size_t size) {
    demand(starts.shape(0) > 0, "one start a row, and the end, are needed");
    const std::size_t rows = starts.shape(0) - 1, entries = columns.shape(0);
    check_entries(starts, columns, values, rows, size);
    std::vector<std::int64_t> ends(size + 1);
    std::vector<std::int32_t> at(entries);
    std::vector<double> turned(entries);
    for (std::size_t e = 0; e < entries; ++e) ++ends[static_cast<std::size_t>(columns(e)) + 1];
    for (std::size_t f = 0; f < size; ++f) ends[f + 1] += ends[f];
    std::vector<std::int64_t> next(ends.begin(), ends.end() - 1);
    for (std::size_t row = 0; row < rows; ++row)
        for (auto e = static_cast<std::size_t>(starts(row)); e < static_cast<std::size_t>(starts(row + 1)); ++e) {
            const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(columns(e))]++);
            at[to] = static_cast<std::int32_t>(row);
            turned[to] = values(e);
        }
    return nb::make_tuple(arrays::out(std::move(ends), {size + 1}), arrays::out(std::move(at), {entries}), arrays::out(std::move(turned), {entries}));
}

}  // namespace

void bind_stars(nb::module_& m) {
    using namespace nb::literals;
    m.def("star_step", &star_step, "starts"_a, "features"_a, "times"_a.none(), "log_tables"_a, "log_weights"_a, "numbers"_a, "scales"_a,
          "means"_a, "precisions"_a, "threads"_a = 1,
          "For each component its expected rows, (features, components) counts, (columns, 3, components) sums of r, r (x - mean) "
          "and r (x - mean)^2 over the numbers present; and the log-likelihood.");
    m.def("star_posterior", &star_posterior, "starts"_a, "features"_a, "times"_a.none(), "log_tables"_a, "log_weights"_a, "numbers"_a,
          "scales"_a, "means"_a, "precisions"_a, "threads"_a = 1,
          "The components' shares of each row, shape (rows, components), and each row's log probability.");
    m.def("sparse_product", &sparse_product, "starts"_a, "columns"_a, "values"_a.none(), "by"_a, "threads"_a = 1,
          "Sparse rows times a matrix of one row a column.");
    m.def("sparse_transpose", &sparse_transpose, "starts"_a, "columns"_a, "values"_a, "size"_a,
          "The starts, rows and values of each column of sparse rows.");
}
