// Terms: the class-by-term counts that Python holds.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "terms.hpp"
#include "texts.hpp"
#include "tokens.hpp"

class Terms {
public:
    Terms(int shortest_gram, int longest_gram, int shortest_chars, int longest_chars)
        : rules_{shortest_gram, longest_gram, shortest_chars, longest_chars} {
        if (shortest_gram < 1 || longest_gram < shortest_gram || shortest_chars < 0 || longest_chars < shortest_chars ||
            (longest_chars && !shortest_chars))
            throw std::invalid_argument("the lengths of n-grams are out of order");
    }


    Terms(const Terms&) = delete;
    Terms& operator=(const Terms&) = delete;

    const TokenRules& rules() const { return rules_; }
    bool grams() const { return rules_.longest_gram > 1; }
    Table& table() { return tables_[0]->table; }
    const Table& table() const { return tables_[0]->table; }
    std::string_view text(TermId id) const { return table().part(id.shard).text(id.term); }
    std::uint64_t version() const { return version_; }

    // Whether any class has seen the term: one that was counted and forgotten is not known.
    bool known(TermId id) const {
        bool any = false;
        table().part(id.shard).each(id.term, [&](const Cell&) { any = true; });
        return any;
    }

    // Each thread counts into a table of its own; `settle` adds them up.
    void count(const Texts& texts, const std::vector<std::uint32_t>& labels, int threads) {
        ++version_;
        while (tables_.size() < static_cast<std::size_t>(std::max(threads, 1))) tables_.push_back(std::make_unique<Counting>());
        std::vector<Tokeniser<Bag>> tokenisers;
        tokenisers.reserve(tables_.size());
        for (auto& counting : tables_) tokenisers.emplace_back(rules_, counting->bag);
        share(texts.size(), 16, threads, [&](int thread, std::size_t i) {
            Counting& counting = *tables_[static_cast<std::size_t>(thread)];
            counting.bag.begin();
            texts.run(i, tokenisers[static_cast<std::size_t>(thread)]);
            counting.bag.weigh(grams());
            counting.table.count(counting.bag, labels[i]);
        });
    }

    void settle() {
        const int threads = static_cast<int>(tables_.size());
        for (; tables_.size() > 1; tables_.pop_back()) add(tables_.back()->table, {}, threads);
    }

    void merge(Terms& other, const std::vector<std::uint32_t>& to, int threads) {
        ++version_;
        settle();
        other.settle();
        other.each([&](const Shard& part, std::uint32_t term, Cell cell) {
            cell.label = to.at(cell.label);
            const TermId id = table().find(part.key(term));
            if (id.term != Shard::absent) table().part(id.shard).check_room(id.term, cell);
        });
        add(other.table(), to, threads);
    }

    // A term of which `other` has counts that can't be part of those here, or that more than the `left` documents of a
    // class would still hold; empty if there is none.
    std::string uncovered(Terms& other, const std::vector<std::uint32_t>& to, const std::vector<std::uint64_t>& left) {
        settle();
        other.settle();
        std::string found;
        other.each([&](const Shard& part, std::uint32_t term, Cell cell) {
            cell.label = to.at(cell.label);
            const TermId id = table().find(part.key(term));
            if (id.term == Shard::absent || !table().part(id.shard).covers(id.term, cell, left.at(cell.label))) found = part.text(term);
        });
        std::vector<bool> touched(left.size());
        for (const auto label : to) touched.at(label) = true;
        each([&](const Shard& part, std::uint32_t term, const Cell& cell) {
            if (!touched.at(cell.label) || cell.documents <= left.at(cell.label)) return;
            const TermId id = other.table().find(part.key(term));
            std::uint64_t less = 0;
            if (id.term != Shard::absent)
                other.table().part(id.shard).each(id.term, [&](const Cell& c) {
                    if (to[c.label] == cell.label) less += c.documents;
                });
            if (cell.documents - less > left[cell.label]) found = part.text(term);
        });
        return found;
    }

    void subtract(Terms& other, const std::vector<std::uint32_t>& to, const std::vector<std::uint64_t>& left) {
        if (!uncovered(other, to, left).empty()) throw std::invalid_argument("counts would go negative");
        ++version_;
        other.each([&](const Shard& part, std::uint32_t term, Cell cell) {
            cell.label = to.at(cell.label);
            const TermId id = table().find(part.key(term));
            table().part(id.shard).uncount(id.term, cell);
        });
    }

    void copy_words(const Terms& other) {
        other.each([&](const Shard& part, std::uint32_t term, const Cell& cell) {
            const Key key = part.key(term);
            if (part.text(term).find(' ') != std::string_view::npos) return;
            Shard& mine = table().part(Table::shard_of(key.hashed));
            mine.count(mine.find_or_add(key), cell);
        });
    }

    void reserve(std::size_t terms, std::size_t cells, std::size_t bytes) {
        const auto part = [](std::size_t all) { return all / Table::shards + all / 64 + 16; };
        for (std::size_t s = 0; s < Table::shards; ++s) table().part(s).reserve(part(terms), part(cells), part(bytes));
    }

    std::size_t memory() const {
        std::size_t bytes = 0;
        for (const auto& counting : tables_)
            for (std::size_t s = 0; s < Table::shards; ++s) bytes += counting->table.part(s).memory();
        return bytes;
    }

private:
    struct Counting {
        Table table;
        Bag bag;
    };
    template <class Use>
    void each(Use&& use) const {
        for (std::size_t s = 0; s < Table::shards; ++s) {
            const Shard& part = table().part(s);
            for (std::uint32_t term = 0; term < part.size(); ++term)
                part.each(term, [&](const Cell& cell) { use(part, term, cell); });
        }
    }

    // Adds a table shard by shard; with an empty `to` its classes are the same as here.
    void add(const Table& other, const std::vector<std::uint32_t>& to, int threads) {
        share(Table::shards, 1, threads, [&](int, std::size_t s) {
            const Shard& theirs = other.part(s);
            Shard& mine = table().part(s);
            for (std::uint32_t term = 0; term < theirs.size(); ++term) {
                std::uint32_t here = Shard::absent;
                theirs.each(term, [&](Cell cell) {
                    if (here == Shard::absent) here = mine.find_or_add(theirs.key(term));
                    if (!to.empty()) cell.label = to.at(cell.label);
                    mine.count(here, cell);
                });
            }
        });
    }

    TokenRules rules_;
    std::vector<std::unique_ptr<Counting>> tables_ = [] {
        std::vector<std::unique_ptr<Counting>> first;
        first.push_back(std::make_unique<Counting>());
        return first;
    }();
    std::uint64_t version_ = 0;
};
