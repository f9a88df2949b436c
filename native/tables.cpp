// The loops over tables. Two shapes of innermost block are enough: the small table runs along the columns
// of the block, or along its rows.
#include "tables.hpp"

#include <algorithm>
#include <type_traits>

#include "wide.hpp"

namespace tables {

namespace {

struct Assign {
    static INLINE void at(double& big, double& small) { big = small; }
};
struct Multiply {
    static INLINE void at(double& big, double& small) { big *= small; }
};
struct Add {
    static constexpr double start = 0;
    static INLINE void at(double& big, double& small) { small += big; }
    static INLINE double join(double a, double b) { return a + b; }
};
struct Max {
    static constexpr double start = 0;
    static INLINE void at(double& big, double& small) { small = big > small ? big : small; }
    static INLINE double join(double a, double b) { return a > b ? a : b; }
};

template <class Op>
constexpr bool reduces = std::is_same_v<Op, Add> || std::is_same_v<Op, Max>;

constexpr Size TILE = 64;

// big[i, j] with small[j], few columns: the columns are repeated until a tile is wide enough for vectors.
template <class Op>
INLINE void narrow_columns(double* __restrict big, double* __restrict small, Size rows, Size columns) {
    double tile[TILE];
    const Size repeats = TILE / columns;
    const Size wide = repeats * columns;
    if constexpr (reduces<Op>) {
        for (Size j = 0; j < wide; ++j) tile[j] = Op::start;
    } else {
        for (Size r = 0, k = 0; r < repeats; ++r) {
            for (Size j = 0; j < columns; ++j) tile[k++] = small[j];
        }
    }
    const Size whole = rows / repeats;
    for (Size b = 0; b < whole; ++b, big += wide) {
        for (Size j = 0; j < wide; ++j) Op::at(big[j], tile[j]);
    }
    const Size rest = (rows - whole * repeats) * columns;
    for (Size j = 0; j < rest; ++j) Op::at(big[j], tile[j]);
    if constexpr (reduces<Op>) {
        for (Size r = 0, k = 0; r < repeats; ++r) {
            for (Size j = 0; j < columns; ++j) small[j] = Op::join(small[j], tile[k++]);
        }
    }
}

// big[i, j] with small[j], a number of columns that the compiler knows.
template <class Op, Size Columns>
INLINE void same_columns(double* __restrict big, double* __restrict small, Size rows) {
    double kept[Columns];
    for (Size j = 0; j < Columns; ++j) kept[j] = small[j];
    for (Size i = 0; i < rows; ++i) {
        for (Size j = 0; j < Columns; ++j) Op::at(big[i * Columns + j], kept[j]);
    }
    if constexpr (reduces<Op>) {
        for (Size j = 0; j < Columns; ++j) small[j] = kept[j];
    }
}

template <class Op>
INLINE void columns_block(double* __restrict big, double* __restrict small, Size rows, Size columns) {
    if (columns < 16 && rows * columns >= 2 * TILE) {
        narrow_columns<Op>(big, small, rows, columns);
        return;
    }
    if (columns == 16) return same_columns<Op, 16>(big, small, rows);
    if (columns == 32) return same_columns<Op, 32>(big, small, rows);
    for (Size i = 0; i < rows; ++i, big += columns) {
        for (Size j = 0; j < columns; ++j) Op::at(big[j], small[j]);
    }
}

// big[i, j] with small[i], a number of columns that the compiler knows.
template <class Op, Size Columns>
INLINE void few_columns(double* __restrict big, double* __restrict small, Size rows) {
    for (Size i = 0; i < rows; ++i) {
        for (Size j = 0; j < Columns; ++j) Op::at(big[i * Columns + j], small[i]);
    }
}

template <class Op>
INLINE void rows_block(double* __restrict big, double* __restrict small, Size rows, Size columns) {
    switch (columns) {
        case 2: return few_columns<Op, 2>(big, small, rows);
        case 3: return few_columns<Op, 3>(big, small, rows);
        case 4: return few_columns<Op, 4>(big, small, rows);
        case 16: return few_columns<Op, 16>(big, small, rows);
        case 32: return few_columns<Op, 32>(big, small, rows);
        default: break;
    }
    for (Size i = 0; i < rows; ++i, big += columns) {
        Size j = 0;
        if constexpr (reduces<Op>) {
            double lanes[8] = {};
            for (; j + 8 <= columns; j += 8) {
                for (Size l = 0; l < 8; ++l) Op::at(big[j + l], lanes[l]);
            }
            for (Size l = 0; l < 4; ++l) lanes[l] = Op::join(lanes[l], lanes[l + 4]);
            small[i] = Op::join(small[i], Op::join(Op::join(lanes[0], lanes[2]), Op::join(lanes[1], lanes[3])));
        }
        for (; j < columns; ++j) Op::at(big[j], small[i]);
    }
}

// The three innermost steps: `blocks` blocks of rows and columns.
template <class Op>
INLINE void run(double* big, double* small, Size blocks, Size stride, Size rows, Size columns, bool by_column) {
    const Size length = rows * columns;
    if (by_column) {
        for (Size b = 0; b < blocks; ++b) columns_block<Op>(big + b * length, small + b * stride, rows, columns);
    } else {
        for (Size b = 0; b < blocks; ++b) rows_block<Op>(big + b * length, small + b * stride, rows, columns);
    }
}

using Run = void (*)(double*, double*, Size, Size, Size, Size, bool);

WIDE void run_assign(double* b, double* s, Size n, Size stride, Size rows, Size columns, bool by_column) {
    run<Assign>(b, s, n, stride, rows, columns, by_column);
}
WIDE void run_multiply(double* b, double* s, Size n, Size stride, Size rows, Size columns, bool by_column) {
    run<Multiply>(b, s, n, stride, rows, columns, by_column);
}
WIDE void run_add(double* b, double* s, Size n, Size stride, Size rows, Size columns, bool by_column) {
    run<Add>(b, s, n, stride, rows, columns, by_column);
}
WIDE void run_max(double* b, double* s, Size n, Size stride, Size rows, Size columns, bool by_column) {
    run<Max>(b, s, n, stride, rows, columns, by_column);
}

void go(double* big, double* small, const Walk& along, Run inner) {
    const std::vector<Step>& steps = along.steps;
    const std::size_t depth = steps.size();
    if (depth == 0) {
        inner(big, small, 1, 0, 1, 1, true);
        return;
    }
    const bool by_column = steps[depth - 1].stride != 0;
    const Size columns = steps[depth - 1].count;
    const Size rows = depth > 1 ? steps[depth - 2].count : 1;
    const Step third = depth > 2 ? steps[depth - 3] : Step{1, 0};
    const Size length = third.count * rows * columns;
    if (depth <= 3) {
        inner(big, small, third.count, third.stride, rows, columns, by_column);
        return;
    }
    const std::size_t outer = depth - 3;
    Size counter[64] = {};
    for (;;) {
        inner(big, small, third.count, third.stride, rows, columns, by_column);
        big += length;
        std::size_t at = outer;
        for (;;) {
            if (at-- == 0) return;
            small += steps[at].stride;
            if (++counter[at] < steps[at].count) break;
            small -= steps[at].stride * steps[at].count;
            counter[at] = 0;
        }
    }
}

WIDE void scale_one(double* table, Size entries, double by) {
    for (Size i = 0; i < entries; ++i) table[i] *= by;
}

WIDE void scale_many(double* table, Size entries, Size rows, const double* by) {
    for (Size i = 0; i < entries; ++i, table += rows) {
        for (Size r = 0; r < rows; ++r) table[r] *= by[r];
    }
}

WIDE void divide_all(double* __restrict over, const double* __restrict under, Size length) {
    for (Size i = 0; i < length; ++i) over[i] = under[i] > 0 ? over[i] / under[i] : 0.0;
}

}  // namespace

Walk walk(const std::vector<Size>& counts, const std::vector<char>& shared) {
    Walk made;
    int last = -1;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        made.length *= counts[i];
        if (shared[i]) made.width *= counts[i];
        if (counts[i] == 1) continue;
        if (last == shared[i]) {
            made.steps.back().count *= counts[i];
        } else {
            made.steps.push_back({counts[i], shared[i] ? Size{1} : Size{0}});
            last = shared[i];
        }
    }
    Size stride = 1;
    for (std::size_t i = made.steps.size(); i-- > 0;) {
        if (made.steps[i].stride == 0) continue;
        made.steps[i].stride = stride;
        stride *= made.steps[i].count;
    }
    return made;
}

void assign(double* big, const double* small, const Walk& along) {
    go(big, const_cast<double*>(small), along, run_assign);
}

void multiply(double* big, const double* small, const Walk& along) {
    go(big, const_cast<double*>(small), along, run_multiply);
}

void sum(const double* big, double* small, const Walk& along) {
    std::fill_n(small, along.width, 0.0);
    go(const_cast<double*>(big), small, along, run_add);
}

void maximum(const double* big, double* small, const Walk& along) {
    std::fill_n(small, along.width, 0.0);
    go(const_cast<double*>(big), small, along, run_max);
}

void scale(double* table, Size entries, Size rows, const double* by) {
    if (rows == 1) {
        scale_one(table, entries, *by);
    } else {
        scale_many(table, entries, rows, by);
    }
}

void totals(const double* table, Size entries, Size rows, double* to) {
    std::fill_n(to, rows, 0.0);
    run_add(const_cast<double*>(table), to, 1, 0, rows == 1 ? 1 : entries, rows == 1 ? entries : rows, rows != 1);
}

void divide(double* over, const double* under, Size length) { divide_all(over, under, length); }

}  // namespace tables
