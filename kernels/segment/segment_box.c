/* The box: image and strokes are cut to it, and a second view is made. */
#include "kernels/arrays.h"
#include "kernels/labels/label_slips.h"
#include "kernels/segment/segment_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static lob_volume grid_of_box(const lob_segment_job *j)
{
    const lob_box *const box = &j->plan->box;
    const lob_geometry geometry = lob_box_geometry(&j->in->image->geometry, box);
    return lob_segment_grid((lob_dims){box->size[0], box->size[1], box->size[2]}, &geometry);
}

static bool is_whole(const lob_segment_job *j)
{
    const lob_box *const box = &j->plan->box;
    bool whole = true;
    for (int a = 0; a < 3; a++) whole = whole && box->size[a] == lob_side(j->in->image->dims, a);
    return whole;
}

lob_status lob_segment_slips(uint8_t *out, bool *slips, const lob_volume *strokes, int32_t count,
                             lob_error *error)
{
    const lob_dims d = strokes->dims;
    const size_t bytes = lob_type_of(strokes->type)->bytes;
    bool *const left = calloc((size_t)count + 1, sizeof *left);
    if (!left) return lob_fail(error, LOB_ENOMEM, "no memory left for strokes");
    *slips = false;
    for (int64_t row = 0; row < d.ny * d.nz; row++) {
        const int64_t first = row * d.nx;
        const char *const at = (const char *)strokes->data + (size_t)first * bytes;
        if (out) memset(out + first, 0, (size_t)d.nx);
        if (lob_all_zero(at, (size_t)d.nx * bytes)) continue;
        for (int64_t x = 0; x < d.nx; x++) {
            const int32_t label = lob_label_at(strokes->data, strokes->type, first + x);
            const bool slip =
                lob_labels_is_slip(strokes->data, strokes->type, d, -1, x, row % d.ny, row / d.ny);
            if (out && !slip) out[first + x] = (uint8_t)label;
            *slips = *slips || slip;
            if (!slip) left[label] = true;
        }
    }
    for (int32_t l = 1; l <= count; l++) *slips = *slips && left[l];
    free(left);
    return LOB_OK;
}

/* Leave slips out of the box's strokes. */
static lob_status drop_slips(lob_segment_job *j, lob_error *error)
{
    const int64_t n = lob_voxels(&j->strokes);
    uint8_t *clean = NULL;
    bool slips;
    LOB_TRY(lob_budget_alloc(&j->budget, &clean, n, 1, error));
    const lob_status st = lob_segment_slips(clean, &slips, &j->strokes, j->plan->count, error);
    if (st == LOB_OK) memcpy(j->strokes.data, clean, (size_t)n);
    lob_budget_free(&j->budget, clean, n, 1);
    return st;
}

/* Was the plan made for these strokes, by their labels and places? */
static bool are_planned(const lob_segment_plan *plan, const lob_label_set *set,
                        const lob_box *strokes)
{
    bool same = set->count == plan->count;
    for (int32_t k = 0; same && k < set->count; k++) same = set->values[k] == plan->labels[k];
    for (int a = 0; a < 3; a++)
        same = same && strokes->first[a] >= plan->box.first[a] &&
               strokes->first[a] + strokes->size[a] <= plan->box.first[a] + plan->box.size[a];
    return same;
}

