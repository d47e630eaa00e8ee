/* Reading a volume in slabs with a halo, and writing what is made of them. */
#include "tools/inout/slabs.h"

#include "kernels/team/team_planes.h"
#include "tools/inout/grid.h"
#include "tools/session/ranks.h"
#include "volumes/free.h"
#include "volumes/lists.h"
#include "volumes/reorient.h"
#include "volumes/voxel_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

static int64_t bytes_of(const lob_volume *v)
{
    return (int64_t)lob_type_of(v->type)->bytes;
}

bool lob_slabs_serve(const lob_session *s, const lob_slabs *w, int64_t voxel_bytes)
{
    lob_volume image;
    if (s->ranks || w->plan > 0) return true;
    /* A volume in memory may be handed over, which takes no more. */
    if (lob_session_is_stored(s, w->path) || !lob_session_peek(s, &image, w->path)) return false;
    const bool one = image.frames == 1 && (image.channels == 1 || w->channel >= 0);
    const int64_t each =
        image.channels * bytes_of(&image) + (w->mask ? 1 + bytes_of(&image) : 0) + voxel_bytes;
    const int64_t need = lob_product(lob_voxels(&image), each, 1, 1);
    return one && (need < 0 || need > lob_session_left(s));
}

/* ---- opening ---- */

/* Masks and labels lie as the image does; turning or placing them would need all of them. */
lob_status lob_slabs_open_beside(lob_session *s, lob_slabs *w, lob_plane_input *in,
                                 const char *path)
{
    lob_volume *const v = &in->volume;
    const bool alone = !s->ranks && w->plan == 0;
    lob_turn turn;
    LOB_TRY(lob_session_open(s, in, path, LOB_FRAME_NONE));
    const lob_status st = lob_grid_adopt(s, v, path, &w->volume, w->path);
    const bool turned = st != LOB_OK && lob_turn_onto(&turn, v, &w->volume);
    if (turned ||
        (st != LOB_OK && lob_session_is_labels(s, path) && lob_grid_is_part(v, &w->volume)))
        return lob_fail_file_hint(&s->error, alone ? LOB_ENOMEM : LOB_EARG,
                                  alone ? LOB_HINT_RAISE_MEMORY : LOB_HINT_NONE, path,
                                  turned ? "its axes lie other than those of %s, and it can be "
                                           "turned only where %s"
                                         : "it covers a part of %s, and it can be laid on that "
                                           "only where %s",
                                  w->path,
                                  alone ? "all of it fits in memory" : "one task has it all");
    LOB_TRY(st);
    w->beside_bytes += bytes_of(v);
    return lob_grid_one_channel(s, v, path);
}

lob_status lob_slabs_open(lob_session *s, lob_slabs *w)
{
    LOB_TRY(lob_session_open(s, &w->file, w->path, w->frame));
    w->volume = w->file.volume;
    LOB_TRY(lob_grid_has_channel(s, &w->volume, w->channel, w->path));
    if (w->channel < 0 && !w->at_once) LOB_TRY(lob_grid_is_chosen(s, &w->volume, w->path));
    if (!w->at_once || w->channel >= 0) w->volume.channels = 1;
    if (w->mask) LOB_TRY(lob_slabs_open_beside(s, w, &w->mask_file, w->mask));
    if (w->labels_path) LOB_TRY(lob_slabs_open_beside(s, w, &w->labels_file, w->labels_path));
    w->labels = w->labels_file.volume;
    return LOB_OK;
}

/* ---- cutting ---- */

/* Is one channel taken out of several? */
static bool is_staged(const lob_slabs *w)
{
    return w->file.volume.channels > w->volume.channels;
}

int64_t lob_slabs_voxel_bytes(const lob_slabs *w)
{
    const int64_t image = w->volume.channels * bytes_of(&w->volume);
    const int64_t staged = is_staged(w) ? w->file.volume.channels * bytes_of(&w->volume) : 0;
    const int64_t mask = w->mask ? 1 + bytes_of(&w->mask_file.volume) : 0;
    const int64_t labels = w->labels_path ? bytes_of(&w->labels) : 0;
    return image + staged + mask + labels;
}

static int64_t plane_bytes(const lob_slabs *w)
{
    return lob_product(w->volume.dims.nx, w->volume.dims.ny, lob_slabs_voxel_bytes(w), 1);
}

/* The most planes that are read for a slab of so many. */
static int64_t planes_read(const lob_slabs *w, int64_t planes)
{
    const int64_t read = planes + 2 * w->halo + w->align - 1;
    return read < w->volume.dims.nz ? read : w->volume.dims.nz;
}

