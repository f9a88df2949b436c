// Messages up and down the tree of cliques (Jensen, Lauritzen and Olesen 1990), scaled on the way so that
// no amount of evidence underflows.
#include "propagate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace junction {

namespace {

constexpr double SMALL = 1e-16;        // a table whose mass is below this, or above its inverse, is scaled
constexpr double LEAST = 1e-300;       // its inverse is still a number
constexpr std::size_t PRODUCTS = 8;    // tables multiplied before the product's scale is looked at
constexpr Size HUGE_PAGE = Size{1} << 21;
constexpr std::size_t MOST_IDLE = 4;   // buffers kept
constexpr Size LARGEST_IDLE = Size{1} << 26;  // doubles of the largest that is kept: half a gigabyte

}  // namespace

void Pool::Free::operator()(double* at) const { std::free(at); }

Pool::Buffer Pool::take(Size doubles) {
    {
        const std::lock_guard<std::mutex> held(lock);
        for (std::size_t i = 0; i < idle.size(); ++i) {
            if (idle[i].second < doubles) continue;
            Buffer found = std::move(idle[i]);
            idle.erase(idle.begin() + static_cast<std::ptrdiff_t>(i));
            return found;
        }
        if (idle.size() >= MOST_IDLE) idle.erase(idle.begin());
    }
    const Size page = doubles * 8 >= HUGE_PAGE ? HUGE_PAGE : 64;
    const Size bytes = (std::max<Size>(doubles, 1) * 8 + page - 1) / page * page;
    void* const at = std::aligned_alloc(static_cast<std::size_t>(page), static_cast<std::size_t>(bytes));
    if (at == nullptr) throw std::bad_alloc();
#ifdef __linux__
    if (page == HUGE_PAGE) madvise(at, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
#endif
    return {std::unique_ptr<double[], Free>(static_cast<double*>(at)), bytes / 8};
}

void Pool::give(Buffer buffer) {
    if (buffer.second > LARGEST_IDLE) return;
    const std::lock_guard<std::mutex> held(lock);
    idle.push_back(std::move(buffer));
}

void Propagation::gather(const Gather& one, const Cases* cases) {
    const Structure& structure = *plan.structure;
    const double* const from = values + structure.starts[one.family];
    double* to = work + one.at;
    const Size width = one.by_row ? rows : 1;
    Size base[MOST_ROWS] = {};
    for (const auto& [variable, stride] : one.seen) {
        const std::int32_t* states = cases->seen + variable * rows;
        for (Size r = 0; r < width; ++r) base[r] += states[r] * stride;
    }
    if (one.axes.empty()) {
        for (Size r = 0; r < width; ++r) to[r] = from[base[r]];
        return;
    }
    const std::size_t depth = one.axes.size();
    const tables::Step inner = one.axes[depth - 1];
    Size counter[64] = {};
    Size at = 0;
    for (;;) {
        for (Size i = 0; i < inner.count; ++i, to += width) {
            for (Size r = 0; r < width; ++r) to[r] = from[base[r] + at + i * inner.stride];
        }
        std::size_t axis = depth - 1;
        for (;;) {
            if (axis-- == 0) return;
            at += one.axes[axis].stride;
            if (++counter[axis] < one.axes[axis].count) break;
            at -= one.axes[axis].stride * one.axes[axis].count;
            counter[axis] = 0;
        }
    }
}

void Propagation::prepare() {
    for (const Gather& one : plan.gathers) {
        if (!one.by_row) gather(one, nullptr);
    }
}

// Scales a table to a total of 1 where the total is far from it, or always; `by` is what it was multiplied by.
void Propagation::settle(double* table, Size entries, double* logs, double* by, bool always) {
    tables::totals(table, entries, rows, by);
    bool small = always;
    for (Size r = 0; r < rows; ++r) small = small || by[r] < SMALL || by[r] > 1 / SMALL;
    if (!small) {
        std::fill_n(by, rows, 1.0);
        return;
    }
    for (Size r = 0; r < rows; ++r) {
        const double total = by[r] > 0 ? std::max(by[r], LEAST) : 0.0;
        logs[r] += std::log(total);
        by[r] = total > 0 ? 1 / total : 0.0;
    }
    tables::scale(table, entries, rows, by);
}

void Propagation::collect(const Cases& cases, double* logs) {
    std::fill_n(logs, rows, 0.0);
    double by[MOST_ROWS];
    for (const Gather& one : plan.gathers) {
        if (!one.by_row) continue;
        gather(one, &cases);
        if (!one.seen.empty()) settle(work + one.at, one.entries, logs, by, false);
    }
    for (const Gather& one : plan.constants) {
        for (Size r = 0; r < rows; ++r) {
            Size at = plan.structure->starts[one.family];
            for (const auto& [variable, stride] : one.seen) at += cases.seen[variable * rows + r] * stride;
            logs[r] += std::log(values[at]);
        }
    }
    for (const Weight& one : plan.weights) {
        const double* from = cases.weights + cases.starts[one.variable] * rows;
        const Size states = plan.structure->states[one.variable];
        std::copy_n(from, states * rows, work + one.at);
        settle(work + one.at, states, logs, by, false);
    }
    for (const Product& one : plan.products) {
        tables::multiply(work + one.into, work + one.from, one.along);
        settle(work + one.into, one.along.length / rows, logs, by, false);
    }
    for (std::size_t c = plan.cliques.size(); c-- > 0;) {
        const Clique& clique = plan.cliques[c];
        double* const table = work + clique.at;
        if (clique.inputs.empty()) std::fill_n(table, clique.entries * rows, 1.0);
        for (std::size_t i = 0; i < clique.inputs.size(); ++i) {
            const auto& [at, along] = clique.inputs[i];
            if (i == 0) {
                tables::assign(table, work + at, along);
            } else {
                tables::multiply(table, work + at, along);
            }
            if (i % PRODUCTS == PRODUCTS - 1) settle(table, clique.entries, logs, by, false);
        }
        if (clique.parent < 0) {
            if (clique.maximise) {
                double top = 0;
                for (Size i = 0; i < clique.entries; ++i) top = std::max(top, table[i]);
                *logs += std::log(top);
            } else {
                settle(table, clique.entries, logs, by, true);
            }
            continue;
        }
        double* const message = work + clique.message;
        if (clique.maximise) {
            tables::maximum(table, message, clique.up);
        } else {
            tables::sum(table, message, clique.up);
        }
        settle(message, clique.separator, logs, work + clique.scales, false);
    }
}

void Propagation::marginal(const double* table, const Marginal& one, double* outputs) const {
    tables::sum(table, outputs + plan.places[one.variable] * rows, one.along);
}

void Propagation::distribute(const Cases& cases, double* outputs) {
    for (const Clique& clique : plan.cliques) {
        if (!clique.wanted) continue;
        double* const table = work + clique.at;
        if (clique.parent >= 0) {
            double* const belief = work + plan.scratch;
            tables::sum(work + plan.cliques[clique.parent].at, belief, clique.down);
            for (const Marginal& one : clique.of_separator) marginal(belief, one, outputs);
            tables::divide(belief, work + clique.message, clique.separator * rows);
            const double* const by = work + clique.scales;
            if (std::any_of(by, by + rows, [](double scale) { return scale != 1; })) {
                tables::scale(belief, clique.separator, rows, by);
            }
            tables::multiply(table, belief, clique.up);
        }
        for (const Marginal& one : clique.of_clique) marginal(table, one, outputs);
    }
    double by[MOST_ROWS], logs[MOST_ROWS] = {};
    for (std::size_t v = 0; v < plan.places.size(); ++v) {
        if (plan.places[v] < 0) continue;
        const Size states = plan.structure->states[v];
        double* const at = outputs + plan.places[v] * rows;
        if (plan.request.roles[v] == Role::seen) {
            for (Size i = 0; i < states * rows; ++i) at[i] = cases.seen[static_cast<Size>(v) * rows + i % rows] == i / rows;
        } else {
            settle(at, states, logs, by, true);
        }
    }
}

void Propagation::joint(double* to) const {
    if (plan.joint_clique < 0) {
        std::fill_n(to, rows, 1.0);
        return;
    }
    tables::sum(work + plan.cliques[plan.joint_clique].at, to, plan.joint_walk);
}

// Where in the clique's table the separator's states begin.
Size Propagation::below(const Clique& clique, const std::int32_t* states) const {
    Size at = 0;
    for (std::size_t i = static_cast<std::size_t>(clique.own); i < clique.variables.size(); ++i) {
        at = at * plan.structure->states[clique.variables[i]] + states[clique.variables[i]];
    }
    return at;
}

// The states of the clique's own variables, from their place among all combinations.
void Propagation::spread(const Clique& clique, Size place, std::int32_t* states) const {
    for (std::size_t i = static_cast<std::size_t>(clique.own); i-- > 0;) {
        const Size count = plan.structure->states[clique.variables[i]];
        states[clique.variables[i]] = static_cast<std::int32_t>(place % count);
        place /= count;
    }
}

void Propagation::trace(std::int32_t* states) const {
    for (const Clique& clique : plan.cliques) {
        if (!clique.maximise) continue;
        const double* const table = work + clique.at + below(clique, states);
        Size best = 0;
        for (Size k = 1; k < clique.entries / clique.separator; ++k) {
            if (table[k * clique.separator] > table[best * clique.separator]) best = k;
        }
        spread(clique, best, states);
    }
}

void Propagation::draw(random_numbers::Stream& stream, std::int32_t* states) const {
    for (const Clique& clique : plan.cliques) {
        const double* const table = work + clique.at + below(clique, states);
        const Size count = clique.entries / clique.separator;
        double total = 0;
        for (Size k = 0; k < count; ++k) total += table[k * clique.separator];
        double left = stream.uniform() * total;
        Size chosen = 0, possible = 0;
        for (; chosen < count; ++chosen) {
            const double mass = table[chosen * clique.separator];
            if (mass > 0) possible = chosen;
            if (mass > 0 && left < mass) break;
            left -= mass;
        }
        spread(clique, chosen < count ? chosen : possible, states);
    }
}

void Propagation::expect(const double* shares, double* sums) const {
    for (const Clique& clique : plan.cliques) {
        const double* table = work + clique.at;
        for (Size i = 0; i < clique.entries; ++i, table += rows) {
            double total = 0;
            for (Size r = 0; r < rows; ++r) total += table[r] * shares[r];
            *sums++ += total;
        }
    }
}

}  // namespace junction
