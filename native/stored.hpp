// The counts of terms as a model file has them, which are read so until something is counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "keys.hpp"
#include "memory.hpp"

// What one class has seen of one term. The mass is the sum, over documents with the term f times, of ln(1 + f) divided
// by the Euclidean norm of these over the document's words (or its n-grams), in units of 2^-20: a whole number, so
// that it adds and subtracts exactly.
struct Cell {
    std::uint32_t label;
    std::uint32_t documents;
    std::uint64_t occurrences, mass;
};

struct Stored {
    // Where the bytes of a term begin and where its first cell lies, and how many there are of both.
    struct Place {
        std::uint64_t start, first;
        std::uint32_t size, cells;
    };

    std::string terms;  // sorted, one a line, and bytes that can be read behind them
    Array<Cell> cells;

    Stored(const char* text, std::size_t size, Array<Cell>&& all) : cells(std::move(all)) {
        terms.reserve(size + Key::padding);
        terms.append(text, size).append(Key::padding, '\0');
    }

    Key key(const Place& place) const { return Key::padded(terms.data() + place.start, place.size); }
    std::string_view text(const Place& place) const { return {terms.data() + place.start, place.size}; }
};
