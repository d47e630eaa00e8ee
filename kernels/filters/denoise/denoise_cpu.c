/*
 * Denoising on the CPU. A thread takes a tile with its halo and goes through the offsets of the
 * window: for each the squared differences between the tile and the tile shifted are added up over
 * patches, along x, y and z, and turned into weights.
 */
#include "kernels/filters/denoise/denoise_voxel.h"
#include "kernels/histogram/histogram.h"
#include "kernels/progress.h"
#include "kernels/simd_clones.h"

#include <omp.h>
#include <string.h>

enum {
    TX = 64,
    TY = 8,
    TZ = 8,
    HALO = LOB_DENOISE_HALO,
    WX = TX + 2 * HALO,
    WY = TY + 2 * HALO,
    WZ = TZ + 2 * HALO
};

/* What a thread works in. With voxels that are no data, each sum has its number of differences. */
typedef struct {
    float value[WZ][WY][WX]; /* NaN: no data */
    float rows[TY + 2][TX], row_n[TY + 2][TX];
    float plane[3][TY][TX], plane_n[3][TY][TX];
    float sum[TZ][TY][TX], weight[TZ][TY][TX];
} tile;

typedef struct {
    const lob_filter_image *out, *in;
    const lob_filter_call *call;
    lob_denoise_rule rule;
    int64_t tiles[3];
} work;

/* A tile of a channel: its first voxel and how many along y and z there are. */
typedef struct {
    int64_t first[3];
    int channel, n[3];
} place;

/* ---- reading ---- */

#define READ_ROW(type, ctype, name, integer, lowest, highest)             \
    case type: {                                                          \
        const ctype *v = (const ctype *)w->in->data + from;               \
        for (int x = 0; x < WX; x++) to[x] = (float)(double)v[column[x]]; \
        break;                                                            \
    }

/* Returns whether all of the tile is data. */
static bool read_tile(tile *t, const work *w, const place *p)
{
    const lob_dims dims = w->in->dims;
    const lob_edge edge = w->rule.edge;
    const int64_t voxels = dims.nx * dims.ny * dims.nz;
    int64_t column[WX];
    bool complete = true;
    for (int x = 0; x < WX; x++)
        column[x] = lob_edge_position(p->first[0] + x - HALO, dims.nx, edge);
    for (int z = 0; z < p->n[2] + 2 * HALO; z++)
        for (int y = 0; y < p->n[1] + 2 * HALO; y++) {
            const int64_t row_z = lob_edge_position(p->first[2] + z - HALO, dims.nz, edge);
            const int64_t row_y = lob_edge_position(p->first[1] + y - HALO, dims.ny, edge);
            const int64_t row = (row_z * dims.ny + row_y) * dims.nx;
            const int64_t from = p->channel * voxels + row;
            float *to = t->value[z][y];
            LOB_TYPE_SWITCH(w->in->type, READ_ROW);
            if (w->call->mask)
                for (int x = 0; x < WX; x++)
                    if (!w->call->mask[row + column[x]]) to[x] = NAN;
            for (int x = 0; x < WX; x++)
                if (!(to[x] - to[x] == 0)) to[x] = NAN, complete = false;
        }
    return complete;
}

/* ---- one offset ---- */

/* Sums of squared differences along x, and with voxels missing their numbers. */
static inline __attribute__((always_inline)) void row_sums(float *restrict sum,
                                                           float *restrict number, const float *own,
                                                           const float *other, int patch,
                                                           bool complete)
{
    float e[TX + 2], n[TX + 2];
#pragma omp simd
    for (int x = 0; x < TX + 2; x++) {
        const float apart = own[x - 1] - other[x - 1];
        const bool both = complete || apart == apart;
        const float kept = both ? apart : 0.0f;
        e[x] = kept * kept;
        if (!complete) n[x] = both ? 1.0f : 0.0f;
    }
    if (!patch) {
        memcpy(sum, e + 1, TX * sizeof *sum);
        if (!complete) memcpy(number, n + 1, TX * sizeof *number);
        return;
    }
#pragma omp simd
    for (int x = 0; x < TX; x++) sum[x] = (e[x] + e[x + 1]) + e[x + 2];
    if (complete) return;
#pragma omp simd
    for (int x = 0; x < TX; x++) number[x] = (n[x] + n[x + 1]) + n[x + 2];
}

/* Three rows added; without a patch along this axis the middle one. */
static inline __attribute__((always_inline)) void add_three(float *restrict sum,
                                                            const float *before, const float *own,
                                                            const float *after, int patch)
{
    if (!patch) {
        memcpy(sum, own, TX * sizeof *sum);
        return;
    }
#pragma omp simd
    for (int x = 0; x < TX; x++) sum[x] = (before[x] + own[x]) + after[x];
}

