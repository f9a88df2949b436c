// Elimination orders that keep the tables of the junction tree small.
#pragma once

#include <cstdint>
#include <vector>

namespace triangulate {

// An undirected graph as rows of bits.
class Bits {
  public:
    explicit Bits(int nodes) : count(nodes), words((nodes + 63) / 64), bits(static_cast<std::size_t>(nodes) * words) {}
    std::uint64_t* row(int node) { return bits.data() + static_cast<std::size_t>(node) * words; }
    const std::uint64_t* row(int node) const { return bits.data() + static_cast<std::size_t>(node) * words; }
    void join(int a, int b) {
        row(a)[b >> 6] |= std::uint64_t{1} << (b & 63);
        row(b)[a >> 6] |= std::uint64_t{1} << (a & 63);
    }
    int count;
    int words;

  private:
    std::vector<std::uint64_t> bits;
};

struct Elimination {
    std::vector<int> order;                   // nodes as they are eliminated
    std::vector<std::vector<int>> neighbours;  // of each node when it was eliminated
    double cost = 0;                          // entries of the largest cliques' tables, all together
};

// The best order that a portfolio of rules finds for a connected graph; nodes marked `late` come after all
// others. `patience` is the work, in table
// entries, that an entry saved is worth; more is spent where more can be saved.
Elimination eliminate(const Bits& graph, const std::vector<double>& states, const std::vector<char>& late,
                      double patience);

}  // namespace triangulate
