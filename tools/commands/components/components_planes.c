/* `lobule components` for volumes that do not fit in memory: some planes at a time. */
#include "io/file.h"
#include "kernels/components/components_stream.h"
#include "kernels/device/device.h"
#include "tools/commands/components/components_work.h"

#include <stdlib.h>

typedef lob_components_work work;

/* ---- reading ---- */

static lob_status open_inputs(work *w)
{
    lob_volume *image = &w->image;
    w->own = w->intensities_path && lob_same_file(w->slabs.path, w->intensities_path);
    if (!w->own) w->slabs.labels_path = w->intensities_path;
    LOB_TRY(lob_slabs_open(w->s, &w->slabs));
    *image = w->slabs.volume;
    if (w->label_of != 1) image->names = (lob_label_names){0}; /* pieces are new labels */
    LOB_TRY(lob_components_work_options(w->s, w));
    if (w->intensities_path) w->measured = w->own ? image : &w->slabs.labels;
    return w->own ? lob_grid_one_channel(w->s, image, w->intensities_path) : LOB_OK;
}

static lob_status fill(work *w, lob_components_input *slab, int64_t z, int64_t n)
{
    LOB_TRY(lob_slabs_read(w->s, &w->slabs, &w->slab, z, n));
    w->beside = w->own ? w->slab.image : w->slabs.labels;
    w->beside.dims.nz = n;
    if (!w->own) w->beside.data = (void *)w->slab.labels;
    *slab = (lob_components_input){.image = &w->slab.image,
                                   .mask = w->slab.mask,
                                   .intensities = w->measured ? &w->beside : NULL};
    return LOB_OK;
}

static lob_status read_slab(void *user, lob_components_input *slab, int64_t z, int64_t n,
                            lob_error *error)
{
    work *w = user;
    (void)error; /* the session's own */
    lob_session_computed(w->s);
    const lob_status st = fill(w, slab, z, n);
    lob_session_compute(w->s, "joining");
    w->stopped = st != LOB_OK;
    return st;
}

/* ---- writing ---- */

static lob_status begin_output(work *w, int64_t largest)
{
    lob_write_options options = lob_write_defaults();
    options.labels = true;
    LOB_TRY(lob_slabs_check_mask(w->s, &w->slabs));
    LOB_TRY(lob_components_work_make_values(w->s, w));
    if (w->values) w->value_bytes = w->result.count * w->image.channels * (int64_t)sizeof(double);
    lob_volume labels = lob_grid_header(&w->image, w->result.type);
    labels.channels = 1;
    return lob_slabs_begin(w->s, &w->slabs, &labels, largest, w->labels_path, options);
}

static lob_status begin(void *user, const lob_components_output *result, int64_t largest,
                        lob_error *error)
{
    work *w = user;
    (void)error;
    lob_session_computed(w->s);
    w->result = *result; /* a copy: lob_components_streamed returns it at its end */
    const lob_status st = begin_output(w, largest);
    lob_session_compute(w->s, "joining");
    w->stopped = st != LOB_OK && st != LOB_ENOMEM; /* thinner slabs leave more */
    return st;
}

static lob_status write_slab(void *user, const void *labels, lob_type type, int64_t z, int64_t n,
                             lob_error *error)
{
    work *w = user;
    (void)type, (void)z, (void)n, (void)error; /* those of the slab at hand */
    lob_session_computed(w->s);
    lob_components_work_take_values(w, &w->slab.image, w->slab.z);
    const lob_status st = lob_slabs_put(w->s, &w->slabs, &w->slab, labels);
    lob_session_compute(w->s, "joining");
    w->stopped = st != LOB_OK;
    return st;
}

/* ---- the whole ---- */

/* Free what a failed call has made. */
static void undo(work *w)
{
    lob_slabs_hold(w->s, &w->slabs, 0);
    free(w->values);
    lob_session_give(w->s, w->value_bytes);
    w->value_bytes = 0;
    w->values = NULL;
}

static lob_status join_once(work *w, int64_t planes)
{
    LOB_TRY(lob_slabs_hold(w->s, &w->slabs, planes));
    const lob_components_stream stream = {
        .read = read_slab, .begin = begin, .write = write_slab, .user = w, .team = w->s->team};
    lob_components_output result = {0};
    lob_session_compute(w->s, "joining");
    const lob_status st =
        lob_components_streamed(&result, &stream, w->image.dims, planes, &w->options,
                                w->s->backend->components, &w->s->context, &w->s->error);
    lob_session_computed(w->s);
    w->result = result;
    return w->stopped ? st : lob_session_name(w->s, st, w->slabs.path, NULL);
}

/* Planes of all inputs that fit in this much memory. */
static int64_t planes_within(const work *w, int64_t memory)
{
    return lob_components_stream_planes(w->image.dims, lob_slabs_voxel_bytes(&w->slabs), memory);
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
    const lob_dims dims = w->image.dims;
    const int64_t half = (planes + 1) / 2, read = w->slab.z + planes;
    const int64_t seen = read < dims.nz ? read : dims.nz;
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
        lob_session_say(s, "%s: %s: %lld of %lld planes at a time", w->slabs.path,
                        s->team ? "each task has a part of it" : "memory does not hold it",
                        (long long)planes, (long long)w->image.dims.nz);
        w->slab.z = 0;
        const lob_status st = join_once(w, planes);
        if (st == LOB_OK) {
            lob_components_work_hold(s, w);
            return LOB_OK;
        }
        undo(w);
        if (w->stopped || st != LOB_ENOMEM || s->team) return st; /* a team is over by then */
        const int64_t tables = w->result.working_bytes;
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
    const int64_t nz = w->image.dims.nz;
    int64_t first, end;
    lob_team_planes(&first, &end, team, lob_team_rank(team), nz);
    const int64_t room =
        device ? lob_device_free_bytes(device) / 10 * 9 / lob_session_gpu_processes(w->s) : memory;
    if (room < memory) memory = room;
    const int64_t planes = planes_within(w, team ? memory / 2 : memory);
    if (team) return planes < end - first ? planes : end - first;
    return planes < nz ? planes : (nz + 1) / 2; /* as a whole it has been tried */
}

/* For --plan: labels take at most 4 bytes before they are written, and tables grow with the pieces.
 */
static lob_status print_plan(lob_session *s, work *w)
{
    enum { LABELS = 4, TABLES = 1 };
    const lob_volume *const read = &w->slabs.file.volume;
    const int64_t image = read->channels * (int64_t)lob_type_of(read->type)->bytes;
    w->slabs.seam_bytes = LABELS + (w->options.join == LOB_JOIN_ANY ? 0 : image);
    return lob_slabs_cut(s, &w->slabs, 0, 1, LABELS + TABLES, lob_components_label_bytes(w));
}

/* Labels are written last: if they exist, the table is complete. */
static lob_status make(lob_session *s, work *w, int64_t memory)
{
    LOB_TRY(open_inputs(w));
    if (w->slabs.plan > 0) return print_plan(s, w);
    LOB_TRY(join(w, max_planes(w, memory)));
    lob_components_work_report(s, w);
    cJSON_AddNumberToObject(s->results, "planes_at_a_time", (double)w->slabs.planes);
    LOB_TRY(lob_components_work_table(s, w));
    return lob_slabs_commit(s, &w->slabs);
}

lob_status lob_components_by_planes(lob_session *s, work *w, int64_t memory)
{
    w->s = s;
    const lob_status st = make(s, w, memory);
    undo(w);
    w->image = lob_volume_empty(); /* it was the file's */
    return lob_slabs_close(s, &w->slabs, st);
}
