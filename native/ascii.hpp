// Words of ASCII text, sixteen characters at a time: a bit for each character that belongs to a word.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

class AsciiWords {
public:
    // Calls words(text, edges, n) for n runs of letters and digits, with apostrophes inside them, at a time: the i-th
    // begins at edges[2 i] and ends at edges[2 i + 1] of the text in lower case, behind which `padding` bytes can be read.
    template <class Words>
    void run(const std::uint8_t* text, std::size_t size, std::size_t padding, Words&& words) {
        if (size > std::numeric_limits<std::uint32_t>::max()) throw std::length_error("a text has more than 4,294,967,295 characters");
        if (lower_.size() < size + 64 + padding) lower_.resize(size + 64 + padding + size / 2);
        std::uint64_t before = 0, open = 0;  // whether the last character belongs to letters and digits, to a word
        std::size_t number = 0;
        Masks next = masks(text, 0, size);
        for (std::size_t at = 0; at < size; at += step) {
            const Masks here = next;
            next = at + step < size ? masks(text, at + step, size) : Masks{};
            const std::uint64_t inside = (here.words << 1 | before) & (here.words >> 1 | next.words << 63);
            const std::uint64_t bits = here.words | (here.apostrophes & inside);
            number += put(bits ^ (bits << 1 | open), static_cast<std::uint32_t>(at), edges_.data() + number);
            before = here.words >> 63;
            open = bits >> 63;
            if (number >= many) {
                words(lower_.data(), edges_.data(), number / 2);
                edges_[0] = edges_[number - 1];
                number &= 1;
            }
        }
        if (open) edges_[number++] = static_cast<std::uint32_t>(size);
        words(lower_.data(), edges_.data(), number / 2);
    }

private:
    static constexpr std::size_t step = 64, many = 4096;

    // The places of the bits that are set; sixteen, or as many again, at once instead of one by one.
    static std::size_t put(std::uint64_t bits, std::uint32_t at, std::uint32_t* out) {
        const auto number = static_cast<std::size_t>(std::popcount(bits));
        const auto some = [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i, bits &= bits - 1) out[i] = at + static_cast<std::uint32_t>(std::countr_zero(bits));
        };
        some(0, 16);
        if (number > 16) some(16, 32);
        if (number > 32) some(32, number);
        return number;
    }

    struct Masks {
        std::uint64_t words = 0, apostrophes = 0;
    };

    Masks masks(const std::uint8_t* text, std::size_t at, std::size_t size) {
        std::uint8_t padded[64];
        const std::uint8_t* block = text + at;
        if (at + 64 > size) {
            std::memset(padded, 0, sizeof padded);
            std::memcpy(padded, block, size - at);
            block = padded;
        }
        char* lower = lower_.data() + at;
        Masks out;
#if defined(__SSE2__)
        for (int part = 0; part < 4; ++part) {
            const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * part));
            const __m128i low = _mm_or_si128(c, _mm_set1_epi8(0x20));
            const __m128i letter = _mm_and_si128(_mm_cmpgt_epi8(low, _mm_set1_epi8('a' - 1)),
                                                 _mm_cmplt_epi8(low, _mm_set1_epi8('z' + 1)));
            const __m128i numeral = _mm_and_si128(_mm_cmpgt_epi8(c, _mm_set1_epi8('0' - 1)),
                                                _mm_cmplt_epi8(c, _mm_set1_epi8('9' + 1)));
            const __m128i apostrophe = _mm_cmpeq_epi8(c, _mm_set1_epi8('\''));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(lower + 16 * part), low);
            const auto bits = [](__m128i v) { return static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(v))); };
            out.words |= bits(_mm_or_si128(letter, numeral)) << 16 * part;
            out.apostrophes |= bits(apostrophe) << 16 * part;
        }
#else
        for (int i = 0; i < 64; ++i) {
            const std::uint8_t c = block[i], low = c | 0x20;
            const bool word = (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9');
            lower[i] = static_cast<char>(low);
            out.words |= std::uint64_t{word} << i;
            out.apostrophes |= std::uint64_t{c == '\''} << i;
        }
#endif
        return out;
    }

    std::vector<char> lower_;
    std::vector<std::uint32_t> edges_ = std::vector<std::uint32_t>(many + 2 * step);
};
