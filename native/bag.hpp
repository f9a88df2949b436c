// The distinct terms of a document and how often each occurs.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "codes.hpp"
#include "grams.hpp"
#include "keys.hpp"
#include "memory.hpp"
#include "unicode.hpp"
#include "wide.hpp"

// Bytes that stay where they are until `clear`, after which their memory is used again.
class Store {
public:
    // Where the next `size` bytes can be written.
    char* room(std::size_t size) {
        while (current_ < blocks_.size() && used_ + size > blocks_[current_].size) next();
        if (current_ == blocks_.size()) {
            const std::size_t least = std::max(size, block);
            blocks_.push_back({std::make_unique_for_overwrite<char[]>(least), least});
        }
        return blocks_[current_].bytes.get() + used_;
    }
    void take(std::size_t size) { used_ += size; }
    void clear() { current_ = used_ = 0; }

private:
    static constexpr std::size_t block = 1 << 16;
    struct Block {
        std::unique_ptr<char[]> bytes;
        std::size_t size;
    };

    void next() {
        ++current_;
        used_ = 0;
    }

    std::vector<Block> blocks_;
    std::size_t current_ = 0, used_ = 0;
};

// A term of a sharded table.
struct TermId {
    std::uint32_t shard, term;
};

// Terms are kept from one document to the next, so that each is looked up in the vocabulary, or added to it, once for
// many documents; what the documents of one class add up to is kept beside them. The bag of a thousand documents lies
// in the second cache, where the vocabulary does not.
class Bag {
public:
    struct alignas(64) Entry {
        std::uint64_t low, high, hashed;
        const char* bytes;  // of a term that does not lie in the two numbers
        std::uint32_t size;
        std::uint32_t code;  // of a unit or two, else 0; its bytes are there once `spell` was called
        std::uint32_t term;  // its place in its shard, set by `Table::look_up`
        std::uint32_t mass;  // of the document, set by `weigh`
        bool gram;           // of more than one word
        std::uint64_t row;   // where its weights lie, set by `Weights::look_up`

        Key key() const { return {low, high, hashed, text().data(), size}; }
        std::string_view text() const { return {size > Key::inside ? bytes : reinterpret_cast<const char*>(&low), size}; }
        TermId id() const { return {static_cast<std::uint32_t>(hashed >> 60), term}; }

        void spell() {
            if (size) return;
            char text[8 + Key::padding];
            const Key key = Key::padded(text, unicode::spell(code, text));
            low = key.low;
            high = key.high;
            hashed = key.hashed;
            size = key.size;
        }

        // Copies the text; up to `Key::inside` bytes more may be written.
        void copy(char* to) const {
            if (size > Key::inside) std::memcpy(to, bytes, size);
            else std::memcpy(to, &low, Key::inside);
        }
    };

    // What a term was in the documents that were tallied.
    struct Sum {
        std::uint32_t documents = 0, occurrences = 0;
        std::uint64_t masses = 0;

        void add(const Sum& more) {
            documents += more.documents;
            occurrences += more.occurrences;
            masses += more.masses;
        }
    };

    static constexpr std::size_t some = 4095;  // documents are tallied in a number each; their masses add up to less than 2^32

    // A term of the document.
    struct Term {
        const Entry& entry;
        std::uint32_t times;

        Key key() const { return entry.key(); }
        std::string_view text() const { return entry.text(); }
        TermId id() const { return entry.id(); }
        std::uint32_t mass() const { return entry.mass; }
    };

    // The next document.
    void begin() {
        for (std::size_t i = 0; i < size_; ++i) times_[present_[i].entry] = 0;
        size_ = 0;
        tokens_ = 0;
        apart();
    }

