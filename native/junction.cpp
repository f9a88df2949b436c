// The junction tree's binding: structures, compiled schedules, single cases and many rows.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "arrays.hpp"
#include "module.hpp"
#include "parallel.hpp"
#include "random.hpp"
#include "tree.hpp"

namespace nb = nanobind;

namespace {

using namespace junction;

using arrays::Bytes;
using arrays::Codes;
using arrays::Doubles;
using arrays::Ints;
using arrays::out;
using arrays::Out;
using arrays::Tuple;

Tree* tree_of(Ints states, const std::vector<std::vector<int>>& scopes) {
    require(states.shape(0) == scopes.size(), "one scope a variable");
    auto made = std::make_unique<Tree>();
    Structure& structure = *made->structure;
    made->starts->push_back(0);
    for (std::size_t v = 0; v < scopes.size(); ++v) {
        require(states.data()[v] > 0, "every variable has a state");
        structure.states.push_back(states.data()[v]);
        made->starts->push_back(made->starts->back() + states.data()[v]);
    }
    structure.scopes = scopes;
    for (std::size_t v = 0; v < scopes.size(); ++v) {
        require(!scopes[v].empty() && scopes[v].back() == static_cast<int>(v), "a scope ends with its child");
        Size entries = 1;
        for (int u : scopes[v]) {
            require(u >= 0 && static_cast<std::size_t>(u) < scopes.size(), "a scope names variables");
            entries *= structure.states[u];
        }
        structure.starts.push_back(structure.values);
        structure.values += entries;
    }
    return made.release();
}

class Runs {
  public:
    explicit Runs(const Compiled& of) : plan(of.plan), pool(of.pool.get()), starts(of.starts.get()) {}

    Tuple<double, Out<double>, Out<double>> run(Doubles values, Ints seen, Doubles weights) const {
        check(values, seen, weights);
        std::vector<double> outputs(plan.outputs), joint(joint_size());
        double log = 0;
        {
            const nb::gil_scoped_release free;
            Held held(*pool, plan.doubles);
            Propagation one(plan, values.data(), held.at());
            const Cases cases{seen.data(), weights.data(), *starts};
            one.collect(cases, &log);
            if (std::isfinite(log)) {
                one.joint(joint.data());
                if (plan.outputs > 0) one.distribute(cases, outputs.data());
            }
        }
        const std::size_t width = outputs.size(), size = joint.size();
        return nb::make_tuple(log, out(std::move(outputs), {width}), out(std::move(joint), {size}));
    }

    Tuple<double, Out<std::int32_t>> most_probable(Doubles values, Ints seen, Doubles weights) const {
        check(values, seen, weights);
        std::vector<std::int32_t> states(seen.data(), seen.data() + seen.shape(0));
        double log = 0;
        {
            const nb::gil_scoped_release free;
            Held held(*pool, plan.doubles);
            Propagation one(plan, values.data(), held.at());
            one.collect({seen.data(), weights.data(), *starts}, &log);
            if (std::isfinite(log)) one.trace(states.data());
        }
        const std::size_t n = states.size();
        return nb::make_tuple(log, out(std::move(states), {n}));
    }

    // The posterior of every family, laid out as the distributions are.
    Tuple<double, Out<double>> families(Doubles values, Ints seen, Doubles weights) const {
        check(values, seen, weights);
        require(plan.request.everything && plan.constants.empty(), "a schedule for expected counts");
        std::vector<double> counts(plan.structure->values);
        double log = 0;
        {
            const nb::gil_scoped_release free;
            Held held(*pool, plan.doubles);
            Propagation one(plan, values.data(), held.at());
            const Cases cases{seen.data(), weights.data(), *starts};
            one.collect(cases, &log);
            if (std::isfinite(log)) {
                std::vector<double> sums(static_cast<std::size_t>(plan.entries));
                const double share = 1;
                one.distribute(cases, nullptr);
                one.expect(&share, sums.data());
                spread(sums, counts);
            }
        }
        const std::size_t size = counts.size();
        return nb::make_tuple(log, out(std::move(counts), {size}));
    }

    // Independent cases from the posterior of all variables: exact, however rare the evidence is.
    Tuple<double, Out<std::int32_t>> draw(Doubles values, Ints seen, Doubles weights, Size count, std::uint64_t seed, int threads) const {
        check(values, seen, weights);
        const std::size_t n = seen.shape(0);
        std::vector<std::int32_t> states(n * count);
        double log = 0;
        {
            const nb::gil_scoped_release free;
            Held held(*pool, plan.doubles);
            Propagation one(plan, values.data(), held.at());
            one.collect({seen.data(), weights.data(), *starts}, &log);
            if (std::isfinite(log)) {
                constexpr Size PIECE = 256;
                parallel::each((count + PIECE - 1) / PIECE, threads, [&](Size piece) {
                    random_numbers::Stream stream(seed, static_cast<std::uint64_t>(piece));
                    for (Size i = piece * PIECE; i < std::min(count, (piece + 1) * PIECE); ++i) {
                        std::copy_n(seen.data(), n, states.data() + i * n);
                        one.draw(stream, states.data() + i * n);
                    }
                });
            }
        }
        return nb::make_tuple(log, out(std::move(states), {static_cast<std::size_t>(count), n}));
    }

