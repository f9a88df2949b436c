// Sums of weights, of values and of their squares, of each class, exactly.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "arrays.hpp"
#include "exact_sum.hpp"
#include "module.hpp"
#include "tally.hpp"

namespace nb = nanobind;

namespace {

class Moments {
public:
    // Counts values[i] for the class labels[i]; NaN takes no part.
    void count(arrays::In<double, 1> values, arrays::In<std::int32_t, 1> labels, std::optional<arrays::In<double, 1>> weights) {
        if (labels.size() != values.size() || (weights && weights->size() != values.size()))
            throw nb::value_error("values, labels and weights must be of one length");
        const nb::gil_scoped_release release;
        const std::size_t rows = values.size();
        const double* value = values.data();
        const std::int32_t* label = labels.data();
        const Bounds labels_in = bounds(label, rows);
        if (labels_in.least < 0) throw std::invalid_argument("a class index is out of range");
        reach(static_cast<std::size_t>(labels_in.most + 1));
        if (!weights && count_few(value, label, rows)) return;
        bool infinite = false;
        for (std::size_t i = 0; i < rows; ++i) infinite |= std::abs(value[i]) == std::numeric_limits<double>::infinity();
        if (infinite) throw std::invalid_argument("a value is infinite");
        constexpr std::size_t lanes = 4;  // one sum is not waited for while it is written
        std::vector<Whole> whole(lanes * classes_.size());
        for (std::size_t i = 0; i < rows; ++i) {
            if (std::isnan(value[i])) continue;
            const auto c = static_cast<std::size_t>(label[i]);
            if (weights) classes_[c].add(Parts(value[i]), Parts(weights->data()[i]));
            else if (!whole[lanes * c + i % lanes].add(value[i])) classes_[c].add(Parts(value[i]));
        }
        for (std::size_t cell = 0; cell < whole.size(); ++cell) classes_[cell / lanes].add(whole[cell]);
    }

    void add(const Moments& other, const std::vector<std::size_t>& to, int sign) {
        if (to.size() < other.classes_.size()) throw nb::value_error("each class must be given a place");
        for (std::size_t c = 0; c < other.classes_.size(); ++c) {
            reach(to[c] + 1);
            for (std::size_t power = 0; power < 3; ++power)
                classes_[to[c]].of[power].add(other.classes_[c].of[power], sign);
        }
    }

    // Adds mantissa * 2^exponent to a sum.
    void deposit(std::size_t label, std::size_t power, std::int64_t mantissa, int exponent) {
        reach(label + 1);
        if (power > 2 || exponent < -8000 || exponent > 8000) throw nb::value_error("a sum is out of range");
        classes_[label].of[power].add(mantissa, exponent);
    }

    // A sum in pieces (exponent, high, low): it is the total of (high * 2^64 + low) * 2^exponent.
    nb::list pieces(std::size_t label, std::size_t power) const {
        nb::list out;
        if (label < classes_.size())
            classes_[label].of.at(power).each([&](int exponent, Wide sum) {
                out.append(nb::make_tuple(exponent, static_cast<std::int64_t>(sum >> 64), static_cast<std::uint64_t>(sum)));
            });
        return out;
    }

    std::size_t classes() const { return classes_.size(); }

private:
    // Sums of whole numbers below 2^31 in size, of which 2^52 and more have room.
    struct Whole {
        std::int64_t n = 0;
        Wide sum = 0, squares = 0;

        bool add(double value) {
            if (!(std::abs(value) < 2147483648.0)) return false;
            const auto x = static_cast<std::int64_t>(value);
            if (static_cast<double>(x) != value) return false;
            add(x, 1);
            return true;
        }
        void add(std::int64_t x, std::int64_t times) {
            n += times;
            sum += Wide{times} * x;
            squares += Wide{times} * (x * x);
        }
    };

    struct Sums {
        std::array<ExactSum, 3> of;  // of w, w x and w x^2

        void add(const Whole& whole) {
            of[0].add(whole.n, 0);
            of[1].add_product(whole.sum, 0);
            of[2].add_product(whole.squares, 0);
        }

        void add(Parts x) {
            of[0].add(1, 0);
            of[1].add(x.mantissa, x.exponent);
            of[2].add_product(Wide{x.mantissa} * x.mantissa, 2 * x.exponent);
        }

        void add(Parts x, Parts w) {
            of[0].add(w.mantissa, w.exponent);
            of[1].add_product(Wide{w.mantissa} * x.mantissa, w.exponent + x.exponent);
            const Wide square = Wide{x.mantissa} * x.mantissa;
            const int exponent = w.exponent + 2 * x.exponent;
            of[2].add_product(w.mantissa * (square & ((Wide{1} << 53) - 1)), exponent);
            of[2].add_product(w.mantissa * (square >> 53), exponent + 53);
        }
    };

    void reach(std::size_t classes) {
        if (classes > classes_.size()) classes_.resize(classes);
    }

    // Counts many rows of few whole numbers by number; false where they aren't.
    bool count_few(const double* value, const std::int32_t* label, std::size_t rows) {
        constexpr std::size_t most = 4096;
        if (rows < most) return false;
        const Bounds numbers = whole_bounds(value, rows);
        const std::size_t classes = classes_.size(), span = static_cast<std::size_t>(numbers.span());
        if (!span || span * classes > most) return false;
        Tally tally((span + 1) * classes);  // the last for what is missing
        constexpr std::size_t block = 2048;
        std::array<std::int32_t, block> at;
        for (std::size_t first = 0; first < rows; first += block) {
            const std::size_t size = std::min(block, rows - first);
            places(value + first, size, numbers.least, static_cast<std::int32_t>(span), at.data());
            tally.count(size, [&](std::size_t i) { return static_cast<std::size_t>(at[i]) * classes + static_cast<std::size_t>(label[first + i]); });
        }
        for (std::size_t c = 0; c < classes; ++c) {
            Whole whole;
            for (std::size_t k = 0; k < span; ++k)
                if (const std::uint64_t times = tally[k * classes + c]) whole.add(numbers.least + static_cast<std::int64_t>(k), static_cast<std::int64_t>(times));
            classes_[c].add(whole);
        }
        return true;
    }

    std::vector<Sums> classes_;
};

}  // namespace

void bind_moments(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Moments>(m, "Moments", "Exact sums of w, w x and w x^2 of each class: powers 0, 1 and 2.")
        .def(nb::init<>())
        .def("count", &Moments::count, "values"_a, "labels"_a, "weights"_a = nb::none(),
             "Count finite values, the i-th for the class labels[i]; NaN takes no part.")
        .def("add", &Moments::add, "other"_a, "labels"_a, "sign"_a,
             "Add (sign 1) or take away (-1) other sums, whose class i is class labels[i] here.")
        .def("deposit", &Moments::deposit, "label"_a, "power"_a, "mantissa"_a, "exponent"_a,
             "Add mantissa * 2^exponent to a sum.")
        .def("pieces", &Moments::pieces, "label"_a, "power"_a,
             "A sum as (exponent, high, low), which stand for (high * 2^64 + low) * 2^exponent each.")
        .def_prop_ro("classes", &Moments::classes);
}
