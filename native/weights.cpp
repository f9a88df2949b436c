#include "weights.hpp"

#include <cstring>

#include "wide.hpp"

namespace {

// A line of the cache, at once.
using Line = double __attribute__((vector_size(64)));
constexpr std::size_t lanes = sizeof(Line) / sizeof(double);

template <std::size_t lines, class Part>
INLINE void add(const Part* parts, std::size_t number, std::size_t column, double* out) {
    Line sums[lines];
    std::memcpy(sums, out + column, sizeof sums);
    for (std::size_t i = 0; i < number; ++i) {
        const auto* weights = reinterpret_cast<const Line*>(parts[i].weights + column);
        for (std::size_t k = 0; k < lines; ++k) sums[k] += parts[i].factor * weights[k];
    }
    std::memcpy(out + column, sums, sizeof sums);
}

WIDE void add_all(const Weights::Part* parts, std::size_t number, std::size_t columns, double* out) {
    std::size_t at = 0;
    for (; at + 3 * lanes <= columns; at += 3 * lanes) add<3>(parts, number, at, out);
    for (; at < columns; at += lanes) add<1>(parts, number, at, out);
}

}  // namespace

void Weights::sum(const Part* parts, std::size_t number, std::size_t columns, double* sums) { add_all(parts, number, columns, sums); }
