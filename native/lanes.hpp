// Eight doubles at a time, on any processor: the compiler lowers them to what the machine has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>

#include "wide.hpp"

namespace lanes {

constexpr std::size_t wide = 8;
typedef double Doubles __attribute__((vector_size(64), may_alias));
typedef std::int64_t Integers __attribute__((vector_size(64), may_alias));

// Rows of lanes, aligned, all zero at first.
class Buffer {
public:
    explicit Buffer(std::size_t size) : values_(new (std::align_val_t{64}) double[size * wide]()) {}
    Doubles* data() { return reinterpret_cast<Doubles*>(values_.get()); }
    const Doubles* data() const { return reinterpret_cast<const Doubles*>(values_.get()); }

private:
    struct Delete {
        void operator()(double* at) const { ::operator delete[](at, std::align_val_t{64}); }
    };
    std::unique_ptr<double[], Delete> values_;
};

INLINE double sum(const Doubles& x) { return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7])); }

INLINE void fill(Doubles& x, double value) { x = value - Doubles{}; }

// e^x for x <= 0, to about one unit in the last place: x = n ln 2 + r with |r| <= ln 2 / 2, and Taylor's series of e^r.
// Below -708, where doubles lose their full precision, the answer is 0.
INLINE void exp_of_negative(Doubles& x) {
    constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number, in the low bits
    const Integers gone = x < -708.0;
    const Doubles bounded = gone ? Doubles{} : x;
    const Doubles shifted = bounded * 1.4426950408889634 + shift;
    const Doubles n = shifted - shift;
    const Doubles r = (bounded - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    Doubles p = r * (1.0 / 6227020800) + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    const Integers power = reinterpret_cast<const Integers&>(shifted) << 52;
    const Integers bits = reinterpret_cast<const Integers&>(p) + power;
    x = gone ? Doubles{} : reinterpret_cast<const Doubles&>(bits);
}

}  // namespace lanes