    // Posteriors and log probability of each row; -1 is a gap.
    Tuple<Out<double>, Out<double>> run_rows(Doubles values, Codes codes, int threads) const {
        check(values, codes);
        const std::size_t n = codes.shape(0);
        const auto width = static_cast<std::size_t>(plan.outputs);
        std::vector<double> outputs(n * width), logs(n);
        {
            const nb::gil_scoped_release free;
            blocks(values, codes, threads, 64, [&](Propagation& one, const Block& block, Size) {
                std::vector<double>& found = block.found;
                one.distribute(block.cases(*starts), found.data());
                for (Size r = 0; r < block.count; ++r) {
                    double* const to = outputs.data() + (block.first + r) * plan.outputs;
                    for (Size i = 0; i < plan.outputs; ++i) to[i] = found[i * rows() + r];
                    logs[block.first + r] = block.logs[r];
                }
            });
        }
        return nb::make_tuple(out(std::move(logs), {n}), out(std::move(outputs), {n, width}));
    }

    // Expected counts of every family, laid out as the distributions are, and each row's log probability.
    Tuple<Out<double>, Out<double>> expected(Doubles values, Codes codes, Doubles shares, int threads) const {
        check(values, codes);
        require(shares.shape(0) == codes.shape(0), "one share a row");
        require(plan.request.everything, "a schedule for expected counts");
        const std::size_t n = codes.shape(0);
        std::vector<double> logs(n), counts(plan.structure->values);
        {
            const nb::gil_scoped_release free;
            const std::vector<Cut> cut = cut_families();
            std::vector<std::vector<double>> sums(chunks()), seen(chunks());
            blocks(values, codes, threads, chunks(), [&](Propagation& one, const Block& block, Size chunk) {
                double share[MOST_ROWS] = {};
                for (Size r = 0; r < block.count; ++r) {
                    logs[block.first + r] = block.logs[r];
                    share[r] = std::isfinite(block.logs[r]) ? shares.data()[block.first + r] : 0;
                }
                sums[chunk].resize(static_cast<std::size_t>(plan.entries));
                one.distribute(block.cases(*starts), block.found.data());
                one.expect(share, sums[chunk].data());
                if (cut.empty()) return;
                seen[chunk].resize(counts.size());
                for (const Cut& family : cut) add(family, one, block, share, seen[chunk].data());
            });
            std::vector<double> total(static_cast<std::size_t>(plan.entries));
            for (std::size_t c = 0; c < sums.size(); ++c) {
                for (std::size_t i = 0; i < sums[c].size(); ++i) total[i] += sums[c][i];
                for (std::size_t i = 0; i < seen[c].size(); ++i) counts[i] += seen[c][i];
            }
            spread(total, counts);
        }
        const std::size_t size = counts.size();
        return nb::make_tuple(out(std::move(logs), {n}), out(std::move(counts), {size}));
    }

  private:
    const Schedule& plan;
    Pool* pool;
    const std::vector<Size>* starts;

    struct Block {
        Size first = 0;
        Size count = 0;
        std::vector<std::int32_t> seen;
        std::vector<double> weights;
        mutable std::vector<double> found;
        double logs[MOST_ROWS] = {};
        Cases cases(const std::vector<Size>& starts) const { return {seen.data(), weights.data(), starts}; }
    };

    Size rows() const { return plan.request.rows; }

    std::size_t joint_size() const {
        return plan.joint_clique < 0 ? 1 : static_cast<std::size_t>(plan.joint_walk.width);
    }

    // Sums over rows are made chunk by chunk, so that they don't depend on the number of threads.
    Size chunks() const { return plan.entries < 1e5 ? 16 : 2; }

    void check(Doubles values, Ints seen, Doubles weights) const {
        require(rows() == 1, "a schedule for one case");
        require(static_cast<Size>(values.shape(0)) == plan.structure->values, "all values of the distributions");
        require(seen.shape(0) == plan.structure->states.size(), "one state a variable");
        require(static_cast<Size>(weights.shape(0)) == starts->back() || plan.weights.empty(), "a weight a state");
        for (std::size_t v = 0; v < seen.shape(0); ++v) {
            if (plan.request.roles[v] == Role::seen) require(inside(seen.data()[v], v), "states within range");
        }
    }

