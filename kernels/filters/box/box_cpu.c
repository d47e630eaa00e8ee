/* Box on the CPU: voxels become float32 in the output, whose lines are then summed in place. */
#include "kernels/filters/box/box_voxel.h"
#include "kernels/progress.h"
#include "kernels/simd_clones.h"

#include <omp.h>
#include <string.h>

/* Columns that are summed together, so that a vector holds several; rows that are, so that a
 * processor has several sums to go on with. */
enum { COLUMNS = 64, ROWS = 4 };

/* The places of COLUMNS lines, those outside too. */
typedef float places_row[COLUMNS];

static int64_t places_of(const lob_box_pass *pass)
{
    return pass->radius == 0 ? 0 : pass->n + 2 * pass->radius;
}

/* ---- columns: w adjacent lines whose voxels are `step` apart ---- */

static void gather_columns(places_row *places, const lob_box_pass *pass, const float *lines,
                           int64_t step, int w)
{
    const int64_t r = pass->radius;
    for (int64_t i = -r; i < pass->n + r; i++) {
        const int64_t at = lob_edge_position(i, pass->n, pass->edge);
        if (at >= 0)
            memcpy(places[i + r], lines + at * step, (size_t)w * sizeof *lines);
        else
            for (int k = 0; k < w; k++) places[i + r][k] = pass->outside;
    }
}

/* Sums of the windows that begin at COLUMNS adjacent places; their places are `apart` apart. */
static inline void sum_windows(double sum[COLUMNS], const float *first, int64_t apart,
                               int64_t window)
{
    for (int k = 0; k < COLUMNS; k++) sum[k] = 0;
    for (int64_t i = 0; i < window; i++)
#pragma omp simd
        for (int k = 0; k < COLUMNS; k++) sum[k] = sum[k] + (double)first[i * apart + k];
}

/* What comes out for voxel i of each column. */
static inline void write_columns(float *to, const lob_box_pass *pass, const double *sum, int64_t i,
                                 int w)
{
    const bool clipped = pass->clips && (i < pass->radius || i >= pass->n - pass->radius);
    if (!clipped && pass->after.identity && w == COLUMNS) {
        const double factor = pass->factor;
#pragma omp simd
        for (int k = 0; k < COLUMNS; k++) to[k] = (float)(sum[k] * factor);
    } else {
        for (int k = 0; k < w; k++) to[k] = lob_box_scaled(pass, sum[k], i);
    }
}

/* Sum columns in place. */
LOB_SIMD_CLONES(void, sum_columns, (places, pass, lines, step, w), places_row *places,
                const lob_box_pass *pass, float *lines, int64_t step, int w)
{
    const int64_t window = 2 * pass->radius + 1, blocks = lob_box_blocks(pass);
    gather_columns(places, pass, lines, step, w);
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t begin = lob_box_block_begin(pass, b), end = lob_box_block_end(pass, b);
        const int64_t apart = pass->anew ? 1 : end - begin; /* of windows summed anew */
        double sum[COLUMNS];
        for (int64_t first = begin; first < end; first += apart) {
            sum_windows(sum, places[first], COLUMNS, window);
            write_columns(lines + first * step, pass, sum, first, w);
            for (int64_t i = first + 1; i < first + apart; i++) {
                const float *const comes = places[i - 1 + window], *const goes = places[i - 1];
#pragma omp simd
                for (int k = 0; k < COLUMNS; k++) sum[k] = lob_box_moved(sum[k], comes[k], goes[k]);
                write_columns(lines + i * step, pass, sum, i, w);
            }
        }
    }
}

/* ---- rows: w lines whose voxels are adjacent ---- */

static void gather_row(float *places, const lob_box_pass *pass, const float *line)
{
    const int64_t r = pass->radius, n = pass->n;
    memcpy(places + r, line, (size_t)n * sizeof *places);
    for (int64_t i = 0; i < r; i++) {
        const int64_t before = lob_edge_position(i - r, n, pass->edge);
        const int64_t after = lob_edge_position(n + i, n, pass->edge);
        places[i] = before < 0 ? pass->outside : line[before];
        places[r + n + i] = after < 0 ? pass->outside : line[after];
    }
}

static inline void write_rows(float *lines, const lob_box_pass *pass, const double *sum, int64_t i,
                              int w)
{
    const bool clipped = pass->clips && (i < pass->radius || i >= pass->n - pass->radius);
    for (int k = 0; k < w; k++)
        lines[k * pass->n + i] = !clipped && pass->after.identity ? (float)(sum[k] * pass->factor)
                                                                  : lob_box_scaled(pass, sum[k], i);
}

