// From a network and a pattern of evidence to a schedule (Lauritzen and Spiegelhalter 1988; Jensen,
// Lauritzen and Olesen 1990): drop what can't matter, cut the tables at the evidence, triangulate what is
// left, build the tree of cliques and lay the tables out.
#include "schedule.hpp"

#include <algorithm>

#include "triangulate.hpp"

namespace junction {

namespace {

constexpr double MOST_ENTRIES = 1e15;

class Compiler {
  public:
    Compiler(std::shared_ptr<const Structure> from, const Request& asked) : structure(*from) {
        made.structure = std::move(from);
        made.request = asked;
        made.home.assign(structure.states.size(), -1);
    }

    Schedule run() {
        relevant();
        number();
        interaction();
        components();
        count();
        if (made.entries < MOST_ENTRIES) {
            lay_out();
            place_families();
            place_outputs();
            finish();
        }
        return std::move(made);
    }

  private:
    const Structure& structure;
    Schedule made;
    std::vector<char> needed;      // variables that can matter
    std::vector<int> local;        // of a variable: its number among the unobserved, or -1
    std::vector<int> global;
    std::vector<int> first_clique; // of an unobserved variable: the clique in which it is eliminated
    std::vector<int> position;     // of an unobserved variable in the order of elimination
    std::vector<std::vector<int>> near;
    std::vector<std::vector<int>> children;

    Role role(int v) const { return made.request.roles[v]; }

    // Barren variables, with no evidence or question at or below them, sum to one; they have expected counts, though.
    void relevant() {
        const Request& asked = made.request;
        needed.assign(structure.states.size(), 0);
        std::vector<int> todo;
        for (std::size_t v = 0; v < needed.size(); ++v) {
            if (asked.everything || role(v) != Role::free || asked.outputs[v] || asked.late[v]) todo.push_back(v);
        }
        todo.insert(todo.end(), asked.joint.begin(), asked.joint.end());
        while (!todo.empty()) {
            const int v = todo.back();
            todo.pop_back();
            if (needed[v]) continue;
            needed[v] = 1;
            todo.insert(todo.end(), structure.scopes[v].begin(), structure.scopes[v].end() - 1);
        }
    }

    void number() {
        local.assign(structure.states.size(), -1);
        for (std::size_t v = 0; v < local.size(); ++v) {
            if (!needed[v] || role(v) == Role::seen) continue;
            local[v] = static_cast<int>(global.size());
            global.push_back(v);
        }
        near.resize(global.size());
    }

    void marry(const std::vector<int>& scope) {
        for (int a : scope) {
            for (int b : scope) {
                if (a != b && local[a] >= 0 && local[b] >= 0) near[local[a]].push_back(local[b]);
            }
        }
    }

    void interaction() {
        for (std::size_t v = 0; v < needed.size(); ++v) {
            if (needed[v]) marry(structure.scopes[v]);
        }
        marry(made.request.joint);
    }

    void components() {
        first_clique.assign(global.size(), -1);
        position.assign(global.size(), -1);
        std::vector<int> inside(global.size(), -1);
        for (std::size_t start = 0; start < global.size(); ++start) {
            if (inside[start] >= 0) continue;
            std::vector<int> members{static_cast<int>(start)};
            inside[start] = 0;
            for (std::size_t i = 0; i < members.size(); ++i) {
                for (int u : near[members[i]]) {
                    if (inside[u] >= 0) continue;
                    inside[u] = static_cast<int>(members.size());
                    members.push_back(u);
                }
            }
            component(members, inside);
        }
    }

    void component(const std::vector<int>& members, const std::vector<int>& inside) {
        const int n = static_cast<int>(members.size());
        triangulate::Bits graph(n);
        std::vector<double> states(n);
        std::vector<char> late(n);
        for (int i = 0; i < n; ++i) {
            states[i] = static_cast<double>(structure.states[global[members[i]]]);
            late[i] = made.request.late[global[members[i]]];
            for (int u : near[members[i]]) graph.join(i, inside[u]);
        }
        const auto found = triangulate::eliminate(graph, states, late, made.request.patience);
        const std::size_t base = made.cliques.size();
        grow(found, members, late);
        reroot(base);
    }

