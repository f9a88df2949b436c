// Class-by-term counts: a growing vocabulary, and for each term the classes that have seen it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <limits>
#include <memory>
#include <stdexcept>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "bag.hpp"
#include "growing.hpp"
#include "stored.hpp"

// The part of the counts whose terms share the top bits of their hash, so that parts can be merged side by side. It can be
// read as soon as it is stored, and changed once it is open; terms keep their numbers.
class Shard {
public:
    static constexpr std::uint32_t absent = std::numeric_limits<std::uint32_t>::max();

    std::uint32_t find(const Key& key) const {
        if (slots_.empty()) return absent;
        for (std::size_t i = tag(key.hashed) & mask_;; i = (i + 1) & mask_) {
            const Slot slot = slots_[i];
            if (slot.term == absent) return absent;
            if (slot.tag != tag(key.hashed)) continue;
            if (is(key, slot.term)) return slot.term;
        }
    }

    std::uint32_t find_or_add(const Key& key) {
        const std::uint32_t found = find(key);
        if (found != absent) return found;
        add(key);
        return size() - 1;
    }

    // Adds what was tallied of documents of one class: of so many entries of their bag. What is needed of several is asked
    // for ahead of time.
    void count(std::uint32_t label, const Bag& bag, const std::uint32_t* entries, std::size_t number) {
        constexpr std::size_t together = 32;
        std::array<Term*, together> rows;
        for (std::size_t few; number; number -= few, entries += few) {
            few = std::min(together, number);
            for (std::size_t i = few; i < std::min(2 * together, number); ++i) bag.expect(entries[i]);
            for (std::size_t i = 0; i < few; ++i) expect_slot(bag.entry(entries[i]).hashed);
            for (std::size_t i = 0; i < few; ++i) expect_term(bag.entry(entries[i]).hashed);
            for (std::size_t i = 0; i < few; ++i) {
                rows[i] = &row(bag.entry(entries[i]).key());
                expect_cell(*rows[i], label);
            }
            for (std::size_t i = 0; i < few; ++i) {
                const Bag::Sum sum = bag.sum(entries[i]);
                count(*rows[i], {label, sum.documents, sum.occurrences, sum.masses});
            }
        }
    }

    // New counts, of which these terms with these hashes are part of the shard.
    void store(std::shared_ptr<const Stored> counts, std::vector<Stored::Place> places, const std::vector<std::uint64_t>& hashes) {
        stored_ = std::move(counts);
        places_ = std::move(places);
        rehash(room_for(places_.size()));
        for (std::uint32_t term = 0; term < places_.size(); ++term) place({tag(hashes[term]), term});
    }

    // Makes ready for change.
    void open() {
        if (!stored_) return;
        Shard opened;
        for (const Stored::Place& place : places_) {
            Term& term = opened.append(stored_->key(place));
            opened.expect_cells(term, place.cells);
            for (std::uint64_t i = place.first; i < place.first + place.cells; ++i) opened.count(term, stored_->cells[i]);
        }
        opened.slots_ = std::move(slots_);
        opened.mask_ = mask_;
        *this = std::move(opened);
    }

    // The memory accesses of a look-up and of a count, asked for ahead of time.
    void expect_slot(std::uint64_t hashed) const {
        if (!slots_.empty()) __builtin_prefetch(&slots_[tag(hashed) & mask_]);
    }
    void expect_term(std::uint64_t hashed) const {
        if (slots_.empty()) return;
        const Slot slot = slots_[tag(hashed) & mask_];
        if (slot.term != absent) expect_term_at(slot.term);
    }
    void expect_term_at(std::uint32_t term) const {
        if (stored_) __builtin_prefetch(&places_[term]);
        else __builtin_prefetch(&terms_[term]);
    }
    void expect_cell(std::uint32_t term, std::uint32_t label) const {
        if (stored_) return;
        expect_cell(terms_[term], label);
    }

    std::uint32_t size() const { return static_cast<std::uint32_t>(stored_ ? places_.size() : terms_.size()); }

