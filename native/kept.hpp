// Documents kept as their terms, so that they can be scored again and again without their texts.
#pragma once

#include <limits>
#include <numeric>

#include "weighted.hpp"

// What one unit of each term adds to each class, laid out by a vocabulary: frozen, so that the counts may go on.
struct TermWeights {
    Unit unit;
    std::size_t classes;
    std::vector<double> start;   // of a document without terms
    std::vector<double> values;  // of each term: one a class, then 1 if the term says something, else 0
};

class Kept {
public:
    explicit Kept(const TokenRules& rules) : rules_(rules) {}

    const TokenRules& rules() const { return rules_; }
    std::size_t size() const { return starts_.size() - 1; }
    std::uint64_t vocabulary() const { return vocabulary_; }

    void add(Bag& bag) {
        table_.place(bag);
        double squares = 0;
        for (std::size_t i = 0; i < bag.size(); ++i) {
            const std::uint32_t term = number(bag[i].id());
            entries_.push_back({term, bag[i].times});
            ++with_[term];
            squares += Bag::damped(bag[i].times) * Bag::damped(bag[i].times);
        }
        norms_.push_back(squares > 0 ? Bag::mass_unit / std::sqrt(squares) : 0);
        starts_.push_back(entries_.size());
        tokens_.push_back(bag.tokens());
    }

    // How many of the documents hold each term; those that one document holds are left out.
    Frequencies frequencies() const {
        std::vector<std::pair<std::uint64_t, std::uint32_t>> found;
        for (std::uint32_t s = 0; s < Table::shards; ++s)
            for (std::uint32_t t = 0; t < numbers_[s].size(); ++t)
                if (const std::uint32_t with = with_[numbers_[s][t]]; with > 1) found.emplace_back(table_.part(s).key(t).hashed, with);
        std::sort(found.begin(), found.end());
        std::vector<std::uint64_t> terms;
        std::vector<std::uint32_t> with;
        for (const auto& [term, documents] : found) {
            if (!terms.empty() && terms.back() == term) continue;  // two terms with one hash
            terms.push_back(term);
            with.push_back(documents);
        }
        return {size(), std::move(terms), std::move(with)};
    }

    // `model` is a Scorer or a Weighted.
    template <class Model>
    TermWeights weigh(const Model& model) const {
        TermWeights out{model.unit(), model.classes(), model.starts(), {}};
        const std::size_t width = out.classes + 1;
        out.values.assign(vocabulary_ * width, 0);
        const Table& theirs = model.table();
        for (std::uint32_t s = 0; s < Table::shards; ++s) {
            const Shard& shard = theirs.part(s);
            for (std::uint32_t t = 0; t < shard.size(); ++t) {
                const std::uint32_t here = table_.part(s).find(shard.key(t));
                if (here == Shard::absent) continue;
                double* to = out.values.data() + numbers_[s][here] * width;
                if (model.unit_weights({s, t}, to)) to[out.classes] = 1;
            }
        }
        return out;
    }

    // The sum for each class of document i; terms that are newer than the weights say nothing.
    Scorer::Summary score(const TermWeights& weights, std::size_t i, double* scores) const {
        std::copy(weights.start.begin(), weights.start.end(), scores);
        const auto any = [&](auto classes) {
            if (weights.unit == Unit::times) return sum(weights, i, scores, classes, [](std::uint32_t times) { return times; });
            if (weights.unit == Unit::presence) return sum(weights, i, scores, classes, [](std::uint32_t) { return 1; });
            const double norm = norms_[i];
            constexpr double whole = 1ull << 52;  // what is added to it is rounded to a whole number
            return sum(weights, i, scores, classes, [norm, damped = Bag::damped_table()](std::uint32_t times) {
                const double x = times < Bag::damped_size ? damped[times] : Bag::damped(times);
                return ((x * norm + whole) - whole) / Bag::mass_unit;
            });
        };
        const double known = weights.classes == 2 ? any(std::integral_constant<std::size_t, 2>()) : any(weights.classes);
        return {tokens_[i], static_cast<std::uint64_t>(known)};
    }

    std::size_t memory() const {
        std::size_t bytes = entries_.capacity() * sizeof(Entry) + norms_.capacity() * sizeof(double) + with_.capacity() * sizeof(std::uint32_t) +
                            (starts_.capacity() + tokens_.capacity()) * sizeof(std::uint64_t);
        for (std::size_t s = 0; s < Table::shards; ++s) bytes += table_.part(s).memory() + numbers_[s].capacity() * sizeof(std::uint32_t);
        return bytes;
    }

private:
    struct Entry {
        std::uint32_t term, times;
    };

    // Adds to the scores; the occurrences of terms that say something.
    template <class Classes, class Units>
    double sum(const TermWeights& weights, std::size_t i, double* scores, Classes classes, Units&& units) const {
        const double* const values = weights.values.data();
        const std::size_t width = classes + 1, terms = weights.values.size() / width;
        const Entry* const last = entries_.data() + starts_[i + 1];
        double known = 0;
        for (const Entry* entry = entries_.data() + starts_[i]; entry < last; ++entry) {
            if (entry->term >= terms) continue;
            const double* from = values + entry->term * width;
            const double x = units(entry->times);
            for (std::size_t c = 0; c < classes; ++c) scores[c] += x * from[c];
            known += entry->times * from[classes];
        }
        return known;
    }

    // Terms are numbered as they are met, so that the frequent ones lie close together.
    std::uint32_t number(TermId id) {
        auto& numbers = numbers_[id.shard];
        if (id.term == numbers.size()) {
            if (vocabulary_ == std::numeric_limits<std::uint32_t>::max()) throw std::length_error("more than 4 billion terms are kept");
            numbers.push_back(static_cast<std::uint32_t>(vocabulary_++));
            with_.push_back(0);
        }
        return numbers[id.term];
    }

    TokenRules rules_;
    Table table_;
    std::vector<std::uint32_t> numbers_[Table::shards];
    std::uint64_t vocabulary_ = 0;
    std::vector<std::uint32_t> with_;  // documents that hold each term
    std::vector<Entry> entries_;
    std::vector<std::uint64_t> starts_{0}, tokens_;
    std::vector<double> norms_;
};
