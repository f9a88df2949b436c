// Cells of tables: text to codes, codes to counts, and what codes and numbers add to the scores of classes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cmath>
#include <optional>
#include <variant>

#include "arrays.hpp"
#include "module.hpp"
#include "tally.hpp"
#include "texts.hpp"

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
    std::vector<double> out(classes);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto label = static_cast<std::size_t>(labels.data()[i]);
        if (label >= classes) throw nb::value_error("a class index is out of range");
        out[label] += weights ? weights->data()[i] : 1;
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

// Rows of scores, and for each how many cells were there and how many of them told.
struct Rows {
    std::size_t size, classes;
    double* scores;
    std::uint64_t *present, *known;
};

// A column of codes: each adds the row of the table that it names; those that don't tell, and `unknown`, add nothing.
struct Coded {
    arrays::Ints codes;
    arrays::In<double, 2> table;
    arrays::In<bool, 1> tells;

    Coded(const nb::tuple& of, const Rows& rows)
        : codes(nb::cast<arrays::Ints>(of[0])), table(nb::cast<arrays::In<double, 2>>(of[1])), tells(nb::cast<arrays::In<bool, 1>>(of[2])) {
        if (codes.size() != rows.size || table.shape(1) != rows.classes || tells.size() != table.shape(0))
            throw nb::value_error("scores, codes and table differ in shape");
    }

    void add(const Rows& rows, std::size_t first, std::size_t last) const {
        const std::size_t classes = rows.classes, states = table.shape(0);
        const std::int32_t* const code = codes.data();
        const double* const logs = table.data();
        const bool* const telling = tells.data();
        for (std::size_t i = first; i < last; ++i) {
            if (code[i] == missing) continue;
            ++rows.present[i];
            if (code[i] < 0) continue;
            const auto state = static_cast<std::size_t>(code[i]);
            if (state >= states) throw std::invalid_argument("a code is out of range");
            if (!telling[state]) continue;
            ++rows.known[i];
            const double* from = logs + state * classes;
            double* to = rows.scores + i * classes;
            for (std::size_t c = 0; c < classes; ++c) to[c] += from[c];
        }
    }
};

// ln(1 + x) for x >= 0; small ones by the series.
double log_of_more(double x) {
    if (x > 0.01) return std::log1p(x);
    double sum = -1.0 / 8;
    for (int k = 7; k > 0; --k) sum = sum * x + (k % 2 ? 1.0 : -1.0) / k;
    return sum * x;
}

// A column of numbers: each adds its log density in each class, start - power ln(1 + (x - mean)^2 / scale), or
// start - (x - mean)^2 / scale where power is infinite; NaN and a column without means add nothing.
struct Numbers {
    arrays::Doubles values, mean, rest, start, scale, power;

    Numbers(const nb::tuple& of, const Rows& rows) {
        arrays::Doubles* const to[] = {&values, &mean, &rest, &start, &scale, &power};
        for (std::size_t k = 0; k < 6; ++k) *to[k] = nb::cast<arrays::Doubles>(of[k]);
        const bool fits = std::all_of(to + 1, to + 6, [&](const auto* array) { return array->size() == mean.size(); });
        if (values.size() != rows.size || !fits || (mean.size() && mean.size() != rows.classes))
            throw nb::value_error("scores, values and densities differ in shape");
    }

    void add(const Rows& rows, std::size_t first, std::size_t last) const {
        const std::size_t classes = mean.size();
        const double *const value = values.data(), *const middle = mean.data(), *const more = rest.data(), *const begin = start.data();
        const double *const width = scale.data(), *const times = power.data();
        for (std::size_t i = first; i < last; ++i) {
            const double x = value[i];
            if (std::isnan(x)) continue;
            ++rows.present[i];
            if (!classes) continue;
            ++rows.known[i];
            double* to = rows.scores + i * classes;
            for (std::size_t c = 0; c < classes; ++c) {
                const double off = (x - middle[c]) - more[c];
                const double far = off * off / width[c];
                to[c] += begin[c] - (std::isinf(times[c]) ? far : times[c] * log_of_more(far));
            }
        }
    }
};

void add_columns(arrays::Changed<double> scores, arrays::Tallies present, arrays::Tallies known, const std::vector<nb::tuple>& columns,
                 int threads) {
    const Rows rows{scores.shape(0), scores.shape(1), scores.data(), present.data(), known.data()};
    if (present.size() != rows.size || known.size() != rows.size) throw nb::value_error("scores and tallies differ in length");
    std::vector<std::variant<Coded, Numbers>> held;
    for (const nb::tuple& column : columns) {
        if (column.size() == 3) held.emplace_back(Coded(column, rows));
        else if (column.size() == 6) held.emplace_back(Numbers(column, rows));
        else throw nb::value_error("a column is (codes, table, tells) or (values, mean, rest, start, scale, power)");
    }
    const nb::gil_scoped_release release;
    constexpr std::size_t block = 2048;  // whose scores stay in the first cache
    share((rows.size + block - 1) / block, 1, threads, [&](int, std::size_t b) {
        for (const auto& column : held)
            std::visit([&](const auto& one) { one.add(rows, b * block, std::min(rows.size, (b + 1) * block)); }, column);
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
    m.def("add_columns", &add_columns, "scores"_a, "present"_a, "known"_a, "columns"_a, "threads"_a = 1,
          "Add what each cell says to its row of scores, and count the cells that are there and those that tell. A column is "
          "(codes, table, tells): table[code] is added where tells[code], a code of -1 is missing, one of -2 there but unknown; or "
          "(values, mean, rest, start, scale, power): start - power ln(1 + (x - mean - rest)^2 / scale), or start - (x - mean - "
          "rest)^2 / scale where power is infinite; NaN is missing, and without means the column tells nothing.");
}
