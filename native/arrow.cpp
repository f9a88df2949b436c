// Columns of an Arrow C stream (arrow.apache.org/docs/format/CStreamInterface.html) as numbers and codes.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "arrays.hpp"
#include "module.hpp"
#include "states.hpp"

namespace nb = nanobind;

extern "C" {
struct ArrowSchema {
    const char *format, *name, *metadata;
    std::int64_t flags, n_children;
    ArrowSchema **children, *dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};
struct ArrowArray {
    std::int64_t length, null_count, offset, n_buffers, n_children;
    const void** buffers;
    ArrowArray **children, *dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};
struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
    int (*get_next)(ArrowArrayStream*, ArrowArray*);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};
}

namespace {

template <class Held>
struct Owned : Held {
    Owned() : Held{} {}
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() {
        if (this->release) this->release(this);
    }
};

class ArrowColumns {
public:
    explicit ArrowColumns(nb::handle capsule) {
        auto* given = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
        if (!given) throw nb::python_error();
        static_cast<ArrowArrayStream&>(stream_) = *given;
        given->release = nullptr;
        Owned<ArrowSchema> schema;
        check(stream_.get_schema(&stream_, &schema));
        for (std::int64_t i = 0; i < schema.n_children; ++i) {
            const std::string_view format = schema.children[i]->format;
            if (format != "g" && format != "u") throw nb::value_error("columns must be float64 or UTF-8 text");
            columns_.push_back({format == "g", {}});
        }
    }

    // Each column of the next batch: float64 with NaN, or codes of text with -1, where it is missing. None at the end.
    nb::object next() {
        Owned<ArrowArray> batch;
        std::vector<std::vector<double>> numbers(columns_.size());
        std::vector<std::vector<std::int32_t>> codes(columns_.size());
        {
            const nb::gil_scoped_release release;
            check(stream_.get_next(&stream_, &batch));
            if (!batch.release) goto done;
            for (std::size_t i = 0; i < columns_.size(); ++i) {
                const ArrowArray& array = *batch.children[i];
                if (columns_[i].number) numbers[i] = read_numbers(array);
                else codes[i] = read_codes(array, columns_[i].states);
            }
        }
    done:
        if (!batch.release) return nb::none();
        nb::list out;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const auto rows = static_cast<std::size_t>(batch.length);
            if (columns_[i].number) out.append(arrays::out(std::move(numbers[i]), {rows}));
            else out.append(arrays::out(std::move(codes[i]), {rows}));
        }
        return out;
    }

    // The texts of a column in the order of their codes, from the `start`-th on.
    nb::list states(std::size_t column, std::size_t start) const {
        nb::list out;
        const auto& texts = columns_.at(column).states.texts();
        for (std::size_t i = start; i < texts.size(); ++i) out.append(nb::str(texts[i].data(), texts[i].size()));
        return out;
    }

private:
    struct Column {
        bool number;
        States states;
    };

    void check(int status) {
        if (status == 0) return;
        const char* why = stream_.get_last_error(&stream_);
        throw std::runtime_error(why ? why : "the stream broke off");
    }

    static bool present(const ArrowArray& array, std::int64_t i) {
        const auto* bits = static_cast<const std::uint8_t*>(array.buffers[0]);
        const std::int64_t at = i + array.offset;
        return !bits || (bits[at / 8] >> (at % 8) & 1);
    }

    static std::vector<double> read_numbers(const ArrowArray& array) {
        std::vector<double> out(static_cast<std::size_t>(array.length));
        const auto* values = static_cast<const double*>(array.buffers[1]) + array.offset;
        std::copy_n(values, array.length, out.begin());
        if (array.null_count)
            for (std::int64_t i = 0; i < array.length; ++i)
                if (!present(array, i)) out[static_cast<std::size_t>(i)] = std::numeric_limits<double>::quiet_NaN();
        return out;
    }

    static std::vector<std::int32_t> read_codes(const ArrowArray& array, States& states) {
        std::vector<std::int32_t> out(static_cast<std::size_t>(array.length), -1);
        const auto* ends = static_cast<const std::int32_t*>(array.buffers[1]) + array.offset;
        const auto* bytes = static_cast<const char*>(array.buffers[2]);
        for (std::int64_t i = 0; i < array.length; ++i) {
            if (ends[i] == ends[i + 1] || (array.null_count && !present(array, i))) continue;
            const auto size = static_cast<std::size_t>(ends[i + 1] - ends[i]);
            const bool roomy = ends[i + 1] + static_cast<std::int32_t>(Key::padding) <= ends[array.length];
            out[static_cast<std::size_t>(i)] = states.code(roomy ? Key::padded(bytes + ends[i], size) : Key::of({bytes + ends[i], size}));
        }
        return out;
    }

    Owned<ArrowArrayStream> stream_;
    std::vector<Column> columns_;
};

}  // namespace

void bind_arrow(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<ArrowColumns>(m, "ArrowColumns", "The batches of an Arrow C stream of float64 and UTF-8 columns.")
        .def(nb::init<nb::handle>(), "capsule"_a)
        .def("next", &ArrowColumns::next,
             "Each column of the next batch as float64 (NaN) or as codes of its texts (-1 for missing); None at the end.")
        .def("states", &ArrowColumns::states, "column"_a, "start"_a, "The texts of a column by code, from `start` on.");
}
