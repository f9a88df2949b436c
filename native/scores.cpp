// What scores and tests of structure need of tables of counts: sums over cells that occur.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "module.hpp"

namespace {

namespace nb = nanobind;
using Size = std::int64_t;

// ln Γ(x), x > 0: Stirling's series (Abramowitz and Stegun 1964, 6.1.41) from 10 on, the recurrence below.
double log_gamma(double x) {
    double below = 1;
    for (; x < 10; x += 1) below *= x;
    const double y = 1 / x;
    const double z = y * y;
    const double series =
        y * (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z * (1.0 / 1188 - z * 691.0 / 360360)))));
    return (x - .5) * std::log(x) - x + .5 * std::log(2 * std::numbers::pi) + series - (below == 1 ? 0 : std::log(below));
}

// ln Γ(a + n) / Γ(a), where `start` is ln Γ(a).
double log_rising(double a, Size n, double start) {
    if (n > 8) return log_gamma(a + static_cast<double>(n)) - start;
    double product = 1;
    for (Size i = 0; i < n; ++i) product *= a + static_cast<double>(i);
    return std::log(product);
}

// ln of the marginal likelihood of one table, `prior` imaginary cases a cell
// (Heckerman, Geiger and Chickering 1995, eq. 28).
double dirichlet(const Size* cells, const Size* end, Size states, double prior) {
    const double row_prior = prior * static_cast<double>(states);
    const double start = log_gamma(prior);
    const double row_start = log_gamma(row_prior);
    double score = 0;
    for (; cells != end; cells += states) {
        Size total = 0;
        for (Size k = 0; k < states; ++k) {
            if (cells[k] == 0) continue;
            total += cells[k];
            score += log_rising(prior, cells[k], start);
        }
        if (total) score -= log_rising(row_prior, total, row_start);
    }
    return score;
}

// Σ n_ijk ln(n_ijk / n_ij), the greatest log-likelihood of one table.
double likelihood(const Size* cells, const Size* end, Size states) {
    double score = 0;
    for (; cells != end; cells += states) {
        Size total = 0;
        for (Size k = 0; k < states; ++k) total += cells[k];
        for (Size k = 0; k < states; ++k) {
            if (cells[k] == 0 || cells[k] == total) continue;
            const auto n = static_cast<double>(cells[k]);
            score += n * std::log(n / static_cast<double>(total));
        }
    }
    return score;
}

struct Dependence {
    double g2 = 0;
    double x2 = 0;
    double freedom = 0;
};

// Tests of x and y given z on one table with the axes x, z, y. A stratum of z has (rows - 1)(columns - 1)
// degrees of freedom, of the rows and columns that occur in it (Agresti 2002, section 3.2).
Dependence dependence(const Size* cells, Size xs, Size zs, Size ys) {
    Dependence found;
    std::vector<double> of_x(static_cast<std::size_t>(xs));
    std::vector<double> of_y(static_cast<std::size_t>(ys));
    for (Size z = 0; z < zs; ++z) {
        std::fill(of_x.begin(), of_x.end(), 0.0);
        std::fill(of_y.begin(), of_y.end(), 0.0);
        double total = 0;
        for (Size x = 0; x < xs; ++x) {
            const Size* row = cells + (x * zs + z) * ys;
            for (Size y = 0; y < ys; ++y) {
                const auto n = static_cast<double>(row[y]);
                of_x[static_cast<std::size_t>(x)] += n;
                of_y[static_cast<std::size_t>(y)] += n;
                total += n;
            }
        }
        if (total == 0) continue;
        double rows = -1;
        double columns = -1;
        for (const double n : of_x) rows += n > 0;
        for (const double n : of_y) columns += n > 0;
        if (rows == 0 || columns == 0) continue;
        found.freedom += rows * columns;
        for (Size x = 0; x < xs; ++x) {
            if (of_x[static_cast<std::size_t>(x)] == 0) continue;
            const Size* row = cells + (x * zs + z) * ys;
            for (Size y = 0; y < ys; ++y) {
                const double expected = of_x[static_cast<std::size_t>(x)] * of_y[static_cast<std::size_t>(y)] / total;
                if (expected == 0) continue;
                const auto n = static_cast<double>(row[y]);
                found.x2 += (n - expected) * (n - expected) / expected;
                if (n > 0) found.g2 += 2 * n * std::log(n / expected);
            }
        }
    }
    return found;
}

// Q(a, x), the upper incomplete gamma function (Abramowitz and Stegun 1964, 6.5.29 and 6.5.31).
double upper_gamma(double a, double x) {
    if (!(x > 0)) return 1;
    const double scale = std::exp(a * std::log(x) - x - log_gamma(a));
    constexpr double tiny = 1e-300;
    if (x < a + 1) {
        double term = 1 / a;
        double sum = term;
        for (double n = 1; term > sum * 1e-16; ++n) sum += term *= x / (a + n);
        return std::max(0.0, 1 - scale * sum);
    }
    double b = x + 1 - a;
    double c = 1 / tiny;
    double d = 1 / b;
    double fraction = d;
    for (double n = 1; n < 10'000; ++n) {
        const double up = -n * (n - a);
        b += 2;
        d = up * d + b;
        d = 1 / (std::abs(d) < tiny ? tiny : d);
        c = b + up / c;
        c = std::abs(c) < tiny ? tiny : c;
        fraction *= d * c;
        if (std::abs(d * c - 1) < 1e-16) break;
    }
    return scale * fraction;
}

