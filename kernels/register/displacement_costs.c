/*
 * What displacements cost at the points of a level: the bits in which words differ, summed over
 * samples of a point's block.
 *
 * Displacements of a sample lie quant voxels apart. So words are kept as quant^3 volumes, of every
 * quant-th voxel along each axis, and rows have no data beyond both ends: then displacements that
 * are neighbours are neighbours in memory.
 */
#include "kernels/progress.h"
#include "kernels/register/register_voxel.h"
#include "kernels/simd_clones.h"

/* ---- points ---- */

static int64_t points_bytes(const lob_register_points *p)
{
    return 3 * p->count * (int64_t)sizeof *p->u[0];
}

lob_status lob_register_points_make(lob_register_points *p, lob_register_call *c, int step)
{
    *p = (lob_register_points){.step = step, .count = 1};
    for (int a = 0; a < 3; a++) {
        const int64_t side = lob_side(c->fixed.dims, a);
        p->n[a] = side / step > 0 ? side / step : 1;
        p->first[a] = side / step > 0 ? side % step / 2 : -((step - side) / 2);
        p->count *= p->n[a];
    }
    LOB_TRY(lob_budget_alloc_at(&c->budget, c->device, &p->u[0], points_bytes(p), c->error));
    p->u[1] = p->u[0] + p->count;
    p->u[2] = p->u[1] + p->count;
    return LOB_OK;
}

void lob_register_points_free(lob_register_points *p, lob_register_call *c)
{
    lob_budget_free_at(&c->budget, c->device, p->u[0], points_bytes(p));
    p->u[0] = NULL;
}

/* ---- rows ---- */

/* Voxels of such a volume along each axis; beyond them, along x, reach at both ends. */
static void rows_sides(int64_t side[3], const lob_register_call *c, const lob_register_level *level)
{
    for (int a = 0; a < 3; a++)
        side[a] = (lob_side(c->fixed.dims, a) + level->quant - 1) / level->quant;
    side[0] += 2 * level->reach;
}

static void fill_rows(uint64_t *rows, const int64_t side[3], const lob_register_call *c,
                      const uint64_t *words, const lob_register_level *level)
{
    const lob_dims d = c->fixed.dims;
    const int quant = level->quant;
#pragma omp parallel for schedule(static) num_threads(c->context->threads)
    for (int64_t row = 0; row < quant * quant * quant * side[2] * side[1]; row++) {
        const int64_t phase = row / (side[1] * side[2]);
        const int64_t y = row % side[1] * quant + phase / quant % quant;
        const int64_t z = row / side[1] % side[2] * quant + phase / quant / quant;
        uint64_t *const to = rows + row * side[0];
        for (int64_t i = 0; i < side[0]; i++) {
            const int64_t x = quant * (i - level->reach) + phase % quant;
            const bool inside = x >= 0 && x < d.nx && y < d.ny && z < d.nz;
            to[i] = inside ? words[(z * d.ny + y) * d.nx + x] : c->no_data;
        }
    }
}

/* ---- costs ---- */

enum {
    MOST_SAMPLES = LOB_REGISTER_MOST_SAMPLES,
    TOGETHER = 4,
    MOST_SIDE = 2 * LOB_REGISTER_MOST_REACH + 1,
    MOST_LABELS = MOST_SIDE * MOST_SIDE * MOST_SIDE
};

/* A point's samples, as many as a multiple of TOGETHER: words, and where the zero displacement of
 * each is looked up. */
typedef struct {
    int n;
    uint64_t word[MOST_SAMPLES];
    int64_t volume[MOST_SAMPLES]; /* where its volume begins; -1: none, no data everywhere */
    int64_t at[MOST_SAMPLES][3];
} samples;

int lob_register_sample_offsets(int8_t offset[MOST_SAMPLES][3], const lob_register_level *level)
{
    const int each = level->each, side = (level->step + each - 1) / each;
    int n = 0;
    for (int k = 0; k < side * side * side; k++) {
        const int x = k % side, y = k / side % side, z = k / side / side;
        if ((x + y + z) % 2 != 0 && side > 2) continue;
        offset[n][0] = (int8_t)(x * each);
        offset[n][1] = (int8_t)(y * each);
        offset[n++][2] = (int8_t)(z * each);
    }
    return n;
}

/* Place the sample at a voxel, with the displacement of the level before. */
static void place(samples *s, const lob_register_costs *k, const lob_register_call *c,
                  const int64_t voxel[3])
{
    const int quant = k->level->quant;
    int64_t side[3], to[3], phase = 0;
    rows_sides(side, c, k->level);
    lob_register_displaced(to, k->before, c->fixed.dims, voxel);
    for (int a = 2; a >= 0; a--) {
        phase = phase * quant + to[a] % quant;
        s->at[s->n][a] = to[a] / quant - k->side[a] / 2 + (a == 0 ? k->level->reach : 0);
    }
    s->volume[s->n] = phase * side[0] * side[1] * side[2];
}

