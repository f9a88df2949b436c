// Documents as sparse rows of terms: which terms each holds, and how often.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <string>
#include <unordered_set>

#include "arrays.hpp"
#include "module.hpp"
#include "terms.hpp"
#include "texts.hpp"
#include "tokens.hpp"

namespace {

// The sparse rows of documents, as threads come upon their terms: each has a vocabulary and entries of its own.
class Bags {
public:
    Bags(int shortest_gram, int longest_gram, int shortest_chars, int longest_chars)
        : rules_{shortest_gram, longest_gram, shortest_chars, longest_chars} {}
    Bags(const Bags&) = delete;
    Bags& operator=(const Bags&) = delete;

    void add(nb::handle documents, int threads) {
        const Texts texts(documents);
        const nb::gil_scoped_release release;
        while (readers_.size() < static_cast<std::size_t>(std::max(threads, 1))) readers_.push_back(std::make_unique<Reader>());
        std::vector<Tokeniser<Bag>> tokenisers;
        tokenisers.reserve(readers_.size());
        for (auto& reader : readers_) tokenisers.emplace_back(rules_, reader->bag);
        const std::size_t first = rows_.size();
        rows_.resize(first + texts.size());
        share(texts.size(), 16, threads, [&](int thread, std::size_t i) {
            Reader& reader = *readers_[static_cast<std::size_t>(thread)];
            Bag& bag = reader.bag;
            if (bag.full()) bag.clear();
            bag.begin();
            texts.run(i, tokenisers[static_cast<std::size_t>(thread)]);
            bag.each_new([&](Bag::Entry* entries, std::size_t number) {
                for (std::size_t e = 0; e < number; ++e) {
                    const std::uint32_t shard = Table::shard_of(entries[e].hashed);
                    entries[e].term = reader.parts[shard].find_or_add(entries[e].key());
                    reader.documents[shard].resize(reader.parts[shard].size());
                }
            });
            rows_[first + i] = {static_cast<std::uint32_t>(thread), static_cast<std::uint32_t>(bag.size()), reader.ids.size()};
            for (std::size_t e = 0; e < bag.size(); ++e) {
                const TermId id = bag[e].id();
                ++reader.documents[id.shard][id.term];
                reader.ids.push_back(id);
                reader.times.push_back(bag[e].times);
            }
        });
    }

    // Terms that at least `least` and at most `most` documents hold, the most frequent first; and the rows.
    nb::tuple rows(std::uint64_t least, std::uint64_t most, const std::vector<std::string>& stop, int threads) {
        std::string text;
        std::vector<std::int64_t> starts(rows_.size() + 1), with;
        std::vector<std::int32_t> features;
        std::vector<double> times;
        {
            const nb::gil_scoped_release release;
            const auto numbers = number(least, most, {stop.begin(), stop.end()}, threads, text, with);
            fill(numbers, starts, features, times, threads);
        }
        return nb::make_tuple(nb::bytes(text.data(), text.size()), arrays::out(std::move(with), {with.size()}),
                              arrays::out(std::move(starts), {rows_.size() + 1}), arrays::out(std::move(features), {features.size()}),
                              arrays::out(std::move(times), {times.size()}));
    }

