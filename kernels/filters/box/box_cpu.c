/* Box on the CPU: voxels become float32 in the output, whose lines are then summed in place. */
#include "kernels/filters/box/box_voxel.h"
#include "kernels/progress.h"
#include "kernels/simd_clones.h"

#include <omp.h>
#include <string.h>

enum { LANES = 32 }; /* lines that are summed together */

/* Adjacent lines: w of them, `apart`; their voxels are `step` apart. */
typedef struct {
    float *first;
    int64_t step, apart;
    int w;
} bundle;

/* A thread's scratch: a bundle's places, those outside too. */
typedef float places_row[LANES];

static int64_t rows_of(const lob_box_pass *pass)
{
    return pass->radius == 0 ? 0 : pass->n + 2 * pass->radius;
}

static void gather(places_row *places, const lob_box_pass *pass, const bundle *lines)
{
    const int64_t r = pass->radius;
    for (int64_t i = -r; i < pass->n + r; i++) {
        float *const row = places[i + r];
        const int64_t at = lob_edge_position(i, pass->n, pass->edge);
        const float *const from = lines->first + at * lines->step;
        if (at < 0)
            for (int k = 0; k < lines->w; k++) row[k] = pass->outside;
        else if (lines->apart == 1)
            memcpy(row, from, (size_t)lines->w * sizeof *row);
        else
            for (int k = 0; k < lines->w; k++) row[k] = from[k * lines->apart];
    }
}

static void add_row(double *sum, const float *row)
{
#pragma omp simd
    for (int k = 0; k < LANES; k++) sum[k] = sum[k] + (double)row[k];
}

/* Write what the sums of voxel i of each line give. */
static void write_row(const bundle *lines, const lob_box_pass *pass, const double *sum, int64_t i)
{
    float *const to = lines->first + i * lines->step;
    for (int k = 0; k < lines->w; k++) to[k * lines->apart] = lob_box_scaled(pass, sum[k], i);
}

/* The same for adjacent lines and whole windows that are not mapped afterwards. */
static void write_plain(const bundle *lines, double factor, const double *sum, int64_t i)
{
    float *const to = lines->first + i * lines->step;
    if (lines->w == LANES && lines->apart == 1) {
#pragma omp simd
        for (int k = 0; k < LANES; k++) to[k] = (float)(sum[k] * factor);
    } else {
        for (int k = 0; k < lines->w; k++) to[k * lines->apart] = (float)(sum[k] * factor);
    }
}

/* Sum a bundle in place. */
LOB_SIMD_CLONES static void sum_bundle(places_row *places, const lob_box_pass *pass,
                                       const bundle *lines)
{
    const int64_t r = pass->radius, blocks = lob_box_blocks(pass);
    gather(places, pass, lines);
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t begin = lob_box_block_begin(pass, b);
        const int64_t next = lob_box_block_begin(pass, b + 1);
        const int64_t end = next < pass->n ? next : pass->n;
        double sum[LANES] = {0};
        for (int64_t i = begin; i <= begin + 2 * r; i++) add_row(sum, places[i]);
        for (int64_t i = begin; i < end; i++) {
            const bool clipped = pass->clips && (i < r || i >= pass->n - r);
            if (clipped || !pass->after.identity)
                write_row(lines, pass, sum, i);
            else
                write_plain(lines, pass->factor, sum, i);
            if (i + 1 == end) break;
            const float *const comes = places[i + 1 + 2 * r], *const goes = places[i];
#pragma omp simd
            for (int k = 0; k < LANES; k++) sum[k] = lob_box_moved(sum[k], comes[k], goes[k]);
        }
    }
}

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

static void read_plane(float *to, const lob_box_source *from, int64_t at, int64_t first, int64_t n)
{
    if (from->what == LOB_BOX_MEANS && from->type == LOB_F32 && from->map.identity) {
        memcpy(to, (const float *)from->data + at, (size_t)n * sizeof *to);
        return;
    }
    for (int64_t i = 0; i < n; i++) to[i] = lob_box_read(from, at + i, first + i);
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
        for (int64_t y = 0; w->passes[0].radius > 0 && y < d.ny; y += LANES) {
            const int lines = (int)(d.ny - y < LANES ? d.ny - y : LANES);
            sum_bundle(places, &w->passes[0], &(bundle){sums + y * d.nx, 1, d.nx, lines});
        }
        for (int64_t x = 0; w->passes[1].radius > 0 && x < d.nx; x += LANES) {
            const int lines = (int)(d.nx - x < LANES ? d.nx - x : LANES);
            sum_bundle(places, &w->passes[1], &(bundle){sums + x, d.nx, 1, lines});
        }
        lob_progress_report(w->stages, 1);
    }
}

static void sum_columns(const work *w)
{
    const lob_dims d = w->dims;
    const int64_t plane = d.nx * d.ny, bundles = (plane + LANES - 1) / LANES;
    if (w->passes[2].radius == 0) return;
#pragma omp parallel for num_threads(w->threads) schedule(static)
    for (int64_t b = 0; b < bundles; b++) {
        places_row *const places = w->scratch + omp_get_thread_num() * w->scratch_rows;
        const int64_t at = b * LANES;
        const int lines = (int)(plane - at < LANES ? plane - at : LANES);
        if (lob_progress_stopped(w->stages)) continue;
        sum_bundle(places, &w->passes[2], &(bundle){w->sums + at, plane, 1, lines});
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
    sum_columns(w);
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
        if (rows_of(&w.passes[a]) > w.scratch_rows) w.scratch_rows = rows_of(&w.passes[a]);
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