    // The cliques of an elimination, those inside others left out, linked into a tree.
    void grow(const triangulate::Elimination& found, const std::vector<int>& members,
              const std::vector<char>& late) {
        const int n = static_cast<int>(members.size());
        std::vector<int> place(n), above(n, -1), merged(n, -1);
        for (int i = 0; i < n; ++i) place[found.order[i]] = i;
        for (int i = 0; i < n; ++i) {
            for (int u : found.neighbours[i]) {
                if (above[i] < 0 || place[u] < above[i]) above[i] = place[u];
            }
        }
        std::vector<std::vector<int>> own(n);  // variables eliminated together, by the first of them
        for (int i = 0; i < n; ++i) {
            if (merged[i] < 0) merged[i] = i;
            own[merged[i]].push_back(found.order[i]);
            const int up = above[i];
            if (up >= 0 && merged[up] < 0 && found.neighbours[up].size() + 1 == found.neighbours[i].size() &&
                late[found.order[up]] == late[found.order[i]]) {
                merged[up] = merged[i];
            }
        }
        std::vector<int> clique(n, -1);
        for (int i = 0; i < n; ++i) {
            if (merged[i] != i) continue;
            Clique one;
            one.maximise = late[found.order[i]];
            one.variables = own[i];
            for (int u : found.neighbours[i]) {
                if (std::find(own[i].begin(), own[i].end(), u) == own[i].end()) one.variables.push_back(u);
            }
            for (int& u : one.variables) u = global[members[u]];
            clique[i] = static_cast<int>(made.cliques.size());
            made.cliques.push_back(std::move(one));
        }
        for (int i = 0; i < n; ++i) {
            if (merged[i] == i) {
                const int up = above[place[own[i].back()]];
                made.cliques[clique[i]].parent = up < 0 ? -1 : clique[merged[up]];
            }
            first_clique[members[found.order[i]]] = clique[merged[i]];
            position[members[found.order[i]]] = i;
        }
    }

    double entries(const std::vector<int>& variables) const {
        double product = 1;
        for (int v : variables) product *= static_cast<double>(structure.states[v]);
        return product;
    }

    bool holds(const Clique& clique, int v) const {
        return std::find(clique.variables.begin(), clique.variables.end(), v) != clique.variables.end();
    }

    // Turn the tree so that the joint's clique, or else the largest, is its root; parents come first again.
    void reroot(std::size_t base) {
        std::size_t root = base;
        while (made.cliques[root].parent >= 0) ++root;
        const auto& late = made.request.late;
        if (std::find(late.begin(), late.end(), 1) != late.end()) {  // sums come before maxima: as it is
            sort_from(base, root);
            return;
        }
        const int asked = clique_of(made.request.joint);
        if (asked >= static_cast<int>(base)) root = asked;
        for (std::size_t c = base; c < made.cliques.size() && asked < static_cast<int>(base); ++c) {
            if (entries(made.cliques[c].variables) > entries(made.cliques[root].variables)) root = c;
        }
        int child = static_cast<int>(root);
        int parent = made.cliques[child].parent;
        made.cliques[child].parent = -1;
        while (parent >= 0) {
            const int next = made.cliques[parent].parent;
            made.cliques[parent].parent = child;
            child = parent;
            parent = next;
        }
        sort_from(base, root);
    }

    void sort_from(std::size_t base, std::size_t root) {
        const std::size_t n = made.cliques.size() - base;
        std::vector<std::vector<int>> below(n);
        for (std::size_t c = 0; c < n; ++c) {
            const int parent = made.cliques[base + c].parent;
            if (parent >= 0) below[parent - base].push_back(static_cast<int>(c));
        }
        std::vector<int> order{static_cast<int>(root - base)};
        for (std::size_t i = 0; i < order.size(); ++i) {
            order.insert(order.end(), below[order[i]].begin(), below[order[i]].end());
        }
        std::vector<int> renamed(n);
        std::vector<Clique> sorted(n);
        for (std::size_t i = 0; i < n; ++i) {
            renamed[order[i]] = static_cast<int>(base + i);
            sorted[i] = std::move(made.cliques[base + order[i]]);
            if (sorted[i].parent >= 0) sorted[i].parent = renamed[sorted[i].parent - base];
        }
        std::move(sorted.begin(), sorted.end(), made.cliques.begin() + base);
        for (int& clique : first_clique) {
            if (clique >= static_cast<int>(base)) clique = renamed[clique - base];
        }
    }

    void count() {
        for (const Clique& one : made.cliques) {
            const double size = entries(one.variables);
            made.entries += size;
            made.largest = std::max(made.largest, size);
        }
    }

    Size take(Size count) {
        const Size at = made.doubles;
        made.doubles += count;
        return at;
    }

