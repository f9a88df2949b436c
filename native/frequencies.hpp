// How many documents of a collection hold each term. It does not change, so that many threads may read it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

class Frequencies {
public:
    // Of the terms with these hashes, which rise; terms that only one document holds may be left out.
    Frequencies(std::uint64_t documents, std::vector<std::uint64_t> terms, std::vector<std::uint32_t> with)
        : documents_(documents), terms_(std::move(terms)), with_(std::move(with)) {
        if (terms_.size() != with_.size()) throw std::invalid_argument("one number of documents a term is needed");
        if (std::adjacent_find(terms_.begin(), terms_.end(), std::greater_equal<>()) != terms_.end())
            throw std::invalid_argument("the hashes of terms must rise");
        if (std::any_of(with_.begin(), with_.end(), [&](std::uint64_t some) { return some > documents_; }))
            throw std::invalid_argument("no term is held by more documents than there are");
        bits_ = std::bit_width(terms_.size());
        firsts_.resize((std::size_t{1} << bits_) + 1);
        std::size_t at = 0;
        for (std::size_t bucket = 0; bucket < firsts_.size(); ++bucket) {
            while (at < terms_.size() && bucket_of(terms_[at]) < bucket) ++at;
            firsts_[bucket] = static_cast<std::uint32_t>(at);
        }
    }

    std::uint64_t documents() const { return documents_; }
    const std::vector<std::uint64_t>& terms() const { return terms_; }
    const std::vector<std::uint32_t>& with() const { return with_; }

    std::uint64_t with(std::uint64_t hashed) const {
        const std::size_t bucket = bucket_of(hashed);
        for (std::size_t i = firsts_[bucket]; i < firsts_[bucket + 1]; ++i)
            if (terms_[i] == hashed) return with_[i];
        return 1;
    }

private:
    std::size_t bucket_of(std::uint64_t hashed) const { return bits_ ? hashed >> (64 - bits_) : 0; }

    std::uint64_t documents_;
    std::vector<std::uint64_t> terms_;
    std::vector<std::uint32_t> with_;
    int bits_;
    std::vector<std::uint32_t> firsts_;  // of each value of the first bits of a hash, where its terms begin
};
