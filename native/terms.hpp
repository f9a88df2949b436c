// Class-by-term counts: a growing vocabulary, and for each term the classes that have seen it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <vector>

// What one class has seen of one term. The mass is the sum, over documents with the term f times, of ln(1 + f) divided
// by the Euclidean norm of these over the document's words (or its n-grams), in units of 2^-20: a whole number, so
// that it adds and subtracts exactly.
struct Cell {
    std::uint32_t label;
    std::uint32_t documents;
    std::uint64_t occurrences, mass;
};

template <class Word>
Word read(const char* bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

// The first eight bytes, or all of a shorter string, as a number; overlapping reads instead of a loop.
inline std::uint64_t load(const char* bytes, std::size_t size) {
    if (size >= 8) return read<std::uint64_t>(bytes);
    if (size >= 4)
        return read<std::uint32_t>(bytes) | std::uint64_t{read<std::uint32_t>(bytes + size - 4)} << 8 * (size - 4);
    if (size == 0) return 0;
    const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(bytes[i])} << 8 * i; };
    return byte(0) | byte(size / 2) | byte(size - 1);
}

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// The hash is fixed for good: tables of any two runs can be merged without hashing anew.
inline std::uint64_t hash(const char* bytes, std::size_t size, std::uint64_t prefix) {
    constexpr std::uint64_t a = 0x9E3779B97F4A7C15u, b = 0xD6E8FEB86659FD93u;
    std::uint64_t h = mix(prefix ^ a, size ^ b);
    while (size > 8) {
        bytes += 8;
        size -= 8;
        h = mix(h ^ load(bytes, size), a);
    }
    return h;
}

// A string with what is needed to find it again: its hash and its first eight bytes.
struct Key {
    const char* bytes;
    std::uint32_t size;
    std::uint64_t hashed, prefix;

    Key(const char* at, std::size_t length)
        : Key(at, length, load(at, length)) {}
    Key(const char* at, std::size_t length, std::uint64_t start)
        : bytes(at), size(static_cast<std::uint32_t>(length)), hashed(hash(at, length, start)), prefix(start) {}
    Key(const char* at, std::uint32_t length, std::uint64_t known, std::uint64_t start)
        : bytes(at), size(length), hashed(known), prefix(start) {}
};

// The part of the counts whose terms share the top bits of their hash, so that parts can be merged side by side.
class Shard {
public:
    static constexpr std::uint32_t absent = std::numeric_limits<std::uint32_t>::max();

    std::uint32_t find(const Key& key) const {
        if (slots_.empty()) return absent;
        for (std::size_t i = key.hashed & mask_;; i = (i + 1) & mask_) {
            const Slot slot = slots_[i];
            if (slot.term == absent || (slot.tag == tag(key.hashed) && is(terms_[slot.term], key))) return slot.term;
        }
    }

    std::uint32_t find_or_add(const Key& key) {
        const std::uint32_t found = find(key);
        return found != absent ? found : add(key);
    }

    // The memory accesses of a look-up and of a count, asked for ahead of time.
    void expect_slot(std::uint64_t hashed) const {
        if (!slots_.empty()) __builtin_prefetch(&slots_[hashed & mask_]);
    }
    void expect_term(std::uint64_t hashed) const {
        if (slots_.empty()) return;
        const Slot slot = slots_[hashed & mask_];
        if (slot.term != absent) __builtin_prefetch(&terms_[slot.term]);
    }
    void expect_cell(std::uint32_t term, std::uint32_t label) const {
        const Term& row = terms_[term];
        __builtin_prefetch(cells_.data() + row.row + (label & (row.room - 1)));
    }

    std::uint32_t size() const { return static_cast<std::uint32_t>(terms_.size()); }

    std::string_view text(std::uint32_t term) const {
        return {bytes_.data() + terms_[term].offset, terms_[term].size};
    }

    Key key(std::uint32_t term) const {
        const Term& known = terms_[term];
        return {bytes_.data() + known.offset, known.size, hashes_[term], known.prefix};
    }

    // Calls use(cell) for each class that has seen the term.
    template <class Use>
    void each(std::uint32_t term, Use&& use) const {
        const Term& row = terms_[term];
        for (std::uint32_t i = 0; i < row.room; ++i) {
            const Cell& cell = cells_[row.row + i];
            if (cell.label != absent && cell.occurrences) use(cell);
        }
    }

