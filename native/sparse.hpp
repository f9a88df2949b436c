// Sparse rows, and what they add up of the rows of a dense table.
#pragma once

#include <cstdint>
#include <optional>

#include "lanes.hpp"
#include "sums.hpp"

namespace sparse {

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Starts = Array<std::int64_t>;
using Columns = Array<std::int32_t>;
template <class T>
using Values = std::optional<Array<T>>;  // all one, if none

// Row i has the entries from starts[i] to starts[i + 1]: which column each is in, and its value.
template <class T>
struct Entries {
    const std::int64_t* starts;
    const std::int32_t* columns;
    const T* values;
    std::size_t rows, size;

    Entries(const Starts& from, const Columns& at, const Values<T>& times, std::size_t bound, int threads)
        : starts(from.data()), columns(at.data()), values(times ? times->data() : nullptr), rows(from.shape(0) - 1), size(at.shape(0)) {
        using sums::demand;
        demand(from.shape(0) > 0, "one start a row, and the end, are needed");
        demand(!times || times->shape(0) == size, "one value an entry is needed");
        demand(starts[0] == 0 && starts[rows] == static_cast<std::int64_t>(size), "starts don't fit the entries");
        for (std::size_t i = 0; i < rows; ++i) demand(starts[i] <= starts[i + 1], "starts must not fall");
        constexpr std::size_t chunk = 1 << 16;
        share((size + chunk - 1) / chunk, 1, threads, [&](int, std::size_t i) {
            bool inside = true;
            for (std::size_t e = i * chunk; e < std::min(size, (i + 1) * chunk); ++e) inside &= static_cast<std::uint32_t>(columns[e]) < bound;
            demand(inside, "an entry is out of range");
        });
    }

    std::size_t begin(std::size_t row) const { return static_cast<std::size_t>(starts[row]); }
    double value(std::size_t entry) const { return values ? static_cast<double>(values[entry]) : 1.0; }
};

// A table whose rows of k numbers are filled up to whole vectors.
struct Padded {
    std::size_t vectors;

    Padded(std::size_t rows, std::size_t k) : vectors((k + lanes::wide - 1) / lanes::wide), values_(rows * vectors) {}
    Padded(const double* from, std::size_t rows, std::size_t k, int threads) : Padded(rows, k) {
        share(rows, 4096, threads, [&](int, std::size_t i) { put(i, from + i * k, k); });
    }

    void put(std::size_t row, const double* from, std::size_t k) {
        std::copy_n(from, k, reinterpret_cast<double*>(values_.data()) + row * vectors * lanes::wide);
    }
    const lanes::Doubles* row(std::size_t i) const { return values_.data() + i * vectors; }

private:
    lanes::Buffer values_;
};

// Adds the table's rows, each times its entry's value, to `sum`.
void add(const Entries<float>& entries, std::size_t row, const Padded& table, lanes::Doubles* sum);
void add(const Entries<double>& entries, std::size_t row, const Padded& table, lanes::Doubles* sum);

// Each row's sum of table rows, k numbers at `to + row * k`.
template <class T>
void product(const Entries<T>& entries, const Padded& table, std::size_t k, int threads, double* to) {
    constexpr std::size_t chunk = 64;
    share((entries.rows + chunk - 1) / chunk, 1, threads, [&](int, std::size_t i) {
        lanes::Buffer sum(table.vectors);
        for (std::size_t row = i * chunk; row < std::min(entries.rows, (i + 1) * chunk); ++row) {
            std::fill_n(sum.data(), table.vectors, lanes::Doubles{});
            add(entries, row, table, sum.data());
            std::copy_n(reinterpret_cast<const double*>(sum.data()), k, to + row * k);
        }
    });
}

}  // namespace sparse
