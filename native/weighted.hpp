// Log-odds weights from masses: an event model in which a document's terms are damped, normalised and weighted.
//
// The weight of term w for class c is, in a channel with smoothing a (and a' for the rest),
//     own   ln((S_cw + a r_w) / (N_c + a V))
//   - rest  ln((T_w - S_cw + a' r_w) / (T - N_c + a' V))        the complement of Rennie et al. 2003, eq. 6
// times ln((D + 1) / (d_w + 1/2))^i, where S_cw is what class c has seen of w (masses, or occurrences), N_c, T_w and T
// are its sums over terms, classes and both, V the number of terms, D all documents, d_w those with w, and r_w is
// (d_w + 1/2)^e scaled to a mean of 1. With occurrences, own alone, a = 1, e = 0 and i = 0 it is Mitchell's table 6.2.
//
// With rates, what counts is a term's mass per document of the class, and the imaginary documents belong to the classes
// as the real ones do:
//     own   ln(D S_cw / D_c + a r_w)
// with r_w = ((d_w + 1/2) / (D + 1))^e. What adds to every class alike is left out, so a class that has not seen the
// term gets nothing.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "totals.hpp"

struct Channel {
    bool grams = false;
    double own = 0, rest = 0;  // the smoothings a and a'; 0 leaves the part out
};

class Weighted {
public:
    Weighted(const Totals& totals, std::vector<Channel> channels);

    std::size_t classes() const { return totals_.classes(); }
    std::size_t channels() const { return channels_.size(); }
    std::uint64_t vocabulary() const { return totals_.view(false).terms + totals_.view(true).terms; }
    const TokenRules& rules() const { return totals_.terms().rules(); }

    // For each channel and class the sum of the terms' weights, from all counts less the document's own, which are part
    // of a class: exactly as if it had not been learned. What adds to every class alike is left out.
    Scorer::Summary channels_without(Bag& bag, Scorer::Own own, double* scores) const;

    // The channels, each times its factor, become one weight for each term and class; laid out when they are first
    // needed: all of them, or with `score_alone` and `weights` those of the document.
    void fold(const std::vector<double>& factors);
    bool laid_out() const { return laid_out_; }

    // The folded sum for each class.
    Scorer::Summary score(Bag& bag, double* scores) const;
    Scorer::Summary score_alone(Bag& bag, double* scores) const;

    // What a term that occurs `times` in a document with such norms adds to the folded score of each class.
    std::optional<std::vector<double>> weights(const Bag::Term& term) const;

    // The same by parts, for documents that are kept as terms: what a document starts with, and what one unit of a term
    // adds to each class; false if the term takes no part.
    Unit unit() const { return totals_.style().raw ? Unit::times : Unit::mass; }
    std::vector<double> starts() const { return std::vector<double>(classes(), 0); }
    bool unit_weights(TermId id, double* out) const;
    const Table& table() const { return totals_.table(); }

    std::vector<std::string> words() const;

private:
    struct Odds {  // of a term in a channel
        double own, rest;

        // What having seen the term so often multiplies the odds of a class by, over what they are where it has not; where
        // only the rest is weighed, one over that.
        double ratio(double seen) const { return own == 0 ? 1 - seen * rest : rest == 0 ? 1 + seen * own : (1 + seen * own) / (1 - seen * rest); }
        double sign() const { return own == 0 ? -1 : 1; }  // of the ratio's logarithm in a score
    };

    static void add_logs(Odds odds, double x, const double* seen, std::size_t size, double* scores);
    static Odds odds(const Channel& channel, double all, double relative);
    double step(const Channel& channel, const Totals::View& view, std::size_t c) const;
    void check_ready() const;
    void lay_out() const;
    void lay_out(TermId id) const;
    bool laid_weights(TermId id, double* out) const;
    Scorer::Summary sum(Bag& bag, double* scores) const;

    const Totals& totals_;
    std::vector<Channel> channels_;
    std::vector<double> factors_;
    mutable Weights weights_;
    mutable std::mutex laying_out_;
    mutable std::atomic<bool> laid_out_ = false;
    std::vector<double> steps_[2];  // of a class, for each unit of a document's mass times factor
};