    const Cell* cell(std::uint32_t term, std::uint32_t label) const {
        const Term& row = terms_[term];
        for (std::uint32_t i = 0; i < row.room; ++i) {
            const Cell& here = cells_[row.row + ((label + i) & (row.room - 1))];
            if (here.label == label) return &here;
            if (here.label == absent) break;
        }
        return nullptr;
    }

    void count(std::uint32_t term, const Cell& more) {
        Cell& mine = claim(term, more.label);
        check_room(mine, more);
        mine.documents += more.documents;
        mine.occurrences += more.occurrences;
        mine.mass += more.mass;
    }

    void check_room(std::uint32_t term, const Cell& more) const {
        if (const Cell* mine = cell(term, more.label)) check_room(*mine, more);
    }

    // Whether `less` can be part of what a class has seen of a term, in which `left` documents are to remain.
    // Room for the cells of a new term, so that it need not grow to it.
    void expect_cells(std::uint32_t term, std::uint64_t cells) {
        const std::uint64_t room = std::bit_ceil(cells <= 4 ? cells : cells + cells / 3);
        if (room > terms_[term].room && room < absent) widen(terms_[term], static_cast<std::uint32_t>(room));
    }

    bool covers(std::uint32_t term, const Cell& less, std::uint64_t left) const {
        const Cell* mine = cell(term, less.label);
        if (!mine || mine->documents < less.documents || mine->occurrences < less.occurrences || mine->mass < less.mass) return false;
        const std::uint64_t documents = mine->documents - less.documents, occurrences = mine->occurrences - less.occurrences;
        return documents <= left && occurrences >= documents && (documents > 0 || (occurrences == 0 && mine->mass == less.mass));
    }

    void uncount(std::uint32_t term, const Cell& less) {
        Cell& mine = claim(term, less.label);
        mine.documents -= less.documents;
        mine.occurrences -= less.occurrences;
        mine.mass -= less.mass;
    }

    void reserve(std::size_t terms, std::size_t cells, std::size_t bytes) {
        terms_.reserve(terms);
        hashes_.reserve(terms);
        cells_.reserve(cells);
        bytes_.reserve(bytes);
        std::size_t room = 64;
        while (room < 2 * terms) room *= 2;
        if (room > slots_.size()) rehash(room);
    }

    std::size_t memory() const {
        return slots_.capacity() * sizeof(Slot) + terms_.capacity() * sizeof(Term) + hashes_.capacity() * sizeof(std::uint64_t) +
               cells_.capacity() * sizeof(Cell) + bytes_.capacity();
    }

private:
    struct Slot {
        std::uint32_t tag, term;
    };
    struct Term {  // its cells are an open-addressing table of `room`, a power of two; up to four of them may be full
        std::uint64_t prefix, offset, row = 0;
        std::uint32_t size, room = 0;
    };

    static void check_room(const Cell& mine, const Cell& more) {
        if (mine.documents > std::numeric_limits<std::uint32_t>::max() - more.documents ||
            mine.occurrences > std::numeric_limits<std::uint64_t>::max() - more.occurrences)
            throw std::overflow_error("more than 4,294,967,295 documents of one class hold the same term");
    }

    static std::uint32_t tag(std::uint64_t hashed) { return static_cast<std::uint32_t>(hashed >> 24); }

    bool is(const Term& term, const Key& key) const {
        return term.prefix == key.prefix && term.size == key.size &&
               (key.size <= 8 || std::memcmp(bytes_.data() + term.offset + 8, key.bytes + 8, key.size - 8) == 0);
    }

    std::uint32_t add(const Key& key) {
        if (terms_.size() + 1 >= absent) throw std::length_error("the vocabulary is full: more than 4 billion terms");
        if (2 * (terms_.size() + 1) > slots_.size()) rehash(slots_.empty() ? 64 : 2 * slots_.size());
        const auto term = static_cast<std::uint32_t>(terms_.size());
        terms_.push_back({.prefix = key.prefix, .offset = bytes_.size(), .size = key.size});
        hashes_.push_back(key.hashed);
        bytes_.insert(bytes_.end(), key.bytes, key.bytes + key.size);
        place(term);
        return term;
    }

    void place(std::uint32_t term) {
        std::size_t i = hashes_[term] & mask_;
        while (slots_[i].term != absent) i = (i + 1) & mask_;
        slots_[i] = {tag(hashes_[term]), term};
    }

