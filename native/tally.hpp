// How often each of few cells occurs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

class Tally {
public:
    explicit Tally(std::size_t cells) : counts_(lanes * cells) {}

    // Counts the cell of each row; fewer than 2^32 rows in all.
    template <class Cell>
    void count(std::size_t rows, Cell&& cell) {
        const std::size_t cells = counts_.size() / lanes;
        std::uint32_t *one = counts_.data(), *two = one + cells, *three = two + cells, *four = three + cells;
        std::size_t i = 0;
        for (; i + lanes <= rows; i += lanes) {
            ++one[cell(i)];
            ++two[cell(i + 1)];
            ++three[cell(i + 2)];
            ++four[cell(i + 3)];
        }
        for (; i < rows; ++i) ++one[cell(i)];
    }

    std::uint64_t operator[](std::size_t cell) const {
        std::uint64_t sum = 0;
        for (std::size_t at = cell; at < counts_.size(); at += counts_.size() / lanes) sum += counts_[at];
        return sum;
    }

private:
    static constexpr std::size_t lanes = 4;  // one count is not waited for while it is written
    std::vector<std::uint32_t> counts_;
};

struct Bounds {
    std::int64_t least = 0, most = -1;

    // How many whole numbers lie between them, both included.
    std::int64_t span() const { return most - least + 1; }
};

// The least and the greatest of some numbers.
Bounds bounds(const std::int32_t* numbers, std::size_t size);

// The same of those that aren't NaN; nothing where one of them is not whole, or 2^31 or more in size.
Bounds whole_bounds(const double* numbers, std::size_t size);

// The places of whole numbers among those from `least` on, less than 2^31 of them; `none` where one is NaN.
void places(const double* numbers, std::size_t size, std::int64_t least, std::int32_t none, std::int32_t* to);
