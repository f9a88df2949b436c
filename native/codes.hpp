// Units of unspaced scripts and pairs of them, found by their codes.
#pragma once

#include <cstdint>
#include <utility>

#include "memory.hpp"
#include "wide.hpp"

// Where they are by their code, in the way of `Bag`. A unit is looked up where its code says; there is room for four times
// as many pairs as there are, since the first look is to find nearly all of them.
class Codes {
public:
    static constexpr std::uint32_t nothing = static_cast<std::uint32_t>(-1);

    // Before the first look.
    void open() {
        if (units_.empty()) [[unlikely]] units_.assign(codes_of_units, nothing);
    }

    INLINE std::uint32_t unit(std::uint32_t code) const { return units_[code]; }

    INLINE std::uint32_t pair(std::uint32_t code) const {
        for (std::size_t i = place(code);; i = (i + 1) & mask_) {
            const Slot slot = pairs_[i];
            if (slot.code == code) [[likely]] return slot.entry;
            if (!slot.code) return nothing;
        }
    }

    // A code that is not there.
    void put(std::uint32_t code, std::uint32_t entry) {
        ++size_;
        if (code < codes_of_units) {
            units_[code] = entry;
            return;
        }
        if (4 * size_ > pairs_.size()) {
            const auto before = std::exchange(pairs_, Array<Slot>(2 * pairs_.size()));
            mask_ = pairs_.size() - 1;
            --shift_;
            for (const Slot& slot : before)
                if (slot.code) put(slot);
        }
        put({code, entry});
    }

    // Takes out one that is there. The others can be found again when all are out.
    void leave(std::uint32_t code) {
        --size_;
        if (code < codes_of_units) {
            units_[code] = nothing;
            return;
        }
        std::size_t i = place(code);
        while (pairs_[i].code != code) i = (i + 1) & mask_;
        pairs_[i] = {};
    }

    std::size_t size() const { return size_; }

private:
    static constexpr std::uint32_t codes_of_units = 1 << 16;

    struct Slot {
        std::uint32_t code = 0, entry = 0;
    };

    std::size_t place(std::uint32_t code) const { return code * 0x9E3779B1u >> shift_; }

    void put(const Slot& slot) {
        std::size_t i = place(slot.code);
        while (pairs_[i].code) i = (i + 1) & mask_;
        pairs_[i] = slot;
    }

    Array<std::uint32_t> units_;
    Array<Slot> pairs_ = Array<Slot>(1024);
    std::size_t mask_ = 1023, size_ = 0;
    int shift_ = 32 - 10;
};
