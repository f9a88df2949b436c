// What is needed to find a string again: its first sixteen bytes as two numbers, its length, its hash.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

template <class Word>
Word read(const char* bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// The bytes of a word that a token may have: whole characters of UTF-8.
inline std::size_t token_size(const char* word, std::size_t size, std::size_t longest) {
    if (size <= longest) [[likely]] return size;
    while ((static_cast<unsigned char>(word[longest]) & 0xC0) == 0x80) --longest;
    return longest;
}

struct Key {
    static constexpr std::size_t inside = 16;  // a string of so many bytes lies in the two numbers
    static constexpr std::size_t padding = inside;  // bytes that can be read behind a string given to `padded`

    std::uint64_t low, high, hashed;
    const char* bytes;
    std::uint32_t size;

    // Of any string.
    static Key of(std::string_view text) {
        if (text.size() >= inside) return padded(text.data(), text.size());
        char copy[inside + padding] = {};
        std::memcpy(copy, text.data(), text.size());
        Key key = padded(copy, text.size());
        key.bytes = text.data();
        return key;
    }

    // Of a string behind which `padding` bytes can be read: no branch on the length of a short one. Equal strings have
    // equal hashes in every table, so that tables can be merged without hashing anew; and in every version, since the
    // sample that a calibration is fitted on is drawn by them.
    static Key padded(const char* at, std::size_t length) {
        const auto& mask = masks[std::min(length, inside)];
        return begun(read<std::uint64_t>(at) & mask[0], read<std::uint64_t>(at + 8) & mask[1], at, length);
    }

    // Of two strings with a blank between them, which lie at `at` if they are a long one together. What was written there
    // a moment ago is read only as far as it has to be.
    static Key joined(const Key& before, const Key& last, const char* at) {
        const std::size_t length = std::size_t{before.size} + 1 + last.size;
        if (before.size >= inside) return begun(before.low, before.high, at, length);
        __extension__ using Wide = unsigned __int128;
        Wide both = static_cast<Wide>(before.high) << 64 | before.low;
        both |= static_cast<Wide>(' ') << 8 * before.size;
        if (before.size + 1 < inside) both |= (static_cast<Wide>(last.high) << 64 | last.low) << 8 * (before.size + 1);
        return begun(static_cast<std::uint64_t>(both), static_cast<std::uint64_t>(both >> 64), at, length);
    }

    // Whether another string, that has these numbers and lies at `others` if it is a long one, is the same.
    bool is(std::uint64_t others_low, std::uint64_t others_high, std::uint32_t others_size, const char* others) const {
        if ((low ^ others_low) | (high ^ others_high) | (size ^ others_size)) return false;
        if (size <= inside) return true;
        for (std::size_t i = inside; i + 8 < size; i += 8)
            if (read<std::uint64_t>(bytes + i) != read<std::uint64_t>(others + i)) return false;
        return read<std::uint64_t>(bytes + size - 8) == read<std::uint64_t>(others + size - 8);
    }

private:
    // Of a string of which the first bytes are known.
    static Key begun(std::uint64_t low, std::uint64_t high, const char* at, std::size_t length) {
        constexpr std::uint64_t a = 0x9E3779B97F4A7C15u, b = 0xD6E8FEB86659FD93u;
        std::uint64_t hashed = mix(low ^ a, high ^ b);
        if (length > inside) [[unlikely]] {
            for (std::size_t i = inside; i + 8 <= length; i += 8) hashed = mix(hashed ^ read<std::uint64_t>(at + i), a);
            const std::uint64_t rest = read<std::uint64_t>(at + length - 8) >> 1 >> (63 - 8 * (length % 8));  // bytes left over
            hashed = mix(hashed ^ rest, b ^ length);
        }
        return {low, high, hashed, at, static_cast<std::uint32_t>(length)};
    }

    static constexpr std::array<std::array<std::uint64_t, 2>, inside + 1> masks = [] {
        std::array<std::array<std::uint64_t, 2>, inside + 1> out{};
        for (std::size_t size = 0; size <= inside; ++size)
            for (std::size_t half = 0; half < 2; ++half) {
                const std::size_t bytes = std::min<std::size_t>(size < 8 * half ? 0 : size - 8 * half, 8);
                out[size][half] = bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * bytes) - 1;
            }
        return out;
    }();
};
