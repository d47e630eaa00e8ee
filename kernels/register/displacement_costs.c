/*
 * What displacements cost at the points of a level: the bits in which words differ, summed over
 * samples around a point.
 *
 * Displacements of a sample lie quant voxels apart. So words are kept as quant^3 volumes, of every
 * quant-th voxel along each axis, and rows have no data beyond both ends: then displacements that
 * are neighbours are neighbours in memory.
 */
#include "kernels/progress.h"
#include "kernels/register/register_voxel.h"
#include "kernels/simd_clones.h"

/* ---- rows ---- */

enum {
    MOST_SAMPLES = LOB_REGISTER_MOST_SAMPLES,
    MOST_LABELS = LOB_REGISTER_MOST_ALONG * LOB_REGISTER_MOST_ALONG * LOB_REGISTER_MOST_ALONG,
    LANES = 8,
    MOST_LANES = (LOB_REGISTER_MOST_ALONG + LANES - 1) / LANES * LANES
};

/* A level's costs, for whoever works on a point. */
typedef struct {
    const lob_register_costs *k;
    int32_t length[MOST_LABELS]; /* what a displacement costs without a bit */
    uint64_t none[MOST_LANES];   /* where there is no data */
} level_work;

int64_t lob_register_rows(lob_register_costs *k)
{
    const int quant = k->level.quant;
    int64_t words = quant * quant * quant;
    for (int a = 0; a < 3; a++) {
        k->rows_side[a] = (lob_side(k->dims, a) + quant - 1) / quant;
        if (a == 0) k->rows_side[a] += k->side[a] - 1; /* displacements beyond its ends */
        words *= k->rows_side[a];
    }
    return words + LANES;
}

static void fill_rows(const lob_register_costs *k, int threads)
{
    const lob_dims d = k->dims;
    const int64_t *const side = k->rows_side;
    const int quant = k->level.quant, beyond = k->side[0] / 2;
    const int64_t rows = quant * quant * quant * side[2] * side[1];
    for (int64_t i = 0; i < LANES; i++) k->rows[rows * side[0] + i] = k->no_data;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t row = 0; row < rows; row++) {
        const int64_t phase = row / (side[1] * side[2]);
        const int64_t y = row % side[1] * quant + phase / quant % quant;
        const int64_t z = row / side[1] % side[2] * quant + phase / quant / quant;
        uint64_t *const to = k->rows + row * side[0];
        for (int64_t i = 0; i < side[0]; i++) {
            const int64_t x = quant * (i - beyond) + phase % quant;
            const bool inside = x >= 0 && x < d.nx && y < d.ny && z < d.nz;
            to[i] = inside ? k->to[(z * d.ny + y) * d.nx + x] : k->no_data;
        }
    }
}

/* ---- samples ---- */

/* A point's samples: words, and in rows the row and the index of the first displacement of each. */
typedef struct {
    int n;
    uint64_t word[MOST_SAMPLES];
    int64_t y[MOST_SAMPLES], z[MOST_SAMPLES], first[MOST_SAMPLES];
} samples;

static void take_samples(samples *s, const lob_register_costs *k, int64_t point)
{
    const int quant = k->level.quant;
    const int64_t *const side = k->rows_side;
    s->n = 0;
    for (int o = 0; o < k->offsets; o++) {
        int64_t to[3];
        int at[3], phase = 0;
        if (!lob_register_sample(&s->word[s->n], to, k, o, point)) continue;
        for (int a = 2; a >= 0; a--) {
            const int voxel = (int)to[a];
            phase = phase * quant + voxel % quant;
            at[a] = voxel / quant - (a > 0 ? k->side[a] / 2 : 0); /* rows begin as much before */
        }
        s->y[s->n] = at[1];
        s->z[s->n] = at[2];
        s->first[s->n++] = ((phase * side[2] + at[2]) * side[1] + at[1]) * side[0] + at[0];
    }
}

/* ---- costs ---- */

