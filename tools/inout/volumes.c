/* Reading and writing files, and the way to a recipe's memory. */
#include "tools/inout/volumes.h"

#include "io/platform.h"
#include "io/png.h"
#include "tools/inout/nifti_readers.h"
#include "tools/session/host.h"
#include "tools/session/watcher.h"
#include "tools/text/path.h"
#include "volumes/free.h"
#include "volumes/voxel_memory.h"

#include <math.h>
#include <stdlib.h>

static const lob_maker file_maker; /* defined below */

static const lob_maker *maker_of(const lob_session *s, const char *path)
{
    return lob_session_is_stored(s, path) ? s->host->memory : &file_maker;
}

/* ---- reading ---- */

static lob_status read_volume(lob_session *s, lob_volume *out, const char *path,
                              const lob_read_options *options, lob_file_info *info)
{
    if (!lob_ahead_has(s, path)) s->watcher->using(s, path, true, true);
    if (options->header_only || !lob_ahead_take(s, out, path, options->frame, info)) {
        lob_status st = lob_read(out, path, options, info, &s->error);
        if (st == LOB_ENOMEM && lob_ahead_drop(s)) /* what they hold may be what lacks */
            st = lob_read(out, path, options, info, &s->error);
        LOB_TRY(st);
    }
    lob_session_add(s, "read", info->read_s);
    lob_session_add(s, "inflate", info->inflate_s);
    s->watcher->has_read(s, out, path, info, NULL);
    if (out->data) lob_session_hold(s, lob_volume_bytes(out));
    const lob_status st = lob_session_cancelled(s);
    if (st != LOB_OK) lob_volume_free(out);
    return st;
}

/* Also from memory: a recipe keeps voxels of files that later lines read again. */
static lob_status read_file(lob_session *s, lob_volume *out, const char *path, int64_t frame,
                            bool voxels, lob_file_info *info)
{
    const lob_maker *const memory = s->host ? s->host->memory : NULL;
    lob_read_options options = lob_session_read_options(s, voxels ? frame : 0);
    lob_status st;
    options.header_only = !voxels;
    if (!voxels) options.max_memory = 0;
    if (voxels && memory && memory->read_kept(s, &st, out, path, frame)) return st;
    LOB_TRY(read_volume(s, out, path, &options, info));
    if (voxels && memory) memory->keep(s, out, path, info);
    return LOB_OK;
}

static bool peek_file(const lob_session *s, lob_volume *out, const char *path)
{
    lob_read_options options = lob_session_read_options(s, 0);
    options.header_only = true;
    options.max_memory = 0;
    return lob_read(out, path, &options, NULL, NULL) == LOB_OK;
}

lob_status lob_session_read(lob_session *s, lob_volume *out, const char *path, int64_t frame)
{
    lob_file_info info = {.format = NULL};
    return maker_of(s, path)->read(s, out, path, frame, true, &info);
}

lob_status lob_session_read_header(lob_session *s, lob_volume *out, const char *path,
                                   lob_file_info *info)
{
    lob_file_info unasked = {.format = NULL};
    return maker_of(s, path)->read(s, out, path, 0, false, info ? info : &unasked);
}

void lob_volumes_free(lob_volume *const *volumes)
{
    for (; *volumes; volumes++) lob_volume_free(*volumes);
}

bool lob_session_peek_header(const lob_session *s, lob_volume *out, const char *path)
{
    return maker_of(s, path)->peek(s, out, path);
}

bool lob_session_peek(const lob_session *s, lob_volume *out, const char *path)
{
    if (!lob_session_peek_header(s, out, path)) return false;
    lob_volume header = *out;
    out->header = (lob_header){.bytes = NULL};
    out->names = (lob_label_names){0};
    lob_volume_free(&header);
    return true;
}

/* Voxels times channels of an input; INT64_MAX: not known without work. */
static int64_t voxels_of(const lob_session *s, const char *path)
{
    lob_volume header;
    if (lob_is_folder(path) || !lob_session_peek(s, &header, path)) return INT64_MAX;
    return lob_voxels(&header) * header.channels;
}

int64_t lob_session_voxels(const lob_session *s)
{
    int64_t most = 0;
    if (strcmp(s->device.backend, "auto") != 0) return INT64_MAX;
    for (const lob_option *row = NULL; (row = lob_option_next(s->table, 2, row));) {
        const char *path;
        if (!lob_content_is_volume(row->content) || !lob_option_reads(row)) continue;
        for (int k = 0; (path = lob_option_path(row, k)); k++) {
            const int64_t voxels = voxels_of(s, path);
            if (voxels > most) most = voxels;
        }
    }
    return most;
}