    // A walk over a clique beside the table of some of its variables, with the cases innermost.
    Walk beside(const std::vector<int>& big, const std::vector<int>& small, bool by_row = true) const {
        std::vector<Size> counts;
        std::vector<char> shared;
        for (int v : big) {
            counts.push_back(structure.states[v]);
            shared.push_back(std::find(small.begin(), small.end(), v) != small.end());
        }
        counts.push_back(made.request.rows);
        shared.push_back(by_row);
        return tables::walk(counts, shared);
    }

    // Separators go innermost, in the parent's order; of the rest, what the children share most.
    void lay_out() {
        children.resize(made.cliques.size());
        for (std::size_t c = 0; c < made.cliques.size(); ++c) {
            if (made.cliques[c].parent >= 0) children[made.cliques[c].parent].push_back(static_cast<int>(c));
        }
        std::vector<double> share(structure.states.size());
        for (std::size_t c = 0; c < made.cliques.size(); ++c) {
            Clique& one = made.cliques[c];
            for (int v : one.variables) share[v] = 0;
            for (int child : children[c]) {
                std::vector<int> common;
                for (int v : made.cliques[child].variables) {
                    if (holds(one, v)) common.push_back(v);
                }
                const double size = entries(common);
                for (int v : common) share[v] += size;
            }
            std::vector<int> separator;
            if (one.parent >= 0) {
                for (int v : made.cliques[one.parent].variables) {
                    if (holds(one, v)) separator.push_back(v);
                }
            }
            std::vector<int> order;
            for (int v : one.variables) {
                if (std::find(separator.begin(), separator.end(), v) == separator.end()) order.push_back(v);
            }
            std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return share[a] < share[b]; });
            one.own = static_cast<Size>(order.size());
            order.insert(order.end(), separator.begin(), separator.end());
            one.variables = std::move(order);
            one.entries = static_cast<Size>(entries(one.variables));
            one.separator = static_cast<Size>(entries(separator));
            if (one.parent >= 0) {
                one.up = beside(one.variables, separator);
                one.down = beside(made.cliques[one.parent].variables, separator);
                made.scratch = std::max(made.scratch, one.separator);
            }
        }
    }

    int clique_of(const std::vector<int>& scope) const {
        int first = -1;
        for (int v : scope) {
            if (local[v] >= 0 && (first < 0 || position[local[v]] < position[local[first]])) first = v;
        }
        return first < 0 ? -1 : first_clique[local[first]];
    }

    struct Piece {
        std::vector<int> scope;  // in the order of the clique
        Size at;
        Size entries;
        bool by_row;
    };

    void place_families() {
        std::vector<std::vector<Piece>> pieces(made.cliques.size());
        for (std::size_t v = 0; v < needed.size(); ++v) {
            if (needed[v]) gather(static_cast<int>(v), pieces);
        }
        made.shared = made.doubles;
        for (Gather& one : made.gathers) {
            if (one.by_row) {
                one.at = take(one.entries * made.request.rows);
                for (Piece& piece : pieces[made.home[one.family]]) {
                    if (piece.at == -1 - one.family) piece.at = one.at;
                }
            }
        }
        for (std::size_t v = 0; v < needed.size(); ++v) {
            if (!needed[v] || role(v) != Role::weighed) continue;
            const int clique = first_clique[local[v]];
            made.weights.push_back({static_cast<int>(v), take(structure.states[v] * made.request.rows)});
            pieces[clique].push_back({{static_cast<int>(v)}, made.weights.back().at, structure.states[v], true});
        }
        for (std::size_t c = 0; c < made.cliques.size(); ++c) feed(made.cliques[c], pieces[c]);
    }

    void gather(int family, std::vector<std::vector<Piece>>& pieces) {
        const std::vector<int>& scope = structure.scopes[family];
        Gather one{family, 0, 1, made.request.rows == 1, {}, {}};
        std::vector<Size> stride(scope.size());
        Size next = 1;
        for (std::size_t i = scope.size(); i-- > 0;) {
            stride[i] = next;
            next *= structure.states[scope[i]];
            if (local[scope[i]] < 0) one.seen.push_back({scope[i], stride[i]});
        }
        one.by_row = one.by_row || !one.seen.empty();
        const int home = clique_of(scope);
        made.home[family] = home;
        if (home < 0) {
            made.constants.push_back(std::move(one));
            return;
        }
        Piece piece{{}, 0, 1, one.by_row};
        for (int v : made.cliques[home].variables) {
            const auto found = std::find(scope.begin(), scope.end(), v);
            if (found == scope.end()) continue;
            piece.scope.push_back(v);
            one.entries *= structure.states[v];
            one.axes.push_back({structure.states[v], stride[found - scope.begin()]});
        }
        piece.entries = one.entries;
        piece.at = one.by_row ? -1 - family : take(one.entries);
        one.at = piece.at;
        pieces[home].push_back(std::move(piece));
        made.gathers.push_back(std::move(one));
    }

