// Columns of an Arrow C stream (arrow.apache.org/docs/format/CStreamInterface.html) as numbers and codes.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <memory>
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

// Columns are numbers (float64), texts (UTF-8), or codes (bytes): 0 is a missing cell, k the k-th text that was given for
// the column, and null any other text. Those lie in a last column, of lists of one text a coded column.
class ArrowColumns {
public:
    ArrowColumns(nb::handle capsule, const std::vector<std::vector<std::string>>& known) {
        auto* given = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
        if (!given) throw nb::python_error();
        static_cast<ArrowArrayStream&>(stream_) = *given;
        given->release = nullptr;
        Owned<ArrowSchema> schema;
        check(stream_.get_schema(&stream_, &schema));
        std::size_t coded = 0;
        for (std::int64_t i = 0; i < schema.n_children; ++i) {
            const std::string_view format = schema.children[i]->format;
            if (format == "+l" && i + 1 == schema.n_children && std::string_view(schema.children[i]->children[0]->format) == "u") break;
            if (format != "g" && format != "u" && format != "C") throw nb::value_error("columns must be float64, UTF-8 text, or codes in bytes");
            Column& column = columns_.emplace_back(Column{format[0], {}, coded, {}});
            if (format != "C") continue;
            if (coded == known.size()) throw nb::value_error("the texts of each column of codes must be given");
            column.known = known[coded++];
            column.forget();
        }
        lists_ = columns_.size() < static_cast<std::size_t>(schema.n_children);
        if (coded && !lists_) throw nb::value_error("columns of codes need a last column of lists");
    }

