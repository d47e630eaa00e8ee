/* `lobule growcut` by several tasks: each grows in its planes, as kernels/growcut/growcut_slabs.h
 * says. */
#include "kernels/growcut/growcut_slabs.h"

#include "tools/commands/growcut/growcut_work.h"
#include "tools/inout/slabs.h"
#include "tools/table/label_names_option.h"
#include "volumes/label_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    lob_growcut_work *common;
    lob_slabs *slabs;
    const lob_slab *slab;
    lob_plane_input strength; /* of --seed-strength */
} work;

/* ---- seeds ---- */

/* Voxels of each label in the planes of all ranks, and of 0 before them. */
static lob_status count_voxels(lob_session *s, const work *w, const lob_volume *labels,
                               int64_t **count)
{
    const int32_t n = w->common->labelled.count;
    const lob_volume own = lob_slab_own(w->slab, labels);
    *count = lob_growcut_count(&own, n, s->context.threads);
    if (!*count) return lob_session_no_memory(s, w->common->set.labels);
    return lob_team_reduce(s->team, *count, n + 1, LOB_TEAM_SUM, &s->error);
}

/* Check the seeds of all ranks, of which each looks at its own planes. */
static lob_status check_seeds(lob_session *s, work *w)
{
    const lob_growcut_work *const common = w->common;
    const lob_volume own = lob_slab_own(w->slab, &common->seeds);
    lob_label_neighbours n;
    lob_growcut_say_seeds(s, &common->labelled);
    if (common->set.trust_seeds) return LOB_OK;
    const bool looked = lob_labels_look(&n, &own, &common->labelled) == LOB_OK;
    int64_t counted[] = {n.pairs, n.alike, !looked};
    LOB_TRY(lob_team_reduce(s->team, counted, 3, LOB_TEAM_SUM, &s->error));
    if (counted[2] > 0) return lob_session_no_memory(s, common->set.seeds);
    n.pairs = counted[0];
    n.alike = counted[1];
    const lob_status st =
        lob_seeds_judge(&n, lob_voxels(&w->slabs->volume), common->labelled.count, &s->error);
    lob_error_in(&s->error, common->set.seeds);
    return st;
}

static lob_status take_seeds(lob_session *s, work *w)
{
    lob_growcut_work *const common = w->common;
    const char *const path = common->set.seeds;
    lob_volume *const seeds = &common->seeds;
    const lob_volume *const stored = &w->slabs->labels;
    LOB_TRY(lob_slab_copy(s, seeds, stored, w->slab->labels, w->slab->image.dims, path));
    LOB_TRY(lob_label_names_copy(&seeds->names, &stored->names));
    LOB_TRY(lob_slab_labels(s, seeds, &common->labelled, path));
    int64_t *count = NULL;
    const lob_status st = count_voxels(s, w, seeds, &count);
    for (int32_t i = 0; i < common->labelled.count && st == LOB_OK; i++)
        common->labelled.voxels[i] = count[i + 1];
    free(count);
    LOB_TRY(st);
    LOB_TRY(check_seeds(s, w));
    LOB_TRY(lob_growcut_check_labels(s, common));
    return lob_label_table_take(s, seeds, common->set.label_table);
}

static lob_status take_strength(lob_session *s, work *w)
{
    lob_growcut_work *const common = w->common;
    const char *const path = common->set.seed_strength;
    const lob_slab *const slab = w->slab;
    lob_volume *const v = &common->strengths;
    if (!path) return LOB_OK;
    *v = w->strength.volume;
    v->header = (lob_header){.bytes = NULL};
    v->names = (lob_label_names){0};
    v->dims = slab->image.dims;
    v->data = lob_session_array(s, lob_voxels(v), lob_type_of(v->type)->bytes, path);
    if (!v->data) return LOB_ENOMEM;
    LOB_TRY(lob_session_planes(s, &w->strength, v->data, slab->from, v->dims.nz));
    return lob_growcut_take_strength(s, common, slab->from);
}

/* Labels are written last: if they exist, the other outputs are complete. */
static lob_status put_all(lob_session *s, work *w)
{
    lob_growcut_work *const common = w->common;
    const lob_growcut_settings *const set = &common->set;
    LOB_TRY(lob_slabs_write(s, w->slabs, w->slab, &common->strength, set->strength, false));
    if (set->tie) lob_grid_show_mask(&common->tie, set->tie);
    LOB_TRY(lob_slabs_write(s, w->slabs, w->slab, &common->tie, set->tie, true));
    return lob_slabs_write(s, w->slabs, w->slab, &common->labels, set->labels, true);
}

/* ---- the whole ---- */

static lob_status grow(lob_session *s, work *w, int axis, int64_t sent_before)
{
    lob_growcut_work *const common = w->common;
    const lob_slab *const slab = w->slab;
    const lob_growcut_input in = {.image = &slab->image,
                                  .seeds = &common->seeds,
                                  .labels = common->labelled.count,
                                  .mask = common->mask ? common->mask : slab->mask,
                                  .seed_strength = common->seed_strength};
    const lob_growcut_output out = {
        .labels = common->labels.data, .strength = common->strength.data, .tie = common->tie.data};
    const lob_growcut_options options = lob_growcut_options_of(&common->set, axis);
    const lob_growcut_slab part = {
        .team = s->team, .first = slab->z - slab->from, .end = slab->z - slab->from + slab->planes};
    lob_growcut_stats stats = {0};
    lob_session_compute(s, "growing");
    const lob_status st =
        s->backend->growcut_slabs(&out, &stats, &in, &options, &part, &s->context, &s->error);
    LOB_TRY(lob_session_done(s, st, common->set.image, common->set.seeds));
    LOB_TRY(lob_slabs_report_sent(s, sent_before));
    LOB_TRY(count_voxels(s, w, &common->labels, &common->voxels));
    LOB_TRY(lob_growcut_report(s, common, &stats, axis));
    return lob_labels_restore(&common->labels, &common->labelled) == LOB_OK
               ? LOB_OK
               : lob_session_no_memory(s, common->set.labels);
}

