// Counting documents into class-by-term counts, and the canonical arrays of those counts.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "arrays.hpp"
#include "module.hpp"
#include "terms_object.hpp"

namespace {

// Numbers in the narrowest unsigned type that holds them all: the name of the type and the bytes.
template <class Values>
nb::tuple narrow(const Values& values) {
    std::uint64_t most = 0;
    for (const auto value : values) most = std::max<std::uint64_t>(most, value);
    const int width = most <= 0xFF ? 1 : most <= 0xFFFF ? 2 : most <= 0xFFFFFFFF ? 4 : 8;
    std::string bytes(values.size() * static_cast<std::size_t>(width), '\0');
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint64_t value = values[i];
        std::memcpy(bytes.data() + i * static_cast<std::size_t>(width), &value, static_cast<std::size_t>(width));
    }
    return nb::make_tuple("u" + std::to_string(width), nb::bytes(bytes.data(), bytes.size()));
}

class Numbers {
public:
    Numbers(nb::handle pair) {
        const auto type = nb::cast<std::string>(pair[0]);
        held_ = nb::cast<nb::bytes>(pair[1]);
        width_ = type == "u1" ? 1 : type == "u2" ? 2 : type == "u4" ? 4 : type == "u8" ? 8 : 0;
        if (!width_ || held_.size() % width_) throw nb::value_error("an array is not whole");
    }
    std::size_t size() const { return held_.size() / width_; }

    // Calls use(i, number) for each of some.
    template <class Use>
    void each(std::size_t first, std::size_t end, Use&& use) const {
        if (width_ == 1) each_of<std::uint8_t>(first, end, use);
        else if (width_ == 2) each_of<std::uint16_t>(first, end, use);
        else if (width_ == 4) each_of<std::uint32_t>(first, end, use);
        else each_of<std::uint64_t>(first, end, use);
    }

private:
    template <class Number, class Use>
    void each_of(std::size_t first, std::size_t end, Use&& use) const {
        const char* at = held_.c_str() + first * sizeof(Number);
        for (std::size_t i = first; i < end; ++i, at += sizeof(Number)) use(i, std::uint64_t{read<Number>(at)});
    }

    nb::bytes held_;
    std::size_t width_ = 0;
};

std::vector<std::uint32_t> to_labels(const std::vector<std::int64_t>& labels) {
    std::vector<std::uint32_t> out;
    out.reserve(labels.size());
    for (const auto label : labels) {
        if (label < 0 || label >= Shard::absent) throw nb::value_error("a class index is out of range");
        out.push_back(static_cast<std::uint32_t>(label));
    }
    return out;
}

// A buffer of int32 is read as it is; other numbers become Python's first.
std::vector<std::uint32_t> to_labels(nb::handle labels) {
    arrays::In<std::int32_t, 1> codes;
    if (!nb::try_cast(labels, codes, false)) return to_labels(nb::cast<std::vector<std::int64_t>>(labels));
    if (codes.size() && *std::min_element(codes.data(), codes.data() + codes.size()) < 0)
        throw nb::value_error("a class index is out of range");
    return {codes.data(), codes.data() + codes.size()};
}

void count(Terms& terms, nb::handle documents, nb::handle labels, int threads) {
    const Texts texts(documents);
    const auto classes = to_labels(labels);
    if (classes.size() != texts.size()) throw nb::value_error("texts and labels must be of one length");
    const nb::gil_scoped_release release;
    terms.count(texts, classes, threads);
}

nb::dict export_(Terms& terms, const std::vector<std::int64_t>& order) {
    const auto to = to_labels(order);
    std::vector<TermId> ids;
    for (std::uint32_t s = 0; s < Table::shards; ++s)
        for (std::uint32_t t = 0; t < terms.table().part(s).size(); ++t)
            if (terms.known({s, t})) ids.push_back({s, t});
    std::sort(ids.begin(), ids.end(), [&](TermId a, TermId b) { return terms.text(a) < terms.text(b); });

    std::string text;
    std::vector<std::uint32_t> sizes, labels, documents;
    std::vector<std::uint64_t> occurrences, masses;
    std::vector<Cell> row;
    for (const TermId id : ids) {
        text += terms.text(id);
        text += '\n';
        row.clear();
        terms.table().part(id.shard).each(id.term, [&](Cell cell) {
            cell.label = to.at(cell.label);
            row.push_back(cell);
        });
        std::sort(row.begin(), row.end(), [](const Cell& a, const Cell& b) { return a.label < b.label; });
        sizes.push_back(static_cast<std::uint32_t>(row.size()));
        for (const Cell& cell : row) {
            labels.push_back(cell.label);
            documents.push_back(cell.documents);
            occurrences.push_back(cell.occurrences);
            masses.push_back(cell.mass);
        }
    }
    nb::dict out;
    out["terms"] = nb::bytes(text.data(), text.size());
    out["sizes"] = narrow(sizes);
    out["labels"] = narrow(labels);
    out["documents"] = narrow(documents);
    out["occurrences"] = narrow(occurrences);
    out["masses"] = narrow(masses);
    return out;
}

