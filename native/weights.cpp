#include "weights.hpp"

#include <cstring>

#include "lanes.hpp"

namespace {

using lanes::Doubles, lanes::wide;  // a line of the cache, at once

template <std::size_t lines, class Part>
INLINE void add(const Part* parts, std::size_t number, std::size_t column, double* out) {
    Doubles sums[lines];
    std::memcpy(sums, out + column, sizeof sums);
    for (std::size_t i = 0; i < number; ++i) {
        const auto* weights = reinterpret_cast<const Doubles*>(parts[i].weights + column);
        for (std::size_t k = 0; k < lines; ++k) sums[k] += parts[i].factor * weights[k];
    }
    std::memcpy(out + column, sums, sizeof sums);
}

WIDE void add_all(const Weights::Part* parts, std::size_t number, std::size_t columns, double* out) {
    std::size_t at = 0;
    for (; at + 3 * wide <= columns; at += 3 * wide) add<3>(parts, number, at, out);
    for (; at < columns; at += wide) add<1>(parts, number, at, out);
}

}  // namespace

void Weights::sum(const Part* parts, std::size_t number, std::size_t columns, double* sums) { add_all(parts, number, columns, sums); }
