// Cells of tables: text to codes, codes to counts, and what codes and numbers add to the scores of classes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cmath>
#include <optional>

#include "arrays.hpp"
#include "module.hpp"
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
    constexpr std::size_t lanes = 4, most = 4096;  // one cell is not waited for while it is written
    if (states * classes > most || rows < most) {
        each([&](std::size_t, std::size_t cell) { count[cell] += 1; });
        return;
    }
    std::vector<std::uint32_t> own(lanes * states * classes);
    each([&](std::size_t i, std::size_t cell) { ++own[cell * lanes + i % lanes]; });
    for (std::size_t cell = 0; cell < states * classes; ++cell)
        for (std::size_t lane = 0; lane < lanes; ++lane) count[cell] += own[cell * lanes + lane];
}

// Adds the row of the table that each code names to the row's scores; negative codes add nothing.
void add_table(arrays::Changed<double> scores, arrays::In<std::int32_t, 1> cells, arrays::In<double, 2> table, int threads) {
    const std::size_t rows = scores.shape(0), classes = scores.shape(1), states = table.shape(0);
    if (cells.size() != rows || table.shape(1) != classes) throw nb::value_error("scores, codes and table differ in shape");
    const nb::gil_scoped_release release;
    constexpr std::size_t block = 4096;
    share((rows + block - 1) / block, 1, threads, [&](int, std::size_t b) {
        for (std::size_t i = b * block; i < std::min(rows, (b + 1) * block); ++i) {
            const std::int32_t code = cells.data()[i];
            if (code < 0) continue;
            if (static_cast<std::size_t>(code) >= states) throw std::invalid_argument("a code is out of range");
            const double* add = table.data() + static_cast<std::size_t>(code) * classes;
            double* to = scores.data() + i * classes;
            for (std::size_t c = 0; c < classes; ++c) to[c] += add[c];
        }
    });
}

// Adds ln of the normal density with each class's mean and variance to the row's scores; NaN adds nothing.
void add_normal(arrays::Changed<double> scores, arrays::In<double, 1> values, arrays::In<double, 1> mean, arrays::In<double, 1> rest,
                arrays::In<double, 1> variance, int threads) {
    const std::size_t rows = scores.shape(0), classes = scores.shape(1);
    if (values.size() != rows || mean.size() != classes || rest.size() != classes || variance.size() != classes)
        throw nb::value_error("scores, values, means and variances differ in shape");
    const nb::gil_scoped_release release;
    std::vector<double> start(classes), half(classes);
    for (std::size_t c = 0; c < classes; ++c) {
        start[c] = -0.5 * std::log(2 * 3.14159265358979323846 * variance.data()[c]);
        half[c] = 0.5 / variance.data()[c];
    }
    constexpr std::size_t block = 4096;
    share((rows + block - 1) / block, 1, threads, [&](int, std::size_t b) {
        for (std::size_t i = b * block; i < std::min(rows, (b + 1) * block); ++i) {
            const double x = values.data()[i];
            if (std::isnan(x)) continue;
            double* to = scores.data() + i * classes;
            for (std::size_t c = 0; c < classes; ++c) {
                const double off = (x - mean.data()[c]) - rest.data()[c];
                to[c] += start[c] - half[c] * off * off;
            }
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
    m.def("add_table", &add_table, "scores"_a, "codes"_a, "table"_a, "threads"_a = 1,
          "Add table[code] to each row of scores; negative codes add nothing.");
    m.def("add_normal", &add_normal, "scores"_a, "values"_a, "mean"_a, "rest"_a, "variance"_a, "threads"_a = 1,
          "Add the log density of each class's normal distribution, whose mean is mean + rest, to each row of scores; NaN "
          "adds nothing.");
}
