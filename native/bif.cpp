// The Bayesian interchange format (Cozman 1998, version 0.15): text in, names and tables out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "module.hpp"
#include "wording.hpp"

namespace nb = nanobind;

namespace {

constexpr std::size_t LARGEST_TABLE = std::size_t{1} << 27;
constexpr double MISSING = std::numeric_limits<double>::quiet_NaN();

// What is wrong, where, and the names that would have been right, if a name is the trouble.
struct Mistake {
    std::size_t at;
    std::string what;
    std::string name{};
    std::vector<std::string> known{};
};

struct Declared {
    std::string name;
    std::size_t at = 0;
    std::vector<std::string> states{};
    std::vector<std::string> properties{};
    std::unordered_map<std::string_view, std::size_t> index{};
};

struct Block {
    std::size_t child = 0;
    std::size_t at = 0;
    std::vector<std::size_t> parents{};
    std::vector<std::string> properties{};
    std::vector<double> values{};
};

enum class Kind { word, quoted, mark, end };

struct Token {
    Kind kind;
    std::string_view text;
    std::size_t at;
};

constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == ','; }

constexpr bool is_mark(char c) {
    return c == '{' || c == '}' || c == '(' || c == ')' || c == '[' || c == ']' || c == '|' || c == ';';
}

class Parser {
  public:
    explicit Parser(std::string_view source) : text(source) { next(); }

    void file() {
        while (token.kind != Kind::end) {
            if (accept("network")) {
                network();
            } else if (accept("variable")) {
                variable();
            } else if (accept("probability")) {
                if (!probability(false)) skip_block();
            } else {
                fail("expected 'network', 'variable' or 'probability', found " + found());
            }
        }
        for (std::size_t start : deferred) {
            position = start;
            next();
            probability(true);
        }
    }

    std::string name;
    std::vector<std::string> properties;
    std::vector<Declared> variables;
    std::vector<Block> blocks;

  private:
    std::string_view text;
    std::size_t position = 0;
    Token token{Kind::end, {}, 0};
    std::unordered_map<std::string_view, std::size_t> places;
    std::vector<std::size_t> deferred;

    [[noreturn]] void fail(const std::string& what) const { throw Mistake{token.at, what}; }

    std::string found() const {
        if (token.kind == Kind::end) return "the end of the file";
        std::size_t size = std::min<std::size_t>(token.text.size(), 60);
        while (size < token.text.size() && (static_cast<unsigned char>(token.text[size]) & 0xC0) == 0x80) --size;  // whole characters
        std::string shown("'");
        shown += token.text.substr(0, size);
        return shown += '\'';
    }

    bool comment_at(std::size_t at) const {
        return text[at] == '/' && at + 1 < text.size() && (text[at + 1] == '/' || text[at + 1] == '*');
    }

    void skip_space() {
        while (position < text.size()) {
            if (is_space(text[position])) {
                ++position;
            } else if (comment_at(position)) {
                const bool line = text[position + 1] == '/';
                const std::size_t stop = text.find(line ? "\n" : "*/", position + 2);
                if (stop == std::string_view::npos && !line) {
                    throw Mistake{position, "this comment is never closed; end it with */"};
                }
                position = stop == std::string_view::npos ? text.size() : stop + (line ? 1 : 2);
            } else {
                break;
            }
        }
    }

    void next() {
        skip_space();
        const std::size_t start = position;
        if (start == text.size()) {
            token = {Kind::end, {}, start};
        } else if (text[start] == '"') {
            const std::size_t stop = text.find('"', start + 1);
            if (stop == std::string_view::npos) throw Mistake{start, "this quote is never closed"};
            token = {Kind::quoted, text.substr(start + 1, stop - start - 1), start};
            position = stop + 1;
        } else if (is_mark(text[start])) {
            token = {Kind::mark, text.substr(start, 1), start};
            position = start + 1;
        } else {
            while (position < text.size() && !is_space(text[position]) && !is_mark(text[position]) &&
                   text[position] != '"' && !comment_at(position)) {
                ++position;
            }
            token = {Kind::word, text.substr(start, position - start), start};
        }
    }

    bool accept(std::string_view what) {
        if (token.kind == Kind::quoted || token.kind == Kind::end || token.text != what) return false;
        next();
        return true;
    }