    void check(Doubles values, Codes codes) const {
        require(static_cast<Size>(values.shape(0)) == plan.structure->values, "all values of the distributions");
        require(codes.shape(1) == plan.structure->states.size(), "one column a variable");
        for (std::size_t i = 0; i < codes.shape(0) * codes.shape(1); ++i) {
            const std::size_t v = i % codes.shape(1);
            const std::int32_t code = codes.data()[i];
            const Role role = plan.request.roles[v];
            require(role == Role::free || inside(code, v) || (code == -1 && role != Role::seen),
                    "states within range");
        }
    }

    bool inside(std::int32_t code, std::size_t v) const { return code >= 0 && code < plan.structure->states[v]; }

    void load(Codes codes, Block& block) const {
        const Size width = static_cast<Size>(codes.shape(1));
        for (Size r = 0; r < rows(); ++r) {
            const Size row = block.first + std::min(r, block.count - 1);
            const std::int32_t* const from = codes.data() + row * width;
            for (Size v = 0; v < width; ++v) block.seen[v * rows() + r] = from[v];
        }
        for (const Weight& one : plan.weights) {
            const std::int32_t* const states = block.seen.data() + one.variable * rows();
            double* to = block.weights.data() + (*starts)[one.variable] * rows();
            for (Size s = 0; s < plan.structure->states[one.variable]; ++s) {
                for (Size r = 0; r < rows(); ++r) *to++ = states[r] < 0 || states[r] == s;
            }
        }
    }

    template <class Then>
    void blocks(Doubles values, Codes codes, int threads, Size pieces, Then&& then) const {
        const auto n = static_cast<Size>(codes.shape(0));
        const Size count = (n + rows() - 1) / rows();
        parallel::each(pieces, threads, [&](Size piece) {
            const Size from = count * piece / pieces, to = count * (piece + 1) / pieces;
            if (from == to) return;
            Held held(*pool, plan.doubles);
            Propagation one(plan, values.data(), held.at());
            one.prepare();
            Block block;
            block.seen.resize(plan.structure->states.size() * rows());
            block.weights.resize(starts->back() * rows());
            block.found.resize(plan.outputs * rows());
            for (Size b = from; b < to; ++b) {
                block.first = b * rows();
                block.count = std::min(rows(), n - block.first);
                load(codes, block);
                one.collect(block.cases(*starts), block.logs);
                then(one, block, piece);
            }
        });
    }

    // A family some of whose variables are observed: where its counts go depends on the row.
    struct Cut {
        const Gather* gather;
        const Clique* clique;       // null where all are observed
        std::vector<Size> places;   // of the clique's entries
    };

    std::vector<Cut> cut_families() const {
        std::vector<Cut> found;
        for (const Gather& one : plan.gathers) {
            if (one.seen.empty()) continue;
            const Clique& clique = plan.cliques[plan.home[one.family]];
            found.push_back({&one, &clique, places(one, clique)});
        }
        for (const Gather& one : plan.constants) found.push_back({&one, nullptr, {}});
        return found;
    }

    void add(const Cut& family, const Propagation& one, const Block& block, const double* share, double* counts) const {
        for (Size r = 0; r < block.count; ++r) {
            Size base = plan.structure->starts[family.gather->family];
            for (const auto& [variable, stride] : family.gather->seen) {
                base += block.seen[static_cast<std::size_t>(variable * rows() + r)] * stride;
            }
            if (family.clique == nullptr) {
                counts[base] += share[r];
                continue;
            }
            const double* const table = one.posterior(*family.clique);
            for (Size i = 0; i < family.clique->entries; ++i) counts[base + family.places[i]] += share[r] * table[i * rows() + r];
        }
    }

    // Where each entry of a clique lies in the table of a family, its observed variables in their first states.
    std::vector<Size> places(const Gather& one, const Clique& clique) const {
        const std::vector<int>& scope = plan.structure->scopes[one.family];
        std::vector<Size> stride;
        for (int v : clique.variables) {
            Size step = 0, product = 1;
            for (std::size_t i = scope.size(); i-- > 0; product *= plan.structure->states[scope[i]]) {
                if (scope[i] == v) step = product;
            }
            stride.push_back(step);
        }
        std::vector<Size> counter(stride.size()), found;
        Size at = 0;
        for (Size i = 0; i < clique.entries; ++i) {
            found.push_back(at);
            for (std::size_t axis = stride.size(); axis-- > 0;) {
                at += stride[axis];
                if (++counter[axis] < plan.structure->states[clique.variables[axis]]) break;
                at -= stride[axis] * counter[axis];
                counter[axis] = 0;
            }
        }
        return found;
    }

