/* The box: image and strokes are cut to it, and a second view is made. */
#include "kernels/appearance/strokes_list.h"
#include "kernels/arrays.h"
#include "kernels/device/device_memory.h"
#include "kernels/device/device_put.h"
#include "kernels/labels/label_slips.h"
#include "kernels/segment/segment_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static lob_volume grid_of_box(const lob_segment_job *j)
{
    return lob_segment_box_grid(&j->in->image->geometry, &j->plan->box);
}

static bool is_whole(const lob_segment_job *j)
{
    const lob_box whole = lob_box_whole(j->in->image->dims);
    return lob_box_lies_in(&whole, &j->plan->box);
}

lob_status lob_segment_slips(uint8_t *out, bool *slips, const lob_volume *strokes,
                             const lob_strokes *counted, int threads, lob_error *error)
{
    const lob_dims d = strokes->dims;
    const int64_t n = lob_voxels(strokes), plane = d.nx * d.ny;
    const int32_t count = counted->labels;
    bool any = false;
    bool *const left = calloc((size_t)count + 1, sizeof *left);
    if (!left) return lob_fail(error, LOB_ENOMEM, "no memory left for strokes");
    if (out) memset(out, 0, (size_t)n);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t z = 0; z < d.nz; z++) {
        const int64_t end = (z + 1) * plane;
        if (lob_strokes_labels_in(counted, 2, z) == 0) continue;
        for (int64_t i = z * plane;
             (i = lob_next_label(strokes->data, strokes->type, i, end)) < end; i++) {
            const int32_t label = lob_label_at(strokes->data, strokes->type, i);
            const bool slip = lob_labels_is_slip(strokes->data, strokes->type, d, -1, i % d.nx,
                                                 i / d.nx % d.ny, z);
            if (out && !slip) out[i] = (uint8_t)label;
            bool *const is = slip ? &any : &left[label];
#pragma omp atomic write
            *is = true;
        }
    }
    *slips = any;
    for (int32_t l = 1; l <= count; l++) *slips = *slips && left[l];
    free(left);
    return LOB_OK;
}

/* Count the job's strokes, on their grid. */
static lob_status count_strokes(lob_segment_job *j, lob_error *error)
{
    const lob_volume *const v = &j->strokes;
    lob_strokes_free(&j->counted);
    return lob_strokes_count(&j->counted, v->data, LOB_U8, v->dims, j->plan->count, NULL,
                             j->context->threads, error);
}

/* Leave slips out of the strokes. */
static lob_status drop_slips(lob_segment_job *j, lob_error *error)
{
    const int64_t n = lob_voxels(&j->strokes);
    uint8_t *clean = NULL;
    bool slips;
    LOB_TRY(count_strokes(j, error));
    lob_status st = lob_budget_alloc(&j->budget, &clean, n, 1, error);
    if (st == LOB_OK)
        st = lob_segment_slips(clean, &slips, &j->strokes, &j->counted, j->context->threads, error);
    if (st == LOB_OK) memcpy(j->strokes.data, clean, (size_t)n);
    lob_budget_free(&j->budget, clean, n, 1);
    return st == LOB_OK ? count_strokes(j, error) : st;
}

/* Was the plan made for these strokes, by their labels and places? */
static bool are_planned(const lob_segment_plan *plan, const lob_label_set *set,
                        const lob_box *strokes)
{
    bool same = set->count == plan->count;
    for (int32_t k = 0; same && k < set->count; k++) same = set->values[k] == plan->labels[k];
    return same && lob_box_lies_in(strokes, &plan->box);
}

/* What of the box strokes are looked at in: where they are, with a voxel of the first growth's grid
 * around, whose strokes are those in it. All of it, where more of it is looked at. */
static lob_box box_of_strokes(const lob_segment_plan *plan, const lob_segment_part *part)
{
    const lob_box *const whole = &plan->box;
    lob_box box = part->strokes;
    if (plan->areas || plan->thick) return *whole;
    for (int a = 0; a < 3; a++) {
        const int64_t margin = plan->factor[a] > 1 ? plan->factor[a] : 1;
        const int64_t first = box.first[a] - margin, end = box.first[a] + box.size[a] + margin;
        const int64_t last = whole->first[a] + whole->size[a];
        box.first[a] = first > whole->first[a] ? first : whole->first[a];
        box.size[a] = (end < last ? end : last) - box.first[a];
    }
    return box;
}

/* Put strokes onto a larger volume of 0, which takes memory where there are some alone. counted: of
 * these, or of more. */
