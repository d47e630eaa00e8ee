/* `lobule components` for volumes that do not fit in memory: some planes at a time. */
#include "io/file.h"
#include "kernels/components/components_stream.h"
#include "kernels/device/device.h"
#include "tools/commands/components/components_work.h"
#include "tools/inout/grid.h"
#include "tools/inout/rank_plan.h"
#include "volumes/lists.h"
#include "volumes/reorient.h"

#include <stdlib.h>
#include <string.h>

/* An input, and the planes of it at hand. */
typedef struct {
    lob_plane_input file;
    unsigned char *planes;
    lob_volume slab; /* over planes */
} slab_input;

/* A component and the index of its first voxel. */
typedef struct {
    int64_t first, number; /* number: from 0 */
} first_voxel;

typedef struct {
    lob_session *s;
    lob_components_work common;
    slab_input image, mask, intensities; /* not open unless the command names them */
    bool own;                            /* the image's values are the intensities */
    uint8_t *mask_bytes;
    int64_t inside; /* voxels of the mask that are not 0, of all passes so far */
    bool stopped;   /* by an error of a file, not of the kernel */
    int64_t z;      /* of the slab at hand */
    int64_t planes; /* that the buffers hold */
    int64_t max_planes;

    int64_t value_bytes; /* that values and order have taken */
    first_voxel *order;  /* in rising order of first; NULL unless values are wanted */
    int64_t next;        /* of order, that has no value yet */

    lob_volume labels; /* over the image's header; without data */
    lob_plane_output output;
} work;

/* ---- reading ---- */

/* Open a volume that must lie on the image's grid and have one channel. */
static lob_status open_on_grid(work *w, slab_input *in, const char *path)
{
    lob_session *s = w->s;
    const lob_volume *const v = &in->file.volume, *const image = &w->image.file.volume;
    lob_turn turn;
    LOB_TRY(lob_session_open(s, &in->file, path, LOB_FRAME_NONE));
    const lob_status st = lob_same_grid(image, w->common.set->image, v, path, &s->error);
    if (st != LOB_OK && lob_turn_onto(&turn, v, image))
        return lob_fail_file_hint(&s->error, LOB_ENOMEM, LOB_HINT_RAISE_MEMORY, path,
                                  "its axes lie other than those of %s, and it can be turned only "
                                  "where all of it fits in memory",
                                  w->common.set->image);
    LOB_TRY(st);
    return lob_grid_one_channel(s, v, path);
}

static lob_status open_inputs(work *w)
{
    const lob_components_settings *set = w->common.set;
    LOB_TRY(lob_session_open(w->s, &w->image.file, set->image, set->frame));
    lob_volume *image = &w->common.image;
    *image = w->image.file.volume;
    if (set->label_of != 1) image->names = (lob_label_names){0}; /* pieces are new labels */
    LOB_TRY(lob_grid_has_channel(w->s, image, set->channel, set->image));
    if (set->channel >= 0) image->channels = 1;
    LOB_TRY(lob_components_work_options(w->s, &w->common));
    if (set->mask) LOB_TRY(open_on_grid(w, &w->mask, set->mask));
    w->own =
        set->intensities && image->channels == 1 && lob_same_file(set->image, set->intensities);
    if (set->intensities && !w->own) LOB_TRY(open_on_grid(w, &w->intensities, set->intensities));
    if (set->intensities) w->common.measured = w->own ? image : &w->intensities.file.volume;
    return LOB_OK;
}

/* Bytes per voxel of an input, over all channels. */
static int64_t voxel_bytes(const slab_input *in)
{
    const lob_volume *v = &in->file.volume;
    return in->file.planes ? v->channels * (int64_t)lob_type_of(v->type)->bytes : 0;
}

/* The same of all inputs. */
static int64_t file_bytes(const work *w)
{
    return voxel_bytes(&w->image) + voxel_bytes(&w->intensities) + voxel_bytes(&w->mask);
}

/* Bytes of this many planes of all inputs. */
static int64_t slab_bytes(const work *w, int64_t planes)
{
    const lob_dims dims = w->common.image.dims;
    const int64_t each = file_bytes(w) + (w->mask.file.planes ? 1 : 0);
    return lob_product(dims.nx * dims.ny, planes, each, 1);
}