    void rehash(std::size_t room) {
        slots_.assign(room, {0, absent});
        mask_ = room - 1;
        for (std::uint32_t term = 0; term < terms_.size(); ++term) place(term);
    }

    Cell& claim(std::uint32_t term, std::uint32_t label) {
        const Term& row = terms_[term];
        for (std::uint32_t i = 0; i < row.room; ++i) {
            Cell& here = cells_[row.row + ((label + i) & (row.room - 1))];
            if (here.label == label) return here;
            if (here.label == absent) {
                const bool crowded = row.room > 4 && i > 4 && i > row.room / 8;
                if (crowded) break;
                here.label = label;
                return here;
            }
        }
        widen(terms_[term], row.room ? 2 * row.room : 1);
        return claim(term, label);
    }

    void widen(Term& row, std::uint32_t room) {
        const auto level = static_cast<std::size_t>(std::countr_zero(room));
        if (free_.size() <= level) free_.resize(level + 1);
        std::uint64_t offset;
        if (!free_[level].empty()) {
            offset = free_[level].back();
            free_[level].pop_back();
        } else {
            offset = cells_.size();
            cells_.resize(cells_.size() + room);
        }
        for (std::uint32_t i = 0; i < room; ++i) cells_[offset + i] = {absent, 0, 0, 0};
        for (std::uint32_t i = 0; i < row.room; ++i) {
            const Cell cell = cells_[row.row + i];
            if (cell.label == absent) continue;
            std::uint32_t j = cell.label & (room - 1);
            while (cells_[offset + j].label != absent) j = (j + 1) & (room - 1);
            cells_[offset + j] = cell;
        }
        if (row.room) free_[static_cast<std::size_t>(std::countr_zero(row.room))].push_back(row.row);
        row.row = offset;
        row.room = room;
    }

    std::vector<Slot> slots_;
    std::size_t mask_ = 0;
    std::vector<Term> terms_;
    std::vector<std::uint64_t> hashes_;
    std::vector<char> bytes_;
    std::vector<Cell> cells_;
    std::vector<std::vector<std::uint64_t>> free_;
};

// A term of a sharded table.
struct TermId {
    std::uint32_t shard, term;
};

// The distinct terms of one document and how often each occurs. It lies apart from any vocabulary, small enough for
// the nearest cache, so that the vocabulary is asked once a distinct term, and ahead of time.
class Bag {
public:
    struct Entry {
        std::uint64_t hashed, prefix;
        const char* bytes;
        std::uint32_t size, times;
        TermId id;
        std::uint64_t mass;  // set by `weigh`
    };

    void begin() {
        size_ = 0;
        tokens_ = 0;
        if (++stamp_ == 0) {
            std::fill(slots_.begin(), slots_.end(), Slot{});
            stamp_ = 1;
        }
    }

    // For a token that stays where it is until the document ends, and behind which eight bytes can be read: no branch
    // on its length below eight, and none on whether it is new, which is as good as chance.
    void operator()(const char* bytes, std::size_t size) {
        const std::uint64_t all = read<std::uint64_t>(bytes);
        const Key key(bytes, size, size < 8 ? all & ((std::uint64_t{1} << 8 * size) - 1) : all);
        ++tokens_;
        for (std::size_t i = key.hashed & mask_;; i = (i + 1) & mask_) {
            Slot& slot = slots_[i];
            const bool fresh = slot.stamp != stamp_;
            const auto e = fresh ? static_cast<std::uint32_t>(size_) : slot.entry;
            entries_[size_] = {key.hashed, key.prefix, key.bytes, key.size, 0, {}, 0};
            Entry& entry = entries_[e];
            if (entry.hashed != key.hashed || entry.prefix != key.prefix || entry.size != key.size) continue;
            if (key.size > 8 && std::memcmp(entry.bytes + 8, key.bytes + 8, key.size - 8) != 0) continue;
            ++entry.times;
            slot = {stamp_, e};
            size_ += fresh;
            if (size_ == entries_.size()) widen();
            return;
        }
    }