static void put(const lob_segment_job *j, lob_volume *onto, const lob_volume *strokes,
                const lob_strokes *counted, const int64_t first[3])
{
    const lob_dims d = strokes->dims;
    const int64_t plane = d.nx * d.ny * (int64_t)lob_type_of(strokes->type)->bytes;
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t z = 0; z < d.nz; z++) {
        lob_volume slice = *strokes;
        if (lob_strokes_labels_in(counted, 2, z) == 0) continue;
        slice.dims.nz = 1;
        slice.data = (unsigned char *)strokes->data + z * plane;
        lob_volume_put(onto, &slice, (int64_t[3]){first[0], first[1], first[2] + z});
    }
}

/* Is all of the part in a box? */
static bool lies_in(const lob_segment_part *part, const lob_box *box)
{
    bool in = lob_box_lies_in(&part->at, box);
    for (int a = 0; a < 3; a++) in = in && (part->at.size[a] > 1 || box->size[a] == 1);
    return in;
}

lob_status lob_segment_take_strokes(lob_segment_job *j, const lob_segment_part *part,
                                    lob_error *error)
{
    if (!are_planned(j->plan, &part->set, &part->strokes))
        return lob_fail(error, LOB_EARG, "the plan was made for other strokes");
    const lob_box box = box_of_strokes(j->plan, part);
    const lob_volume grid = lob_segment_box_grid(&j->in->image->geometry, &box);
    int64_t first[3];
    for (int a = 0; a < 3; a++) {
        first[a] = part->at.first[a] - box.first[a];
        j->at[a] = box.first[a] - j->plan->box.first[a];
    }
    LOB_TRY(lob_segment_make_strokes(j, &j->strokes, &grid, error));
    put(j, &j->strokes, &part->voxels, &part->counts, first);
    j->background = lob_label_set_find(&part->set, j->plan->background);
    if (j->plan->slips) return drop_slips(j, error);
    return lies_in(part, &box)
               ? lob_strokes_lay(&j->counted, &part->counts, grid.dims, first, error)
               : count_strokes(j, error);
}

/* A copy on the whole box, in ordinary memory. */
static lob_status lay(lob_segment_job *j, lob_volume *out, const lob_volume *strokes,
                      lob_error *error)
{
    const lob_volume grid = grid_of_box(j);
    LOB_TRY(lob_segment_make_here(j, out, &grid, "strokes", error));
    put(j, out, strokes, &j->counted, j->at);
    return LOB_OK;
}

static bool have_box(const lob_segment_job *j)
{
    const lob_volume grid = grid_of_box(j);
    return memcmp(&grid.dims, &j->strokes.dims, sizeof grid.dims) == 0;
}

lob_status lob_segment_lay_strokes(lob_segment_job *j, lob_error *error)
{
    lob_volume *const volumes[] = {&j->strokes, &j->starts};
    if (have_box(j)) return LOB_OK;
    lob_volume laid[2] = {lob_volume_empty(), lob_volume_empty()};
    lob_strokes counted = {0};
    lob_status st = lob_strokes_lay(&counted, &j->counted, grid_of_box(j).dims, j->at, error);
    for (int i = 0; st == LOB_OK && i < 2; i++)
        if (volumes[i]->data) st = lay(j, &laid[i], volumes[i], error);
    for (int i = 0; i < 2; i++) {
        if (st == LOB_OK) lob_segment_drop(j, volumes[i]);
        if (st == LOB_OK)
            *volumes[i] = laid[i];
        else
            lob_segment_drop(j, &laid[i]);
    }
    lob_strokes_free(st == LOB_OK ? &j->counted : &counted);
    if (st != LOB_OK) return st;
    memset(j->at, 0, sizeof j->at);
    j->counted = counted;
    return LOB_OK;
}

/* ---- corrections ---- */

/* What strokes on a GPU take of each voxel: where it lies on the box's grid, and which it is, in
 * ordinary memory and on the device. */
enum { ITEM_BYTES = 2 * sizeof(uint64_t) };

/* Such items of lob_device_put; *n: how many. There is room for all the job's strokes. */
static lob_status list_strokes(const lob_segment_job *j, uint64_t *items, int64_t *n,
                               const lob_volume *strokes, lob_error *error)
{
    const lob_dims d = strokes->dims;
    const int64_t *const all = j->plan->box.size;
    const uint8_t *const labels = strokes->data;
    LOB_TRY(lob_strokes_list((int64_t *)items, n, &j->counted, labels, j->context->threads, error));
    for (int64_t i = 0; i < *n; i++) {
        const int64_t at = (int64_t)items[i], x = at % d.nx, y = at / d.nx % d.ny;
        const int64_t z = at / (d.nx * d.ny) + j->at[2];
        const int64_t to = (z * all[1] + y + j->at[1]) * all[0] + x + j->at[0];
        items[i] = (uint64_t)to << 8 | labels[at];
    }
    return LOB_OK;
}

