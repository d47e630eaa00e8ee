/*
 * Words of a registration: MIND with self-similarity context (Heinrich, Jenkinson, Papiez, Brady,
 * Schnabel, MICCAI 2013). Around a voxel lie six patches, one along each half-axis; of the 15
 * pairs, the 12 that are no opposites have a distance each, the sum of squared differences of
 * levels. Less the least of them, and measured by the mean of what is left, a distance is one of
 * six levels, so many of 5 bits in a row. The paper's exp(-d / mean) is cut into six equal parts;
 * here d is compared with the mean times the cuts' negative logarithms.
 *
 * Both patches of a pair are one of six distance maps at a place beside the voxel: of axes a and b,
 * the maps of shifts a + b and b - a at two places each.
 */
#include "kernels/register/register_voxel.h"
#include "kernels/simd_clones.h"

enum { PAIRS = 12, MAPS = 6, CUTS = 5 };

/* ---- maps ---- */

/* Squared differences of a row and the shifted one, summed over 2 radius + 1 along x. */
LOB_SIMD_CLONES(void, sum_along_x, (out, wide, a, b, nx, shift, radius), int32_t *restrict out,
                int32_t *restrict wide, const int16_t *restrict a, const int16_t *restrict b,
                int64_t nx, int shift, int radius)
{
    int32_t *const square = wide + radius;
    for (int64_t x = 0; x < nx; x++) {
        const int64_t other = x + shift;
        if (other < 0 || other >= nx) {
            const int32_t d =
                (a[x] & LOB_REGISTER_TOP) - (b[lob_register_clamp(other, nx)] & LOB_REGISTER_TOP);
            square[x] = d * d;
        }
    }
    const int64_t begin = shift < 0 ? -shift : 0, end = shift > 0 ? nx - shift : nx;
    for (int64_t x = begin; x < end; x++) {
        const int32_t d = (a[x] & LOB_REGISTER_TOP) - (b[x + shift] & LOB_REGISTER_TOP);
        square[x] = d * d;
    }
    for (int k = 1; k <= radius; k++) {
        square[-k] = square[0];
        square[nx - 1 + k] = square[nx - 1];
    }
    for (int64_t x = 0; x < nx; x++) out[x] = wide[x];
    for (int k = 1; k <= 2 * radius; k++)
        for (int64_t x = 0; x < nx; x++) out[x] += wide[x + k];
}

/* out = before + in - gone, of rows. */
LOB_SIMD_CLONES(void, slide, (out, before, in, gone, nx), int32_t *restrict out,
                const int32_t *before, const int32_t *restrict in, const int32_t *restrict gone,
                int64_t nx)
{
    for (int64_t x = 0; x < nx; x++) out[x] = before[x] + (in[x] - gone[x]);
}

LOB_SIMD_CLONES(void, add, (out, in, nx), int32_t *restrict out, const int32_t *restrict in,
                int64_t nx)
{
    for (int64_t x = 0; x < nx; x++) out[x] += in[x];
}

/* Sums over a window of 2 radius + 1 rows, `stride` apart, of n rows; out and in do not overlap. */
static void sum_rows(int32_t *out, const int32_t *in, int64_t n, int64_t stride, int64_t nx,
                     int radius)
{
    memset(out, 0, (size_t)nx * sizeof *out);
    for (int k = -radius; k <= radius; k++) add(out, in + lob_register_clamp(k, n) * stride, nx);
    for (int64_t y = 1; y < n; y++)
        slide(out + y * stride, out + (y - 1) * stride,
              in + lob_register_clamp(y + radius, n) * stride,
              in + lob_register_clamp(y - 1 - radius, n) * stride, nx);
}

/* One map: of each voxel, the distance of the patch around it and that at shift * radius. half: as
 * large as the map. */
static void make_map(int32_t *map, int32_t *half, lob_register_call *c,
                     const lob_register_image *image, const int8_t shift[3], int radius)
{
    const lob_dims d = image->dims;
    const int64_t plane = d.nx * d.ny;
#pragma omp parallel for schedule(static) num_threads(c->context->threads)
    for (int64_t z = 0; z < d.nz; z++) {
        /* The map's own plane holds sums along x, until `half` has them along y. */
        int32_t *const rows = map + z * plane;
        int32_t wide[LOB_REGISTER_MOST_SIDE + 2 * LOB_REGISTER_MOST_RADIUS];
        for (int64_t y = 0; y < d.ny; y++) {
            const int64_t y2 = lob_register_clamp(y + shift[1] * radius, d.ny);
            const int64_t z2 = lob_register_clamp(z + shift[2] * radius, d.nz);
            sum_along_x(rows + y * d.nx, wide, image->level + (z * d.ny + y) * d.nx,
                        image->level + (z2 * d.ny + y2) * d.nx, d.nx, shift[0] * radius, radius);
        }
        sum_rows(half + z * plane, rows, d.ny, d.nx, d.nx, radius);
    }
#pragma omp parallel for schedule(static) num_threads(c->context->threads)
    for (int64_t y = 0; y < d.ny; y++)
        sum_rows(map + y * d.nx, half + y * d.nx, d.nz, plane, d.nx, radius);
}