    void expect(std::string_view what, const char* where) {
        if (!accept(what)) fail("expected '" + std::string(what) + "' " + where + ", found " + found());
    }

    std::string_view word(const char* what) {
        if (token.kind != Kind::word && token.kind != Kind::quoted) {
            fail(std::string("expected ") + what + ", found " + found());
        }
        const std::string_view taken = token.text;
        next();
        return taken;
    }

    // The rest of a property, up to its semicolon or, where that was left out, the end of the line.
    std::string property() {
        const std::size_t start = token.at;
        std::size_t stop = start;
        bool quoted = false;
        while (stop < text.size() && (quoted || (text[stop] != ';' && text[stop] != '\n'))) {
            quoted ^= text[stop] == '"';
            ++stop;
        }
        std::size_t last = stop;
        while (last > start && is_space(text[last - 1])) --last;
        position = stop < text.size() ? stop + 1 : stop;
        next();
        return std::string(text.substr(start, last - start));
    }

    void network() {
        if (token.kind != Kind::mark) name = word("the network's name");
        expect("{", "after the network's name");
        while (!accept("}")) {
            if (!accept("property")) fail("expected 'property' or '}', found " + found());
            properties.push_back(property());
        }
    }

    void variable() {
        Declared made;
        made.at = token.at;
        const std::string_view key = word("the variable's name");
        made.name = key;
        if (!places.emplace(key, variables.size()).second) {
            throw Mistake{made.at, "variable '" + made.name + "' is declared twice; keep one"};
        }
        expect("{", "after the variable's name");
        while (!accept("}")) {
            if (accept("property")) {
                made.properties.push_back(property());
            } else if (accept("type")) {
                states(made);
            } else {
                fail("expected 'type', 'property' or '}', found " + found());
            }
        }
        if (made.states.empty()) throw Mistake{made.at, "variable '" + made.name + "' has no states"};
        variables.push_back(std::move(made));
    }

    void states(Declared& made) {
        expect("discrete", "(the only type of variable in this format)");
        expect("[", "before the number of states");
        const std::size_t at = token.at;
        const double count = number();
        expect("]", "after the number of states");
        expect("{", "before the states");
        while (!accept("}")) {
            const std::size_t here = token.at;
            const std::string_view state = word("a state");
            if (!made.index.emplace(state, made.states.size()).second) {
                throw Mistake{here, "variable '" + made.name + "' has the state '" + std::string(state) +
                                        "' twice; give each state one name"};
            }
            made.states.emplace_back(state);
        }
        if (count != static_cast<double>(made.states.size())) {
            throw Mistake{at, "variable '" + made.name + "' says it has " +
                                  quantity(std::llround(count), "state") + " and lists " +
                                  std::to_string(made.states.size())};
        }
        accept(";");
    }

    double number() {
        std::string_view digits = token.text;
        if (!digits.empty() && digits.front() == '+') digits.remove_prefix(1);
        double value = 0;
        const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (token.kind != Kind::word || error != std::errc() || stop != digits.data() + digits.size()) {
            fail("expected a number, found " + found());
        }
        next();
        return value;
    }

