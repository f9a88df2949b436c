// Wide vectors where the processor has them, chosen when the library is loaded.
#pragma once

#include <cstdint>  // says whether the C library is glibc, whose loader can choose

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
// Of a function that is written twice: for processors with vectors of 64 bytes, and for all others.
#define WIDE_64 __attribute__((target("arch=x86-64-v4")))
#define NOT_WIDE __attribute__((target("default")))
#else
#define WIDE
#define NOT_WIDE
#endif

#define INLINE inline __attribute__((always_inline))
