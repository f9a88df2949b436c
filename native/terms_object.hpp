// Terms: the class-by-term counts that Python holds.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
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
    Table& table() { return table_; }
    const Table& table() const { return table_; }
    std::string_view text(TermId id) const { return table().part(id.shard).text(id.term); }
    std::uint64_t version() const { return version_; }

    std::size_t size() const {
        std::size_t terms = 0;
        for (std::size_t s = 0; s < Table::shards; ++s) terms += table().part(s).size();
        return terms;
    }

    // Whether any class has seen the term: one that was counted and forgotten is not known.
    bool known(TermId id) const {
        bool any = false;
        table().part(id.shard).each(id.term, [&](const Cell&) { any = true; });
        return any;
    }

    // Documents are counted class by class: each thread tallies those of one class in a bag before the table is asked.
    void count(const Texts& texts, const std::vector<std::uint32_t>& labels, int threads) {
        change(threads);
        const auto order = by_class(labels);
        const auto workers = static_cast<std::size_t>(std::max(threads, 1));
        std::vector<Bag> bags(workers);
        std::vector<std::uint32_t> label(workers, Shard::absent);
        std::vector<Tokeniser<Bag>> tokenisers;
        tokenisers.reserve(workers);
        for (Bag& bag : bags) tokenisers.emplace_back(rules_, bag);
        const auto add = [&](std::size_t thread) {
            if (bags[thread].known()) table_.add(bags[thread], label[thread], thread);
            bags[thread].clear();
        };
        const auto at = [&](std::size_t i) { return order.empty() ? i : order[std::min(i, order.size() - 1)]; };
        share(texts.size(), 16, threads, [&](int worker, std::size_t i) {
            const auto thread = static_cast<std::size_t>(worker);
            if (!order.empty()) texts.expect(at(i + Texts::ahead), at(i + 2 * Texts::ahead));
            const std::size_t text = at(i);
            Bag& bag = bags[thread];
            if (label[thread] != labels[text] || bag.full_of_counts()) add(thread);
            label[thread] = labels[text];
            texts.run(text, tokenisers[thread]);
            bag.tally();
        });
        share(workers, 1, threads, [&](int, std::size_t thread) { add(thread); });
    }

    void merge(Terms& other, const std::vector<std::uint32_t>& to, int threads) {
        change(threads);
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
        std::string found;
        other.each([&](const Shard& part, std::uint32_t term, Cell cell) {
            cell.label = to.at(cell.label);
            const TermId id = table().find(part.key(term));
            if (id.term == Shard::absent || !table().part(id.shard).covers(id.term, cell, left.at(cell.label))) found = part.text(term);
        });
        if (!found.empty()) return found;
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
        change(1);
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

    std::size_t memory() const {
        std::size_t bytes = 0;
        for (std::size_t s = 0; s < Table::shards; ++s) bytes += table().part(s).memory();
        return bytes;
    }

private:
    void change(int threads) {
        ++version_;
        share(Table::shards, 1, threads, [this](int, std::size_t s) { table_.part(s).open(); });
    }

    // The places of the labels in their order; nothing if they are in order.
    static std::vector<std::size_t> by_class(const std::vector<std::uint32_t>& labels) {
        std::vector<std::size_t> order;
        if (std::is_sorted(labels.begin(), labels.end())) return order;
        order.resize(labels.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::vector<std::size_t> before(labels.size());
        const std::uint32_t last = *std::max_element(labels.begin(), labels.end());
        for (int bits = 0; bits < 32 && last >> bits; bits += 8) {  // by each byte of the labels
            const auto byte = [&](std::size_t i) { return labels[i] >> bits & 0xFF; };
            std::array<std::size_t, 257> next{};
            for (const std::size_t i : order) ++next[byte(i) + 1];
            std::partial_sum(next.begin(), next.end(), next.begin());
            order.swap(before);
            for (const std::size_t i : before) order[next[byte(i)]++] = i;
        }
        return order;
    }

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
    Table table_;
    std::uint64_t version_ = 0;
};