void lob_session_forget(lob_session *s)
{
    lob_ahead_drop(s);
    s->watcher->forget(s);
    while (cJSON_GetArraySize(s->inputs) > 0) cJSON_DeleteItemFromArray(s->inputs, 0);
    s->error = (lob_error){.text = ""};
    lob_session_give(s, s->held);
    if (s->host && s->host->spare) s->host->spare(s);
    if (s->host && s->host->held) lob_session_hold(s, s->host->held(s));
}

static lob_status open_file(lob_session *s, lob_plane_input *input, int64_t frame)
{
    const lob_read_options options = lob_session_read_options(s, frame);
    s->watcher->using(s, input->path, true, true);
    return lob_planes_open(&input->planes, &input->volume, input->path, &options, &input->info,
                           &s->error);
}

/* Once all ranks have opened the first volume: which of them have planes of it? */
static lob_status choose_team(lob_session *s, lob_status status, int64_t planes)
{
    if (!s->ranks || s->team) return status;
    LOB_TRY(lob_team_agree(s->ranks, status, &s->error));
    s->team = &s->narrowed;
    s->idle = !lob_team_narrow(s->team, s->ranks, planes);
    return s->idle ? LOB_ECANCEL : LOB_OK;
}

lob_status lob_session_open(lob_session *s, lob_plane_input *input, const char *path, int64_t frame)
{
    *input = (lob_plane_input){.path = path};
    lob_status st = maker_of(s, path)->open(s, input, frame);
    st = choose_team(s, st, input->volume.dims.nz);
    if (st != LOB_OK) lob_session_close(s, input);
    return st;
}

lob_status lob_session_planes(lob_session *s, const lob_plane_input *input, void *out, int64_t z,
                              int64_t n)
{
    LOB_TRY(lob_planes_get(input->planes, out, z, n, &s->error));
    return lob_session_cancelled(s);
}

void lob_session_close(lob_session *s, lob_plane_input *input)
{
    if (!input->planes) return;
    lob_planes_close(input->planes);
    lob_session_add(s, "read", input->info.read_s);
    lob_session_add(s, "inflate", input->info.inflate_s);
    s->watcher->has_read(s, &input->volume, input->path, &input->info, NULL);
    lob_volume_free(&input->volume);
    input->planes = NULL;
}

lob_status lob_session_check(lob_session *s, const lob_volume *like, lob_type type, int channels,
                             const char *path)
{
    const lob_volume kind = {.dims = like->dims, .type = type, .channels = channels, .slope = 1.0};
    return lob_session_check_volume(s, &kind, path);
}

lob_status lob_session_check_volume(lob_session *s, const lob_volume *volume, const char *path)
{
    if (!path || lob_session_is_stored(s, path)) return LOB_OK;
    return lob_check_volume(volume, path, &s->error);
}

lob_status lob_session_make(lob_session *s, const lob_volume *volume, const char *path,
                            lob_make_fn *make, void *user)
{
    LOB_TRY(lob_session_cancelled(s));
    if (lob_team_rank(s->team) > 0) return LOB_OK; /* rank 0 writes */
    LOB_TRY(s->namer->writing(s, path));
    LOB_TRY(lob_session_reserve_output(s));
    lob_session_output output = {.path = strdup(path), .is_new = true};
    const bool named =
        output.path && lob_path_files(output.files, path, volume != NULL, false) == LOB_OK;
    for (int k = 0; k < 2; k++)
        if (output.files[k] && lob_is_there(output.files[k])) output.is_new = false;
    const lob_status st = named ? make(s, path, user) : lob_session_no_memory(s, path);
    if (st != LOB_OK) { /* nothing under its path is ours */
        lob_files_free(output.files);
        free(output.path);
        return st;
    }
    s->written[s->outputs_written++] = output;
    s->watcher->using(s, path, volume != NULL, false);
    s->watcher->written(s, volume, path);
    return lob_session_cancelled(s);
}

static void add_output_stages(lob_session *s, double start_s, double compress_s)
{
    lob_session_add(s, "compress", compress_s);
    lob_session_add(s, "write", lob_clock_s() - start_s - compress_s);
}

/* Once a command: its outputs lie as its image does. */
static void note_shear(lob_session *s, const lob_volume *volume, const char *path)
{
    lob_session *top = s;
    char apart[64] = "refuses it";
    double mm;
    while (top->host && top->host->outer) top = top->host->outer;
    if (top->noted_shear || !lob_nifti_is_sheared(&mm, volume, path)) return;
    top->noted_shear = true;
    if (isfinite(mm)) snprintf(apart, sizeof apart, "places its corners up to %.2g mm off", mm);
    lob_session_note(s,
                     "%s: its axes are not at right angles, and ITK (3D Slicer, SimpleITK, ANTs) "
                     "%s; `lobule resample --like` brings it onto a grid that all read alike",
                     path, apart);
}

