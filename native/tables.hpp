// Products and sums of tables that share variables, as walks over contiguous memory.
#pragma once

#include <cstdint>
#include <vector>

namespace tables {

using Size = std::int64_t;

struct Step {
    Size count;
    Size stride;  // in the small table; 0 where the small table does not have these variables
};

// How to run through a big table, front to back, beside a small one whose variables are some of the big
// one's in the same order. Neighbouring variables that both tables have, or that only the big one has,
// are one step; the last step is the innermost.
struct Walk {
    std::vector<Step> steps;
    Size length = 1;  // entries of the big table
    Size width = 1;   // entries of the small table
};

// `shared[i]` says whether the small table has the i-th variable of the big one.
Walk walk(const std::vector<Size>& counts, const std::vector<char>& shared);

void assign(double* big, const double* small, const Walk& along);    // big = small
void multiply(double* big, const double* small, const Walk& along);  // big *= small
void sum(const double* big, double* small, const Walk& along);       // small = sum of big
void maximum(const double* big, double* small, const Walk& along);   // small = maximum of big

// Tables of `rows` cases side by side, the case innermost.
void scale(double* table, Size entries, Size rows, const double* by);
void totals(const double* table, Size entries, Size rows, double* to);
void divide(double* over, const double* under, Size length);  // 0 where under is 0

}  // namespace tables