// The cells of a term, checked.
void check(const Cell* cells, std::size_t size, const std::vector<std::uint64_t>& sizes_of_classes) {
    for (std::size_t i = 0; i < size; ++i) {
        const auto& [label, with, seen, mass] = cells[i];
        if (i && label <= cells[i - 1].label) throw nb::value_error("the classes of a term are not sorted");
        if (label >= sizes_of_classes.size()) throw nb::value_error("a count belongs to no class");
        if (with > sizes_of_classes[label]) throw nb::value_error("more documents of a class hold a term than there are");
        if (!seen || !with || with > seen) throw nb::value_error("a count is zero, or a term has more documents than occurrences");
        if (!mass || mass > std::uint64_t{with} << 20) throw nb::value_error("a mass is zero, or above one a document");
    }
}

Array<Cell> cells_of(const Numbers& labels, const Numbers& documents, const Numbers& occurrences, const Numbers& masses) {
    const std::size_t size = labels.size();
    if (size != documents.size() || size != occurrences.size() || size != masses.size())
        throw nb::value_error("the arrays of counts differ in length");
    const auto narrowed = [](std::uint64_t number) {
        if (number > Shard::absent) throw nb::value_error("a class or a number of documents is above 4,294,967,295");
        return static_cast<std::uint32_t>(number);
    };
    Array<Cell> cells;
    cells.reserve(size);
    constexpr std::size_t together = 512;  // they stay in the first cache
    for (std::size_t at = 0, end; at < size; at = end) {
        end = std::min(at + together, size);
        cells.resize(end);
        labels.each(at, end, [&](std::size_t i, std::uint64_t number) { cells[i].label = narrowed(number); });
        documents.each(at, end, [&](std::size_t i, std::uint64_t number) { cells[i].documents = narrowed(number); });
        occurrences.each(at, end, [&](std::size_t i, std::uint64_t number) { cells[i].occurrences = number; });
        masses.each(at, end, [&](std::size_t i, std::uint64_t number) { cells[i].mass = number; });
    }
    return cells;
}

void import_(Terms& terms, nb::bytes text, nb::handle sizes_, nb::handle labels, nb::handle documents, nb::handle occurrences,
             nb::handle masses, const std::vector<std::uint64_t>& sizes_of_classes) {
    if (terms.size()) throw nb::value_error("counts are loaded where there are some");
    const Numbers sizes(sizes_);
    const auto stored = std::make_shared<const Stored>(text.c_str(), text.size(), cells_of(labels, documents, occurrences, masses));
    struct Part {
        std::vector<Stored::Place> places;
        std::vector<std::uint64_t> hashes;
    };
    std::array<Part, Table::shards> parts;
    for (Part& part : parts) {
        part.places.reserve(sizes.size() / Table::shards + sizes.size() / 64);
        part.hashes.reserve(part.places.capacity());
    }
    const char* const begin = stored->terms.data();
    const char* const end = begin + text.size();
    const char* p = begin;
    std::string_view last;
    std::size_t next = 0;
    sizes.each(0, sizes.size(), [&](std::size_t, std::uint64_t size) {
        const auto* stop = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
        if (!stop) throw nb::value_error("there are fewer terms than counts");
        const std::string_view word(p, static_cast<std::size_t>(stop - p));
        if (word.empty() || !(last < word)) throw nb::value_error("a term is empty, or the terms are not sorted");
        if (!size) throw nb::value_error("no class has seen a term");
        if (size > stored->cells.size() - next) throw nb::value_error("there are more rows than counts");
        if (size > sizes_of_classes.size()) throw nb::value_error("a term has more counts than there are classes");
        check(&stored->cells[next], size, sizes_of_classes);
        const Key key = Key::padded(p, word.size());
        Part& part = parts[Table::shard_of(key.hashed)];
        part.places.push_back({static_cast<std::uint64_t>(p - begin), next, key.size, static_cast<std::uint32_t>(size)});
        part.hashes.push_back(key.hashed);
        last = word;
        next += size;
        p = stop + 1;
    });
    if (p != end || next != stored->cells.size()) throw nb::value_error("there are more terms or counts than rows");
    for (std::size_t s = 0; s < Table::shards; ++s) terms.table().part(s).store(stored, std::move(parts[s].places), parts[s].hashes);
}

struct TokenList {
    nb::list& out;
    std::vector<std::string> last = {};  // words that n-grams may reach back to