/* Strokes of the box as uint8, with dense labels. */
static lob_status cut_strokes(lob_segment_job *j, lob_error *error)
{
    const lob_volume grid = grid_of_box(j);
    lob_segment_part part;
    lob_label_set set = {0};
    int64_t first[3];
    LOB_TRY(lob_segment_cut(&part, j->in->strokes, j->context, error));
    for (int a = 0; a < 3; a++) first[a] = part.at.first[a] - j->plan->box.first[a];
    lob_status st = lob_labels_dense(&part.voxels, &set, "strokes", error);
    if (st == LOB_OK && !are_planned(j->plan, &set, &part.strokes))
        st = lob_fail(error, LOB_EARG, "the plan was made for other strokes");
    if (st == LOB_OK) st = lob_budget_hold(&j->budget, lob_voxels(&grid), error);
    if (st == LOB_OK && lob_volume_place(&part.voxels, first, &grid) != LOB_OK) {
        lob_budget_release(&j->budget, lob_voxels(&grid));
        st = lob_fail(error, LOB_ENOMEM, "no memory left for strokes");
    }
    if (st == LOB_OK) {
        j->strokes = part.voxels;
        part.voxels = lob_volume_empty();
    }
    j->background = lob_label_set_find(&set, j->plan->background);
    if (st == LOB_OK && j->plan->slips) st = drop_slips(j, error);
    lob_label_set_free(&set);
    lob_volume_free(&part.voxels);
    return st;
}

/* Strokes without corrections that look like another label. */
static lob_status leave_corrections(lob_segment_job *j, lob_error *error)
{
    const lob_volume *const image = &j->image;
    const bool away = image->place.kind != LOB_PLACE_MEMORY;
    const int64_t n = lob_voxels(&j->strokes);
    const int64_t copied =
        away ? n * image->channels * (int64_t)lob_type_of(image->type)->bytes : 0;
    lob_volume here = lob_volume_empty();
    LOB_TRY(lob_budget_hold(&j->budget, n + copied, error));
    lob_status st = lob_volume_like(&j->starts, &j->strokes, LOB_U8, 1);
    if (st != LOB_OK) lob_budget_release(&j->budget, n);
    if (st == LOB_OK && away) st = lob_volume_move(&here, image, (lob_place){0}, j->context, error);
    const lob_context inner = lob_budget_inner(&j->budget, j->context);
    if (st == LOB_OK)
        st = lob_strokes_leave_corrections(j->starts.data, j->strokes.data, away ? &here : image,
                                           j->plan->count, j->plan->axis, &inner, error);
    lob_volume_free(&here);
    lob_budget_release(&j->budget, copied);
    return st;
}

const lob_volume *lob_segment_starts(const lob_segment_job *j)
{
    return j->starts.data ? &j->starts : &j->strokes;
}

/* ---- starts ---- */

/* The few slices of a volume that have strokes, one after the other. */
typedef struct {
    uint8_t *labels; /* of `dims` */
    lob_dims dims;
    int64_t *slice;                    /* which these are of the volume's */
    int64_t count, side, inner, outer; /* inner: voxels of a slice that lie side by side */
} slices;

/* Find the slices across an axis that hold a label. */
static lob_status find_slices(slices *s, const lob_volume *strokes, int axis, lob_error *error)
{
    const uint8_t *const labels = strokes->data;
    *s = (slices){.dims = strokes->dims, .side = lob_side(strokes->dims, axis)};
    s->inner = axis == 0 ? 1 : axis == 1 ? s->dims.nx : s->dims.nx * s->dims.ny;
    s->outer = lob_voxels(strokes) / (s->side * s->inner);
    s->slice = calloc((size_t)s->side, sizeof *s->slice);
    if (!s->slice) return lob_fail(error, LOB_ENOMEM, "no memory left for strokes");
    for (int64_t at = 0; at < s->side * s->outer; at++)
        if (!lob_all_zero(labels + at * s->inner, (size_t)s->inner)) s->slice[at % s->side] = 1;
    for (int64_t i = 0; i < s->side; i++)
        if (s->slice[i]) s->slice[s->count++] = i;
    *(axis == 0 ? &s->dims.nx : axis == 1 ? &s->dims.ny : &s->dims.nz) = s->count;
    return LOB_OK;
}

/* Copy them out of the volume, or back into it. */
static void copy_slices(const slices *s, uint8_t *packed, uint8_t *whole, bool back)
{
    for (int64_t at = 0; at < s->outer * s->count; at++) {
        const int64_t from = (at / s->count * s->side + s->slice[at % s->count]) * s->inner;
        uint8_t *const one = packed + at * s->inner, *const other = whole + from;
        memcpy(back ? other : one, back ? one : other, (size_t)s->inner);
    }
}