    // Both stay until a term is added.
    std::string_view text(std::uint32_t term) const { return stored_ ? stored_->text(places_[term]) : text(terms_[term]); }
    Key key(std::uint32_t term) const {
        if (stored_) return stored_->key(places_[term]);
        const Term& known = terms_[term];
        return {known.low, known.high, known.hashed, text(known).data(), known.size};
    }

    // Calls use(cell) for each class that has seen the term.
    template <class Use>
    void each(std::uint32_t term, Use&& use) const {
        for (const Cell *cell = first(term), *end = cell + places(term); cell < end; ++cell)
            if (cell->label != absent && cell->occurrences) use(*cell);
    }

    // At the most so many classes have seen the term.
    std::uint32_t places(std::uint32_t term) const { return stored_ ? places_[term].cells : places(terms_[term]); }

    const Cell* cell(std::uint32_t term, std::uint32_t label) const {
        const Cell* cells = first(term);
        const std::uint32_t room = places(term);
        for (std::uint32_t i = 0; i < room; ++i) {
            const Cell& here = cells[stored_ ? i : (label + i) & (room - 1)];
            if (here.label == label) return &here;
            if (here.label == absent) break;
        }
        return nullptr;
    }

    void count(std::uint32_t term, const Cell& more) { count(terms_[term], more); }

    void check_room(std::uint32_t term, const Cell& more) const {
        if (const Cell* mine = cell(term, more.label)) check_room(*mine, more);
    }

    // Whether `less` can be part of what a class has seen of a term, in which `left` documents are to remain.
    bool covers(std::uint32_t term, const Cell& less, std::uint64_t left) const {
        const Cell* mine = cell(term, less.label);
        if (!mine || mine->documents < less.documents || mine->occurrences < less.occurrences || mine->mass < less.mass) return false;
        const std::uint64_t documents = mine->documents - less.documents, occurrences = mine->occurrences - less.occurrences;
        return documents <= left && occurrences >= documents && (documents > 0 || (occurrences == 0 && mine->mass == less.mass));
    }

    void uncount(std::uint32_t term, const Cell& less) {
        Cell& mine = claim(terms_[term], less.label);
        mine.documents -= less.documents;
        mine.occurrences -= less.occurrences;
        mine.mass -= less.mass;
    }

    std::size_t memory() const {
        std::size_t stored = places_.capacity() * sizeof(Stored::Place);
        for (const Stored::Place& place : places_) stored += place.size + 1 + place.cells * sizeof(Cell);
        return stored + slots_.capacity() * sizeof(Slot) + terms_.memory() + cells_.memory() + bytes_.memory();
    }

private:
    struct Slot {
        std::uint32_t tag = 0, term = absent;
    };
    // With `room` 0 a term has one cell, beside it; else an open-addressing table of `room`, a power of two, at `row`.
    // Up to four of these may be full.
    struct alignas(64) Term {
        std::uint64_t low, high, hashed;
        std::uint64_t offset;  // of the bytes of a term that does not lie in the two numbers
        std::uint32_t size, room = 0;
        union {
            Cell only = {absent, 0, 0, 0};
            std::uint64_t row;
        };

        Term(const Key& key, std::uint64_t at) : low(key.low), high(key.high), hashed(key.hashed), offset(at), size(key.size) {}
    };

    const char* long_bytes(const Term& term) const { return term.size > Key::inside ? &bytes_[term.offset] : nullptr; }
    std::string_view text(const Term& term) const {
        return {term.size > Key::inside ? &bytes_[term.offset] : reinterpret_cast<const char*>(&term.low), term.size};
    }
    const Cell* first(const Term& term) const { return term.room ? &cells_[term.row] : &term.only; }
    const Cell* first(std::uint32_t term) const { return stored_ ? &stored_->cells[places_[term].first] : first(terms_[term]); }
    static std::uint32_t places(const Term& term) { return std::max(term.room, 1u); }