/* Allocate slabs of this many planes. */
static lob_status allocate_slabs(work *w, int64_t planes)
{
    lob_session *s = w->s;
    const char *path = w->common.set->image;
    const lob_dims dims = w->common.image.dims;
    const size_t voxels = (size_t)(dims.nx * dims.ny * planes);
    slab_input *const inputs[] = {&w->image, &w->mask, &w->intensities};
    LOB_TRY(lob_session_take(s, slab_bytes(w, planes), path));
    w->planes = planes;
    bool there = true;
    for (size_t i = 0; i < LOB_COUNT(inputs); i++) {
        if (!inputs[i]->file.planes) continue;
        inputs[i]->planes = malloc(voxels * (size_t)voxel_bytes(inputs[i]));
        there = there && inputs[i]->planes;
    }
    if (w->mask.file.planes) w->mask_bytes = malloc(voxels);
    if (there && (w->mask_bytes || !w->mask.file.planes)) return LOB_OK;
    return lob_fail_file(&s->error, LOB_ENOMEM, path, "no memory for %lld of its planes",
                         (long long)planes);
}

static void free_slabs(work *w)
{
    lob_session_give(w->s, slab_bytes(w, w->planes));
    slab_input *const inputs[] = {&w->image, &w->mask, &w->intensities};
    for (size_t i = 0; i < LOB_COUNT(inputs); i++) {
        free(inputs[i]->planes);
        inputs[i]->planes = NULL;
    }
    free(w->mask_bytes);
    w->mask_bytes = NULL;
    w->planes = 0;
}

/* Read planes; the slab is then a volume of them, or of one channel of it. */
static lob_status fill(work *w, slab_input *in, int channel, int64_t z, int64_t n)
{
    LOB_TRY(lob_session_planes(w->s, &in->file, in->planes, z, n));
    in->slab = in->file.volume;
    in->slab.dims.nz = n;
    in->slab.data = in->planes;
    if (channel < 0) return LOB_OK;
    in->slab.channels = 1;
    in->slab.data =
        in->planes + channel * lob_voxels(&in->slab) * (int64_t)lob_type_of(in->slab.type)->bytes;
    return LOB_OK;
}

static lob_status fill_all(work *w, lob_components_input *slab, int64_t z, int64_t n)
{
    LOB_TRY(fill(w, &w->image, w->common.set->channel, z, n));
    *slab = (lob_components_input){.image = &w->image.slab};
    if (w->own) slab->intensities = &w->image.slab;
    if (w->mask.file.planes) {
        LOB_TRY(fill(w, &w->mask, -1, z, n));
        slab->mask = w->mask_bytes;
        w->inside +=
            lob_grid_mask_bytes(w->mask_bytes, &w->mask.slab, 0, lob_voxels(&w->mask.slab));
    }
    if (!w->intensities.file.planes) return LOB_OK;
    LOB_TRY(fill(w, &w->intensities, -1, z, n));
    slab->intensities = &w->intensities.slab;
    return LOB_OK;
}

static lob_status read_slab(void *user, lob_components_input *slab, int64_t z, int64_t n,
                            lob_error *error)
{
    work *w = user;
    (void)error; /* the session's own */
    lob_session_computed(w->s);
    w->z = z;
    const lob_status st = fill_all(w, slab, z, n);
    lob_session_compute(w->s, "joining");
    w->stopped = st != LOB_OK;
    return st;
}

/* ---- writing ---- */

/* Allocate the components' values, and sort components by first voxel. */
static lob_status prepare_values(work *w)
{
    const lob_components_output *r = &w->common.result;
    if (!lob_components_work_has_values(&w->common)) return LOB_OK;
    const int64_t bytes =
        r->count * (lob_components_work_value_bytes(&w->common) + (int64_t)sizeof *w->order);
    LOB_TRY(lob_session_take(w->s, bytes, w->common.set->table));
    w->value_bytes = bytes;
    const size_t capacity = (size_t)r->count + 1;
    w->common.values =
        calloc(capacity * (size_t)w->common.image.channels, sizeof *w->common.values);
    w->order = malloc(capacity * sizeof *w->order);
    if (!w->common.values || !w->order) return lob_session_no_memory(w->s, w->common.set->table);
    for (int64_t i = 0; i < r->count; i++)
        w->order[i] = (first_voxel){lob_components_work_member(&w->common, i), i};
    qsort(w->order, (size_t)r->count, sizeof *w->order, lob_by_int64);
    return LOB_OK;
}

