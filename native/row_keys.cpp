// A key for each row that depends on nothing but its values, and the rows whose key is small.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "arrays.hpp"
#include "keys.hpp"
#include "module.hpp"
#include "tally.hpp"
#include "wide.hpp"

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

// A column, of which each row has a number: by its code, or of its own.
struct Column {
    arrays::Ints codes;
    arrays::Doubles numbers;
    std::vector<std::uint64_t> hashes;  // of a code at its place + 1, else of a row

    void add(std::uint64_t* keys, std::size_t first, std::size_t size) const;
};

std::uint64_t joined(std::uint64_t key, std::uint64_t value) {
    const std::uint64_t mixed = (key ^ value) * spread;
    return mixed ^ mixed >> 32;
}

WIDE void add_codes(std::uint64_t* keys, const std::int32_t* codes, const std::uint64_t* hashes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) keys[i] = joined(keys[i], hashes[codes[i] + 1]);
}

WIDE void add_numbers(std::uint64_t* keys, const double* numbers, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) keys[i] = joined(keys[i], of_number(numbers[i]));
}

void Column::add(std::uint64_t* keys, std::size_t first, std::size_t size) const {
    if (codes.is_valid()) add_codes(keys, codes.data() + first, hashes.data(), size);
    else if (numbers.is_valid()) add_numbers(keys, numbers.data() + first, size);
    else
        for (std::size_t i = 0; i < size; ++i) keys[i] = joined(keys[i], hashes[first + i]);
}

// Columns are sequences of values, arrays of float64, or (codes, states).
std::vector<Column> read(const std::vector<nb::object>& columns, std::size_t rows, nb::handle text) {
    std::vector<Column> held;
    const auto check = [&](std::size_t size) {
        if (size != rows) throw nb::value_error("the columns differ in length");
    };
    for (const nb::object& column : columns) {
        Column& to = held.emplace_back();
        if (nb::isinstance<nb::tuple>(column)) {
            to.codes = nb::cast<arrays::Ints>(column[0]);
            const nb::object states = items(column[1]);
            const auto size = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(states.ptr()));
            check(to.codes.size());
            const Bounds codes_in = bounds(to.codes.data(), rows);
            if (codes_in.least < -1 || codes_in.most >= static_cast<std::int64_t>(size)) throw nb::value_error("a code is out of range");
            std::vector<char> used(size + 1, size < rows);  // all of them, where that is less work than to find which are
            for (std::size_t i = 0; size >= rows && i < rows; ++i) used[static_cast<std::size_t>(to.codes.data()[i] + 1)] = 1;
            to.hashes.resize(size + 1);
            for (std::size_t k = 0; k < size; ++k)
                if (used[k + 1]) to.hashes[k + 1] = of_value(PySequence_Fast_GET_ITEM(states.ptr(), static_cast<Py_ssize_t>(k)), text.ptr());
        } else if (nb::try_cast(column, to.numbers)) {
            check(to.numbers.size());
        } else {
            const nb::object values = items(column);
            check(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(values.ptr())));
            for (std::size_t i = 0; i < rows; ++i)
                to.hashes.push_back(of_value(PySequence_Fast_GET_ITEM(values.ptr(), static_cast<Py_ssize_t>(i)), text.ptr()));
        }
    }
    return held;
}

// Different keys, in the order in which they came, and how often each did.
struct Keys {
    explicit Keys(arrays::In<std::uint64_t, 1> given) : keys(given.data(), given.data() + given.size()), times(given.size()) { widen(4 * keys.size() + 256); }

    // Whether it is a new one.
    bool add(std::uint64_t key, std::int64_t often) {
        std::uint32_t& at = slots_[place(key)];
        if (at) {
            times[at - 1] += often;
            return false;
        }
        keys.push_back(key);
        times.push_back(often);
        at = static_cast<std::uint32_t>(keys.size());
        if (2 * keys.size() > slots_.size()) widen(2 * slots_.size());
        return true;
    }

    std::vector<std::uint64_t> keys;
    std::vector<std::int64_t> times;

private:
    std::size_t place(std::uint64_t key) const {
        std::size_t at = key & (slots_.size() - 1);
        while (slots_[at] && keys[slots_[at] - 1] != key) at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    void widen(std::size_t least) {
        slots_.assign(std::bit_ceil(least), 0);
        for (std::size_t k = 0; k < keys.size(); ++k) slots_[place(keys[k])] = static_cast<std::uint32_t>(k + 1);
    }

    std::vector<std::uint32_t> slots_;  // positions + 1
};

// Of the rows whose key is at most `bound`: how many each key of `kept` has; the other keys, the first row of each, and
// how many rows it has.
nb::tuple small_keys(const std::vector<nb::object>& columns, std::size_t rows, nb::handle text, arrays::In<std::uint64_t, 1> kept,
                     std::uint64_t bound, std::optional<arrays::In<std::int64_t, 1>> times) {
    if (times && times->size() != rows) throw nb::value_error("there must be a number for each row");
    const std::vector<Column> held = read(columns, rows, text);
    const std::size_t known = kept.size();
    Keys found(kept);
    std::vector<std::int64_t> first;
    {
        const nb::gil_scoped_release release;
        constexpr std::size_t block = 2048;
        std::vector<std::uint64_t> keys(block);
        for (std::size_t begin = 0; begin < rows; begin += block) {
            const std::size_t size = std::min(block, rows - begin);
            std::fill(keys.begin(), keys.end(), 0);
            for (const Column& column : held) column.add(keys.data(), begin, size);
            for (std::size_t i = 0; i < size; ++i)
                if (keys[i] <= bound && found.add(keys[i], times ? times->data()[begin + i] : 1)) first.push_back(static_cast<std::int64_t>(begin + i));
        }
    }
    const auto parted = [&](const auto& of) {
        const auto middle = of.begin() + static_cast<std::ptrdiff_t>(known);
        return std::pair(std::vector(of.begin(), middle), std::vector(middle, of.end()));
    };
    auto [own, others] = parted(found.times);
    std::vector<std::uint64_t> keys = parted(found.keys).second;
    const std::size_t size = keys.size();
    return nb::make_tuple(arrays::out(std::move(own), {known}), arrays::out(std::move(keys), {size}), arrays::out(std::move(first), {size}),
                          arrays::out(std::move(others), {size}));
}

}  // namespace

void bind_row_keys(nb::module_& m) {
    using namespace nb::literals;
    m.def("small_keys", &small_keys, "columns"_a, "rows"_a, "text"_a, "kept"_a, "bound"_a, "times"_a = nb::none(),
          "A 64-bit key of each row from its values; columns are sequences, float64 arrays, or (codes, states). `text` makes "
          "text, or None, of what is neither str nor float. Of the rows whose key is at most `bound`: how many (or how often, by "
          "`times`) each key of `kept` has them; the other keys as they come, the first row of each, and how many it has.");
}
