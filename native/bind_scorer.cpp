// Scorer for Python: texts in, an array of scores out.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.hpp"
#include "scorer.hpp"

namespace {

using Matrix = nb::ndarray<nb::array_api, double, nb::ndim<2>, nb::c_contig>;
using Counts = nb::ndarray<nb::array_api, std::uint64_t, nb::ndim<1>, nb::c_contig>;

template <class Array, class Value>
Array give(std::vector<Value>&& values, std::initializer_list<std::size_t> shape) {
    auto* held = new std::vector<Value>(std::move(values));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<Value>*>(p); });
    return Array(held->data(), shape, owner);
}

nb::tuple score(const Scorer& scorer, nb::handle documents, std::optional<std::vector<std::int64_t>> own, int threads) {
    const Texts texts(documents);
    if (own && own->size() != texts.size()) throw nb::value_error("texts and their classes must be of one length");
    const std::size_t classes = scorer.classes();
    std::vector<double> scores(texts.size() * classes);
    std::vector<std::uint64_t> tokens(texts.size()), known(texts.size());
    {
        const nb::gil_scoped_release release;
        const auto workers = static_cast<std::size_t>(std::max(threads, 1));
        std::vector<Bag> bags(workers);
        std::vector<Tokeniser<Bag>> tokenisers;
        tokenisers.reserve(workers);
        for (auto& bag : bags) tokenisers.emplace_back(scorer.rules(), bag);
        share(texts.size(), 16, threads, [&](int thread, std::size_t i) {
            Bag& bag = bags[static_cast<std::size_t>(thread)];
            bag.begin();
            texts.run(i, tokenisers[static_cast<std::size_t>(thread)]);
            double* row = scores.data() + i * classes;
            if (own && ((*own)[i] < 0 || static_cast<std::size_t>((*own)[i]) >= classes))
                throw std::invalid_argument("a class index is out of range");
            const auto summary = own ? scorer.score_without(bag, static_cast<std::uint32_t>((*own)[i]), row) : scorer.score(bag, row);
            tokens[i] = summary.tokens;
            known[i] = summary.known;
        });
    }
    return nb::make_tuple(give<Matrix>(std::move(scores), {texts.size(), classes}),
                          give<Counts>(std::move(tokens), {texts.size()}), give<Counts>(std::move(known), {texts.size()}));
}

// ln P(c given text) of the classes in `order`, in that order; of rows in which no class is possible, `fallback`.
nb::tuple log_posteriors(nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> scores,
                         const std::vector<std::size_t>& order, const std::vector<double>& fallback) {
    if (order.empty() || fallback.size() != order.size()) throw nb::value_error("one fallback a class is needed");
    for (const auto c : order)
        if (c >= scores.shape(1)) throw nb::value_error("a class index is out of range");
    const std::size_t rows = scores.shape(0), classes = order.size();
    std::vector<double> out(rows * classes);
    std::vector<std::uint64_t> best(rows), undefined;
    for (std::size_t i = 0; i < rows; ++i) {
        const double* from = scores.data() + i * scores.shape(1);
        double* to = out.data() + i * classes;
        for (std::size_t k = 0; k < classes; ++k) {
            to[k] = from[order[k]];
            if (to[k] > to[best[i]]) best[i] = k;
        }
        const double most = to[best[i]];
        if (!(most > -std::numeric_limits<double>::infinity())) {
            undefined.push_back(i);
            std::copy(fallback.begin(), fallback.end(), to);
            best[i] = static_cast<std::size_t>(std::max_element(to, to + classes) - to);
            continue;
        }
        double sum = 0;
        for (std::size_t k = 0; k < classes; ++k) sum += std::exp(to[k] - most);
        const double over = most + std::log(sum);
        for (std::size_t k = 0; k < classes; ++k) to[k] -= over;
    }
    return nb::make_tuple(give<Matrix>(std::move(out), {rows, classes}), give<Counts>(std::move(best), {rows}), undefined);
}

// The terms of one text, each with its occurrences and what one of them adds to each class (None: not in the vocabulary).
nb::list terms(const Scorer& scorer, nb::handle text) {
    const nb::object one = nb::steal(PyTuple_Pack(1, text.ptr()));
    const Texts texts(one);
    Bag bag;
    bag.begin();
    Tokeniser<Bag> tokeniser(scorer.rules(), bag);
    texts.run(0, tokeniser);
    nb::list out;
    for (std::size_t i = 0; i < bag.size(); ++i)
        out.append(nb::make_tuple(nb::str(bag[i].bytes, bag[i].size), bag[i].times, scorer.weights(Bag::key(bag[i]))));
    return out;
}

}  // namespace

void bind_scorer(nb::module_& m) {
    using namespace nb::literals;
    m.def("log_posteriors", &log_posteriors, "scores"_a, "order"_a, "fallback"_a,
          "Of each row of scores: ln P(c given text) of the classes in `order`, the position of the largest (the first of "
          "equals), and the rows in which no class is possible, which get `fallback`.");
    nb::class_<Scorer>(m, "Scorer", "Log probabilities estimated from Terms, and the scores of documents under them.")
        .def("__init__", [](Scorer* at, Terms& counts, std::vector<std::uint64_t> documents, bool bernoulli,
                            std::optional<double> mass, bool by_share, std::vector<double> log_prior, std::uint64_t min_count,
                            std::size_t drop_most_frequent, std::size_t min_length, const std::vector<std::string>& stop) {
            Rule rule{bernoulli ? Events::bernoulli : Events::multinomial, mass, by_share, std::move(log_prior),
                      {min_count, drop_most_frequent, min_length, {stop.begin(), stop.end()}}};
            if (!rule.log_prior.empty() && rule.log_prior.size() != documents.size())
                throw std::invalid_argument("one prior a class is needed");
            new (at) Scorer(counts, std::move(documents), std::move(rule));
        }, nb::keep_alive<1, 2>(), "terms"_a, "documents"_a, "bernoulli"_a = false, "m"_a = nb::none(), "share"_a = false,
             "log_prior"_a = std::vector<double>{}, "min_count"_a = 1, "drop_most_frequent"_a = 0, "min_length"_a = 1,
             "stop"_a = std::vector<std::string>{})
        .def("score", &score, "texts"_a, "own"_a = nb::none(), "threads"_a = 1,
             "ln P(c) + ln P(text given c), shape (texts, classes), in nats; tokens; tokens in the vocabulary. With `own`, "
             "the class of each text, from the counts less the text's own.")
        .def("terms", &terms, "text"_a, "Of each distinct term of a text: (term, occurrences, weights or None).")
        .def("intercepts", &Scorer::intercepts, "What every text starts with in each class.")
        .def("weights", [](const Scorer& scorer, const std::string& term) { return scorer.weights({term.data(), term.size()}); },
             "term"_a, "What one occurrence adds to each class; None if the term is not in the vocabulary.")
        .def("words", &Scorer::words, "The vocabulary, sorted.")
        .def_prop_ro("vocabulary", &Scorer::vocabulary, "|V|.")
        .def_prop_ro("positions", &Scorer::positions, "Occurrences of vocabulary terms in each class.");
}
