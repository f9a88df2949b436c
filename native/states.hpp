// Texts as codes, in the order in which they first occur.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hashing {

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Product = unsigned __int128;
    const Product product = static_cast<Product>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t word(const char* from, std::size_t bytes) {
    std::uint64_t out = 0;
    std::memcpy(&out, from, bytes);
    return out;
}

// The first and the last eight bytes; a text of at most 16 bytes is known by these and its length.
struct Ends {
    std::uint64_t first, last;

    explicit Ends(std::string_view text) {
        const std::size_t size = text.size();
        if (size >= 8) {
            first = word(text.data(), 8);
            last = word(text.data() + size - 8, 8);
        } else if (size >= 4) {
            first = word(text.data(), 4);
            last = word(text.data() + size - 4, 4);
        } else {
            first = size ? static_cast<unsigned char>(text[0]) | static_cast<std::uint64_t>(static_cast<unsigned char>(text[size / 2])) << 8 : 0;
            last = size ? static_cast<unsigned char>(text[size - 1]) : 0;
        }
    }
};

// A hash that is the same on every machine of one byte order, made to spread, not to withstand an attacker.
inline std::uint64_t of(std::string_view text) {
    std::uint64_t out = 0x9E3779B97F4A7C15u ^ text.size();
    std::size_t at = 0;
    for (; text.size() - at > 16; at += 16)
        out = mix(out ^ word(text.data() + at, 8), word(text.data() + at + 8, 8) ^ 0xA0761D6478BD642Fu);
    const Ends ends(text.substr(at));
    return mix(mix(out ^ ends.first, ends.last ^ 0xE7037ED1A0B428DBu), 0x8EBC6AF09C88C6E3u);
}

}  // namespace hashing

class States {
public:
    States() : slots_(256) {}

    std::int32_t code(std::string_view text) {
        const bool whole = text.size() <= 16;
        const hashing::Ends ends(text);
        const std::uint64_t hash =
            whole ? hashing::mix(ends.first ^ 0x9E3779B97F4A7C15u, ends.last ^ (text.size() * 0xA0761D6478BD642Fu)) : hashing::of(text);
        for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            const Slot& slot = slots_[at];
            if (slot.code < 0) return add(text, ends, hash);
            if (slot.first == ends.first && slot.last == ends.last && slot.hash == hash && slot.size == text.size() &&
                (whole || texts_[static_cast<std::size_t>(slot.code)] == text))
                return slot.code;
        }
    }

    const std::deque<std::string>& texts() const { return texts_; }

private:
    struct Slot {
        std::uint64_t first = 0, last = 0, hash = 0;
        std::size_t size = 0;
        std::int32_t code = -1;
    };

    std::int32_t add(std::string_view text, const hashing::Ends& ends, std::uint64_t hash) {
        if (texts_.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) throw std::overflow_error("there are too many states");
        const auto code = static_cast<std::int32_t>(texts_.size());
        texts_.emplace_back(text);
        if (2 * texts_.size() > slots_.size()) {
            std::vector<Slot> old(2 * slots_.size());
            old.swap(slots_);
            for (const Slot& slot : old)
                if (slot.code >= 0) place(slot);
        }
        place({ends.first, ends.last, hash, text.size(), code});
        return code;
    }

    void place(const Slot& slot) {
        std::size_t at = slot.hash & (slots_.size() - 1);
        while (slots_[at].code >= 0) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = slot;
    }

    std::vector<Slot> slots_;
    std::deque<std::string> texts_;
};
