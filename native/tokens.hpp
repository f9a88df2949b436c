// Text to tokens. docs/tokens.md says in words what a token is.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "ascii.hpp"
#include "grams.hpp"
#include "keys.hpp"
#include "unicode.hpp"

struct TokenRules {
    int shortest_gram = 1, longest_gram = 1;    // n-grams of words with nothing but blanks between them
    int shortest_chars = 0, longest_chars = 0;  // n-grams of characters inside a word; 0: whole words
};

// Calls sink(bytes, length) for each token of a text, as UTF-8, or sink.words for several (as AsciiWords does). A token that
// is a unit, or two, is never given as bytes but by sink.unit(code), or by sink.units for several units, of which each is
// a token and so is each pair. Where n-grams are wanted it is sink.grams for several words, and sink.apart where more than
// blanks lies between two. Behind the bytes `Key::padding` more can be read.
template <class Sink>
class Tokeniser {
public:
    static constexpr std::size_t longest_token = 256;  // bytes in normal form C; the rest of a longer run is left out

    Tokeniser(const TokenRules& rules, Sink& sink) : rules_(rules), sink_(sink) {}

    // Neither is inlined, so that its loops have the registers to themselves.
    [[gnu::noinline]] void run_ascii(const std::uint8_t* text, std::size_t size) {
        sink_.apart();
        std::size_t last = 0;
        ascii_.run(text, size, Key::padding, [&](const char* lower, const std::uint32_t* edges, std::size_t number) {
            last = take(lower, edges, number, last, [&](std::size_t from, std::size_t to) {
                return std::all_of(text + from, text + to, unicode::is_blank);
            });
        });
    }

    // `Char` is a code unit that is a whole code point.
    template <class Char>
    [[gnu::noinline]] void run(const Char* p, const Char* end) {
        using unicode::Kind;
        sink_.apart();
        start(nullptr, 0);
        while (p < end) {
            if (unit_ == none && !size_) {
                const Char* from;
                do {
                    from = words(p, end);
                    p = units(from, end);
                } while (p != from && unit_ == none);
                if (p == end) break;
            }
            const Char c = *p++;
            const auto& record = unicode::record(c);
            switch (kind(record.kind)) {
                case Kind::word:
                    if (unit_ != none) end_run();
                    append(c, record);
                    break;
                case Kind::mark:  // on a separator it is no part of a token
                    if (unit_ != none || size_) append(c, record);
                    break;
                case Kind::unspaced:
                    if (unit_ != none) end_unit();
                    else if (size_) end_word();
                    unit_ = size_;
                    append(c, record);
                    break;
                case Kind::ignored:
                    break;
                case Kind::apostrophe:
                    if (unit_ == none && size_ && before_word(p, end)) {
                        append('\'', unicode::record('\''));
                        break;
                    }
                    [[fallthrough]];
                case Kind::separator:
                    if (unit_ != none) end_run();
                    else if (size_) end_word();
                    if (!unicode::is_blank(c)) sink_.apart();
            }
        }
        if (unit_ != none) end_run();
        else if (size_) end_word();
    }

private:
    // Takes in whole words and what lies between them, as the switch of `run` would, with no branch on what a character
    // is. Gives where it ends: before an unspaced character, before a word with one that needs a closer look, or, after
    // many, before any.
    template <class Char>
    const Char* words(const Char* p, const Char* end) {
        using unicode::bit, unicode::Kind;
        const Char* const stop = p + std::min<std::ptrdiff_t>(end - p, some_letters);
        const std::uint8_t begins = begins_ | bit(Kind::separator), goes_on = begins | bit(Kind::mark);
        std::uint32_t at = 0;
        std::size_t number = 0;
        bool inside = false, near = false;
        for (; p < stop; ++p) {
            const auto* letter = &unicode::letter(*p);
            if (!(letter->plain & (inside ? goes_on : begins))) [[unlikely]] {
                if (letter->kind == bit(Kind::ignored) || (letter->kind == bit(Kind::mark) && !inside)) continue;
                if (letter->kind == bit(Kind::apostrophe)) {
                    if (!inside || !before_word(p + 1, end)) letter = &unicode::letter(0);
                } else if (!(letter->kind & goes_on) || (inside && !letter->can_follow(before(p)))) {
                    near = letter->kind == bit(Kind::unspaced);
                    break;
                }
            }
            std::memcpy(letters_.data() + at, letter->bytes, sizeof letter->bytes);
            edges_[number] = at;
            const bool here = letter->plain != bit(Kind::separator);
            number += here != inside;
            inside = here;
            at += letter->size;
        }
        if (inside) {
            if (p == end || near) {
                edges_[number++] = at;
            } else {
                for (--number; at > edges_[number];) at -= unicode::letter(*--p).size;
            }
        }
        const auto blank = [&](std::size_t from, std::size_t to) {
            return std::find(letters_.data() + from, letters_.data() + to, '\n') == letters_.data() + to;
        };
        const std::size_t behind = take(letters_.data(), edges_.data(), number / 2, 0, blank);
        if (grams_.longest > 1 && !blank(behind, at)) sink_.apart();
        return p;
    }

