// Cells of tables: text to codes, codes to counts, and what codes and numbers add to the scores of classes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cmath>
#include <optional>

#include "arrays.hpp"
#include "module.hpp"
#include "tally.hpp"
#include "texts.hpp"
#include "wide.hpp"

namespace {

constexpr std::int32_t missing = -1, unknown = -2;

using Codes = arrays::Buffer<std::int32_t>;

// The strings of a pass, many of them the same object: the codes of the last ones, by address.
class Recent {
public:
    const std::int32_t* find(PyObject* value) const {
        const Slot& slot = slots_[place(value)];
        return slot.value == value ? &slot.code : nullptr;
    }
    void keep(PyObject* value, std::int32_t code) { slots_[place(value)] = {value, code}; }

private:
    struct Slot {
        PyObject* value = nullptr;
        std::int32_t code = 0;
    };
    static std::size_t place(PyObject* value) { return (reinterpret_cast<std::uintptr_t>(value) >> 4) * 0x9E3779B1u >> 16 & 4095; }
    std::array<Slot, 4096> slots_;
};

std::int32_t code_of(PyObject* value, PyObject* states, PyObject* text, bool grow) {
    if (value == Py_None) return missing;
    nb::object held = nb::borrow(value);
    if (!PyUnicode_Check(value)) {
        held = nb::steal(PyObject_CallOneArg(text, value));
        if (!held.is_valid()) throw nb::python_error();
        if (held.is_none()) return missing;
    }
    if (PyUnicode_GET_LENGTH(held.ptr()) == 0) return missing;
    if (PyObject* known = PyDict_GetItemWithError(states, held.ptr())) return static_cast<std::int32_t>(PyLong_AsLong(known));
    if (PyErr_Occurred()) throw nb::python_error();
    if (!grow) return unknown;
    const auto next = PyDict_Size(states);
    if (next >= std::numeric_limits<std::int32_t>::max()) throw std::overflow_error("there are too many states");
    const nb::object code = nb::steal(PyLong_FromSsize_t(next));
    if (!PyUnicode_CheckExact(held.ptr())) held = nb::steal(PyUnicode_FromObject(held.ptr()));
    if (PyDict_SetItem(states, held.ptr(), code.ptr())) throw nb::python_error();
    return static_cast<std::int32_t>(next);
}

Codes codes(nb::handle values, nb::dict states, nb::handle text, bool grow) {
    const nb::object held = nb::steal(PySequence_Fast(values.ptr(), "cells must be a sequence"));
    if (!held.is_valid()) throw nb::python_error();
    const auto size = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(held.ptr()));
    std::vector<std::int32_t> out(size);
    Recent recent;
    for (std::size_t i = 0; i < size; ++i) {
        PyObject* value = PySequence_Fast_GET_ITEM(held.ptr(), static_cast<Py_ssize_t>(i));
        if (const std::int32_t* code = recent.find(value)) {
            out[i] = *code;
            continue;
        }
        out[i] = code_of(value, states.ptr(), text.ptr(), grow);
        recent.keep(value, out[i]);
    }
    return arrays::buffer(std::move(out));
}

// How often, or with what weight, each class occurs.
std::vector<double> totals(arrays::In<std::int32_t, 1> labels, std::size_t classes, std::optional<arrays::In<double, 1>> weights) {
    if (weights && weights->size() != labels.size()) throw nb::value_error("one weight a row is needed");
    const std::int32_t* const label = labels.data();
    const Bounds in = bounds(label, labels.size());
    if (in.least < 0 || in.most >= static_cast<std::int64_t>(classes)) throw nb::value_error("a class index is out of range");
    std::vector<double> out(classes);
    if (weights)
        for (std::size_t i = 0; i < labels.size(); ++i) out[static_cast<std::size_t>(label[i])] += weights->data()[i];
    else {
        Tally rows(classes);
        rows.count(labels.size(), [&](std::size_t i) { return static_cast<std::size_t>(label[i]); });
        for (std::size_t c = 0; c < classes; ++c) out[c] = static_cast<double>(rows[c]);
    }
    return out;
}

