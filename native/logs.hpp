// Natural logarithms of many numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "wide.hpp"

// ln x of a positive number that is neither subnormal nor infinite, to 3e-16 of the larger of its size and 1; a loop over it
// becomes one over vectors. x = 2^e m with m from sqrt(1/2) to sqrt(2), and ln m = 2 artanh t with t = (m - 1) / (m + 1), by
// its series.
INLINE double log_of(double x) {
    constexpr std::uint64_t root = 0x3FE6A09E667F3BCDu;  // the bits of sqrt(1/2)
    constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) - root;
    const double e = static_cast<double>(static_cast<std::int64_t>(bits) >> 52);
    const double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFu) + root);
    const double t = (m - 1) / (m + 1), u = t * t;
    double sum = 1.0 / 21;
    for (int k = 19; k > 1; k -= 2) sum = sum * u + 1.0 / k;
    return e * ln2_high + (2 * t + (2 * t * u * sum + e * ln2_low));
}

// Each x[i] becomes ln x[i].
void logs(double* x, std::size_t size);
