// Text to tokens. docs/tokens.md says in words what a token is.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "ascii.hpp"
#include "unicode.hpp"

struct TokenRules {
    int shortest_gram = 1, longest_gram = 1;   // n-grams of words
    int shortest_chars = 0, longest_chars = 0;  // n-grams of characters inside a word; 0: whole words
};

// The lower-case form of each ASCII letter or digit; 0 for what separates.
inline constexpr auto ascii_words = [] {
    struct { char lower[128]; } table{};
    for (int c = '0'; c <= '9'; ++c) table.lower[c] = static_cast<char>(c);
    for (int c = 'a'; c <= 'z'; ++c) table.lower[c] = static_cast<char>(c);
    for (int c = 'A'; c <= 'Z'; ++c) table.lower[c] = static_cast<char>(c + 32);
    return table;
}();

// Calls sink(bytes, length) for each token of a text, as UTF-8, or sink.resident(bytes, length) where the token stays
// in place until the next text and eight more bytes can be read. `Char` is a code unit that is a whole code point.
template <class Sink>
class Tokeniser {
public:
    static constexpr std::size_t longest_token = 256;  // bytes; the rest of a longer run is left out

    Tokeniser(const TokenRules& rules, Sink& sink) : rules_(rules), sink_(sink) {}

    void run_ascii(const std::uint8_t* text, std::size_t size) {
        words_.clear();
        ascii_.run(text, size, [&](const char* bytes, std::size_t length) {
            if (rules_.longest_chars) {
                size_ = std::min(length, longest_token);
                std::memcpy(token_, bytes, size_);
                characters();
                return;
            }
            length = std::min(length, longest_token);
            if (rules_.shortest_gram <= 1) sink_.resident(bytes, length);
            if (rules_.longest_gram > 1) grams(bytes, length);
        });
        size_ = 0;
    }

    template <class Char>
    void run(const Char* p, const Char* end) {
        words_.clear();
        while (true) {
            while (p < end && is_ascii(*p) && !lower(*p)) ++p;
            if (p == end) return;
            size_ = 0;
            while (p < end && is_ascii(*p) && lower(*p)) {
                if (size_ < longest_token) token_[size_++] = lower(*p);
                ++p;
            }
            if (p == end || (is_ascii(*p) && *p != '\''))
                word();
            else
                p = rest(p, end);
        }
    }

private:
    template <class Char>
    static bool is_ascii(Char c) { return c < 128; }
    template <class Char>
    static char lower(Char c) { return ascii_words.lower[static_cast<unsigned char>(c)]; }

    // Goes on from a word begun in ASCII (it may be empty) through characters of any kind, to the separator.
    template <class Char>
    const Char* rest(const Char* p, const Char* end) {
        using unicode::Kind;
        unstable_ = false;
        last_class_ = 0;
        unit_ = prior_ = none;
        for (; p < end; ++p) {
            const auto& record = unicode::record(*p);
            const Kind kind = record.kind == Kind::unspaced && rules_.longest_chars ? Kind::word : record.kind;
            if (kind == Kind::ignored) continue;
            if (kind == Kind::word) {
                if (unit_ != none) end_run();
                append(*p, record);
            } else if (kind == Kind::mark) {
                append(*p, record);
            } else if (kind == Kind::unspaced) {
                if (unit_ != none) end_unit();
                else if (size_) word();
                unit_ = size_;
                append(*p, record);
            } else if (kind == Kind::apostrophe && unit_ == none && size_ && p + 1 < end && continues(p[1])) {
                if (size_ < longest_token) token_[size_++] = '\'';
            } else {
                break;
            }
        }
        if (unit_ != none) end_run();
        else if (size_) word();
        return p < end ? p + 1 : p;
    }

    static bool continues(char32_t c) {
        const auto kind = unicode::record(c).kind;
        return kind == unicode::Kind::word || kind == unicode::Kind::mark;
    }

    void append(char32_t c, const unicode::Record& record) {
        if (!record.fold_length) {
            put(c, record);
            return;
        }
        const auto* folded = unicode::folded_at(record.fold_at);
        for (int i = 0; i < record.fold_length; ++i) put(folded[i], unicode::record(folded[i]));
    }

    void put(char32_t c, const unicode::Record& record) {
        if (size_ - (unit_ == none ? 0 : unit_) + 4 > longest_token) return;
        if (record.unstable || (record.combining && record.combining < last_class_)) unstable_ = true;
        last_class_ = record.combining;
        size_ += unicode::encode(c, token_ + size_);
    }

    void settle(std::size_t from) {
        if (!unstable_) return;
        text_.assign(token_ + from, size_ - from);
        unicode::compose(text_);
        std::memcpy(token_ + from, text_.data(), text_.size());
        size_ = from + text_.size();
        unstable_ = false;
    }

    // A character of an unspaced script (with its marks) ends: it is a token, and so is the pair with the one before.
    void end_unit() {
        settle(unit_);
        last_class_ = 0;
        words_.clear();
        sink_(token_ + unit_, size_ - unit_);
        if (prior_ != none) sink_(token_ + prior_, size_ - prior_);
        std::memmove(token_, token_ + unit_, size_ - unit_);
        size_ -= unit_;
        prior_ = 0;
        unit_ = none;
    }

    void end_run() {
        end_unit();
        unit_ = prior_ = none;
        size_ = 0;
    }

    void word() {
        settle(0);
        if (rules_.longest_chars) {
            characters();
        } else {
            if (rules_.shortest_gram <= 1) sink_(token_, size_);
            if (rules_.longest_gram > 1) grams(token_, size_);
        }
        size_ = 0;
        last_class_ = 0;
    }

    void grams(const char* bytes, std::size_t size) {
        if (words_.size() == static_cast<std::size_t>(rules_.longest_gram)) {
            std::rotate(words_.begin(), words_.begin() + 1, words_.end());
            words_.back().assign(bytes, size);
        } else {
            words_.emplace_back(bytes, size);
        }
        for (std::size_t n = 2; n <= words_.size(); ++n) {
            if (n < static_cast<std::size_t>(rules_.shortest_gram)) continue;
            text_.clear();
            for (auto i = words_.size() - n; i < words_.size(); ++i) {
                if (!text_.empty()) text_ += ' ';
                text_ += words_[i];
            }
            sink_(text_.data(), text_.size());
        }
    }

    // Runs of characters inside a word, with one blank for each of its edges.
    void characters() {
        text_.assign(1, ' ');
        text_.append(token_, size_);
        text_ += ' ';
        starts_.clear();
        for (std::size_t i = 0; i < text_.size(); ++i)
            if ((static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80) starts_.push_back(i);
        starts_.push_back(text_.size());
        const std::size_t points = starts_.size() - 1;
        for (auto n = static_cast<std::size_t>(rules_.shortest_chars); n <= static_cast<std::size_t>(rules_.longest_chars); ++n)
            for (std::size_t i = 0; i + n <= points; ++i) {
                const bool edge = n == 1 && (i == 0 || i + 1 == points);
                if (!edge) sink_(text_.data() + starts_[i], starts_[i + n] - starts_[i]);
            }
    }

    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    const TokenRules rules_;
    Sink& sink_;
    char token_[8 * longest_token];  // normal form C can be three times as long as what it is made of
    std::size_t size_ = 0, unit_ = none, prior_ = none;
    std::uint16_t last_class_ = 0;
    bool unstable_ = false;
    AsciiWords ascii_;
    std::vector<std::string> words_;  // the last ones of a text, for n-grams
    std::vector<std::size_t> starts_;
    std::string text_;
};