    static void check_room(const Cell& mine, const Cell& more) {
        if (mine.documents > std::numeric_limits<std::uint32_t>::max() - more.documents ||
            mine.occurrences > std::numeric_limits<std::uint64_t>::max() - more.occurrences)
            throw std::overflow_error("more than 4,294,967,295 documents of one class hold the same term");
    }

    Term& row(const Key& key) {
        const std::uint32_t found = find(key);
        return found != absent ? terms_[found] : add(key);
    }

    // A term that is not there.
    Term& add(const Key& key) {
        if (terms_.size() + 1 >= absent) throw std::length_error("the vocabulary is full: more than 4 billion terms");
        if (2 * (terms_.size() + 1) > slots_.size()) rehash(slots_.empty() ? 64 : 2 * slots_.size());
        const auto term = static_cast<std::uint32_t>(terms_.size());
        Term& row = append(key);
        place({tag(key.hashed), term});
        return row;
    }

    Term& append(const Key& key) {
        std::uint64_t bytes = 0;
        if (key.size > Key::inside) {
            bytes = bytes_.run(key.size);
            std::memcpy(&bytes_[bytes], key.bytes, key.size);
        }
        return terms_.add(key, bytes);
    }

    static std::size_t room_for(std::size_t terms) { return std::bit_ceil(std::max<std::size_t>(2 * terms, 64)); }

    bool is(const Key& key, std::uint32_t term) const {
        if (stored_) return text(term) == std::string_view(key.bytes, key.size);
        const Term& known = terms_[term];
        return key.is(known.low, known.high, known.size, long_bytes(known));
    }

    // Room for the cells of a new term, so that it need not grow to it.
    void expect_cells(Term& term, std::uint64_t cells) {
        const std::uint64_t room = std::bit_ceil(cells <= 4 ? cells : cells + cells / 3);
        if (room > places(term) && room < absent) widen(term, static_cast<std::uint32_t>(room));
    }

    static std::uint32_t tag(std::uint64_t hashed) { return static_cast<std::uint32_t>(hashed); }

    void place(Slot slot) {
        std::size_t i = slot.tag & mask_;
        while (slots_[i].term != absent) i = (i + 1) & mask_;
        slots_[i] = slot;
    }

    // A tag says where its slot belongs, so no term is looked at.
    void rehash(std::size_t room) {
        const auto before = std::exchange(slots_, Array<Slot>(room));
        mask_ = room - 1;
        for (const Slot& slot : before)
            if (slot.term != absent) place(slot);
    }

    void expect_cell(const Term& row, std::uint32_t label) const {
        if (row.room) __builtin_prefetch(&cells_[row.row] + (label & (row.room - 1)));
    }

    void count(Term& row, const Cell& more) {
        Cell& mine = claim(row, more.label);
        check_room(mine, more);
        mine.documents += more.documents;
        mine.occurrences += more.occurrences;
        mine.mass += more.mass;
    }

    Cell& claim(Term& row, std::uint32_t label) {
        Cell* cells = row.room ? &cells_[row.row] : &row.only;
        const std::uint32_t room = places(row);
        for (std::uint32_t i = 0; i < room; ++i) {
            Cell& here = cells[(label + i) & (room - 1)];
            if (here.label == label) return here;
            if (here.label == absent) {
                const bool crowded = room > 4 && i > 4 && i > room / 8;
                if (crowded) break;
                here.label = label;
                return here;
            }
        }
        widen(row, room < 4 ? 4 : 2 * room);
        return claim(row, label);
    }

    void widen(Term& row, std::uint32_t room) {
        const auto level = static_cast<std::size_t>(std::countr_zero(room));
        if (free_.size() <= level) free_.resize(level + 1);
        std::uint64_t offset;
        if (!free_[level].empty()) {
            offset = free_[level].back();
            free_[level].pop_back();
        } else {
            offset = cells_.run(room);
        }
        Cell* const cells = &cells_[offset];
        std::fill_n(cells, room, Cell{absent, 0, 0, 0});
        const Cell* old = first(row);
        for (std::uint32_t i = 0; i < places(row); ++i) {
            if (old[i].label == absent) continue;
            std::uint32_t j = old[i].label & (room - 1);
            while (cells[j].label != absent) j = (j + 1) & (room - 1);
            cells[j] = old[i];
        }
        if (row.room) free_[static_cast<std::size_t>(std::countr_zero(row.room))].push_back(row.row);
        row.row = offset;
        row.room = room;
    }