    // From the cliques' sums to the families' that are whole.
    void spread(const std::vector<double>& sums, std::vector<double>& counts) const {
        std::vector<Size> at;
        Size next = 0;
        for (const Clique& clique : plan.cliques) {
            at.push_back(next);
            next += clique.entries;
        }
        for (const Gather& one : plan.gathers) {
            if (!one.seen.empty()) continue;
            const Clique& clique = plan.cliques[plan.home[one.family]];
            const Size from = at[plan.home[one.family]], to = plan.structure->starts[one.family];
            const std::vector<Size> place = places(one, clique);
            for (Size i = 0; i < clique.entries; ++i) counts[to + place[i]] += sums[from + i];
        }
    }
};

Compiled* compile_for(const Tree& tree, Bytes roles, Bytes outputs, const std::vector<int>& joint, Bytes late,
                  bool everything, Size rows, double patience) {
    const std::size_t n = tree.structure->states.size();
    require(roles.shape(0) == n && outputs.shape(0) == n && late.shape(0) == n, "one entry a variable");
    require(rows >= 1 && rows <= MOST_ROWS, "1 to 64 rows side by side");
    Request asked;
    for (std::size_t v = 0; v < n; ++v) {
        require(roles.data()[v] <= 2, "roles are 0, 1 and 2");
        asked.roles.push_back(static_cast<Role>(roles.data()[v]));
    }
    asked.outputs.assign(outputs.data(), outputs.data() + n);
    asked.late.assign(late.data(), late.data() + n);
    for (int v : joint) require(v >= 0 && static_cast<std::size_t>(v) < n, "a joint of variables");
    asked.joint = joint;
    asked.everything = everything;
    asked.rows = rows;
    asked.patience = patience;
    const nb::gil_scoped_release free;
    return new Compiled{compile(tree.structure, asked), tree.pool, tree.starts};
}

std::vector<int> widest(const Compiled& one) {
    const Clique* top = nullptr;
    for (const Clique& clique : one.plan.cliques) {
        if (top == nullptr || clique.entries > top->entries) top = &clique;
    }
    return top == nullptr ? std::vector<int>{} : top->variables;
}

}  // namespace

void bind_junction(nb::module_& m) {
    nb::class_<Tree>(m, "Tree", "The structure of a network, ready to be compiled for patterns of evidence.")
        .def(nb::new_(&tree_of), nb::arg("states"), nb::arg("scopes"))
        .def("compile", &compile_for, nb::arg("roles"), nb::arg("outputs"), nb::arg("joint"), nb::arg("late"),
             nb::arg("everything"), nb::arg("rows"), nb::arg("patience"), nb::rv_policy::take_ownership);
    nb::class_<Compiled>(m, "Schedule", "A network and a pattern of evidence, compiled.")
        .def("run", [](const Compiled& of, Doubles values, Ints seen, Doubles weights) {
            return Runs(of).run(values, seen, weights);
        }, nb::arg("values"), nb::arg("seen"), nb::arg("weights"))
        .def("most_probable", [](const Compiled& of, Doubles values, Ints seen, Doubles weights) {
            return Runs(of).most_probable(values, seen, weights);
        }, nb::arg("values"), nb::arg("seen"), nb::arg("weights"))
        .def("families", [](const Compiled& of, Doubles values, Ints seen, Doubles weights) {
            return Runs(of).families(values, seen, weights);
        }, nb::arg("values"), nb::arg("seen"), nb::arg("weights"))
        .def("draw", [](const Compiled& of, Doubles values, Ints seen, Doubles weights, Size count,
                        std::uint64_t seed, int threads) {
            return Runs(of).draw(values, seen, weights, count, seed, threads);
        }, nb::arg("values"), nb::arg("seen"), nb::arg("weights"), nb::arg("count"), nb::arg("seed"),
           nb::arg("threads"))
        .def("run_rows", [](const Compiled& of, Doubles values, Codes codes, int threads) {
            return Runs(of).run_rows(values, codes, threads);
        }, nb::arg("values"), nb::arg("codes"), nb::arg("threads"))
        .def("expected", [](const Compiled& of, Doubles values, Codes codes, Doubles shares, int threads) {
            return Runs(of).expected(values, codes, shares, threads);
        }, nb::arg("values"), nb::arg("codes"), nb::arg("shares"), nb::arg("threads"))
        .def_prop_ro("entries", [](const Compiled& of) { return of.plan.entries; })
        .def_prop_ro("largest", [](const Compiled& of) { return of.plan.largest; })
        .def_prop_ro("doubles", [](const Compiled& of) { return of.plan.doubles; })
        .def_prop_ro("places", [](const Compiled& of) { return of.plan.places; })
        .def_prop_ro("joint", [](const Compiled& of) { return of.plan.joint; })
        .def_prop_ro("widest", &widest);
}
