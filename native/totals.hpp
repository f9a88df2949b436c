// What the terms of a collection add up to, before any smoothing: the part of an estimate that all channels share.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "frequencies.hpp"
#include "scorer.hpp"

struct Style {
    bool raw = false;           // occurrences, not masses
    bool rates = false;         // per document of the class
    double spread = 0.5;        // e
    double rarity[2] = {0.5, 1};  // i, of words and of n-grams
    std::uint64_t least[2] = {1, 1};  // documents that a word, or an n-gram, is seen in, or it does not take part
};

class Totals {
public:
    struct View {  // words, or n-grams: sums over the terms that take part
        std::uint64_t terms = 0;
        std::vector<std::uint64_t> class_sums;  // N_c
        std::uint64_t all = 0;                  // T
        double spread = 0;                      // the sum of (d_w + 1/2)^e
    };
    struct alignas(32) Row {  // two in a line of the cache
        std::uint64_t sum = 0;                             // T_w
        std::uint64_t documents : 62 = 0;                  // that were learned with it
        std::uint64_t fits : 1 = 0, inside : 1 = 0;        // whether it may take part, and whether it does
        std::uint64_t with = 0;                            // d_w
        double factor = 0;                                 // ln((D + 1) / (d_w + 1/2))^i
    };
    struct Part {  // a term of a document that takes part in what is left without the document
        Weights::Laid seen;  // by the classes, with the document
        std::size_t own;     // the place of the document's class in it
        double less;         // what of that is the document's
        double mass;         // of the term in the document
        double all;          // T_w
        double relative;     // r_w
        double factor;       // ln((D + 1) / (d_w + 1/2))^i
        bool gram;
    };
    struct Left {
        View views[2];
        std::vector<Part> parts;
        std::vector<double> per_document;  // D / D_c
        Scorer::Summary summary;
    };

    // With `grams` false, n-grams take no part. Where a larger collection is given, d_w and D are those of it.
    Totals(Terms& terms, std::vector<std::uint64_t> documents, Style style, bool grams, std::size_t min_length,
           std::unordered_set<std::string> stop, const Frequencies* collection, int threads);

    const Terms& terms() const { return terms_; }
    const Table& table() const { return terms_.table(); }
    const Shard& part(TermId id) const { return table().part(id.shard); }
    const Style& style() const { return style_; }
    std::size_t classes() const { return documents_.size(); }
    bool grams() const { return grams_; }
    int threads() const { return threads_; }
    const View& view(bool gram) const { return views_[gram]; }
    const Row& row(TermId id) const { return rows_[id.shard][id.term]; }
    std::size_t terms_of(std::size_t shard) const { return rows_[shard].size(); }
    bool is_gram(std::string_view text) const { return terms_.grams() && text.find(' ') != text.npos; }
    void check_unchanged() const;

    std::uint64_t seen(const Cell& cell) const { return style_.raw ? cell.occurrences : cell.mass; }
    std::uint64_t seen(const Bag::Term& term) const { return style_.raw ? term.times : term.mass(); }
    double scale() const { return style_.raw ? 1 : 1 / Bag::mass_unit; }
    double relative(const Row& row, bool gram) const { return relative(spread(row.with), collected_, views_[gram]); }
    double per_document(std::size_t label) const { return per_document_[label]; }

    // What each class has seen of each term that takes part, times `scale`, close together.
    const Weights& seen() const;

    // The totals without a document, which is part of a class: exactly as if it had not been learned.
    void leave_out(Bag& bag, Scorer::Own own, Left& left) const;

private:
    double rarity(double log, bool gram) const;
    double spread(std::uint64_t with) const;
    double relative(double spread, std::uint64_t collected, const View& view) const;
    void count_per_document(Scorer::Own out, std::vector<double>& to) const;

    Terms& terms_;
    std::uint64_t version_;
    std::vector<std::uint64_t> documents_;
    std::uint64_t all_documents_ = 0;
    std::uint64_t collected_ = 0;  // D
    bool apart_;                   // whether D and d_w are those of a larger collection
    std::vector<double> per_document_;
    Style style_;
    bool grams_;
    int threads_;
    View views_[2];
    std::vector<Array<Row>> rows_;
    mutable Weights seen_;
    mutable std::once_flag gathered_;
};
