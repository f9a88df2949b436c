// Products of sparse rows and dense tables, and sparse rows turned into columns.
#include "sparse.hpp"

#include <nanobind/stl/optional.h>

#include "module.hpp"

namespace sparse {

using lanes::Doubles;

template <std::size_t width, class T>
INLINE void add_vectors(const Entries<T>& e, std::size_t row, const Padded& table, std::size_t first, Doubles* sum) {
    constexpr std::size_t ahead = 16;
    const Doubles* from = table.row(0) + first;
    Doubles held[width];
    for (std::size_t v = 0; v < width; ++v) held[v] = sum[v];
    for (std::size_t entry = e.begin(row), end = e.begin(row + 1); entry < end; ++entry) {
        const Doubles* next = from + static_cast<std::size_t>(e.columns[std::min(entry + ahead, e.size - 1)]) * table.vectors;
        for (std::size_t v = 0; v < width; ++v) __builtin_prefetch(next + v);
        const Doubles* at = from + static_cast<std::size_t>(e.columns[entry]) * table.vectors;
        const double value = e.value(entry);
        for (std::size_t v = 0; v < width; ++v) held[v] += value * at[v];
    }
    for (std::size_t v = 0; v < width; ++v) sum[v] = held[v];
}

template <class T>
INLINE void add_all(const Entries<T>& e, std::size_t row, const Padded& table, Doubles* sum) {
    const std::size_t vectors = table.vectors;
    std::size_t v = 0;
    for (; v + 4 <= vectors; v += 4) add_vectors<4>(e, row, table, v, sum + v);
    if (vectors - v == 3) add_vectors<3>(e, row, table, v, sum + v);
    if (vectors - v == 2) add_vectors<2>(e, row, table, v, sum + v);
    if (vectors - v == 1) add_vectors<1>(e, row, table, v, sum + v);
}

WIDE void add(const Entries<float>& e, std::size_t row, const Padded& table, Doubles* sum) { add_all(e, row, table, sum); }
WIDE void add(const Entries<double>& e, std::size_t row, const Padded& table, Doubles* sum) { add_all(e, row, table, sum); }

namespace {

template <class T>
arrays::Out<double> by_table(const Starts& starts, const Columns& columns, const Values<T>& values, const sums::Matrix& by, int threads) {
    const std::size_t k = by.shape(1);
    const Entries<T> entries(starts, columns, values, by.shape(0), threads);
    std::vector<double> found(entries.rows * k);
    {
        const nb::gil_scoped_release release;
        product(entries, Padded(by.data(), by.shape(0), k, threads), k, threads, found.data());
    }
    return arrays::out(std::move(found), {entries.rows, k});
}

template <class T>
nb::tuple transpose(const Starts& starts, const Columns& columns, const Values<T>& values, std::size_t size) {
    const Entries<T> from(starts, columns, values, size, 1);
    std::vector<std::int64_t> ends(size + 1);
    std::vector<std::int32_t> at(from.size);
    std::vector<T> turned(from.size);
    {
        const nb::gil_scoped_release release;
        for (std::size_t e = 0; e < from.size; ++e) ++ends[static_cast<std::size_t>(from.columns[e]) + 1];
        for (std::size_t f = 0; f < size; ++f) ends[f + 1] += ends[f];
        std::vector<std::int64_t> next(ends.begin(), ends.end() - 1);
        for (std::size_t row = 0; row < from.rows; ++row)
            for (std::size_t e = from.begin(row); e < from.begin(row + 1); ++e) {
                const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(from.columns[e])]++);
                at[to] = static_cast<std::int32_t>(row);
                turned[to] = from.values ? from.values[e] : 1;
            }
    }
    return nb::make_tuple(arrays::out(std::move(ends), {size + 1}), arrays::out(std::move(at), {from.size}),
                          arrays::out(std::move(turned), {from.size}));
}

}  // namespace
}  // namespace sparse

void bind_sparse(nb::module_& m) {
    using namespace nb::literals;
    m.def("sparse_product", &sparse::by_table<float>, "starts"_a, "columns"_a, "values"_a.none(), "by"_a, "threads"_a = 1,
          "Sparse rows times a matrix of one row a column.");
    m.def("sparse_product", &sparse::by_table<double>, "starts"_a, "columns"_a, "values"_a, "by"_a, "threads"_a = 1);
    m.def("sparse_transpose", &sparse::transpose<float>, "starts"_a, "columns"_a, "values"_a.none(), "size"_a,
          "The starts, rows and values of each column of sparse rows.");
    m.def("sparse_transpose", &sparse::transpose<double>, "starts"_a, "columns"_a, "values"_a, "size"_a);
}
