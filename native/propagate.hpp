// Running a schedule.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "random.hpp"
#include "schedule.hpp"

namespace junction {

// Buffers that are kept between queries, so that large tables don't cost fresh pages each time.
class Pool {
  public:
    struct Free {
        void operator()(double* at) const;
    };
    using Buffer = std::pair<std::unique_ptr<double[], Free>, Size>;
    Buffer take(Size doubles);
    void give(Buffer buffer);

  private:
    std::mutex lock;
    std::vector<Buffer> idle;
};

// The evidence of `rows` cases: observed states, variable by variable, the case innermost; and for weighed
// variables a weight for each state, laid out alike.
struct Cases {
    const std::int32_t* seen;
    const double* weights;              // states of all variables one after the other
    const std::vector<Size>& starts;    // of each variable in `weights`
};

class Propagation {
  public:
    Propagation(const Schedule& by, const double* all_values, double* workspace)
        : plan(by), rows(by.request.rows), values(all_values), work(workspace) {}

    void prepare();                              // what does not depend on the case
    void collect(const Cases& cases, double* logs);
    void distribute(const Cases& cases, double* outputs);  // posteriors; outputs[place * rows + case]
    void joint(double* to) const;
    void trace(std::int32_t* states) const;      // the most probable states, one case
    void draw(random_numbers::Stream& stream, std::int32_t* states) const;  // one case, after collecting
    void expect(const double* shares, double* sums) const;  // adds each clique's posterior, cases weighed
    const double* posterior(const Clique& clique) const { return work + clique.at; }  // after distributing

  private:
    const Schedule& plan;
    Size rows;
    const double* values;
    double* work;

    Size below(const Clique& clique, const std::int32_t* states) const;
    void spread(const Clique& clique, Size place, std::int32_t* states) const;
    void gather(const Gather& one, const Cases* cases);
    void settle(double* table, Size entries, double* logs, double* by, bool always);
    void marginal(const double* table, const Marginal& one, double* outputs) const;
};

}  // namespace junction
