/*
 * Words of a registration: MIND with self-similarity context (Heinrich, Jenkinson, Papiez, Brady,
 * Schnabel, MICCAI 2013). Around a voxel lie six patches, one along each half-axis; of the 15
 * pairs, the 12 that are no opposites have a distance each, the sum of squared differences of
 * levels. Less the least of them, and measured by the mean of what is left, a distance is one of
 * six levels, so many of 5 bits in a row. The paper's exp(-d / mean) is cut into six equal parts;
 * here d is compared with the mean times the cuts' negative logarithms.
 *
 * Both patches of a pair are one of six distance maps at a place beside the voxel: of axes a and b,
 * the maps of shifts a + b and b - a at two places each. For both compilers.
 */
#ifndef LOB_SELF_SIMILARITY_VOXEL_H
#define LOB_SELF_SIMILARITY_VOXEL_H

#include "kernels/register/register_voxel.h"

LOB_BEGIN_DECLS

enum { LOB_WORDS_PAIRS = 12, LOB_WORDS_MAPS = 6, LOB_WORDS_CUTS = 5 };

/* Voxels of a row that are worked on together; a thread of a GPU takes one. */
#ifdef __CUDA_ARCH__
enum { LOB_WORDS_WIDE = 1 };
#else
enum { LOB_WORDS_WIDE = 64 };
#endif

/* Loops over a row's voxels become those of whoever calls, with its processor's vectors. */
#define LOB_WORDS_INLINE LOB_BOTH __attribute__((always_inline))

/* The words of an image that are to be made. */
typedef struct {
    uint64_t *words;
    const int16_t *level;
    int32_t *map, *half; /* one after another, six maps and what these are made of, */
    int64_t apart;       /* each half so far from the one before; 0: there is one */
    lob_dims dims;
    int64_t voxels;
    uint64_t no_data;
    int radius;
} lob_words_job;

/* The shift of a map of distances, and the two places where it is looked at. */
typedef struct {
    int8_t shift[3], place[2][3];
} lob_words_map;

LOB_BOTH lob_words_map lob_words_map_of(int m)
{
    const lob_words_map maps[] = {
        {{1, 1, 0},  {{-1, 0, 0}, {0, -1, 0}}},
        {{-1, 1, 0}, {{1, 0, 0}, {0, -1, 0}} },
        {{1, 0, 1},  {{-1, 0, 0}, {0, 0, -1}}},
        {{-1, 0, 1}, {{1, 0, 0}, {0, 0, -1}} },
        {{0, 1, 1},  {{0, -1, 0}, {0, 0, -1}}},
        {{0, -1, 1}, {{0, 1, 0}, {0, 0, -1}} },
    };
    return maps[m];
}

/* -1024 log((k + 1.5) / 6), rising: one of five. */
LOB_BOTH double lob_words_cut(int k)
{
    const double cuts[] = {89, 295, 552, 896, 1420};
    return cuts[k];
}

/* Where a row begins; beyond the border there are those of the border. */
LOB_BOTH int64_t lob_words_row(lob_dims d, int64_t y, int64_t z)
{
    return (lob_register_clamp(z, d.nz) * d.ny + lob_register_clamp(y, d.ny)) * d.nx;
}

LOB_BOTH int32_t lob_words_square(int16_t a, int16_t b)
{
    const int32_t d = (a & LOB_REGISTER_TOP) - (b & LOB_REGISTER_TOP);
    return d * d;
}

/* Squared differences of rows a and b, which is shifted, at n voxels from x = begin on; beyond the
 * ends of a they are those there. A few are taken one by one: each stays in a register. */
LOB_WORDS_INLINE void lob_words_squares(int32_t *out, const int16_t *a, const int16_t *b,
                                        int64_t begin, int n, int64_t nx, int shift)
{
    if (LOB_WORDS_WIDE == 1) {
        for (int k = 0; k < n; k++) {
            const int64_t at = lob_register_clamp(begin + k, nx);
            out[k] = lob_words_square(a[at], b[lob_register_clamp(at + shift, nx)]);
        }
        return;
    }
    const int64_t end = begin + n;
    const int64_t low = lob_register_clamp(begin, nx), high = lob_register_clamp(end - 1, nx) + 1;
    const int64_t from = low + shift < 0 ? -shift : low, to = high + shift > nx ? nx - shift : high;
    int64_t x = low;
    for (; x < from && x < high; x++) out[x - begin] = lob_words_square(a[x], b[0]);
    for (; x < to; x++) out[x - begin] = lob_words_square(a[x], b[x + shift]);
    for (; x < high; x++) out[x - begin] = lob_words_square(a[x], b[nx - 1]);
    for (x = begin; x < low; x++) out[x - begin] = out[low - begin];
    for (x = high; x < end; x++) out[x - begin] = out[high - 1 - begin];
}