    Array<Slot> slots_;
    std::size_t mask_ = 0;
    Growing<Term> terms_;
    Growing<char> bytes_;
    Growing<Cell> cells_;
    std::vector<std::vector<std::uint64_t>> free_;
    std::shared_ptr<const Stored> stored_;  // until it is open
    std::vector<Stored::Place> places_;
};

class Table {
public:
    static constexpr std::size_t shards = 16;

    static std::uint32_t shard_of(std::uint64_t hashed) { return static_cast<std::uint32_t>(hashed >> 60); }

    TermId find(const Key& key) const {
        const std::uint32_t shard = shard_of(key.hashed);
        return {shard, parts_[shard].find(key)};
    }

    // Fills in the place of each term of a bag; of terms that are not in the vocabulary it is `Shard::absent`. Calls
    // then(entries, number) for some at a time of those that it has filled in.
    template <class Then>
    void look_up(Bag& bag, Then&& then) const {
        fill_in(bag, [&](const Bag::Entry& entry) { return part(entry).find(entry.key()); }, then);
    }
    void look_up(Bag& bag) const {
        look_up(bag, [](Bag::Entry*, std::size_t) {});
    }

    // The same, but every term becomes part of the vocabulary.
    void place(Bag& bag) {
        fill_in(bag, [&](const Bag::Entry& entry) { return parts_[shard_of(entry.hashed)].find_or_add(entry.key()); },
                [](Bag::Entry*, std::size_t) {});
    }

    // Adds what was tallied of documents of one class. Several threads may add at a time, and begin with other shards.
    void add(Bag& bag, std::uint32_t label, std::size_t thread) {
        std::array<std::uint32_t, shards + 1> ends{};
        for (std::size_t e = 0; e < bag.known(); ++e) ends[shard_of(bag.spelled(e).hashed) + 1] += bag.sum(e).documents > 0;
        std::partial_sum(ends.begin(), ends.end(), ends.begin());
        std::vector<std::uint32_t> order(bag.known());
        auto next = ends;
        for (std::uint32_t e = 0; e < bag.known(); ++e)
            if (bag.sum(e).documents) order[next[shard_of(bag.entry(e).hashed)]++] = e;
        for (std::size_t k = 0; k < shards; ++k) {
            const std::size_t s = (k + thread * shards / 2) % shards;
            if (ends[s] == ends[s + 1]) continue;
            const std::lock_guard lock(adding_[s]);
            parts_[s].count(label, bag, order.data() + ends[s], ends[s + 1] - ends[s]);
        }
    }

    Shard& part(std::size_t shard) { return parts_[shard]; }
    const Shard& part(std::size_t shard) const { return parts_[shard]; }

private:
    static constexpr std::size_t together = 32;

    const Shard& part(const Bag::Entry& entry) const { return parts_[shard_of(entry.hashed)]; }

    // The memory accesses of several look-ups are asked for ahead of time.
    template <class Find, class Then>
    void fill_in(Bag& bag, Find&& find, Then&& then) const {
        bag.each_new([&](Bag::Entry* entries, std::size_t number) {
            for (std::size_t first = 0; first < number; first += together) {
                const std::size_t few = std::min(together, number - first);
                Bag::Entry* some = entries + first;
                for (std::size_t i = 0; i < few; ++i) part(some[i]).expect_slot(some[i].hashed);
                for (std::size_t i = 0; i < few; ++i) part(some[i]).expect_term(some[i].hashed);
                for (std::size_t i = 0; i < few; ++i) some[i].term = find(some[i]);
                then(some, few);
            }
        });
    }

    Shard parts_[shards];
    std::mutex adding_[shards];
};
