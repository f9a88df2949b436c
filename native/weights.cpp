#include "weights.hpp"

#include "wide.hpp"

namespace {

template <std::size_t columns, class Part>
INLINE void sum(const Part* parts, std::size_t number, std::size_t column, double* out) {
    double sums[columns] = {};
    for (std::size_t i = 0; i < number; ++i)
        for (std::size_t c = 0; c < columns; ++c) sums[c] += parts[i].factor * parts[i].weights[column + c];
    for (std::size_t c = 0; c < columns; ++c) out[column + c] = sums[c];
}

WIDE void sum_all(const Weights::Part* parts, std::size_t number, std::size_t columns, double* out) {
    std::size_t at = 0;
    for (; at + 24 <= columns; at += 24) sum<24>(parts, number, at, out);
    for (; at < columns; at += 8) sum<8>(parts, number, at, out);
}

}  // namespace

void Weights::add(const std::vector<Part>& parts, double* scores) const {
    if (parts.empty()) return;
    double sums[most_dense];
    sum_all(parts.data(), parts.size(), (classes_ + lanes - 1) / lanes * lanes, sums);
    for (std::size_t c = 0; c < classes_; ++c) scores[c] += sums[c];
}
