// Exact sums of floating-point numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

__extension__ using Wide = __int128;

// A finite double is mantissa * 2^exponent, the mantissa below 2^53 in size.
struct Parts {
    std::int64_t mantissa;
    int exponent;

    explicit Parts(double value) {
        const auto bits = std::bit_cast<std::uint64_t>(value);
        const auto fraction = static_cast<std::int64_t>(bits & ((std::uint64_t{1} << 52) - 1));
        const int biased = static_cast<int>(bits >> 52 & 0x7FF);
        mantissa = biased ? fraction | std::int64_t{1} << 52 : fraction;
        exponent = biased ? biased - 1075 : -1074;
        if (bits >> 63) mantissa = -mantissa;
    }
};

// For each exponent the sum of the mantissas that have it. 128 bits can't overflow before 2^64 terms, so there is
// nothing to carry and nothing to round: sums are the same in any order, and what was added can be taken away.
class ExactSum {
public:
    void add(std::int64_t mantissa, int exponent) { cell(exponent) += mantissa; }

    // A product of two mantissas, below 2^106 in size, as two mantissas.
    void add_product(Wide product, int exponent) {
        add(static_cast<std::int64_t>(product & low), exponent);
        add(static_cast<std::int64_t>(product >> 53), exponent + 53);
    }

    void add(const ExactSum& other, int sign) {
        for (std::size_t i = 0; i < other.cells_.size(); ++i)
            if (other.cells_[i]) cell(other.first_ + static_cast<int>(i)) += sign * other.cells_[i];
    }

    template <class Use>
    void each(Use&& use) const {
        for (std::size_t i = 0; i < cells_.size(); ++i)
            if (cells_[i]) use(first_ + static_cast<int>(i), cells_[i]);
    }

private:
    static constexpr Wide low = (Wide{1} << 53) - 1;

    Wide& cell(int exponent) {
        const auto at = static_cast<std::size_t>(exponent - first_);  // below first_ it wraps to a huge number
        return at < cells_.size() ? cells_[at] : grown(exponent);
    }

    Wide& grown(int exponent) {
        if (cells_.empty()) first_ = exponent;
        if (exponent < first_) {
            cells_.insert(cells_.begin(), static_cast<std::size_t>(first_ - exponent), 0);
            first_ = exponent;
        }
        const auto at = static_cast<std::size_t>(exponent - first_);
        if (at >= cells_.size()) cells_.resize(at + 1);
        return cells_[at];
    }

    std::vector<Wide> cells_;
    int first_ = 0;
};