    // False where a variable is not declared yet: the block is read again at the end of the file.
    bool probability(bool last) {
        const std::size_t start = token.at;
        Block block;
        expect("(", "after 'probability'");
        std::vector<std::size_t> members;
        bool bar = false;
        while (!accept(")")) {
            if (!bar && members.size() == 1 && accept("|")) {
                bar = true;
                continue;
            }
            const std::size_t at = token.at;
            const std::string_view member = word("a variable");
            const auto known = places.find(member);
            if (known == places.end()) {
                if (last) throw Mistake{at, "variable", std::string(member), names()};
                deferred.push_back(start);
                return false;
            }
            for (std::size_t other : members) {
                if (other == known->second) {
                    throw Mistake{at, "'" + std::string(member) + "' occurs twice in this distribution"};
                }
            }
            members.push_back(known->second);
        }
        if (members.empty()) fail("expected a variable between the parentheses");
        block.child = members[0];
        block.at = start;
        block.parents.assign(members.begin() + 1, members.end());
        fill(block);
        blocks.push_back(std::move(block));
        return true;
    }

    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const Declared& one : variables) all.push_back(one.name);
        return all;
    }

    void skip_block() {
        while (token.kind != Kind::end && !accept("{")) next();
        while (token.kind != Kind::end && !accept("}")) next();
    }

    void fill(Block& block) {
        const std::size_t width = variables[block.child].states.size();
        std::size_t size = width;
        for (std::size_t parent : block.parents) {
            size *= variables[parent].states.size();
            if (size > LARGEST_TABLE) {
                throw Mistake{block.at, "the table of '" + variables[block.child].name + "' with " +
                                            quantity(block.parents.size(), "parent") + " would have over " +
                                            std::to_string(LARGEST_TABLE) + " entries; use fewer parents"};
            }
        }
        block.values.assign(size, MISSING);
        std::vector<double> others;
        expect("{", "before the numbers");
        while (!accept("}")) {
            if (accept("property")) {
                block.properties.push_back(property());
            } else if (accept("table")) {
                table(block.values, width);
            } else if (accept("default")) {
                others.assign(width, 0.0);
                numbers(others.data(), width, 1);
            } else if (token.text == "(" && token.kind == Kind::mark) {
                const std::size_t at = row(block);
                numbers(block.values.data() + at * width, width, 1);
            } else {
                fail("expected 'table', 'default', a row such as (yes, no) .9, .1; or '}', found " + found());
            }
        }
        for (std::size_t i = 0; i < size && !others.empty(); ++i) {
            if (std::isnan(block.values[i])) block.values[i] = others[i % width];
        }
    }

    // The child's states run slowest in a whole table.
    void table(std::vector<double>& values, std::size_t width) {
        const std::size_t rows = values.size() / width;
        for (std::size_t state = 0; state < width; ++state) {
            for (std::size_t r = 0; r < rows; ++r) values[r * width + state] = number();
        }
        end_of_numbers(values.size());
    }

    void numbers(double* to, std::size_t count, std::size_t step) {
        for (std::size_t i = 0; i < count; ++i) to[i * step] = number();
        end_of_numbers(count);
    }

    void end_of_numbers(std::size_t count) {
        if (!accept(";")) {
            fail("expected ';' after " + quantity(count, "number") + ", found " + found());
        }
    }

    std::size_t row(const Block& block) {
        next();
        std::size_t place = 0;
        for (std::size_t parent : block.parents) {
            const Declared& of = variables[parent];
            const std::size_t at = token.at;
            const std::string_view state = word("a state");
            const auto known = of.index.find(state);
            if (known == of.index.end()) {
                throw Mistake{at, "state of variable '" + of.name + "'", std::string(state), of.states};
            }
            place = place * of.states.size() + known->second;
        }
        expect(")", "after one state for each parent");
        return place;
    }
};

nb::tuple read_bif(nb::bytes source) {
    const std::string_view text(source.c_str(), source.size());
    Parser* parser = nullptr;
    Mistake mistake{0, ""};
    {
        nb::gil_scoped_release free;
        try {
            parser = new Parser(text);
            parser->file();
        } catch (const Mistake& caught) {
            mistake = caught;
        }
    }
    nb::capsule keep(parser, [](void* gone) noexcept { delete static_cast<Parser*>(gone); });
    if (!mistake.what.empty()) return nb::make_tuple(mistake.at, mistake.what, mistake.name, mistake.known);

    nb::list variables;
    for (const Declared& one : parser->variables) {
        nb::list states;
        for (const std::string& state : one.states) states.append(nb::cast(state));
        variables.append(nb::make_tuple(one.name, nb::tuple(states), one.properties, one.at));
    }
    nb::list blocks;
    for (Block& one : parser->blocks) {
        std::vector<std::size_t> shape;
        for (std::size_t parent : one.parents) shape.push_back(parser->variables[parent].states.size());
        shape.push_back(parser->variables[one.child].states.size());
        nb::ndarray<nb::numpy, double> values(one.values.data(), shape.size(), shape.data(), keep);
        blocks.append(nb::make_tuple(one.child, one.parents, values, one.properties, one.at));
    }
    return nb::make_tuple(parser->name, parser->properties, variables, blocks, nb::none());
}

}  // namespace

void bind_bif(nb::module_& m) {
    m.def("read_bif", &read_bif, nb::arg("source"),
          "The network's name and properties, its variables (name, states, properties, offset) and blocks\n"
          "(child, parents, table, properties, offset); of a bad file (offset, what, name, known names).");
}
