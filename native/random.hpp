// Random numbers that are a function of (seed, stream, place): the same whichever thread draws them.
#pragma once

#include <cstdint>

#include "wide.hpp"

namespace random_numbers {

constexpr std::uint64_t GOLDEN = 0x9e3779b97f4a7c15u;

INLINE std::uint64_t mix(std::uint64_t z) {  // splitmix64 (Steele, Lea and Flood 2014)
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

INLINE double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

class Stream {
  public:
    Stream(std::uint64_t seed, std::uint64_t stream) : state(mix(mix(seed + GOLDEN) + stream * 0xd1342543de82ef95u)) {}
    std::uint64_t next() { return mix(state += GOLDEN); }
    double uniform() { return unit(next()); }

    // `count` numbers from 0 up to 1.
    INLINE void fill(double* to, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
            to[i] = unit(mix(state + static_cast<std::uint64_t>(i + 1) * GOLDEN));
        }
        state += static_cast<std::uint64_t>(count) * GOLDEN;
    }

  private:
    std::uint64_t state;
};

}  // namespace random_numbers