/* A volume to be written. */
typedef struct {
    const lob_volume *volume;
    lob_write_options options;
} volume_output;

static lob_status make_volume(lob_session *s, const char *path, void *user)
{
    volume_output *out = user;
    const double start_s = lob_clock_s();
    double compress_s = 0;
    out->options.compress_s = &compress_s;
    const lob_status st = lob_write(out->volume, path, &out->options, &s->error);
    add_output_stages(s, start_s, compress_s);
    return st;
}

/* What an output that is there is missing. */
static void note_written(lob_session *s, const lob_volume *volume, const char *path,
                         const lob_write_options *options)
{
    s->watcher->commented(s, options->comment);
    note_shear(s, volume, path);
    if (options->labels && volume->names.count > 0 &&
        (options->strip_extensions || !lob_keeps_names(path)))
        lob_session_note(
            s,
            "%s: does not hold the names of labels; NIfTI and .seg.nrrd do, and lobule "
            "convert --write-label-table writes them to a file of their own",
            path);
}

static lob_status write_file(lob_session *s, lob_volume *volume, const char *path,
                             lob_write_options *options)
{
    char *comment;
    LOB_TRY(s->watcher->comment(s, &comment, path));
    options->comment = comment;
    volume_output out = {volume, *options};
    const lob_status st = lob_session_make(s, volume, path, make_volume, &out);
    if (st == LOB_OK) note_written(s, volume, path, options);
    free(comment);
    return st;
}

lob_status lob_session_write_with(lob_session *s, lob_volume *volume, const char *path,
                                  lob_write_options options)
{
    if (!path) return LOB_OK;
    options.force = s->force;
    options.threads = s->context.threads;
    const lob_read_options of_scan = lob_session_read_options(s, 0);
    options.series = of_scan.series;
    options.converted = of_scan.converted;
    options.stop = of_scan.stop;
    return maker_of(s, path)->write(s, volume, path, &options);
}

static lob_status make_picture(lob_session *s, const char *path, void *user)
{
    const lob_canvas *const out = user;
    const double start_s = lob_clock_s();
    double compress_s = 0;
    const lob_status st = lob_png_write_rgb(path, out->rgb, out->width, out->height, s->force,
                                            &compress_s, &s->error);
    add_output_stages(s, start_s, compress_s);
    return st;
}

lob_status lob_session_write_picture(lob_session *s, lob_canvas *picture, const char *path)
{
    return lob_session_make(s, NULL, path, make_picture, picture);
}

lob_status lob_session_write(lob_session *s, lob_volume *volume, const char *path, bool labels)
{
    lob_write_options options = lob_write_defaults();
    options.labels = labels;
    return lob_session_write_with(s, volume, path, options);
}

/* ---- by planes ---- */

static lob_status begin_file(lob_session *s, lob_plane_output *out, int64_t largest)
{
    LOB_TRY(s->namer->writing(s, out->path));
    return lob_plane_writer_begin(&out->writer, out->volume, largest, out->path, &out->options,
                                  &s->error);
}

lob_status lob_session_planes_begin(lob_session *s, lob_plane_output *out, const lob_volume *volume,
                                    int64_t largest, const char *path, lob_write_options options)
{
    const double start_s = lob_clock_s();
    options.force = s->force;
    options.threads = s->context.threads;
    *out = (lob_plane_output){.volume = volume, .path = path, .options = options};
    if (lob_team_rank(s->team) > 0) return LOB_OK;
    LOB_TRY(s->watcher->comment(s, &out->comment, path));
    out->options.comment = out->comment;
    out->options.compress_s = &out->compress_s;
    const lob_status st = maker_of(s, path)->begin(s, out, largest);
    out->write_s += lob_clock_s() - start_s;
    return st;
}

/* Write the next planes. */
static lob_status put_next(lob_session *s, lob_plane_output *out, const void *planes, int64_t n)
{
    const double start_s = lob_clock_s();
    const lob_status st = lob_plane_writer_put(out->writer, planes, n, &s->error);
    out->write_s += lob_clock_s() - start_s;
    return st;
}

/* The rank that has this plane. */
static int rank_of(const lob_session *s, int64_t z, int64_t planes)
{
    int64_t first, end = 0;
    int r = -1;
    while (end <= z) lob_team_planes(&first, &end, s->team, ++r, planes);
    return r;
}

