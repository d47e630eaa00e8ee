/* `lobule growcut` by several tasks: each grows in its planes, as kernels/growcut/growcut_slabs.h
 * says. */
#include "tools/commands/growcut/growcut_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef lob_growcut_work work;

/* ---- seeds ---- */

static lob_status take_seeds(lob_session *s, work *w)
{
    const char *const path = w->seeds_path;
    lob_volume *const seeds = &w->seeds;
    const lob_volume *const stored = &w->slabs.labels;
    LOB_TRY(lob_slab_copy(s, seeds, stored, w->slab.labels, w->slab.image.dims, path));
    LOB_TRY(lob_label_names_copy(&seeds->names, &stored->names));
    LOB_TRY(lob_slab_labels(s, seeds, &w->labelled, path));
    int64_t *count = NULL;
    const lob_status st = lob_growcut_count(s, w, seeds, &count);
    for (int32_t i = 0; i < w->labelled.count && st == LOB_OK; i++)
        w->labelled.voxels[i] = count[i + 1];
    free(count);
    LOB_TRY(st);
    return lob_growcut_check_seeds(s, w);
}

static lob_status take_strength(lob_session *s, work *w)
{
    const char *const path = w->seed_strength_path;
    const lob_slab *const slab = &w->slab;
    lob_volume *const v = &w->strengths;
    if (!path) return LOB_OK;
    *v = w->strength_file.volume;
    v->header = (lob_header){.bytes = NULL};
    v->names = (lob_label_names){0};
    v->dims = slab->image.dims;
    v->data = lob_session_array(s, lob_voxels(v), lob_type_of(v->type)->bytes, path);
    if (!v->data) return LOB_ENOMEM;
    LOB_TRY(lob_session_planes(s, &w->strength_file, v->data, slab->from, v->dims.nz));
    return lob_growcut_take_strength(s, w, slab->from);
}

/* ---- the whole ---- */

static lob_status grow_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    w->slab = *slab;
    w->sent = lob_slabs_sent(s);
    LOB_TRY(take_seeds(s, w));
    LOB_TRY(lob_slabs_check_mask(s, &w->slabs));
    LOB_TRY(take_strength(s, w));
    return lob_growcut_grow(s, w);
}

static bool is_on_gpu(const lob_session *s)
{
    return strcmp(s->device.backend, "cuda") == 0;
}

/* Bytes that growth takes for a voxel, beside image, seeds and mask: keys, which on a GPU may want
 * 8, of a flood what came too, levels and queues; seeds again, results. A GPU's count where
 * --max-memory bounds them too. */
static int64_t voxel_bytes(const lob_session *s, const work *w, const lob_volume *image,
                           const lob_volume *seeds)
{
    enum { KEYS = 11, CAME = 8, LEVELS = 2, ROUND = 5 };
    const int64_t label = (int64_t)lob_type_of(seeds->type)->bytes;
    const int64_t growing =
        is_on_gpu(s) && s->max_memory == 0 ? 0 : KEYS + LEVELS * image->channels;
    return growing + (w->rule == LOB_RULE_FLOOD ? CAME : 0) + (w->options.rounds > 0 ? ROUND : 0) +
           2 * label + (w->seed_strength_path ? 8 : 0) + (isfinite(w->max_mm.value) ? 2 : 0) +
           (w->strength_path ? 4 : 0) + (w->tie_path ? 1 : 0);
}

lob_status lob_growcut_suggest(lob_session *s, const work *w, lob_status status)
{
    enum { MASK = 2 };
    lob_volume image, seeds;
    if (status != LOB_ENOMEM || !lob_session_peek(s, &image, w->slabs.path) ||
        !lob_session_peek(s, &seeds, w->seeds_path))
        return status;
    const int64_t each = voxel_bytes(s, w, &image, &seeds) + (w->slabs.mask ? MASK : 0);
    lob_slabs_suggest(s, w->slabs.path, 1, each + (int64_t)lob_type_of(seeds.type)->bytes, 0);
    return status;
}

/* Bytes of a plan's flood: two seams with what is told and heard, and cells around the plane; the
 * queue of each level, and of as many as voxels may wait on a chunk of cells. */
static int64_t flood_bytes(const lob_slabs *slabs)
{
    enum { SEAMS = 2 * 2 * 16, QUEUE = 16, CHUNK = 368 };
    const lob_dims dims = slabs->volume.dims;
    const int64_t seams = SEAMS * (dims.nx + 2) * (dims.ny + 2);
    if (slabs->plan == 0) return seams; /* few levels may be there, which data alone tell */
    const int64_t levels = lob_type_of(slabs->volume.type)->bytes == 1 ? 1 << 8 : 1 << 16;
    const int64_t voxels = dims.nx * dims.ny * ((dims.nz - 1) / slabs->plan + 1);
    return seams + QUEUE * levels + CHUNK * (voxels < levels ? voxels : levels);
}

static lob_status make(lob_session *s, work *w)
{
    lob_slabs *const slabs = &w->slabs;
    /* Bytes of the keys that cross a seam, four of a voxel, of a flood two, which are twice as
     * long; a result has at most the type of the seeds. Tasks meet more often where regions wind.
     */
    enum { NEWS = 32, MEETINGS = 100, DISTANCE = 4 };
    /* Two seams on a GPU, of two planes each, with keys known, told and heard. */
    enum { GPU_SEAMS = 2 * 2 * 5 * 8 };
    if (w->slabs.plan == 0) LOB_TRY(lob_session_device(s));
    LOB_TRY(lob_slabs_open(s, slabs));
    if (w->seed_strength_path)
        LOB_TRY(lob_slabs_open_beside(s, slabs, &w->strength_file, w->seed_strength_path));
    LOB_TRY(lob_session_check(s, &slabs->volume, LOB_I32, 1, w->labels_path));
    LOB_TRY(lob_session_check(s, &slabs->volume, LOB_F32, 1, w->strength_path));
    LOB_TRY(lob_session_check(s, &slabs->volume, LOB_U8, 1, w->tie_path));
    const lob_dims dims = slabs->volume.dims;
    slabs->seam_bytes = NEWS;
    slabs->meetings = MEETINGS;
    if (w->rule == LOB_RULE_FLOOD)
        slabs->common_bytes = flood_bytes(slabs);
    else if (is_on_gpu(s) && s->max_memory > 0)
        slabs->common_bytes = GPU_SEAMS * dims.nx * dims.ny;
    if (isfinite(w->max_mm.value)) slabs->moved_bytes = 2 * DISTANCE;
    const int64_t label = (int64_t)lob_type_of(slabs->labels.type)->bytes;
    const int64_t sent = label + (w->strength_path ? 4 : 0) + (w->tie_path ? 1 : 0);
    const int64_t each = voxel_bytes(s, w, &slabs->volume, &slabs->labels);
    LOB_TRY(lob_slabs_cut(s, slabs, 1, 1, each, sent));
    if (slabs->plan > 0) return LOB_OK;
    w->image = slabs->volume; /* for the report */
    w->image.data = NULL;
    return lob_slabs_each(s, slabs, grow_slab, w);
}

lob_status lob_growcut_by_slabs(lob_session *s, work *w)
{
    w->slabs.labels_path = w->seeds_path;
    const lob_status st = make(s, w);
    lob_session_close(s, &w->strength_file);
    w->image = lob_volume_empty(); /* it was the file's */
    return lob_slabs_close(s, &w->slabs, st);
}
