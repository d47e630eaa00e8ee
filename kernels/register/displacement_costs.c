/*
 * What displacements cost at the points of a level: the bits in which words differ, summed over
 * samples of a point's block.
 *
 * All displacements of a sample that differ along x alone lie quant voxels apart in a row. So a row
 * is kept as quant rows, of every quant-th voxel each, with no data beyond both ends: then such
 * displacements are neighbours in memory.
 */
#include "kernels/register/register_parts.h"
#include "kernels/simd_clones.h"

/* ---- points ---- */

lob_status lob_register_points_make(lob_register_points *p, lob_register_call *c, int step)
{
    *p = (lob_register_points){.step = step, .count = 1};
    for (int a = 0; a < 3; a++) {
        const int64_t side = lob_side(c->fixed.dims, a);
        p->n[a] = side / step > 0 ? side / step : 1;
        p->first[a] = side / step > 0 ? side % step / 2 : -((step - side) / 2);
        p->count *= p->n[a];
    }
    LOB_TRY(lob_budget_calloc(&c->budget, &p->u[0], 3 * p->count, sizeof *p->u[0], c->error));
    p->u[1] = p->u[0] + p->count;
    p->u[2] = p->u[1] + p->count;
    return LOB_OK;
}

void lob_register_points_free(lob_register_points *p, lob_register_call *c)
{
    lob_budget_free(&c->budget, p->u[0], 3 * p->count, sizeof *p->u[0]);
    p->u[0] = NULL;
}

void lob_register_point_middle(float at[3], const lob_register_points *p, int64_t i)
{
    const int64_t index[3] = {i % p->n[0], i / p->n[0] % p->n[1], i / p->n[0] / p->n[1]};
    for (int a = 0; a < 3; a++)
        at[a] = (float)(index[a] * p->step + p->first[a]) + (float)(p->step - 1) / 2.0f;
}

void lob_register_points_at(float u[3], const lob_register_points *p, const float at[3])
{
    int64_t low[3], high[3], stride = 1;
    float part[3];
    for (int a = 0; a < 3; a++) {
        const float last = (float)(p->n[a] - 1);
        float g = (at[a] - (float)p->first[a] - (float)(p->step - 1) / 2.0f) / (float)p->step;
        g = g > 0.0f ? g < last ? g : last : 0.0f;
        low[a] = (int64_t)g;
        part[a] = g - (float)low[a];
        high[a] = (low[a] + (low[a] + 1 < p->n[a])) * stride;
        low[a] *= stride;
        stride *= p->n[a];
    }
    for (int k = 0; k < 3; k++) {
        float line[4];
        for (int j = 0; j < 4; j++) {
            const float *const row =
                p->u[k] + (j & 1 ? high[1] : low[1]) + (j & 2 ? high[2] : low[2]);
            line[j] = row[low[0]] + part[0] * (row[high[0]] - row[low[0]]);
        }
        const float near = line[0] + part[1] * (line[1] - line[0]);
        const float far = line[2] + part[1] * (line[3] - line[2]);
        u[k] = near + part[2] * (far - near);
    }
}

/* ---- rows ---- */

static int64_t row_length(const lob_register_call *c, const lob_register_level *level)
{
    return (c->fixed.dims.nx + level->quant - 1) / level->quant + 2 * level->reach;
}

int64_t lob_register_rows_words(const lob_register_call *c, const lob_register_level *level)
{
    return c->fixed.dims.ny * c->fixed.dims.nz * level->quant * row_length(c, level);
}

void lob_register_rows_fill(uint64_t *rows, const lob_register_call *c, const uint64_t *words,
                            const lob_register_level *level)
{
    const lob_dims d = c->fixed.dims;
    const int64_t length = row_length(c, level);
#pragma omp parallel for schedule(static) num_threads(c->context->threads)
    for (int64_t row = 0; row < d.ny * d.nz; row++)
        for (int phase = 0; phase < level->quant; phase++) {
            uint64_t *const to = rows + (row * level->quant + phase) * length;
            for (int64_t i = 0; i < length; i++) {
                const int64_t x = level->quant * (i - level->reach) + phase;
                to[i] = x >= 0 && x < d.nx ? words[row * d.nx + x] : LOB_REGISTER_NO_DATA;
            }
        }
}

/* ---- costs ---- */

enum { MOST_SAMPLES = 64, MOST_SIDE = 2 * LOB_REGISTER_MOST_REACH + 1 };

/* A point's samples: words, and where the zero displacement of each is looked up. */
typedef struct {
    int n;
    uint64_t word[MOST_SAMPLES];
    int64_t x[MOST_SAMPLES], y[MOST_SAMPLES], z[MOST_SAMPLES];
} samples;

/* Voxels of a block that are sampled: every second one along each axis of large blocks, and of
 * these, as of all in small ones, the black ones of a checkerboard. */
