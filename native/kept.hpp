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
        bag.weigh(false);
        for (std::size_t i = 0; i < bag.size(); ++i) entries_.push_back({number(bag[i].id), bag[i].times});
        starts_.push_back(entries_.size());
        tokens_.push_back(bag.tokens());
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
        const std::size_t classes = weights.classes, width = classes + 1;
        const std::size_t terms = weights.values.size() / width;
        std::copy(weights.start.begin(), weights.start.end(), scores);
        const double norm = weights.unit == Unit::mass ? norm_of(i) : 0;
        double known = 0;
        for (std::uint64_t k = starts_[i]; k < starts_[i + 1]; ++k) {
            const Entry entry = entries_[k];
            if (entry.term >= terms) continue;
            const double* from = weights.values.data() + entry.term * width;
            const double x = weights.unit == Unit::mass    ? std::nearbyint(Bag::damped(entry.times) * norm) / Bag::unit
                             : weights.unit == Unit::times ? entry.times
                                                           : 1;
            for (std::size_t c = 0; c < classes; ++c) scores[c] += x * from[c];
            known += entry.times * from[classes];
        }
        return {tokens_[i], static_cast<std::uint64_t>(known)};
    }

    std::size_t memory() const {
        std::size_t bytes = entries_.capacity() * sizeof(Entry) + (starts_.capacity() + tokens_.capacity()) * sizeof(std::uint64_t);
        for (std::size_t s = 0; s < Table::shards; ++s) bytes += table_.part(s).memory() + numbers_[s].capacity() * sizeof(std::uint32_t);
        return bytes;
    }

private:
    struct Entry {
        std::uint32_t term, times;
    };

    double norm_of(std::size_t i) const {
        double squares = 0;
        for (std::uint64_t k = starts_[i]; k < starts_[i + 1]; ++k) {
            const double x = Bag::damped(entries_[k].times);
            squares += x * x;
        }
        return squares > 0 ? Bag::unit / std::sqrt(squares) : 0;
    }

    // Terms are numbered as they are met, so that the frequent ones lie close together.
    std::uint32_t number(TermId id) {
        auto& numbers = numbers_[id.shard];
        if (id.term == numbers.size()) {
            if (vocabulary_ == std::numeric_limits<std::uint32_t>::max()) throw std::length_error("more than 4 billion terms are kept");
            numbers.push_back(static_cast<std::uint32_t>(vocabulary_++));
        }
        return numbers[id.term];
    }

    TokenRules rules_;
    Table table_;
    std::vector<std::uint32_t> numbers_[Table::shards];
    std::uint64_t vocabulary_ = 0;
    std::vector<Entry> entries_;
    std::vector<std::uint64_t> starts_{0}, tokens_;
};
