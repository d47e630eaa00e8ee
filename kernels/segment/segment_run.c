/* The whole job: box, growths, what is told about them, and labels on the whole grid. */
#include "kernels/arrays.h"
#include "kernels/device/device.h"
#include "kernels/segment/segment_job.h"
#include "kernels/segment/segment_slices.h"
#include "kernels/share.h"
#include "volumes/bytes.h"

#include <stdlib.h>
#include <string.h>

lob_segment_output lob_segment_output_empty(void)
{
    const lob_volume none = lob_volume_empty();
    return (lob_segment_output){.labels = none, .strength = none, .uncertain = none};
}

void lob_segment_output_free(lob_segment_output *out)
{
    lob_volume_free(&out->labels);
    lob_volume_free(&out->strength);
    lob_volume_free(&out->uncertain);
    *out = lob_segment_output_empty();
}

/* ---- the whole grid ---- */

/* A volume of the box on the image's whole grid, both on the GPU. */
static lob_status lay_there(lob_segment_job *j, lob_volume *out, const lob_volume *part,
                            lob_error *error)
{
    const lob_volume *const image = j->in->image;
    const lob_resample_input in = {
        .volume = part, .dims = image->dims, .geometry = image->geometry, .place = image->place};
    const lob_resample_options options = {.method = LOB_RESAMPLE_NEAREST};
    lob_segment_turn turn;
    LOB_TRY(lob_volume_at(out, image, part->type, part->channels, j->context, error));
    return j->backend->resample(out->data, &in, &options, lob_segment_begin(j, &turn, 0.01), error);
}

/* Labels by a table. What lies side by side is mostly alike. */
static void map_row(uint8_t *to, const uint8_t *from, int64_t n, const uint8_t *table)
{
    uint8_t known[8] = {0}, mapped[8];
    for (int k = 0; k < 8; k++) mapped[k] = table[0];
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        if (memcmp(from + i, known, 8) != 0) {
            memcpy(known, from + i, 8);
            for (int k = 0; k < 8; k++) mapped[k] = table[known[k]];
        }
        memcpy(to + i, mapped, 8);
    }
    for (; i < n; i++) to[i] = table[from[i]];
}

/* n voxels of the box, from one on, into the whole grid. */
static void lay_voxels(const lob_segment_job *j, lob_volume *out, const lob_volume *part,
                       const unsigned char *voxels, int64_t from, int64_t n, const uint8_t *table)
{
    const int64_t *const first = j->plan->box.first;
    const int64_t bytes = (int64_t)lob_type_of(part->type)->bytes, end = from + n;
    const int64_t nx = part->dims.nx, ny = part->dims.ny;
    /* Fresh memory is cleared page by page where it is written first: by all threads. */
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t row = from / nx; row < (end + nx - 1) / nx; row++) {
        const int64_t x = row * nx < from ? from - row * nx : 0;
        const int64_t count = (end < (row + 1) * nx ? end - row * nx : nx) - x;
        const int64_t to_z = first[2] + row / ny, to_y = first[1] + row % ny;
        const int64_t at = (to_z * out->dims.ny + to_y) * out->dims.nx + first[0] + x;
        unsigned char *const to = (unsigned char *)out->data + at * bytes;
        const unsigned char *const came = voxels + (row * nx + x - from) * bytes;
        if (table)
            map_row(to, came, count, table);
        else
            memcpy(to, came, (size_t)(count * bytes));
    }
}

/* The same in ordinary memory, to which the box's voxels may have to come. table: of uint8, by
 * which they are mapped; NULL: they stay. */
static lob_status lay_here(lob_segment_job *j, lob_volume *out, const lob_volume *part,
                           const uint8_t *table, lob_error *error)
{
    const int64_t bytes = (int64_t)lob_type_of(part->type)->bytes;
    lob_device *const device = j->context->device;
    lob_device_reading reading = {.from = part->data, .bytes = lob_volume_bytes(part)};
    lob_status st = LOB_OK;
    if (lob_volume_like(out, j->in->image, part->type, 1) != LOB_OK)
        return lob_fail(error, LOB_ENOMEM, "no memory left for labels");
    if (part->place.kind == LOB_PLACE_MEMORY) {
        lay_voxels(j, out, part, part->data, 0, lob_voxels(part), table);
        return LOB_OK;
    }
    lob_device_begin(device);
    for (int64_t at = 0, n = 1; st == LOB_OK && n > 0; at += n) {
        const void *voxels = NULL;
        st = lob_device_read(device, &reading, &voxels, &n, error);
        if (st == LOB_OK) lay_voxels(j, out, part, voxels, at / bytes, n / bytes, table);
    }
    lob_device_end(device);
    return st;
}