/* Add a row's weighted voxels. */
static inline __attribute__((always_inline)) void add_weighted(
    float *restrict sum, float *restrict weight, const float *apart, const float *number,
    const float *own, const float *other, const lob_denoise_rule *rule, bool complete)
{
    const float whole =
        rule->scale[(1 + 2 * rule->patch[0]) * (1 + 2 * rule->patch[1]) * (1 + 2 * rule->patch[2])];
    if (complete) {
        float root[TX];
#pragma omp simd
        for (int x = 0; x < TX; x++) root[x] = lob_denoise_root(apart[x], whole);
#pragma omp simd
        for (int x = 0; x < TX; x++) {
            const float w = root[x] * root[x];
            sum[x] += w * other[x];
            weight[x] += w;
        }
        return;
    }
    for (int x = 0; x < TX; x++) {
        if (!(other[x] == other[x])) continue;
        const float w =
            own[x] == own[x] ? lob_denoise_weight(apart[x], rule->scale[(int)number[x]]) : 1.0f;
        sum[x] += w * other[x];
        weight[x] += w;
    }
}

static inline __attribute__((always_inline)) void add_offset(tile *t, const int n[3],
                                                             const int by[3],
                                                             const lob_denoise_rule *rule,
                                                             bool complete)
{
    const int py = rule->patch[1], pz = rule->patch[2];
    float total[TX], total_n[TX];
    for (int z = -pz; z < n[2] + pz; z++) {
        const int ring = (z + 3) % 3;
        for (int y = -py; y < n[1] + py; y++)
            row_sums(t->rows[y + 1], t->row_n[y + 1], &t->value[z + HALO][y + HALO][HALO],
                     &t->value[z + by[2] + HALO][y + by[1] + HALO][by[0] + HALO], rule->patch[0],
                     complete);
        for (int y = 0; y < n[1]; y++) {
            add_three(t->plane[ring][y], t->rows[y], t->rows[y + 1], t->rows[y + 2], py);
            if (!complete)
                add_three(t->plane_n[ring][y], t->row_n[y], t->row_n[y + 1], t->row_n[y + 2], py);
        }
        const int at = z - pz; /* the plane whose patches are complete */
        if (at < 0) continue;
        for (int y = 0; y < n[1]; y++) {
            const int before = (at + 2) % 3, own = at % 3, after = (at + 1) % 3;
            add_three(total, t->plane[before][y], t->plane[own][y], t->plane[after][y], pz);
            if (!complete)
                add_three(total_n, t->plane_n[before][y], t->plane_n[own][y], t->plane_n[after][y],
                          pz);
            add_weighted(t->sum[at][y], t->weight[at][y], total, total_n,
                         &t->value[at + HALO][y + HALO][HALO],
                         &t->value[at + by[2] + HALO][y + by[1] + HALO][by[0] + HALO], rule,
                         complete);
        }
    }
}

LOB_SIMD_CLONES(void, add_complete, (t, n, by, rule), tile *t, const int n[3], const int by[3],
                const lob_denoise_rule *rule)
{
    add_offset(t, n, by, rule, true);
}

LOB_SIMD_CLONES(void, add_incomplete, (t, n, by, rule), tile *t, const int n[3], const int by[3],
                const lob_denoise_rule *rule)
{
    add_offset(t, n, by, rule, false);
}

/* ---- tiles ---- */

/* A voxel that is data begins with itself. */
static void begin_tile(tile *t, const int n[3])
{
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < TX; x++) {
                const float own = t->value[z + HALO][y + HALO][x + HALO];
                const bool data = own == own;
                t->sum[z][y][x] = data ? own : 0.0f;
                t->weight[z][y][x] = data ? 1.0f : 0.0f;
            }
}

static void write_tile(const tile *t, const work *w, const place *p)
{
    const lob_dims dims = w->in->dims;
    const int64_t voxels = dims.nx * dims.ny * dims.nz;
    float *const out = (float *)w->out->data + p->channel * voxels;
    for (int z = 0; z < p->n[2]; z++)
        for (int y = 0; y < p->n[1]; y++)
            for (int x = 0; x < p->n[0]; x++) {
                const int64_t i =
                    ((p->first[2] + z) * dims.ny + p->first[1] + y) * dims.nx + p->first[0] + x;
                const bool inside = !w->call->mask || w->call->mask[i];
                const float weight = t->weight[z][y][x];
                const float value =
                    inside && weight > 0
                        ? t->sum[z][y][x] / weight
                        : lob_filter_float(w->in->data, w->in->type, p->channel * voxels + i);
                out[i] = lob_filter_mapped(value, &w->call->after);
            }
}

