// Blocking Gibbs sampling (Jensen, Kong and Kjaerulff 1995): each block of variables is drawn at once from
// its exact distribution given all others.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "arrays.hpp"
#include "module.hpp"
#include "parallel.hpp"
#include "random.hpp"
#include "tree.hpp"

namespace nb = nanobind;

namespace {

using namespace junction;

// Counts of every state over the kept sweeps of each chain, shape (chains, states), and the chains' states.
arrays::Tuple<arrays::Out<double>, arrays::Out<std::int32_t>> gibbs(const std::vector<const Compiled*>& blocks, arrays::Doubles values, arrays::Codes starts,
                arrays::Doubles weights, Size dropped, Size kept, std::uint64_t seed, Size first, int threads) {
    require(!blocks.empty(), "at least one block");
    const std::vector<Size>& places = *blocks[0]->starts;
    const std::size_t chains = starts.shape(0), n = starts.shape(1), width = static_cast<std::size_t>(places.back());
    require(n + 1 == places.size(), "one state a variable");
    for (std::size_t i = 0; i < chains * n; ++i) {
        const std::int32_t state = starts.data()[i];
        require(state >= 0 && state < places[i % n + 1] - places[i % n], "states within range");
    }
    for (const Compiled* block : blocks) {
        require(block->plan.request.rows == 1, "schedules for one case");
        require(block->plan.weights.empty() || weights.shape(0) == width, "a weight a state");
        require(static_cast<Size>(values.shape(0)) == block->plan.structure->values, "all values");
    }
    std::vector<std::int32_t> states(starts.data(), starts.data() + chains * n);
    std::vector<double> counts(chains * width);
    {
        const nb::gil_scoped_release free;
        parallel::each(static_cast<Size>(chains), threads, [&](Size chain) {
            random_numbers::Stream stream(seed, static_cast<std::uint64_t>(first + chain));
            std::int32_t* const now = states.data() + chain * n;
            double* const count = counts.data() + chain * width;
            for (Size sweep = 0; sweep < dropped + kept; ++sweep) {
                for (const Compiled* block : blocks) {
                    Held held(*block->pool, block->plan.doubles);
                    Propagation one(block->plan, values.data(), held.at());
                    double log = 0;
                    one.collect({now, weights.data(), places}, &log);
                    if (std::isfinite(log)) one.draw(stream, now);
                }
                if (sweep < dropped) continue;
                for (std::size_t v = 0; v < n; ++v) count[places[v] + now[v]] += 1;
            }
        });
    }
    return nb::make_tuple(arrays::out(std::move(counts), {chains, width}), arrays::out(std::move(states), {chains, n}));
}

}  // namespace

void bind_gibbs(nb::module_& m) {
    m.def("gibbs", &gibbs, nb::arg("blocks"), nb::arg("values"), nb::arg("starts"), nb::arg("weights"),
          nb::arg("dropped"), nb::arg("kept"), nb::arg("seed"), nb::arg("first"), nb::arg("threads"),
          "Counts of every state over the kept sweeps of each chain, and where the chains ended.");
}
