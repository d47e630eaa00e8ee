/* What a session reads and writes: timed, counted against its memory, described in its report. */
#include "io/passing.h"
#include "io/png.h"
#include "tools/commands/bids/bids_output.h"
#include "tools/commands/nifti_readers.h"
#include "tools/report/report.h"
#include "tools/report/session_provenance.h"
#include "tools/report/session_sums.h"
#include "tools/session/session_ahead.h"
#include "tools/session/session_line.h"
#include "tools/session/session_outputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static lob_status read_volume(lob_session *s, lob_volume *out, const char *path,
                              const lob_read_options *options, lob_file_info *info)
{
    if (!lob_ahead_has(s, path)) lob_sums_begin(s, path, true, true);
    lob_status st = LOB_OK;
    if (options->header_only || !lob_ahead_take(s, out, path, options->frame, info)) {
        st = lob_read(out, path, options, info, &s->error);
        if (st == LOB_ENOMEM && lob_ahead_drop(s)) /* what they hold may be what lacks */
            st = lob_read(out, path, options, info, &s->error);
    }
    if (st != LOB_OK) return st;
    lob_session_add(s, "read", info->read_s);
    lob_session_add(s, "inflate", info->inflate_s);
    lob_report_input(s, out, path, info);
    if (out->data) lob_session_give(s, -lob_voxel_bytes(out));
    st = lob_session_cancelled(s);
    if (st != LOB_OK) lob_volume_free(out);
    return st;
}

lob_status lob_session_read(lob_session *s, lob_volume *out, const char *path, int64_t frame)
{
    lob_file_info info = {.format = NULL};
    const lob_read_options options = {
        .frame = frame, .max_memory = s->context.max_memory, .threads = s->context.threads};
    if (lob_session_checking(s)) return lob_session_checked(s);
    if (lob_session_is_stored(s, path)) return lob_line_read(s, out, path, frame, true);
    lob_status st = LOB_OK;
    if (lob_line_read_kept(s, &st, out, path, frame)) return st;
    st = read_volume(s, out, path, &options, &info);
    if (st == LOB_OK) lob_line_keep(s, out, path, &info);
    return st;
}

lob_status lob_session_read_header(lob_session *s, lob_volume *out, const char *path,
                                   lob_file_info *info)
{
    lob_file_info unasked = {.format = NULL};
    const lob_read_options options = {
        .frame = 0, .threads = s->context.threads, .header_only = true};
    if (!info) info = &unasked;
    if (lob_session_checking(s)) return lob_session_checked(s);
    if (!lob_session_is_stored(s, path)) return read_volume(s, out, path, &options, info);
    *info = (lob_file_info){.format = "memory"};
    return lob_line_read(s, out, path, 0, false);
}

bool lob_session_peek(const lob_session *s, lob_volume *out, const char *path)
{
    const lob_read_options options = {.header_only = true, .threads = 1};
    if (lob_session_is_stored(s, path)) return lob_line_peek(s, out, path);
    return lob_read(out, path, &options, NULL, NULL) == LOB_OK;
}

void lob_session_keep_inputs(lob_session *s)
{
    if (s->command->line) s->command->line->keeps_inputs = true;
}

void lob_session_forget(lob_session *s)
{
    lob_ahead_drop(s);
    lob_sums_drop(s);
    while (cJSON_GetArraySize(s->inputs) > 0) cJSON_DeleteItemFromArray(s->inputs, 0);
    s->error = (lob_error){.text = ""};
    if (s->command->line) lob_store_drop_files(s->command->line->store);
    lob_session_give(s, s->held - lob_session_stored_bytes(s));
}

lob_status lob_session_open(lob_session *s, lob_plane_input *input, const char *path, int64_t frame)
{
    const lob_read_options options = {
        .frame = frame, .max_memory = s->context.max_memory, .threads = s->context.threads};
    if (lob_session_checking(s)) return lob_session_checked(s);
    if (lob_session_is_stored(s, path)) return lob_line_open(s, input, path, frame);
    *input = (lob_plane_input){.path = path};
    lob_sums_begin(s, path, true, true);
    return lob_planes_open(&input->planes, &input->volume, path, &options, &input->info, &s->error);
}

lob_status lob_session_planes(lob_session *s, const lob_plane_input *input, void *out, int64_t z,
                              int64_t n)
{
    const lob_status st = lob_planes_get(input->planes, out, z, n, &s->error);
    return st == LOB_OK ? lob_session_cancelled(s) : st;
}