    // Gives each term its mass; with `pairs`, terms that hold a blank are n-grams, with a norm of their own.
    void weigh(bool pairs) {
        double norm[2] = {0, 0};
        for (std::size_t i = 0; i < size_; ++i) {
            const double x = damped(entries_[i].times);
            norm[pairs && is_gram(entries_[i])] += x * x;
        }
        for (double& n : norm) n = n > 0 ? unit / std::sqrt(n) : 0;
        for (std::size_t i = 0; i < size_; ++i) {
            Entry& entry = entries_[i];
            entry.mass = static_cast<std::uint64_t>(std::llrint(damped(entry.times) * norm[pairs && is_gram(entry)]));
        }
    }

    static constexpr double unit = 1 << 20;
    static constexpr std::size_t damped_size = 64;
    static const double* damped_table() {
        static const auto logs = [] {
            std::array<double, damped_size> table{};
            for (std::size_t f = 0; f < table.size(); ++f) table[f] = std::log1p(static_cast<double>(f));
            return table;
        }();
        return logs.data();
    }
    static double damped(std::uint32_t times) {
        return times < damped_size ? damped_table()[times] : std::log1p(static_cast<double>(times));
    }
    static bool is_gram(const Entry& entry) { return std::memchr(entry.bytes, ' ', entry.size) != nullptr; }

    std::size_t size() const { return size_; }
    std::uint64_t tokens() const { return tokens_; }
    Entry& operator[](std::size_t i) { return entries_[i]; }
    const Entry& operator[](std::size_t i) const { return entries_[i]; }

    static Key key(const Entry& entry) { return {entry.bytes, entry.size, entry.hashed, entry.prefix}; }

private:
    struct Slot {
        std::uint32_t stamp = 0, entry = 0;
    };

    void widen() {
        entries_.resize(2 * entries_.size());
        slots_.assign(2 * slots_.size(), Slot{});
        mask_ = slots_.size() - 1;
        for (std::uint32_t e = 0; e < size_; ++e) {
            std::size_t i = entries_[e].hashed & mask_;
            while (slots_[i].stamp == stamp_) i = (i + 1) & mask_;
            slots_[i] = {stamp_, e};
        }
    }

    std::vector<Slot> slots_ = std::vector<Slot>(1024);
    std::size_t mask_ = 1023;
    std::vector<Entry> entries_ = std::vector<Entry>(512);
    std::size_t size_ = 0;
    std::uint64_t tokens_ = 0;
    std::uint32_t stamp_ = 0;
};

class Table {
public:
    static constexpr std::size_t shards = 16;

    static std::uint32_t shard_of(std::uint64_t hashed) { return static_cast<std::uint32_t>(hashed >> 60); }

    TermId find(const Key& key) const {
        const std::uint32_t shard = shard_of(key.hashed);
        return {shard, parts_[shard].find(key)};
    }

    // Fills in the ids of a bag's terms; terms that are not in the vocabulary become `Shard::absent`.
    void look_up(Bag& bag) const {
        look_up(bag, [&](std::uint32_t shard, const Key& key) { return parts_[shard].find(key); });
    }

    // The same, but every term becomes part of the vocabulary.
    void place(Bag& bag) {
        look_up(bag, [&](std::uint32_t shard, const Key& key) { return parts_[shard].find_or_add(key); });
    }

    void count(Bag& bag, std::uint32_t label) {
        place(bag);
        for (std::size_t i = 0; i < bag.size(); ++i) parts_[bag[i].id.shard].expect_cell(bag[i].id.term, label);
        for (std::size_t i = 0; i < bag.size(); ++i) parts_[bag[i].id.shard].count(bag[i].id.term, {label, 1, bag[i].times, bag[i].mass});
    }

    Shard& part(std::size_t shard) { return parts_[shard]; }
    const Shard& part(std::size_t shard) const { return parts_[shard]; }

private:
    template <class Find>
    void look_up(Bag& bag, Find&& find) const {
        constexpr std::size_t ahead = 32;
        for (std::size_t first = 0; first < bag.size(); first += ahead) {
            const std::size_t last = std::min(first + ahead, bag.size());
            for (std::size_t i = first; i < last; ++i) parts_[shard_of(bag[i].hashed)].expect_slot(bag[i].hashed);
            for (std::size_t i = first; i < last; ++i) parts_[shard_of(bag[i].hashed)].expect_term(bag[i].hashed);
            for (std::size_t i = first; i < last; ++i) {
                const std::uint32_t shard = shard_of(bag[i].hashed);
                bag[i].id = {shard, find(shard, Bag::key(bag[i]))};
            }
        }
    }

    Shard parts_[shards];
};
