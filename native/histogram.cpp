// The different values of a column of numbers, and how often each class has them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "arrays.hpp"
#include "module.hpp"
#include "tally.hpp"

namespace nb = nanobind;

namespace {

// Counts by value and class. Where there are more than `most` different values, the last bits of all are dropped, as
// many as it takes; so the memory is bounded, and neither the order of the rows nor how they were parted tells.
class Histogram {
public:
    explicit Histogram(std::size_t most) : most_(most), slots_(1024, empty) {
        if (most < 4) throw nb::value_error("there must be room for four values: two of either sign");
    }

    // Counts values[i] for the class labels[i]; NaN takes no part.
    void count(arrays::Doubles values, arrays::Ints labels, std::optional<arrays::Doubles> weights) {
        if (labels.size() != values.size() || (weights && weights->size() != values.size()))
            throw nb::value_error("values, labels and weights must be of one length");
        const nb::gil_scoped_release release;
        const Bounds labels_in = bounds(labels.data(), labels.size());
        if (labels_in.least < 0) throw std::invalid_argument("a class index is out of range");
        const double common = weights ? std::numeric_limits<double>::quiet_NaN() : majority(values.data(), values.size());
        const auto classes = static_cast<std::size_t>(labels_in.most + 1);
        Tally all(classes);  // of the blocks that have the common value
        std::vector<std::uint64_t> rare(classes);
        constexpr std::size_t block = 2048;
        std::array<std::uint32_t, block> others;
        for (std::size_t first = 0; first < values.size(); first += block) {
            const std::size_t size = std::min(block, values.size() - first);
            const double* value = values.data() + first;
            const std::int32_t* label = labels.data() + first;
            std::size_t odd = 0;
            for (std::size_t i = 0; i < size; ++i) {  // without a branch, which would be guessed wrong
                others[odd] = static_cast<std::uint32_t>(i);
                odd += value[i] != common;
            }
            if (odd < size) all.count(size, [&](std::size_t i) { return static_cast<std::size_t>(label[i]); });
            for (std::size_t k = 0; k < odd; ++k) {
                const std::size_t i = others[k];
                const auto c = static_cast<std::size_t>(label[i]);
                if (odd < size) ++rare[c];
                if (std::isinf(value[i])) throw std::invalid_argument("a value is infinite");
                if (!std::isnan(value[i])) add(ordered(value[i]) >> level_, c, weights ? weights->data()[first + i] : 1);
            }
        }
        for (std::size_t c = 0; c < classes; ++c)
            if (const std::uint64_t usual = all[c] - rare[c]) add(ordered(common) >> level_, c, static_cast<double>(usual));
    }

    // Adds other counts, whose class i is class to[i] here.
    void merge(const Histogram& other, const std::vector<std::size_t>& to) {
        if (to.size() < other.classes_) throw nb::value_error("each class must be given a place");
        while (level_ < other.level_) coarsen();
        for (std::size_t k = 0; k < other.keys_.size(); ++k)
            for (std::size_t c = 0; c < other.classes_; ++c)
                if (const double n = other.counts_[k * other.width_ + c])
                    add(other.keys_[k] << other.level_ >> level_, to[c], n);
    }

    // The values in order: the least and the greatest number that each stands for, and its counts by class.
    nb::tuple cells(std::size_t classes) const {
        std::vector<std::size_t> order(keys_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys_[a] < keys_[b]; });
        std::vector<double> low, high, counts(keys_.size() * classes);
        for (std::size_t k = 0; k < order.size(); ++k) {
            const std::int64_t first = keys_[order[k]] << level_;
            low.push_back(number(first));
            const std::int64_t last = first + ((std::int64_t{1} << level_) - 1);
            high.push_back(number(last == negative_zero ? last - 1 : last));
            for (std::size_t c = 0; c < std::min(classes, classes_); ++c) counts[k * classes + c] = counts_[order[k] * width_ + c];
        }
        const std::size_t rows = order.size();
        return nb::make_tuple(arrays::out(std::move(low), {rows}), arrays::out(std::move(high), {rows}),
                              arrays::out(std::move(counts), {rows, classes}));
    }

private:
    static constexpr std::uint32_t empty = std::numeric_limits<std::uint32_t>::max();
    static constexpr std::int64_t negative_zero = -1;  // equal to 0, which is counted as the positive one

