// Scorer for Python: texts in, an array of scores out.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "module.hpp"
#include "weighted.hpp"

namespace {

using Matrix = nb::ndarray<nb::array_api, double, nb::ndim<2>, nb::c_contig>;
using Counts = nb::ndarray<nb::array_api, std::uint64_t, nb::ndim<1>, nb::c_contig>;

// Runs every text through its own bag, in several threads: use(bag, i).
template <class Use>
void each_text(const Texts& texts, const TokenRules& rules, int threads, Use&& use) {
    const nb::gil_scoped_release release;
    const auto workers = static_cast<std::size_t>(std::max(threads, 1));
    std::vector<Bag> bags(workers);
    std::vector<Tokeniser<Bag>> tokenisers;
    tokenisers.reserve(workers);
    for (auto& bag : bags) tokenisers.emplace_back(rules, bag);
    share(texts.size(), 16, threads, [&](int thread, std::size_t i) {
        Bag& bag = bags[static_cast<std::size_t>(thread)];
        if (bag.full()) bag.clear();
        bag.begin();
        texts.run(i, tokenisers[static_cast<std::size_t>(thread)]);
        use(bag, i);
    });
}

struct Scored {
    Scored(std::size_t texts, std::size_t columns) : width(columns), scores(texts * columns), tokens(texts), known(texts) {}

    double* row(std::size_t i) { return scores.data() + i * width; }
    void note(std::size_t i, const Scorer::Summary& summary) {
        tokens[i] = summary.tokens;
        known[i] = summary.known;
    }
    nb::tuple give_all() {
        const std::size_t texts = tokens.size();
        return nb::make_tuple(arrays::holding<Matrix>(std::move(scores), {texts, width}), arrays::holding<Counts>(std::move(tokens), {texts}),
                              arrays::holding<Counts>(std::move(known), {texts}));
    }

    std::size_t width;
    std::vector<double> scores;
    std::vector<std::uint64_t> tokens, known;
};

// For so few texts it isn't worth while to lay out the weights of all terms.
constexpr std::size_t few = 16;
bool laid_out(const Scorer&) { return true; }
bool laid_out(const Weighted& model) { return model.laid_out(); }
Scorer::Summary score_alone(const Scorer& scorer, Bag& bag, double* row) { return scorer.score(bag, row); }
Scorer::Summary score_alone(const Weighted& model, Bag& bag, double* row) { return model.score_alone(bag, row); }

template <class Model>
nb::tuple score(const Model& model, nb::handle documents, int threads) {
    const Texts texts(documents);
    Scored out(texts.size(), model.classes());
    const bool alone = texts.size() <= few && !laid_out(model);
    each_text(texts, model.rules(), alone ? 1 : threads, [&](Bag& bag, std::size_t i) {
        out.note(i, alone ? score_alone(model, bag, out.row(i)) : model.score(bag, out.row(i)));
    });
    return out.give_all();
}

Scorer::Summary without(const Scorer& scorer, Bag& bag, Scorer::Own own, double* row) { return scorer.score_without(bag, own, row); }
Scorer::Summary without(const Weighted& model, Bag& bag, Scorer::Own own, double* row) { return model.channels_without(bag, own, row); }
std::size_t channels(const Scorer&) { return 1; }
std::size_t channels(const Weighted& model) { return model.channels(); }

template <class Model>
nb::tuple score_without(const Model& model, nb::handle documents, const std::vector<std::int64_t>& own, int threads,
                        const std::vector<std::uint64_t>& times) {
    const Texts texts(documents);
    if (own.size() != texts.size()) throw nb::value_error("texts and their classes must be of one length");
    for (const auto c : own)
        if (c < 0 || static_cast<std::size_t>(c) >= model.classes()) throw nb::value_error("a class index is out of range");
    if (!times.empty() && (times.size() != texts.size() || std::ranges::count(times, 0u))) throw nb::value_error("each text was counted once or more");
    Scored out(texts.size(), channels(model) * model.classes());
    each_text(texts, model.rules(), threads, [&](Bag& bag, std::size_t i) {
        out.note(i, without(model, bag, {static_cast<std::uint32_t>(own[i]), times.empty() ? 1 : times[i]}, out.row(i)));
    });
    return out.give_all();
}

// What a term of a document adds to the score of each class.
std::optional<std::vector<double>> contribution(const Scorer& scorer, const Bag::Term& term) {
    auto weights = scorer.weights(term.key());
    if (weights && !scorer.bernoulli())
        for (double& weight : *weights) weight *= term.times;
    return weights;
}
std::optional<std::vector<double>> contribution(const Weighted& model, const Bag::Term& term) { return model.weights(term); }

// The distinct terms of one text: (term, occurrences, what it adds to each class or None: not in the vocabulary).
template <class Model>
nb::list terms(const Model& model, const Terms& counts, nb::handle text) {
    const nb::object one = nb::steal(PyTuple_Pack(1, text.ptr()));
    const Texts texts(one);
    Bag bag;
    bag.begin();
    Tokeniser<Bag> tokeniser(model.rules(), bag);
    texts.run(0, tokeniser);
    bag.weigh();
    counts.table().look_up(bag);
    nb::list out;
    for (std::size_t i = 0; i < bag.size(); ++i)
        out.append(nb::make_tuple(nb::str(bag[i].text().data(), bag[i].text().size()), bag[i].times, contribution(model, bag[i])));
    return out;
}

template <class Model>
void bind_common(nb::class_<Model>& bound) {
    using namespace nb::literals;
    bound
        .def("score", &score<Model>, "texts"_a, "threads"_a = 1,
             "Scores, shape (texts, classes); tokens; tokens in the vocabulary.")
        .def("score_without", &score_without<Model>, "texts"_a, "own"_a, "threads"_a = 1,
             "times"_a = std::vector<std::uint64_t>{},
             "The same, of each channel, from the counts less the text's own, which are part of class own[i] times[i] times, or "
             "once.")
        .def("terms", &terms<Model>, "counts"_a, "text"_a,
             "Of each distinct term of a text: (term, occurrences, what it adds to each class, or None).")
        .def("words", &Model::words, "The vocabulary, sorted.")
        .def_prop_ro("vocabulary", &Model::vocabulary, "|V|.");
}

}  // namespace