/* Sum adjacent rows in place. */
LOB_SIMD_CLONES(void, sum_rows, (places, pass, lines, w), float *places, const lob_box_pass *pass,
                float *lines, int w)
{
    const int64_t window = 2 * pass->radius + 1, blocks = lob_box_blocks(pass);
    const int64_t pitch = places_of(pass);
    for (int k = 0; k < w; k++) gather_row(places + k * pitch, pass, lines + k * pass->n);
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t begin = lob_box_block_begin(pass, b), end = lob_box_block_end(pass, b);
        double sum[ROWS] = {0};
        for (int64_t i = begin; i < begin + window; i++)
            for (int k = 0; k < ROWS; k++) sum[k] = sum[k] + (double)places[k * pitch + i];
        write_rows(lines, pass, sum, begin, w);
        for (int64_t i = begin + 1; i < end; i++) {
            const float *const comes = places + i - 1 + window, *const goes = places + i - 1;
            for (int k = 0; k < ROWS; k++)
                sum[k] = lob_box_moved(sum[k], comes[k * pitch], goes[k * pitch]);
            if (w == ROWS)
                write_rows(lines, pass, sum, i, ROWS);
            else
                write_rows(lines, pass, sum, i, w);
        }
    }
}

/* Sum a row in place, each window anew. */
LOB_SIMD_CLONES(void, sum_row_anew, (places, pass, line), float *places, const lob_box_pass *pass,
                float *line)
{
    const int64_t r = pass->radius, n = pass->n;
    gather_row(places, pass, line);
    for (int64_t x = 0; x < n; x += COLUMNS) {
        const bool whole = x >= r && x + COLUMNS + r <= n && pass->after.identity;
        const int w = n - x < COLUMNS ? (int)(n - x) : COLUMNS;
        double sum[COLUMNS];
        sum_windows(sum, places + x, 1, 2 * r + 1);
        if (whole)
#pragma omp simd
            for (int k = 0; k < COLUMNS; k++) line[x + k] = (float)(sum[k] * pass->factor);
        else
            for (int k = 0; k < w; k++) line[x + k] = lob_box_scaled(pass, sum[k], x + k);
    }
}

/* Sum all rows of a plane. */
static void sum_along_x(float *places, const lob_box_pass *pass, float *lines, int64_t rows)
{
    if (pass->radius == 0) return;
    for (int64_t y = 0; y < rows; y += pass->anew ? 1 : ROWS)
        if (pass->anew)
            sum_row_anew(places, pass, lines + y * pass->n);
        else
            sum_rows(places, pass, lines + y * pass->n, (int)(rows - y < ROWS ? rows - y : ROWS));
}

/* ---- volumes ---- */

/* What all threads share while a channel is summed. */
typedef struct {
    lob_dims dims;
    lob_box_pass passes[3];
    float *sums; /* nx*ny*nz, in place */
    places_row *scratch;
    int64_t scratch_rows; /* of a thread */
    lob_progress *stages;
    int threads;
} work;

#define TO_FLOAT(type, ctype, name, integer, lowest, highest)           \
    case type: {                                                        \
        const ctype *const data = (const ctype *)from->data + at;       \
        for (int64_t i = 0; i < n; i++) to[i] = (float)(double)data[i]; \
        break;                                                          \
    }

/* lob_box_read of n adjacent voxels, step by step. */
LOB_SIMD_CLONES(void, read_plane, (to, from, at, first, n), float *to, const lob_box_source *from,
                int64_t at, int64_t first, int64_t n)
{
    const uint8_t *const mask = from->mask ? from->mask + first : NULL;
    if (from->type == LOB_F32)
        memcpy(to, (const float *)from->data + at, (size_t)n * sizeof *to);
    else if (from->type == LOB_F64)
        for (int64_t i = 0; i < n; i++) to[i] = lob_filter_float(from->data, LOB_F64, at + i);
    else
        LOB_TYPE_SWITCH(from->type, TO_FLOAT)
    if (!from->map.identity)
        for (int64_t i = 0; i < n; i++) to[i] = lob_filter_mapped(to[i], &from->map);
    if (from->what == LOB_BOX_MEANS) return;
    for (int64_t i = 0; i < n; i++) to[i] = lob_box_summand(to[i], !mask || mask[i], from->what);
}

/* Read a channel plane by plane and sum it along x and y. */
static void sum_planes(const work *w, const lob_box_source *from, int64_t channel)
{
    const lob_dims d = w->dims;
    const int64_t plane = d.nx * d.ny, begins = channel * plane * d.nz;
#pragma omp parallel for num_threads(w->threads) schedule(static)
    for (int64_t z = 0; z < d.nz; z++) {
        places_row *const places = w->scratch + omp_get_thread_num() * w->scratch_rows;
        float *const sums = w->sums + z * plane;
        if (lob_progress_stopped(w->stages)) continue;
        read_plane(sums, from, begins + z * plane, z * plane, plane);
        sum_along_x(places[0], &w->passes[0], sums, d.ny);
        for (int64_t x = 0; w->passes[1].radius > 0 && x < d.nx; x += COLUMNS)
            sum_columns(places, &w->passes[1], sums + x, d.nx,
                        (int)(d.nx - x < COLUMNS ? d.nx - x : COLUMNS));
        lob_progress_report(w->stages, 1);
    }
}

