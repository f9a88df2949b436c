// The E step of mixtures: what each row says of each component, summed as it is found.
//
// Gaussian components take dense rows; tables of categories, bags of words and columns of numbers take sparse rows.
// Rows go through in blocks, so nothing of the size rows x components is ever held. Rows are cut into shards by the
// shapes alone, a thread adds up one shard at a time, and shards are added in order: threads change no digit.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <stdexcept>
#include <vector>

#include "lanes.hpp"
#include "module.hpp"
#include "texts.hpp"

namespace {

using lanes::Buffer;
using lanes::Doubles;

using Floats = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Starts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Features = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Answer = nb::ndarray<nb::numpy, double, nb::c_contig>;

Answer give(std::vector<double>&& values, std::initializer_list<std::size_t> shape) {
    auto* held = new std::vector<double>(std::move(values));
    nb::capsule owner(held, [](void* at) noexcept { delete static_cast<std::vector<double>*>(at); });
    return Answer(held->data(), shape, owner);
}

void demand(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

// Sums over all rows, in an order that depends on the shapes only. work(first, last, sums) adds up some of the rows.
template <class Work>
std::vector<double> total(std::size_t rows, std::size_t row_bytes, std::size_t size, int threads, Work&& work) {
    const std::size_t room = std::max<std::size_t>(std::size_t{1} << 20, rows * row_bytes / 32) / (size * sizeof(double));
    const std::size_t count = std::clamp<std::size_t>(std::min(room, rows / 1024), 1, 64);
    std::vector<std::vector<double>> shards(count);
    share(count, 1, threads, [&](int, std::size_t shard) {
        shards[shard].resize(size);
        work(rows * shard / count, rows * (shard + 1) / count, shards[shard].data());
    });
    for (std::size_t step = 1; step < count; step *= 2)
        for (std::size_t shard = 0; shard + step < count; shard += 2 * step)
            for (std::size_t i = 0; i < size; ++i) shards[shard][i] += shards[shard + step][i];
    return std::move(shards[0]);
}

// ---- Gaussian components -------------------------------------------------------------------------------------------

constexpr std::size_t vectors = 64;  // of lanes in a block
constexpr std::size_t block = vectors * lanes::wide;

// Density of component j at x: exp(scales[j] - |factor_j (x - means_j)|^2 / 2), where factor_j is the inverse of the
// covariance's Cholesky factor: lower triangular, or its diagonal alone.
struct Gaussians {
    std::size_t components, dimensions;
    bool full;
    const double *scales, *means, *factors;

    Gaussians(const Vector& log_scales, const Matrix& centres, const Floats& inverse_factors)
        : components(log_scales.shape(0)), dimensions(centres.shape(1)), full(inverse_factors.ndim() == 3),
          scales(log_scales.data()), means(centres.data()), factors(inverse_factors.data()) {
        demand(components > 0 && dimensions > 0 && centres.shape(0) == components, "one scale and one mean a component are needed");
        demand(inverse_factors.ndim() == 2 || full, "factors must be (components, dimensions) or (components, dimensions, dimensions)");
        for (std::size_t axis = 0; axis < inverse_factors.ndim(); ++axis)
            demand(inverse_factors.shape(axis) == (axis ? dimensions : components), "factors don't fit the means");
    }

    std::size_t squares() const { return full ? dimensions * dimensions : dimensions; }
    std::size_t padded() const { return (dimensions + 3) / 4 * 4; }
};

// A block of rows: lanes run over rows. `x` and `t` are [dimension][vector], `r` is [component][vector].
struct Block {
    Buffer x, t, r, log_density;
    std::vector<double> factor;  // of one component, its dimensions filled up to a multiple of four

    explicit Block(const Gaussians& g)
        : x(g.padded() * vectors), t(g.padded() * vectors), r(g.components * vectors), log_density(vectors),
          factor(g.padded() * g.padded()) {}

    void load(const double* rows, std::size_t count, std::size_t dimensions) {
        auto* to = reinterpret_cast<double*>(x.data());
        for (std::size_t d = 0; d < dimensions; ++d) {
            for (std::size_t i = 0; i < count; ++i) to[d * block + i] = rows[i * dimensions + d];
            std::fill(to + d * block + count, to + (d + 1) * block, 0.0);
        }
    }
};

// Half the squared distance may not overflow: an infinite one would be no distance to compare with another.
PLAUSIBLE_INLINE void place(Doubles& r, double scale, const Doubles& distance) {
    r = scale - 0.5 * (distance < 1e300 ? distance : 1e300 - Doubles{});
}

PLAUSIBLE_WIDE void densities_diagonal(const Gaussians& g, Block& b) {
    const Doubles* x = b.x.data();
    for (std::size_t j = 0; j < g.components; ++j) {
        const double *mean = g.means + j * g.dimensions, *factor = g.factors + j * g.dimensions;
        for (std::size_t v = 0; v < vectors; v += 4) {
            Doubles q[4] = {};
            for (std::size_t d = 0; d < g.dimensions; ++d)
                for (std::size_t u = 0; u < 4; ++u) {
                    const Doubles t = (x[d * vectors + v + u] - mean[d]) * factor[d];
                    q[u] += t * t;
                }
            for (std::size_t u = 0; u < 4; ++u) place(b.r.data()[j * vectors + v + u], g.scales[j], q[u]);
        }
    }
}

PLAUSIBLE_INLINE void centre(const Gaussians& g, Block& b, std::size_t j) {
    const Doubles* x = b.x.data();
    Doubles* t = b.t.data();
    for (std::size_t d = 0; d < g.dimensions; ++d)
        for (std::size_t v = 0; v < vectors; ++v) t[d * vectors + v] = x[d * vectors + v] - g.means[j * g.dimensions + d];
}

PLAUSIBLE_WIDE void densities_full(const Gaussians& g, Block& b) {
    const std::size_t padded = g.padded();
    const Doubles* t = b.t.data();
    double* factor = b.factor.data();
    for (std::size_t j = 0; j < g.components; ++j) {
        centre(g, b, j);
        for (std::size_t d = 0; d < g.dimensions; ++d)
            for (std::size_t e = 0; e <= d; ++e) factor[d * padded + e] = g.factors[(j * g.dimensions + d) * g.dimensions + e];
        for (std::size_t v = 0; v < vectors; v += 4) {
            Doubles q[4] = {};
            for (std::size_t d = 0; d < padded; d += 4) {
                Doubles y[4][4] = {};
                for (std::size_t e = 0; e < d + 4; ++e)
                    for (std::size_t i = 0; i < 4; ++i)
                        for (std::size_t u = 0; u < 4; ++u) y[i][u] += factor[(d + i) * padded + e] * t[e * vectors + v + u];
                for (std::size_t i = 0; i < 4; ++i)
                    for (std::size_t u = 0; u < 4; ++u) q[u] += y[i][u] * y[i][u];
            }
            for (std::size_t u = 0; u < 4; ++u) place(b.r.data()[j * vectors + v + u], g.scales[j], q[u]);
        }
    }
}

// From log densities to the components' shares of each row, and the row's log density.
PLAUSIBLE_WIDE void share_out(const Gaussians& g, Block& b) {
    Doubles* r = b.r.data();
    for (std::size_t v = 0; v < vectors; ++v) {
        Doubles most = r[v];
        for (std::size_t j = 1; j < g.components; ++j) most = r[j * vectors + v] > most ? r[j * vectors + v] : most;
        Doubles all = {};
        for (std::size_t j = 0; j < g.components; ++j) {
            Doubles e = r[j * vectors + v] - most;
            lanes::exp_of_negative(e);
            all += e;
            r[j * vectors + v] = e;
        }
        const Doubles part = 1.0 / all;
        for (std::size_t j = 0; j < g.components; ++j) r[j * vectors + v] *= part;
        Doubles logs;
        for (std::size_t i = 0; i < lanes::wide; ++i) logs[i] = std::log(all[i]);
        b.log_density.data()[v] = most + logs;
    }
}

// Adds the block's sums of r, r (x - mean) and r (x - mean)^2 for each component.
PLAUSIBLE_WIDE void add_diagonal(const Gaussians& g, Block& b, double* n, double* shifts, double* squares) {
    const Doubles* x = b.x.data();
    for (std::size_t j = 0; j < g.components; ++j) {
        const Doubles* r = b.r.data() + j * vectors;
        Doubles count = {};
        for (std::size_t v = 0; v < vectors; ++v) count += r[v];
        n[j] += lanes::sum(count);
        for (std::size_t d = 0; d < g.dimensions; ++d) {
            const double mean = g.means[j * g.dimensions + d];
            Doubles first[2] = {}, second[2] = {};
            for (std::size_t v = 0; v < vectors; v += 2)
                for (std::size_t u = 0; u < 2; ++u) {
                    const Doubles t = x[d * vectors + v + u] - mean;
                    const Doubles rt = r[v + u] * t;
                    first[u] += rt;
                    second[u] += rt * t;
                }
            shifts[j * g.dimensions + d] += lanes::sum(first[0] + first[1]);
            squares[j * g.dimensions + d] += lanes::sum(second[0] + second[1]);
        }
    }
}

PLAUSIBLE_WIDE void add_full(const Gaussians& g, Block& b, double* n, double* shifts, double* squares) {
    const std::size_t size = g.dimensions;
    const Doubles* t = b.t.data();
    for (std::size_t j = 0; j < g.components; ++j) {
        const Doubles* r = b.r.data() + j * vectors;
        Doubles count = {};
        for (std::size_t v = 0; v < vectors; ++v) count += r[v];
        n[j] += lanes::sum(count);
        centre(g, b, j);
        for (std::size_t d = 0; d < size; d += 4) {
            Doubles first[4] = {};
            for (std::size_t v = 0; v < vectors; ++v)
                for (std::size_t i = 0; i < 4; ++i) first[i] += r[v] * t[(d + i) * vectors + v];
            for (std::size_t i = 0; i < std::min<std::size_t>(4, size - d); ++i) shifts[j * size + d + i] += lanes::sum(first[i]);
            for (std::size_t e = 0; e <= d; e += 4) {
                Doubles second[4][4] = {};
                for (std::size_t v = 0; v < vectors; ++v)
                    for (std::size_t i = 0; i < 4; ++i) {
                        const Doubles rt = r[v] * t[(d + i) * vectors + v];
                        for (std::size_t u = 0; u < 4; ++u) second[i][u] += rt * t[(e + u) * vectors + v];
                    }
                for (std::size_t i = 0; i < std::min<std::size_t>(4, size - d); ++i)
                    for (std::size_t u = 0; u < std::min<std::size_t>(4, size - e); ++u)
                        if (e + u <= d + i) squares[(j * size + d + i) * size + e + u] += lanes::sum(second[i][u]);
            }
        }
    }
}

// Calls use(first row, rows, block) for each block of the rows, its shares found.
template <class Use>
void each_block(const Gaussians& g, const Matrix& x, std::size_t first, std::size_t last, Use&& use) {
    Block b(g);
    for (; first < last; first += block) {
        const std::size_t count = std::min(block, last - first);
        b.load(x.data() + first * g.dimensions, count, g.dimensions);
        if (g.full) densities_full(g, b);
        else densities_diagonal(g, b);
        share_out(g, b);
        use(first, count, b);
    }
}

// A block's lanes beyond its rows count for nothing.
void silence(const Gaussians& g, Block& b, std::size_t count) {
    if (count == block) return;
    auto* r = reinterpret_cast<double*>(b.r.data());
    for (std::size_t j = 0; j < g.components; ++j) std::fill(r + j * block + count, r + (j + 1) * block, 0.0);
}

nb::tuple gaussian_step(const Matrix& x, const Vector& log_scales, const Matrix& means, const Floats& factors, int threads) {
    const Gaussians g(log_scales, means, factors);
    demand(x.shape(1) == g.dimensions, "the rows don't fit the means");
    const std::size_t k = g.components, size = g.dimensions;
    const std::size_t shifts = 1 + k, squares = shifts + k * size, all = squares + k * g.squares();
    std::vector<double> sums;
    {
        const nb::gil_scoped_release release;
        sums = total(x.shape(0), size * sizeof(double), all, threads, [&](std::size_t first, std::size_t last, double* to) {
            each_block(g, x, first, last, [&](std::size_t, std::size_t count, Block& b) {
                silence(g, b, count);
                const auto* logs = reinterpret_cast<const double*>(b.log_density.data());
                double sum = 0;
                for (std::size_t i = 0; i < count; ++i) sum += logs[i];
                to[0] += sum;
                if (g.full) add_full(g, b, to + 1, to + shifts, to + squares);
                else add_diagonal(g, b, to + 1, to + shifts, to + squares);
            });
        });
        if (g.full)
            for (std::size_t j = 0; j < k; ++j)
                for (std::size_t d = 0; d < size; ++d)
                    for (std::size_t e = 0; e < d; ++e)
                        sums[squares + (j * size + e) * size + d] = sums[squares + (j * size + d) * size + e];
    }
    const auto part = [&](std::size_t first, std::size_t last) {
        return std::vector<double>(sums.begin() + static_cast<std::ptrdiff_t>(first), sums.begin() + static_cast<std::ptrdiff_t>(last));
    };
    return nb::make_tuple(give(part(1, shifts), {k}), give(part(shifts, squares), {k, size}),
                          g.full ? give(part(squares, all), {k, size, size}) : give(part(squares, all), {k, size}), sums[0]);
}

nb::tuple gaussian_posterior(const Matrix& x, const Vector& log_scales, const Matrix& means, const Floats& factors, int threads) {
    const Gaussians g(log_scales, means, factors);
    demand(x.shape(1) == g.dimensions, "the rows don't fit the means");
    const std::size_t rows = x.shape(0), k = g.components;
    std::vector<double> shares(rows * k), densities(rows);
    {
        const nb::gil_scoped_release release;
        constexpr std::size_t chunk = 4 * block;
        share((rows + chunk - 1) / chunk, 1, threads, [&](int, std::size_t i) {
            each_block(g, x, i * chunk, std::min(rows, (i + 1) * chunk), [&](std::size_t first, std::size_t count, Block& b) {
                const auto* r = reinterpret_cast<const double*>(b.r.data());
                std::copy_n(reinterpret_cast<const double*>(b.log_density.data()), count, densities.begin() + static_cast<std::ptrdiff_t>(first));
                for (std::size_t row = 0; row < count; ++row)
                    for (std::size_t j = 0; j < k; ++j) shares[(first + row) * k + j] = r[j * block + row];
            });
        });
    }
    return nb::make_tuple(give(std::move(shares), {rows, k}), give(std::move(densities), {rows}));
}

// ---- Stars with a hidden centre: sparse rows of categories or words, and columns of numbers with gaps ------------------

// log P(row and component j) = log_weights[j] + sum of times * log_tables[feature][j] over the row's entries
//                            + sum over the numbers present of scales[d][j] - precisions[d][j] (x_d - means[d][j])^2 / 2.
struct Stars {
    Starts starts;
    Features features;
    std::optional<Vector> times;
    Matrix log_tables;
    Vector log_weights;
    Matrix numbers, scales, means, precisions;
    std::size_t rows, components, columns;

    Stars(Starts first, Features entries, std::optional<Vector> counts, Matrix tables, Vector weights, Matrix x, Matrix log_scales,
          Matrix centres, Matrix inverse_variances)
        : starts(first), features(entries), times(counts), log_tables(tables), log_weights(weights), numbers(x), scales(log_scales),
          means(centres), precisions(inverse_variances), rows(x.shape(0)), components(weights.shape(0)), columns(x.shape(1)) {
        demand(components > 0 && log_tables.shape(1) == components, "one weight a component is needed");
        demand(starts.shape(0) == rows + 1, "one start a row, and the end, are needed");
        demand(!times || times->shape(0) == features.shape(0), "one count an entry is needed");
        for (const Matrix* of : {&scales, &means, &precisions})
            demand(of->shape(0) == columns && of->shape(1) == components, "one Gaussian a column and component is needed");
        demand(starts(0) == 0 && starts(rows) == static_cast<std::int64_t>(features.shape(0)), "starts don't fit the entries");
        for (std::size_t i = 0; i < rows; ++i) demand(starts(i) <= starts(i + 1), "starts must not fall");
        for (std::size_t i = 0; i < features.shape(0); ++i)
            demand(features(i) >= 0 && static_cast<std::size_t>(features(i)) < log_tables.shape(0), "an entry is out of range");
    }

    std::size_t begin(std::size_t row) const { return static_cast<std::size_t>(starts(row)); }
    double count(std::size_t entry) const { return times ? times->data()[entry] : 1.0; }
};

// The components' shares of a row, in `r`; gives the row's log probability.
PLAUSIBLE_WIDE double share_star(const Stars& s, std::size_t row, double* r) {
    const std::size_t k = s.components;
    std::copy_n(s.log_weights.data(), k, r);
    for (std::size_t entry = s.begin(row); entry < s.begin(row + 1); ++entry) {
        const double* logs = s.log_tables.data() + static_cast<std::size_t>(s.features.data()[entry]) * k;
        const double times = s.count(entry);
        for (std::size_t j = 0; j < k; ++j) r[j] += times * logs[j];
    }
    for (std::size_t d = 0; d < s.columns; ++d) {
        const double x = s.numbers.data()[row * s.columns + d];
        if (std::isnan(x)) continue;
        const double *scale = s.scales.data() + d * k, *mean = s.means.data() + d * k, *precision = s.precisions.data() + d * k;
        for (std::size_t j = 0; j < k; ++j) r[j] += scale[j] - std::min(0.5 * precision[j] * (x - mean[j]) * (x - mean[j]), 1e300);
    }
    const double most = *std::max_element(r, r + k);
    if (most == -std::numeric_limits<double>::infinity()) {  // a row that no component can make: it says nothing of them
        std::fill(r, r + k, 0.0);
        return most;
    }
    double all = 0;
    for (std::size_t j = 0; j < k; ++j) all += r[j] = std::exp(r[j] - most);
    for (std::size_t j = 0; j < k; ++j) r[j] /= all;
    return most + std::log(all);
}

PLAUSIBLE_WIDE void add_star(const Stars& s, std::size_t row, const double* r, double* n, double* tables, double* moments) {
    const std::size_t k = s.components;
    for (std::size_t j = 0; j < k; ++j) n[j] += r[j];
    for (std::size_t entry = s.begin(row); entry < s.begin(row + 1); ++entry) {
        double* to = tables + static_cast<std::size_t>(s.features.data()[entry]) * k;
        const double times = s.count(entry);
        for (std::size_t j = 0; j < k; ++j) to[j] += times * r[j];
    }
    for (std::size_t d = 0; d < s.columns; ++d) {
        const double x = s.numbers.data()[row * s.columns + d];
        if (std::isnan(x)) continue;
        const double* mean = s.means.data() + d * k;
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
    const Stars s(starts, features, times, log_tables, log_weights, numbers, scales, means, precisions);
    const std::size_t k = s.components, values = log_tables.shape(0);
    const std::size_t tables = 1 + k, moments = tables + values * k, all = moments + s.columns * 3 * k;
    std::vector<double> sums;
    {
        const nb::gil_scoped_release release;
        const std::size_t row_bytes = s.columns * sizeof(double) + features.shape(0) * 12 / std::max<std::size_t>(s.rows, 1);
        sums = total(s.rows, row_bytes, all, threads, [&](std::size_t first, std::size_t last, double* to) {
            std::vector<double> r(k);
            for (; first < last; ++first) {
                to[0] += share_star(s, first, r.data());
                add_star(s, first, r.data(), to + 1, to + tables, to + moments);
            }
        });
    }
    const auto part = [&](std::size_t first, std::size_t last) {
        return std::vector<double>(sums.begin() + static_cast<std::ptrdiff_t>(first), sums.begin() + static_cast<std::ptrdiff_t>(last));
    };
    return nb::make_tuple(give(part(1, tables), {k}), give(part(tables, moments), {values, k}),
                          give(part(moments, all), {s.columns, 3, k}), sums[0]);
}

nb::tuple star_posterior(const Starts& starts, const Features& features, const std::optional<Vector>& times, const Matrix& log_tables,
                         const Vector& log_weights, const Matrix& numbers, const Matrix& scales, const Matrix& means,
                         const Matrix& precisions, int threads) {
    const Stars s(starts, features, times, log_tables, log_weights, numbers, scales, means, precisions);
    std::vector<double> shares(s.rows * s.components), logs(s.rows);
    {
        const nb::gil_scoped_release release;
        share(s.rows, 1024, threads, [&](int, std::size_t row) { logs[row] = share_star(s, row, shares.data() + row * s.components); });
    }
    return nb::make_tuple(give(std::move(shares), {s.rows, s.components}), give(std::move(logs), {s.rows}));
}

}  // namespace

void bind_mixture(nb::module_& m) {
    using namespace nb::literals;
    m.def("gaussian_step", &gaussian_step, "x"_a, "log_scales"_a, "means"_a, "factors"_a, "threads"_a = 1,
          "For each component the sums over rows of r, r (x - mean) and r (x - mean)^2, where r is the component's share of the "
          "row; and the log-likelihood.");
    m.def("gaussian_posterior", &gaussian_posterior, "x"_a, "log_scales"_a, "means"_a, "factors"_a, "threads"_a = 1,
          "The components' shares of each row, shape (rows, components), and each row's log density.");
    m.def("star_step", &star_step, "starts"_a, "features"_a, "times"_a.none(), "log_tables"_a, "log_weights"_a, "numbers"_a, "scales"_a,
          "means"_a, "precisions"_a, "threads"_a = 1,
          "For each component its expected rows, (features, components) counts, (columns, 3, components) sums of r, r (x - mean) "
          "and r (x - mean)^2 over the numbers present; and the log-likelihood.");
    m.def("star_posterior", &star_posterior, "starts"_a, "features"_a, "times"_a.none(), "log_tables"_a, "log_weights"_a, "numbers"_a,
          "scales"_a, "means"_a, "precisions"_a, "threads"_a = 1,
          "The components' shares of each row, shape (rows, components), and each row's log probability.");
}