    // No term, and nothing tallied.
    void clear() {
        const bool few = 16 * spelled_ <= slots_.size();
        if (!few) std::fill(slots_.begin(), slots_.end(), Slot{});
        for (std::uint32_t e = 0; e < known_; ++e) {
            const Entry& entry = entries_[e];
            if (entry.code) codes_.leave(entry.code);
            else if (few && !entry.gram) slots_[place(e)] = {};
        }
        spelled_ = 0;
        grams_.clear();
        long_.clear();
        sums_.clear();
        known_ = size_ = looked_up_ = 0;
        tallied_ = documents_ = 0;
    }

    // One token; `Key::padding` bytes can be read behind it.
    void operator()(const char* bytes, std::size_t size) {
        ++tokens_;
        note(find_or_add(Key::padded(bytes, size)), size_);
    }

    // The i-th word begins at edges[2 i] and ends at edges[2 i + 1]. The memory of several is asked for ahead of time.
    void words(const char* text, const std::uint32_t* edges, std::size_t number, std::size_t longest) {
        std::array<Key, together> keys;
        tokens_ += number;
        for (std::size_t few; number; number -= few, edges += 2 * few) {
            few = std::min(together, number);
            for (std::size_t i = 0; i < few; ++i) {
                const char* word = text + edges[2 * i];
                keys[i] = Key::padded(word, token_size(word, edges[2 * i + 1] - edges[2 * i], longest));
                __builtin_prefetch(&slots_[keys[i].hashed & mask_]);
            }
            std::size_t size = size_;  // in a register
            for (std::size_t i = 0; i < few; ++i) note(find_or_add(keys[i]), size);
            size_ = size;
        }
    }

    // Words as above, and their n-grams; joined(i) tells whether nothing but blanks lies between the i-th word and the one
    // before, which may be of the last call. A word is looked up once, and an n-gram by the numbers of its last word and
    // of what is before that; its text is made when it is met for the first time.
    template <class Joined>
    void grams(const char* text, const std::uint32_t* edges, std::size_t number, std::size_t longest, GramSizes sizes, Joined&& joined) {
        const std::size_t width = sizes.longest, shortest = sizes.shortest;
        ending_.resize((together + 1) * width);  // of each word the entries of the n-grams that end there, after those of the last call
        std::array<Key, together> keys;
        std::array<std::size_t, together + 1> depth;  // words that n-grams may reach back to
        depth[0] = joined_;
        for (std::size_t few, i = 0; i < number; i += few) {
            few = std::min(together, number - i);
            for (std::size_t k = 0; k < few; ++k) {
                const char* word = text + edges[2 * (i + k)];
                keys[k] = Key::padded(word, token_size(word, edges[2 * (i + k) + 1] - edges[2 * (i + k)], longest));
                __builtin_prefetch(&slots_[keys[k].hashed & mask_]);
            }
            std::uint32_t* const ends = ending_.data() + width;
            for (std::size_t k = 0; k < few; ++k) {
                ends[k * width] = find_or_add(keys[k]);
                depth[k + 1] = depth[k] && joined(i + k) ? std::min(depth[k] + 1, width) : 1;
            }
            for (std::size_t n = 2; n <= width; ++n) {
                const auto each = [&](auto&& use) {
                    for (std::size_t k = 0; k < few; ++k)
                        if (depth[k + 1] >= n) use(ends + k * width + n - 1, Grams::code(ends[k * width + n - 2 - width], ends[k * width]));
                };
                each([&](std::uint32_t*, std::uint64_t code) { grams_.expect(code); });
                each([&](std::uint32_t* to, std::uint64_t code) { *to = find_gram(code); });
            }
            std::size_t size = size_;  // in a register
            for (std::size_t k = 0; k < few; ++k) {
                if (shortest == 1) note(ends[k * width], size);
                for (std::size_t n = std::max<std::size_t>(shortest, 2); n <= depth[k + 1]; ++n) note(ends[k * width + n - 1], size, true);
                tokens_ += depth[k + 1] - std::min(depth[k + 1], shortest - 1);
            }
            size_ = size;
            std::copy_n(ends + (few - 1) * width, width, ending_.data());
            depth[0] = depth[few];
        }
        joined_ = depth[0];
    }

