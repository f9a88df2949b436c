// CSV and its kin: blocks of UTF-8 text to texts, numbers and codes, column by column.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include "arrays.hpp"
#include "module.hpp"
#include "states.hpp"
#include "wording.hpp"

namespace nb = nanobind;

namespace {

constexpr std::size_t largest_cell = std::size_t{1} << 28;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// A number in the plain notation: digits, a point, an exponent. All else (blanks apart) is left to Python.
bool plain_number(std::string_view text, double& number) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    const char *first = text.data(), *last = first + text.size();
    const char* digits = first + (first != last && *first == '-');
    if (digits == last || !((*digits >= '0' && *digits <= '9') || *digits == '.')) return false;
    if (last - digits <= 15) {
        std::int64_t whole = 0;
        const char* at = digits;
        while (at != last && *at >= '0' && *at <= '9') whole = 10 * whole + (*at++ - '0');
        if (at == last) {
            number = digits == first ? static_cast<double>(whole) : -static_cast<double>(whole);
            return true;
        }
    }
    const auto [end, fault] = std::from_chars(first, last, number);
    return fault == std::errc{} && end == last;
}

class Delimited {
public:
    enum Kind : int { skipped, text, number, state };

    // Of each column what its cells become; without kinds the first row is read and nothing else.
    Delimited(const std::string& delimiter, const std::vector<int>& kinds) : delimiter_(delimiter.at(0)) {
        for (const int kind : kinds) {
            if (kind < skipped || kind > state) throw nb::value_error("a column is of no known kind");
            columns_.push_back({static_cast<Kind>(kind), {}, {}, {}, {}, {}});
        }
        for (const char c : {delimiter_, '\n', '\r'}) ends_[static_cast<unsigned char>(c)] = true;
    }

    // Whole lines; only the last block may end in another way. ValueError for rows that can't be right.
    void feed(nb::bytes block) {
        const char *at = block.c_str(), *end = at + block.size();
        const nb::gil_scoped_release release;
        if (quoted_) at = read_quoted(at, end);
        if (quoted_) return;
        if (cells_) at = after_cell(at, end);
        while (at != end && !(columns_.empty() && started_)) {
            if (!cells_ && (*at == '\n' || *at == '\r')) {
                at = next_line(at, end);
                begin_ = line_;
            } else if (*at == '"') {
                quoted_ = true;
                at = read_quoted(at + 1, end);
                if (quoted_) return;
                at = after_cell(at, end);
            } else {
                const char* from = at;
                while (at != end && !ends_[static_cast<unsigned char>(*at)]) ++at;
                add({from, static_cast<std::size_t>(at - from)}, end - at >= static_cast<std::ptrdiff_t>(Key::padding));
                at = after_cell(at, end);
            }
        }
    }

    void finish() const {
        if (quoted_) fail("the last quoted cell is not closed; double a quotation mark inside a quoted cell, and close every quoted cell");
    }

    const std::vector<std::string>& first_row() const { return first_row_; }
    bool started() const { return started_; }
    std::size_t rows() const { return lines_.size(); }

    // The rows read so far, which are let go: the lines on which they begin; of each column its cells; and the cells of
    // columns of numbers that are to be understood by Python, as (column, row, text).
    nb::tuple take() {
        const std::size_t rows = lines_.size();
        nb::list cells, odd;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            Column& column = columns_[i];
            for (const auto& [row, cell] : column.odd) odd.append(nb::make_tuple(i, row, nb::str(cell.data(), cell.size())));
            column.odd.clear();
            if (column.kind == skipped) cells.append(nb::none());
            else if (column.kind == number) cells.append(arrays::out(std::exchange(column.numbers, {}), {rows}));
            else if (column.kind == state) cells.append(arrays::out(std::exchange(column.codes, {}), {rows}));
            else cells.append(texts(column));
        }
        return nb::make_tuple(arrays::out(std::exchange(lines_, {}), {rows}), cells, odd);
    }

    // The texts of a column of states in the order of their codes, from the `start`-th on.
    nb::list states(std::size_t column, std::size_t start) const {
        nb::list out;
        const auto& known = columns_.at(column).states.texts();
        for (std::size_t i = start; i < known.size(); ++i) out.append(nb::str(known[i].data(), known[i].size()));
        return out;
    }

    // Lets the texts of a column go; the next ones have new codes.
    void forget(std::size_t column) { columns_.at(column).states = {}; }