// Adds each row's weight to counts[place of code][label]; negative places take no part. Without
// places each code is its own.
void count_codes(arrays::Changed<double> counts, arrays::In<std::int32_t, 1> cells, arrays::In<std::int32_t, 1> labels,
                 std::optional<arrays::In<double, 1>> weights, std::optional<arrays::In<std::int32_t, 1>> places) {
    const std::size_t rows = cells.size(), states = counts.shape(0), classes = counts.shape(1);
    if (labels.size() != rows || (weights && weights->size() != rows))
        throw nb::value_error("codes, labels and weights must be of one length");
    const nb::gil_scoped_release release;
    const std::int32_t *code = cells.data(), *label = labels.data(), *place = places ? places->data() : nullptr;
    const std::size_t known = places ? places->size() : states;
    const auto each = [&](auto&& count) {
        for (std::size_t i = 0; i < rows; ++i) {
            if (code[i] < 0) continue;
            if (static_cast<std::size_t>(code[i]) >= known) throw std::invalid_argument("a code is out of range");
            const std::int32_t at = place ? place[code[i]] : code[i];
            if (at < 0) continue;
            const auto state = static_cast<std::size_t>(at), c = static_cast<std::size_t>(label[i]);
            if (state >= states || c >= classes) throw std::invalid_argument("a code or class index is out of range");
            count(i, state * classes + c);
        }
    };
    double* const count = counts.data();
    if (weights) {
        const double* weight = weights->data();
        each([&](std::size_t i, std::size_t cell) { count[cell] += weight[i]; });
        return;
    }
    constexpr std::size_t most = 4096;
    const Bounds codes_in = bounds(code, rows), labels_in = bounds(label, rows);
    if (states * classes > most || rows < most || codes_in.least < missing || codes_in.most >= static_cast<std::int64_t>(known) ||
        labels_in.least < 0 || labels_in.most >= static_cast<std::int64_t>(classes)) {
        each([&](std::size_t, std::size_t cell) { count[cell] += 1; });
        return;
    }
    std::vector<std::int32_t> start(known + 1, static_cast<std::int32_t>(states * classes));  // of a code's cells; the last for none
    for (std::size_t k = 0; k < known; ++k) {
        const std::int32_t at = place ? place[k] : static_cast<std::int32_t>(k);
        if (at >= static_cast<std::int32_t>(states)) throw std::invalid_argument("a code or class index is out of range");
        if (at >= 0) start[k + 1] = at * static_cast<std::int32_t>(classes);
    }
    Tally own((states + 1) * classes);
    own.count(rows, [&](std::size_t i) { return start[static_cast<std::size_t>(code[i] + 1)] + label[i]; });
    for (std::size_t cell = 0; cell < states * classes; ++cell) count[cell] += static_cast<double>(own[cell]);
}

// The interval of each number, by how many of the cuts lie below it; -1 where it is NaN.
WIDE void intervals_of(const double* numbers, std::size_t size, const double* cuts, std::size_t all, std::int64_t* to) {
    for (std::size_t i = 0; i < size; ++i) to[i] = numbers[i] == numbers[i] ? 0 : -1;
    for (std::size_t k = 0; k < all; ++k)
        for (std::size_t i = 0; i < size; ++i) to[i] += numbers[i] > cuts[k] ? 1 : 0;
}

arrays::Out<std::int32_t> intervals(arrays::Doubles numbers, arrays::Doubles cuts) {
    constexpr std::size_t few = 64, lot = 512;
    const std::size_t size = numbers.size();
    const double *const ends = cuts.data(), *const number = numbers.data();
    std::vector<std::int32_t> out(size);
    {
        const nb::gil_scoped_release release;
        if (cuts.size() <= few) {
            std::array<std::int64_t, lot> found;
            for (std::size_t first = 0; first < size; first += lot) {
                const std::size_t here = std::min(lot, size - first);
                intervals_of(number + first, here, ends, cuts.size(), found.data());
                std::transform(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(here), out.begin() + static_cast<std::ptrdiff_t>(first),
                               [](std::int64_t at) { return static_cast<std::int32_t>(at); });
            }
        } else {
            std::transform(number, number + size, out.begin(), [&](double x) {
                return std::isnan(x) ? missing : static_cast<std::int32_t>(std::lower_bound(ends, ends + cuts.size(), x) - ends);
            });
        }
    }
    return arrays::out(std::move(out), {size});
}

constexpr std::size_t block = 1024;  // rows whose scores stay in the first cache

