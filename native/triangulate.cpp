// Greedy elimination by several rules with random ties (Kjaerulff 1990; Fishelson and Geiger 2004), run
// again for as long as the tables found are worth the time. Time is counted in steps, not read from a
// clock, so that the same network gives the same order every time.
#include "triangulate.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "random.hpp"
#include "wide.hpp"

namespace triangulate {

namespace {

using Word = std::uint64_t;

enum class Rule { fill, weighted_fill, weight, fill_then_weight };
constexpr Rule RULES[] = {Rule::fill, Rule::weighted_fill, Rule::weight, Rule::fill_then_weight};

constexpr double STEPS_AN_ENTRY = 4;  // steps of this search, about a nanosecond each, for the time of an entry

constexpr double MOST = 5e8;  // entries beyond which no better order is looked for: none would do

struct Score {
    double first;
    double second;
    bool operator<(const Score& other) const {
        return first < other.first || (first == other.first && second < other.second);
    }
    bool operator==(const Score& other) const = default;
};

class Trial {
  public:
    Trial(const Bits& start, const std::vector<double>& sizes, const std::vector<char>& late, Rule by, Word seed)
        : graph(start), states(sizes), last(late), rule(by), random(seed, 0), ties(seed != 0) {}

    // False where the tables grow beyond `limit` on the way.
    INLINE bool run(double limit, Elimination& found) {
        const int n = graph.count;
        std::vector<Score> scores(n);
        std::vector<int> active(n);
        for (int v = 0; v < n; ++v) {
            active[v] = v;
            scores[v] = score(v);
        }
        std::vector<Word> dirty(graph.words);
        std::vector<int> near;
        double total = 0;
        while (!active.empty()) {
            const std::size_t place = best(active, scores);
            const int v = active[place];
            active[place] = active.back();
            active.pop_back();
            steps += 3 * static_cast<double>(active.size());
            members(v, near);
            double entries = states[v];
            for (int u : near) entries *= states[u];
            total += entries;
            if (total > limit) return false;
            std::fill(dirty.begin(), dirty.end(), 0);
            connect(v, near, dirty.data());
            found.order.push_back(v);
            found.neighbours.push_back(near);
            for (int w = 0; w < graph.words; ++w) {
                for (Word left = dirty[w]; left; left &= left - 1) {
                    const int u = w * 64 + std::countr_zero(left);
                    scores[u] = score(u);
                }
            }
        }
        found.cost = cost(found);
        return true;
    }

    double steps = 0;

  private:
    Bits graph;
    const std::vector<double>& states;
    const std::vector<char>& last;
    Rule rule;
    random_numbers::Stream random;
    bool ties;

    void members(int v, std::vector<int>& near) const {
        near.clear();
        const Word* row = graph.row(v);
        for (int w = 0; w < graph.words; ++w) {
            for (Word left = row[w]; left; left &= left - 1) near.push_back(w * 64 + std::countr_zero(left));
        }
    }

    std::size_t best(const std::vector<int>& active, const std::vector<Score>& scores) {
        std::size_t at = 0;
        Word equal = 1;
        for (std::size_t i = 1; i < active.size(); ++i) {
            const Score& mine = scores[active[i]];
            const int wait = last[active[i]] - last[active[at]];
            if (wait > 0) continue;
            if (wait < 0 || mine < scores[active[at]]) {
                at = i;
                equal = 1;
            } else if (ties && mine == scores[active[at]] && random.next() % ++equal == 0) {
                at = i;
            }
        }
        return at;
    }

    INLINE Score score(int v) {
        const Word* mine = graph.row(v);
        double fill = 0, weighted = 0, weight = states[v];
        for (int w = 0; w < graph.words; ++w) {
            for (Word left = mine[w]; left; left &= left - 1) {
                const int u = w * 64 + std::countr_zero(left);
                weight *= states[u];
                if (rule == Rule::weight) continue;
                steps += rule == Rule::weighted_fill ? 4 * graph.words : graph.words;
                const Word* theirs = graph.row(u);
                if (rule == Rule::weighted_fill) {
                    double missing = 0;
                    for (int k = 0; k < graph.words; ++k) {
                        for (Word lack = mine[k] & ~theirs[k]; lack; lack &= lack - 1) {
                            missing += states[k * 64 + std::countr_zero(lack)];
                        }
                    }
                    weighted += states[u] * (missing - states[u]);
                } else {
                    int missing = -1;
                    for (int k = 0; k < graph.words; ++k) missing += std::popcount(mine[k] & ~theirs[k]);
                    fill += missing;
                }
            }
        }
        switch (rule) {
            case Rule::fill: return {fill, ties ? 0 : weight};
            case Rule::weighted_fill: return {weighted, weight};
            case Rule::weight: return {weight, 0};
            default: return {fill * weight, weight};
        }
    }

    INLINE void connect(int v, const std::vector<int>& near, Word* dirty) {
        const int words = graph.words;
        Word* const mine = graph.row(v);
        for (int u : near) {
            Word* const theirs = graph.row(u);
            theirs[v >> 6] &= ~(Word{1} << (v & 63));
            dirty[u >> 6] |= Word{1} << (u & 63);
        }
        for (std::size_t i = 0; i < near.size(); ++i) {
            const int u = near[i];
            Word* const theirs = graph.row(u);
            for (int k = 0; k < words; ++k) {
                Word lack = mine[k] & ~theirs[k];
                if (k == u >> 6) lack &= ~(Word{1} << (u & 63));
                for (; lack; lack &= lack - 1) {
                    const int other = k * 64 + std::countr_zero(lack);
                    Word* const third = graph.row(other);
                    for (int j = 0; j < words; ++j) dirty[j] |= theirs[j] & third[j];
                    third[u >> 6] |= Word{1} << (u & 63);
                    theirs[k] |= Word{1} << (other & 63);
                    steps += words;
                }
            }
        }
    }

    double cost(const Elimination& found) const {
        std::vector<int> place(graph.count);
        for (std::size_t i = 0; i < found.order.size(); ++i) place[found.order[i]] = static_cast<int>(i);
        std::vector<char> inside(graph.count);
        double total = 0;
        for (std::size_t i = 0; i < found.order.size(); ++i) {
            const std::vector<int>& near = found.neighbours[i];
            int first = graph.count;
            for (int u : near) first = std::min(first, place[u]);
            if (!near.empty() && found.neighbours[first].size() + 1 == near.size() &&
                last[found.order[i]] == last[found.order[first]]) {
                inside[first] = 1;
            }
            if (inside[i]) continue;
            double entries = states[found.order[i]];
            for (int u : near) entries *= states[u];
            total += entries;
        }
        return total;
    }
};

}  // namespace

WIDE Elimination eliminate(const Bits& graph, const std::vector<double>& states, const std::vector<char>& late,
                           double patience) {
    Elimination best;
    best.cost = std::numeric_limits<double>::infinity();
    double spent = 0;
    for (Word trial = 0;; ++trial) {
        const Rule rule = RULES[trial % std::size(RULES)];
        Trial one(graph, states, late, rule, trial < std::size(RULES) ? 0 : trial);
        Elimination found;
        // Cliques inside others are counted on the way, at most as many entries again (two states or more).
        if (one.run(2 * best.cost, found) && found.cost < best.cost) best = std::move(found);
        spent += one.steps + graph.count;
        if (spent > patience * STEPS_AN_ENTRY * std::min(best.cost, MOST) || best.cost <= 2 * graph.count) return best;
    }
}

}  // namespace triangulate
