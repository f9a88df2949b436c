// Natural logarithms of many numbers.
#pragma once

#include <cstddef>

// Each x[i], positive and neither subnormal nor infinite, becomes ln x[i], to 3e-16 of the larger of its size and 1.
void logs(double* x, std::size_t size);
