#include "weights.hpp"

#include "wide.hpp"

namespace {

template <std::size_t columns, class Part>
INLINE void add(const Part* parts, std::size_t number, std::size_t column, double* out) {
    double sums[columns];
    for (std::size_t c = 0; c < columns; ++c) sums[c] = out[column + c];
    for (std::size_t i = 0; i < number; ++i) {
        const double* weights = parts[i].weights + column;
        for (std::size_t c = 0; c < columns; ++c) sums[c] += parts[i].factor * weights[c];
    }
    for (std::size_t c = 0; c < columns; ++c) out[column + c] = sums[c];
}

WIDE void add_all(const Weights::Part* parts, std::size_t number, std::size_t columns, double* out) {
    std::size_t at = 0;
    for (; at + 24 <= columns; at += 24) add<24>(parts, number, at, out);
    for (; at < columns; at += 8) add<8>(parts, number, at, out);
}

}  // namespace

void Weights::sum(const Part* parts, std::size_t number, std::size_t columns, double* sums) { add_all(parts, number, columns, sums); }
