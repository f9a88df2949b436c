// What a term adds to the score of each class, laid out for speed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "terms.hpp"

class Weights {
public:
    struct Part {  // a row and what it is multiplied by
        const double* weights;
        double factor;
        const std::uint32_t* labels;
        std::size_t size;
    };

    void begin(const Table& table, std::size_t classes) {
        classes_ = classes;
        labels_.clear();
        weights_.clear();
        rows_.resize(Table::shards);
        for (std::size_t s = 0; s < Table::shards; ++s) rows_[s].assign(table.part(s).size(), Row{});
    }

    // The weights of a term of the vocabulary: weigh(cell) for each class that has seen it, 0 for the others.
    template <class Weigh>
    void put(const Table& table, TermId id, Weigh&& weigh) {
        const std::size_t offset = weights_.size();
        table.part(id.shard).each(id.term, [&](const Cell& cell) {
            labels_.push_back(cell.label);
            weights_.push_back(weigh(cell));
        });
        const std::size_t size = weights_.size() - offset;
        const bool dense = classes_ <= most_dense && 2 * size >= classes_;
        rows_[id.shard][id.term] = {offset, size, dense};
        if (!dense) return;
        full_.assign((classes_ + lanes - 1) / lanes * lanes, 0);
        for (std::size_t i = offset; i < weights_.size(); ++i) full_[labels_[i]] = weights_[i];
        labels_.resize(offset + full_.size());
        weights_.resize(offset);
        weights_.insert(weights_.end(), full_.begin(), full_.end());
    }

    bool holds(TermId id) const { return id.term != Shard::absent && row(id).size; }

    // The weight of a class, the k-th of those that have seen the term.
    double of(TermId id, std::uint32_t label, std::uint32_t k) const {
        const Row& here = row(id);
        return weights_[here.offset + (here.dense ? label : k)];
    }

    // Adds factor(entry) times its weights to the scores, for each term of the vocabulary in a bag. Which kind of row a
    // term has is as good as chance: rows are sorted by kind without a branch, and their memory is asked for ahead of time.
    template <class Factor>
    void add(const Bag& bag, double* scores, Factor&& factor) const {
        std::vector<Part> dense(bag.size() + 1), sparse(bag.size() + 1);
        std::size_t denses = 0, sparses = 0;
        for (std::size_t i = 0; i < bag.size(); ++i)
            if (bag[i].term != Shard::absent) __builtin_prefetch(&row(bag[i].id()));
        for (std::size_t i = 0; i < bag.size(); ++i) {
            if (!holds(bag[i].id())) continue;
            const Row here = row(bag[i].id());
            const double* weights = weights_.data() + here.offset;
            const std::uint32_t* labels = labels_.data() + here.offset;
            const double x = factor(bag[i]);
            for (const int line : {0, 64, 128}) __builtin_prefetch(reinterpret_cast<const char*>(weights) + line);
            __builtin_prefetch(labels);
            dense[denses] = {weights, x, labels, here.size};
            sparse[sparses] = {weights, x, labels, here.size};
            denses += here.dense;
            sparses += !here.dense;
        }
        dense.resize(denses);
        add(dense, scores);
        for (std::size_t i = 0; i < sparses; ++i)
            for (std::size_t k = 0; k < sparse[i].size; ++k) scores[sparse[i].labels[k]] += sparse[i].factor * sparse[i].weights[k];
    }

private:
    static constexpr std::size_t lanes = 8, most_dense = 64;  // a row with a weight for each class is filled up to a multiple

    struct Row {  // a weight for each class if `dense`, else `size` pairs of class and weight; none outside the vocabulary
        std::uint64_t offset : 39 = 0, size : 24 = 0, dense : 1 = 0;
    };

    const Row& row(TermId id) const { return rows_[id.shard][id.term]; }

    void add(const std::vector<Part>& parts, double* scores) const;

    std::size_t classes_ = 0;
    std::vector<std::vector<Row>> rows_;
    std::vector<std::uint32_t> labels_;
    std::vector<double> weights_, full_;
};