static int64_t plane_bytes(const lob_plane_output *out)
{
    const lob_volume *const v = out->volume;
    return v->dims.nx * v->dims.ny * (int64_t)lob_type_of(v->type)->bytes;
}

/* Planes that go to rank 0 at a time: few, for the room that they take there. */
static int64_t planes_at_once(const lob_plane_output *out)
{
    enum { MESSAGE = 1 << 24 }; /* bytes */
    return plane_bytes(out) < MESSAGE ? MESSAGE / plane_bytes(out) : 1;
}

/* The next n planes, of the rank that has them, go to rank 0; the others only learn how many. */
static lob_status put_round(lob_session *s, lob_plane_output *out, const void *planes, int64_t n)
{
    const int64_t nz = out->volume->dims.nz;
    const int from = rank_of(s, out->z % nz, nz), me = s->team->rank;
    int64_t told = me == from ? n : 0;
    LOB_TRY(lob_team_reduce(s->team, &told, 1, LOB_TEAM_MAX, &s->error));
    const int64_t bytes = told * plane_bytes(out);
    out->z += told;
    if (me == 0 && from == 0) return put_next(s, out, planes, told);
    if (me == 0 && !out->room) out->room = lob_voxel_memory(planes_at_once(out) * plane_bytes(out));
    if (me == 0 && !out->room) return lob_session_no_memory(s, out->path);
    const lob_letter letter =
        me == 0 ? (lob_letter){.with = from, .receive = out->room, .receive_bytes = bytes}
                : (lob_letter){.send = planes, .send_bytes = bytes};
    const lob_status st =
        from == 0 ? LOB_OK : lob_team_send(s->team, &letter, me == 0 || me == from, &s->error);
    return st == LOB_OK && me == 0 ? put_next(s, out, out->room, told) : st;
}

/* Take part until it is the turn of this plane. */
static lob_status put_until(lob_session *s, lob_plane_output *out, int64_t z)
{
    while (out->z < z) LOB_TRY(put_round(s, out, NULL, 0));
    return LOB_OK;
}

lob_status lob_session_planes_put(lob_session *s, lob_plane_output *out, const void *planes,
                                  int64_t n)
{
    const int64_t plane = plane_bytes(out), at_once = planes_at_once(out);
    int64_t first, end;
    if (lob_team_size(s->team) == 1) return put_next(s, out, planes, n);
    lob_team_planes(&first, &end, s->team, s->team->rank, out->volume->dims.nz);
    LOB_TRY(put_until(s, out, out->own / (end - first) * out->volume->dims.nz + first));
    out->own += n;
    for (int64_t z = 0; z < n; z += at_once)
        LOB_TRY(
            put_round(s, out, (const char *)planes + z * plane, n - z < at_once ? n - z : at_once));
    return LOB_OK;
}

lob_status lob_planes_finish(lob_session *s, const char *path, void *user)
{
    lob_plane_output *out = user;
    const double start_s = lob_clock_s();
    (void)path;
    const lob_status st = lob_plane_writer_commit(out->writer, &s->error);
    out->writer = NULL;
    lob_session_add(s, "compress", out->compress_s);
    lob_session_add(s, "write", out->write_s + lob_clock_s() - start_s - out->compress_s);
    return st;
}

static lob_status commit_file(lob_session *s, lob_plane_output *out)
{
    LOB_TRY(lob_session_make(s, out->volume, out->path, lob_planes_finish, out));
    note_written(s, out->volume, out->path, &out->options);
    return LOB_OK;
}

lob_status lob_session_planes_settle(lob_session *s, lob_plane_output *out)
{
    if (lob_team_size(s->team) == 1) return LOB_OK;
    return put_until(s, out, out->volume->dims.nz * out->volume->channels);
}

lob_status lob_session_planes_commit(lob_session *s, lob_plane_output *out)
{
    LOB_TRY(lob_session_planes_settle(s, out));
    if (lob_team_rank(s->team) > 0) return LOB_OK;
    return maker_of(s, out->path)->commit(s, out);
}

void lob_session_planes_abort(lob_session *s, lob_plane_output *out)
{
    lob_plane_writer_abort(out->writer);
    LOB_FREE(out->gathered, out->room, out->comment);
    lob_session_give(s, out->held);
    *out = (lob_plane_output){.path = NULL};
}

static const lob_maker file_maker = {.read = read_file,
                                     .peek = peek_file,
                                     .open = open_file,
                                     .write = write_file,
                                     .begin = begin_file,
                                     .commit = commit_file};
