// Texts as codes, in the order in which they first occur.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "keys.hpp"

class States {
public:
    States() : slots_(256) {}

    std::int32_t code(const Key& text) {
        for (std::size_t at = text.hashed & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            const Slot& slot = slots_[at];
            if (slot.code < 0) return add(text);
            if (text.is(slot.low, slot.high, slot.size, slot.bytes)) return slot.code;
        }
    }

    const std::deque<std::string>& texts() const { return texts_; }

private:
    struct Slot {
        std::uint64_t low = 0, high = 0, hashed = 0;
        const char* bytes = nullptr;
        std::uint32_t size = 0;
        std::int32_t code = -1;
    };

    std::int32_t add(const Key& text) {
        if (texts_.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) throw std::overflow_error("there are too many states");
        const auto code = static_cast<std::int32_t>(texts_.size());
        const std::string& kept = texts_.emplace_back(text.bytes, text.size);
        if (2 * texts_.size() > slots_.size()) {
            std::vector<Slot> old(2 * slots_.size());
            old.swap(slots_);
            for (const Slot& slot : old)
                if (slot.code >= 0) place(slot);
        }
        place({text.low, text.high, text.hashed, kept.data(), text.size, code});
        return code;
    }

    void place(const Slot& slot) {
        std::size_t at = slot.hashed & (slots_.size() - 1);
        while (slots_[at].code >= 0) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = slot;
    }

    std::vector<Slot> slots_;
    std::deque<std::string> texts_;  // which don't move
};