// Some rows of scores, and for each how many cells were there (the low half) and how many of them told (the high half).
struct Rows {
    std::size_t first, size, classes;
    double* scores;
    std::uint64_t* cells;
};
constexpr std::uint64_t there = 1, telling = (std::uint64_t{1} << 32) + there;

// ln(1 + x) for x >= 0; small ones by the series.
double log_of_more(double x) {
    if (x > 0.01) return std::log1p(x);
    double sum = -1.0 / 8;
    for (int k = 7; k > 0; --k) sum = sum * x + (k % 2 ? 1.0 : -1.0) / k;
    return sum * x;
}

// The log density of a number in each class, start - power ln(1 + (x - mean)^2 / scale), or start - (x - mean)^2 / scale where
// power is infinite.
struct Density {
    arrays::Doubles mean, rest, start, scale, power;

    explicit Density(const nb::tuple& of) {
        arrays::Doubles* const to[] = {&mean, &rest, &start, &scale, &power};
        for (std::size_t k = 0; k < 5; ++k) *to[k] = nb::cast<arrays::Doubles>(of[k + 1]);
        if (!std::all_of(to, to + 5, [&](const auto* array) { return array->size() == mean.size(); }))
            throw nb::value_error("the densities differ in shape");
    }

    double of(double x, std::size_t c) const {
        const double off = (x - mean.data()[c]) - rest.data()[c];
        const double far = off * off / scale.data()[c], times = power.data()[c];
        return start.data()[c] - (std::isinf(times) ? far : times * log_of_more(far));
    }
};

// A column of cells. Codes, and few whole numbers, name a row of a table which they add; other numbers add their density. What
// is missing, and a column without means, adds nothing; nor does what is there but unknown.
class Column {
public:
    Column(const nb::tuple& of, std::size_t rows, std::size_t classes) {
        if (of.size() == 3) read_codes(of, rows, classes);
        else if (of.size() == 6) read_numbers(of, rows, classes);
        else throw nb::value_error("a column is (codes, table, tells) or (values, mean, rest, start, scale, power)");
    }

    void add(const Rows& rows) const {
        if (!logs_.empty()) {
            std::array<std::int32_t, block> at;
            if (codes_.is_valid()) std::copy_n(codes_.data() + rows.first, rows.size, at.begin());
            else places(numbers_.data() + rows.first, rows.size, least_, missing, at.data());
            if (rows.classes == 2) add_rows<2>(rows, at.data());
            else add_rows<0>(rows, at.data());
            return;
        }
        const std::size_t told = density_->mean.size();
        for (std::size_t i = 0; i < rows.size; ++i) {
            const double x = numbers_.data()[rows.first + i];
            if (std::isnan(x)) continue;
            rows.cells[i] += told ? telling : there;
            for (std::size_t c = 0; c < told; ++c) rows.scores[i * rows.classes + c] += density_->of(x, c);
        }
    }

private:
    static constexpr std::size_t before = 2;  // rows of the table for what is unknown and what is missing
    static constexpr std::size_t most_cells = 1 << 14;  // of a table of numbers

    void table_of(std::size_t states, std::size_t classes) {
        logs_.resize((before + states) * classes);
        cells_.assign(before + states, there);
        cells_[before + missing] = 0;
    }

    void read_codes(const nb::tuple& of, std::size_t rows, std::size_t classes) {
        codes_ = nb::cast<arrays::Ints>(of[0]);
        const auto table = nb::cast<arrays::In<double, 2>>(of[1]);
        const auto tells = nb::cast<arrays::In<bool, 1>>(of[2]);
        const std::size_t states = table.shape(0);
        if (codes_.size() != rows || table.shape(1) != classes || tells.size() != states)
            throw nb::value_error("scores, codes and table differ in shape");
        const Bounds in = bounds(codes_.data(), rows);
        if (in.least < unknown || in.most >= static_cast<std::int64_t>(states)) throw std::invalid_argument("a code is out of range");
        table_of(states, classes);
        for (std::size_t k = 0; k < states; ++k)
            if (tells.data()[k]) tell(k, [&](std::size_t c) { return table.data()[k * classes + c]; }, classes);
    }