int64_t lob_slabs_voxels(const lob_slabs *w)
{
    return w->volume.dims.nx * w->volume.dims.ny * planes_read(w, w->planes);
}

/* ---- --plan, from sizes alone ---- */

/* Planes of tasks: the most of a task, and of all. */
typedef struct {
    int64_t own, read, read_all, sent;
} shares;

static shares shares_of(const lob_slabs *w, const lob_team *team)
{
    const int64_t nz = w->volume.dims.nz;
    shares of = {0};
    for (int r = 0; r < team->size; r++) {
        const lob_team_reach reach = lob_team_reach_of(team, r, nz, w->halo, w->align);
        const int64_t own = reach.end - reach.first, read = reach.to - reach.from;
        if (own > of.own) of.own = own;
        if (read > of.read) of.read = read;
        if (r > 0) of.sent += own;
        of.read_all += read;
    }
    return of;
}

/* Two digits: what is guessed has no more. */
static double about(double seconds)
{
    char text[32];
    snprintf(text, sizeof text, "%.2g", seconds);
    return strtod(text, NULL);
}

/* Print what so many tasks would do, in place of the work; of several tasks that are there now, the
 * first prints. A part on each of other than so many GPUs is an error. */
static lob_status print_plan(lob_session *s, const lob_slabs *w, int64_t voxel_bytes,
                             int64_t sent_bytes)
{
    /* Of the disk, which all share, and of the way to the first task. */
    const double bytes_a_second = 1e9;
    const lob_dims dims = w->volume.dims;
    const lob_team team = {.size = w->plan < dims.nz ? w->plan : (int)dims.nz};
    const shares of = shares_of(w, &team);
    const double plane = (double)dims.nx * (double)dims.ny, all = (double)dims.nz * plane;
    const double in_file =
        (double)(w->file.volume.channels * bytes_of(&w->volume) + w->beside_bytes);
    const double voxel = (double)(lob_slabs_voxel_bytes(w) + voxel_bytes);
    const double readers =
        (double)(lob_planes_held(w->file.planes) + lob_planes_held(w->mask_file.planes) +
                 lob_planes_held(w->labels_file.planes));
    const double held = (double)of.read * plane * voxel + (double)w->common_bytes + readers;
    const double read_all = (double)of.read_all * plane * in_file;
    const double to_first = (double)of.sent * plane * (double)sent_bytes;
    const double moved = all * w->moved_bytes * (double)(team.size - 1) / team.size;
    const double met =
        (double)(w->meetings * LOB_TEAM_MEETING) * ((double)team.size * team.size - 1);
    const double seams = (double)(team.size - 1) * plane * (double)w->seam_bytes + moved + met;
    const double written = all * (double)sent_bytes;
    const double computing =
        (double)of.read * plane * s->command->voxel_ns * 1e-9 / s->context.threads;
    const lob_number rows[] = {
        {"tasks",             w->plan                                               },
        {"tasks_at_work",     team.size                                             },
        {"planes",            (double)dims.nz                                       },
        {"planes_of_a_task",  (double)of.own                                        },
        {"planes_read",       (double)of.read                                       },
        {"bytes_read",        (double)of.read * plane * in_file                     },
        {"bytes_read_all",    read_all                                              },
        {"bytes_held",        held                                                  },
        {"bytes_to_first",    to_first                                              },
        {"bytes_over_seams",  seams                                                 },
        {"bytes_written",     written                                               },
        {"seconds_reading",   about(read_all / bytes_a_second)                      },
        {"seconds_computing", about(computing)                                      },
        {"seconds_sending",   about((to_first + seams / team.size) / bytes_a_second)},
        {"seconds_writing",   about(written / bytes_a_second)                       },
        {"meetings",          (double)w->meetings                                   },
    };
    const size_t count = LOB_COUNT(rows) - (w->meetings == 0);
    const int parts = s->ranks ? 0 : s->device.count;
    if (parts > 1 && parts != w->plan)
        return lob_fail(
            &s->error, LOB_EARG,
            "--plan %d: --device names %d GPUs, for as many parts; plan tasks of mpirun "
            "without --device",
            w->plan, parts);
    if (lob_team_rank(s->ranks) > 0) return LOB_OK;
    cJSON *const plan = cJSON_CreateObject();
    lob_json_numbers(plan, rows, count);
    const lob_status st = lob_json_put(plan, false, &s->error);
    cJSON_Delete(plan);
    return st;
}

