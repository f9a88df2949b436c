// Characters: what each one is to the tokeniser, case folding, and Unicode's normal form C.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace unicode {

enum class Kind : std::uint8_t { separator, word, mark, unspaced, ignored, apostrophe };

// `shift` leads to the folded character or, where there are many, is the place of their number and themselves in
// `folded`. `combining` is the canonical combining class; `unstable` is set where normal form C may change the result.
struct Record {
    std::int32_t shift;
    Kind kind;
    std::uint8_t combining, unstable, many;
};

}  // namespace unicode

#include "unicode_tables.hpp"

namespace unicode {

inline const Record& record(char32_t c) {
    if (c >= 0x110000) c = 0;
    return records[record_of[std::size_t{block_of[c / 128]} * 128 + c % 128]];
}

inline bool is_blank(char32_t c) {
    return c == ' ' || (c >= 0x09 && c <= 0x0D) || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
           c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

inline std::size_t encode(char32_t c, char* out) {
    if (c < 0x80) {
        out[0] = static_cast<char>(c);
        return 1;
    }
    if (c < 0x800) {
        out[0] = static_cast<char>(0xC0 | (c >> 6));
        out[1] = static_cast<char>(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = static_cast<char>(0xE0 | (c >> 12));
        out[1] = static_cast<char>(0x80 | ((c >> 6) & 0x3F));
        out[2] = static_cast<char>(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = static_cast<char>(0xF0 | (c >> 18));
    out[1] = static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out[2] = static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out[3] = static_cast<char>(0x80 | (c & 0x3F));
    return 4;
}

// A character as it goes into a token, folded and in normal form C; a separator is a blank, or else a line feed. `kind`
// is a bit, or none if only a closer look can tell; `plain` is the same for those that never change with the one before.
struct alignas(16) Letter {
    char bytes[8];
    std::uint8_t size, kind, plain;
    std::uint8_t order, combining;  // the combining class of its first part, with 255 for none; of its last
    std::uint8_t joins, takes;      // a bit for characters without, and one for those with, a combining class

    // Whether both stay as they are.
    bool can_follow(const Letter& before) const { return order >= before.combining && !(joins & before.takes); }
};

constexpr std::uint8_t bit(Kind kind) { return static_cast<std::uint8_t>(1 << static_cast<int>(kind)); }

// Letters by pages of 128, each made when it is first asked for.
extern std::atomic<const Letter*> pages[0x110000 / 128];
const Letter* make_page(std::size_t page);

inline const Letter& letter(char32_t c) {
    if (c >= 0x110000) c = 0;
    const Letter* page = pages[c / 128].load(std::memory_order_acquire);
    if (!page) [[unlikely]] page = make_page(c / 128);
    return page[c % 128];
}

// A character of an unspaced script that takes three bytes and is not folded: a unit of its own. Its number is its code,
// and two that are neighbours have one, too.
inline bool is_ideograph(char32_t c) { return c - ideographs[0] <= ideographs[1] - ideographs[0]; }
inline bool is_unit(char32_t c) { return is_ideograph(c) || letter(c).kind == bit(Kind::unspaced); }

constexpr std::uint32_t pair(char32_t first, char32_t second) { return static_cast<std::uint32_t>(first << 16 | second); }

// The UTF-8 of a unit or two.
inline std::size_t spell(std::uint32_t code, char* out) {
    const std::size_t first = code >> 16 ? encode(code >> 16, out) : 0;
    return first + encode(code & 0xFFFF, out + first);
}

// One code point of well-formed UTF-8; `p` moves behind it.
inline char32_t decode(const char*& p) {
    const auto lead = static_cast<unsigned char>(*p++);
    if (lead < 0x80) return lead;
    const int more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    char32_t c = lead & (0x3F >> more);
    for (int i = 0; i < more; ++i) c = (c << 6) | (static_cast<unsigned char>(*p++) & 0x3F);
    return c;
}

// The code of what is one unit, else 0.
inline std::uint32_t code_of(const char* text, std::size_t size) {
    if (size != 3) return 0;
    const char32_t c = decode(text);
    return is_unit(c) ? c : 0;
}

// Whether a term has `length` code points, or holds a character of an unspaced script.
bool long_enough(std::string_view text, std::size_t length);

// Normal form C of folded UTF-8 text (Unicode Standard Annex 15), in which the iota below a vowel becomes a letter.
void compose(std::string& text);

}  // namespace unicode
