/* The distance transform on the CPU: rows along x, then blocks of lines along y and z. */
#include "kernels/arrays.h"
#include "kernels/budget.h"
#include "kernels/distance/distance_lines.h"
#include "kernels/distance/distance_slabs.h"
#include "kernels/distance/distance_voxel.h"
#include "kernels/progress.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* A run of a call. */
typedef struct {
    lob_distance_plan plan;
    const lob_distance_input *in;
    int64_t planes; /* of the whole volume, of which in has those of a rank */
    lob_team *team; /* NULL: all of them */
    lob_budget *budget;
    lob_error *error;
    uint32_t *voxels; /* as distance_voxel.h says */
    void *feature;
    int label_bytes;
    lob_distance_scratch *of_thread;
    int threads;
    lob_progress *stages;
} run;

/* ---- along x ---- */

static uint32_t class_at(const run *r, int64_t i)
{
    const uint32_t label = lob_distance_label(r->in->labels, r->label_bytes, i);
    return lob_distance_class(label, r->plan.only, r->plan.binary);
}

static inline __attribute__((always_inline)) void row_to_set_of(const run *r, int64_t first,
                                                                int64_t n, const int label_bytes)
{
    enum { FAR = 1 << 30 }; /* with all that is added in a row more than any offset */
    uint32_t *const offsets = r->voxels + first;
    const void *const labels = r->in->labels;
    const uint32_t only = r->plan.only;
    uint32_t away = FAR;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t label = lob_distance_label(labels, label_bytes, first + i);
        away = (only ? label == only : label != 0) ? 0 : away + 1;
        offsets[i] = away;
    }
    if (away >= FAR) {
        for (int64_t i = 0; i < n; i++) offsets[i] = LOB_NO_OFFSET;
        return;
    }
    for (int64_t i = n - 1; i-- > 0;) {
        away = away + 1 < offsets[i] ? away + 1 : offsets[i];
        offsets[i] = away;
    }
}

static void row_to_set(const run *r, int64_t first, int64_t n)
{
    if (r->label_bytes == 1)
        row_to_set_of(r, first, n, 1);
    else if (r->label_bytes == 2)
        row_to_set_of(r, first, n, 2);
    else
        row_to_set_of(r, first, n, 4);
}

static void row_to_label(const run *r, int64_t first, int64_t n)
{
    uint32_t *const offsets = r->voxels + first;
    uint32_t away = LOB_NO_OFFSET, label = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t own = class_at(r, first + i);
        away = own ? 0 : away + (away != LOB_NO_OFFSET);
        if (own) label = own;
        offsets[i] = away;
        lob_distance_put_label(r->feature, r->label_bytes, first + i, label);
    }
    away = LOB_NO_OFFSET;
    for (int64_t i = n; i-- > 0;) {
        if (offsets[i] == 0) {
            away = 0;
            label = lob_distance_label(r->feature, r->label_bytes, first + i);
            continue;
        }
        if (away == LOB_NO_OFFSET) continue;
        away++;
        if (away > offsets[i] ||
            (away == offsets[i] &&
             label >= lob_distance_label(r->feature, r->label_bytes, first + i)))
            continue;
        offsets[i] = away;
        lob_distance_put_label(r->feature, r->label_bytes, first + i, label);
    }
}

static void row_to_other(const run *r, int64_t first, int64_t n)
{
    uint32_t *const offsets = r->voxels + first;
    for (int64_t begin = 0, end; begin < n; begin = end) {
        const uint32_t own = class_at(r, first + begin);
        for (end = begin + 1; end < n && class_at(r, first + end) == own;) end++;
        for (int64_t i = begin; i < end; i++) {
            const uint32_t left = begin > 0 ? (uint32_t)(i - begin + 1) : LOB_NO_OFFSET;
            const uint32_t right = end < n ? (uint32_t)(end - i) : LOB_NO_OFFSET;
            offsets[i] = left < right ? left : right;
        }
    }
}

