#include "families.hpp"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include "arrays.hpp"
#include "module.hpp"
#include "parallel.hpp"
#include "wide.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define WITH(feature) __attribute__((target(feature)))
#define HAS(feature) __builtin_cpu_supports(feature)
#else
#define WITH(feature)
#define HAS(feature) false
#endif

namespace families {

namespace {

constexpr Size BLOCK = 512;          // words of rows that are worked on together: they stay in the nearest cache
constexpr Size LANES = 8;            // sets are padded to so many words, so that wide loops come out even
constexpr int MOST_BIT_STATES = 64;  // a variable with more is always counted row by row
constexpr int FEW_STATES = 12;       // up to so many, comparing codes with each state is the quickest way to bits
constexpr Size WORTH_THREADS = 4'000'000;

INLINE Size meet_plain(const Word* a, const Word* b, Size words) {
    if (words % LANES) __builtin_unreachable();
    Size found = 0;
    for (Size w = 0; w < words; ++w) found += std::popcount(a[w] & b[w]);
    return found;
}

INLINE Size meet_into_plain(const Word* a, const Word* b, Word* both, Size words) {
    if (words % LANES) __builtin_unreachable();
    Size found = 0;
    for (Size w = 0; w < words; ++w) {
        both[w] = a[w] & b[w];
        found += std::popcount(both[w]);
    }
    return found;
}

// How many bits two sets share; the compiler makes wide code of the plain loops where it may.
struct Meet {
    Size (*count)(const Word* a, const Word* b, Size words);
    Size (*into)(const Word* a, const Word* b, Word* both, Size words);
};

WITH("avx512f,avx512vl,avx512vpopcntdq") Size meet_512(const Word* a, const Word* b, Size n) {
    return meet_plain(a, b, n);
}
WITH("avx512f,avx512vl,avx512vpopcntdq") Size meet_into_512(const Word* a, const Word* b, Word* both, Size n) {
    return meet_into_plain(a, b, both, n);
}
WITH("popcnt") Size meet_64(const Word* a, const Word* b, Size n) { return meet_plain(a, b, n); }
WITH("popcnt") Size meet_into_64(const Word* a, const Word* b, Word* both, Size n) {
    return meet_into_plain(a, b, both, n);
}
Size meet_any(const Word* a, const Word* b, Size n) { return meet_plain(a, b, n); }
Size meet_into_any(const Word* a, const Word* b, Word* both, Size n) { return meet_into_plain(a, b, both, n); }

const Meet meet = HAS("avx512vl") && HAS("avx512vpopcntdq") ? Meet{meet_512, meet_into_512}
                  : HAS("popcnt")                           ? Meet{meet_64, meet_into_64}
                                                            : Meet{meet_any, meet_into_any};

template <class Visit>
INLINE void with_codes(const Column& column, Size from, Visit&& visit) {
    switch (column.bytes) {
        case 1: visit(static_cast<const std::int8_t*>(column.codes) + from); break;
        case 2: visit(static_cast<const std::int16_t*>(column.codes) + from); break;
        default: visit(static_cast<const std::int32_t*>(column.codes) + from); break;
    }
}

// Bit i of each word: whether code i is the state. Eight codes at a time: those equal leave a zero byte, which
// becomes its highest bit, and a multiplication gathers the eight bits (Warren 2013, section 6-1).
WIDE void equal_bits(const std::int8_t* codes, int state, Word* to, Size words) {
    constexpr Word low = 0x7f7f7f7f7f7f7f7f;
    const Word wanted = 0x0101010101010101 * static_cast<Word>(state);
    for (Size w = 0; w < words; ++w) {
        Word word = 0;
        for (int part = 0; part < 8; ++part) {
            Word eight;
            std::memcpy(&eight, codes + w * 64 + part * 8, 8);
            eight ^= wanted;
            const Word equal = ~(((eight & low) + low) | eight | low);
            word |= (((equal >> 7) * 0x0102040810204080) >> 56) << (8 * part);
        }
        to[w] = word;
    }
}

template <class Code>
void scattered_bits(const Code* codes, Size first, Size rows, int states, Word* to, Size words) {
    for (Size w = first; w * 64 < rows; ++w) {
        Word word[MOST_BIT_STATES + 1] = {};
        const Size rest = std::min<Size>(64, rows - w * 64);
        for (Size i = 0; i < rest; ++i) word[codes[w * 64 + i] + 1] |= Word{1} << i;
        for (int s = 0; s < states; ++s) to[s * words + w] = word[s + 1];
    }
}

}  // namespace

Cases::Cases(std::vector<Column> columns, Size rows)
    : columns_(std::move(columns)), bits_(columns_.size()), gaps_(columns_.size()), rows_(rows),
      words_((rows + 64 * LANES - 1) / (64 * LANES) * LANES) {
    all_.assign(static_cast<std::size_t>(words_), 0);
    std::fill_n(all_.begin(), rows_ / 64, ~Word{0});
    if (rows_ % 64) all_[static_cast<std::size_t>(rows_ / 64)] = (Word{1} << (rows_ % 64)) - 1;
    parallel::each(variables(), rows_ * variables() < WORTH_THREADS ? 1 : 0, [&](Size v) {
        const auto at = static_cast<std::size_t>(v);
        const Column& column = columns_[at];
        with_codes(column, 0, [&](const auto* codes) {
            auto low = std::remove_cvref_t<decltype(*codes)>{0};
            auto high = low;
            for (Size i = 0; i < rows_; ++i) {
                low = std::min(low, codes[i]);
                high = std::max(high, codes[i]);
            }
            if (low < -1 || high >= column.states) throw std::invalid_argument("a code is not a state");
            gaps_[at] = low < 0;
            if (column.states > MOST_BIT_STATES) return;
            std::vector<Word>& sets = bits_[at];
            sets.resize(static_cast<std::size_t>(column.states * words_));
            Size whole = 0;  // words whose codes are compared eight at a time
            if constexpr (sizeof(*codes) == 1 && std::endian::native == std::endian::little) {
                if (column.states <= FEW_STATES) whole = rows_ / 64;
                for (int s = 0; s < column.states && whole; ++s) equal_bits(codes, s, sets.data() + s * words_, whole);
            }
            scattered_bits(codes, whole, rows_, column.states, sets.data(), words_);
        });
    });
}

// One group: families that differ in their first variable, the head, and share the rest, the tail.
class Walk {
  public:
    Walk(const Cases& cases, const std::int32_t* members, Size heads, Size width, const Size* starts, Size* cells)
        : cases_(cases), members_(members), heads_(heads), width_(width), starts_(starts), cells_(cells),
          strides_(static_cast<std::size_t>(width), 1), block_(std::min(BLOCK, cases.words_)),
          both_(static_cast<std::size_t>(width * block_)),
          row_(std::make_unique_for_overwrite<std::uint16_t[]>(static_cast<std::size_t>(block_ * 64))),
          where_(std::make_unique_for_overwrite<Size[]>(static_cast<std::size_t>(block_ * 64))) {
        for (Size level = width - 1; level-- > 0;) {
            strides_[static_cast<std::size_t>(level)] =
                strides_[static_cast<std::size_t>(level + 1)] * cases_.states(members_[level + 1]);
        }
        for (from_ = 0; from_ < cases_.words_; from_ += block_) {
            words_ = std::min(block_, cases_.words_ - from_);
            descend(1, cases_.all_.data() + from_, std::min(words_ * 64, cases_.rows_ - from_ * 64), 0);
        }
    }

