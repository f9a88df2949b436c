#include "tally.hpp"

#include <algorithm>
#include <bit>
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
    constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number, in the low bits
    constexpr auto zero = std::bit_cast<std::int64_t>(shift), large = std::int64_t{1} << 31;
    const double* const one = std::find_if(numbers, numbers + size, [](double x) { return x == x; });
    if (one == numbers + size) return {};
    const double instead = *one;
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = std::numeric_limits<std::int64_t>::min(), odd = 0;
    for (std::size_t i = 0; i < size; ++i) {  // whole numbers alone, so that it is done in wide vectors
        const double x = numbers[i] == numbers[i] ? numbers[i] : instead;
        const double shifted = x + shift;
        odd |= std::bit_cast<std::int64_t>((shifted - shift) - x);
        least = std::min(least, std::bit_cast<std::int64_t>(shifted));
        most = std::max(most, std::bit_cast<std::int64_t>(shifted));
    }
    return odd || least <= zero - large || most >= zero + large ? Bounds{} : Bounds{least - zero, most - zero};
}

WIDE void places(const double* numbers, std::size_t size, std::int64_t least, std::int32_t none, std::int32_t* to) {
    const auto first = static_cast<double>(least);
    for (std::size_t i = 0; i < size; ++i) {
        const bool there = numbers[i] == numbers[i];
        const auto place = static_cast<std::int32_t>(there ? numbers[i] - first : 0);
        to[i] = there ? place : none;
    }
}