static int sample_offsets(int8_t offset[MOST_SAMPLES][3], int step)
{
    const int each = step > 4 ? 2 : 1, side = (step + each - 1) / each;
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

static int64_t within(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* Place the samples of point i, each with the displacement of the level before. */
static void take_samples(samples *s, const lob_register_costs *k, const lob_register_call *c,
                         const uint64_t *from, const int8_t (*offset)[3], int offsets, int64_t i)
{
    const lob_dims d = c->fixed.dims;
    const lob_register_points *p = k->points;
    const int64_t index[3] = {i % p->n[0], i / p->n[0] % p->n[1], i / p->n[0] / p->n[1]};
    const int64_t length = row_length(c, k->level);
    s->n = 0;
    for (int o = 0; o < offsets; o++) {
        int64_t at[3];
        float where[3], u[3] = {0, 0, 0};
        for (int a = 0; a < 3; a++) {
            at[a] = within(index[a] * p->step + p->first[a] + offset[o][a], lob_side(d, a));
            where[a] = (float)at[a];
        }
        const int64_t voxel = (at[2] * d.ny + at[1]) * d.nx + at[0];
        if (c->mask && !c->mask[voxel]) continue;
        if (k->before) lob_register_points_at(u, k->before, where);
        const int64_t x = within(at[0] + (int64_t)floorf(u[0] + 0.5f), d.nx);
        s->word[s->n] = from[voxel];
        s->x[s->n] =
            x % k->level->quant * length + x / k->level->quant + k->level->reach - k->side[0] / 2;
        s->y[s->n] = at[1] + (int64_t)floorf(u[1] + 0.5f);
        s->z[s->n++] = at[2] + (int64_t)floorf(u[2] + 0.5f);
    }
}

LOB_SIMD_CLONES static void sum_bits(int32_t *restrict cost, const lob_register_costs *k,
                                     const lob_register_call *c, const uint64_t *rows,
                                     const samples *s)
{
    const lob_dims d = c->fixed.dims;
    const int nx = k->side[0], quant = k->level->quant;
    const int64_t pitch = quant * row_length(c, k->level);
    uint64_t none[MOST_SIDE];
    for (int x = 0; x < nx; x++) none[x] = LOB_REGISTER_NO_DATA;
    for (int lz = 0; lz < k->side[2]; lz++)
        for (int ly = 0; ly < k->side[1]; ly++) {
            int32_t sum[MOST_SIDE] = {0};
            for (int n = 0; n < s->n; n++) {
                const int64_t y = s->y[n] + (ly - k->side[1] / 2) * quant;
                const int64_t z = s->z[n] + (lz - k->side[2] / 2) * quant;
                const bool inside = y >= 0 && y < d.ny && z >= 0 && z < d.nz;
                const uint64_t *const row = inside ? rows + (z * d.ny + y) * pitch + s->x[n] : none;
                for (int x = 0; x < nx; x++) sum[x] += lob_register_bits(row[x], s->word[n]);
            }
            memcpy(cost, sum, (size_t)nx * sizeof *cost);
            cost += nx;
        }
}

/* Bits become costs: weighted, and a little for the displacement's length, which breaks ties. */
static void weigh(int32_t *cost, int32_t *contrast, const lob_register_costs *k)
{
    int32_t *at = cost;
    int64_t sum = 0;
    int32_t least = INT32_MAX;
    for (int64_t l = 0; l < k->labels; l++) {
        sum += cost[l];
        least = cost[l] < least ? cost[l] : least;
    }
    *contrast = (int32_t)(sum / k->labels) - least;
    for (int lz = 0; lz < k->side[2]; lz++)
        for (int ly = 0; ly < k->side[1]; ly++)
            for (int lx = 0; lx < k->side[0]; lx++) {
                const int x = lx - k->side[0] / 2, y = ly - k->side[1] / 2, z = lz - k->side[2] / 2;
                *at = (int32_t)(*at * k->scale) + x * x + y * y + z * z;
                at++;
            }
}

void lob_register_costs_fill(lob_register_costs *k, lob_register_call *c, const uint64_t *from,
                             const uint64_t *rows)
{
    int8_t offset[MOST_SAMPLES][3];
    const int offsets = sample_offsets(offset, k->level->step);
    const double weight = 0.5 * k->level->step / (c->options->smooth * k->level->quant);
    const double scale = LOB_REGISTER_UNIT * weight / offsets + 0.5;
    k->scale = scale < 1.0 ? 1 : scale > 1e4 ? 10000 : (int64_t)scale;
#pragma omp parallel for schedule(dynamic, 16) num_threads(c->context->threads)
    for (int64_t i = 0; i < k->points->count; i++) {
        samples s;
        float at[3], u[3] = {0, 0, 0};
        if (lob_progress_stopped(&c->progress)) continue;
        lob_register_point_middle(at, k->points, i);
        if (k->before) lob_register_points_at(u, k->before, at);
        for (int a = 0; a < 3; a++)
            k->points->u[a][i] = floorf(u[a] * LOB_REGISTER_PARTS + 0.5f) / LOB_REGISTER_PARTS;
        take_samples(&s, k, c, from, (const int8_t(*)[3])offset, offsets, i);
        sum_bits(k->cost + i * k->labels, k, c, rows, &s);
        weigh(k->cost + i * k->labels, k->contrast + i, k);
        lob_progress_report(&c->progress, 1);
    }
}
