// The E step of mixtures of Gaussians: what each row says of each component, summed as it is found.
//
// Rows go through in blocks, so nothing of the size rows x components is ever held. Rows are cut into shards by the
// shapes alone, a thread adds up one shard at a time, and shards are added in order: threads change no digit.
#include <algorithm>
#include <cmath>
#include <vector>

#include "lanes.hpp"
#include "module.hpp"
#include "sums.hpp"

namespace {

using lanes::Buffer;
using lanes::Doubles;
using sums::demand;
using sums::Matrix;
using sums::Vector;

using Floats = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

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
INLINE void place(Doubles& r, double scale, const Doubles& distance) {
    r = scale - 0.5 * (distance < 1e300 ? distance : 1e300 - Doubles{});
}

WIDE void densities_diagonal(const Gaussians& g, Block& b) {
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

INLINE void centre(const Gaussians& g, Block& b, std::size_t j) {
    const Doubles* x = b.x.data();
    Doubles* t = b.t.data();
    for (std::size_t d = 0; d < g.dimensions; ++d)
        for (std::size_t v = 0; v < vectors; ++v) t[d * vectors + v] = x[d * vectors + v] - g.means[j * g.dimensions + d];
}

WIDE void densities_full(const Gaussians& g, Block& b) {
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
WIDE void share_out(const Gaussians& g, Block& b) {
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
WIDE void add_diagonal(const Gaussians& g, Block& b, double* n, double* shifts, double* squares) {
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

WIDE void add_full(const Gaussians& g, Block& b, double* n, double* shifts, double* squares) {
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
    std::vector<double> found;
    {
        const nb::gil_scoped_release release;
        found = sums::total(x.shape(0), size * sizeof(double), all, threads, [&](std::size_t first, std::size_t last, double* to) {
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
                        found[squares + (j * size + e) * size + d] = found[squares + (j * size + d) * size + e];
    }
    const auto part = [&](std::size_t first, std::size_t last) {
        return std::vector<double>(found.begin() + static_cast<std::ptrdiff_t>(first), found.begin() + static_cast<std::ptrdiff_t>(last));
    };
    return nb::make_tuple(arrays::out(part(1, shifts), {k}), arrays::out(part(shifts, squares), {k, size}),
                          g.full ? arrays::out(part(squares, all), {k, size, size}) : arrays::out(part(squares, all), {k, size}), found[0]);
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
    return nb::make_tuple(arrays::out(std::move(shares), {rows, k}), arrays::out(std::move(densities), {rows}));
}

// How many rows each component has the greatest share of; of equal shares the first counts.
arrays::Out<std::int64_t> gaussian_sizes(const Matrix& x, const Vector& log_scales, const Matrix& means, const Floats& factors, int threads) {
    const Gaussians g(log_scales, means, factors);
    demand(x.shape(1) == g.dimensions, "the rows don't fit the means");
    const std::size_t rows = x.shape(0), k = g.components;
    std::vector<std::int64_t> sizes(k);
    {
        const nb::gil_scoped_release release;
        const std::vector<double> found = sums::total(rows, g.dimensions * sizeof(double), k, threads, [&](std::size_t first, std::size_t last, double* to) {
            each_block(g, x, first, last, [&](std::size_t, std::size_t count, Block& b) {
                const auto* r = reinterpret_cast<const double*>(b.r.data());
                for (std::size_t row = 0; row < count; ++row) {
                    std::size_t best = 0;
                    for (std::size_t j = 1; j < k; ++j) best = r[j * block + row] > r[best * block + row] ? j : best;
                    ++to[best];
                }
            });
        });
        std::copy(found.begin(), found.end(), sizes.begin());
    }
    return arrays::out(std::move(sizes), {k});
}

}  // namespace

void bind_gaussians(nb::module_& m) {
    using namespace nb::literals;
    m.def("gaussian_step", &gaussian_step, "x"_a, "log_scales"_a, "means"_a, "factors"_a, "threads"_a = 1,
          "For each component the sums over rows of r, r (x - mean) and r (x - mean)^2, where r is the component's share of the "
          "row; and the log-likelihood.");
    m.def("gaussian_posterior", &gaussian_posterior, "x"_a, "log_scales"_a, "means"_a, "factors"_a, "threads"_a = 1,
          "The components' shares of each row, shape (rows, components), and each row's log density.");
    m.def("gaussian_sizes", &gaussian_sizes, "x"_a, "log_scales"_a, "means"_a, "factors"_a, "threads"_a = 1,
          "How many rows each component has the greatest share of.");
}
