/*
 * LOB_SIMD_CLONES(result, name, (arguments), parameters...) { ... } defines a static function that
 * is compiled twice where that pays: for x86-64 processors with AVX2 and fused products, and for
 * all. Each call asks which the processor is. Both give the same results. On a Mac there is one:
 * what tells processors apart is in the compiler's runtime, which is not linked there.
 */
#ifndef LOB_SIMD_CLONES_H
#define LOB_SIMD_CLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__APPLE__)
#include <stdbool.h>

/* Before what such a processor alone may run: to be called where lob_has_avx2(). */
#define LOB_AVX2 __attribute__((target("avx2,fma")))

static inline bool lob_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
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
