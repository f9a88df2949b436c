// Memory of arrays that are read at random: in huge pages, where the system has them, since to find the page of an
// element can take longer than to read it.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace memory {

// Smaller arrays share huge pages with others, so that each growing array need not begin one of its own.
void* take(std::size_t bytes);
void give(void* at, std::size_t bytes) noexcept;

template <class Element>
struct Huge {
    using value_type = Element;
    static_assert(alignof(Element) <= 64);

    Huge() = default;
    template <class Other>
    Huge(const Huge<Other>&) {}

    Element* allocate(std::size_t number) {
        if (number > static_cast<std::size_t>(-1) / 2 / sizeof(Element)) throw std::bad_alloc();
        return static_cast<Element*>(take(number * sizeof(Element)));
    }
    void deallocate(Element* at, std::size_t number) noexcept { give(at, number * sizeof(Element)); }

    bool operator==(const Huge&) const { return true; }
};

}  // namespace memory

template <class Element>
using Array = std::vector<Element, memory::Huge<Element>>;