static lob_status grow_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    lob_growcut_work *const common = w->common;
    const int64_t before = lob_slabs_sent(s);
    w->slab = slab;
    LOB_TRY(take_seeds(s, w));
    LOB_TRY(lob_slabs_check_mask(s, w->slabs));
    LOB_TRY(take_strength(s, w));
    const int axis = lob_grid_slice_axis(common->set.slices, &slab->image.geometry);
    LOB_TRY(lob_growcut_limit_distance(s, common, axis, slab));
    LOB_TRY(lob_growcut_make_outputs(s, common, &slab->image));
    LOB_TRY(grow(s, w, axis, before));
    return put_all(s, w);
}

static bool is_on_gpu(const lob_session *s)
{
    return strcmp(s->device.backend, "cuda") == 0;
}

/* Bytes that growth takes for a voxel, beside image, seeds and mask: keys, which on a GPU may want
 * 8, levels and queues; seeds again, results. A GPU's count where --max-memory bounds them too. */
static int64_t voxel_bytes(const lob_session *s, const lob_growcut_settings *set,
                           const lob_volume *image, const lob_volume *seeds)
{
    enum { KEYS = 11, LEVELS = 2, ROUND = 5 };
    const int64_t label = (int64_t)lob_type_of(seeds->type)->bytes;
    const int64_t growing =
        is_on_gpu(s) && s->max_memory == 0 ? 0 : KEYS + LEVELS * image->channels;
    return growing + (set->rounds > 0 ? ROUND : 0) + 2 * label + (set->seed_strength ? 8 : 0) +
           (isfinite(set->max_mm.value) ? 2 : 0) + (set->strength ? 4 : 0) + (set->tie ? 1 : 0);
}

lob_status lob_growcut_suggest(lob_session *s, const lob_growcut_settings *set, lob_status status)
{
    lob_volume image, seeds;
    const bool many = set->rule == LOB_RULE_FLOOD && set->slices < 0;
    if (status != LOB_ENOMEM || many || !lob_session_peek(s, &image, set->image)) return status;
    if (lob_session_peek(s, &seeds, set->seeds)) {
        enum { MASK = 2 };
        const int64_t each = voxel_bytes(s, set, &image, &seeds) + (set->mask ? MASK : 0);
        lob_slabs_suggest(s, set->image, 1, each + (int64_t)lob_type_of(seeds.type)->bytes);
        lob_volume_free(&seeds);
    }
    lob_volume_free(&image);
    return status;
}

static lob_status make(lob_session *s, work *w)
{
    lob_growcut_work *const common = w->common;
    const lob_growcut_settings *const set = &common->set;
    lob_slabs *const slabs = w->slabs;
    /* Keys that cross a seam, and bytes of each; a result has at most the type of the seeds. */
    enum { NEWS = 4, NEWS_BYTES = 8, DISTANCE = 4 };
    /* On a GPU two seams of two planes each, with keys known, told and heard. */
    enum { GPU_SEAMS = 2 * 2 * 5 * 8 };
    if (set->plan == 0) LOB_TRY(lob_session_device(s));
    LOB_TRY(lob_slabs_open(s, slabs));
    if (set->seed_strength)
        LOB_TRY(lob_slabs_open_beside(s, slabs, &w->strength, set->seed_strength));
    LOB_TRY(lob_session_check(s, &slabs->volume, LOB_I32, 1, set->labels));
    LOB_TRY(lob_session_check(s, &slabs->volume, LOB_F32, 1, set->strength));
    LOB_TRY(lob_session_check(s, &slabs->volume, LOB_U8, 1, set->tie));
    slabs->seam_bytes = NEWS * NEWS_BYTES;
    if (is_on_gpu(s) && s->max_memory > 0)
        slabs->common_bytes = GPU_SEAMS * slabs->volume.dims.nx * slabs->volume.dims.ny;
    if (isfinite(set->max_mm.value)) slabs->moved_bytes = 2 * DISTANCE;
    const int64_t label = (int64_t)lob_type_of(slabs->labels.type)->bytes;
    const int64_t sent = label + (set->strength ? 4 : 0) + (set->tie ? 1 : 0);
    const int64_t each = voxel_bytes(s, set, &slabs->volume, &slabs->labels);
    LOB_TRY(lob_slabs_cut(s, slabs, 1, 1, each, sent));
    if (slabs->plan > 0) return LOB_OK;
    common->image = slabs->volume; /* for the report */
    common->image.data = NULL;
    return lob_slabs_each(s, slabs, grow_slab, w);
}

lob_status lob_growcut_by_slabs(lob_session *s, lob_growcut_work *common)
{
    const lob_growcut_settings *const set = &common->set;
    lob_slabs slabs = {.path = set->image,
                       .mask = set->mask,
                       .labels_path = set->seeds,
                       .frame = set->frame,
                       .channel = -1,
                       .plan = set->plan,
                       .at_once = true};
    work w = {.common = common, .slabs = &slabs};
    const lob_status st = make(s, &w);
    lob_session_close(s, &w.strength);
    common->image = lob_volume_empty(); /* it was the file's */
    lob_slabs_close(s, &slabs);
    return st;
}