    // The next word is not joined to the last.
    void apart() { joined_ = 0; }

    // A unit, or two that are neighbours.
    void unit(std::uint32_t code) {
        codes_.open();
        ++tokens_;
        note(code >> 16 ? find_pair(code) : find_unit(code), size_);
    }

    // Units, and the pairs that they make.
    template <class Char>
    void units(const Char* text, std::size_t number) {
        codes_.open();
        std::size_t size = size_;  // in a register
        note(find_unit(text[0]), size);
        for (std::size_t i = 1; i < number; ++i) {
            note(find_unit(text[i]), size);
            note(find_pair(unicode::pair(text[i - 1], text[i])), size);
        }
        size_ = size;
        tokens_ += 2 * number - 1;
    }

    // Gives each term of the document its mass; n-grams have a norm of their own.
    void weigh() {
        const Norms norms = measure();
        for (std::size_t i = 0; i < size_; ++i)
            entries_[present_[i].entry].mass = mass(times_[present_[i].entry], norms[present_[i].gram]);
    }

    // Weighs the document, adds it to the sums, and begins the next one.
    void tally() {
        if (++documents_ % some == 0) settle();
        const Norms norms = measure();
        tallied_ += tokens_;
        std::array<std::array<std::uint64_t, steps>, 2> step;  // what a term adds that the document has so many times
        std::array<std::uint32_t, 2> made{};
        for (std::size_t i = 0; i < size_; ++i) {
            const auto [entry, gram] = present_[i];
            const std::uint32_t times = std::exchange(times_[entry], 0);
            if (times < steps) [[likely]] {
                for (; made[gram] <= times; ++made[gram]) step[gram][made[gram]] = packed(made[gram], norms[gram]);
                tallies_[entry] += step[gram][times];
            } else if (times <= most) {
                tallies_[entry] += packed(times, norms[gram]);
            } else {
                sums_.resize(known_);
                sums_[entry].add({1, times, mass(times, norms[gram])});
            }
        }
        size_ = 0;
        tokens_ = 0;
    }

    static constexpr double mass_unit = 1 << 20;
    static constexpr std::size_t damped_size = 64;
    static const double* damped_table() {
        static const auto logs = [] {
            std::array<double, damped_size> table{};
            for (std::size_t f = 0; f < table.size(); ++f) table[f] = std::log1p(static_cast<double>(f));
            return table;
        }();
        return logs.data();
    }
    static double squared(std::uint32_t times) {
        const double x = damped(times);
        return x * x;
    }
    static double damped(std::uint32_t times) {
        return times < damped_size ? damped_table()[times] : std::log1p(static_cast<double>(times));
    }
    static bool is_gram(const Term& term) { return term.entry.gram; }

    // The terms of the document, in the order of their first occurrence.
    std::size_t size() const { return size_; }
    std::uint64_t tokens() const { return tokens_; }
    Term operator[](std::size_t i) const { return {entries_[present_[i].entry], times_[present_[i].entry]}; }

    // All terms since `clear`; `begin` would add to those that are full.
    std::size_t known() const { return known_; }
    const Entry& entry(std::size_t i) const { return entries_[i]; }
    const Entry& spelled(std::size_t i) {
        entries_[i].spell();
        return entries_[i];
    }
    Sum sum(std::size_t i) const {
        Sum out = unpacked(tallies_[i]);
        if (i < sums_.size()) out.add(sums_[i]);
        return out;
    }
    void expect(std::size_t i) const {
        __builtin_prefetch(&entries_[i]);
        __builtin_prefetch(&tallies_[i]);
    }

    // Whether it is better begun anew, to score or to count. To count a unit again its entry is not read, so there may be more.
    bool full() const { return spelled_ + codes_.size() > 1 << 14 || known_ > 1 << 16; }
    bool full_of_counts() const { return spelled_ > 1 << 15 || codes_.size() > 1 << 17 || known_ - codes_.size() > 1 << 16 || tallied_ > 1 << 30; }

