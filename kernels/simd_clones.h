/*
 * LOB_SIMD_CLONES(result, name, (arguments), parameters...) { ... } defines a static function that
 * is compiled twice where that pays: for x86-64 processors with AVX2 and fused products, and for
 * all. Each call takes the processor's. Both give the same results.
 */
#ifndef LOB_SIMD_CLONES_H
#define LOB_SIMD_CLONES_H

#include <stdbool.h>

#if defined(__x86_64__) && defined(__GNUC__)
/* Before what such a processor alone may run: to be called where lob_has_avx2(). */
#define LOB_AVX2 __attribute__((target("avx2,fma")))

/* Likewise, where lob_has_bits(): the processor counts the bits of eight words at once. */
#define LOB_BITS __attribute__((target("avx512f,avx512vpopcntdq")))

/* Likewise, where lob_has_wide(): vectors of 64 bytes, which pay where much is computed of little.
 */
#ifdef __clang__
#define LOB_WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#else
#define LOB_WIDE \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")))
#endif

extern bool lob_with_avx2, lob_with_bits, lob_with_wide; /* known before main() */

static inline bool lob_has_avx2(void)
{
    return lob_with_avx2;
}

static inline bool lob_has_bits(void)
{
    return lob_with_bits;
}

static inline bool lob_has_wide(void)
{
    return lob_with_wide;
}

#define LOB_SIMD_CLONES_OF(result, name, arguments, ...)                         \
    static inline __attribute__((always_inline)) result name##_any(__VA_ARGS__); \
    LOB_AVX2 static result name##_avx2(__VA_ARGS__)                              \
    {                                                                            \
        return name##_any arguments;                                             \
    }                                                                            \
    static __attribute__((noinline)) result name(__VA_ARGS__)                    \
    {                                                                            \
        return lob_has_avx2() ? name##_avx2 arguments : name##_any arguments;    \
    }                                                                            \
    static inline result name##_any(__VA_ARGS__)
#else
#define LOB_SIMD_CLONES_OF(result, name, arguments, ...) static result name(__VA_ARGS__)
#endif

/* In two steps, for names that are macros. */
#define LOB_SIMD_CLONES(result, name, arguments, ...) \
    LOB_SIMD_CLONES_OF(result, name, arguments, __VA_ARGS__)

#endif