void bind_scorer(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Scorer> scorer(m, "Scorer", "Log probabilities by the m-estimate, and the scores of texts under them.");
    scorer.def("__init__", [](Scorer* at, Terms& counts, std::vector<std::uint64_t> documents, bool bernoulli,
                              std::optional<double> mass, double each, bool by_share, std::vector<double> log_prior,
                              std::uint64_t min_count, std::size_t drop_most_frequent, std::size_t min_length,
                              const std::vector<std::string>& stop, int threads) {
        Rule rule{bernoulli ? Events::bernoulli : Events::multinomial, mass, each, by_share, std::move(log_prior),
                  {min_count, drop_most_frequent, min_length, {stop.begin(), stop.end()}}};
        if (!rule.log_prior.empty() && rule.log_prior.size() != documents.size())
            throw std::invalid_argument("one prior a class is needed");
        new (at) Scorer(counts, std::move(documents), std::move(rule), threads);
    }, nb::keep_alive<1, 2>(), "terms"_a, "documents"_a, "bernoulli"_a = false, "m"_a = nb::none(), "a"_a = 1.0,
               "share"_a = false, "log_prior"_a = std::vector<double>{}, "min_count"_a = 1, "drop_most_frequent"_a = 0,
               "min_length"_a = 1, "stop"_a = std::vector<std::string>{}, "threads"_a = 1);
    bind_common(scorer);
    scorer
        .def("intercepts", &Scorer::intercepts, "What every text starts with in each class.")
        .def_prop_ro("positions", &Scorer::positions, "Occurrences of vocabulary terms in each class.");

    nb::class_<Totals>(m, "Totals", "What terms add up to, whatever the smoothing.")
        .def("__init__", [](Totals* at, Terms& counts, std::vector<std::uint64_t> documents, bool raw, double spread,
                            std::pair<double, double> rarity, std::pair<std::uint64_t, std::uint64_t> least, bool grams,
                            bool rates, const Frequencies* collection, std::size_t min_length,
                            const std::vector<std::string>& stop, int threads) {
            new (at) Totals(counts, std::move(documents), {raw, rates, spread, {rarity.first, rarity.second}, {least.first, least.second}},
                            grams, min_length, {stop.begin(), stop.end()}, collection, threads);
        }, nb::keep_alive<1, 2>(), "terms"_a, "documents"_a, "raw"_a, "spread"_a, "rarity"_a, "least"_a, "grams"_a,
             "rates"_a = false, "collection"_a.none() = nb::none(), "min_length"_a = 1, "stop"_a = std::vector<std::string>{}, "threads"_a = 1);

    nb::class_<Weighted> weighted(m, "Weighted", "Log-odds weights of damped, normalised terms, in channels.");
    weighted.def("__init__", [](Weighted* at, const Totals& totals, const std::vector<std::tuple<bool, double, double>>& given) {
        std::vector<Channel> channels;
        for (const auto& [grams, own, rest] : given) channels.push_back({grams, own, rest});
        new (at) Weighted(totals, std::move(channels));
    }, nb::keep_alive<1, 2>(), "totals"_a, "channels"_a);
    bind_common(weighted);
    weighted
        .def("fold", &Weighted::fold, "factors"_a, "Lay out the channels, each times its factor, as one weight a term and class.")
        .def_prop_ro("channels", &Weighted::channels);
}