/* ---- cutting, for the work ---- */

static lob_status allocate(lob_session *s, lob_slabs *w)
{
    const lob_volume *const v = &w->volume, *const mask = &w->mask_file.volume;
    const int64_t n = lob_slabs_voxels(w);
    const int64_t image = is_staged(w) ? n * w->file.volume.channels * bytes_of(v) : 0;
    const int64_t of_mask = w->mask ? n * bytes_of(mask) : 0;
    w->held = lob_product(plane_bytes(w), planes_read(w, w->planes), 1, 1);
    const lob_status st = lob_session_take(s, w->held, w->path);
    if (st != LOB_OK) w->held = 0;
    LOB_TRY(st);
    w->window = lob_voxel_memory_zero(n * v->channels * bytes_of(v));
    w->staged = lob_voxel_memory(image > of_mask ? image : of_mask);
    w->mask_window = w->mask ? lob_voxel_memory(n) : NULL;
    w->labels_window = w->labels_path ? lob_voxel_memory(n * bytes_of(&w->labels)) : NULL;
    if (w->window && w->staged && (w->mask_window || !w->mask) &&
        (w->labels_window || !w->labels_path))
        return LOB_OK;
    return lob_session_no_memory(s, w->path);
}

/* Remove an output that is not complete, and free what holds the planes at hand. */
static void empty(lob_session *s, lob_slabs *w)
{
    lob_session_planes_abort(s, &w->output);
    LOB_FREE(w->window, w->staged, w->mask_window, w->labels_window);
    lob_session_give(s, w->held);
    w->window = w->mask_window = w->labels_window = NULL;
    w->staged = NULL;
    w->held = w->from = w->to = 0;
}

lob_status lob_slabs_hold(lob_session *s, lob_slabs *w, int64_t planes)
{
    empty(s, w);
    w->planes = planes;
    w->align = 1;
    return planes > 0 ? allocate(s, w) : LOB_OK;
}

/* Planes of which so much memory holds the work, which takes so many bytes of each. */
static int64_t planes_in(const lob_slabs *w, int64_t memory, int64_t bytes)
{
    const int64_t nz = w->volume.dims.nz, room = memory / bytes;
    return room >= nz ? nz : room - 2 * w->halo - w->align + 1;
}

/* A rank's planes, of which `fit` do, do not fit at once: who would do? Ranks that are threads
 * divide the memory, so that more of them are no help: a task has as much as all of these.
 * A fourth is for what has any size. */
static lob_status too_large(lob_session *s, const lob_slabs *w, int64_t fit, int64_t bytes)
{
    const int parts = lob_ranks_inside();
    const int64_t nz = w->volume.dims.nz;
    const int64_t memory = lob_session_left(s) + w->held;
    const int64_t beside = w->common_bytes + w->first_bytes;
    const int64_t room = planes_in(w, (memory * parts - beside) / 4 * 3, bytes);
    const int64_t tasks = room < 1 ? 0 : room < nz ? (nz + room - 1) / room : 2;
    char what[64] = "more memory";
    const char *const whose = parts > 1 ? "a part's share of the memory" : "a task's memory";
    if (w->common_bytes >= memory)
        return lob_fail_file_hint(&s->error, LOB_ENOMEM, LOB_HINT_RAISE_MEMORY, w->path,
                                  "%s does not hold what each has beside its planes", whose);
    if (fit < 1)
        return lob_fail_file_hint(&s->error, LOB_ENOMEM, LOB_HINT_RAISE_MEMORY, w->path,
                                  "%s does not hold the work on one of its planes", whose);
    if (tasks > 0)
        snprintf(what, sizeof what, "%lld tasks%s", (long long)tasks,
                 parts > 1 ? " with as much as all parts" : "");
    return lob_fail_file_hint(&s->error, LOB_ENOMEM, LOB_HINT_RAISE_MEMORY, w->path,
                              "%s holds the work on %lld of its %lld planes: %s would do, or a "
                              "part of it (lobule crop)",
                              whose, (long long)fit, (long long)nz, what);
}

lob_status lob_slabs_fit(lob_session *s, const lob_slabs *w, int64_t voxel_bytes)
{
    const lob_dims dims = w->volume.dims;
    const int64_t bytes = plane_bytes(w) + lob_product(dims.nx, dims.ny, voxel_bytes, 1);
    int64_t first, end;
    lob_team_planes(&first, &end, s->team, lob_team_rank(s->team), dims.nz);
    const int64_t fit = planes_in(w, lob_session_left(s) + w->held - w->common_bytes, bytes);
    return fit < end - first ? too_large(s, w, fit, bytes) : LOB_OK;
}