static void do_tile(tile *t, const work *w, const place *p)
{
    const lob_denoise_rule *rule = &w->rule;
    const bool complete = read_tile(t, w, p);
    begin_tile(t, p->n);
    for (int dz = -rule->search[2]; dz <= rule->search[2]; dz++)
        for (int dy = -rule->search[1]; dy <= rule->search[1]; dy++)
            for (int dx = -rule->search[0]; dx <= rule->search[0]; dx++) {
                const int by[3] = {dx, dy, dz};
                if (dx == 0 && dy == 0 && dz == 0) continue;
                if (complete)
                    add_complete(t, p->n, by, rule);
                else
                    add_incomplete(t, p->n, by, rule);
            }
    write_tile(t, w, p);
}

static place place_of(const work *w, int64_t number)
{
    static const int size[3] = {TX, TY, TZ};
    place p;
    for (int a = 0; a < 3; a++) {
        p.first[a] = number % w->tiles[a] * size[a];
        number /= w->tiles[a];
        const int64_t left = lob_side(w->in->dims, a) - p.first[a];
        p.n[a] = left < size[a] ? (int)left : size[a];
    }
    p.channel = (int)number;
    return p;
}

lob_status lob_denoise_cpu(const lob_filter_image *out, const lob_filter_image *in,
                           const lob_filter_call *call, const lob_context *context,
                           lob_budget *budget, lob_error *error)
{
    tile *tiles = NULL;
    const lob_dims dims = in->dims;
    const work w = {
        .out = out,
        .in = in,
        .call = call,
        .rule = lob_denoise_rule_of(call, dims),
        .tiles = {(dims.nx + TX - 1) / TX, (dims.ny + TY - 1) / TY, (dims.nz + TZ - 1) / TZ}
    };
    const int64_t count = w.tiles[0] * w.tiles[1] * w.tiles[2] * in->channels;
    const int threads = count < context->threads ? (int)count : context->threads;
    lob_progress progress = {.context = context};
    lob_progress_stage(&progress, count, 1.0);
    LOB_TRY(lob_budget_alloc(budget, &tiles, threads, sizeof *tiles, error));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t i = 0; i < count; i++) {
        const place p = place_of(&w, i);
        if (lob_progress_stopped(&progress)) continue;
        do_tile(&tiles[omp_get_thread_num()], &w, &p);
        lob_progress_report(&progress, 1);
    }
    lob_budget_free(budget, tiles, threads, sizeof *tiles);
    return lob_progress_stopped(&progress) ? LOB_ECANCEL : LOB_OK;
}

/* ---- noise ---- */

/* The residuals of a plane. */
static void residual_plane(float *to, const lob_filter_image *in, const lob_filter_call *call,
                           const int along[3], int channel, int64_t z)
{
    for (int64_t y = 0; y < in->dims.ny; y++)
        for (int64_t x = 0; x < in->dims.nx; x++)
            *to++ =
                lob_denoise_residual(in, call->mask, along, (const int64_t[3]){x, y, z}, channel);
}

/* The median residual of a channel; 0 where none counts. */
static lob_status median_of(double *median, float *residuals, const lob_filter_image *in,
                            const lob_filter_call *call, const int along[3], int channel,
                            const lob_context *context, lob_error *error)
{
    const double half = 50;
    const lob_volume volume = lob_volume_wrap(residuals, LOB_F32, in->dims, 1,
                                              (const double[3]){1, 1, 1}, (lob_place){0});
    const lob_histogram_input from = {&volume, 0, NULL};
#pragma omp parallel for num_threads(context->threads) schedule(static)
    for (int64_t z = 0; z < in->dims.nz; z++)
        residual_plane(residuals + z * in->dims.nx * in->dims.ny, in, call, along, channel, z);
    const lob_status st = lob_percentiles_cpu(median, &half, 1, NULL, &from, context, error);
    if (st == LOB_EDATA) *median = 0;
    return st == LOB_EDATA ? LOB_OK : st;
}

lob_status lob_denoise_noise_cpu(double *noise, const lob_filter_image *in,
                                 const lob_filter_call *call, const lob_context *context,
                                 lob_budget *budget, lob_error *error)
{
    const int64_t voxels = lob_dims_voxels(in->dims);
    lob_context quiet = *context; /* progress is the step's */
    int along[3];
    double squares = 0;
    float *residuals = NULL;
    const int axes = lob_denoise_residual_axes(along, call, in->dims);
    *noise = 0;
    if (axes == 0) return LOB_OK;
    quiet.progress = NULL;
    quiet.max_memory = 0; /* counted in the budget */
    LOB_TRY(lob_budget_alloc(budget, &residuals, voxels, sizeof *residuals, error));
    lob_status st = LOB_OK;
    for (int c = 0; c < in->channels && st == LOB_OK; c++) {
        double median = 0;
        st = median_of(&median, residuals, in, call, along, c, &quiet, error);
        const double of_channel = lob_denoise_noise_of(median, axes);
        squares += of_channel * of_channel;
    }
    lob_budget_free(budget, residuals, voxels, sizeof *residuals);
    *noise = sqrt(squares / in->channels);
    return st;
}