  private:
    // The cell of the tail's variables before `level`: its rows as bits, how many they are, its place.
    void descend(Size level, const Word* rows, Size count, Size place) {
        if (count == 0) return;
        const Size cells_below = strides_[static_cast<std::size_t>(level - 1)];
        if (count <= (words_ / 8 + 6) * cells_below) return row_by_row(level, rows, place, 0, heads_);
        if (level == width_) return leaf(rows, count, place);
        const Size variable = members_[level];
        if (variable < 0) return descend(level + 1, rows, count, place);
        if (cases_.bits_[static_cast<std::size_t>(variable)].empty()) return row_by_row(level, rows, place, 0, heads_);
        Word* both = both_.data() + (level - 1) * block_;
        Size left = count;
        for (int s = 0; s < cases_.states(variable) && left; ++s) {
            const Size found = meet.into(rows, cases_.bits(variable, s) + from_, both, words_);
            left -= found;
            descend(level + 1, both, found, place + s * strides_[static_cast<std::size_t>(level)]);
        }
    }

    void leaf(const Word* rows, Size count, Size place) {
        for (Size h = 0; h < heads_; ++h) {
            const Size head = members_[h * width_];
            if (head < 0) {
                cells_[starts_[h] + place] += count;
                continue;
            }
            if (cases_.bits_[static_cast<std::size_t>(head)].empty()) {
                row_by_row(width_, rows, place, h, h + 1);
                continue;
            }
            Size* cell = cells_ + starts_[h] + place;
            const int states = cases_.states(head);
            const bool gaps = cases_.gaps_[static_cast<std::size_t>(head)];
            Size left = count;
            for (int s = 0; s < states && left; ++s, cell += strides_[0]) {
                const Size found = s + 1 == states && !gaps ? left : meet.count(rows, cases_.bits(head, s) + from_, words_);
                *cell += found;
                left -= found;
            }
        }
    }

