/*
 * Levels of up to 8 channels of 8-bit voxels as the bytes of one number, so that a cell's are
 * compared with a neighbour's at once.
 */
#ifndef LOB_PACKED_LEVELS_H
#define LOB_PACKED_LEVELS_H

#include "kernels/growcut/growcut_voxel.h"
#include "kernels/levels/levels.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { LOB_PACKED_CHANNELS = 8 };

typedef uint64_t lob_packed;
typedef uint32_t lob_four __attribute__((vector_size(16)));

/* One channel is quicker by itself. */
static inline bool lob_packs(const lob_volume *image)
{
    return lob_type_of(image->type)->bytes == 1 && image->channels > 1 &&
           image->channels <= LOB_PACKED_CHANNELS;
}

/* The largest difference of a channel. */
static inline uint32_t lob_packed_largest(lob_packed p, lob_packed q)
{
    uint32_t largest = 0;
    for (int c = 0; c < LOB_PACKED_CHANNELS; c++) {
        const int32_t e = (int32_t)(p >> 8 * c & 0xff) - (int32_t)(q >> 8 * c & 0xff);
        const uint32_t d = (uint32_t)(e < 0 ? -e : e);
        largest = d > largest ? d : largest;
    }
    return largest;
}

/* The same between a cell and four others, one after the other. */
static inline lob_four lob_packed_four(const lob_packed *others, lob_packed own)
{
#ifdef __SSE2__
    const __m128i mine = _mm_set1_epi64x((long long)own);
    __m128i near = _mm_loadu_si128((const __m128i *)(const void *)others);
    __m128i far = _mm_loadu_si128((const __m128i *)(const void *)(others + 2));
    near = _mm_sub_epi8(_mm_max_epu8(near, mine), _mm_min_epu8(near, mine));
    far = _mm_sub_epi8(_mm_max_epu8(far, mine), _mm_min_epu8(far, mine));
    const __m128 a = _mm_castsi128_ps(near), b = _mm_castsi128_ps(far);
    const __m128i low = _mm_castps_si128(_mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
    const __m128i high = _mm_castps_si128(_mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
    __m128i most = _mm_max_epu8(low, high);
    most = _mm_max_epu8(most, _mm_srli_epi32(most, 16));
    most = _mm_max_epu8(most, _mm_srli_epi32(most, 8));
    return (lob_four)_mm_and_si128(most, _mm_set1_epi32(0xff));
#else
    lob_four four;
    for (int i = 0; i < 4; i++) four[i] = lob_packed_largest(others[i], own);
    return four;
#endif
}

/* lob_growcut_distance. */
static inline uint32_t lob_packed_distance(lob_packed p, lob_packed q, int channels, lob_norm norm,
                                           int fraction)
{
    uint16_t a[LOB_PACKED_CHANNELS], b[LOB_PACKED_CHANNELS];
    if (norm == LOB_NORM_LINF) return lob_packed_largest(p, q) << fraction;
    for (int c = 0; c < LOB_PACKED_CHANNELS; c++) {
        a[c] = (uint16_t)(p >> 8 * c & 0xff);
        b[c] = (uint16_t)(q >> 8 * c & 0xff);
    }
    return lob_growcut_distance(a, b, channels, 1, norm, fraction);
}

/* lob_levels_row of all channels, of a volume that packs. */
static inline void lob_packed_row(lob_packed *out, const uint8_t *is_data, const lob_levels *levels,
                                  const lob_volume *image, int64_t first, int64_t step, int64_t n)
{
    const uint8_t low = (uint8_t)levels->low_bits;
    memset(out, 0, (size_t)n * sizeof *out);
    for (int c = 0; c < image->channels; c++) {
        const uint8_t *const in = (const uint8_t *)image->data + c * lob_voxels(image) + first;
        for (int64_t i = 0; i < n; i++)
            out[i] |= (lob_packed)(uint8_t)((in[i * step] - low) & -is_data[i]) << 8 * c;
    }
}

#endif
