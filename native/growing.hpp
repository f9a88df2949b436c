// An array that grows without being moved: each of its chunks is twice as long as the one before.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "memory.hpp"

template <class Element>
class Growing {
public:
    static_assert(std::is_trivially_destructible_v<Element>);

    Growing() = default;
    Growing(Growing&& other) noexcept { *this = std::move(other); }
    Growing& operator=(Growing&& other) noexcept {
        std::swap(chunks_, other.chunks_);
        std::swap(size_, other.size_);
        std::swap(next_, other.next_);
        std::swap(end_, other.end_);
        return *this;
    }
    ~Growing() {
        for (int level = 0; level < levels; ++level)
            if (chunks_[level]) memory::give(chunks_[level], bytes(level));
    }

    // Elements, with those that `run` has passed over.
    std::uint64_t size() const { return size_; }

    Element& operator[](std::uint64_t i) { return chunks_[level(i)][place(i)]; }
    const Element& operator[](std::uint64_t i) const { return chunks_[level(i)][place(i)]; }

    template <class... Parts>
    Element& add(Parts&&... parts) {
        run(1);
        return *std::construct_at(next_ - 1, std::forward<Parts>(parts)...);
    }

    // The first of so many new elements that lie side by side and are still to be written.
    std::uint64_t run(std::uint64_t number) {
        if (number > static_cast<std::uint64_t>(end_ - next_)) [[unlikely]] begin_chunk(number);
        next_ += number;
        size_ += number;
        return size_ - number;
    }

    std::size_t memory() const {
        std::size_t all = 0;
        for (int level = 0; level < levels; ++level)
            if (chunks_[level]) all += bytes(level);
        return all;
    }

private:
    static constexpr std::uint64_t first = 16;  // elements of the first chunk
    static constexpr int levels = 44;

    static int level(std::uint64_t i) { return std::bit_width((i + first) / first) - 1; }
    static std::uint64_t length(int level) { return first << level; }
    static std::uint64_t place(std::uint64_t i) { return i + first - length(level(i)); }
    static std::size_t bytes(int level) { return length(level) * sizeof(Element); }

    // Passes over what is left of a chunk, and over those that are too short.
    [[gnu::noinline]] void begin_chunk(std::uint64_t number) {
        std::uint64_t at = size_ + static_cast<std::uint64_t>(end_ - next_);
        while (length(level(at)) < number) at += length(level(at));
        next_ = chunks_[level(at)] = static_cast<Element*>(memory::take(bytes(level(at))));
        end_ = next_ + length(level(at));
        size_ = at;
    }

    std::array<Element*, levels> chunks_{};
    std::uint64_t size_ = 0;
    Element *next_ = nullptr, *end_ = nullptr;  // what is free of the last chunk
};