    // The rows over terms that are known, one a line.
    nb::tuple rows_of(nb::bytes terms, int threads) {
        std::vector<std::int64_t> starts(rows_.size() + 1);
        std::vector<std::int32_t> features;
        std::vector<double> times;
        const std::string_view text(terms.c_str(), terms.size());
        {
            const nb::gil_scoped_release release;
            Numbers numbers(readers_.size());
            Table known;
            std::vector<std::int32_t> of[Table::shards];
            std::int32_t next = 0;
            for (std::size_t at = 0; at < text.size(); ++next) {
                const std::size_t end = text.find('\n', at);
                if (end == text.npos) throw std::invalid_argument("the terms don't end in a line's end");
                const Key key = Key::of(text.substr(at, end - at));
                const std::uint32_t shard = Table::shard_of(key.hashed);
                if (known.part(shard).find_or_add(key) != of[shard].size()) throw std::invalid_argument("a term is there twice");
                of[shard].push_back(next);
                at = end + 1;
            }
            for (std::size_t r = 0; r < readers_.size(); ++r)
                for (std::size_t s = 0; s < Table::shards; ++s) {
                    const Shard& part = readers_[r]->parts[s];
                    for (std::uint32_t t = 0; t < part.size(); ++t) {
                        const std::uint32_t found = known.part(s).find(part.key(t));
                        numbers[r].of[s].push_back(found == Shard::absent ? -1 : of[s][found]);
                    }
                }
            fill(numbers, starts, features, times, threads);
        }
        return nb::make_tuple(arrays::out(std::move(starts), {rows_.size() + 1}), arrays::out(std::move(features), {features.size()}),
                              arrays::out(std::move(times), {times.size()}));
    }

    std::size_t size() const { return rows_.size(); }

private:
    struct Reader {
        Bag bag;
        Shard parts[Table::shards];
        std::vector<std::uint32_t> documents[Table::shards];  // that hold each term
        std::vector<TermId> ids;
        std::vector<std::uint32_t> times;
    };
    struct Row {
        std::uint32_t reader, size;
        std::size_t offset;
    };
    struct Numbered {  // for each term of a reader's vocabulary its number, or -1
        std::vector<std::int32_t> of[Table::shards];
    };
    using Numbers = std::vector<Numbered>;

    Numbers number(std::uint64_t least, std::uint64_t most, const std::unordered_set<std::string>& stop, int threads, std::string& text,
                   std::vector<std::int64_t>& with) const {
        Shard all[Table::shards];
        std::vector<std::uint64_t> documents[Table::shards];
        Numbers numbers(readers_.size());
        share(Table::shards, 1, threads, [&](int, std::size_t s) {
            for (std::size_t r = 0; r < readers_.size(); ++r) {
                const Shard& part = readers_[r]->parts[s];
                for (std::uint32_t t = 0; t < part.size(); ++t) {
                    const std::uint32_t here = all[s].find_or_add(part.key(t));
                    documents[s].resize(all[s].size());
                    documents[s][here] += readers_[r]->documents[s][t];
                    numbers[r].of[s].push_back(static_cast<std::int32_t>(here));
                }
            }
        });
        struct Term {
            std::uint64_t documents;
            std::string_view text;
            std::uint32_t shard, term;
        };
        std::vector<Term> kept;
        for (std::uint32_t s = 0; s < Table::shards; ++s)
            for (std::uint32_t t = 0; t < all[s].size(); ++t) {
                const std::string_view word = all[s].text(t);
                if (documents[s][t] >= least && documents[s][t] <= most && (stop.empty() || !stop.contains(std::string(word))))
                    kept.push_back({documents[s][t], word, s, t});
            }
        std::sort(kept.begin(), kept.end(), [](const Term& a, const Term& b) {
            return a.documents != b.documents ? a.documents > b.documents : a.text < b.text;
        });
        std::vector<std::int32_t> places[Table::shards];
        for (std::size_t s = 0; s < Table::shards; ++s) places[s].assign(all[s].size(), -1);
        for (std::size_t i = 0; i < kept.size(); ++i) {
            places[kept[i].shard][kept[i].term] = static_cast<std::int32_t>(i);
            with.push_back(static_cast<std::int64_t>(kept[i].documents));
            text += kept[i].text;
            text += '\n';
        }
        for (Numbered& numbered : numbers)
            for (std::size_t s = 0; s < Table::shards; ++s)
                for (std::int32_t& term : numbered.of[s]) term = places[s][static_cast<std::size_t>(term)];
        return numbers;
    }