    void row_by_row(Size level, const Word* rows, Size place, Size first, Size last) {
        Size count = 0;
        for (Size w = 0; w < words_; ++w) {
            for (Word word = rows[w]; word; word &= word - 1) {
                row_[count++] = static_cast<std::uint16_t>(w * 64 + std::countr_zero(word));
            }
        }
        std::fill_n(where_.get(), count, place);
        bool gaps = false;
        for (; level < width_; ++level) {
            const Size variable = members_[level];
            if (variable < 0) continue;
            const Size stride = strides_[static_cast<std::size_t>(level)];
            gaps |= cases_.gaps_[static_cast<std::size_t>(variable)] != 0;
            with_codes(column(variable), from_ * 64, [&](const auto* codes) {
                for (Size i = 0; i < count; ++i) {
                    const Size code = codes[row_[i]];
                    where_[i] = code < 0 || where_[i] < 0 ? -1 : where_[i] + code * stride;
                }
            });
        }
        if (gaps) {
            Size kept = 0;
            for (Size i = 0; i < count; ++i) {
                if (where_[i] < 0) continue;
                row_[kept] = row_[i];
                where_[kept++] = where_[i];
            }
            count = kept;
        }
        for (Size h = first; h < last; ++h) {
            const Size head = members_[h * width_];
            Size* cell = cells_ + starts_[h];
            if (head < 0) {
                for (Size i = 0; i < count; ++i) ++cell[where_[i]];
                continue;
            }
            const bool some = cases_.gaps_[static_cast<std::size_t>(head)] != 0;
            with_codes(column(head), from_ * 64, [&](const auto* codes) {
                for (Size i = 0; i < count; ++i) {
                    const Size code = codes[row_[i]];
                    if (!some || code >= 0) ++cell[code * strides_[0] + where_[i]];
                }
            });
        }
    }

    const Column& column(Size variable) const { return cases_.columns_[static_cast<std::size_t>(variable)]; }

