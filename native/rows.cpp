// Equal rows are found once, so that each is worked out once.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "arrays.hpp"
#include "module.hpp"

namespace nb = nanobind;

namespace {

using arrays::Codes;

std::uint64_t hash(const std::int32_t* row, std::size_t width) {
    std::uint64_t h = 0x9e3779b97f4a7c15u;
    for (std::size_t i = 0; i < width; ++i) {
        h = (h ^ static_cast<std::uint32_t>(row[i])) * 0xbf58476d1ce4e5b9u;
        h ^= h >> 29;
    }
    return h;
}

// The first place of each distinct row, and for every row which of them it is.
arrays::Tuple<arrays::Out<std::int64_t>, arrays::Out<std::int64_t>> distinct_rows(Codes codes) {
    std::vector<std::int64_t> first, which(codes.shape(0));
    {
        const nb::gil_scoped_release free;
        const std::size_t n = codes.shape(0), width = codes.shape(1);
        std::size_t size = 16;
        while (size < 2 * n) size *= 2;
        std::vector<std::int64_t> slots(size, -1);
        for (std::size_t r = 0; r < n; ++r) {
            const std::int32_t* const row = codes.data() + r * width;
            std::size_t slot = hash(row, width) & (size - 1);
            while (slots[slot] >= 0) {
                const std::int32_t* const other = codes.data() + first[slots[slot]] * width;
                if (std::memcmp(row, other, width * sizeof *row) == 0) break;
                slot = (slot + 1) & (size - 1);
            }
            if (slots[slot] < 0) {
                slots[slot] = static_cast<std::int64_t>(first.size());
                first.push_back(static_cast<std::int64_t>(r));
            }
            which[r] = slots[slot];
        }
    }
    const std::size_t kept = first.size(), n = which.size();
    return nb::make_tuple(arrays::out(std::move(first), {kept}), arrays::out(std::move(which), {n}));
}

}  // namespace

void bind_rows(nb::module_& m) {
    m.def("distinct_rows", &distinct_rows, nb::arg("codes"),
          "The first place of each distinct row, and for every row which of them it is.");
}