    // The character in front, which is part of a word.
    template <class Char>
    static const unicode::Letter& before(const Char* p) {
        while (unicode::letter(*--p).kind == unicode::bit(unicode::Kind::ignored)) {}
        return unicode::letter(*p);
    }

    // Takes in words; blank(from, to) tells whether nothing but blanks lies there, and `last` is the end of the word before,
    // or 0. Gives the end of the last one.
    template <class Blank>
    std::size_t take(const char* text, const std::uint32_t* edges, std::size_t number, std::size_t last, Blank&& blank) {
        if (!number) return last;
        if (rules_.longest_chars) {
            for (const auto *edge = edges, *end = edges + 2 * number; edge < end; edge += 2)
                characters(text + edge[0], token_size(text + edge[0], edge[1] - edge[0], longest_token));
        } else if (grams_.longest == 1) {
            sink_.words(text, edges, number, longest_token);
        } else {
            sink_.grams(text, edges, number, longest_token, grams_, [&](std::size_t i) {
                return blank(i ? edges[2 * i - 1] : last, edges[2 * i]);
            });
        }
        return edges[2 * number - 1];
    }

    // Takes in units of an unspaced script, and separators between them; one with a mark behind it needs a closer look.
    template <class Char>
    const Char* units(const Char* p, const Char* end) {
        using unicode::bit, unicode::Kind;
        if (rules_.longest_chars) return p;
        while (p < end && unicode::is_unit(*p)) {
            const Char* last = p;
            do ++last;
            while (last < end && unicode::is_unit(*last));
            const std::uint8_t next = last < end ? unicode::letter(*last).kind : bit(Kind::separator);
            const bool joined = !(next & (bit(Kind::word) | bit(Kind::separator)));
            if (joined && --last == p) return p;
            sink_.apart();
            sink_.units(p, static_cast<std::size_t>(last - p));
            if (joined) {
                start(nullptr, unicode::encode(last[-1], token_));
                unit_ = size_;
                append(*last, unicode::record(*last));
                return last + 1;
            }
            p = last;
            while (p < end && unicode::letter(*p).kind == bit(Kind::separator)) ++p;
        }
        return p;
    }

    // The next token; it begins with the unit before, if there is one, which may lie there already.
    void start(const char* prior, std::size_t size) {
        if (prior) std::memmove(token_, prior, size);
        size_ = size;
        unit_ = none;
        prior_ = size ? 0 : none;
        last_class_ = 0;
        unstable_ = false;
    }

    unicode::Kind kind(unicode::Kind of) const {
        return of == unicode::Kind::unspaced && rules_.longest_chars ? unicode::Kind::word : of;
    }

    template <class Char>
    bool before_word(const Char* p, const Char* end) const {
        while (p < end && unicode::record(*p).kind == unicode::Kind::ignored) ++p;
        return p < end && kind(unicode::record(*p).kind) == unicode::Kind::word;
    }

