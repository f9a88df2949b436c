// Columns as lines of text: each cell after what stands before its column.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "arrays.hpp"
#include "module.hpp"
#include "tally.hpp"

namespace nb = nanobind;

namespace {

constexpr std::size_t longest_number = 32, lot = 32;  // bytes that are copied at once

// The shortest decimal number that is the same double, laid out as Python does, and where it ends.
char* write_number(char* to, double value) {
    if (!std::isfinite(value)) {
        const std::string_view name = std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
        return std::copy(name.begin(), name.end(), to);
    }
    char text[longest_number];
    const char* const end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
    const char* const e = std::find<const char*>(text, end, 'e');
    int exponent = 0;
    std::from_chars(e + (e[1] == '+' ? 2 : 1), end, exponent);
    const char* from = text;
    if (exponent < -4 || exponent >= 16) return std::copy(from, end, to);
    if (*from == '-') *to++ = *from++;
    const auto digit = [&] {
        if (from == e) return '0';
        const char found = *from++;
        if (*from == '.') ++from;
        return found;
    };
    if (exponent < 0) *to++ = '0';
    for (int k = 0; k <= exponent; ++k) *to++ = digit();
    *to++ = '.';
    for (int k = -1; k > exponent; --k) *to++ = '0';
    do *to++ = digit();
    while (from != e);
    return to;
}

// A column of numbers, or of codes of texts; -1 is the last text. What stands before it is part of each text.
class Column {
public:
    Column(const nb::object& of, const std::string& before, std::size_t rows) {
        std::vector<std::string> texts(1);
        if (nb::isinstance<nb::tuple>(of)) {
            codes_ = nb::cast<arrays::Ints>(of[0]);
            texts = nb::cast<std::vector<std::string>>(of[1]);
            const Bounds in = bounds(codes_.data(), codes_.size());
            if (texts.empty() || in.least < -1 || in.most >= static_cast<std::int64_t>(texts.size())) throw nb::value_error("a code is out of range");
        } else {
            numbers_ = nb::cast<arrays::Doubles>(of);
        }
        if ((codes_.is_valid() ? codes_.size() : numbers_.size()) != rows) throw nb::value_error("the columns differ in length");
        starts_.push_back(0);
        for (const std::string& text : texts) {
            (bytes_ += before) += text;
            starts_.push_back(bytes_.size());
            longest_ = std::max(longest_, before.size() + text.size());
        }
        bytes_.append(lot, 0);
    }

    std::size_t longest() const { return longest_ + longest_number; }

    // What is behind the end may be overwritten, up to `lot` bytes.
    char* write(char* to, std::size_t i) const {
        if (numbers_.is_valid()) return write_number(copy(to, 0), numbers_.data()[i]);
        const std::int32_t code = codes_.data()[i];
        return copy(to, code < 0 ? starts_.size() - 2 : static_cast<std::size_t>(code));
    }

private:
    char* copy(char* to, std::size_t text) const {
        const std::size_t size = starts_[text + 1] - starts_[text];
        if (size <= lot) std::memcpy(to, bytes_.data() + starts_[text], lot);
        else std::memcpy(to, bytes_.data() + starts_[text], size);
        return to + size;
    }

    arrays::Doubles numbers_;
    arrays::Ints codes_;
    std::size_t longest_ = 0;
    std::string bytes_;
    std::vector<std::size_t> starts_;
};

nb::str rows_of_text(const std::vector<nb::object>& columns, const std::vector<std::string>& before, const std::string& end, std::size_t rows) {
    if (columns.size() != before.size()) throw nb::value_error("each column must be given what stands before it");
    std::vector<Column> held;
    std::size_t longest = end.size() + lot;
    for (std::size_t k = 0; k < columns.size(); ++k) longest += held.emplace_back(columns[k], before[k], rows).longest();
    std::string out;
    {
        const nb::gil_scoped_release release;
        std::size_t size = 0;
        for (std::size_t i = 0; i < rows; ++i) {
            if (out.size() - size < longest) out.resize(2 * out.size() + longest);
            char* to = out.data() + size;
            for (const Column& column : held) to = column.write(to, i);
            to = std::copy(end.begin(), end.end(), to);
            size = static_cast<std::size_t>(to - out.data());
        }
        out.resize(size);
    }
    return nb::str(out.data(), out.size());
}

}  // namespace

void bind_rows_of_text(nb::module_& m) {
    using namespace nb::literals;
    m.def("rows_of_text", &rows_of_text, "columns"_a, "before"_a, "end"_a, "rows"_a,
          "The rows as text: each cell after before[column], and `end` after each row. A column is float64, written as Python "
          "does, or (codes, texts), where -1 is the last text.");
}
