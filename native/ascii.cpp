#include "ascii.hpp"

#include <bit>
#include <cstring>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "wide.hpp"

namespace {

using ascii::Masks, ascii::step;

#if defined(WIDE_64)

WIDE_64 void masks_of(const std::uint8_t* text, std::size_t size, char* lower, Masks* out) {
    const __m512i blank = _mm512_set1_epi8(0x20), a = _mm512_set1_epi8('a'), zero = _mm512_set1_epi8('0');
    for (std::size_t at = 0; at < size; at += step) {
        const __m512i c = _mm512_maskz_loadu_epi8(~std::uint64_t{0} >> (step - std::min(size - at, step)), text + at);
        const __m512i low = _mm512_or_si512(c, blank);
        _mm512_storeu_si512(lower + at, low);
        const std::uint64_t letters = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(low, a), _mm512_set1_epi8(26));
        const std::uint64_t numerals = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(c, zero), _mm512_set1_epi8(10));
        *out++ = {letters | numerals, _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8('\''))};
    }
}

WIDE_64 std::size_t places_of(const std::uint64_t* bits, std::size_t steps, std::uint32_t at, std::uint32_t* out) {
    const std::uint32_t* const first = out;
    const __m512i up = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i places = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(at)), up);
    for (std::size_t part = 0; part < 4 * steps; ++part) {
        const auto here = static_cast<std::uint16_t>(bits[part / 4] >> 16 * (part % 4));
        _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(here, places));
        out += std::popcount(here);
        places = _mm512_add_epi32(places, _mm512_set1_epi32(16));
    }
    return static_cast<std::size_t>(out - first);
}

#endif

NOT_WIDE void masks_of(const std::uint8_t* text, std::size_t size, char* lower, Masks* out) {
    for (std::size_t at = 0; at < size; at += step, ++out) {
        const std::uint8_t* block = text + at;
        std::uint8_t padded[step];
        if (size - at < step) {
            std::memset(padded, 0, sizeof padded);
            std::memcpy(padded, block, size - at);
            block = padded;
        }
        *out = {};
#if defined(__SSE2__)
        for (std::size_t i = 0; i < step; i += 16) {
            const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + i));
            const __m128i low = _mm_or_si128(c, _mm_set1_epi8(0x20));
            const __m128i letter = _mm_and_si128(_mm_cmpgt_epi8(low, _mm_set1_epi8('a' - 1)),
                                                 _mm_cmplt_epi8(low, _mm_set1_epi8('z' + 1)));
            const __m128i numeral = _mm_and_si128(_mm_cmpgt_epi8(c, _mm_set1_epi8('0' - 1)),
                                                  _mm_cmplt_epi8(c, _mm_set1_epi8('9' + 1)));
            const __m128i apostrophe = _mm_cmpeq_epi8(c, _mm_set1_epi8('\''));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(lower + at + i), low);
            const auto bits = [](__m128i v) { return static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(v))); };
            out->words |= bits(_mm_or_si128(letter, numeral)) << i;
            out->apostrophes |= bits(apostrophe) << i;
        }
#else
        for (std::size_t i = 0; i < step; ++i) {
            lower[at + i] = static_cast<char>(block[i] | 0x20);
            out->words |= std::uint64_t{ascii::is_word(block[i])} << i;
            out->apostrophes |= std::uint64_t{block[i] == '\''} << i;
        }
#endif
    }
}

// Sixteen of a step, or as many again, are put at once instead of one by one.
NOT_WIDE std::size_t places_of(const std::uint64_t* bits, std::size_t steps, std::uint32_t at, std::uint32_t* out) {
    const std::uint32_t* const first = out;
    for (std::size_t k = 0; k < steps; ++k, at += step) {
        std::uint64_t left = bits[k];
        const auto number = static_cast<std::size_t>(std::popcount(left));
        const auto some = [&](std::size_t from, std::size_t to) {
            for (std::size_t i = from; i < to; ++i, left &= left - 1) out[i] = at + static_cast<std::uint32_t>(std::countr_zero(left));
        };
        some(0, 16);
        if (number > 16) some(16, 32);
        if (number > 32) some(32, number);
        out += number;
    }
    return static_cast<std::size_t>(out - first);
}

}  // namespace

void ascii::find(const std::uint8_t* text, std::size_t size, char* lower, Masks* out) { masks_of(text, size, lower, out); }

std::size_t ascii::put(const std::uint64_t* bits, std::size_t steps, std::uint32_t at, std::uint32_t* out) {
    return places_of(bits, steps, at, out);
}