    // Calls use(entries, number) for the terms that have come since the last call.
    template <class Use>
    void each_new(Use&& use) {
        for (std::size_t e = looked_up_; e < known_; ++e) entries_[e].spell();
        if (looked_up_ < known_) use(entries_.data() + looked_up_, known_ - looked_up_);
        looked_up_ = known_;
    }

private:
    static constexpr std::uint32_t steps = 16;
    static constexpr std::uint32_t nothing = static_cast<std::uint32_t>(-1);
    static constexpr std::size_t together = 64;  // words whose memory is asked for at a time
    struct Slot {
        std::uint32_t tag = 0, entry = nothing;
    };

    // One number for what was tallied of a term: 12 bits for documents, 20 for occurrences, 32 for masses.
    static constexpr std::uint32_t most = (1 << 20) / (some + 1);  // occurrences in a document
    static std::uint64_t packed(std::uint32_t times, double norm) {
        return std::uint64_t{mass(times, norm)} << 32 | std::uint64_t{times} << 12 | 1;
    }
    static Sum unpacked(std::uint64_t tallied) {
        return {static_cast<std::uint32_t>(tallied & 0xFFF), static_cast<std::uint32_t>(tallied >> 12 & 0xFFFFF), tallied >> 32};
    }

    // Moves what was tallied to where there is room for more.
    void settle() {
        sums_.resize(known_);
        for (std::size_t e = 0; e < known_; ++e) sums_[e].add(unpacked(std::exchange(tallies_[e], 0)));
    }

    struct Present {
        std::uint32_t entry : 31, gram : 1;
    };
    using Norms = std::array<double, 2>;  // of words and of n-grams: what a damped number is multiplied by

    // Every second square is added up by itself, since an addition waits for the one before.
    Norms measure() const {
        double words = 0, more_words = 0, grams = 0, more_grams = 0;
        const auto add = [&](std::size_t i, double& to_words, double& to_grams) {
            const double square = squared(times_[present_[i].entry]);
            to_words += present_[i].gram ? 0 : square;
            to_grams += present_[i].gram ? square : 0;
        };
        std::size_t i = 0;
        for (; i + 1 < size_; i += 2) {
            add(i, words, grams);
            add(i + 1, more_words, more_grams);
        }
        if (i < size_) add(i, words, grams);
        const auto norm = [](double squares) { return squares > 0 ? mass_unit / std::sqrt(squares) : 0; };
        return {norm(words + more_words), norm(grams + more_grams)};
    }

    static std::uint32_t mass(std::uint32_t times, double norm) {
        return static_cast<std::uint32_t>(std::llrint(damped(times) * norm));
    }

    static std::uint32_t tag(std::uint64_t hashed) { return static_cast<std::uint32_t>(hashed >> 24); }

    // An occurrence of a term in the document, which had `size` terms.
    INLINE void note(std::uint32_t entry, std::size_t& size, bool gram = false) {
        present_[size] = {entry, gram};
        size += times_[entry]++ == 0;
    }

    INLINE std::uint32_t find_or_add(const Key& key) {
        for (std::size_t i = key.hashed & mask_;; i = (i + 1) & mask_) {
            const Slot slot = slots_[i];
            if (slot.entry == nothing) return add(key, i);
            if (slot.tag != tag(key.hashed)) continue;
            const Entry& entry = entries_[slot.entry];
            if (key.is(entry.low, entry.high, entry.size, entry.bytes)) return slot.entry;
        }
    }