/* Rows of one voxel where voxels do not see each other along x. */
static void along_x(const run *r)
{
    static void (*const row[])(const run *r, int64_t first, int64_t n) = {row_to_set, row_to_label,
                                                                          row_to_other};
    const lob_distance_plan *p = &r->plan;
    const int64_t rows = p->dims.ny * p->dims.nz, n = p->weight[0] > 0 ? p->dims.nx : 1;
#pragma omp parallel for num_threads(r->threads) schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        if (lob_progress_stopped(r->stages)) continue;
        for (int64_t x = 0; x < p->dims.nx; x += n) row[p->find](r, i * p->dims.nx + x, n);
        (void)lob_progress_report(r->stages, 1);
    }
}

/* ---- along y and z ---- */

/* Lines of a pass: `inner` adjacent ones, `outer` times, `apart` voxels from one time to the next.
 */
static void along(const run *r, int pass)
{
    const lob_distance_plan *p = &r->plan;
    const int axis = p->axis[pass];
    const int64_t voxels = lob_dims_voxels(p->dims), plane = p->dims.nx * p->dims.ny;
    const bool alone = p->weight[axis] == 0; /* voxels do not see each other */
    const int64_t inner = alone ? voxels : axis == 1 ? p->dims.nx : plane;
    const int64_t outer = alone || axis == 2 ? 1 : p->dims.nz;
    const int64_t blocks = (inner + LOB_LINES - 1) / LOB_LINES, all = blocks * outer;
    const lob_distance_pass job = {p, r->voxels, r->feature, r->in->labels, r->label_bytes, pass};
    const double from = r->stages->to, to = from + (1 - from) / (p->passes - pass);
    lob_progress_stage(r->stages, all, to);
    for (int t = 0; t < r->threads; t++) r->of_thread[t].searched = 0;
#pragma omp parallel for num_threads(r->threads) schedule(dynamic, 16)
    for (int64_t b = 0; b < all; b++) {
        const int64_t at = b % blocks * LOB_LINES, left = inner - at;
        const int lines = left < LOB_LINES ? (int)left : LOB_LINES;
        lob_distance_scratch *const scratch = &r->of_thread[omp_get_thread_num()];
        if (lob_progress_stopped(r->stages)) continue;
        (p->narrow ? lob_narrow_lines : lob_wide_lines)(&job, b / blocks * plane + at, lines,
                                                        scratch);
        (void)lob_progress_report(r->stages, 1);
    }
}

/* ---- along z, of a team ---- */

/* An array of a slab, and of the columns that the rank has for a while: all planes of them. */
typedef struct {
    char *slab, *columns;
    size_t each; /* bytes of a voxel */
} parted;

/* Copy columns first .. end - 1 of each plane of a slab to planes of these alone, or back. */
static void pack(char *packed, const parted *a, int64_t planes, int64_t plane, int64_t first,
                 int64_t end, bool back)
{
    const size_t part = (size_t)(end - first) * a->each;
    for (int64_t z = 0; z < planes; z++) {
        char *const here = a->slab + (size_t)(z * plane + first) * a->each;
        char *const there = packed + (size_t)z * part;
        memcpy(back ? here : there, back ? there : here, part);
    }
}

/* Hand an array from slabs to columns, or back. packed: as large as the slab's array. */
static lob_status hand_over(const run *r, const parted *a, char *packed, bool back)
{
    const int size = lob_team_size(r->team), me = lob_team_rank(r->team);
    const int64_t planes = r->in->dims.nz, plane = r->in->dims.nx * r->in->dims.ny;
    int64_t mine[2], first, end, from, to;
    lob_letter *const letters = malloc((size_t)size * sizeof *letters);
    if (!letters) return LOB_ENOMEM;
    lob_team_planes(&mine[0], &mine[1], r->team, me, plane);
    for (int q = 0, count = 0; q < size; q++) {
        lob_team_planes(&first, &end, r->team, q, plane);
        lob_team_planes(&from, &to, r->team, q, r->planes);
        char *const out = packed + (size_t)(planes * first) * a->each;
        char *const in = a->columns + (size_t)(from * (mine[1] - mine[0])) * a->each;
        const int64_t theirs = planes * (end - first) * (int64_t)a->each;
        const int64_t ours = (to - from) * (mine[1] - mine[0]) * (int64_t)a->each;
        if (!back) pack(out, a, planes, plane, first, end, false);
        if (q == me)
            memcpy(back ? out : in, back ? in : out, (size_t)ours);
        else
            letters[count++] = back ? (lob_letter){q, in, ours, out, theirs, NULL}
                                    : (lob_letter){q, out, theirs, in, ours, NULL};
    }
    const lob_status st = lob_team_send(r->team, letters, size - 1, r->error);
    for (int q = 0; st == LOB_OK && back && q < size; q++) {
        lob_team_planes(&first, &end, r->team, q, plane);
        pack(packed + (size_t)(planes * first) * a->each, a, planes, plane, first, end, true);
    }
    free(letters);
    return st;
}