static void sum_across_planes(const work *w)
{
    const lob_dims d = w->dims;
    const int64_t plane = d.nx * d.ny, bundles = (plane + COLUMNS - 1) / COLUMNS;
    if (w->passes[2].radius == 0) return;
#pragma omp parallel for num_threads(w->threads) schedule(static)
    for (int64_t b = 0; b < bundles; b++) {
        places_row *const places = w->scratch + omp_get_thread_num() * w->scratch_rows;
        const int64_t at = b * COLUMNS;
        if (lob_progress_stopped(w->stages)) continue;
        sum_columns(places, &w->passes[2], w->sums + at, plane,
                    (int)(plane - at < COLUMNS ? plane - at : COLUMNS));
    }
}

/* Sum a channel, or its weights, in `sums`. */
static void sum_channel(work *w, float *sums, const lob_filter_image *in,
                        const lob_filter_call *call, lob_box_what what, int64_t channel)
{
    const lob_box_source from = {in->data, in->type, call->mask, call->before, what};
    lob_box_passes(w->passes, in, call, what);
    w->sums = sums;
    sum_planes(w, &from, channel);
    sum_across_planes(w);
}

static void divide(const work *w, float *out, const float *weights, const lob_filter_image *in,
                   const lob_filter_call *call, int64_t channel)
{
    const lob_box_source from = {in->data, in->type, call->mask, call->before, LOB_BOX_SUMS};
    const int64_t n = lob_dims_voxels(in->dims);
#pragma omp parallel for num_threads(w->threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        out[i] = lob_box_mean(&from, &call->after, out[i], weights[i], channel * n + i, i);
}

/* Without a radius there is no pass whose map could be the last. */
static void map_after(const work *w, float *out, const lob_filter_map *after, int64_t n)
{
    if (after->identity) return;
#pragma omp parallel for num_threads(w->threads) schedule(static)
    for (int64_t i = 0; i < n; i++) out[i] = lob_filter_mapped(out[i], after);
}

static void run(work *w, const lob_filter_image *out, float *weights, const lob_filter_image *in,
                const lob_filter_call *call)
{
    const int64_t n = lob_dims_voxels(in->dims);
    for (int c = 0; c < in->channels; c++) {
        float *const sums = (float *)out->data + c * n;
        if (!weights) {
            sum_channel(w, sums, in, call, LOB_BOX_MEANS, c);
            if (w->passes[0].radius + w->passes[1].radius + w->passes[2].radius == 0)
                map_after(w, sums, &call->after, n);
            continue;
        }
        sum_channel(w, sums, in, call, LOB_BOX_SUMS, c);
        sum_channel(w, weights, in, call, LOB_BOX_WEIGHTS, c);
        divide(w, sums, weights, in, call, c);
    }
}

lob_status lob_box_cpu(const lob_filter_image *out, const lob_filter_image *in,
                       const lob_filter_call *call, const lob_context *context, lob_budget *budget,
                       lob_error *error)
{
    const int64_t n = lob_dims_voxels(in->dims);
    const bool weighs = lob_box_weighs(call);
    lob_progress stages = {.context = context};
    work w = {.dims = in->dims, .stages = &stages, .threads = context->threads};
    float *weights = NULL;
    lob_box_passes(w.passes, in, call, LOB_BOX_MEANS);
    for (int a = 0; a < 3; a++)
        if (places_of(&w.passes[a]) > w.scratch_rows) w.scratch_rows = places_of(&w.passes[a]);
    const int64_t rows = w.scratch_rows * context->threads;
    lob_status st = lob_budget_calloc(budget, &w.scratch, rows, sizeof *w.scratch, error);
    if (st == LOB_OK && weighs) st = lob_budget_alloc(budget, &weights, n, sizeof *weights, error);
    if (st != LOB_OK) goto out;

    lob_progress_stage(&stages, in->dims.nz * in->channels * (weighs ? 2 : 1), 1.0);
    run(&w, out, weights, in, call);
    if (lob_progress_stopped(&stages)) st = lob_fail(error, LOB_ECANCEL, "box was cancelled");
out:
    lob_budget_free(budget, weights, n, sizeof *weights);
    lob_budget_free(budget, w.scratch, rows, sizeof *w.scratch);
    return st;
}
