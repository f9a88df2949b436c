// Counts of families of categorical variables.
//
// Each state of each variable is a set of rows, one bit a row, so a cell of a table is an AND and a
// population count. Cells that hold few rows are counted row by row instead; empty ones cost nothing.
#pragma once

#include <cstdint>
#include <vector>

namespace families {

using Word = std::uint64_t;
using Size = std::int64_t;

struct Column {
    const void* codes;  // one a row, negative for a gap
    int bytes;          // of a code: 1, 2 or 4
    int states;
};

class Cases {
  public:
    Cases(std::vector<Column> columns, Size rows);

    Size variables() const { return static_cast<Size>(columns_.size()); }
    int states(Size variable) const { return variable < 0 ? 1 : columns_[static_cast<std::size_t>(variable)].states; }

    // `members` has `count` families of `width` variables each, row by row, -1 for none (but not the last); the table of family i, in C order
    // with the axes in the order of its variables, is added to cells + starts[i]. Neighbours that differ in
    // their first variable only share their work. Rows with a gap in the family are left out.
    void count(const std::int32_t* members, Size count, Size width, const Size* starts, Size* cells,
               int threads) const;

  private:
    friend class Walk;

    const Word* bits(Size variable, int state) const {
        return bits_[static_cast<std::size_t>(variable)].data() + state * words_;
    }

    std::vector<Column> columns_;
    std::vector<std::vector<Word>> bits_;  // empty where a variable has too many states
    std::vector<char> gaps_;
    std::vector<Word> all_;
    Size rows_;
    Size words_;
};

}  // namespace families