/* A volume of the box on the image's whole grid, where the image is; it is freed. */
static lob_status to_whole(lob_segment_job *j, lob_volume *out, lob_volume *part, lob_error *error)
{
    const bool here = j->in->image->place.kind == LOB_PLACE_MEMORY;
    const lob_status st =
        here ? lay_here(j, out, part, NULL, error) : lay_there(j, out, part, error);
    lob_segment_drop(j, part);
    if (st != LOB_OK) lob_volume_free(out);
    return st;
}

/* Labels are called what their strokes are. */
static lob_status name_labels(const lob_segment_job *j, lob_volume *labels, lob_error *error)
{
    const lob_label_names *const from = &j->in->strokes->names;
    lob_label_names_free(&labels->names);
    for (int32_t i = 0; i < from->count; i++) {
        const lob_label_name *const row = &from->rows[i];
        bool there = false;
        for (int32_t k = 0; k < j->plan->count; k++)
            there = there || j->plan->labels[k] == row->label;
        if (!there || row->label == j->plan->background) continue;
        if (lob_label_names_put(&labels->names, row->label, row->name, &row->colour,
                                row->terminology) != LOB_OK)
            return lob_fail(error, LOB_ENOMEM, "no memory left for names");
    }
    return LOB_OK;
}

/* ---- slices ---- */

static lob_status suggest(lob_segment_job *j, lob_segment_output *out, const lob_volume *uncertain,
                          lob_error *error)
{
    lob_volume labels;
    lob_status st = lob_volume_move(&labels, &j->labels, (lob_place){0}, j->context, error);
    if (st == LOB_OK)
        st = lob_segment_suggest(out->slices, &out->slice_count, j->in->suggest, &labels,
                                 j->background, &j->counted, uncertain->data, j->plan->axis,
                                 j->context->threads);
    lob_volume_free(&labels);
    for (int i = 0; i < out->slice_count; i++)
        out->slices[i].slice += j->plan->box.first[j->plan->axis];
    return st == LOB_OK ? st : lob_fail(error, st, "no memory left for slices");
}

/* ---- the job ---- */

static lob_status look_again(lob_segment_job *j, lob_segment_output *out, lob_error *error)
{
    lob_volume uncertain = lob_volume_empty();
    if (!j->in->uncertain && j->in->suggest == 0) return LOB_OK;
    LOB_TRY(lob_segment_lay_strokes(j, error));
    lob_status st = lob_segment_doubt(j, &uncertain, error);
    lob_segment_drop(j, &j->shares);
    if (st == LOB_OK && j->in->suggest > 0) st = suggest(j, out, &uncertain, error);
    if (st == LOB_OK) st = to_whole(j, &out->uncertain, &uncertain, error);
    lob_label_names_free(&out->uncertain.names);
    lob_segment_drop(j, &uncertain);
    return st;
}

/* What dense labels stand for, as bytes; false: some do not fit. */
static bool fits_bytes(uint8_t table[UINT8_MAX + 1], const lob_segment_plan *plan)
{
    memset(table, 0, UINT8_MAX + 1);
    for (int32_t k = 0; k < plan->count; k++) {
        if (plan->labels[k] == plan->background) continue;
        if (plan->labels[k] > UINT8_MAX) return false;
        table[k + 1] = (uint8_t)plan->labels[k];
    }
    return true;
}

lob_status lob_segment_give(lob_segment_job *j, lob_volume *out, const lob_volume *labels,
                            lob_error *error)
{
    const lob_segment_plan *const plan = j->plan;
    lob_volume own = lob_volume_empty();
    uint8_t table[UINT8_MAX + 1];
    lob_status st = LOB_OK;
    if (fits_bytes(table, plan) && j->in->image->place.kind == LOB_PLACE_MEMORY) {
        st = lay_here(j, out, labels, table, error);
        if (st != LOB_OK) lob_volume_free(out);
    } else {
        st =
            lob_segment_recode(j, &own, labels, plan->count, plan->labels, plan->background, error);
        if (st == LOB_OK) st = to_whole(j, out, &own, error);
    }
    if (st == LOB_OK) st = name_labels(j, out, error);
    lob_segment_drop(j, &own);
    return st;
}