using Sizes = arrays::In<Size, 1>;
using Doubles = arrays::Out<double>;

Doubles given(std::vector<double>&& values) {
    const std::size_t size = values.size();
    return arrays::out(std::move(values), {size});
}

// Checks tables that lie end to end and gives their number.
std::size_t batch(const Sizes& cells, const Sizes& starts) {
    if (starts.shape(0) == 0) throw std::invalid_argument("starts is empty");
    const std::size_t count = starts.shape(0) - 1;
    for (std::size_t i = 0; i < count; ++i) {
        if (starts.data()[i] > starts.data()[i + 1]) throw std::invalid_argument("starts go backwards");
    }
    if (starts.data()[0] < 0 || starts.data()[count] > static_cast<Size>(cells.shape(0))) {
        throw std::out_of_range("a table lies outside the cells");
    }
    return count;
}

// Calls one(table, end, i) for each table and gathers what it gives.
template <class One>
Doubles each_table(const Sizes& cells, const Sizes& starts, const Sizes& states, One&& one) {
    const std::size_t count = batch(cells, starts);
    if (states.shape(0) != count) throw std::invalid_argument("one number of states a table");
    std::vector<double> values(count);
    {
        nb::gil_scoped_release release;
        for (std::size_t i = 0; i < count; ++i) {
            const Size from = starts.data()[i];
            const Size to = starts.data()[i + 1];
            if (states.data()[i] < 1 || (to - from) % states.data()[i]) throw std::invalid_argument("rows are cut");
            values[i] = one(cells.data() + from, cells.data() + to, i);
        }
    }
    return given(std::move(values));
}

Doubles dirichlets(const Sizes& cells, const Sizes& starts, const Sizes& states,
                const arrays::Doubles& priors) {
    if (priors.shape(0) != states.shape(0)) throw std::invalid_argument("one prior a table");
    return each_table(cells, starts, states, [&](const Size* table, const Size* end, std::size_t i) {
        return dirichlet(table, end, states.data()[i], priors.data()[i]);
    });
}

Doubles likelihoods(const Sizes& cells, const Sizes& starts, const Sizes& states) {
    return each_table(cells, starts, states, [&](const Size* table, const Size* end, std::size_t i) {
        return likelihood(table, end, states.data()[i]);
    });
}

arrays::Tuple<Doubles, Doubles, Doubles> dependences(const Sizes& cells, const Sizes& starts, const Sizes& firsts,
                 const Sizes& lasts) {
    const std::size_t count = batch(cells, starts);
    if (firsts.shape(0) != count || lasts.shape(0) != count) throw std::invalid_argument("two axes a table");
    std::vector<double> g2(count);
    std::vector<double> x2(count);
    std::vector<double> freedom(count);
    {
        nb::gil_scoped_release release;
        for (std::size_t i = 0; i < count; ++i) {
            const Size size = starts.data()[i + 1] - starts.data()[i];
            const Size first = firsts.data()[i];
            const Size last = lasts.data()[i];
            if (first < 1 || last < 1 || size % (first * last)) throw std::invalid_argument("axes don't fit a table");
            const Dependence one = dependence(cells.data() + starts.data()[i], first, size / (first * last), last);
            g2[i] = one.g2;
            x2[i] = one.x2;
            freedom[i] = one.freedom;
        }
    }
    return nb::make_tuple(given(std::move(g2)), given(std::move(x2)), given(std::move(freedom)));
}

Doubles chi2_tails(const arrays::Doubles& values, const arrays::Doubles& freedoms) {
    const std::size_t count = values.shape(0);
    if (freedoms.shape(0) != count) throw std::invalid_argument("one degree of freedom a value");
    std::vector<double> tails(count);
    for (std::size_t i = 0; i < count; ++i) {
        const double freedom = freedoms.data()[i];
        tails[i] = freedom > 0 ? upper_gamma(freedom / 2, values.data()[i] / 2) : 1;
    }
    return given(std::move(tails));
}

}  // namespace

void bind_scores(nb::module_& m) {
    m.def("dirichlets", &dirichlets, nb::arg("cells"), nb::arg("starts"), nb::arg("states"), nb::arg("priors"),
          "ln of the marginal likelihood of each table; `priors` imaginary cases a cell.");
    m.def("likelihoods", &likelihoods, nb::arg("cells"), nb::arg("starts"), nb::arg("states"),
          "The greatest log-likelihood of each table.");
    m.def("dependences", &dependences, nb::arg("cells"), nb::arg("starts"), nb::arg("firsts"), nb::arg("lasts"),
          "G², χ² and degrees of freedom of the first and last axis of each table given those between.");
    m.def("chi2_tails", &chi2_tails, nb::arg("values"), nb::arg("freedoms"), "P(χ² > value), value by value.");
}
