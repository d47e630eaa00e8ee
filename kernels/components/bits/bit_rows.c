/* Rows of voxels to rows of bits: a loop for each voxel type, 64 columns at a time. */
#include "kernels/components/bits/bit_rows.h"

#include <string.h>

#ifdef LOB_AVX2
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#ifdef __SSE2__
static inline uint64_t pack_16(const uint8_t *bytes)
{
    const __m128i part = _mm_loadu_si128((const __m128i *)(const void *)bytes);
    return (uint64_t)(uint32_t)_mm_movemask_epi8(part);
}
#endif

/* One bit from each byte: its top bit. */
static inline uint64_t pack(const uint8_t bytes[64])
{
#ifdef __SSE2__
    return pack_16(bytes) | pack_16(bytes + 16) << 16 | pack_16(bytes + 32) << 32 |
           pack_16(bytes + 48) << 48;
#else
    uint64_t word = 0;
    for (int i = 0; i < 64; i++) word |= (uint64_t)(bytes[i] >> 7) << i;
    return word;
#endif
}

/* Set tops[k] to 0xff or 0 by an expression over i = from + k that is 1 or 0. */
#define TOPS(tops, from, count, expression)               \
    for (int k = 0; k < (count); k++) {                   \
        const int64_t i = (from) + k;                     \
        (tops)[k] = (uint8_t)(0 - (uint8_t)(expression)); \
    }

/*
 * Set the bits of n columns by an expression over the column i. Loops have a constant number of
 * columns where possible, so that the compiler makes vector code: the last word is made from the
 * last 64 columns.
 */
#define PACK_ROW(bits, n, expression)                                                    \
    do {                                                                                 \
        uint8_t tops[64];                                                                \
        int64_t at = 0;                                                                  \
        for (; at + 64 <= (n); at += 64) {                                               \
            TOPS(tops, at, 64, expression)                                               \
            (bits)[at / 64] = pack(tops);                                                \
        }                                                                                \
        if (at > 0 && at < (n)) {                                                        \
            TOPS(tops, (n)-64, 64, expression)                                           \
            (bits)[at / 64] = pack(tops) >> (at + 64 - (n));                             \
        } else if (at < (n)) {                                                           \
            int64_t next = 0;                                                            \
            memset(tops, 0, sizeof tops);                                                \
            for (; next + 16 <= (n); next += 16) TOPS(tops + next, next, 16, expression) \
            TOPS(tops + next, next, (int)((n)-next), expression)                         \
            (bits)[0] = pack(tops);                                                      \
        }                                                                                \
    } while (0)

/* The voxels of a row in one channel. */
static const void *row_of(const lob_volume *image, int channel, int64_t row)
{
    const int64_t first = channel * lob_voxels(image) + row * image->dims.nx;
    return (const char *)image->data + (size_t)first * lob_type_of(image->type)->bytes;
}

#define FOREGROUND_CASE(type, ctype, name, integer, lowest, highest)          \
    case type: {                                                              \
        const ctype *in = data;                                               \
        if (rule->ranged || rule->scaled)                                     \
            PACK_ROW(bits, n, lob_component_foreground((double)in[i], rule)); \
        else                                                                  \
            PACK_ROW(bits, n, in[i] != 0);                                    \
        break;                                                                \
    }

LOB_SIMD_CLONES(void, foreground_bits, (bits, data, type, n, rule), uint64_t *bits,
                const void *data, lob_type type, int64_t n, const lob_component_rule *rule)
{
    LOB_TYPE_SWITCH(type, FOREGROUND_CASE);
}

LOB_SIMD_CLONES(void, finite_bits, (bits, data, type, n), uint64_t *bits, const void *data,
                lob_type type, int64_t n)
{
    if (type == LOB_F32) {
        const float *in = data;
        PACK_ROW(bits, n, in[i] - in[i] == 0);
    } else {
        const double *in = data;
        PACK_ROW(bits, n, in[i] - in[i] == 0);
    }
}

/* Words that are made at a time, so that their bits fit the stack. */
enum { CHUNK = 64 };

/* The foreground of n <= 64 * CHUNK columns. The next channel is channel_bytes further. */
static int64_t chunk_foreground(uint64_t *foreground, const lob_volume *image, const char *data,
                                size_t channel_bytes, const uint8_t *mask,
                                const lob_component_rule *rule, int64_t n)
{
    const int64_t words = lob_bit_words(n);
    uint64_t bits[CHUNK], data_bits[CHUNK], inside[CHUNK];
    int64_t not_finite = 0;
    if (mask)
        PACK_ROW(inside, n, mask[i] != 0);
    else
        for (int64_t w = 0; w < words; w++)
            inside[w] = n - 64 * w < 64 ? (UINT64_C(1) << (n - 64 * w)) - 1 : UINT64_MAX;
    memcpy(data_bits, inside, (size_t)words * sizeof *bits);
    foreground_bits(foreground, data, image->type, n, rule);
    for (int c = 1; c < image->channels; c++) {
        foreground_bits(bits, data + (size_t)c * channel_bytes, image->type, n, rule);
        for (int64_t w = 0; w < words; w++)
            foreground[w] = rule->ranged ? foreground[w] & bits[w] : foreground[w] | bits[w];
    }
    if (!lob_type_of(image->type)->is_integer) {
        for (int c = 0; c < image->channels; c++) {
            finite_bits(bits, data + (size_t)c * channel_bytes, image->type, n);
            for (int64_t w = 0; w < words; w++) data_bits[w] &= bits[w];
        }
        for (int64_t w = 0; w < words; w++)
            not_finite += __builtin_popcountll(inside[w] & ~data_bits[w]);
    }
    for (int64_t w = 0; w < words; w++) foreground[w] &= data_bits[w];
    return not_finite;
}