static lob_status finish(lob_segment_job *j, lob_segment_output *out, lob_error *error)
{
    LOB_TRY(lob_segment_grow_last(j, error));
    LOB_TRY(look_again(j, out, error));
    if (j->in->strength) LOB_TRY(to_whole(j, &out->strength, &j->strength, error));
    LOB_TRY(lob_segment_give(j, &out->labels, &j->labels, error));
    return lob_report(j->context, 1);
}

lob_status lob_segment_finish(lob_segment_job *j, lob_segment_output *out, lob_error *error)
{
    *out = lob_segment_output_empty();
    const lob_status st = finish(j, out, error);
    out->working_bytes = j->budget.peak;
    lob_volume *const made[] = {&j->agreeing, &j->shares, &j->strength, &j->labels};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) lob_segment_drop(j, made[i]);
    if (st != LOB_OK) lob_segment_output_free(out);
    return st;
}

lob_status lob_segment_check(const lob_segment_input *in, const lob_segment_plan *plan,
                             lob_error *error)
{
    if (in->image->channels != plan->channels)
        return lob_fail(error, LOB_EARG, "the plan was made for an image of %d channels",
                        plan->channels);
    const lob_box whole = lob_box_whole(in->image->dims);
    if (!lob_box_lies_in(&plan->box, &whole) || lob_dims_voxels(lob_box_dims(&plan->box)) < 1)
        return lob_fail(error, LOB_EARG, "the plan was made for another image");
    if (in->suggest < 0 || in->suggest > LOB_SEGMENT_MAX_SLICES)
        return lob_fail(error, LOB_EARG, "%d slices cannot be suggested, at most %d", in->suggest,
                        LOB_SEGMENT_MAX_SLICES);
    if (in->suggest > 0 && (plan->flat || plan->axis < 0))
        return lob_fail(error, LOB_EARG, "slices cannot be suggested in one slice");
    return lob_same_grid(in->image, "the image", in->strokes, "the strokes", error);
}

lob_segment_job lob_segment_job_of(const lob_segment_input *in, const lob_segment_plan *plan,
                                   const lob_backend *backend, const lob_context *context)
{
    const lob_volume none = lob_volume_empty();
    return (lob_segment_job){
        .in = in,
        .plan = plan,
        .backend = backend,
        .context = context,
        .budget = {.who = "segmenting", .limit = context->max_memory},
        .whole = none,
        .image = none,
        .view = none,
        .coarse = none,
        .strokes = none,
        .starts = none,
        .agreeing = none,
        .seeds = none,
        .drawn = none,
        .first = none,
        .plain = none,
        .shares = none,
        .labels = none,
        .strength = none,
    };
}

void lob_segment_drop_strokes(lob_segment_job *j)
{
    lob_volume *const volumes[] = {&j->strokes, &j->starts, &j->agreeing, &j->seeds,  &j->drawn,
                                   &j->first,   &j->plain,  &j->shares,   &j->labels, &j->strength};
    for (size_t i = 0; i < sizeof volumes / sizeof volumes[0]; i++) lob_segment_drop(j, volumes[i]);
    lob_strokes_free(&j->counted);
    lob_strokes_free(&j->counts);
}

void lob_segment_drop_images(lob_segment_job *j)
{
    lob_segment_drop(j, &j->image);
    lob_segment_drop(j, &j->view);
    lob_segment_drop(j, &j->coarse);
}

lob_status lob_segment(lob_segment_output *out, const lob_segment_input *in,
                       const lob_segment_plan *plan, const lob_backend *backend,
                       const lob_context *context, lob_error *error)
{
    lob_segment_job j = lob_segment_job_of(in, plan, backend, context);
    j.once = true;
    *out = lob_segment_output_empty();
    lob_error_begin(error);
    lob_segment_part part;
    LOB_TRY(lob_segment_check(in, plan, error));
    LOB_TRY(lob_segment_cut(&part, in->strokes, NULL, NULL, context, error));
    lob_status st = lob_segment_take_strokes(&j, &part, error);
    lob_segment_part_free(&part);
    if (st == LOB_OK) st = lob_segment_box_make(&j, error);
    if (st == LOB_OK) st = lob_segment_finish(&j, out, error);
    lob_segment_drop_strokes(&j);
    lob_segment_drop_images(&j);
    return lob_error_end(error, st);
}