    // Each column of the next rows, at most so many: float64 with NaN, or codes of text with -1, where it is missing. None
    // at the end.
    nb::object next(std::int64_t most) {
        std::vector<std::vector<double>> numbers(columns_.size());  // of columns that lack some
        std::vector<std::vector<std::int32_t>> codes(columns_.size());
        std::int64_t first = 0, rows = 0;
        {
            const nb::gil_scoped_release release;
            while (!batch_ || (batch_->release && done_ == batch_->length)) {
                batch_ = std::make_shared<Owned<ArrowArray>>();
                done_ = 0;
                check(stream_.get_next(&stream_, &*batch_));
            }
            if (batch_->release) {
                first = done_;
                rows = std::min(most, batch_->length - first);
                done_ += rows;
                for (std::size_t i = 0; i < columns_.size(); ++i) {
                    const Rows column{*batch_->children[i], first, rows};
                    if (columns_[i].format == 'g') {
                        if (!column.whole()) numbers[i] = read_numbers(column);
                    } else if (columns_[i].format == 'u') codes[i] = read_texts(column, columns_[i].states);
                    else codes[i] = read_codes(column, columns_[i]);
                }
            }
        }
        if (!batch_->release) return nb::none();
        nb::list out;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const auto size = static_cast<std::size_t>(rows);
            const Rows column{*batch_->children[i], first, rows};
            if (columns_[i].format == 'g' && column.whole()) out.append(where_they_lie(column));
            else if (columns_[i].format == 'g') out.append(arrays::out(std::move(numbers[i]), {size}));
            else out.append(arrays::out(std::move(codes[i]), {size}));
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

    // Lets the texts of a column go; the next ones have new codes.
    void forget(std::size_t column) { columns_.at(column).forget(); }

private:
    struct Column {
        char format;
        States states;
        std::size_t place;  // in the lists
        std::vector<std::string> known;

        void forget() {
            states = {};
            for (const std::string& text : known) states.code(Key::of(text));
        }
    };

    // Some rows of an array.
    struct Rows {
        const ArrowArray& array;
        std::int64_t first, size;

        std::int64_t start() const { return array.offset + first; }
        template <class T>
        const T* buffer(int which) const {
            return static_cast<const T*>(array.buffers[which]) + start();
        }
        bool whole() const { return !array.null_count || !array.buffers[0]; }
        bool present(std::int64_t i) const {
            const auto* bits = static_cast<const std::uint8_t*>(array.buffers[0]);
            const std::int64_t at = start() + i;
            return !bits || (bits[at / 8] >> (at % 8) & 1);
        }
    };

    void check(int status) {
        if (status == 0) return;
        const char* why = stream_.get_last_error(&stream_);
        throw std::runtime_error(why ? why : "the stream broke off");
    }

    // Numbers that none lack: an array that keeps the batch.
    arrays::Out<const double> where_they_lie(const Rows& rows) const {
        auto* const kept = new std::shared_ptr<Owned<ArrowArray>>(batch_);
        nb::capsule owner(kept, [](void* gone) noexcept { delete static_cast<std::shared_ptr<Owned<ArrowArray>>*>(gone); });
        return {rows.buffer<double>(1), {static_cast<std::size_t>(rows.size)}, owner};
    }

    static std::vector<double> read_numbers(const Rows& rows) {
        const auto* values = rows.buffer<double>(1);
        std::vector<double> out(values, values + rows.size);
        for (std::int64_t i = 0; i < rows.size; ++i)
            if (!rows.present(i)) out[static_cast<std::size_t>(i)] = std::numeric_limits<double>::quiet_NaN();
        return out;
    }

    static std::vector<std::int32_t> read_texts(const Rows& rows, States& states) {
        std::vector<std::int32_t> out(static_cast<std::size_t>(rows.size), -1);
        for (std::int64_t i = 0; i < rows.size; ++i)
            if (rows.whole() || rows.present(i)) out[static_cast<std::size_t>(i)] = code_of(rows, i, states);
        return out;
    }

    static std::int32_t code_of(const Rows& texts, std::int64_t i, States& states) {
        const auto* ends = texts.buffer<std::int32_t>(1);
        const auto* bytes = static_cast<const char*>(texts.array.buffers[2]);
        const auto size = static_cast<std::size_t>(ends[i + 1] - ends[i]);
        if (size == 0) return -1;
        const bool roomy = ends[i + 1] + static_cast<std::int32_t>(Key::padding) <= ends[texts.size];
        return states.code(roomy ? Key::padded(bytes + ends[i], size) : Key::of({bytes + ends[i], size}));
    }

    std::vector<std::int32_t> read_codes(const Rows& rows, Column& column) {
        const auto* given = rows.buffer<std::uint8_t>(1);
        std::vector<std::int32_t> out(static_cast<std::size_t>(rows.size));
        std::transform(given, given + rows.size, out.begin(), [](std::uint8_t code) { return std::int32_t{code} - 1; });
        if (rows.whole()) return out;
        const Rows lists{*batch_->children[columns_.size()], rows.first, rows.size};
        const Rows texts{*lists.array.children[0], 0, lists.array.children[0]->length};
        const auto* begin = lists.buffer<std::int32_t>(1);
        for (std::int64_t i = 0; i < rows.size; ++i)
            if (!rows.present(i)) out[static_cast<std::size_t>(i)] = code_of(texts, begin[i] + static_cast<std::int64_t>(column.place), column.states);
        return out;
    }

    Owned<ArrowArrayStream> stream_;
    std::vector<Column> columns_;
    bool lists_ = false;
    std::shared_ptr<Owned<ArrowArray>> batch_;
    std::int64_t done_ = 0;  // rows of the batch
};

}  // namespace

void bind_arrow(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<ArrowColumns>(m, "ArrowColumns", "An Arrow C stream of float64, UTF-8 and coded columns.")
        .def(nb::init<nb::handle, const std::vector<std::vector<std::string>>&>(), "capsule"_a, "known"_a,
             "`known` holds the texts of each column of codes, which are bytes: 0 for missing, k for the k-th of them, null for any "
             "other, which stands in a last column of lists, one text a coded column.")
        .def("next", &ArrowColumns::next, "most"_a,
             "Each column of the next rows, at most so many, as float64 (NaN) or as codes of its texts (-1 for missing); None at "
             "the end.")
        .def("states", &ArrowColumns::states, "column"_a, "start"_a, "The texts of a column by code, from `start` on.")
        .def("forget", &ArrowColumns::forget, "column"_a, "Let the texts of a column go; the next ones have new codes.");
}
