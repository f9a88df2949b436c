// Sums over rows that threads share.
#pragma once

#include <nanobind/ndarray.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "texts.hpp"

namespace sums {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline void demand(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

// Sums over all rows, in an order that depends on the shapes only. work(first, last, sums) adds up some of the rows.
template <class Work>
std::vector<double> total(std::size_t rows, std::size_t row_bytes, std::size_t size, int threads, Work&& work) {
    const std::size_t room = std::max<std::size_t>(std::size_t{1} << 20, rows * row_bytes / 64) / (size * sizeof(double));
    const std::size_t count = std::clamp<std::size_t>(std::min(room, rows / 1024), 1, 64);
    std::vector<std::vector<double>> shards(count);
    share(count, 1, threads, [&](int, std::size_t shard) {
        shards[shard].resize(size);
        work(rows * shard / count, rows * (shard + 1) / count, shards[shard].data());
    });
    for (std::size_t step = 1; step < count; step *= 2)
        for (std::size_t shard = 0; shard + step < count; shard += 2 * step)
            for (std::size_t i = 0; i < size; ++i) shards[shard][i] += shards[shard + step][i];
    return std::move(shards[0]);
}

}  // namespace sums