/* What a GPU's image has under strokes. */
static lob_status values_there(lob_segment_job *j, double *values, lob_error *error)
{
    const lob_volume *const image = &j->image;
    lob_device *const device = j->context->device;
    const int bytes = (int)lob_type_of(image->type)->bytes;
    int64_t n = lob_strokes_voxels(&j->counted);
    const int64_t all = n * image->channels, held = n * ITEM_BYTES + 2 * all * bytes;
    LOB_TRY(lob_budget_hold(&j->budget, held, error));
    uint64_t *const items = malloc((size_t)n * sizeof *items + 1);
    unsigned char *const found = malloc((size_t)(all * bytes) + 1);
    lob_status st = LOB_OK;
    if (items && found) {
        st = list_strokes(j, items, &n, &j->strokes, error);
        lob_device_begin(device);
        if (st == LOB_OK)
            st = lob_device_get(device, found, image->data, bytes, image->channels,
                                lob_voxels(image), items, n, error);
        lob_device_end(device);
    } else {
        st = lob_fail(error, LOB_ENOMEM, "no memory left for strokes");
    }
    if (st == LOB_OK) lob_values(values, found, image->type, 0, all);
    free(found);
    free(items);
    lob_budget_release(&j->budget, held);
    return st;
}

/* Strokes without corrections that look like another label. */
static lob_status leave_corrections(lob_segment_job *j, lob_error *error)
{
    const lob_volume *const image = j->in->image;
    const int64_t n = lob_strokes_voxels(&j->counted) * image->channels;
    double *values;
    int64_t first[3];
    for (int a = 0; a < 3; a++) first[a] = j->plan->box.first[a] + j->at[a];
    LOB_TRY(lob_segment_make_strokes(j, &j->starts, &j->strokes, error));
    LOB_TRY(lob_budget_alloc(&j->budget, &values, n, sizeof *values, error));
    lob_status st = LOB_OK;
    if (image->place.kind != LOB_PLACE_MEMORY)
        st = values_there(j, values, error);
    else
        lob_strokes_values(values, j->strokes.data, &j->counted, image, first);
    const lob_context inner = lob_budget_inner(&j->budget, j->context);
    if (st == LOB_OK)
        st = lob_strokes_leave_corrections(j->starts.data, j->strokes.data, &j->counted, values,
                                           image->channels, j->plan->axis, &inner, error);
    lob_budget_free(&j->budget, values, n, sizeof *values);
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

/* Find the slices across an axis that hold strokes. */
static lob_status find_slices(slices *s, const lob_segment_job *j, int axis, lob_error *error)
{
    const lob_volume *const strokes = &j->strokes;
    *s = (slices){.dims = strokes->dims, .side = lob_side(strokes->dims, axis)};
    s->inner = axis == 0 ? 1 : axis == 1 ? s->dims.nx : s->dims.nx * s->dims.ny;
    s->outer = lob_voxels(strokes) / (s->side * s->inner);
    s->slice = calloc((size_t)s->side, sizeof *s->slice);
    if (!s->slice) return lob_fail(error, LOB_ENOMEM, "no memory left for strokes");
    for (int64_t i = 0; i < s->side; i++)
        if (lob_strokes_labels_in(&j->counted, axis, i) > 0) s->slice[s->count++] = i;
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
    slices s;
    lob_status st = find_slices(&s, j, j->plan->across, error);
    const int64_t packed = s.count * s.inner * s.outer;
    const bool fresh = !j->starts.data;
    if (st == LOB_OK) st = lob_budget_alloc(&j->budget, &s.labels, packed, 1, error);
    if (st == LOB_OK) copy_slices(&s, s.labels, lob_segment_starts(j)->data, false);
    if (st == LOB_OK && fresh) {
        st = lob_segment_make_strokes(j, &j->starts, &j->strokes, error);
        if (st == LOB_OK) memcpy(j->starts.data, j->strokes.data, (size_t)lob_voxels(&j->strokes));
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
    int64_t first[3];
    for (int a = 0; a < 3; a++) first[a] = j->plan->box.first[a] + j->at[a];
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

lob_status lob_segment_draw(lob_segment_job *j, lob_volume *onto, const lob_volume *strokes,
                            lob_error *error)
{
    lob_device *const device = j->context->device;
    uint8_t *const labels = onto->data;
    int64_t n = lob_strokes_voxels(&j->counted);
    const int64_t held = n * ITEM_BYTES;
    LOB_TRY(lob_budget_hold(&j->budget, held, error));
    uint64_t *const items = malloc((size_t)n * sizeof *items + 1);
    lob_status st = items ? LOB_OK : lob_fail(error, LOB_ENOMEM, "no memory left for strokes");
    if (items) st = list_strokes(j, items, &n, strokes, error);
    lob_device_begin(device);
    if (st == LOB_OK && device) st = lob_device_put(device, labels, items, n, error);
    lob_device_end(device);
    for (int64_t i = 0; st == LOB_OK && !device && i < n; i++)
        labels[items[i] >> 8] = (uint8_t)items[i];
    free(items);
    lob_budget_release(&j->budget, held);
    return st;
}

/* Strokes on a GPU, on the whole box: voxels without strokes do not travel. */
static lob_status lay_voxels(lob_segment_job *j, lob_volume *out, const lob_volume *grid,
                             const lob_volume *strokes, lob_error *error)
{
    lob_device *const device = j->context->device;
    LOB_TRY(lob_segment_make(j, out, grid, LOB_U8, 1, error));
    lob_device_begin(device);
    const lob_status st = lob_device_fill(device, out->data, 0, lob_voxels(grid), error);
    lob_device_end(device);
    return st == LOB_OK ? lob_segment_draw(j, out, strokes, error) : st;
}

/* Strokes on the whole box, where the context computes. */
static lob_status lay_there(lob_segment_job *j, lob_volume *out, const lob_volume *strokes,
                            lob_error *error)
{
    const lob_volume grid = grid_of_box(j);
    if (have_box(j)) return lob_segment_here(j, out, strokes, error);
    return j->context->device ? lay_voxels(j, out, &grid, strokes, error)
                              : lay(j, out, strokes, error);
}

/* Counts of the seeds, which are strokes, or some of these. */
static lob_status count_seeds(lob_segment_job *j, lob_error *error)
{
    const lob_volume *const seeds = lob_segment_starts(j), grid = grid_of_box(j);
    const int64_t nz = seeds->dims.nz;
    if (seeds == &j->strokes)
        return lob_strokes_lay(&j->counts, &j->counted, grid.dims, j->at, error);
    lob_strokes counted;
    uint8_t *const held = malloc((size_t)nz);
    if (!held) return lob_fail(error, LOB_ENOMEM, "no memory left to count strokes");
    for (int64_t z = 0; z < nz; z++) held[z] = lob_strokes_labels_in(&j->counted, 2, z) > 0;
    lob_status st = lob_strokes_count(&counted, seeds->data, LOB_U8, seeds->dims, j->plan->count,
                                      held, j->context->threads, error);
    if (st == LOB_OK) st = lob_strokes_lay(&j->counts, &counted, grid.dims, j->at, error);
    lob_strokes_free(&counted);
    free(held);
    return st;
}

/* Strokes where the context computes, and what of them is learnt and grown from. */
static lob_status place_strokes(lob_segment_job *j, lob_error *error)
{
    LOB_TRY(lay_there(j, &j->drawn, &j->strokes, error));
    if (j->plan->corrected) LOB_TRY(leave_corrections(j, error));
    if (j->plan->areas) LOB_TRY(find_starts(j, error));
    if (j->seeds.data) return LOB_OK;
    if (j->plan->passes > 1) LOB_TRY(count_seeds(j, error));
    return j->starts.data ? lay_there(j, &j->seeds, &j->starts, error)
                          : lob_segment_here(j, &j->seeds, &j->drawn, error);
}

lob_status lob_segment_complete(lob_segment_job *j, lob_error *error)
{
    lob_volume first = lob_volume_empty();
    uint8_t *const strokes = j->strokes.data;
    if (!j->plan->completed) return LOB_OK;
    LOB_TRY(lob_segment_copy(j, &first, &j->first, (lob_place){0}, error));
    uint8_t *const before = first.data;
    lob_strokes_complete(strokes, j->background, before, LOB_U8, j->background, first.dims,
                         j->plan->axis);
    const int64_t n = lob_voxels(&first);
    for (int64_t i = -1; (i = lob_next_label(strokes, LOB_U8, i + 1, n)) < n;)
        before[i] = strokes[i];
    if (j->seeds.borrowed) { /* it goes on being learnt from */
        j->seeds = j->starts;
        j->starts = lob_volume_empty();
    }
    lob_segment_drop(j, &j->first);
    lob_segment_drop(j, &j->starts);
    lob_segment_drop(j, &j->drawn);
    lob_status st = count_strokes(j, error);
    if (lob_context_place(j->context).kind == LOB_PLACE_MEMORY) {
        j->first = first;
    } else {
        if (st == LOB_OK) st = lob_segment_here(j, &j->first, &first, error);
        lob_segment_drop(j, &first);
    }
    return st == LOB_OK ? place_strokes(j, error) : st;
}

lob_status lob_segment_box_make(lob_segment_job *j, lob_error *error)
{
    const lob_volume grid = grid_of_box(j), *const from = j->whole.data ? &j->whole : j->in->image;
    LOB_TRY(check_values(j, error));
    if (!j->image.data)
        LOB_TRY(is_whole(j) ? lob_segment_here(j, &j->image, from, error)
                            : lob_segment_onto(j, &j->image, from, &grid, LOB_RESAMPLE_NEAREST,
                                               0.02, error));
    return place_strokes(j, error);
}
