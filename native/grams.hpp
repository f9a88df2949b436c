// Runs of words, found by numbers: what comes before the last word, and that word.
#pragma once

#include <cstdint>
#include <utility>

#include "keys.hpp"
#include "memory.hpp"

// The numbers of words that n-grams have.
struct GramSizes {
    std::size_t shortest, longest;
};

// Where n-grams are by their code, in the way of `Bag`.
class Grams {
public:
    static constexpr std::uint32_t nothing = static_cast<std::uint32_t>(-1);

    struct Slot {
        std::uint64_t code = 0;
        std::uint32_t entry = nothing;
    };

    static std::uint64_t code(std::uint32_t before, std::uint32_t last) { return std::uint64_t{before} << 32 | last; }

    void expect(std::uint64_t code) const { __builtin_prefetch(&slots_[place(code)]); }

    // The slot of a code, or the free one where it belongs.
    Slot& at(std::uint64_t code) {
        std::size_t i = place(code);
        while (slots_[i].entry != nothing && slots_[i].code != code) i = (i + 1) & mask_;
        return slots_[i];
    }

    // Fills a free slot that `at` gave.
    void put(Slot& slot, std::uint64_t code, std::uint32_t entry) {
        slot = {code, entry};
        if (2 * ++size_ <= slots_.size()) return;
        const auto before = std::exchange(slots_, Array<Slot>(2 * slots_.size()));
        mask_ = slots_.size() - 1;
        for (const Slot& one : before)
            if (one.entry != nothing) at(one.code) = one;
    }

    void clear() {
        if (size_) std::fill(slots_.begin(), slots_.end(), Slot{});
        size_ = 0;
    }

private:
    std::size_t place(std::uint64_t code) const { return mix(code, 0x9E3779B97F4A7C15u) & mask_; }

    Array<Slot> slots_ = Array<Slot>(1024);
    std::size_t mask_ = 1023, size_ = 0;
};
