// Words of ASCII text, sixteen characters at a time: a bit for each character that belongs to a word.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

class AsciiWords {
public:
    // Calls word(bytes, length, place) for each run of letters and digits, in lower case, with apostrophes inside it.
    // Eight bytes behind a word can be read.
    template <class Word>
    void run(const std::uint8_t* text, std::size_t size, Word&& word) {
        if (lower_.size() < size + 80) lower_.resize(size + 80 + size / 2);
        std::uint64_t before = 0;  // whether the last character of the block before belongs to a word
        std::size_t start = 0;
        bool open = false;
        Masks next = masks(text, 0, size);
        for (std::size_t at = 0; at < size; at += 64) {
            const Masks here = next;
            next = at + 64 < size ? masks(text, at + 64, size) : Masks{};
            const std::uint64_t inside = (here.words << 1 | before) & (here.words >> 1 | next.words << 63);
            const std::uint64_t bits = here.words | (here.apostrophes & inside);
            std::uint64_t edges = bits ^ (bits << 1 | std::uint64_t{open});
            while (edges) {
                const auto edge = at + static_cast<std::size_t>(std::countr_zero(edges));
                edges &= edges - 1;
                if (open) word(lower_.data() + start, edge - start, start);
                start = edge;
                open = !open;
            }
            before = here.words >> 63;
        }
        if (open) word(lower_.data() + start, size - start, start);
    }

private:
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
};
