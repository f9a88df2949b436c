#include "kept.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "module.hpp"

namespace {

void add(Kept& kept, nb::handle documents) {
    const Texts texts(documents);
    Bag bag;
    Tokeniser<Bag> tokeniser(kept.rules(), bag);
    const nb::gil_scoped_release release;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (bag.full()) bag.clear();
        bag.begin();
        texts.run(i, tokeniser);
        kept.add(bag);
    }
}

nb::tuple score(const Kept& kept, const TermWeights& weights, int threads) {
    const std::size_t documents = kept.size(), classes = weights.classes;
    std::vector<double> scores(documents * classes);
    std::vector<std::uint64_t> tokens(documents), known(documents);
    {
        const nb::gil_scoped_release release;
        share(documents, 256, threads, [&](int, std::size_t i) {
            const auto summary = kept.score(weights, i, scores.data() + i * classes);
            tokens[i] = summary.tokens;
            known[i] = summary.known;
        });
    }
    return nb::make_tuple(arrays::out(std::move(scores), {documents, classes}), arrays::out(std::move(tokens), {documents}),
                          arrays::out(std::move(known), {documents}));
}

// An array of numbers that a frozen object goes on holding.
template <class T>
auto shown(nb::handle holder, const std::vector<T>& numbers) {
    return nb::ndarray<nb::numpy, const T, nb::ndim<1>>(numbers.data(), {numbers.size()}, holder);
}

template <class T>
std::vector<T> copied(const arrays::In<T, 1>& from) {
    return {from.data(), from.data() + from.size()};
}

}  // namespace

void bind_kept(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<TermWeights>(m, "TermWeights", "What one unit of each kept term adds to each class.");
    nb::class_<Frequencies>(m, "Frequencies", "How many documents of a collection hold each term; it does not change.")
        .def("__init__", [](Frequencies* at, std::uint64_t documents, const arrays::In<std::uint64_t, 1>& terms,
                            const arrays::In<std::uint32_t, 1>& holding) {
            new (at) Frequencies(documents, copied(terms), copied(holding));
        }, "documents"_a, "terms"_a, "holding"_a, "Of the terms with these hashes, which rise; of any other it is 1.")
        .def_prop_ro("documents", &Frequencies::documents)
        .def_prop_ro("terms", [](nb::handle_t<Frequencies> self) { return shown(self, nb::cast<const Frequencies&>(self).terms()); })
        .def_prop_ro("holding", [](nb::handle_t<Frequencies> self) { return shown(self, nb::cast<const Frequencies&>(self).with()); });
    nb::class_<Kept>(m, "Kept", "Documents kept as their terms, so that they can be scored again without their texts.")
        .def("__init__", [](Kept* at, const Terms& like) {
            if (like.grams()) throw std::invalid_argument("documents are kept as single words, not as n-grams");
            new (at) Kept(like.rules());
        }, "like"_a)
        .def("add", &add, "texts"_a, "Keep texts.")
        .def("weigh", &Kept::weigh<Scorer>, "scorer"_a, "The weights of the kept terms as they are now.")
        .def("weigh", &Kept::weigh<Weighted>, "scorer"_a)
        .def("score", &score, "weights"_a, "threads"_a = 1,
             "Scores, shape (documents, classes); tokens; tokens in the vocabulary. It reads nothing but what is kept.")
        .def("frequencies", &Kept::frequencies, "How many of the texts hold each term, as it is now.")
        .def("__len__", &Kept::size)
        .def_prop_ro("vocabulary", &Kept::vocabulary)
        .def("memory", &Kept::memory, "Bytes held.");
}