lob_status lob_slabs_cut(lob_session *s, lob_slabs *w, int64_t halo, int64_t align,
                         int64_t voxel_bytes, int64_t sent_bytes)
{
    const lob_dims dims = w->volume.dims;
    int64_t first, end;
    w->halo = halo;
    w->align = align;
    if (w->plan > 0) return print_plan(s, w, voxel_bytes, sent_bytes);
    lob_team_planes(&first, &end, s->team, lob_team_rank(s->team), dims.nz);
    const int64_t read = plane_bytes(w), work = lob_product(dims.nx, dims.ny, voxel_bytes, 1);
    /* Half is for slabs, the rest for what work holds. */
    const int64_t fit =
        w->at_once ? end - first : planes_in(w, lob_session_left(s) / 2, read + work);
    if (w->at_once) LOB_TRY(lob_slabs_fit(s, w, voxel_bytes));
    w->planes = fit < 1 ? 1 : fit < end - first ? fit : end - first;
    if (w->planes < dims.nz)
        lob_session_say(s, "%s: %s: %lld of %lld planes at a time", w->path,
                        s->team ? "each task has a part of it" : "memory does not hold it",
                        (long long)w->planes, (long long)dims.nz);
    cJSON_AddNumberToObject(s->results, "planes_at_a_time", (double)w->planes);
    return allocate(s, w);
}

/* ---- reading ---- */

/* Read planes z .. z + n - 1 of the channel to where they lie in the window. */
static lob_status read_image(lob_session *s, lob_slabs *w, int64_t z, int64_t n)
{
    const int64_t plane = w->volume.dims.nx * w->volume.dims.ny * bytes_of(&w->volume);
    unsigned char *const to = w->window + (z - w->from) * plane;
    if (!is_staged(w)) return lob_session_planes(s, &w->file, to, z, n);
    LOB_TRY(lob_session_planes(s, &w->file, w->staged, z, n));
    memcpy(to, (unsigned char *)w->staged + w->channel * n * plane, (size_t)(n * plane));
    return LOB_OK;
}

static lob_status read_mask(lob_session *s, lob_slabs *w, int64_t z, int64_t n)
{
    const int64_t plane = w->volume.dims.nx * w->volume.dims.ny;
    if (!w->mask) return LOB_OK;
    LOB_TRY(lob_session_planes(s, &w->mask_file, w->staged, z, n));
    lob_volume read = w->mask_file.volume;
    read.dims.nz = n;
    read.data = w->staged;
    lob_grid_mask_bytes(w->mask_window + (z - w->from) * plane, &read, n * plane);
    return LOB_OK;
}

/* Keep planes of a window from the `gone`-th on. */
static void shift(void *window, int64_t gone, int64_t kept, int64_t plane)
{
    if (window) memmove(window, (char *)window + gone * plane, (size_t)(kept * plane));
}

/* Bring planes from .. to - 1 to hand; what is there of them stays. */
static lob_status fill(lob_session *s, lob_slabs *w, int64_t from, int64_t to)
{
    const int64_t plane = w->volume.dims.nx * w->volume.dims.ny, bytes = bytes_of(&w->volume);
    const bool goes_on = from >= w->from && from < w->to && to >= w->to;
    const int64_t kept = goes_on ? w->to - from : 0, gone = from - w->from;
    if (kept > 0 && gone > 0) {
        shift(w->window, gone, kept, plane * bytes);
        shift(w->mask_window, gone, kept, plane);
        shift(w->labels_window, gone, kept, plane * bytes_of(&w->labels));
    }
    w->from = from;
    w->to = from + kept; /* should reading fail */
    if (w->to == to) return LOB_OK;
    LOB_TRY(read_image(s, w, w->to, to - w->to));
    LOB_TRY(read_mask(s, w, w->to, to - w->to));
    if (w->labels_path)
        LOB_TRY(lob_session_planes(s, &w->labels_file,
                                   w->labels_window + (w->to - from) * plane * bytes_of(&w->labels),
                                   w->to, to - w->to));
    w->to = to;
    return LOB_OK;
}