    void fill(const Numbers& numbers, std::vector<std::int64_t>& starts, std::vector<std::int32_t>& features, std::vector<double>& times,
              int threads) const {
        const auto each = [&](std::size_t i, auto&& use) {
            const Row& row = rows_[i];
            const Reader& reader = *readers_[row.reader];
            for (std::size_t e = row.offset; e < row.offset + row.size; ++e) {
                const std::int32_t term = numbers[row.reader].of[reader.ids[e].shard][reader.ids[e].term];
                if (term >= 0) use(term, reader.times[e]);
            }
        };
        share(rows_.size(), 256, threads, [&](int, std::size_t i) { each(i, [&](std::int32_t, std::uint32_t) { ++starts[i + 1]; }); });
        for (std::size_t i = 0; i < rows_.size(); ++i) starts[i + 1] += starts[i];
        features.resize(static_cast<std::size_t>(starts.back()));
        times.resize(features.size());
        share(rows_.size(), 256, threads, [&](int, std::size_t i) {
            auto at = static_cast<std::size_t>(starts[i]);
            each(i, [&](std::int32_t term, std::uint32_t count) {
                features[at] = term;
                times[at++] = count;
            });
        });
    }

    TokenRules rules_;
    std::vector<std::unique_ptr<Reader>> readers_;
    std::vector<Row> rows_;
};

// What each term counts, `times` being whole numbers: ln(1 + times) * rarity, the norm of each row brought to `norm`.
arrays::Out<float> weigh(const arrays::In<std::int64_t, 1>& starts, const arrays::Ints& terms, const arrays::Doubles& times,
                         const arrays::Doubles& rarity, double norm, int threads) {
    const std::size_t size = terms.shape(0), rows = starts.shape(0) - 1;
    const std::int64_t* from = starts.data();
    if (starts.shape(0) == 0 || times.shape(0) != size || from[0] != 0 || from[rows] != static_cast<std::int64_t>(size))
        throw std::invalid_argument("the rows don't fit the terms");
    for (std::size_t i = 0; i < rows; ++i)
        if (from[i] > from[i + 1]) throw std::invalid_argument("starts must not fall");
    std::vector<float> weights(size);
    {
        const nb::gil_scoped_release release;
        share(rows, 256, threads, [&](int, std::size_t i) {
            std::vector<double> masses;
            double squares = 0;
            for (std::int64_t e = from[i]; e < from[i + 1]; ++e) {
                const auto term = static_cast<std::size_t>(terms.data()[e]);
                if (term >= rarity.shape(0)) throw std::invalid_argument("a term is out of range");
                const double mass = Bag::damped(static_cast<std::uint32_t>(times.data()[e])) * rarity.data()[term];
                masses.push_back(mass);
                squares += mass * mass;
            }
            const double scale = squares > 0 ? norm / std::sqrt(squares) : 0;
            for (std::size_t e = 0; e < masses.size(); ++e) weights[static_cast<std::size_t>(from[i]) + e] = static_cast<float>(masses[e] * scale);
        });
    }
    return arrays::out(std::move(weights), {size});
}

}  // namespace

void bind_bags(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Bags>(m, "Bags", "Documents as sparse rows of terms.")
        .def(nb::init<int, int, int, int>(), "shortest_gram"_a = 1, "longest_gram"_a = 1, "shortest_chars"_a = 0, "longest_chars"_a = 0)
        .def("add", &Bags::add, "texts"_a, "threads"_a = 1, "Append documents.")
        .def("rows", &Bags::rows, "least"_a, "most"_a, "stop"_a, "threads"_a = 1,
             "Terms that at least `least` and at most `most` documents hold, one a line, the most frequent first; how many documents "
             "hold each; and of each document the start of its entries, their terms, and how often each is there.")
        .def("rows_of", &Bags::rows_of, "terms"_a, "threads"_a = 1, "The starts, terms and times over terms that are known, one a line.")
        .def_prop_ro("size", &Bags::size);
    m.def("weigh", &weigh, "starts"_a, "terms"_a, "times"_a, "rarity"_a, "norm"_a, "threads"_a = 1,
          "What each term of each row counts: ln(1 + times) * rarity, scaled so that the squares of a row sum to norm^2.");
}