/* Place the samples of point i. */
static void take_samples(samples *s, const lob_register_costs *k, const lob_register_call *c,
                         const uint64_t *from, const int8_t (*offset)[3], int offsets, int64_t i)
{
    const lob_dims d = c->fixed.dims;
    s->n = 0;
    for (int o = 0; o < offsets; o++) {
        int64_t at[3];
        const int64_t voxel = lob_register_sample(at, k->points, d, offset[o], i);
        if (c->mask && !c->mask[voxel]) continue;
        if (from[voxel] == c->no_data || lob_register_near_border(at, d, c->margin)) continue;
        s->word[s->n] = from[voxel];
        place(s, k, c, at);
        s->n++;
    }
    for (; s->n % TOGETHER != 0; s->n++) {
        s->word[s->n] = c->no_data;
        s->volume[s->n] = -1;
    }
}

/* Add the bits of four samples, at nx displacements along x. */
static inline void add_bits(uint16_t *restrict cost, const uint64_t *const *row,
                            const uint64_t *word, int nx)
{
    const uint64_t *const a = row[0], *const b = row[1], *const c = row[2], *const d = row[3];
    for (int x = 0; x < nx; x++)
        cost[x] = (uint16_t)(cost[x] + lob_register_bits(a[x], word[0]) +
                             lob_register_bits(b[x], word[1]) + lob_register_bits(c[x], word[2]) +
                             lob_register_bits(d[x], word[3]));
}

/* cost: of each displacement, the bits in which samples differ, at most 64 * 60. */
LOB_SIMD_CLONES(void, sum_bits, (cost, k, c, rows, s), uint16_t *restrict cost,
                const lob_register_costs *k, const lob_register_call *c, const uint64_t *rows,
                const samples *s)
{
    int64_t side[3];
    uint64_t none[MOST_SIDE];
    rows_sides(side, c, k->level);
    for (int x = 0; x < MOST_SIDE; x++) none[x] = c->no_data;
    memset(cost, 0, (size_t)k->labels * sizeof *cost);
    for (int n = 0; n < s->n; n += TOGETHER) {
        uint16_t *to = cost;
        for (int lz = 0; lz < k->side[2]; lz++)
            for (int ly = 0; ly < k->side[1]; ly++) {
                const uint64_t *row[TOGETHER];
                for (int i = 0; i < TOGETHER; i++) {
                    const int64_t y = s->at[n + i][1] + ly, z = s->at[n + i][2] + lz;
                    const bool inside =
                        s->volume[n + i] >= 0 && y >= 0 && y < side[1] && z >= 0 && z < side[2];
                    row[i] = inside ? rows + s->volume[n + i] + (z * side[1] + y) * side[0] +
                                          s->at[n + i][0]
                                    : none;
                }
                add_bits(to, row, s->word + n, k->side[0]);
                to += k->side[0];
            }
    }
}

/* Bits become costs. */
static void weigh(int32_t *cost, int32_t *contrast, const uint16_t *bits,
                  const lob_register_costs *k)
{
    int64_t sum = 0;
    int32_t least = INT32_MAX;
    for (int64_t l = 0; l < k->labels; l++) {
        sum += bits[l];
        least = bits[l] < least ? bits[l] : least;
    }
    *contrast = (int32_t)(sum / k->labels) - least;
    for (int lz = 0; lz < k->side[2]; lz++)
        for (int ly = 0; ly < k->side[1]; ly++)
            for (int lx = 0; lx < k->side[0]; lx++)
                *cost++ = lob_register_cost(*bits++, k->scale, k->side, lx, ly, lz);
}

int64_t lob_register_scale(const lob_register_level *level, int offsets, double smooth)
{
    const double weight = 0.5 * level->step / (smooth * level->quant);
    const double scale = LOB_REGISTER_UNIT * weight / offsets + 0.5;
    return scale < 1.0 ? 1 : scale > 1e4 ? 10000 : (int64_t)scale;
}

static void fill_costs(lob_register_costs *k, lob_register_call *c, const uint64_t *from,
                       const uint64_t *rows)
{
    int8_t offset[MOST_SAMPLES][3];
    const int offsets = lob_register_sample_offsets(offset, k->level);
    k->scale = lob_register_scale(k->level, offsets, c->options->smooth);
#pragma omp parallel for schedule(dynamic, 16) num_threads(c->context->threads)
    for (int64_t i = 0; i < k->points->count; i++) {
        samples s;
        uint16_t bits[MOST_LABELS];
        float u[3];
        if (lob_progress_stopped(c->progress)) continue;
        lob_register_point_begin(u, k->before, k->points, i);
        for (int a = 0; a < 3; a++) k->points->u[a][i] = u[a];
        take_samples(&s, k, c, from, (const int8_t(*)[3])offset, offsets, i);
        sum_bits(bits, k, c, rows, &s);
        weigh(k->cost + i * k->labels, k->contrast + i, bits, k);
        lob_progress_report(c->progress, 1);
    }
}

lob_status lob_register_costs_fill(lob_register_costs *k, lob_register_call *c, int from)
{
    const int quant = k->level->quant;
    int64_t side[3];
    uint64_t *rows;
    rows_sides(side, c, k->level);
    const int64_t words = side[0] * side[1] * side[2] * quant * quant * quant;
    LOB_TRY(lob_budget_alloc(&c->budget, &rows, words, sizeof *rows, c->error));
    fill_rows(rows, side, c, c->words[!from], k->level);
    fill_costs(k, c, c->words[from], rows);
    lob_budget_free(&c->budget, rows, words, sizeof *rows);
    return LOB_OK;
}