    // Whole numbers in the order of the numbers, and back.
    static std::int64_t ordered(double value) {
        const auto bits = std::bit_cast<std::int64_t>(value + 0.0);
        return bits ^ ((bits >> 63) & std::numeric_limits<std::int64_t>::max());
    }
    static double number(std::int64_t order) {
        const double value = std::bit_cast<double>(order ^ ((order >> 63) & std::numeric_limits<std::int64_t>::max()));
        return std::isfinite(value) ? value : std::copysign(std::numeric_limits<double>::max(), order < 0 ? -1.0 : 1.0);
    }

    // The value that more than half of the first rows have, if there is one: columns that need cutting often have it in most.
    static double majority(const double* values, std::size_t rows) {
        constexpr std::size_t looked_at = 64;
        double found = std::numeric_limits<double>::quiet_NaN();
        std::size_t lead = 0;
        for (std::size_t i = 0; i < std::min(rows, looked_at); ++i) {  // Boyer and Moore 1991
            if (!lead) found = values[i];
            lead = values[i] == found ? lead + 1 : lead - 1;
        }
        return std::isinf(found) ? std::numeric_limits<double>::quiet_NaN() : found;
    }

    std::size_t slot(std::int64_t key) const {
        const std::uint64_t mixed = static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15u;  // whole numbers differ in high bits only
        std::size_t at = (mixed ^ mixed >> 32) & (slots_.size() - 1);
        while (slots_[at] != empty && keys_[slots_[at]] != key) at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    void add(std::int64_t key, std::size_t label, double weight) {
        if (label >= width_) widen(std::max(label + 1, 2 * width_));
        classes_ = std::max(classes_, label + 1);
        std::size_t at = slot(key);
        if (slots_[at] == empty) {
            if (keys_.size() == most_) {
                coarsen();
                return add(key >> 1, label, weight);
            }
            slots_[at] = static_cast<std::uint32_t>(keys_.size());
            keys_.push_back(key);
            counts_.resize(counts_.size() + width_);
            if (2 * keys_.size() > slots_.size()) {
                slots_.assign(2 * slots_.size(), empty);
                place_all();
                at = slot(key);
            }
        }
        counts_[slots_[at] * width_ + label] += weight;
    }

    void widen(std::size_t width) {
        std::vector<double> wide(keys_.size() * width);
        for (std::size_t k = 0; k < keys_.size(); ++k)
            std::copy_n(counts_.begin() + static_cast<std::ptrdiff_t>(k * width_), width_, wide.begin() + static_cast<std::ptrdiff_t>(k * width));
        counts_ = std::move(wide);
        width_ = width;
    }

    // Drops one more bit of every value.
    void coarsen() {
        ++level_;
        std::vector<std::int64_t> keys;
        std::vector<double> counts;
        std::fill(slots_.begin(), slots_.end(), empty);
        keys.swap(keys_);
        counts.swap(counts_);
        for (std::size_t k = 0; k < keys.size(); ++k) {
            const std::size_t at = slot(keys[k] >> 1);
            if (slots_[at] == empty) {
                slots_[at] = static_cast<std::uint32_t>(keys_.size());
                keys_.push_back(keys[k] >> 1);
                counts_.resize(counts_.size() + width_);
            }
            for (std::size_t c = 0; c < width_; ++c) counts_[slots_[at] * width_ + c] += counts[k * width_ + c];
        }
    }

    void place_all() {
        for (std::size_t k = 0; k < keys_.size(); ++k) slots_[slot(keys_[k])] = static_cast<std::uint32_t>(k);
    }

    std::size_t most_;
    int level_ = 0;
    std::size_t classes_ = 0, width_ = 1;
    std::vector<std::int64_t> keys_;
    std::vector<double> counts_;  // width_ for each key
    std::vector<std::uint32_t> slots_;
};

}  // namespace

void bind_histogram(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Histogram>(m, "Histogram", "How often each class has each value, in bounded memory: beyond `most` values their last bits are dropped.")
        .def(nb::init<std::size_t>(), "most"_a)
        .def("count", &Histogram::count, "values"_a, "labels"_a, "weights"_a = nb::none(),
             "Count finite values, the i-th for the class labels[i]; NaN takes no part.")
        .def("merge", &Histogram::merge, "other"_a, "labels"_a, "Add other counts, whose class i is class labels[i] here.")
        .def("cells", &Histogram::cells, "classes"_a,
             "The values in order: the least and the greatest number that each stands for, and its counts by class.");
}