/* Where the words lie to which sample i leads, from displacement (0, y, z) on; side: of rows. */
static inline const uint64_t *row_of(const level_work *w, const int64_t side[3], const samples *s,
                                     int i, int64_t y, int64_t z)
{
    const uint64_t *const at = w->k->rows + s->first[i] + (z * side[1] + y) * side[0];
    const bool inside = ((uint64_t)(s->y[i] + y) < (uint64_t)side[1]) &
                        ((uint64_t)(s->z[i] + z) < (uint64_t)side[2]);
    return inside ? at : w->none;
}

/* Rows one after another. wide: displacements that are counted together, those of a row or more;
 * what is counted beyond its end, the next one has. */
static inline __attribute__((always_inline)) void sum_rows(uint16_t *bits, const level_work *w,
                                                           const samples *s, int wide)
{
    const int *const n = w->k->side;
    const int64_t side[3] = {w->k->rows_side[0], w->k->rows_side[1], w->k->rows_side[2]};
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++, bits += n[0]) {
            uint64_t sum[MOST_LANES];
            for (int x = 0; x < wide; x++) sum[x] = 0;
            for (int i = 0; i < s->n; i++) {
                const uint64_t *const at = row_of(w, side, s, i, y, z);
                const uint64_t word = s->word[i];
#pragma omp simd
                for (int x = 0; x < wide; x++) sum[x] += (uint64_t)lob_register_bits(at[x], word);
            }
            for (int x = 0; x < wide; x++) bits[x] = (uint16_t)sum[x];
        }
}

LOB_SIMD_CLONES(void, sum_words, (bits, w, s), uint16_t *bits, const level_work *w,
                const samples *s)
{
    sum_rows(bits, w, s, w->k->side[0]);
}

#ifdef LOB_BITS
LOB_BITS static void sum_lanes(uint16_t *bits, const level_work *w, const samples *s)
{
    const int side = w->k->side[0];
    if (side <= LANES)
        sum_rows(bits, w, s, LANES);
    else if (side <= 2 * LANES)
        sum_rows(bits, w, s, 2 * LANES);
    else
        sum_rows(bits, w, s, MOST_LANES);
}
#endif

/* bits: of each displacement, those in which samples differ, at most 64 * 60; room for MOST_LANES
 * more. */
static void sum_bits(uint16_t *bits, const level_work *w, const samples *s)
{
#ifdef LOB_BITS
    if (lob_has_bits()) {
        sum_lanes(bits, w, s);
        return;
    }
#endif
    sum_words(bits, w, s);
}

/* Bits become costs. Returns the contrast. */
LOB_SIMD_CLONES(int32_t, weigh, (cost, bits, length, scale, labels), int32_t *restrict cost,
                const uint16_t *restrict bits, const int32_t *restrict length, int32_t scale,
                int64_t labels)
{
    int32_t sum = 0, least = INT32_MAX;
    for (int64_t l = 0; l < labels; l++) {
        const int32_t b = bits[l];
        sum += b;
        least = b < least ? b : least;
        cost[l] = b * scale + length[l];
    }
    return sum / (int32_t)labels - least;
}

lob_status lob_register_costs_fill(const lob_register_costs *k, lob_register_call *c)
{
    const int *const n = k->side;
    const int threads = c->context->threads;
    level_work w = {.k = k};
    for (int l = 0; l < k->labels; l++)
        w.length[l] = lob_register_cost(0, 0, n, l % n[0], l / n[0] % n[1], l / n[0] / n[1]);
    for (int x = 0; x < MOST_LANES; x++) w.none[x] = k->no_data;
    fill_rows(k, threads);
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (int64_t i = 0; i < k->points.count; i++) {
        samples s;
        uint16_t bits[MOST_LABELS + MOST_LANES];
        if (lob_progress_stopped(c->progress)) continue;
        lob_register_begin(k, i);
        take_samples(&s, k, i);
        sum_bits(bits, &w, &s);
        k->contrast[i] =
            weigh(k->cost + i * k->labels, bits, w.length, (int32_t)k->scale, k->labels);
        lob_progress_report(c->progress, 1);
    }
    return LOB_OK;
}