    void append(char32_t c, const unicode::Record& record) {
        if (record.many) {
            const auto* folded = unicode::folded + record.shift;
            for (std::uint32_t i = 1; i <= folded[0]; ++i) append(folded[i], unicode::record(folded[i]));
            return;
        }
        if (size_ - (unit_ == none ? 0 : unit_) + 4 > longest_raw) return;
        if (record.unstable | record.combining | last_class_) {
            if (record.unstable || (record.combining && record.combining < last_class_)) unstable_ = true;
            last_class_ = record.combining;
        }
        size_ += unicode::encode(c + static_cast<char32_t>(record.shift), token_ + size_);
    }

    // Brings what was begun at `from` into normal form C, and to the length that a token may have.
    void settle(std::size_t from) {
        if (unstable_) {
            text_.assign(token_ + from, size_ - from);
            unicode::compose(text_);
            std::memcpy(token_ + from, text_.data(), std::min(text_.size(), longest_raw));
            size_ = from + std::min(text_.size(), longest_raw);
        }
        if (size_ - from <= longest_token) return;
        size_ = from + longest_token;
        while ((static_cast<unsigned char>(token_[size_]) & 0xC0) == 0x80) --size_;
    }

    void end_word() {
        if (unstable_ || size_ > longest_token) settle(0);
        const std::uint32_t edges[] = {0, static_cast<std::uint32_t>(size_)};
        take(token_, edges, 1, 0, [](std::size_t, std::size_t) { return true; });
        start(nullptr, 0);
    }

    // A character of an unspaced script (with its marks) ends: it is a token, and so is the pair with the one before.
    void end_unit() {
        settle(unit_);
        sink_.apart();
        const char* unit = token_ + unit_;
        const std::size_t size = size_ - unit_;
        const std::uint32_t code = unicode::code_of(unit, size);
        put(code, unit, size);
        if (prior_ != none) {
            const std::uint32_t before = unicode::code_of(token_ + prior_, unit_ - prior_);
            put(before && code ? unicode::pair(before, code) : 0, token_ + prior_, size_ - prior_);
        }
        start(unit, size);  // the next pair begins with it
    }

    void put(std::uint32_t code, const char* bytes, std::size_t size) {
        if (code) sink_.unit(code);
        else sink_(bytes, size);
    }

    void end_run() {
        end_unit();
        start(nullptr, 0);
    }

    // Runs of characters inside a word, with one blank for each of its edges.
    void characters(const char* bytes, std::size_t size) {
        char text[longest_token + 2 + Key::padding];
        text[0] = text[size + 1] = ' ';
        std::memcpy(text + 1, bytes, size);
        starts_.clear();
        for (std::size_t i = 0; i < size + 2; ++i)
            if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) starts_.push_back(i);
        starts_.push_back(size + 2);
        const std::size_t points = starts_.size() - 1;
        for (auto n = static_cast<std::size_t>(rules_.shortest_chars); n <= static_cast<std::size_t>(rules_.longest_chars); ++n)
            for (std::size_t i = 0; i + n <= points; ++i) {
                const bool edge = n == 1 && (i == 0 || i + 1 == points);
                if (!edge) sink_(text + starts_[i], starts_[i + n] - starts_[i]);
            }
    }

    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    static constexpr std::size_t longest_raw = 4 * longest_token;  // normal form C can be a third of what it is made of

    static constexpr std::size_t some_letters = 1024;

    const TokenRules rules_;
    const GramSizes grams_{static_cast<std::size_t>(rules_.shortest_gram), static_cast<std::size_t>(rules_.longest_gram)};
    const std::uint8_t begins_ = unicode::bit(unicode::Kind::word) | (rules_.longest_chars ? unicode::bit(unicode::Kind::unspaced) : 0);
    Sink& sink_;
    AsciiWords ascii_;
    char token_[8 * longest_token + Key::padding] = {};
    std::size_t size_ = 0, unit_ = none, prior_ = none;
    std::uint8_t last_class_ = 0;
    bool unstable_ = false;
    std::vector<std::size_t> starts_;
    std::string text_;
    std::array<char, sizeof unicode::Letter::bytes * some_letters + Key::padding> letters_{};
    std::array<std::uint32_t, some_letters + 2> edges_{};
};
