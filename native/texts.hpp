// Python strings as they lie in memory, and work shared among threads.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace nb = nanobind;

// A sequence of str, held while the interpreter lock is not. Each string is an array of 1-, 2- or 4-byte code points.
class Texts {
public:
    explicit Texts(nb::handle sequence) : held_(nb::steal(PySequence_Fast(sequence.ptr(), "texts must be a sequence of str"))) {
        if (!held_.is_valid()) throw nb::python_error();
        const auto size = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(held_.ptr()));
        PyObject** items = PySequence_Fast_ITEMS(held_.ptr());
        views_.reserve(size);
        for (std::size_t i = 0; i < size; ++i) {
            __builtin_prefetch(items[std::min(i + ahead, size - 1)]);
            if (!PyUnicode_Check(items[i])) throw nb::type_error("texts must be str");
            views_.push_back({PyUnicode_DATA(items[i]), static_cast<std::size_t>(PyUnicode_GET_LENGTH(items[i])),
                              PyUnicode_IS_ASCII(items[i]) ? 0 : static_cast<int>(PyUnicode_KIND(items[i]))});
        }
    }

    std::size_t size() const { return views_.size(); }

    template <class Tokens>
    void run(std::size_t i, Tokens& tokens) const {
        const auto& view = views_[i];
        if (view.kind == 0) tokens.run_ascii(static_cast<const std::uint8_t*>(view.data), view.length);
        else if (view.kind == 1) run_as<std::uint8_t>(view, tokens);
        else if (view.kind == 2) run_as<std::uint16_t>(view, tokens);
        else run_as<std::uint32_t>(view, tokens);
    }

    // Asks for what is needed of a text that is run soon, and of one that is run later.
    void expect(std::size_t soon, std::size_t later) const {
        __builtin_prefetch(&views_[later]);
        const auto* data = static_cast<const char*>(views_[soon].data);
        __builtin_prefetch(data);
        __builtin_prefetch(data + 64);
    }

    static constexpr std::size_t ahead = 8;

private:
    struct View {
        const void* data;
        std::size_t length;
        int kind;  // bytes a code point; 0 for ASCII
    };

    template <class Char, class Tokens>
    static void run_as(const View& view, Tokens& tokens) {
        const auto* first = static_cast<const Char*>(view.data);
        tokens.run(first, first + view.length);
    }

    nb::object held_;
    std::vector<View> views_;
};

// Calls work(thread, i) for each i below `size`, in blocks. Neighbours go to one thread, which has a part of its own, and
// helps with those of others when it is through.
template <class Work>
void share(std::size_t size, std::size_t block, int threads, Work&& work) {
    struct alignas(64) Part {
        std::atomic<std::size_t> next;
        std::size_t end;
    };
    const std::size_t blocks = (size + block - 1) / block;
    const std::size_t useful = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), 1, std::max<std::size_t>(blocks, 1));
    std::vector<Part> parts(useful);
    for (std::size_t k = 0; k < useful; ++k) {
        parts[k].next = block * (blocks * k / useful);
        parts[k].end = std::min(size, block * (blocks * (k + 1) / useful));
    }
    std::exception_ptr failure;
    std::mutex failing;
    const auto run = [&](std::size_t thread) {
        try {
            for (std::size_t k = 0; k < useful; ++k) {
                Part& part = parts[(thread + k) % useful];
                for (std::size_t first; (first = part.next.fetch_add(block)) < part.end;)
                    for (std::size_t i = first; i < std::min(first + block, part.end); ++i) work(static_cast<int>(thread), i);
            }
        } catch (...) {
            const std::lock_guard lock(failing);
            failure = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    for (std::size_t thread = 1; thread < useful; ++thread) others.emplace_back(run, thread);
    run(0);
    for (auto& other : others) other.join();
    if (failure) std::rethrow_exception(failure);
}
