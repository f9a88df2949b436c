// Arrays that come from Python and go back to it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace arrays {

template <class T, std::size_t Axes>
using In = nanobind::ndarray<const T, nanobind::ndim<Axes>, nanobind::c_contig, nanobind::device::cpu>;

using Ints = In<std::int32_t, 1>;
using Codes = In<std::int32_t, 2>;
using Bytes = In<std::uint8_t, 1>;
using Doubles = In<double, 1>;

template <class T>
using Out = nanobind::ndarray<nanobind::numpy, T>;

// A tuple whose parts the stub names.
template <class... Parts>
using Tuple = nanobind::typed<nanobind::tuple, Parts...>;

// An array of some kind that holds the numbers of a vector.
template <class Array, class T>
Array holding(std::vector<T>&& from, std::initializer_list<std::size_t> shape) {
    auto* const kept = new std::vector<T>(std::move(from));
    nanobind::capsule owner(kept, [](void* gone) noexcept { delete static_cast<std::vector<T>*>(gone); });
    return Array(kept->data(), shape, owner);
}

template <class T>
Out<T> out(std::vector<T>&& from, std::initializer_list<std::size_t> shape) {
    return holding<Out<T>>(std::move(from), shape);
}

// What is changed in place.
template <class T>
using Changed = nanobind::ndarray<T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
using Tallies = nanobind::ndarray<std::uint64_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// What numpy, whose import takes longer than a short answer, is not needed for: it speaks the buffer protocol.
template <class T>
using Buffer = nanobind::ndarray<nanobind::array_api, T, nanobind::ndim<1>, nanobind::c_contig>;

template <class T>
Buffer<T> buffer(std::vector<T>&& from) {
    const std::size_t size = from.size();
    return holding<Buffer<T>>(std::move(from), {size});
}

}  // namespace arrays