    const Cases& cases_;
    const std::int32_t* members_;
    Size heads_;
    Size width_;
    const Size* starts_;
    Size* cells_;
    std::vector<Size> strides_;  // of each member in the table
    Size block_;
    std::vector<Word> both_;  // the rows of the cell, level by level
    std::unique_ptr<std::uint16_t[]> row_;
    std::unique_ptr<Size[]> where_;
    Size from_ = 0;
    Size words_ = 0;
};

void Cases::count(const std::int32_t* members, Size count, Size width, const Size* starts, Size* cells,
                  int threads) const {
    std::vector<Size> groups;
    for (Size i = 0; i < count; ++i) {
        const std::int32_t* own = members + i * width;
        if (i == 0 || !std::equal(own + 1, own + width, own - width + 1)) groups.push_back(i);
    }
    groups.push_back(count);
    const bool small = rows_ * count < WORTH_THREADS;
    parallel::each(static_cast<Size>(groups.size()) - 1, small ? 1 : threads, [&](Size g) {
        const Size first = groups[static_cast<std::size_t>(g)];
        const Size last = groups[static_cast<std::size_t>(g) + 1];
        Walk(*this, members + first * width, last - first, width, starts + first, cells);
    });
}

}  // namespace families

namespace {

namespace nb = nanobind;
using families::Size;

using Codes = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr Size MOST_CELLS = Size{1} << 32;

// The codes are the caller's arrays, kept alive here.
struct Held {
    std::vector<Codes> codes;
    families::Cases cases;
};

Held* hold(std::vector<Codes> codes, const std::vector<int>& states) {
    if (codes.size() != states.size()) throw std::invalid_argument("one number of states a column");
    std::vector<families::Column> columns;
    const Size rows = codes.empty() ? 0 : static_cast<Size>(codes[0].shape(0));
    for (std::size_t v = 0; v < codes.size(); ++v) {
        const auto type = codes[v].dtype();
        const bool known = type.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Int) &&
                           (type.bits == 8 || type.bits == 16 || type.bits == 32);
        if (!known) throw std::invalid_argument("codes are int8, int16 or int32");
        if (static_cast<Size>(codes[v].shape(0)) != rows) throw std::invalid_argument("columns differ in length");
        if (states[v] < 1) throw std::invalid_argument("a column has no states");
        columns.push_back({codes[v].data(), type.bits / 8, states[v]});
    }
    nb::gil_scoped_release release;
    return new Held{std::move(codes), families::Cases(std::move(columns), rows)};
}

arrays::Tuple<arrays::Out<Size>, arrays::Out<Size>> tables(const Held& held, const arrays::Codes& members,
                                                           int threads) {
    const auto count = static_cast<Size>(members.shape(0));
    const auto width = static_cast<Size>(members.shape(1));
    if (width == 0) throw std::invalid_argument("a family has no variables");
    const families::Cases& cases = held.cases;
    std::vector<Size> starts{0};
    for (Size i = 0; i < count; ++i) {
        Size size = 1;
        for (Size j = 0; j < width; ++j) {
            const Size variable = members.data()[i * width + j];
            if (variable == -1 && j + 1 < width) continue;
            if (variable < 0 || variable >= cases.variables()) throw std::out_of_range("no such variable");
            size *= cases.states(variable);
            if (size > MOST_CELLS) throw std::length_error("a table is too wide");
        }
        starts.push_back(starts.back() + size);
        if (starts.back() > MOST_CELLS) throw std::length_error("the tables are too wide");
    }
    std::vector<Size> cells(static_cast<std::size_t>(starts.back()));
    {
        nb::gil_scoped_release release;
        cases.count(members.data(), count, width, starts.data(), cells.data(), threads);
    }
    const std::size_t sizes[] = {cells.size(), starts.size()};
    return nb::make_tuple(arrays::out(std::move(cells), {sizes[0]}), arrays::out(std::move(starts), {sizes[1]}));
}

}  // namespace

void bind_families(nb::module_& m) {
    nb::class_<Held>(m, "Cases", "Coded cases that can be counted.")
        .def(nb::new_(&hold), nb::arg("codes"), nb::arg("states"))
        .def("tables", &tables, nb::arg("families"), nb::arg("threads") = 0,
             "The tables of families of one width, end to end, and where each starts.");
}
