#include "tally.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "wide.hpp"

WIDE Bounds bounds(const std::int32_t* numbers, std::size_t size) {
    std::int32_t least = std::numeric_limits<std::int32_t>::max(), most = std::numeric_limits<std::int32_t>::min();
    for (std::size_t i = 0; i < size; ++i) {
        least = std::min(least, numbers[i]);
        most = std::max(most, numbers[i]);
    }
    return size ? Bounds{least, most} : Bounds{};
}

WIDE Bounds whole_bounds(const double* numbers, std::size_t size) {
    constexpr double large = 2147483648.0;
    double least = large, most = -large;
    int odd = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const double x = numbers[i];
        const bool there = x == x;
        const double held = there && std::abs(x) < large ? x : 0;
        odd |= there && static_cast<double>(static_cast<std::int32_t>(held)) != x;
        least = there && x < least ? x : least;
        most = there && x > most ? x : most;
    }
    return odd || least > most ? Bounds{} : Bounds{static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)};
}

WIDE void places(const double* numbers, std::size_t size, std::int64_t least, std::int32_t none, std::int32_t* to) {
    const auto first = static_cast<double>(least);
    for (std::size_t i = 0; i < size; ++i) {
        const bool there = numbers[i] == numbers[i];
        const auto place = static_cast<std::int32_t>(there ? numbers[i] - first : 0);
        to[i] = there ? place : none;
    }
}
