#include "logs.hpp"

WIDE void logs(double* x, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) x[i] = log_of(x[i]);
}