    void operator()(const char* bytes, std::size_t size) { out.append(nb::str(bytes, size)); }
    void words(const char* text, const std::uint32_t* edges, std::size_t number, std::size_t longest) {
        for (std::size_t i = 0; i < number; ++i, edges += 2)
            (*this)(text + edges[0], token_size(text + edges[0], edges[1] - edges[0], longest));
    }
    void unit(std::uint32_t code) {
        char bytes[8];
        (*this)(bytes, unicode::spell(code, bytes));
    }
    template <class Joined>
    void grams(const char* text, const std::uint32_t* edges, std::size_t number, std::size_t longest, GramSizes sizes, Joined&& joined) {
        for (std::size_t i = 0; i < number; ++i) {
            if (last.size() == sizes.longest) last.erase(last.begin());
            if (!last.empty() && !joined(i)) last.clear();
            const char* word = text + edges[2 * i];
            last.emplace_back(word, token_size(word, edges[2 * i + 1] - edges[2 * i], longest));
            std::string gram;
            for (std::size_t n = 1; n <= last.size(); ++n) {
                gram = n == 1 ? last.back() : last[last.size() - n] + ' ' + gram;
                if (n >= sizes.shortest) (*this)(gram.data(), gram.size());
            }
        }
    }
    void apart() { last.clear(); }
    template <class Char>
    void units(const Char* text, std::size_t number) {
        for (std::size_t i = 0; i < number; ++i) {
            unit(text[i]);
            if (i) unit(unicode::pair(text[i - 1], text[i]));
        }
    }
};

nb::list tokens(nb::handle text, int shortest_gram, int longest_gram, int shortest_chars, int longest_chars) {
    nb::list out;
    TokenList sink{out};
    Tokeniser tokeniser({shortest_gram, longest_gram, shortest_chars, longest_chars}, sink);
    const nb::object one = nb::steal(PyList_New(1));
    Py_INCREF(text.ptr());
    PyList_SET_ITEM(one.ptr(), 0, text.ptr());
    Texts(one).run(0, tokeniser);
    return out;
}

}  // namespace

void bind_terms(nb::module_& m) {
    using namespace nb::literals;
    m.attr("unicode_version") = unicode::version;
    m.def("tokens", &tokens, "text"_a, "shortest_gram"_a = 1, "longest_gram"_a = 1, "shortest_chars"_a = 0,
          "longest_chars"_a = 0, "The tokens of one text, in the order in which they are counted.");
    nb::class_<Terms>(m, "Terms", "Class-by-term counts: documents and occurrences of each term in each class.")
        .def(nb::init<int, int, int, int>(), "shortest_gram"_a = 1, "longest_gram"_a = 1, "shortest_chars"_a = 0,
             "longest_chars"_a = 0)
        .def("count", &count, "texts"_a, "labels"_a, "threads"_a = 1, "Count texts, the i-th for the class labels[i].")
        .def("merge", [](Terms& mine, Terms& other, const std::vector<std::int64_t>& to, int threads) {
            const auto labels = to_labels(to);
            const nb::gil_scoped_release release;
            mine.merge(other, labels, threads);
        }, "other"_a, "labels"_a, "threads"_a = 1, "Add the counts of `other`, whose class i is class labels[i] here.")
        .def("uncovered", [](Terms& mine, Terms& other, const std::vector<std::int64_t>& to, const std::vector<std::uint64_t>& left) {
            return mine.uncovered(other, to_labels(to), left);
        }, "other"_a, "labels"_a, "left"_a,
             "A term of which `other` has counts that can't be part of those here, where left[i] documents of class i are to "
             "remain; empty if there is none.")
        .def("subtract", [](Terms& mine, Terms& other, const std::vector<std::int64_t>& to, const std::vector<std::uint64_t>& left) {
            mine.subtract(other, to_labels(to), left);
        }, "other"_a, "labels"_a, "left"_a, "Take the counts of `other` away; they must be covered.")
        .def("row", [](Terms& terms, const std::string& term) {
            std::vector<std::pair<std::uint32_t, std::pair<std::uint32_t, std::uint64_t>>> out;
            const TermId id = terms.table().find(Key::of(term));
            if (id.term != Shard::absent)
                terms.table().part(id.shard).each(id.term, [&](const Cell& cell) {
                    out.push_back({cell.label, {cell.documents, cell.occurrences}});
                });
            std::sort(out.begin(), out.end());
            return out;
        }, "term"_a, "For each class that has seen the term: (class, (documents, occurrences)).")
        .def("export", &export_, "order"_a, "Sorted terms and counts, class i renamed to order[i].")
        .def("load", &import_, "terms"_a, "sizes"_a, "labels"_a, "documents"_a, "occurrences"_a, "masses"_a, "classes"_a,
             "Take in what `export` gave, of classes of so many documents.")
        .def("words_only", [](Terms& terms) {
            auto out = std::make_unique<Terms>(1, 1, 0, 0);
            out->copy_words(terms);
            return out;
        }, "The counts of single words: what would have been counted without n-grams.")
        .def("memory", &Terms::memory, "Bytes held.")
        .def_prop_ro("rules", [](const Terms& terms) {
            const auto& r = terms.rules();
            return nb::make_tuple(r.shortest_gram, r.longest_gram, r.shortest_chars, r.longest_chars);
        });
}