/* Without the borders of areas: within what squares of 5 voxels fill, which are balls of this
 * radius, the voxels that have their own label on all sides in their slice. */
static lob_status thin_areas(const slices *s, lob_segment_job *j, lob_error *error)
{
    const lob_labels_step open = {.kind = LOB_LABELS_OPEN, .length = 2.83, .voxels = true};
    const lob_labels_step erode = {.kind = LOB_LABELS_ERODE, .length = 1, .voxels = true};
    int32_t values[LOB_SEGMENT_MAX_LABELS];
    if (s->count == 0) return LOB_OK; /* no stroke was left */
    for (int32_t k = 0; k < j->plan->count; k++) values[k] = k + 1;
    lob_labels_options options = lob_labels_defaults();
    options.slice_axis = j->plan->across;
    options.neighbours = 8;
    lob_labels_input in = {
        .labels = s->labels,
        .type = LOB_U8,
        .count = j->plan->count,
        .values = values,
        .dims = s->dims,
        .spacing_mm = {1, 1, 1},
        .steps = &open,
        .step_count = 1,
    };
    lob_labels_output areas = {.labels = NULL}, found = {.labels = NULL};
    lob_segment_turn turn;
    lob_status st = lob_labels_cpu(&areas, &in, &options, lob_segment_begin(j, &turn, 0), error);
    in.mask = areas.labels;
    in.steps = &erode;
    if (st == LOB_OK)
        st = lob_labels_cpu(&found, &in, &options, lob_segment_begin(j, &turn, 0), error);
    if (st == LOB_OK) copy_slices(s, found.labels, j->starts.data, true);
    lob_labels_output_free(&areas);
    lob_labels_output_free(&found);
    return st;
}

/* Strokes without the borders of areas, which are looked for on the slices that have strokes. */
static lob_status find_starts(lob_segment_job *j, lob_error *error)
{
    const int64_t n = lob_voxels(&j->strokes);
    slices s;
    lob_status st = find_slices(&s, lob_segment_starts(j), j->plan->across, error);
    const int64_t packed = s.count * s.inner * s.outer;
    const bool fresh = !j->starts.data;
    if (st == LOB_OK) st = lob_budget_alloc(&j->budget, &s.labels, packed, 1, error);
    if (st == LOB_OK) copy_slices(&s, s.labels, lob_segment_starts(j)->data, false);
    if (st == LOB_OK && fresh) {
        st = lob_budget_hold(&j->budget, n, error);
        if (st == LOB_OK && lob_volume_like(&j->starts, &j->strokes, LOB_U8, 1) != LOB_OK) {
            lob_budget_release(&j->budget, n);
            st = lob_fail(error, LOB_ENOMEM, "no memory left for strokes");
        }
        if (st == LOB_OK) memcpy(j->starts.data, j->strokes.data, (size_t)n);
    }
    if (st == LOB_OK) st = lob_budget_hold(&j->budget, 2 * packed, error);
    if (st == LOB_OK) {
        st = thin_areas(&s, j, error);
        lob_budget_release(&j->budget, 2 * packed);
    }
    lob_budget_free(&j->budget, s.labels, packed, 1);
    free(s.slice);
    return st;
}