/* Read the values of components whose first voxel is in the current slab. */
static void take_values(work *w)
{
    const lob_volume *v = &w->image.slab;
    const int64_t from = w->z * v->dims.nx * v->dims.ny;
    for (; w->order && w->next < w->common.result.count; w->next++) {
        const first_voxel *at = &w->order[w->next];
        if (at->first - from >= lob_voxels(v)) return;
        lob_components_work_take_value(&w->common, at->number, v, at->first - from);
    }
}

static lob_status begin_output(work *w, int64_t largest)
{
    lob_write_options options = lob_write_defaults();
    options.labels = true;
    LOB_TRY(lob_team_reduce(w->s->team, &w->inside, 1, LOB_TEAM_SUM, &w->s->error));
    if (w->mask.file.planes && w->inside == 0)
        return lob_grid_empty_mask(w->s, w->common.set->mask);
    LOB_TRY(prepare_values(w));
    w->labels = lob_grid_header(&w->common.image, w->common.result.type);
    w->labels.channels = 1;
    return lob_session_planes_begin(w->s, &w->output, &w->labels, largest, w->common.set->labels,
                                    options);
}

static lob_status begin(void *user, const lob_components_output *result, int64_t largest,
                        lob_error *error)
{
    work *w = user;
    (void)error;
    lob_session_computed(w->s);
    w->common.result = *result; /* a copy: lob_components_streamed returns it at its end */
    const lob_status st = begin_output(w, largest);
    lob_session_compute(w->s, "joining");
    w->stopped = st != LOB_OK && st != LOB_ENOMEM; /* thinner slabs leave more */
    return st;
}

static lob_status write_slab(void *user, const void *labels, lob_type type, int64_t z, int64_t n,
                             lob_error *error)
{
    work *w = user;
    (void)type, (void)z, (void)error;
    lob_session_computed(w->s);
    take_values(w);
    const lob_status st = lob_session_planes_put(w->s, &w->output, labels, n);
    lob_session_compute(w->s, "joining");
    w->stopped = st != LOB_OK;
    return st;
}

/* ---- the whole ---- */

/* Free what a failed call has made. */
static void undo(work *w)
{
    lob_session_planes_abort(w->s, &w->output);
    free(w->common.values);
    free(w->order);
    lob_session_give(w->s, w->value_bytes);
    w->value_bytes = 0;
    w->common.values = NULL;
    w->order = NULL;
    w->next = 0;
}

static lob_status join_once(work *w, int64_t planes)
{
    LOB_TRY(allocate_slabs(w, planes));
    const lob_components_stream stream = {
        .read = read_slab, .begin = begin, .write = write_slab, .user = w, .team = w->s->team};
    lob_components_output result = {0};
    lob_session_compute(w->s, "joining");
    const lob_status st = lob_components_streamed(&result, &stream, w->common.image.dims, w->planes,
                                                  &w->common.options, w->s->backend->components,
                                                  &w->s->context, &w->s->error);
    lob_session_computed(w->s);
    w->common.result = result;
    return w->stopped ? st : lob_session_name(w->s, st, w->common.set->image, NULL);
}

/* Planes of all inputs that fit in this much memory. */
static int64_t planes_within(const work *w, int64_t memory)
{
    const lob_dims dims = w->common.image.dims;
    return lob_components_stream_planes(dims, slab_bytes(w, 1) / (dims.nx * dims.ny), memory);
}

/*
 * How many planes to try next, after `planes` did not fit: at most half, and few enough to leave
 * memory for the tables of components, whose size does not depend on the slabs.
 *
 *   tables  in  bytes that these needed up to the plane that was read last
 */
static int64_t fewer_planes(const work *w, int64_t planes, int64_t tables)
{
    const lob_session *s = w->s;
    const lob_dims dims = w->common.image.dims;
    const int64_t half = (planes + 1) / 2, seen = w->z + planes < dims.nz ? w->z + planes : dims.nz;
    if (s->max_memory == 0) return half;
    const double all = (double)tables * (double)dims.nz / (double)seen;
    const double left = (double)s->context.max_memory - all;
    const int64_t fit = left > 0 ? planes_within(w, (int64_t)left) : 1;
    return fit < half ? fit : half;
}

