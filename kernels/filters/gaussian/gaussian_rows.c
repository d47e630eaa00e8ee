/* Weighted sums of rows: in registers of a processor with fused products, or one by one. */
#include "kernels/filters/gaussian/gaussian_lines.h"
#include "kernels/simd_clones.h"

#include <math.h>

#ifdef LOB_AVX2
#include <immintrin.h>
#endif

static void sum_one_by_one(float *out, const float *const *rows, const float *weights, int64_t taps,
                           float scale, int64_t at, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int64_t t = 0; t < taps; t++) sum = fmaf(weights[t], rows[t][at + i], sum);
        out[i] = sum * scale + 0.0f;
    }
}

#ifdef LOB_AVX2

/* So many vectors of 8 at once that sums need not wait for each other: an fmaf takes 4 cycles, and
 * two begin in each. */
enum { LANES = 8, VECTORS = 8 };

LOB_AVX2 static inline void store(float *out, __m256 sum, __m256 scale)
{
    _mm256_storeu_ps(out, _mm256_add_ps(_mm256_mul_ps(sum, scale), _mm256_setzero_ps()));
}

LOB_AVX2 static void sum_vectors(float *out, const float *const *rows, const float *weights,
                                 int64_t taps, float scale, int64_t at, int64_t n)
{
    const __m256 factor = _mm256_set1_ps(scale);
    int64_t i = 0;
    for (; i + LANES * VECTORS <= n; i += LANES * VECTORS) {
        __m256 sum[VECTORS];
        for (int v = 0; v < VECTORS; v++) sum[v] = _mm256_setzero_ps();
        for (int64_t t = 0; t < taps; t++) {
            const __m256 weight = _mm256_set1_ps(weights[t]);
            const float *const row = rows[t] + at + i;
#pragma GCC unroll 8
            for (int v = 0; v < VECTORS; v++)
                sum[v] = _mm256_fmadd_ps(weight, _mm256_loadu_ps(row + LANES * v), sum[v]);
        }
        for (int v = 0; v < VECTORS; v++) store(out + i + LANES * v, sum[v], factor);
    }
    for (; i + LANES <= n; i += LANES) {
        __m256 sum = _mm256_setzero_ps();
        for (int64_t t = 0; t < taps; t++)
            sum =
                _mm256_fmadd_ps(_mm256_set1_ps(weights[t]), _mm256_loadu_ps(rows[t] + at + i), sum);
        store(out + i, sum, factor);
    }
    for (; i < n; i++) {
        __m128 sum = _mm_setzero_ps();
        for (int64_t t = 0; t < taps; t++)
            sum = _mm_fmadd_ss(_mm_set_ss(weights[t]), _mm_load_ss(rows[t] + at + i), sum);
        out[i] = _mm_cvtss_f32(sum) * scale + 0.0f;
    }
}

#endif

void lob_weighted_rows(float *out, const float *const *rows, const float *weights, int64_t taps,
                       float scale, int64_t at, int64_t n)
{
#ifdef LOB_AVX2
    if (lob_has_avx2()) {
        sum_vectors(out, rows, weights, taps, scale, at, n);
        return;
    }
#endif
    sum_one_by_one(out, rows, weights, taps, scale, at, n);
}
