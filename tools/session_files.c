/* What a session reads and writes: timed, counted against its memory, described in its report. */
#include "io/png.h"
#include "tools/report.h"
#include "tools/session.h"
#include "tools/session_sums.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static lob_status read_volume(lob_session *s, lob_volume *out, const char *path,
                              const lob_read_options *options, lob_file_info *info)
{
    lob_sums_begin(s, path, true, true);
    lob_status st = lob_read(out, path, options, info, &s->error);
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
    return read_volume(s, out, path, &options, &info);
}

lob_status lob_session_read_header(lob_session *s, lob_volume *out, const char *path,
                                   lob_file_info *info)
{
    lob_file_info unasked = {.format = NULL};
    const lob_read_options options = {
        .frame = 0, .threads = s->context.threads, .header_only = true};
    return read_volume(s, out, path, &options, info ? info : &unasked);
}

void lob_session_forget(lob_session *s)
{
    lob_sums_drop(s);
    while (cJSON_GetArraySize(s->inputs) > 0) cJSON_DeleteItemFromArray(s->inputs, 0);
    s->error = (lob_error){.text = ""};
    lob_session_give(s, s->held);
}

lob_status lob_session_open(lob_session *s, lob_plane_input *input, const char *path, int64_t frame)
{
    const lob_read_options options = {
        .frame = frame, .max_memory = s->context.max_memory, .threads = s->context.threads};
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
    return path ? lob_check_volume(volume, path, &s->error) : LOB_OK;
}

lob_status lob_session_make(lob_session *s, const lob_volume *volume, const char *path,
                            lob_make_fn *make, void *user)
{
    char *files[2] = {NULL, NULL};
    lob_status st = lob_session_cancelled(s);
    if (st != LOB_OK) return st;
    if (volume ? lob_files_of(files, path, false) != LOB_OK : !(files[0] = strdup(path)))
        return lob_session_no_memory(s, path);
    bool is_new = true;
    for (int k = 0; k < 2; k++)
        if (files[k] && access(files[k], F_OK) == 0) is_new = false;

    st = make(s, path, user);
    if (st != LOB_OK) { /* nothing under its path is ours */
        lob_files_free(files);
        return st;
    }
    assert(s->outputs_written < LOB_SESSION_OUTPUTS);
    memcpy(s->written[s->outputs_written].files, files, sizeof files);
    s->written[s->outputs_written++].is_new = is_new;
    lob_sums_begin(s, path, volume != NULL, false);
    lob_report_output(s, volume, path);
    return lob_session_cancelled(s);
}

static void add_output_stages(lob_session *s, double start_s, double compress_s)
{
    lob_session_add(s, "compress", compress_s);
    lob_session_add(s, "write", lob_clock_s() - start_s - compress_s);
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

lob_status lob_session_write_with(lob_session *s, const lob_volume *volume, const char *path,
                                  lob_write_options options)
{
    if (!path) return LOB_OK;
    options.force = s->force;
    options.threads = s->context.threads;
    volume_output out = {volume, options};
    return lob_session_make(s, volume, path, make_volume, &out);
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

lob_status lob_session_write(lob_session *s, const lob_volume *volume, const char *path,
                             bool labels)
{
    lob_write_options options = lob_write_defaults();
    options.labels = labels;
    return lob_session_write_with(s, volume, path, options);
}

bool lob_session_is_labels(const lob_session *s, const char *path)
{
    for (size_t i = 0; i < s->table[0].count; i++) {
        const lob_option *row = &s->table[0].rows[i];
        if (row->kind == LOB_OPT_INPUT && row->content == LOB_FILE_LABELS &&
            *(const char **)row->target == path)
            return true;
    }
    return false;
}