/* ---- words ---- */

enum { PIECE = 64 }; /* voxels of a row that are worked on together */

/* Words of n <= PIECE voxels from their distances. A cut becomes the whole number that it is above:
 * products are whole numbers below 2^53, and quotients below 2^31. */
LOB_SIMD_CLONES(void, make_words, (words, distance, n), uint64_t *restrict words,
                const int32_t (*restrict distance)[PIECE], int n)
{
    int32_t least[PIECE], cut[CUTS][PIECE];
    uint32_t half[2][PIECE] = {{0}};
    double sum[PIECE] = {0};
    memcpy(least, distance[0], (size_t)n * sizeof *least);
    for (int p = 0; p < PAIRS; p++)
        for (int x = 0; x < n; x++) {
            least[x] = distance[p][x] < least[x] ? distance[p][x] : least[x];
            sum[x] += distance[p][x];
        }
    for (int k = 0; k < CUTS; k++)
        for (int x = 0; x < n; x++)
            cut[k][x] = (int32_t)(lob_register_cut(k) * (sum[x] - PAIRS * (double)least[x]) /
                                  (PAIRS * 1024.0));
    for (int p = 0; p < PAIRS; p++)
        for (int x = 0; x < n; x++) {
            const int32_t d = distance[p][x] - least[x];
            uint32_t level = 0;
            for (int k = 0; k < CUTS; k++) level |= (uint32_t)(d > cut[k][x]) << k;
            half[p / (PAIRS / 2)][x] |= level << p % (PAIRS / 2) * CUTS;
        }
    for (int x = 0; x < n; x++) words[x] = (uint64_t)half[1][x] << PAIRS / 2 * CUTS | half[0][x];
}

/* n voxels of a row from `begin` on, which beyond its ends goes on as there. */
static void take_row(int32_t *out, const int32_t *row, int64_t begin, int64_t n, int64_t nx)
{
    const int64_t from = lob_register_clamp(-begin, n + 1);
    const int64_t end = lob_register_clamp(nx - begin, n + 1);
    for (int64_t x = 0; x < from; x++) out[x] = row[0];
    if (end > from) memcpy(out + from, row + begin + from, (size_t)(end - from) * sizeof *out);
    for (int64_t x = end; x < n; x++) out[x] = row[nx - 1];
}

static void words_of_row(uint64_t *words, const int32_t *const map[MAPS],
                         const lob_register_image *image, int radius, int64_t y, int64_t z)
{
    const lob_dims d = image->dims;
    int32_t distance[PAIRS][PIECE];
    for (int64_t begin = 0; begin < d.nx; begin += PIECE) {
        const int n = d.nx - begin < PIECE ? (int)(d.nx - begin) : PIECE;
        for (int p = 0; p < PAIRS; p++) {
            const lob_register_map map_of = lob_register_map_of(p / 2);
            const int8_t *const place = map_of.place[p % 2];
            const int64_t y2 = lob_register_clamp(y + place[1] * radius, d.ny);
            const int64_t z2 = lob_register_clamp(z + place[2] * radius, d.nz);
            const int32_t *const row = map[p / 2] + (z2 * d.ny + y2) * d.nx;
            take_row(distance[p], row, begin + place[0] * radius, n, d.nx);
        }
        make_words(words + begin, (const int32_t(*)[PIECE])distance, n);
    }
}

lob_status lob_register_words(uint64_t *words, lob_register_call *c,
                              const lob_register_image *image, int radius)
{
    const lob_dims d = image->dims;
    int32_t *memory;
    const int32_t *map[MAPS];
    LOB_TRY(lob_register_room(c, &memory, (MAPS + 1) * image->voxels * (int64_t)sizeof *memory));
    for (int m = 0; m < MAPS; m++) {
        const lob_register_map map_of = lob_register_map_of(m);
        map[m] = memory + m * image->voxels;
        make_map(memory + m * image->voxels, memory + MAPS * image->voxels, c, image, map_of.shift,
                 radius);
    }
#pragma omp parallel for schedule(static) num_threads(c->context->threads)
    for (int64_t row = 0; row < d.ny * d.nz; row++) {
        words_of_row(words + row * d.nx, map, image, radius, row % d.ny, row / d.ny);
        for (int64_t x = 0; x < d.nx; x++)
            if (image->level[row * d.nx + x] & LOB_REGISTER_NONE)
                words[row * d.nx + x] = c->no_data;
    }
    return LOB_OK;
}