    void read_numbers(const nb::tuple& of, std::size_t rows, std::size_t classes) {
        numbers_ = nb::cast<arrays::Doubles>(of[0]);
        density_.emplace(of);
        const std::size_t told = density_->mean.size();
        if (numbers_.size() != rows || (told && told != classes)) throw nb::value_error("scores, values and densities differ in shape");
        if (!told || 4 * classes > rows) return;
        const Bounds in = whole_bounds(numbers_.data(), rows);
        const auto span = static_cast<std::size_t>(in.span());
        if (!span || span * classes > std::min(rows / 4, most_cells)) return;
        least_ = in.least;
        table_of(span, classes);
        for (std::size_t k = 0; k < span; ++k)
            tell(k, [&](std::size_t c) { return density_->of(static_cast<double>(least_ + static_cast<std::int64_t>(k)), c); }, classes);
    }

    void tell(std::size_t state, auto&& log, std::size_t classes) {
        for (std::size_t c = 0; c < classes; ++c) logs_[(before + state) * classes + c] = log(c);
        cells_[before + state] = telling;
    }

    template <std::size_t fixed>
    void add_rows(const Rows& rows, const std::int32_t* at) const {
        const std::size_t classes = fixed ? fixed : rows.classes;
        const double* const logs = logs_.data();
        for (std::size_t i = 0; i < rows.size; ++i) {
            const auto row = static_cast<std::size_t>(at[i] + static_cast<std::int32_t>(before));
            rows.cells[i] += cells_[row];
            for (std::size_t c = 0; c < classes; ++c) rows.scores[i * classes + c] += logs[row * classes + c];
        }
    }

    arrays::Ints codes_;
    arrays::Doubles numbers_;
    std::optional<Density> density_;
    std::int64_t least_ = 0;
    std::vector<double> logs_;          // by state and class
    std::vector<std::uint64_t> cells_;  // by state
};

void add_columns(arrays::Changed<double> scores, arrays::Tallies present, arrays::Tallies known, const std::vector<nb::tuple>& columns,
                 int threads) {
    const std::size_t size = scores.shape(0), classes = scores.shape(1);
    if (present.size() != size || known.size() != size) throw nb::value_error("scores and tallies differ in length");
    std::vector<Column> held;
    for (const nb::tuple& column : columns) held.emplace_back(column, size, classes);
    const nb::gil_scoped_release release;
    share((size + block - 1) / block, 1, threads, [&](int, std::size_t b) {
        std::array<std::uint64_t, block> cells = {};
        const std::size_t first = b * block;
        const Rows rows{first, std::min(block, size - first), classes, scores.data() + first * classes, cells.data()};
        for (const Column& column : held) column.add(rows);
        for (std::size_t i = 0; i < rows.size; ++i) {
            present.data()[first + i] += cells[i] & (telling - there - 1);
            known.data()[first + i] += cells[i] >> 32;
        }
    });
}

}  // namespace

void bind_cells(nb::module_& m) {
    using namespace nb::literals;
    m.def("codes", &codes, "values"_a, "states"_a, "text"_a, "grow"_a,
          "The code of each value under `states`: -1 for None and the empty text; for a new one the next code with `grow`, "
          "else -2. `text` makes text, or None, of what is no str.");
    m.def("totals", &totals, "labels"_a, "classes"_a, "weights"_a = nb::none(), "The rows, or their weight, of each class.");
    m.def("count_codes", &count_codes, "counts"_a, "codes"_a, "labels"_a, "weights"_a = nb::none(), "places"_a = nb::none(),
          "Add each row's weight to counts[places[code], label], or counts[code, label] without places; what is negative "
          "takes no part.");
    m.def("intervals", &intervals, "numbers"_a, "cuts"_a, "How many of the cuts, which ascend, lie below each number; -1 where it is NaN.");
    m.def("add_columns", &add_columns, "scores"_a, "present"_a, "known"_a, "columns"_a, "threads"_a = 1,
          "Add what each cell says to its row of scores, and count the cells that are there and those that tell. A column is "
          "(codes, table, tells): table[code] is added where tells[code], a code of -1 is missing, one of -2 there but unknown; or "
          "(values, mean, rest, start, scale, power): start - power ln(1 + (x - mean - rest)^2 / scale), or start - (x - mean - "
          "rest)^2 / scale where power is infinite; NaN is missing, and without means the column tells nothing.");
}