/* Strokes on nothing but missing values tell nothing. An image on a GPU is not looked at. */
static lob_status check_values(const lob_segment_job *j, lob_error *error)
{
    const lob_volume *const v = j->in->image;
    const lob_dims d = j->strokes.dims;
    const int64_t *const first = j->plan->box.first;
    const uint8_t *const seeds = j->strokes.data;
    if (lob_type_of(v->type)->is_integer || v->place.kind != LOB_PLACE_MEMORY) return LOB_OK;
    for (int64_t i = 0; i < lob_voxels(&j->strokes); i++) {
        const int64_t x = i % d.nx, y = i / d.nx % d.ny, z = i / (d.nx * d.ny);
        const int64_t at = ((z + first[2]) * v->dims.ny + y + first[1]) * v->dims.nx + x + first[0];
        for (int c = 0; seeds[i] > 0 && c < v->channels; c++) {
            double value;
            lob_values(&value, v->data, v->type, c * lob_voxels(v) + at, 1);
            if (isfinite(value)) return LOB_OK;
        }
    }
    return lob_fail(error, LOB_EDATA,
                    "holds no finite value under the strokes, from which nothing can be learnt");
}

/* Strokes where the context computes, and what of them is learnt and grown from. */
static lob_status place_strokes(lob_segment_job *j, lob_error *error)
{
    LOB_TRY(lob_segment_here(j, &j->drawn, &j->strokes, error));
    if (j->plan->corrected) LOB_TRY(leave_corrections(j, error));
    if (j->plan->areas) LOB_TRY(find_starts(j, error));
    if (j->seeds.data) return LOB_OK;
    return lob_segment_here(j, &j->seeds, j->starts.data ? &j->starts : &j->drawn, error);
}

/* A copy of what came out of the first growth in ordinary memory. */
static lob_status copy_first(lob_segment_job *j, lob_volume *out, lob_error *error)
{
    const int64_t n = lob_voxels(&j->first);
    LOB_TRY(lob_budget_hold(&j->budget, n, error));
    const lob_status st = lob_volume_move(out, &j->first, (lob_place){0}, j->context, error);
    if (st != LOB_OK) lob_budget_release(&j->budget, n);
    return st;
}

lob_status lob_segment_complete(lob_segment_job *j, lob_error *error)
{
    lob_volume first = lob_volume_empty();
    uint8_t *const strokes = j->strokes.data;
    if (!j->plan->completed) return LOB_OK;
    LOB_TRY(copy_first(j, &first, error));
    uint8_t *const before = first.data;
    lob_strokes_complete(strokes, j->background, before, LOB_U8, j->background, first.dims,
                         j->plan->axis);
    for (int64_t i = 0; i < lob_voxels(&first); i++)
        if (strokes[i] > 0) before[i] = strokes[i];
    if (j->seeds.borrowed) { /* it goes on being learnt from */
        j->seeds = j->starts;
        j->starts = lob_volume_empty();
    }
    lob_segment_drop(j, &j->first);
    lob_segment_drop(j, &j->starts);
    lob_segment_drop(j, &j->drawn);
    lob_status st = LOB_OK;
    if (lob_context_place(j->context).kind == LOB_PLACE_MEMORY) {
        j->first = first;
    } else {
        st = lob_segment_here(j, &j->first, &first, error);
        lob_segment_drop(j, &first);
    }
    return st == LOB_OK ? place_strokes(j, error) : st;
}

lob_status lob_segment_box_make(lob_segment_job *j, lob_error *error)
{
    const bool *const along = j->plan->median;
    const lob_volume grid = grid_of_box(j);
    lob_filter_step median = {.kind = LOB_FILTER_MEDIAN};
    LOB_TRY(cut_strokes(j, error));
    LOB_TRY(check_values(j, error));
    if (!j->image.data)
        LOB_TRY(is_whole(j) ? lob_segment_here(j, &j->image, j->in->image, error)
                            : lob_segment_onto(j, &j->image, j->in->image, &grid,
                                               LOB_RESAMPLE_NEAREST, 0.02, error));
    LOB_TRY(place_strokes(j, error));
    if (j->view.data || (!along[0] && !along[1] && !along[2])) return LOB_OK;
    for (int a = 0; a < 3; a++) median.along[a] = along[a] && lob_side(j->image.dims, a) > 1;
    return lob_segment_filter(j, &j->view, &j->image, &median, 1, 0.02, error);
}
