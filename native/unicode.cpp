#include "unicode.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

namespace unicode {
namespace {

constexpr char32_t hangul = 0xAC00, lead = 0x1100, vowel = 0x1161, tail = 0x11A7;
constexpr std::uint8_t without_class = 1, with_class = 2;  // see `Letter`
constexpr char32_t iota_below = 0x345, iota = 0x3B9;
constexpr char32_t leads = 19, vowels = 21, tails = 28, syllables = leads * vowels * tails;

void decompose(char32_t c, std::vector<char32_t>& out) {
    if (c >= hangul && c < hangul + syllables) {
        const char32_t s = c - hangul;
        out.push_back(lead + s / (vowels * tails));
        out.push_back(vowel + s % (vowels * tails) / tails);
        if (s % tails) out.push_back(tail + s % tails);
        return;
    }
    std::size_t low = 0, high = std::size(decomposed_spans) / 3;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (decomposed_spans[3 * middle] < c) low = middle + 1;
        else high = middle;
    }
    if (3 * low < std::size(decomposed_spans) && decomposed_spans[3 * low] == c) {
        const auto* first = decomposed + decomposed_spans[3 * low + 1];
        out.insert(out.end(), first, first + decomposed_spans[3 * low + 2]);
    } else {
        out.push_back(c);
    }
}

char32_t composite(char32_t first, char32_t second) {
    if (first >= lead && first < lead + leads && second >= vowel && second < vowel + vowels)
        return hangul + ((first - lead) * vowels + (second - vowel)) * tails;
    if (first >= hangul && first < hangul + syllables && (first - hangul) % tails == 0 && second > tail &&
        second < tail + tails)
        return first + (second - tail);
    const std::uint64_t pair = std::uint64_t{first} << 32 | second;
    const auto* found = std::lower_bound(std::begin(composed_pairs), std::end(composed_pairs), pair);
    if (found == std::end(composed_pairs) || *found != pair) return 0;
    return composed[found - std::begin(composed_pairs)];
}

// Whether there is a character that this one and another are composed to.
bool begins_pair(char32_t c) {
    if (c >= lead && c < lead + leads) return true;
    if (c >= hangul && c < hangul + syllables) return (c - hangul) % tails == 0;
    const auto* found = std::lower_bound(std::begin(composed_pairs), std::end(composed_pairs), std::uint64_t{c} << 32);
    return found != std::end(composed_pairs) && *found >> 32 == c;
}

Letter plainly(Kind kind, char byte, std::uint8_t size) { return {{byte}, size, bit(kind), bit(kind), 255, 0, 0, 0}; }

Letter make_letter(char32_t c) {
    const Record& of = record(c);
    if (of.kind == Kind::ignored) return plainly(of.kind, 0, 0);
    if (of.kind == Kind::apostrophe) return plainly(of.kind, '\'', 1);
    if (of.kind == Kind::separator) return plainly(of.kind, is_blank(c) ? ' ' : '\n', 1);

    std::string raw, normal;
    std::vector<char32_t> parts;
    const auto fold_to = [&](char32_t folded) {
        char bytes[4];
        raw.append(bytes, encode(folded, bytes));
        decompose(folded, parts);
    };
    if (!of.many) fold_to(c + static_cast<char32_t>(of.shift));
    else
        for (std::uint32_t k = 1; k <= folded[of.shift]; ++k) fold_to(folded[static_cast<std::uint32_t>(of.shift) + k]);
    compose(normal = raw);
    const char* p = normal.data();
    const char32_t first = decode(p);
    char32_t last = first;
    while (p < normal.data() + normal.size()) last = decode(p);

    const std::uint8_t class_of_first = record(first).combining, class_of_last = record(parts.back()).combining;
    const bool changed = normal != raw;
    Letter out{};
    if (normal.size() > sizeof out.bytes || record(parts.front()).combining != class_of_first || (changed && class_of_first)) return out;
    const bool joins = record(first).unstable || record(parts.front()).unstable;
    if (of.kind == Kind::unspaced && (changed || joins || class_of_first || of.shift || normal.size() != 3)) return out;
    std::memcpy(out.bytes, normal.data(), normal.size());
    out.size = static_cast<std::uint8_t>(normal.size());
    out.kind = bit(of.kind);
    out.order = class_of_first ? class_of_first : 255;
    out.combining = class_of_last;
    out.joins = !joins ? 0 : class_of_first ? with_class : without_class;
    out.plain = joins || class_of_first ? 0 : out.kind;
    out.takes = begins_pair(last) || changed ? without_class | with_class : parts.size() > 1 || class_of_last ? with_class : 0;
    return out;
}

}  // namespace

std::atomic<const Letter*> pages[0x110000 / 128];

const Letter* make_page(std::size_t page) {
    auto letters = std::make_unique<Letter[]>(128);
    for (std::size_t i = 0; i < 128; ++i) letters[i] = make_letter(static_cast<char32_t>(128 * page + i));
    const Letter* made = nullptr;
    if (pages[page].compare_exchange_strong(made, letters.get(), std::memory_order_acq_rel)) made = letters.release();
    return made;
}

bool long_enough(std::string_view text, std::size_t length) {
    std::size_t points = 0;
    for (const char* p = text.data(); p < text.data() + text.size(); ++points)
        if (record(decode(p)).kind == Kind::unspaced) return true;
    return points >= length;
}

void compose(std::string& text) {
    std::vector<char32_t> points;
    const char* p = text.data();
    const char* end = p + text.size();
    while (p < end) decompose(decode(p), points);

    for (std::size_t i = 1; i < points.size(); ++i)
        for (std::size_t j = i; j > 0; --j) {
            const auto here = record(points[j]).combining;
            if (here == 0 || record(points[j - 1]).combining <= here) break;
            std::swap(points[j], points[j - 1]);
        }

    std::replace(points.begin(), points.end(), iota_below, iota);
    std::size_t kept = 0, starter = points.size();
    std::uint16_t last = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const char32_t c = points[i];
        const auto here = record(c).combining;
        const bool blocked = starter < kept && kept - starter > 1 && last >= here;
        if (starter < kept && !blocked) {
            if (const char32_t whole = composite(points[starter], c)) {
                points[starter] = whole;
                continue;
            }
        }
        points[kept] = c;
        if (here == 0) starter = kept;
        last = here;
        ++kept;
    }

    text.resize(4 * kept);
    std::size_t size = 0;
    for (std::size_t i = 0; i < kept; ++i) size += encode(points[i], text.data() + size);
    text.resize(size);
}

}  // namespace unicode
