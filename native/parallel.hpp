// Work shared out to threads. What each piece does must not depend on which thread does it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace parallel {

// Calls `work(piece)` for each piece from 0, on up to `threads` threads (0: as many as the machine has).
template <class Work>
void each(std::int64_t pieces, int threads, Work&& work) {
    static const auto hardware = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const auto wanted = std::min<std::int64_t>(threads > 0 ? threads : hardware, pieces);
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    const auto run = [&] {
        try {
            for (std::int64_t piece; (piece = next++) < pieces;) work(piece);
        } catch (...) {
            const std::lock_guard<std::mutex> held(guard);
            failure = std::current_exception();
            next = pieces;
        }
    };
    std::vector<std::thread> others;
    for (std::int64_t t = 1; t < wanted; ++t) others.emplace_back(run);
    run();
    for (std::thread& other : others) other.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace parallel
