/*
 * LOB_SIMD_CLONES(result, name, (arguments), parameters...) { ... } defines a static function that
 * is compiled twice where that pays: for x86-64 processors with AVX2 and fused products, and for
 * all. Each call takes the processor's. Both give the same results.
 */
#ifndef LOB_SIMD_CLONES_H
#define LOB_SIMD_CLONES_H

#if defined(__x86_64__) && defined(__GNUC__)
#include <stdbool.h>

/* Before what such a processor alone may run: to be called where lob_has_avx2(). */
#define LOB_AVX2 __attribute__((target("avx2,fma")))

extern bool lob_avx2; /* known before main() */

static inline bool lob_has_avx2(void)
{
    return lob_avx2;
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
