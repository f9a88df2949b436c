#include "memory.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <mutex>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace memory {

namespace {

constexpr std::size_t page = 2 << 20;
constexpr std::size_t part = page / 32;
constexpr std::align_val_t line{64};  // of the cache, to which elements may ask to be aligned

void* pages(std::size_t bytes) {
    bytes = (bytes + page - 1) / page * page;
    void* at = ::operator new(bytes, std::align_val_t{page});
#if defined(MADV_HUGEPAGE)
    madvise(at, bytes, MADV_HUGEPAGE);  // advice: without it the memory is as good, only slower
#endif
    return at;
}

void leave(void* at) noexcept { ::operator delete(at, std::align_val_t{page}); }

// Huge pages in 32 parts, of which an array has 1, 2, 4, 8 or 16 that begin at a multiple of their number.
class Shared {
public:
    void* take(std::size_t parts) {
        const std::lock_guard lock(changing_);
        const std::uint32_t run = (std::uint32_t{1} << parts) - 1;
        for (auto& [at, used] : used_)
            for (std::size_t first = 0; first < 32; first += parts)
                if (!(used & run << first)) {
                    used |= run << first;
                    return at + first * part;
                }
        auto* at = static_cast<std::byte*>(pages(page));
        used_[at] = run;
        return at;
    }

    void give(void* at, std::size_t parts) noexcept {
        const std::lock_guard lock(changing_);
        const auto found = std::prev(used_.upper_bound(static_cast<std::byte*>(at)));
        const auto first = static_cast<std::size_t>(static_cast<std::byte*>(at) - found->first) / part;
        found->second &= ~(((std::uint32_t{1} << parts) - 1) << first);
        if (found->second) return;
        leave(found->first);
        used_.erase(found);
    }

private:
    std::map<std::byte*, std::uint32_t> used_;  // of each page, a bit for each part
    std::mutex changing_;
};

// Never destroyed: arrays may outlive what is destroyed at the end of the program.
Shared& shared() {
    static Shared& only = *new Shared;
    return only;
}

std::size_t parts(std::size_t bytes) { return std::bit_ceil((bytes + part - 1) / part); }

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t least = static_cast<std::size_t>(-1);  // the sanitiser is to see the bounds of each array
#else
constexpr std::size_t least = part / 2;
#endif

}  // namespace

void* take(std::size_t bytes) {
    if (bytes <= least) return ::operator new(bytes, line);
    return bytes > page / 2 ? pages(bytes) : shared().take(parts(bytes));
}

void give(void* at, std::size_t bytes) noexcept {
    if (bytes <= least) ::operator delete(at, line);
    else if (bytes > page / 2) leave(at);
    else shared().give(at, parts(bytes));
}

}  // namespace memory
