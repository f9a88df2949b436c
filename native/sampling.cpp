// Forward sampling and likelihood weighting (Henrion 1988; Fung and Chang 1990; Shachter and Peot 1990),
// variable by variable over blocks of cases. Block b uses random stream b, so the result is the same for
// any number of threads.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "arrays.hpp"
#include "module.hpp"
#include "parallel.hpp"
#include "random.hpp"
#include "tree.hpp"
#include "wide.hpp"

namespace nb = nanobind;

namespace {

using namespace junction;
using arrays::Doubles;
using arrays::Ints;
using arrays::out;

constexpr Size BLOCK = 1024;      // cases in a block
constexpr Size FEW = 12;          // states up to which thresholds are compared one by one
constexpr Size BETWEEN_LOGS = 4;  // likelihoods multiplied before the logarithm is taken

struct Node {
    int variable;
    Size states;
    std::vector<int> parents;
    std::vector<Size> cards;          // of the parents
    std::vector<double> thresholds;   // (rows, states - 1): cumulative; above 1 from the last possible state on
    const double* table;
};

std::vector<Node> nodes_of(const Structure& structure, const std::vector<int>& order, const double* values) {
    std::vector<Node> nodes;
    for (int v : order) {
        const std::vector<int>& scope = structure.scopes[v];
        Node node{v, structure.states[v], {scope.begin(), scope.end() - 1}, {}, {}, values + structure.starts[v]};
        Size rows = 1;
        for (int parent : node.parents) {
            node.cards.push_back(structure.states[parent]);
            rows *= structure.states[parent];
        }
        node.thresholds.resize(rows * (node.states - 1));
        double* to = node.thresholds.data();
        for (Size r = 0; r < rows; ++r) {
            const double* const row = node.table + r * node.states;
            Size last = node.states - 1;
            while (last > 0 && row[last] <= 0) --last;
            double sum = 0;
            for (Size s = 0; s + 1 < node.states; ++s) {
                sum += row[s];
                *to++ = s < last ? sum : 2.0;
            }
        }
        nodes.push_back(std::move(node));
    }
    return nodes;
}

// A block of cases: the states of all variables, variable by variable.
struct Block {
    std::int32_t* codes;
    Size stride;  // from one variable's cases to the next's
    Size count;
    std::int32_t row[BLOCK];
    double uniform[BLOCK];
    double product[BLOCK];
    double logs[BLOCK];
};

INLINE void choose_row(const Node& node, Block& block) {
    std::fill_n(block.row, block.count, 0);
    for (std::size_t p = 0; p < node.parents.size(); ++p) {
        const std::int32_t* const states = block.codes + node.parents[p] * block.stride;
        const auto card = static_cast<std::int32_t>(node.cards[p]);
        for (Size i = 0; i < block.count; ++i) block.row[i] = block.row[i] * card + states[i];
    }
}

INLINE void draw_states(const Node& node, Block& block, random_numbers::Stream& stream) {
    std::int32_t* const to = block.codes + node.variable * block.stride;
    const double* const thresholds = node.thresholds.data();
    const auto width = static_cast<std::int32_t>(node.states - 1);
    stream.fill(block.uniform, block.count);
    if (width <= FEW) {
        std::fill_n(to, block.count, 0);
        for (std::int32_t k = 0; k < width; ++k) {
            for (Size i = 0; i < block.count; ++i) {
                to[i] += block.uniform[i] >= thresholds[block.row[i] * width + k];
            }
        }
        return;
    }
    for (Size i = 0; i < block.count; ++i) {
        const double* const from = thresholds + static_cast<Size>(block.row[i]) * width;
        to[i] = static_cast<std::int32_t>(std::upper_bound(from, from + width, block.uniform[i]) - from);
    }
}

INLINE void weigh(const Node& node, Block& block, Size& since, const double* likelihood, std::int32_t seen) {
    std::int32_t* const to = block.codes + node.variable * block.stride;
    if (seen >= 0) {
        std::fill_n(to, block.count, seen);
        for (Size i = 0; i < block.count; ++i) block.product[i] *= node.table[block.row[i] * node.states + seen];
    } else {
        for (Size i = 0; i < block.count; ++i) block.product[i] *= likelihood[to[i]];
    }
    if (++since < BETWEEN_LOGS) return;
    since = 0;
    for (Size i = 0; i < block.count; ++i) {
        block.logs[i] += std::log(block.product[i]);
        block.product[i] = 1;
    }
}

WIDE void fill(const std::vector<Node>& nodes, Block& block, random_numbers::Stream& stream, const std::int32_t* seen,
               const double* weights, const Size* starts) {
    std::fill_n(block.product, block.count, 1.0);
    std::fill_n(block.logs, block.count, 0.0);
    Size since = 0;
    for (const Node& node : nodes) {
        choose_row(node, block);
        const std::int32_t state = seen == nullptr ? -1 : seen[node.variable];
        if (state < 0) draw_states(node, block, stream);
        const double* const likelihood = weights == nullptr ? nullptr : weights + starts[node.variable];
        if (state >= 0 || likelihood != nullptr) weigh(node, block, since, likelihood, state);
    }
    for (Size i = 0; i < block.count; ++i) block.logs[i] += std::log(block.product[i]);
}

void check(const Tree& tree, const std::vector<int>& order, Doubles values) {
    require(static_cast<Size>(values.shape(0)) == tree.structure->values, "all values of the distributions");
    require(order.size() == tree.structure->states.size(), "an order of all variables");
}

// States of `count` cases, shape (variables, cases), and with evidence each case's log weight.
arrays::Tuple<arrays::Out<std::int32_t>, arrays::Out<double>> sample(const Tree& tree, const std::vector<int>& order, Doubles values, Ints seen, Doubles weights,
                  Size count, std::uint64_t seed, int threads) {
    check(tree, order, values);
    const auto variables = order.size();
    const bool evidence = seen.shape(0) > 0, virtual_evidence = weights.shape(0) > 0;
    require(!evidence || seen.shape(0) == variables, "one state a variable");
    require(!virtual_evidence || static_cast<Size>(weights.shape(0)) == tree.starts->back(), "a weight a state");
    auto* const codes = new std::int32_t[variables * count];
    nb::capsule owner(codes, [](void* gone) noexcept { delete[] static_cast<std::int32_t*>(gone); });
    std::vector<double> logs(evidence || virtual_evidence ? count : 0);
    {
        const nb::gil_scoped_release free;
        const std::vector<Node> nodes = nodes_of(*tree.structure, order, values.data());
        parallel::each((count + BLOCK - 1) / BLOCK, threads, [&](Size b) {
            random_numbers::Stream stream(seed, static_cast<std::uint64_t>(b));
            Block block;
            block.codes = codes + b * BLOCK;
            block.stride = count;
            block.count = std::min(BLOCK, count - b * BLOCK);
            fill(nodes, block, stream, evidence ? seen.data() : nullptr,
                 virtual_evidence ? weights.data() : nullptr, tree.starts->data());
            if (!logs.empty()) std::copy_n(block.logs, block.count, logs.data() + b * BLOCK);
        });
    }
    const std::size_t shape[] = {variables, static_cast<std::size_t>(count)}, kept = logs.size();
    return nb::make_tuple(nb::ndarray<nb::numpy, std::int32_t>(codes, 2, shape, owner), out(std::move(logs), {kept}));
}

// Sums of weights over blocks from `first` on: for each block its largest log weight, the sums of weights
// and of squared weights relative to that, in all and by state.
arrays::Tuple<arrays::Out<double>, arrays::Out<double>> weigh_samples(const Tree& tree, const std::vector<int>& order, Doubles values, Ints seen, Doubles weights,
                        Size first, Size blocks, std::uint64_t seed, int threads) {
    check(tree, order, values);
    require(seen.shape(0) == order.size(), "one state a variable");
    const std::vector<Size>& starts = *tree.starts;
    const bool virtual_evidence = weights.shape(0) > 0;
    require(!virtual_evidence || static_cast<Size>(weights.shape(0)) == starts.back(), "a weight a state");
    const Size width = 2 + 2 * starts.back();
    std::vector<double> tops(blocks), sums(blocks * width);
    {
        const nb::gil_scoped_release free;
        const std::vector<Node> nodes = nodes_of(*tree.structure, order, values.data());
        parallel::each(blocks, threads, [&](Size b) {
            random_numbers::Stream stream(seed, static_cast<std::uint64_t>(first + b));
            std::vector<std::int32_t> codes(nodes.size() * BLOCK);
            Block block;
            block.codes = codes.data();
            block.stride = BLOCK;
            block.count = BLOCK;
            fill(nodes, block, stream, seen.data(), virtual_evidence ? weights.data() : nullptr, starts.data());
            const double top = *std::max_element(block.logs, block.logs + BLOCK);
            tops[b] = top;
            if (!std::isfinite(top)) return;
            double* const total = sums.data() + b * width;
            for (Size i = 0; i < BLOCK; ++i) {
                block.product[i] = std::exp(block.logs[i] - top);
                total[0] += block.product[i];
                total[1] += block.product[i] * block.product[i];
            }
            for (std::size_t v = 0; v < nodes.size(); ++v) {
                double* const mass = total + 2 + 2 * starts[v];
                const std::int32_t* const states = block.codes + static_cast<Size>(v) * BLOCK;
                for (Size i = 0; i < BLOCK; ++i) {
                    mass[2 * states[i]] += block.product[i];
                    mass[2 * states[i] + 1] += block.product[i] * block.product[i];
                }
            }
        });
    }
    return nb::make_tuple(out(std::move(tops), {static_cast<std::size_t>(blocks)}),
                          out(std::move(sums), {static_cast<std::size_t>(blocks), static_cast<std::size_t>(width)}));
}

}  // namespace

void bind_sampling(nb::module_& m) {
    m.def("sample", &sample, nb::arg("tree"), nb::arg("order"), nb::arg("values"), nb::arg("seen"),
          nb::arg("weights"), nb::arg("count"), nb::arg("seed"), nb::arg("threads"),
          "States of independent cases, shape (variables, cases), and with evidence their log weights.");
    m.def("weigh_samples", &weigh_samples, nb::arg("tree"), nb::arg("order"), nb::arg("values"), nb::arg("seen"),
          nb::arg("weights"), nb::arg("first"), nb::arg("blocks"), nb::arg("seed"), nb::arg("threads"),
          "Largest log weight of each block of 1,024 samples, and its sums of weights and squares relative to it.");
}