    // Small pieces go into larger ones that have all their variables; the rest goes into the clique.
    void feed(Clique& clique, std::vector<Piece>& pieces) {
        std::stable_sort(pieces.begin(), pieces.end(),
                         [](const Piece& a, const Piece& b) { return a.entries < b.entries; });
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            const Piece& small = pieces[i];
            std::size_t into = pieces.size();
            for (std::size_t j = i + 1; j < pieces.size() && into == pieces.size(); ++j) {
                const std::vector<int>& scope = pieces[j].scope;
                const bool within = std::all_of(small.scope.begin(), small.scope.end(), [&](int v) {
                    return std::find(scope.begin(), scope.end(), v) != scope.end();
                });
                if (within && pieces[j].by_row) into = j;
            }
            if (into < pieces.size()) {
                made.products.push_back(
                    {pieces[into].at, small.at, beside(pieces[into].scope, small.scope, small.by_row)});
            } else {
                clique.inputs.push_back({small.at, beside(clique.variables, small.scope, small.by_row)});
            }
        }
    }

    void place_outputs() {
        const Request& asked = made.request;
        made.places.assign(structure.states.size(), -1);
        std::vector<int> best(global.size(), -1);
        std::vector<char> separator(global.size());
        std::vector<Size> size(global.size());
        for (std::size_t c = 0; c < made.cliques.size(); ++c) {
            const Clique& one = made.cliques[c];
            for (int variable : one.variables) {
                const int v = local[variable];
                const bool between = one.parent >= 0 && holds(made.cliques[one.parent], variable);
                const Size mine = between ? one.separator : one.entries;
                if (best[v] >= 0 && size[v] <= mine) continue;
                best[v] = static_cast<int>(c);
                separator[v] = between;
                size[v] = mine;
            }
        }
        for (std::size_t v = 0; v < structure.states.size(); ++v) {
            if (!asked.outputs[v]) continue;
            made.places[v] = made.outputs;
            made.outputs += structure.states[v];
            if (local[v] < 0) continue;
            Clique& one = made.cliques[best[local[v]]];
            one.wanted = true;
            if (separator[local[v]]) {
                std::vector<int> scope;
                for (int u : one.variables) {
                    if (holds(made.cliques[one.parent], u)) scope.push_back(u);
                }
                one.of_separator.push_back({static_cast<int>(v), beside(scope, {static_cast<int>(v)})});
            } else {
                one.of_clique.push_back({static_cast<int>(v), beside(one.variables, {static_cast<int>(v)})});
            }
        }
        for (std::size_t c = made.cliques.size(); c-- > 0;) {
            Clique& one = made.cliques[c];
            one.wanted = one.wanted || asked.everything;
            if (one.wanted && one.parent >= 0) made.cliques[one.parent].wanted = true;
        }
    }

    void finish() {
        const Size rows = made.request.rows;
        for (Clique& one : made.cliques) {
            one.at = take(one.entries * rows);
            if (one.parent >= 0) one.message = take(one.separator * rows);
            if (one.parent >= 0) one.scales = take(rows);
        }
        for (const Clique& one : made.cliques) {
            if (one.parent < 0) continue;
            Clique& above = made.cliques[one.parent];
            above.inputs.push_back({one.message, one.down});
        }
        made.scratch = take(made.scratch * rows);
        const std::vector<int>& joint = made.request.joint;
        std::vector<int> free;
        std::copy_if(joint.begin(), joint.end(), std::back_inserter(free), [&](int v) { return local[v] >= 0; });
        if (free.empty()) return;
        made.joint_clique = clique_of(free);
        for (int v : made.cliques[made.joint_clique].variables) {
            if (std::find(free.begin(), free.end(), v) != free.end()) made.joint.push_back(v);
        }
        made.joint_walk = beside(made.cliques[made.joint_clique].variables, made.joint);
    }
};

}  // namespace

Schedule compile(std::shared_ptr<const Structure> structure, const Request& request) {
    return Compiler(std::move(structure), request).run();
}

}  // namespace junction
