// What Python holds of a network: its structure, and schedules compiled from it.
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "propagate.hpp"
#include "schedule.hpp"

namespace junction {

inline void require(bool right, const char* what) {
    if (!right) throw std::invalid_argument(what);
}

// A network's structure with the buffers that its queries share.
struct Tree {
    std::shared_ptr<Structure> structure = std::make_shared<Structure>();
    std::shared_ptr<Pool> pool = std::make_shared<Pool>();
    std::shared_ptr<std::vector<Size>> starts = std::make_shared<std::vector<Size>>();  // of states
};

struct Compiled {
    Schedule plan;
    std::shared_ptr<Pool> pool;
    std::shared_ptr<std::vector<Size>> starts;
};

// A buffer that goes back to the pool.
struct Held {
    Held(Pool& from, Size doubles) : pool(from), buffer(from.take(doubles)) {}
    ~Held() { pool.give(std::move(buffer)); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    double* at() const { return buffer.first.get(); }
    Pool& pool;
    Pool::Buffer buffer;
};

}  // namespace junction
