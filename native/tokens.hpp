// Text to tokens. docs/tokens.md says in words what a token is.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ascii.hpp"
#include "keys.hpp"
#include "unicode.hpp"

struct TokenRules {
    int shortest_gram = 1, longest_gram = 1;    // n-grams of words with nothing but blanks between them
    int shortest_chars = 0, longest_chars = 0;  // n-grams of characters inside a word; 0: whole words
};

// Bytes that stay where they are until `begin`.
class Arena {
public:
    static constexpr std::size_t block = 1 << 16;

    void begin() { current_ = used_ = 0; }

    // Where the next `size` bytes can be written, with padding behind them.
    char* room(std::size_t size) {
        if (used_ + size + Key::padding > block) {
            ++current_;
            used_ = 0;
        }
        while (current_ >= blocks_.size()) blocks_.push_back(std::make_unique<char[]>(block));
        return blocks_[current_].get() + used_;
    }
    void take(std::size_t size) { used_ += size; }

private:
    std::vector<std::unique_ptr<char[]>> blocks_;
    std::size_t current_ = 0, used_ = 0;
};

// Calls sink(bytes, length) for each token of a text, as UTF-8, or sink.words for several (as AsciiWords does). Behind
// the bytes `Key::padding` more can be read.
template <class Sink>
class Tokeniser {
public:
    static constexpr std::size_t longest_token = 256;  // bytes in normal form C; the rest of a longer run is left out

    Tokeniser(const TokenRules& rules, Sink& sink) : rules_(rules), sink_(sink) {}

    void run_ascii(const std::uint8_t* text, std::size_t size) {
        begin();
        std::size_t last = 0;
        ascii_.run(text, size, Key::padding, [&](const char* lower, const std::uint32_t* edges, std::size_t number) {
            if (rules_.longest_gram == 1 && !rules_.longest_chars) {
                sink_.words(lower, edges, number, longest_token);
                return;
            }
            for (const auto* end = edges + 2 * number; edges < end; edges += 2) {
                if (rules_.longest_gram > 1 && !words_.empty() && !std::all_of(text + last, text + edges[0], unicode::is_blank))
                    words_.clear();
                last = edges[1];
                word(lower + edges[0], std::min<std::size_t>(edges[1] - edges[0], longest_token));
            }
        });
    }

    // `Char` is a code unit that is a whole code point.
    template <class Char>
    void run(const Char* p, const Char* end) {
        using unicode::Kind;
        begin();
        start(nullptr, 0);
        for (; p < end; ++p) {
            const auto& record = unicode::record(*p);
            switch (kind(record)) {
                case Kind::word:
                    if (unit_ != none) end_run();
                    append(*p, record);
                    break;
                case Kind::mark:  // on a separator it is no part of a token
                    if (unit_ != none || size_) append(*p, record);
                    break;
                case Kind::unspaced:
                    if (unit_ != none) end_unit();
                    else if (size_) end_word();
                    unit_ = size_;
                    append(*p, record);
                    break;
                case Kind::ignored:
                    break;
                case Kind::apostrophe:
                    if (unit_ == none && size_ && before_word(p + 1, end)) {
                        append('\'', unicode::record('\''));
                        break;
                    }
                    [[fallthrough]];
                case Kind::separator:
                    if (unit_ != none) end_run();
                    else if (size_) end_word();
                    if (!unicode::is_blank(*p)) words_.clear();
            }
        }
        if (unit_ != none) end_run();
        else if (size_) end_word();
    }

private:
    void begin() {
        arena_.begin();
        words_.clear();
    }

    // The next token; it begins with the unit before, if there is one.
    void start(const char* prior, std::size_t size) {
        token_ = arena_.room(8 * longest_token);
        if (size) std::memmove(token_, prior, size);
        size_ = size;
        unit_ = none;
        prior_ = size ? 0 : none;
        last_class_ = 0;
        unstable_ = false;
    }

    unicode::Kind kind(const unicode::Record& record) const {
        using unicode::Kind;
        return record.kind == Kind::unspaced && rules_.longest_chars ? Kind::word : record.kind;
    }

    template <class Char>
    bool before_word(const Char* p, const Char* end) const {
        while (p < end && unicode::record(*p).kind == unicode::Kind::ignored) ++p;
        return p < end && kind(unicode::record(*p)) == unicode::Kind::word;
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
        settle(0);
        arena_.take(size_);
        word(token_, size_);
        start(nullptr, 0);
    }

    // A character of an unspaced script (with its marks) ends: it is a token, and so is the pair with the one before.
    void end_unit() {
        settle(unit_);
        words_.clear();
        const char* unit = token_ + unit_;
        const std::size_t size = size_ - unit_;
        sink_(unit, size);
        if (prior_ != none) sink_(token_ + prior_, size_ - prior_);
        arena_.take(unit_);  // the unit stays: the next pair begins with it
        start(unit, size);
    }

    void end_run() {
        end_unit();
        arena_.take(size_);
        start(nullptr, 0);
    }

    void word(const char* bytes, std::size_t size) {
        if (rules_.longest_chars) {
            characters(bytes, size);
            return;
        }
        if (rules_.shortest_gram <= 1) sink_(bytes, size);
        if (rules_.longest_gram > 1) grams(bytes, size);
    }

    void grams(const char* bytes, std::size_t size) {
        if (words_.size() == static_cast<std::size_t>(rules_.longest_gram)) words_.erase(words_.begin());
        words_.emplace_back(bytes, size);
        for (std::size_t n = 2; n <= words_.size(); ++n) {
            if (n < static_cast<std::size_t>(rules_.shortest_gram)) continue;
            char* gram = arena_.room(n * (3 * longest_token + 1));
            std::size_t length = 0;
            for (auto i = words_.size() - n; i < words_.size(); ++i) {
                if (length) gram[length++] = ' ';
                std::memcpy(gram + length, words_[i].data(), words_[i].size());
                length += words_[i].size();
            }
            arena_.take(length);
            sink_(gram, length);
        }
    }

    // Runs of characters inside a word, with one blank for each of its edges.
    void characters(const char* bytes, std::size_t size) {
        char* text = arena_.room(size + 2);
        text[0] = text[size + 1] = ' ';
        std::memmove(text + 1, bytes, size);
        arena_.take(size + 2);
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

    const TokenRules rules_;
    Sink& sink_;
    AsciiWords ascii_;
    Arena arena_;
    char* token_ = nullptr;
    std::size_t size_ = 0, unit_ = none, prior_ = none;
    std::uint8_t last_class_ = 0;
    bool unstable_ = false;
    std::vector<std::string_view> words_;  // the last ones of a text, for n-grams
    std::vector<std::size_t> starts_;
    std::string text_;
};
