// A key for each row that depends on nothing but its values.
#include <nanobind/stl/vector.h>

#include <bit>
#include <cmath>

#include "arrays.hpp"
#include "keys.hpp"
#include "module.hpp"

namespace nb = nanobind;

namespace {

constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u, spread = 0xD6E8FEB86659FD93u;

std::uint64_t of_number(double value) { return std::isnan(value) ? 0 : std::bit_cast<std::uint64_t>(value + 0.0) * odd; }

std::uint64_t of_text(PyObject* text) {
    const std::size_t bytes = static_cast<std::size_t>(PyUnicode_GET_LENGTH(text)) * PyUnicode_KIND(text);
    return bytes ? Key::of({static_cast<const char*>(PyUnicode_DATA(text)), bytes}).hashed | 1 : 0;
}

// 0 for what is missing; `text` makes text, or None, of what is neither text nor a float.
std::uint64_t of_value(PyObject* value, PyObject* text) {
    if (value == Py_None) return 0;
    if (PyUnicode_Check(value)) return of_text(value);
    if (PyFloat_Check(value)) return of_number(PyFloat_AS_DOUBLE(value));
    const nb::object held = nb::steal(PyObject_CallOneArg(text, value));
    if (!held.is_valid()) throw nb::python_error();
    return held.is_none() ? 0 : of_text(held.ptr());
}

nb::object items(nb::handle sequence) {
    nb::object out = nb::steal(PySequence_Fast(sequence.ptr(), "cells must be a sequence"));
    if (!out.is_valid()) throw nb::python_error();
    return out;
}

// Columns are sequences of values, arrays of float64, or (codes, states).
arrays::Out<std::uint64_t> row_keys(const std::vector<nb::object>& columns, std::size_t rows, nb::handle text) {
    std::vector<std::uint64_t> keys(rows);
    const auto add = [&](std::size_t i, std::uint64_t value) {
        const std::uint64_t key = (keys[i] ^ value) * spread;
        keys[i] = key ^ key >> 32;
    };
    const auto check = [&](std::size_t size) {
        if (size != rows) throw nb::value_error("the columns differ in length");
    };
    for (const nb::object& column : columns) {
        arrays::Doubles numbers;
        if (nb::isinstance<nb::tuple>(column)) {
            const auto codes = nb::cast<arrays::Ints>(column[0]);
            const nb::object states = items(column[1]);
            const auto size = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(states.ptr()));
            std::vector<std::uint64_t> hashes(size);
            check(codes.size());
            for (std::size_t i = 0; i < rows; ++i) {
                if (codes.data()[i] < 0) continue;
                const auto code = static_cast<std::size_t>(codes.data()[i]);
                if (code >= size) throw nb::value_error("a code is out of range");
                if (!hashes[code]) hashes[code] = of_value(PySequence_Fast_GET_ITEM(states.ptr(), static_cast<Py_ssize_t>(code)), text.ptr());
            }
            const nb::gil_scoped_release release;
            for (std::size_t i = 0; i < rows; ++i) add(i, codes.data()[i] < 0 ? 0 : hashes[static_cast<std::size_t>(codes.data()[i])]);
        } else if (nb::try_cast(column, numbers)) {
            check(numbers.size());
            const nb::gil_scoped_release release;
            for (std::size_t i = 0; i < rows; ++i) add(i, of_number(numbers.data()[i]));
        } else {
            const nb::object values = items(column);
            check(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(values.ptr())));
            for (std::size_t i = 0; i < rows; ++i) add(i, of_value(PySequence_Fast_GET_ITEM(values.ptr(), static_cast<Py_ssize_t>(i)), text.ptr()));
        }
    }
    return arrays::out(std::move(keys), {rows});
}

}  // namespace

void bind_row_keys(nb::module_& m) {
    using namespace nb::literals;
    m.def("row_keys", &row_keys, "columns"_a, "rows"_a, "text"_a,
          "A 64-bit key for each row from its values; columns are sequences, float64 arrays, or (codes, states). `text` makes "
          "text, or None, of what is neither str nor float.");
}