int64_t lob_bits_foreground(uint64_t *foreground, const lob_volume *image, const uint8_t *mask,
                            const lob_component_rule *rule, int64_t row)
{
    const int64_t nx = image->dims.nx;
    const size_t bytes = lob_type_of(image->type)->bytes;
    const size_t channel_bytes = (size_t)lob_voxels(image) * bytes;
    const char *data = row_of(image, 0, row);
    int64_t not_finite = 0;
    for (int64_t x = 0; x < nx; x += 64 * CHUNK) {
        const int64_t n = nx - x < 64 * CHUNK ? nx - x : 64 * CHUNK;
        not_finite += chunk_foreground(foreground + x / 64, image, data + (size_t)x * bytes,
                                       channel_bytes, mask ? mask + row * nx + x : NULL, rule, n);
    }
    return not_finite;
}

#define EQUAL_CASE(type, ctype, name, integer, lowest, highest) \
    case type: {                                                \
        const ctype *in = a, *other = b;                        \
        PACK_ROW(bits, n, in[i] == other[i]);                   \
        break;                                                  \
    }

LOB_SIMD_CLONES(void, equal_bits, (bits, a, b, type, n), uint64_t *bits, const void *a,
                const void *b, lob_type type, int64_t n)
{
    LOB_TYPE_SWITCH(type, EQUAL_CASE);
}

