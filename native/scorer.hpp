// From counts to log weights, and from a document's terms to a score for each class.
#pragma once

#include <cmath>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "terms_object.hpp"
#include "weights.hpp"

// Which terms take part: applied when probabilities are estimated, never to the counts.
struct VocabularyRule {
    std::uint64_t min_count = 1;  // occurrences in the whole collection
    std::size_t drop_most_frequent = 0;
    std::size_t min_length = 1;  // code points; one character of an unspaced script is always enough
    std::unordered_set<std::string> stop;
};

enum class Events { multinomial, bernoulli };

// What of a term in a document its weight is multiplied by: its occurrences, 1, or its mass (see terms.hpp).
enum class Unit { times, presence, mass };

// The m-estimate (n_k + m p) / (n + m) of Mitchell 1997, eq. 6.22 (Cestnik 1990). For multinomial events the prior p of
// a term is 1/|V|, or its share of all occurrences; for Bernoulli events it is 1/2.
struct Rule {
    Events events = Events::multinomial;
    std::optional<double> m;  // none: `each` is added to every count: m = each |V| (multinomial) or m = 2 each (Bernoulli)
    double each = 1;
    bool share = false;
    std::vector<double> log_prior;  // one a class; empty: fractions of the documents
    VocabularyRule vocabulary;
};

// A sum of logarithms in which terms log 0 are counted apart, so that they can be taken out again.
struct LogSum {
    double sum = 0;
    std::int64_t zeros = 0;

    void add(double x, std::int64_t times = 1) { change(x, times); }
    void remove(double x, std::int64_t times = 1) { change(x, -times); }
    double value() const { return zeros > 0 ? -std::numeric_limits<double>::infinity() : sum; }

private:
    void change(double x, std::int64_t times) {
        if (x > 0) sum += static_cast<double>(times) * std::log(x);
        else zeros += times;
    }
};

class Scorer {
public:
    static constexpr std::uint32_t nobody = Shard::absent;

    Scorer(Terms& terms, std::vector<std::uint64_t> documents, Rule rule, int threads);

    // The class of which a document's counts are part, and how often they are: its weight.
    struct Own {
        std::uint32_t label = nobody;
        std::uint64_t times = 0;
    };

    struct Summary {
        std::uint64_t tokens = 0, known = 0;  // occurrences, and those of them in the vocabulary
    };

    std::size_t classes() const { return documents_.size(); }
    std::uint64_t vocabulary() const { return vocabulary_; }
    const std::vector<std::uint64_t>& positions() const { return positions_; }
    const TokenRules& rules() const { return terms_.rules(); }
    bool bernoulli() const { return rule_.events == Events::bernoulli; }

    // ln P(c) + ln P(document given c) for each class, in nats, from weights laid out for speed.
    Summary score(Bag& bag, double* scores) const;

    // The same straight from the counts, less the document's own, which are part of a class (or nobody's): exactly
    // as if the model had been learned without it.
    Summary score_without(Bag& bag, Own own, double* scores) const;

    // What every document starts with: ln P(c), and with Bernoulli events ln P(no term of the vocabulary given c).
    std::vector<double> intercepts() const;

    // What one occurrence of a term adds to the score of each class; nothing if it is not in the vocabulary.
    std::optional<std::vector<double>> weights(const Key& term) const;

    // The same by parts, for documents that are kept as terms: what a document starts with, and what one unit of a term
    // adds to each class; false if the term is not in the vocabulary.
    Unit unit() const { return bernoulli() ? Unit::presence : Unit::times; }
    std::vector<double> starts() const { return intercepts(); }
    bool unit_weights(TermId id, double* out) const;
    const Table& table() const { return terms_.table(); }

    // The terms of the vocabulary.
    std::vector<std::string> words() const;

private:
    struct Row {
        bool fits = false, inside = false;
    };
    struct Held {  // the counts that a document is scored with
        std::vector<std::uint64_t> positions;
        std::uint64_t vocabulary, all_positions;
        std::vector<TermId> leaving, entering;
        std::vector<bool> inside;  // for each entry of the bag
        std::vector<std::uint64_t> own;  // what the class has seen of each beside the document
    };

    bool smoothed() const { return rule_.m ? *rule_.m > 0 : rule_.each > 0; }
    double m(std::uint64_t vocabulary) const {
        return rule_.m ? *rule_.m : rule_.each * (bernoulli() ? 2.0 : static_cast<double>(vocabulary));
    }
    // What having seen a term n times adds to where it has not been seen; mp is that of all terms, or their share.
    double log_ratio(std::uint64_t n, double mp) const { return n < logs_.size() ? logs_[n] : std::log1p(static_cast<double>(n) / mp); }
    const Row& row(TermId id) const { return rows_[id.shard][id.term]; }
    Row& row(TermId id) { return rows_[id.shard][id.term]; }
    double ground(TermId id) const { return grounds_.empty() ? ground_ : grounds_[id.shard][id.term]; }
    std::uint64_t total(TermId id) const { return totals_[id.shard][id.term]; }
    const Shard& part(TermId id) const { return terms_.table().part(id.shard); }
    bool before(TermId a, std::uint64_t a_total, TermId b, std::uint64_t b_total) const;
    void check_unchanged() const;
    void choose_vocabulary(int threads);
    void estimate(int threads);
    void prepare_without() const;
    Held held(const Bag& bag, Own own) const;
    double log_prior(std::uint32_t label, Own own) const;
    LogSum absent_sum(std::uint32_t label, std::uint64_t documents) const;
    double absent_factor(std::uint64_t documents_with, std::uint64_t documents) const;
    void multinomial_without(const Bag& bag, Own own, const Held& held, double* scores) const;
    void bernoulli_without(const Bag& bag, Own own, const Held& held, double* scores) const;

    Terms& terms_;
    std::uint64_t version_;
    std::vector<std::uint64_t> documents_;
    std::uint64_t all_documents_ = 0;
    Rule rule_;
    std::vector<std::vector<std::uint64_t>> totals_;  // occurrences of each term
    std::vector<TermId> frequent_;  // terms that fit, the most frequent first: all of them, if any are to be dropped
    std::vector<std::vector<Row>> rows_;
    Weights weights_;
    std::vector<double> logs_;                  // ln(1 + n / (m p)) for the small n that make up nearly all counts
    double ground_ = 0;                         // added to every class for each occurrence (term, if Bernoulli)
    std::vector<std::vector<double>> grounds_;  // the same of each term, where the prior is its share
    std::uint64_t vocabulary_ = 0, all_positions_ = 0;
    std::vector<std::uint64_t> positions_;    // occurrences of vocabulary terms in each class
    std::vector<double> intercepts_, steps_;  // of a class: at the start, and for each occurrence (term, if Bernoulli)
    // Bernoulli: for each class how many terms so many documents hold, sorted; ln P(no term given c), and the same with
    // one document less.
    std::vector<std::vector<std::pair<std::uint32_t, std::int64_t>>> holding_;
    std::vector<LogSum> absent_;
    mutable std::vector<LogSum> absent_without_;
    mutable std::once_flag prepared_;
};
