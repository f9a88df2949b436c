// What a term adds to the score of each class, laid out for speed.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "terms.hpp"

class Weights {
public:
    struct Part {  // a row of weights and what it is multiplied by
        const double* weights;
        double factor;
        std::size_t size;
    };

    void begin(const Table& table, std::size_t classes) {
        classes_ = classes;
        for (std::size_t s = 0; s < Table::shards; ++s) {
            shards_[s] = {};
            shards_[s].rows.resize(table.part(s).size());
        }
    }

    // The weights of a term of the vocabulary: weigh(cell) for each class that has seen it, 0 for the others. Several
    // threads may put terms, each those of other shards.
    template <class Weigh>
    void put(const Table& table, TermId id, Weigh&& weigh) {
        auto& [rows, dense, sparse] = shards_[id.shard];
        const std::size_t first = sparse.size();
        std::size_t size = 0;
        table.part(id.shard).each(id.term, [&](const Cell& cell) {
            sparse.push_back(weigh(cell));
            sparse.push_back(std::bit_cast<double>(std::uint64_t{cell.label}));
            ++size;
        });
        rows[id.term] = {first, size, 0};
        if (classes_ > most_dense || 2 * size < classes_) return;
        rows[id.term] = {dense.size(), size, 1};
        dense.resize(dense.size() + width());
        double* row = dense.data() + dense.size() - width();
        for (std::size_t i = first; i < sparse.size(); i += 2) row[label(&sparse[i])] = sparse[i];
        sparse.resize(first);
    }

    bool holds(TermId id) const { return id.term != Shard::absent && row(id).size; }

    // The weight of a class, the k-th of those that have seen the term.
    double of(TermId id, std::uint32_t label, std::uint32_t k) const {
        const Row& here = row(id);
        return weights(id.shard, here)[here.dense ? label : 2 * k];
    }

    // The row of a term that is held: a weight for each class if `dense`, else `size` times a weight and its class.
    struct Laid {
        const double* weights;
        std::size_t size;
        bool dense;

        // Where the weight of a class is; `size` where it has none.
        std::size_t place(std::uint64_t of) const {
            if (dense) return of;
            std::size_t k = 0;
            while (k < size && label(weights + 2 * k) != of) ++k;
            return k;
        }
        double operator[](std::size_t k) const { return weights[dense ? k : 2 * k]; }

        // use(class, weight) for each class that has one; of a dense row some may be 0.
        template <class Use>
        void each(std::size_t classes, Use&& use) const {
            for (std::size_t k = 0; k < (dense ? classes : size); ++k) use(dense ? k : label(weights + 2 * k), (*this)[k]);
        }
    };
    // Of an entry of a bag that `look_up` filled in.
    Laid laid(const Bag::Entry& entry) const { return laid(entry.id().shard, std::bit_cast<Row>(entry.row)); }
    double of_class(TermId id, std::uint64_t label) const {
        const Laid here = laid(id.shard, row(id));
        const std::size_t k = here.place(label);
        return here.dense || k < here.size ? here[k] : 0;
    }
    static std::uint64_t label(const double* weight) { return std::bit_cast<std::uint64_t>(weight[1]); }

    void expect_weights(const Bag::Entry& entry) const {
        for (const int line : {0, 64, 128}) __builtin_prefetch(reinterpret_cast<const char*>(laid(entry).weights) + line);
    }

    // Fills in the places of a bag's terms, and of their weights, which prepare(id) may put there first.
    template <class Prepare>
    void look_up(const Table& table, Bag& bag, Prepare&& prepare) const {
        table.look_up(bag, [&](Bag::Entry* entries, std::size_t number) {
            const auto each_known = [&](auto&& use) {
                for (std::size_t i = 0; i < number; ++i)
                    if (entries[i].term != Shard::absent) use(entries[i]);
            };
            each_known([&](const Bag::Entry& entry) { __builtin_prefetch(&row(entry.id())); });
            each_known([&](Bag::Entry& entry) {
                prepare(entry.id());
                entry.row = std::bit_cast<std::uint64_t>(row(entry.id()));
            });
        });
    }

    // Adds factor(term) times its weights to the scores, for each term of the vocabulary in a bag that `look_up` filled in.
    // Which kind of row a term has is as good as chance: rows are sorted by kind without a branch, and their memory is asked
    // for ahead of time.
    template <class Factor>
    void add(const Bag& bag, double* scores, Factor&& factor) const {
        constexpr std::size_t together = 128;
        Part dense[together], sparse[together];
        double sums[most_dense] = {};
        for (std::size_t first = 0; first < bag.size(); first += together) {
            std::size_t denses = 0, sparses = 0;
            for (std::size_t i = first; i < std::min(first + together, bag.size()); ++i) {
                const Bag::Term term = bag[i];
                const auto here = std::bit_cast<Row>(term.entry.row);
                if (!here.size) continue;
                const Part part{weights(term.id().shard, here), factor(term), here.size};
                const std::size_t last = (here.dense ? width() : 2 * here.size) - 1;
                for (const std::size_t line : {0, 8, 16}) __builtin_prefetch(part.weights + std::min(line, last));
                dense[denses] = part;
                sparse[sparses] = part;
                denses += here.dense;
                sparses += !here.dense;
            }
            if (denses) sum(dense, denses, width(), sums);
            for (const Part* part = sparse; part < sparse + sparses; ++part) {
                for (const double *at = part->weights, *end = at + 2 * part->size; at < end; at += 2) scores[label(at)] += part->factor * *at;
            }
        }
        for (std::size_t c = 0; c < std::min(classes_, most_dense); ++c) scores[c] += sums[c];
    }

private:
    static constexpr std::size_t lanes = 8, most_dense = 64;

    struct Row {  // see `Laid`; of size 0 outside the vocabulary
        std::uint64_t offset : 39 = 0, size : 24 = 0, dense : 1 = 0;
    };
    struct Rows {  // of a shard
        Array<Row> rows;
        Array<double> dense, sparse;  // a dense row begins where a line of the cache does
    };

    const Row& row(TermId id) const { return shards_[id.shard].rows[id.term]; }
    const double* weights(std::uint32_t shard, Row row) const {
        return (row.dense ? shards_[shard].dense : shards_[shard].sparse).data() + row.offset;
    }
    Laid laid(std::uint32_t shard, Row row) const { return {weights(shard, row), row.size, row.dense != 0}; }
    std::size_t width() const { return (classes_ + lanes - 1) / lanes * lanes; }  // of a dense row

    static void sum(const Part* parts, std::size_t number, std::size_t columns, double* sums);

    std::size_t classes_ = 0;
    Rows shards_[Table::shards];
};
