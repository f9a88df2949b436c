// Words of ASCII text, 64 characters at a time: a bit for each character that belongs to a word.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

namespace ascii {

constexpr std::size_t step = 64;

// What so many characters are, a bit for each.
struct Masks {
    std::uint64_t words, apostrophes;
};

inline bool is_word(std::uint8_t c) { return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9'); }

// What each character is; puts them in lower case at `lower`, with what follows up to the end of a step.
void find(const std::uint8_t* text, std::size_t size, char* lower, Masks* out);

// The places of the bits that are set, behind `at`, and anything in the sixteen behind them. Gives their number.
std::size_t put(const std::uint64_t* bits, std::size_t steps, std::uint32_t at, std::uint32_t* out);

}  // namespace ascii

class AsciiWords {
public:
    // Calls words(text, edges, n) for n runs of letters and digits, with apostrophes inside them, at a time: the i-th
    // begins at edges[2 i] and ends at edges[2 i + 1] of the text in lower case, behind which `padding` bytes can be read.
    template <class Words>
    void run(const std::uint8_t* text, std::size_t size, std::size_t padding, Words&& words) {
        if (size > std::numeric_limits<std::uint32_t>::max()) throw std::length_error("a text has more than 4,294,967,295 characters");
        if (lower_.size() < size + step + padding) lower_.resize(size + step + padding + size / 2);
        std::array<std::uint64_t, stretch / step> changes;
        std::uint64_t before = 0, open = 0;  // whether the last character belongs to letters and digits, to a word
        std::size_t number = 0;
        for (std::size_t at = 0; at < size; at += stretch) {
            const std::size_t end = std::min(at + stretch, size), steps = (end - at + step - 1) / step;
            std::array<ascii::Masks, stretch / step + 1> masks;
            ascii::find(text + at, end - at, lower_.data() + at, masks.data());
            masks[steps].words = end < size && ascii::is_word(text[end]);
            for (std::size_t k = 0; k < steps; ++k) {
                const ascii::Masks here = masks[k];
                const std::uint64_t inside = (here.words << 1 | before) & (here.words >> 1 | masks[k + 1].words << 63);
                const std::uint64_t bits = here.words | (here.apostrophes & inside);
                changes[k] = bits ^ (bits << 1 | open);
                before = here.words >> 63;
                open = bits >> 63;
            }
            number += ascii::put(changes.data(), steps, static_cast<std::uint32_t>(at), edges_.data() + number);
            if (end == size && open) edges_[number++] = static_cast<std::uint32_t>(size);
            words(lower_.data(), edges_.data(), number / 2);
            if (number % 2) edges_[0] = edges_[number - 1];
            number %= 2;
        }
    }

private:
    static constexpr std::size_t step = ascii::step, stretch = 4096;

    std::vector<char> lower_;
    std::vector<std::uint32_t> edges_ = std::vector<std::uint32_t>(stretch + step);
};
