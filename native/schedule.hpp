// A network and a pattern of evidence as a flat plan: which tables to fill, and in which order to multiply
// and sum them.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tables.hpp"

namespace junction {

using tables::Size;
using tables::Walk;

constexpr Size MOST_ROWS = 64;

struct Structure {
    std::vector<Size> states;              // of each variable
    std::vector<std::vector<int>> scopes;  // of each variable's distribution: parents in order, then itself
    std::vector<Size> starts;              // of each distribution in the array of all their values
    Size values = 0;                       // length of that array
};

enum class Role : std::uint8_t { free, seen, weighed };

struct Request {
    std::vector<Role> roles;      // of each variable
    std::vector<char> outputs;    // whether its posterior is wanted
    std::vector<int> joint;       // variables whose joint posterior is wanted
    std::vector<char> late;       // variables to maximise over, once the others are summed out
    bool everything = false;      // every clique's posterior is wanted
    Size rows = 1;                // cases side by side in every table, at most MOST_ROWS
    double patience = 1;          // see triangulate.hpp
};

// One distribution, cut at the evidence and turned to the order of its clique.
struct Gather {
    int family;
    Size at;                        // in the workspace
    Size entries;
    bool by_row;                    // depends on the case
    std::vector<tables::Step> axes; // count and stride in the distribution, outermost first
    std::vector<std::pair<int, Size>> seen;  // observed variables and their strides
};

struct Weight {  // of a variable's states
    int variable;
    Size at;
};

struct Product {
    Size into;
    Size from;
    Walk along;
};

struct Marginal {
    int variable;
    Walk along;
};

struct Clique {
    std::vector<int> variables;  // outermost first; the separator comes last
    int parent = -1;
    bool maximise = false;
    bool wanted = false;         // some posterior comes from here or from below
    Size at = 0;
    Size entries = 1;
    Size message = 0;
    Size separator = 1;
    Size own = 1;                // variables that are not in the separator
    Size scales = 0;             // what the message was multiplied by on its way up
    std::vector<std::pair<Size, Walk>> inputs;
    Walk up;                     // clique over separator
    Walk down;                   // parent over separator
    std::vector<Marginal> of_clique;
    std::vector<Marginal> of_separator;
};

struct Schedule {
    std::shared_ptr<const Structure> structure;
    Request request;
    std::vector<Clique> cliques;  // parents before children
    std::vector<Gather> gathers;
    std::vector<Gather> constants;  // distributions that are fully observed
    std::vector<Weight> weights;
    std::vector<Product> products;  // small tables that go into another before it goes into a clique
    std::vector<int> joint;         // the joint's variables in the order of its table
    Walk joint_walk;
    int joint_clique = -1;
    std::vector<int> home;          // of each distribution: the clique that holds its variables, or -1
    std::vector<Size> places;       // of each variable's posterior in the output, or -1
    Size outputs = 0;
    Size scratch = 0;
    Size shared = 0;                // doubles that are filled once
    Size doubles = 0;               // doubles in all
    double entries = 0;             // of all cliques' tables
    double largest = 0;             // of the largest
};

// Where the tables would not fit into any memory, only their cost is worked out.
Schedule compile(std::shared_ptr<const Structure> structure, const Request& request);

}  // namespace junction