/* The pass along z over columns, which have their arrays. */
static lob_status pass_columns(const run *r, int pass, const parted *voxels, const parted *labels,
                               char *packed, int64_t columns)
{
    const bool tagged = r->plan.find == LOB_FIND_LABEL;
    lob_distance_input in = *r->in;
    run part = *r;
    LOB_TRY(hand_over(r, voxels, packed, false));
    if (labels->slab) LOB_TRY(hand_over(r, labels, packed, false));
    in.labels = labels->columns;
    part.in = &in;
    part.plan.dims = (lob_dims){columns, 1, r->planes};
    part.voxels = (uint32_t *)(void *)voxels->columns;
    part.feature = labels->columns;
    if (columns > 0) along(&part, pass);
    LOB_TRY(hand_over(r, voxels, packed, true));
    return tagged ? hand_over(r, labels, packed, true) : LOB_OK;
}

static lob_status along_team(const run *r, int pass)
{
    const int64_t plane = r->in->dims.nx * r->in->dims.ny;
    const lob_distance_find find = r->plan.find;
    const void *const tags = find == LOB_FIND_LABEL ? r->feature : r->in->labels;
    parted voxels = {(char *)r->voxels, NULL, sizeof *r->voxels};
    parted labels = {find == LOB_FIND_COST ? NULL : (char *)tags, NULL, (size_t)r->label_bytes};
    char *packed = NULL;
    int64_t first, end;
    lob_team_planes(&first, &end, r->team, lob_team_rank(r->team), plane);
    const int64_t n = plane * r->in->dims.nz, of_columns = (end - first) * r->planes + 1;
    lob_status st = lob_budget_alloc(r->budget, &voxels.columns, of_columns, voxels.each, r->error);
    if (st == LOB_OK && labels.slab)
        st = lob_budget_alloc(r->budget, &labels.columns, of_columns, labels.each, r->error);
    if (st == LOB_OK) st = lob_budget_alloc(r->budget, &packed, n, voxels.each, r->error);
    if (st == LOB_OK) st = pass_columns(r, pass, &voxels, &labels, packed, end - first);
    lob_budget_free(r->budget, packed, n, voxels.each);
    lob_budget_free(r->budget, labels.columns, of_columns, labels.each);
    lob_budget_free(r->budget, voxels.columns, of_columns, voxels.each);
    return st;
}

/* ---- a call ---- */

static int64_t longest_side(lob_dims dims)
{
    const int64_t longest = dims.nx > dims.ny ? dims.nx : dims.ny;
    return dims.nz > longest ? dims.nz : longest;
}

static int64_t thread_bytes(lob_dims dims)
{
    const int64_t n = longest_side(dims);
    const int64_t narrow = lob_narrow_line_bytes(n), wide = lob_wide_line_bytes(n);
    return narrow > wide ? narrow : wide;
}

int64_t lob_distance_bytes(lob_dims dims, int threads)
{
    return threads * (thread_bytes(dims) + (int64_t)sizeof(lob_distance_scratch));
}

/* The whole volume, of which this rank's labels are a part. */
static lob_distance_input whole_of(const run *r)
{
    lob_distance_input whole = *r->in;
    whole.dims.nz = r->planes;
    return whole;
}

static lob_status runs(run *r, const lob_distance_output *out, const lob_distance_options *options,
                       const lob_context *context)
{
    lob_distance_find find[2];
    const int n = lob_distance_runs(find, out, options);
    const lob_distance_input whole = whole_of(r);
    lob_progress stages = {.context = context};
    lob_status st = LOB_OK;
    r->stages = &stages;
    for (int i = 0; i < n && !lob_progress_stopped(&stages) && st == LOB_OK; i++) {
        r->plan = lob_distance_plan_of(&whole, options, find[i]);
        r->plan.dims = r->in->dims;
        lob_progress_stage(&stages, r->plan.dims.ny * r->plan.dims.nz, (i + 0.2) / n);
        along_x(r);
        for (int pass = 0; pass < r->plan.passes && !lob_progress_stopped(&stages); pass++)
            if (r->team && r->plan.axis[pass] == 2)
                st = along_team(r, pass);
            else
                along(r, pass);
    }
    return lob_progress_stopped(&stages) ? LOB_ECANCEL : st;
}

