// Loopy belief propagation with damping (Pearl 1988, section 4.3; Murphy, Weiss and Jordan 1999).
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "arrays.hpp"
#include "module.hpp"
#include "tree.hpp"

namespace nb = nanobind;

namespace {

using namespace junction;

class Loopy {
  public:
    Loopy(const Tree& tree, const double* all_values, const double* likelihood)
        : structure(*tree.structure), starts(*tree.starts), values(all_values) {
        for (const std::vector<int>& scope : structure.scopes) {
            places.emplace_back();
            for (int v : scope) {
                places.back().push_back(static_cast<Size>(up.size()));
                up.resize(up.size() + structure.states[v], 1.0 / static_cast<double>(structure.states[v]));
            }
        }
        down = up;
        belief.resize(starts.back());
        evidence.assign(likelihood, likelihood + starts.back());
    }

    // One round over all distributions; the largest change of a belief.
    double round(double damping) {
        const std::vector<double> before = belief;
        collect();
        for (std::size_t f = 0; f < structure.scopes.size(); ++f) {
            to_factor(f);
            from_factor(f, damping);
        }
        collect();
        double change = 0;
        for (std::size_t i = 0; i < belief.size(); ++i) change = std::max(change, std::abs(belief[i] - before[i]));
        return change;
    }

    std::vector<double> belief;
    bool possible = true;

  private:
    const Structure& structure;
    const std::vector<Size>& starts;
    const double* values;
    std::vector<double> evidence;
    std::vector<std::vector<Size>> places;  // of a distribution's messages, one a variable of its scope
    std::vector<double> up;                 // from distributions to variables
    std::vector<double> down;               // from variables to distributions

    void normalise(double* at, Size count) {
        const double even = 1 / static_cast<double>(count);
        double total = 0;
        for (Size i = 0; i < count; ++i) total += at[i];
        for (Size i = 0; i < count; ++i) at[i] = total > 0 ? at[i] / total : even;
        possible = possible && total > 0;
    }

    void collect() {
        belief = evidence;
        for (std::size_t f = 0; f < structure.scopes.size(); ++f) {
            for (std::size_t k = 0; k < structure.scopes[f].size(); ++k) {
                const int v = structure.scopes[f][k];
                double* const to = belief.data() + starts[v];
                for (Size s = 0; s < structure.states[v]; ++s) to[s] *= up[places[f][k] + s];
                normalise(to, structure.states[v]);
            }
        }
    }

    // What a variable says leaves out what this distribution told it.
    void to_factor(std::size_t f) {
        for (std::size_t k = 0; k < structure.scopes[f].size(); ++k) {
            const int v = structure.scopes[f][k];
            double* const to = down.data() + places[f][k];
            for (Size s = 0; s < structure.states[v]; ++s) {
                const double told = up[places[f][k] + s];
                to[s] = told > 0 ? belief[starts[v] + s] / told : 0;
            }
            normalise(to, structure.states[v]);
        }
    }

    void from_factor(std::size_t f, double damping) {
        const std::vector<int>& scope = structure.scopes[f];
        const std::size_t depth = scope.size();
        Size entries = 1;
        for (int v : scope) entries *= structure.states[v];
        std::vector<std::vector<double>> sums(depth);
        for (std::size_t k = 0; k < depth; ++k) sums[k].assign(structure.states[scope[k]], 0);
        std::vector<Size> at(depth);
        std::vector<double> before(depth + 1, 1.0);
        double mass = 0;  // of the distribution and all that is known of its variables
        const double* const table = values + structure.starts[f];
        for (Size e = 0; e < entries; ++e) {
            if (table[e] > 0) {
                for (std::size_t k = 0; k < depth; ++k) before[k + 1] = before[k] * down[places[f][k] + at[k]];
                mass += before[depth] * table[e];
                double after = table[e];
                for (std::size_t k = depth; k-- > 0;) {
                    sums[k][at[k]] += before[k] * after;
                    after *= down[places[f][k] + at[k]];
                }
            }
            for (std::size_t k = depth; k-- > 0;) {
                if (++at[k] < structure.states[scope[k]]) break;
                at[k] = 0;
            }
        }
        possible = possible && mass > 0;
        for (std::size_t k = 0; k < depth; ++k) {
            const Size count = structure.states[scope[k]];
            normalise(sums[k].data(), count);
            double* const to = up.data() + places[f][k];
            for (Size s = 0; s < count; ++s) to[s] = damping * to[s] + (1 - damping) * sums[k][s];
        }
    }
};

arrays::Tuple<arrays::Out<double>, double, int, bool> loopy(const Tree& tree, arrays::Doubles values, arrays::Doubles likelihood, double damping, double precision,
                int rounds) {
    require(static_cast<Size>(values.shape(0)) == tree.structure->values, "all values of the distributions");
    require(static_cast<Size>(likelihood.shape(0)) == tree.starts->back(), "a likelihood a state");
    Loopy run(tree, values.data(), likelihood.data());
    double change = 1;
    int used = 0;
    {
        const nb::gil_scoped_release free;
        while (used < rounds && change > precision && run.possible) {
            change = run.round(damping);
            ++used;
        }
    }
    const std::size_t width = run.belief.size();
    return nb::make_tuple(arrays::out(std::move(run.belief), {width}), change, used, run.possible);
}

}  // namespace

void bind_loopy(nb::module_& m) {
    m.def("loopy", &loopy, nb::arg("tree"), nb::arg("values"), nb::arg("likelihood"), nb::arg("damping"),
          nb::arg("precision"), nb::arg("rounds"),
          "Beliefs of all variables, the last change of a belief, the rounds used, and whether the evidence is possible.");
}