/* |a - b| <= limit, of integers in their own width. */
#define WITHIN_CASE(type, ctype, name, integer, lowest, highest)                                  \
    case type: {                                                                                  \
        const ctype *in = a, *other = b;                                                          \
        if (integer && sizeof(ctype) <= 4) {                                                      \
            const uint32_t max = limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX;               \
            PACK_ROW(bits, n,                                                                     \
                     (uint32_t)(in[i] < other[i] ? (uint32_t)other[i] - (uint32_t)in[i]           \
                                                 : (uint32_t)in[i] - (uint32_t)other[i]) <= max); \
        } else                                                                                    \
            PACK_ROW(bits, n, lob_component_apart_##ctype(in[i], other[i]) <= limit);             \
        break;                                                                                    \
    }

LOB_SIMD_CLONES(void, within_bits, (bits, a, b, type, n, limit), uint64_t *bits, const void *a,
                const void *b, lob_type type, int64_t n, double limit)
{
    LOB_TYPE_SWITCH(type, WITHIN_CASE);
}

#define ADD_APART(type, ctype, name, integer, lowest, highest)                                  \
    case type: {                                                                                \
        const ctype *in = a, *other = b;                                                        \
        for (int64_t i = 0; i < n; i++) sum[i] += lob_component_apart_##ctype(in[i], other[i]); \
        break;                                                                                  \
    }

LOB_SIMD_CLONES(void, add_apart, (sum, a, b, type, n), double *sum, const void *a, const void *b,
                lob_type type, int64_t n)
{
    LOB_TYPE_SWITCH(type, ADD_APART);
}

/* Several channels: the sums of 64 columns at a time. */
static void sums_within(uint64_t *bits, const lob_volume *image, double limit, int64_t a, int64_t b,
                        int64_t a_from, int64_t b_from, int64_t pairs)
{
    const size_t bytes = lob_type_of(image->type)->bytes;
    for (int64_t x = 0; x < pairs; x += 64) {
        const int64_t n = pairs - x < 64 ? pairs - x : 64;
        double sum[64] = {0};
        for (int c = 0; c < image->channels; c++) {
            const char *in = row_of(image, c, a), *other = row_of(image, c, b);
            add_apart(sum, in + (size_t)(x + a_from) * bytes, other + (size_t)(x + b_from) * bytes,
                      image->type, n);
        }
        PACK_ROW(bits + x / 64, n, sum[i] <= limit);
    }
}

static void equal_pairs(uint64_t *bits, const lob_volume *image, int64_t a, int64_t b,
                        int64_t a_from, int64_t b_from, int64_t pairs)
{
    const size_t bytes = lob_type_of(image->type)->bytes;
    for (int64_t x = 0; x < pairs; x += 64 * CHUNK) {
        const int64_t n = pairs - x < 64 * CHUNK ? pairs - x : 64 * CHUNK;
        uint64_t more[CHUNK];
        for (int c = 0; c < image->channels; c++) {
            const char *in = row_of(image, c, a), *other = row_of(image, c, b);
            equal_bits(c ? more : bits + x / 64, in + (size_t)(x + a_from) * bytes,
                       other + (size_t)(x + b_from) * bytes, image->type, n);
            for (int64_t w = 0; c && w < lob_bit_words(n); w++) bits[x / 64 + w] &= more[w];
        }
    }
}

/* Compare row a with row b moved by dx. rule NULL: for equality. */
static void compare(uint64_t *bits, const lob_volume *image, const lob_component_rule *rule,
                    int64_t a, int64_t b, int dx)
{
    const int64_t words = lob_bit_words(image->dims.nx);
    const int64_t a_from = dx<0, b_from = dx> 0, pairs = image->dims.nx - (dx != 0);
    const size_t bytes = lob_type_of(image->type)->bytes;
    bits[words - 1] = 0;
    if (!rule)
        equal_pairs(bits, image, a, b, a_from, b_from, pairs);
    else if (image->channels > 1)
        sums_within(bits, image, rule->limit, a, b, a_from, b_from, pairs);
    else
        within_bits(bits, (const char *)row_of(image, 0, a) + (size_t)a_from * bytes,
                    (const char *)row_of(image, 0, b) + (size_t)b_from * bytes, image->type, pairs,
                    rule->limit);
    if (dx < 0) lob_bits_shift_up(bits, bits, words);
}

#ifdef LOB_AVX2

/* Bit i of words of 64 columns: whether voxels a[i] and b[i] are equal. */
typedef void equal_words(uint64_t *bits, const char *a, const char *b, int64_t words);

LOB_AVX2 static inline __m256i load_avx2(const char *at)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

LOB_AVX2 static void equal_1_avx2(uint64_t *bits, const char *a, const char *b, int64_t words)
{
    for (int64_t w = 0; w < words; w++) {
        const char *in = a + 64 * w, *other = b + 64 * w;
        const __m256i low = _mm256_cmpeq_epi8(load_avx2(in), load_avx2(other));
        const __m256i high = _mm256_cmpeq_epi8(load_avx2(in + 32), load_avx2(other + 32));
        bits[w] = (uint32_t)_mm256_movemask_epi8(low) |
                  (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
    }
}

LOB_AVX2 static void equal_2_avx2(uint64_t *bits, const char *a, const char *b, int64_t words)
{
    for (int64_t w = 0; w < words; w++) {
        uint64_t word = 0;
        for (int half = 0; half < 2; half++) {
            const char *in = a + 128 * w + 64 * half, *other = b + 128 * w + 64 * half;
            const __m256i low = _mm256_cmpeq_epi16(load_avx2(in), load_avx2(other));
            const __m256i high = _mm256_cmpeq_epi16(load_avx2(in + 32), load_avx2(other + 32));
            /* Packing goes by halves of registers: 0 2 1 3. */
            const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);
            word |= (uint64_t)(uint32_t)_mm256_movemask_epi8(both) << 32 * half;
        }
        bits[w] = word;
    }
}

/* NULL: none for this type on this machine. */
static equal_words *equal_words_of(lob_type type)
{
    const bool one = type == LOB_U8 || type == LOB_I8, two = type == LOB_U16 || type == LOB_I16;
    if ((!one && !two) || !lob_has_avx2()) return NULL;
    return one ? equal_1_avx2 : equal_2_avx2;
}

/*
 * Whole words at a time, which reads past the row's ends into the rows before and after it. Returns
 * false, having done nothing, where there is no such row or no vector code for the type.
 */
static bool equal_avx2(uint64_t *bits, const lob_volume *image, int64_t a, int64_t b, int dx)
{
    const int64_t nx = image->dims.nx, words = lob_bit_words(nx);
    const int64_t from = b * nx + dx, end = (a > b ? a : b) * nx + (dx > 0) + 64 * words;
    equal_words *const equal_of = image->channels == 1 ? equal_words_of(image->type) : NULL;
    if (!equal_of || from < 0 || end > lob_voxels(image)) return false;
    const size_t bytes = image->type == LOB_U8 || image->type == LOB_I8 ? 1 : 2;
    const char *data = image->data;
    equal_of(bits, data + (size_t)(a * nx) * bytes, data + (size_t)from * bytes, words);
    if (nx % 64) bits[words - 1] &= (UINT64_C(1) << nx % 64) - 1;
    if (dx < 0) bits[0] &= ~UINT64_C(1);
    if (dx > 0) bits[words - 1] &= ~(UINT64_C(1) << (nx - 1) % 64);
    return true;
}

#endif

void lob_bits_equal(uint64_t *bits, const lob_volume *image, int64_t a, int64_t b, int dx)
{
#ifdef LOB_AVX2
    if (equal_avx2(bits, image, a, b, dx)) return;
#endif
    compare(bits, image, NULL, a, b, dx);
}

void lob_bits_within(uint64_t *bits, const lob_volume *image, const lob_component_rule *rule,
                     int64_t a, int64_t b, int dx)
{
    compare(bits, image, rule, a, b, dx);
}