/* Distances of a volume, or of a rank's planes of it. */
static lob_status measure(const lob_distance_output *out, const lob_distance_input *in,
                          const lob_distance_options *options, int64_t planes, lob_team *team,
                          const lob_context *context, lob_error *error)
{
    lob_budget budget = {.who = "distance", .limit = context->max_memory};
    run r = {.in = in,
             .planes = planes,
             .team = team,
             .budget = &budget,
             .error = error,
             .voxels = (uint32_t *)out->distance,
             .feature = out->feature};
    const lob_distance_input whole = whole_of(&r);
    uint32_t *scratch = NULL;
    unsigned char *memory = NULL;
    LOB_TRY(lob_check_memory(in->place, NULL, NULL, error));
    LOB_TRY(lob_distance_check(out, &whole, options, error));
    r.label_bytes = (int)lob_type_of(in->type)->bytes;
    r.threads = context->threads;
    const int64_t voxels = lob_dims_voxels(in->dims), per_thread = thread_bytes(whole.dims);
    lob_status st = LOB_OK;
    if (!out->distance) st = lob_budget_alloc(&budget, &scratch, voxels, sizeof *scratch, error);
    if (st == LOB_OK) st = lob_budget_alloc(&budget, &memory, r.threads, (size_t)per_thread, error);
    if (st == LOB_OK)
        st = lob_budget_calloc(&budget, &r.of_thread, r.threads, sizeof *r.of_thread, error);
    if (st == LOB_OK) {
        if (scratch) r.voxels = scratch;
        for (int t = 0; t < r.threads; t++)
            r.of_thread[t].memory = memory + (size_t)t * (size_t)per_thread;
        st = runs(&r, out, options, context);
    }
    lob_budget_free(&budget, r.of_thread, r.threads, sizeof *r.of_thread);
    lob_budget_free(&budget, memory, r.threads, (size_t)per_thread);
    lob_budget_free(&budget, scratch, voxels, sizeof *scratch);
    return st;
}

lob_status lob_distance_cpu(const lob_distance_output *out, const lob_distance_input *in,
                            const lob_distance_options *options, const lob_context *context,
                            lob_error *error)
{
    lob_error_begin(error);
    const lob_status st = measure(out, in, options, in->dims.nz, NULL, context, error);
    return lob_error_end(error, st);
}

lob_status lob_distance_slabs(const lob_distance_output *out, const lob_distance_input *in,
                              const lob_distance_options *options, int64_t planes, lob_team *team,
                              const lob_context *context, lob_error *error)
{
    if (lob_team_size(team) == 1) return lob_distance_cpu(out, in, options, context, error);
    lob_error_begin(error);
    lob_status st = measure(out, in, options, planes, team, context, error);
    st = lob_error_end(error, st);
    return st == LOB_OK ? LOB_OK : lob_team_agree(team, st, error);
}

lob_status lob_distance_part(const lob_distance_output *out, const lob_distance_input *in,
                             const lob_distance_options *options, int64_t planes,
                             const lob_context *context, lob_error *error)
{
    lob_error_begin(error);
    return lob_error_end(error, measure(out, in, options, planes, NULL, context, error));
}

lob_status lob_distance_squared(float *squared_mm, const uint8_t *set, lob_dims dims,
                                const double spacing_mm[3], int threads)
{
    const lob_distance_output out = {.distance = squared_mm};
    const lob_distance_input in = {
        .labels = set,
        .type = LOB_U8,
        .dims = dims,
        .spacing = {spacing_mm[0], spacing_mm[1], spacing_mm[2]},
    };
    const lob_context context = {.threads = threads};
    lob_distance_options options = lob_distance_defaults();
    options.squared = true;
    return lob_distance_cpu(&out, &in, &options, &context, NULL);
}