lob_status lob_slabs_read(lob_session *s, lob_slabs *w, lob_slab *slab, int64_t z, int64_t n)
{
    const int64_t nz = w->volume.dims.nz;
    const int64_t from = z > w->halo ? (z - w->halo) / w->align * w->align : 0;
    LOB_TRY(fill(s, w, from, nz - z - n > w->halo ? z + n + w->halo : nz));
    *slab = (lob_slab){.z = z, .planes = n, .from = from, .image = w->volume};
    slab->image.dims.nz = w->to - from;
    slab->image.data = w->window;
    slab->mask = w->mask_window;
    slab->labels = w->labels_window;
    for (int64_t i = 0; w->mask && i < lob_slab_voxels(slab); i++)
        w->inside += slab->mask[lob_slab_before(slab) + i];
    return LOB_OK;
}

lob_status lob_slabs_check_mask(lob_session *s, lob_slabs *w)
{
    if (!w->mask) return LOB_OK;
    LOB_TRY(lob_team_reduce(s->team, &w->inside, 1, LOB_TEAM_SUM, &s->error));
    return w->inside > 0 ? LOB_OK : lob_grid_empty_mask(s, w->mask);
}

lob_status lob_slabs_each(lob_session *s, lob_slabs *w, lob_slab_work *work, void *user)
{
    int64_t first, end;
    lob_slab slab;
    lob_team_planes(&first, &end, s->team, lob_team_rank(s->team), w->volume.dims.nz);
    w->inside = 0;
    w->enough = false;
    for (int64_t z = first; z < end && !w->enough; z += w->planes) {
        LOB_TRY(lob_slabs_read(s, w, &slab, z, end - z < w->planes ? end - z : w->planes));
        LOB_TRY(work(s, &slab, user));
    }
    if (w->output.volume) LOB_TRY(lob_session_planes_settle(s, &w->output));
    return lob_slabs_check_mask(s, w);
}

/* ---- writing ---- */

lob_status lob_slabs_begin(lob_session *s, lob_slabs *w, const lob_volume *made, int64_t largest,
                           const char *path, lob_write_options options)
{
    w->made = *made;
    return lob_session_planes_begin(s, &w->output, &w->made, largest, path, options);
}

lob_status lob_slabs_put(lob_session *s, lob_slabs *w, const lob_slab *slab, const void *voxels)
{
    return lob_session_planes_put(s, &w->output, voxels, slab->planes);
}

lob_status lob_slabs_commit(lob_session *s, lob_slabs *w)
{
    return lob_session_planes_commit(s, &w->output);
}

lob_status lob_slabs_write(lob_session *s, lob_slabs *w, const lob_slab *slab, lob_volume *volume,
                           const char *path, bool labels)
{
    if (!s->team) return lob_session_write(s, volume, path, labels);
    if (!path) return LOB_OK;
    const lob_volume own = lob_slab_own(slab, volume);
    lob_write_options options = lob_write_defaults();
    lob_volume made = lob_grid_header(&w->volume, volume->type);
    int64_t largest = 0;
    made.channels = volume->channels;
    made.slope = volume->slope; /* of a picture it is the image's */
    made.inter = volume->inter;
    made.names = volume->names;
    options.labels = labels;
    if (labels)
        largest = lob_label_largest(own.data, own.type, lob_voxels(&own), s->context.threads);
    LOB_TRY(lob_team_reduce(s->team, &largest, 1, LOB_TEAM_MAX, &s->error));
    LOB_TRY(lob_slabs_begin(s, w, &made, largest, path, options));
    for (int c = 0; c < volume->channels; c++)
        LOB_TRY(lob_slabs_put(s, w, slab,
                              (char *)own.data + c * lob_voxels(volume) * bytes_of(volume)));
    LOB_TRY(lob_slabs_commit(s, w));
    lob_session_planes_abort(s, &w->output);
    return LOB_OK;
}

int64_t lob_slabs_tasks(const lob_session *s, const char *path, int64_t halo, int64_t voxel_bytes,
                        int64_t beside)
{
    lob_volume image;
    if (s->host || s->context.device || lob_session_is_stored(s, path) ||
        !lob_session_peek(s, &image, path))
        return 0;
    const lob_dims dims = image.dims;
    const int64_t each = image.channels * bytes_of(&image) + voxel_bytes;
    /* What was taken when the work failed is still held; a fourth is for what has any size. */
    const int64_t memory = (lob_session_left(s) + s->held - beside) / 4 * 3;
    const int64_t fit = memory / lob_product(dims.nx, dims.ny, each, 1) - 2 * halo;
    return fit > 0 && fit < dims.nz ? (dims.nz + fit - 1) / fit : 0;
}

