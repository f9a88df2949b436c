// The least of a smooth function inside bounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <vector>

namespace descent {

using Vector = std::vector<double>;

struct Bounds {
    Vector lower, upper;
};

inline double dot(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

// What the last steps say of the curvature (Liu and Nocedal 1989).
class Curvature {
public:
    void learn(const Vector& step, const Vector& bend) {
        const double along = dot(step, bend);
        if (!(along > 1e-12 * dot(bend, bend))) return;
        if (steps_.size() == most) steps_.pop_front();
        steps_.push_back({step, bend, 1 / along});
    }
    void forget() { steps_.clear(); }
    bool empty() const { return steps_.empty(); }

    // From the slopes to how far to go against them.
    void apply(Vector& q) const {
        Vector shares(steps_.size());
        for (std::size_t k = steps_.size(); k-- > 0;) {
            const auto& [step, bend, inverse] = steps_[k];
            shares[k] = inverse * dot(step, q);
            for (std::size_t i = 0; i < q.size(); ++i) q[i] -= shares[k] * bend[i];
        }
        if (!steps_.empty()) {
            const Last& last = steps_.back();
            const double scale = 1 / (last.inverse * dot(last.bend, last.bend));
            for (double& x : q) x *= scale;
        }
        for (std::size_t k = 0; k < steps_.size(); ++k) {
            const auto& [step, bend, inverse] = steps_[k];
            const double share = shares[k] - inverse * dot(bend, q);
            for (std::size_t i = 0; i < q.size(); ++i) q[i] += share * step[i];
        }
    }

private:
    static constexpr std::size_t most = 10;
    struct Last {
        Vector step, bend;
        double inverse;
    };
    std::deque<Last> steps_;
};

// Where `value(x, slopes)` is least, from x on downhill by L-BFGS. A number at a bound that the slope drives against it
// stays there, and steps end at the bounds (Bertsekas 1982). Ends where three steps gain less than `least` of the value each.
template <class Value>
Vector descend(Value&& value, Vector x, const Bounds& bounds, double least, int steps) {
    const std::size_t size = x.size();
    for (std::size_t i = 0; i < size; ++i) x[i] = std::clamp(x[i], bounds.lower[i], bounds.upper[i]);
    Vector slopes(size), direction(size), there(size), new_slopes(size);
    double here = value(x, slopes);
    Curvature curvature;
    int idle = 0;
    while (steps-- > 0) {
        const auto held = [&](std::size_t i) { return slopes[i] > 0 ? x[i] <= bounds.lower[i] : x[i] >= bounds.upper[i]; };
        const auto free = [&](Vector& v) {
            for (std::size_t i = 0; i < size; ++i)
                if (held(i)) v[i] = 0;
        };
        direction = slopes;
        free(direction);
        curvature.apply(direction);
        free(direction);
        if (!(dot(direction, slopes) > 0)) {
            if (curvature.empty()) break;
            curvature.forget();
            continue;
        }
        double length = curvature.empty() ? std::min(1.0, 1 / std::sqrt(dot(direction, direction))) : 1, gain = 0;
        for (int halvings = 0; halvings < 30 && gain <= 0; ++halvings, length /= 2) {
            double expected = 0;
            for (std::size_t i = 0; i < size; ++i) {
                there[i] = std::clamp(x[i] - length * direction[i], bounds.lower[i], bounds.upper[i]);
                expected += slopes[i] * (x[i] - there[i]);
            }
            const double tried = value(there, new_slopes);
            if (tried <= here - 1e-4 * expected) gain = here - tried;
        }
        if (gain <= 0) {
            if (curvature.empty()) break;
            curvature.forget();
            continue;
        }
        Vector step(size), bend(size);
        for (std::size_t i = 0; i < size; ++i) {
            step[i] = there[i] - x[i];
            bend[i] = new_slopes[i] - slopes[i];
        }
        curvature.learn(step, bend);
        std::swap(x, there);
        std::swap(slopes, new_slopes);
        here -= gain;
        idle = gain <= least * std::abs(here) ? idle + 1 : 0;
        if (idle == 3) break;
    }
    return x;
}

}  // namespace descent
