// Log-odds weights from masses: an event model in which a document's terms are damped, normalised and weighted.
//
// The weight of term w for class c is, in a channel with smoothing a (and a' for the rest),
//     own   ln((S_cw + a r_w) / (N_c + a V))
//   - rest  ln((T_w - S_cw + a' r_w) / (T - N_c + a' V))        the complement of Rennie et al. 2003, eq. 6
// times ln((D + 1) / (d_w + 1/2))^i, where S_cw is what class c has seen of w (masses, or occurrences), N_c, T_w and T
// are its sums over terms, classes and both, V the number of terms, D all documents, d_w those with w, and r_w is
// (d_w + 1/2)^e scaled to a mean of 1. With occurrences, own alone, a = 1, e = 0 and i = 0 it is Mitchell's table 6.2.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

#include "scorer.hpp"

struct Style {
    bool raw = false;           // occurrences, not masses
    double spread = 0.5;        // e
    double rarity[2] = {0.5, 1};  // i, of words and of n-grams
    std::uint64_t least[2] = {1, 1};  // documents that a word, or an n-gram, is seen in, or it does not take part
};

struct Channel {
    bool grams = false;
    double own = 0, rest = 0;  // the smoothings a and a'; 0 leaves the part out
};

class Weighted {
public:
    Weighted(Terms& terms, std::vector<std::uint64_t> documents, Style style, std::vector<Channel> channels,
             std::size_t min_length, std::unordered_set<std::string> stop, int threads);

    std::size_t classes() const { return documents_.size(); }
    std::size_t channels() const { return channels_.size(); }
    std::uint64_t vocabulary() const { return views_[0].terms + (grams_used_ ? views_[1].terms : 0); }
    const TokenRules& rules() const { return terms_.rules(); }

    // For each channel and class the sum of the terms' weights, from all counts less the document's own, which are part
    // of a class: exactly as if it had not been learned. What adds to every class alike is left out.
    Scorer::Summary channels_without(Bag& bag, Scorer::Own own, double* scores) const;

    // The channels, each times its factor, become one weight for each term and class; laid out when they are first
    // needed: all of them, or with `score_alone` those of the document.
    void fold(const std::vector<double>& factors);
    bool laid_out() const { return laid_out_; }

    // The folded sum for each class.
    Scorer::Summary score(Bag& bag, double* scores) const;
    Scorer::Summary score_alone(Bag& bag, double* scores) const;

    // What a term that occurs `times` in a document with such norms adds to the folded score of each class.
    std::optional<std::vector<double>> weights(const Bag::Entry& entry) const;

    // The same by parts, for documents that are kept as terms: what a document starts with, and what one unit of a term
    // adds to each class; false if the term takes no part.
    Unit unit() const { return style_.raw ? Unit::times : Unit::mass; }
    std::vector<double> starts() const { return std::vector<double>(classes(), 0); }
    bool unit_weights(TermId id, double* out) const;
    const Table& table() const { return terms_.table(); }

    std::vector<std::string> words() const;

private:
    struct View {  // words, or n-grams: sums over the terms that take part
        std::uint64_t terms = 0;
        std::vector<std::uint64_t> class_sums;  // N_c
        std::uint64_t all = 0;                  // T
        double spread = 0;                      // the sum of (d_w + 1/2)^e
    };
    struct Row {
        std::uint64_t sum = 0;        // T_w
        std::uint64_t documents = 0;  // d_w
        double factor = 0;            // ln((D + 1) / (d_w + 1/2))^i
        bool fits = false;
    };

    struct Odds {  // of a term in a channel
        double own, rest;

        // What having seen the term so often multiplies the odds of a class by, over what they are where it has not.
        double ratio(double seen) const { return (1 + seen * own) / (1 - seen * rest); }
    };

    static void ratios(Odds odds, const double* seen, std::size_t size, double* out);
    const Weights& all_seen() const;
    std::uint64_t seen(const Cell& cell) const { return style_.raw ? cell.occurrences : cell.mass; }
    std::uint64_t seen(const Bag::Entry& entry) const { return style_.raw ? entry.times : entry.mass; }
    double scale() const { return style_.raw ? 1 : 1 / Bag::unit; }
    double rarity(std::uint64_t with, std::uint64_t documents, bool gram) const;
    double spread(std::uint64_t with) const;
    static Odds odds(const Channel& channel, double all, double relative);
    bool inside(const Row& row, bool gram) const { return row.fits && row.documents >= style_.least[gram]; }
    const Row& row(TermId id) const { return rows_[id.shard][id.term]; }
    const Shard& part(TermId id) const { return terms_.table().part(id.shard); }
    bool is_gram(std::string_view text) const { return terms_.grams() && text.find(' ') != text.npos; }
    void check_unchanged() const;
    void lay_out() const;
    void lay_out(TermId id) const;
    Scorer::Summary sum(Bag& bag, double* scores) const;

    Terms& terms_;
    std::uint64_t version_;
    std::vector<std::uint64_t> documents_;
    std::uint64_t all_documents_ = 0;
    Style style_;
    std::vector<Channel> channels_;
    bool grams_used_ = false;
    int threads_;
    View views_[2];
    std::vector<std::vector<Row>> rows_;
    std::vector<double> factors_;
    mutable Weights weights_, seen_;  // seen_: what each class has seen of a term, close together
    mutable std::once_flag gathered_;
    mutable std::mutex laying_out_;
    mutable std::atomic<bool> laid_out_ = false;
    std::vector<double> steps_[2];  // of a class, for each unit of a document's mass times factor
};