/* The memory needed depends on the voxels, so a slab that does not fit is tried again with fewer
 * planes. */
static lob_status join(work *w, int64_t planes)
{
    lob_session *s = w->s;
    for (;;) {
        lob_session_say(s, "%s: %s: %lld of %lld planes at a time", w->common.set->image,
                        s->team ? "each task has a part of it" : "memory does not hold it",
                        (long long)planes, (long long)w->common.image.dims.nz);
        w->z = 0;
        const lob_status st = join_once(w, planes);
        if (st == LOB_OK) {
            lob_components_work_hold(s, &w->common);
            return LOB_OK;
        }
        undo(w);
        if (w->stopped || st != LOB_ENOMEM || s->team) return st; /* a team is over by then */
        const int64_t tables = w->common.result.working_bytes;
        free_slabs(w);
        if (planes == 1 || (s->max_memory > 0 && tables > s->context.max_memory)) {
            lob_error_add(&s->error, "%s%s", planes == 1 ? ", one plane at a time" : "",
                          s->max_memory > 0 ? "" : "; allow more with --max-memory");
            return st;
        }
        planes = fewer_planes(w, planes, tables);
        s->error = (lob_error){.text = ""};
    }
}

/* The largest number of planes per slab. Of a team, whose ranks try once, half the memory is for
 * tables, and a rank's planes may be one slab. */
static int64_t max_planes(const work *w, int64_t memory)
{
    const lob_device *device = w->s->context.device;
    const lob_team *const team = w->s->team;
    const int64_t nz = w->common.image.dims.nz;
    int64_t first, end;
    lob_team_planes(&first, &end, team, lob_team_rank(team), nz);
    const int64_t room =
        device ? lob_device_free_bytes(device) / 10 * 9 / lob_session_gpu_sharers(w->s) : memory;
    if (room < memory) memory = room;
    const int64_t planes = planes_within(w, team ? memory / 2 : memory);
    if (team) return planes < end - first ? planes : end - first;
    return planes < nz ? planes : (nz + 1) / 2; /* as a whole it has been tried */
}

/* For --plan: labels are numbers of 4 bytes until they are written, and tables grow with the
 * pieces.
 */
static lob_status print_plan(lob_session *s, const work *w)
{
    enum { LABELS = 4, TABLES = 1 };
    const lob_dims dims = w->common.image.dims;
    const int64_t seam = w->common.options.join == LOB_JOIN_ANY ? 0 : voxel_bytes(&w->image);
    const lob_rank_plan plan = {
        .dims = dims,
        .align = 1,
        .file_bytes = file_bytes(w),
        .held_bytes = slab_bytes(w, 1) / (dims.nx * dims.ny) + LABELS + TABLES,
        .written_bytes = lob_components_label_bytes(w->common.set),
        .seam_bytes = LABELS + seam,
    };
    return lob_rank_plan_print(s, w->common.set->plan, &plan);
}

/* Labels are written last: if they exist, the table is complete. */
static lob_status make(lob_session *s, work *w, int64_t memory)
{
    LOB_TRY(open_inputs(w));
    if (w->common.set->plan > 0) return print_plan(s, w);
    w->max_planes = max_planes(w, memory);
    LOB_TRY(join(w, w->max_planes));
    lob_components_work_report(s, &w->common);
    cJSON_AddNumberToObject(s->results, "planes_at_a_time", (double)w->planes);
    LOB_TRY(lob_components_work_table(s, &w->common));
    return lob_session_planes_commit(s, &w->output);
}

lob_status lob_components_by_planes(lob_session *s, const lob_components_settings *set,
                                    int64_t memory)
{
    work w = {.s = s, .common = {.set = set}};
    const lob_status st = make(s, &w, memory);
    undo(&w);
    free_slabs(&w);
    lob_session_close(s, &w.image.file);
    lob_session_close(s, &w.mask.file);
    lob_session_close(s, &w.intensities.file);
    lob_components_output_free(&w.common.result);
    free(w.common.kept);
    return st;
}