private:
    struct Column {
        Kind kind;
        States states;
        std::vector<std::int32_t> codes;
        std::vector<double> numbers;
        std::vector<std::pair<std::size_t, std::string>> odd;
        std::pair<std::string, std::vector<std::size_t>> texts;  // all of them, and where each ends
    };

    [[noreturn]] void fail(const std::string& why) const { throw std::invalid_argument("line " + std::to_string(begin_) + ": " + why); }

    const char* next_line(const char* at, const char* end) {
        at += *at == '\r' && at + 1 != end && at[1] == '\n' ? 2 : 1;
        ++line_;
        return at;
    }

    // Reads on in a quoted cell; it is still open if the block ends in it.
    const char* read_quoted(const char* at, const char* end) {
        while (at != end) {
            const char* from = at;
            while (at != end && *at != '"') {
                if (*at == '\n' || *at == '\r') at = next_line(at, end);
                else ++at;
            }
            held_.append(from, at);
            if (held_.size() > largest_cell) fail("a quoted cell is longer than 256 MB; double a quotation mark inside a quoted cell, and close every quoted cell");
            if (at == end) return end;
            if (++at != end && *at == '"') {
                held_ += '"';
                ++at;
                continue;
            }
            if (at != end && !ends_[static_cast<unsigned char>(*at)])
                fail(std::string("'") + delimiter_ + "' expected after '\"'; double a quotation mark inside a quoted cell, and close every quoted cell");
            quoted_ = false;
            add(held_);
            held_.clear();
            return at;
        }
        return end;
    }

    // Behind a cell: on to the next one, or the end of the row.
    const char* after_cell(const char* at, const char* end) {
        if (at != end && *at == delimiter_) {
            if (++at != end) return at;
            add({});
        }
        if (at != end) at = next_line(at, end);
        end_row();
        return at;
    }

    void end_row() {
        if (!started_) started_ = true;
        else if (cells_ != columns_.size())
            fail(quantity(cells_, "cell") + " where the first line names " + quantity(columns_.size(), "column") +
                 "; mend the line (quotes around a cell that holds the delimiter?)");
        else lines_.push_back(begin_);
        cells_ = 0;
        begin_ = line_;
    }

    void add(std::string_view cell, bool roomy = false) {
        const std::size_t i = cells_++;
        if (!started_) {
            if (columns_.empty()) first_row_.emplace_back(cell);
            return;
        }
        if (i >= columns_.size()) return;
        Column& column = columns_[i];
        if (column.kind == state) {
            column.codes.push_back(cell.empty() ? -1 : column.states.code(roomy ? Key::padded(cell.data(), cell.size()) : Key::of(cell)));
        } else if (column.kind == number) {
            double value = nan;
            if (!cell.empty() && !plain_number(cell, value)) {
                value = nan;
                column.odd.emplace_back(lines_.size(), cell);
            }
            column.numbers.push_back(value);
        } else if (column.kind == text) {
            column.texts.first.append(cell);
            column.texts.second.push_back(column.texts.first.size());
        }
    }

    static nb::list texts(Column& column) {
        nb::list out;
        std::size_t from = 0;
        for (const std::size_t to : column.texts.second) {
            if (to == from) out.append(nb::none());
            else out.append(nb::str(column.texts.first.data() + from, to - from));
            from = to;
        }
        column.texts = {};
        return out;
    }

    char delimiter_;
    std::vector<Column> columns_;
    std::vector<std::string> first_row_;
    std::array<bool, 256> ends_{};
    std::vector<std::int64_t> lines_;
    std::string held_;  // what has been read of a quoted cell
    bool quoted_ = false, started_ = false;
    std::size_t cells_ = 0;
    std::int64_t line_ = 1, begin_ = 1;
};

}  // namespace

void bind_delimited(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Delimited>(m, "Delimited",
                          "Reads rows of cells between delimiters, the first row naming the columns. Of each column kinds "
                          "says what its cells become: 0 nothing, 1 str, 2 float64, 3 codes; without kinds only the first "
                          "row is read.")
        .def(nb::init<const std::string&, const std::vector<int>&>(), "delimiter"_a, "kinds"_a)
        .def("feed", &Delimited::feed, "block"_a, "Read whole lines of UTF-8 text; ValueError, with its line, for a bad row.")
        .def("finish", &Delimited::finish, "ValueError if the text breaks off in a quoted cell.")
        .def_prop_ro("first_row", &Delimited::first_row)
        .def_prop_ro("started", &Delimited::started, "Whether the first row has been read.")
        .def_prop_ro("rows", &Delimited::rows, "How many rows wait to be taken.")
        .def("take", &Delimited::take,
             "The rows read so far, which are let go: their first lines, the cells of each column, and (column, row, text) "
             "of cells that are no plain numbers.")
        .def("states", &Delimited::states, "column"_a, "start"_a, "The texts of a column by code, from `start` on.")
        .def("forget", &Delimited::forget, "column"_a, "Let the texts of a column go; the next ones have new codes.");
}
