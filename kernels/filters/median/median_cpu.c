/* Median on the CPU: blocks of rows, in threads. */
#include "kernels/filters/filter_edge.h"
#include "kernels/filters/median/median_key.h"
#include "kernels/filters/median/median_network.h"
#include "kernels/filters/median/median_slices.h"
#include "kernels/progress.h"
#include "kernels/simd_clones.h"

#include <omp.h>
#include <string.h>

enum {
    STRIP = 256, /* voxels of a row that are worked on together */
    ROWS = 64,   /* rows that a thread takes at once */
};

typedef enum {
    BY_NETWORK,  /* 3x3x3 or 3x3 places, without gaps: by comparisons */
    BY_SLICES,   /* see median_slices.h */
    BY_BISECTION /* any */
} method;

/* A channel's medians, as all its rows see them. */
typedef struct {
    const char *in;
    char *out;
    const uint8_t *mask; /* NULL: everything is data */
    lob_dims dims;
    int64_t radius[3];
    lob_edge edge;
    uint64_t edge_bits; /* of LOB_EDGE_CONSTANT */
    lob_key_kind kind;
    bool gaps; /* places can hold no data inside of the volume too */
    method method;
} median_rows;

/* The functions for voxels of a width. */
typedef struct {
    /* Bytes of a thread's scratch. */
    int64_t (*scratch)(const median_rows *m);

    /* The medians of a block that begins at voxel `at` and has `side` voxels along each axis: by
     * slices at most a tile of theirs, else STRIP, ROWS and 1. */
    void (*block)(const median_rows *m, void *scratch, const int64_t at[3], const int64_t side[3]);
} median_width;

#define WIDTH 8
#define COUNT uint16_t
#include "kernels/filters/median/median_rows_tmpl.h"

#define WIDTH 16
#define COUNT uint16_t
#include "kernels/filters/median/median_rows_tmpl.h"

#define WIDTH 32
#define COUNT uint32_t
#include "kernels/filters/median/median_rows_tmpl.h"

#define WIDTH 64
#define COUNT uint64_t
#include "kernels/filters/median/median_rows_tmpl.h"

static const median_width *const widths[] = {
    [1] = &median_8, [2] = &median_16, [4] = &median_32, [8] = &median_64};

int64_t lob_median_reach(const lob_filter_step *step, const lob_filter_options *options, int axis)
{
    (void)options;
    return lob_median_radius(step, axis);
}

lob_status lob_median_cpu(const lob_filter_image *out, const lob_filter_image *in,
                          const lob_filter_call *call, const lob_context *context,
                          lob_budget *budget, lob_error *error)
{
    const lob_dims d = in->dims;
    const size_t width = lob_type_of(in->type)->bytes;
    median_rows m = {
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
    m.method = few && !m.gaps                              ? BY_NETWORK
               : lob_median_by_slices(m.radius, 8 * width) ? BY_SLICES
                                                           : BY_BISECTION;
    const bool slices = m.method == BY_SLICES;
    const int64_t n[3] = {d.nx, d.ny, d.nz};
    const int64_t most[3] = {slices ? LOB_SLICE_WIDE : STRIP, slices ? LOB_SLICE_ROWS : ROWS,
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
