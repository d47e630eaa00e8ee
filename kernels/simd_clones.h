/*
 * LOB_SIMD_CLONES compiles a function twice, for AVX2 and for the baseline. The processor's version
 * is chosen when the program starts; both give the same results.
 */
#ifndef LOB_SIMD_CLONES_H
#define LOB_SIMD_CLONES_H

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LOB_SIMD_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define LOB_SIMD_CLONES
#endif

#endif