/* One map, of n voxels of a row from i on: the distance of the patch around each and that at shift
 * * radius, as sums along x, then y, then z of what was summed before. r: the radius; a constant
 * makes code of its own. */
LOB_WORDS_INLINE void lob_words_sum(const lob_words_job *s, int m, int axis, int64_t i, int n,
                                    int r)
{
    const lob_dims d = s->dims;
    const uint32_t row = (uint32_t)i / (uint32_t)d.nx;
    const int64_t x0 = i - row * d.nx, y = row % (uint32_t)d.ny, z = row / (uint32_t)d.ny;
    int32_t *const map = s->map + m * s->voxels, *const half = s->half + m * s->apart;
    const int32_t *from[2 * LOB_REGISTER_MOST_RADIUS + 1];
    int32_t square[LOB_WORDS_WIDE + 2 * LOB_REGISTER_MOST_RADIUS], sum[LOB_WORDS_WIDE];
    if (axis == 0) {
        const lob_words_map of = lob_words_map_of(m);
        const int64_t other = lob_words_row(d, y + of.shift[1] * r, z + of.shift[2] * r);
        lob_words_squares(square, s->level + i - x0, s->level + other, x0 - r, n + 2 * r, d.nx,
                          of.shift[0] * r);
    }
    for (int k = 0; k <= 2 * r; k++)
        from[k] = axis == 0   ? square + k
                  : axis == 1 ? map + x0 + lob_words_row(d, y + k - r, z)
                              : half + x0 + lob_words_row(d, y, z + k - r);
    for (int x = 0; x < n; x++) {
        sum[x] = 0;
        for (int k = 0; k <= 2 * r; k++) sum[x] += from[k][x];
    }
    for (int x = 0; x < n; x++) (axis == 1 ? half : map)[i + x] = sum[x];
}

/* Words of n voxels of a row, from i on. A cut becomes the whole number that it is above: products
 * are whole numbers below 2^53, and quotients below 2^31. */
LOB_WORDS_INLINE void lob_words_make(const lob_words_job *s, int64_t i, int n)
{
    enum { PAIRS = LOB_WORDS_PAIRS, CUTS = LOB_WORDS_CUTS, WIDE = LOB_WORDS_WIDE };
    const lob_dims d = s->dims;
    const uint32_t row = (uint32_t)i / (uint32_t)d.nx;
    const int64_t x0 = i - row * d.nx, y = row % (uint32_t)d.ny, z = row / (uint32_t)d.ny;
    int32_t distance[PAIRS][WIDE], least[WIDE], cut[CUTS][WIDE];
    uint32_t half[2][WIDE];
    double sum[WIDE];
    uint64_t *const words = s->words + i;
    for (int p = 0; p < PAIRS; p++) {
        const lob_words_map of = lob_words_map_of(p / 2);
        const int8_t *const place = of.place[p % 2];
        const int64_t begin = x0 + place[0] * s->radius;
        const int32_t *const from =
            s->map + p / 2 * s->voxels +
            lob_words_row(d, y + place[1] * s->radius, z + place[2] * s->radius);
        if (begin >= 0 && begin + n <= d.nx)
            for (int x = 0; x < n; x++) distance[p][x] = from[begin + x];
        else
            for (int x = 0; x < n; x++) distance[p][x] = from[lob_register_clamp(begin + x, d.nx)];
    }
    for (int x = 0; x < n; x++) {
        least[x] = distance[0][x];
        half[0][x] = half[1][x] = 0;
        sum[x] = 0;
    }
    for (int p = 0; p < PAIRS; p++)
        for (int x = 0; x < n; x++) {
            least[x] = distance[p][x] < least[x] ? distance[p][x] : least[x];
            sum[x] += distance[p][x];
        }
    for (int x = 0; x < n; x++) sum[x] -= PAIRS * (double)least[x];
    for (int k = 0; k < CUTS; k++)
        for (int x = 0; x < n; x++)
            cut[k][x] = (int32_t)(lob_words_cut(k) * sum[x] / (PAIRS * 1024.0));
    for (int p = 0; p < PAIRS; p++)
        for (int x = 0; x < n; x++) {
            const int32_t more = distance[p][x] - least[x];
            uint32_t level = 0;
            for (int k = 0; k < CUTS; k++) level |= (uint32_t)(more > cut[k][x]) << k;
            half[p / (PAIRS / 2)][x] |= level << p % (PAIRS / 2) * CUTS;
        }
    for (int x = 0; x < n; x++) words[x] = (uint64_t)half[1][x] << PAIRS / 2 * CUTS | half[0][x];
    for (int x = 0; x < n; x++)
        if (s->level[i + x] & LOB_REGISTER_NONE) words[x] = s->no_data;
}

LOB_END_DECLS

#endif