void lob_slabs_suggest(lob_session *s, const char *path, int64_t halo, int64_t voxel_bytes,
                       int64_t beside)
{
    const int64_t tasks = lob_slabs_tasks(s, path, halo, voxel_bytes, beside);
    if (tasks > 0)
        lob_error_add(&s->error, "; %lld tasks of mpirun or srun would do, or a part (lobule crop)",
                      (long long)tasks);
}

int64_t lob_slabs_sent(const lob_session *s)
{
    return lob_team_size(s->team) > 1 ? s->team->sent : 0;
}

lob_status lob_slabs_report_sent(lob_session *s, int64_t before)
{
    int64_t sent = lob_slabs_sent(s) - before;
    LOB_TRY(lob_team_reduce(s->team, &sent, 1, LOB_TEAM_SUM, &s->error));
    cJSON_AddNumberToObject(s->results, "bytes_over_seams", (double)sent);
    return LOB_OK;
}

lob_status lob_slabs_close(lob_session *s, lob_slabs *w, lob_status st)
{
    empty(s, w);
    lob_session_close(s, &w->file);
    lob_session_close(s, &w->mask_file);
    lob_session_close(s, &w->labels_file);
    return st;
}

/* ---- the labels of all ranks, from those of each ---- */

lob_status lob_slab_copy(lob_session *s, lob_volume *out, const lob_volume *like,
                         const void *voxels, lob_dims dims, const char *path)
{
    const size_t bytes = lob_type_of(like->type)->bytes;
    *out = *like;
    out->header = (lob_header){.bytes = NULL};
    out->names = (lob_label_names){0};
    out->dims = dims;
    out->frames = 1;
    out->data = lob_session_array(s, lob_voxels(out), bytes, path);
    if (!out->data) return LOB_ENOMEM;
    memcpy(out->data, voxels, (size_t)lob_voxels(out) * bytes);
    return LOB_OK;
}

/* The labels of all ranks, in rising order: no voxels yet. */
static lob_status share_labels(lob_session *s, lob_label_set *all, const lob_label_set *own)
{
    const int size = lob_team_size(s->team);
    int64_t most = own->count;
    LOB_TRY(lob_team_reduce(s->team, &most, 1, LOB_TEAM_MAX, &s->error));
    const size_t each = (size_t)most * sizeof(int32_t);
    int32_t *const mine = calloc((size_t)most + 1, sizeof *mine);
    all->values = malloc((size_t)size * each + 1);
    lob_status st = mine && all->values ? LOB_OK : LOB_ENOMEM;
    if (st == LOB_OK && own->count > 0)
        memcpy(mine, own->values, (size_t)own->count * sizeof *mine);
    if (st == LOB_OK) st = lob_team_share(s->team, all->values, mine, (int64_t)each, &s->error);
    free(mine);
    if (st != LOB_OK) return st;
    const int64_t n = size * most;
    qsort(all->values, (size_t)n, sizeof *all->values, lob_by_int32);
    for (int64_t i = 0; i < n; i++) {
        const int32_t value = all->values[i];
        if (value > 0 && (all->count == 0 || value != all->values[all->count - 1]))
            all->values[all->count++] = value;
    }
    all->voxels = calloc((size_t)all->count + 1, sizeof *all->voxels);
    return all->voxels ? LOB_OK : LOB_ENOMEM;
}

/* The slab's labels take the numbers that they have in the whole volume. */
static lob_status renumber(lob_volume *seeds, const lob_label_set *all, const lob_label_set *own)
{
    lob_label_set numbers = {.count = own->count};
    numbers.values = malloc((size_t)own->count * sizeof *numbers.values + 1);
    if (!numbers.values) return LOB_ENOMEM;
    for (int32_t i = 0; i < own->count; i++)
        numbers.values[i] = lob_label_set_find(all, own->values[i]);
    lob_status st = lob_labels_restore(seeds, &numbers);
    if (st == LOB_OK) st = lob_labels_pack(seeds, all->count);
    free(numbers.values);
    return st;
}

lob_status lob_slab_labels(lob_session *s, lob_volume *labels, lob_label_set *all, const char *path)
{
    lob_label_set own = {0};
    lob_status st = lob_grid_dense(s, labels, &own, path);
    if (st == LOB_OK) st = share_labels(s, all, &own);
    if (st == LOB_OK) st = renumber(labels, all, &own);
    lob_label_set_free(&own);
    return st == LOB_ENOMEM ? lob_session_no_memory(s, path) : st;
}
