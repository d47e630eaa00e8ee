/* Median on the CPU: blocks of rows, in threads. */
#include "kernels/filters/median/median.h"

#include "kernels/filters/median/median_rows.h"
#include "kernels/filters/median/median_slices.h"
#include "kernels/progress.h"

#include <omp.h>

int64_t lob_median_reach(const lob_filter_step *step, const lob_filter_options *options, int axis)
{
    (void)options;
    return lob_median_radius(step, axis);
}

static const lob_median_width *const widths[] = {
    [1] = &lob_median_8, [2] = &lob_median_16, [4] = &lob_median_32, [8] = &lob_median_64};

/* Run over an image whose type out has too. */
static lob_status run(const lob_filter_image *out, const lob_filter_image *in,
                      const lob_filter_call *call, const lob_context *context, lob_budget *budget,
                      lob_error *error)
{
    const lob_dims d = in->dims;
    const size_t width = lob_type_of(in->type)->bytes;
    lob_median_rows m = {
        .mask = call->mask,
        .dims = d,
        .radius = {lob_median_radius(call->step, 0), lob_median_radius(call->step, 1),
                   lob_median_radius(call->step, 2)},
        .edge = call->options->edge,
        .edge_bits = lob_median_edge_bits(in->type, call->options),
        .kind = lob_key_kind_of(in->type),
        .gaps = lob_median_gaps(call, in->type),
    };
    const bool few =
        m.radius[0] == 1 && m.radius[1] <= 1 && m.radius[2] <= 1 && m.radius[1] + m.radius[2] > 0;
    m.method = few && !m.gaps                              ? LOB_MEDIAN_NETWORK
               : lob_median_by_slices(m.radius, 8 * width) ? LOB_MEDIAN_SLICES
                                                           : LOB_MEDIAN_BISECTION;
    const bool slices = m.method == LOB_MEDIAN_SLICES;
    const int64_t n[3] = {d.nx, d.ny, d.nz};
    const int64_t most[3] = {slices ? LOB_SLICE_WIDE : LOB_MEDIAN_STRIP,
                             slices ? LOB_SLICE_ROWS : LOB_MEDIAN_ROWS,
                             slices ? LOB_SLICE_PLANES : 1};
    const int64_t scratch_bytes = (widths[width]->scratch(&m) + 63) / 64 * 64;
    int64_t blocks[3];
    for (int a = 0; a < 3; a++) blocks[a] = (n[a] + most[a] - 1) / most[a];
    const int64_t tasks = in->channels * blocks[0] * blocks[1] * blocks[2];
    lob_progress stages = {.context = context};
    char *scratch;
    LOB_TRY(lob_budget_alloc(budget, &scratch, context->threads, (size_t)scratch_bytes, error));
    lob_progress_stage(&stages, tasks, 1.0);

#pragma omp parallel for num_threads(context->threads) schedule(dynamic) firstprivate(m)
    for (int64_t task = 0; task < tasks; task++) {
        if (lob_progress_stopped(&stages)) continue;
        int64_t at[3], side[3], rest = task;
        for (int a = 0; a < 3; a++) {
            at[a] = rest % blocks[a] * most[a];
            side[a] = n[a] - at[a] < most[a] ? n[a] - at[a] : most[a];
            rest /= blocks[a];
        }
        const int64_t channel = rest * d.nx * d.ny * d.nz * (int64_t)width;
        m.in = (const char *)in->data + channel;
        m.out = (char *)out->data + channel;
        widths[width]->block(&m, scratch + omp_get_thread_num() * scratch_bytes, at, side);
        lob_progress_report(&stages, 1);
    }
    lob_budget_free(budget, scratch, context->threads, (size_t)scratch_bytes);
    if (lob_progress_stopped(&stages)) return lob_fail(error, LOB_ECANCEL, "median was cancelled");
    return LOB_OK;
}

/* Map n values to float32. */
static void convert(float *out, const lob_filter_image *in, const lob_filter_map *map, int64_t n,
                    int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++) out[i] = lob_filter_value(in->data, in->type, map, i);
}

lob_status lob_median_cpu(const lob_filter_image *out, const lob_filter_image *in,
                          const lob_filter_call *call, const lob_context *context,
                          lob_budget *budget, lob_error *error)
{
    const int64_t n = in->channels * lob_dims_voxels(in->dims);
    lob_filter_image from = *in;
    float *copy = NULL;
    if (lob_median_converts(out, in, call)) {
        LOB_TRY(lob_budget_alloc(budget, &copy, n, sizeof *copy, error));
        convert(copy, in, &call->before, n, context->threads);
        from.data = copy;
        from.type = LOB_F32;
    }
    const lob_status st = run(out, &from, call, context, budget, error);
    lob_budget_free(budget, copy, n, sizeof *copy);
    if (st != LOB_OK || call->after.identity) return st;
    lob_filter_image written = *out;
    convert(out->data, &written, &call->after, n, context->threads);
    return LOB_OK;
}
