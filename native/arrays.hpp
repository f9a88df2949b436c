// The arrays that the core takes and gives. Both sides see the same memory; what is given speaks the buffer protocol.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace nb = nanobind;

template <class Value>
using Given = nb::ndarray<const Value, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class Value>
using GivenMatrix = nb::ndarray<const Value, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class Value>
using Changed = nb::ndarray<Value, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Array, class Value>
Array give(std::vector<Value>&& values, std::initializer_list<std::size_t> shape) {
    auto* held = new std::vector<Value>(std::move(values));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<Value>*>(p); });
    return Array(held->data(), shape, owner);
}