    [[gnu::noinline]] std::uint32_t add(const Key& key, std::size_t slot) {
        if (2 * ++spelled_ > slots_.size()) {
            slots_.assign(2 * slots_.size(), Slot{});
            mask_ = slots_.size() - 1;
            for (std::uint32_t e = 0; e < known_; ++e)
                if (!entries_[e].code && !entries_[e].gram) slots_[vacant(entries_[e].hashed)] = {tag(entries_[e].hashed), e};
            slot = vacant(key.hashed);
        }
        char* bytes = nullptr;
        if (key.size > Key::inside) {
            bytes = long_.room(key.size);
            std::memcpy(bytes, key.bytes, key.size);
            long_.take(key.size);
        }
        slots_[slot] = {tag(key.hashed), static_cast<std::uint32_t>(known_)};
        return enter({key.low, key.high, key.hashed, bytes, key.size, 0, 0, 0, false, 0});
    }

    std::size_t place(std::uint32_t entry) const {
        std::size_t i = entries_[entry].hashed & mask_;
        while (slots_[i].entry != entry) i = (i + 1) & mask_;
        return i;
    }

    std::size_t vacant(std::uint64_t hashed) const {
        std::size_t i = hashed & mask_;
        while (slots_[i].entry != nothing) i = (i + 1) & mask_;
        return i;
    }

    INLINE std::uint32_t find_gram(std::uint64_t code) {
        Grams::Slot& slot = grams_.at(code);
        return slot.entry != Grams::nothing ? slot.entry : meet_gram(slot, code);
    }

    [[gnu::noinline]] std::uint32_t meet_gram(Grams::Slot& slot, std::uint64_t code) {
        const Entry before = entries_[code >> 32], last = entries_[code & 0xFFFFFFFF];
        char* bytes = nullptr;
        if (const std::size_t size = std::size_t{before.size} + 1 + last.size; size > Key::inside) {
            bytes = long_.room(size + Key::inside);
            before.copy(bytes);
            bytes[before.size] = ' ';
            last.copy(bytes + before.size + 1);
            long_.take(size);
        }
        const Key key = Key::joined(before.key(), last.key(), bytes);
        grams_.put(slot, code, static_cast<std::uint32_t>(known_));
        return enter({key.low, key.high, key.hashed, bytes, key.size, 0, 0, 0, true, 0});
    }

    std::uint32_t enter(const Entry& entry) {
        if (known_ == entries_.size()) {
            entries_.resize(2 * known_);
            times_.resize(2 * known_);
            tallies_.resize(2 * known_);
            present_.resize(2 * known_ + 1);
        }
        entries_[known_] = entry;
        times_[known_] = 0;
        tallies_[known_] = 0;
        return static_cast<std::uint32_t>(known_++);
    }

    INLINE std::uint32_t find_unit(std::uint32_t code) {
        const std::uint32_t entry = codes_.unit(code);
        return entry != Codes::nothing ? entry : meet(code);
    }

    INLINE std::uint32_t find_pair(std::uint32_t code) {
        const std::uint32_t entry = codes_.pair(code);
        return entry != Codes::nothing ? entry : meet(code);
    }

    [[gnu::noinline]] std::uint32_t meet(std::uint32_t code) {
        codes_.put(code, static_cast<std::uint32_t>(known_));
        return enter({0, 0, 0, nullptr, 0, code, 0, 0, false, 0});
    }

    Array<Slot> slots_ = Array<Slot>(1024);
    std::size_t mask_ = 1023;
    Array<Entry> entries_ = Array<Entry>(512);
    Array<std::uint32_t> times_ = Array<std::uint32_t>(512);  // of an entry in the document
    Array<std::uint64_t> tallies_ = Array<std::uint64_t>(512);  // of an entry in the documents since `settle`
    Array<Sum> sums_;  // of the entries in the documents before the last few
    std::vector<Present> present_ = std::vector<Present>(513);  // the document's terms
    Codes codes_;
    Grams grams_;
    std::vector<std::uint32_t> ending_;
    std::size_t joined_ = 0;
    Store long_;
    std::size_t spelled_ = 0;  // entries in `slots_`
    std::size_t known_ = 0, size_ = 0, looked_up_ = 0;
    std::uint64_t tokens_ = 0, tallied_ = 0, documents_ = 0;
};