void lob_session_close(lob_session *s, lob_plane_input *input)
{
    if (!input->planes) return;
    lob_planes_close(input->planes);
    lob_session_add(s, "read", input->info.read_s);
    lob_session_add(s, "inflate", input->info.inflate_s);
    lob_report_input(s, &input->volume, input->path, &input->info);
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

/* The files that a path stands for; false without memory. */
static bool files_of(char *files[2], const char *path, bool is_volume)
{
    if (is_volume) return lob_files_of(files, path, false) == LOB_OK;
    return (files[0] = strdup(path)) != NULL;
}

lob_status lob_session_make(lob_session *s, const lob_volume *volume, const char *path,
                            lob_make_fn *make, void *user)
{
    lob_session_output output = {.path = strdup(path), .is_new = true};
    lob_status st = lob_session_cancelled(s);
    if (st == LOB_OK) st = lob_bids_make_folders(s, path);
    if (st == LOB_OK) st = lob_session_reserve_output(s);
    if (st == LOB_OK && !(output.path && files_of(output.files, path, volume != NULL)))
        st = lob_session_no_memory(s, path);
    for (int k = 0; k < 2; k++)
        if (output.files[k] && access(output.files[k], F_OK) == 0) output.is_new = false;

    if (st == LOB_OK) st = make(s, path, user);
    if (st != LOB_OK) { /* nothing under its path is ours */
        lob_files_free(output.files);
        free(output.path);
        return st;
    }
    s->written[s->outputs_written++] = output;
    lob_sums_begin(s, path, volume != NULL, false);
    lob_report_output(s, volume, path);
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
    while (top->command->line) top = top->command->line->run;
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

lob_status lob_session_write_with(lob_session *s, lob_volume *volume, const char *path,
                                  lob_write_options options)
{
    if (!path) return LOB_OK;
    options.force = s->force;
    options.threads = s->context.threads;
    if (lob_session_is_stored(s, path)) return lob_line_write(s, volume, path, &options);
    char *comment;
    LOB_TRY(lob_provenance_of(s, &comment, path));
    options.comment = comment;
    volume_output out = {volume, options};
    const lob_status st = lob_session_make(s, volume, path, make_volume, &out);
    if (st == LOB_OK) lob_provenance_report(s, comment);
    if (st == LOB_OK) note_shear(s, volume, path);
    free(comment);
    if (st == LOB_OK && options.labels && volume->names.count > 0 &&
        (options.strip_extensions || !lob_keeps_names(path)))
        lob_session_note(
            s,
            "%s: does not hold the names of labels; NIfTI and .seg.nrrd do, and lobule "
            "convert --write-label-table writes them to a file of their own",
            path);
    return st;
}

typedef struct {
    const unsigned char *rgb;
    int width, height;
} picture_output;

static lob_status make_picture(lob_session *s, const char *path, void *user)
{
    const picture_output *out = user;
    const double start_s = lob_clock_s();
    double compress_s = 0;
    const lob_status st = lob_png_write_rgb(path, out->rgb, out->width, out->height, s->force,
                                            &compress_s, &s->error);
    add_output_stages(s, start_s, compress_s);
    return st;
}

lob_status lob_session_write_picture(lob_session *s, const unsigned char *rgb, int width,
                                     int height, const char *path)
{
    picture_output out = {rgb, width, height};
    return lob_session_make(s, NULL, path, make_picture, &out);
}

lob_status lob_session_write(lob_session *s, lob_volume *volume, const char *path, bool labels)
{
    lob_write_options options = lob_write_defaults();
    options.labels = labels;
    return lob_session_write_with(s, volume, path, options);
}

bool lob_session_is_labels(const lob_session *s, const char *path)
{
    for (size_t i = 0; i < s->table[0].count; i++) {
        const lob_option *row = &s->table[0].rows[i];
        const char *named;
        if (!lob_option_reads(row) || row->content != LOB_FILE_LABELS) continue;
        for (int k = 0; (named = lob_option_path(row, k)); k++)
            if (named == path) return true;
    }
    return false;
}

/* ---- by planes ---- */

lob_status lob_session_planes_begin(lob_session *s, lob_plane_output *out, const lob_volume *volume,
                                    int64_t largest, const char *path, lob_write_options options)
{
    const double start_s = lob_clock_s();
    lob_status st;
    options.force = s->force;
    options.threads = s->context.threads;
    *out = (lob_plane_output){.volume = volume, .path = path, .options = options};
    LOB_TRY(lob_provenance_of(s, &out->comment, path));
    out->options.comment = out->comment;
    out->options.compress_s = &out->compress_s;
    if (lob_session_is_stored(s, path)) {
        st = lob_session_take(s, lob_voxel_bytes(volume), path);
        if (st == LOB_OK)
            st = lob_plane_writer_gather(&out->writer, &out->gathered, volume, path, &s->error);
        out->held = st == LOB_OK ? lob_voxel_bytes(volume) : 0;
    } else {
        LOB_TRY(lob_bids_make_folders(s, path));
        st = lob_plane_writer_begin(&out->writer, volume, largest, path, &out->options, &s->error);
    }
    out->write_s += lob_clock_s() - start_s;
    return st;
}

lob_status lob_session_planes_put(lob_session *s, lob_plane_output *out, const void *planes,
                                  int64_t n)
{
    const double start_s = lob_clock_s();
    const lob_status st = lob_plane_writer_put(out->writer, planes, n, &s->error);
    out->write_s += lob_clock_s() - start_s;
    return st;
}

static lob_status commit_planes(lob_session *s, const char *path, void *user)
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

lob_status lob_session_planes_commit(lob_session *s, lob_plane_output *out)
{
    lob_status st;
    if (!lob_session_is_stored(s, out->path)) {
        st = lob_session_make(s, out->volume, out->path, commit_planes, out);
        if (st == LOB_OK) lob_provenance_report(s, out->comment);
        if (st == LOB_OK) note_shear(s, out->volume, out->path);
        return st;
    }
    lob_volume volume = *out->volume;
    st = commit_planes(s, out->path, out);
    if (st != LOB_OK) return st;
    volume.data = out->gathered;
    out->gathered = NULL;
    st = lob_line_write(s, &volume, out->path, &out->options);
    free(volume.data); /* its header belongs to the caller's volume */
    out->held = 0;
    return st;
}

void lob_session_planes_abort(lob_session *s, lob_plane_output *out)
{
    lob_plane_writer_abort(out->writer);
    free(out->gathered);
    free(out->comment);
    lob_session_give(s, out->held);
    *out = (lob_plane_output){.path = NULL};
}
