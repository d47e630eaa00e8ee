/* Volumes in a recipe's memory, and files that several of its lines read. */
#include "io/format.h"
#include "io/passing.h"
#include "tools/recipe/recipe_job.h"
#include "tools/session/watcher.h"

#include <stdlib.h>
#include <string.h>

static lob_store *store_of(const lob_session *s)
{
    return lob_line_of(s)->store;
}

/* The row of a volume that a line before has written. */
static lob_status find_stored(lob_session *s, lob_stored **row, const char *path)
{
    *row = lob_store_find(store_of(s), path);
    if (*row && (*row)->there) return LOB_OK;
    return lob_fail(&s->error, LOB_EINTERNAL, "%s: is not in memory", path);
}

/* The frame that is read, from 0, or LOB_FRAME_ALL. */
static lob_status choose_frame(lob_session *s, int64_t *frame, const lob_stored *row,
                               const char *path)
{
    const lob_read_options options = {.frame = *frame};
    if (*frame == LOB_FRAME_ALL) return LOB_OK;
    return lob_choose_frame(frame, lob_frames_held(&row->volume), path, &options, &s->error);
}

/* Is this the last time that the volume is read? Marks one of the line's inputs as read. */
static bool is_last_read(lob_session *s, const lob_stored *row)
{
    lob_line *const line = lob_line_of(s);
    bool marked = false, again = s->reads_again || row->last != line->host.index;
    for (int i = 0; i < line->file_count; i++) {
        lob_line_file *const file = &line->files[i];
        if (file->is_output || strcmp(file->path, row->name) != 0) continue;
        if (!marked && !file->was_read)
            file->was_read = marked = true;
        else if (!file->was_read)
            again = true;
    }
    return marked && !again;
}

/* Take the volume of a row of the line's own recipe, or copy it, or a frame of it; described as
 * info says. */
static lob_status read_row(lob_session *s, lob_volume *out, lob_store *store, lob_stored *row,
                           const char *path, int64_t frame, bool voxels, const lob_file_info *info)
{
    const double start_s = lob_clock_s();
    *out = lob_volume_empty();
    LOB_TRY(choose_frame(s, &frame, row, path));
    const bool whole = frame == LOB_FRAME_ALL || lob_frames_held(&row->volume) == 1;
    const bool last = voxels && store == store_of(s) && is_last_read(s, row);
    if (last && whole) {
        lob_store_take(store, row, out); /* its bytes count as the line's from now on */
    } else {
        const int64_t share = whole ? 1 : lob_frames_held(&row->volume);
        const int64_t bytes = voxels ? lob_volume_bytes(&row->volume) / share : 0;
        LOB_TRY(lob_session_take(s, bytes, path));
        if (lob_store_copy(out, row, frame, voxels, s->context.threads) != LOB_OK) {
            lob_session_give(s, bytes);
            return lob_session_no_memory(s, path);
        }
    }
    lob_session_stage(s, "read", start_s);
    if (lob_is_kept_file(row)) s->watcher->using(s, path, true, true);
    s->watcher->has_read(s, out, path, info, NULL);
    const lob_status st = lob_session_cancelled(s);
    if (st != LOB_OK) lob_volume_free(out);
    return st;
}

static lob_status read_stored(lob_session *s, lob_volume *out, const char *path, int64_t frame,
                              bool voxels, lob_file_info *info)
{
    lob_stored *row;
    *out = lob_volume_empty();
    *info = (lob_file_info){.format = "memory"};
    LOB_TRY(find_stored(s, &row, path));
    return read_row(s, out, store_of(s), row, path, frame, voxels, info);
}

static bool peek_stored(const lob_session *s, lob_volume *out, const char *path)
{
    const lob_stored *const row = lob_store_find(store_of(s), path);
    return row && row->there && lob_store_copy(out, row, 0, false, 1) == LOB_OK;
}

/* ---- files that several lines read ---- */

/* What is kept of a file, by this recipe or by that whose line runs this one; NULL: nothing. */
static lob_stored *find_kept(const lob_session *s, lob_store **store, const char *path)
{
    for (; s->host && s->host->memory; s = s->host->outer) {
        lob_stored *const row = lob_store_find(store_of(s), path);
        *store = store_of(s);
        if (row && row->there) return row;
    }
    return NULL;
}

static bool read_kept(lob_session *s, lob_status *status, lob_volume *out, const char *path,
                      int64_t frame)
{
    lob_store *store;
    lob_stored *const row = find_kept(s, &store, path);
    if (!row) return false;
    *status = read_row(s, out, store, row, path, frame, true, &row->info);
    if (*status != LOB_ENOMEM) return true;
    s->error = (lob_error){.text = ""};
    lob_session_give(s, row->there ? lob_volume_bytes(&row->volume) : 0);
    lob_store_drop(store, row);
    return false;
}

static void keep(lob_session *s, const lob_volume *volume, const char *path,
                 const lob_file_info *info)
{
    const lob_line *const line = lob_line_of(s);
    lob_stored *const row = lob_store_find(line->store, path);
    const int64_t bytes = lob_volume_bytes(volume);
    if (!row || line->store->keeps_no_files || volume->frames > 1) return;
    if (is_last_read(s, row) || (row->last <= line->host.index && s->reads_again)) return;
    lob_volume copy;
    const lob_stored read = {.volume = *volume};
    /* A quarter of what the line may still take, or of what is free, is for all files. */
    const int64_t left = s->max_memory > 0 ? s->context.max_memory : lob_memory_available();
    if (line->store->kept + bytes > left / 4 ||
        lob_store_copy(&copy, &read, 0, true, s->context.threads) != LOB_OK)
        return;
    row->info = *info;
    lob_store_put(line->store, row, &copy);
    line->store->has_kept = true;
    lob_session_hold(s, bytes);
}

/* ---- planes, and writing ---- */

static lob_status open_stored(lob_session *s, lob_plane_input *input, int64_t frame)
{
    lob_stored *row;
    input->info.format = "memory";
    LOB_TRY(find_stored(s, &row, input->path));
    LOB_TRY(choose_frame(s, &frame, row, input->path));
    if (lob_store_copy(&input->volume, row, frame, false, 1) != LOB_OK)
        return lob_session_no_memory(s, input->path);
    const lob_status st =
        lob_planes_of(&input->planes, &row->volume, frame, input->path, &s->error);
    if (st != LOB_OK) lob_volume_free(&input->volume);
    return st;
}

static lob_status write_stored(lob_session *s, lob_volume *volume, const char *path,
                               lob_write_options *options)
{
    lob_stored *const row = lob_store_find(store_of(s), path);
    lob_volume passed;
    LOB_TRY(lob_session_cancelled(s));
    if (!row) return lob_fail(&s->error, LOB_EINTERNAL, "%s: was not announced", path);
    const double start_s = lob_clock_s();
    LOB_TRY(lob_pass(&passed, volume, path, options, &s->error));
    lob_store_put(store_of(s), row, &passed);
    lob_session_stage(s, "write", start_s);
    s->watcher->written(s, volume, path);
    return lob_session_cancelled(s);
}

static lob_status begin_stored(lob_session *s, lob_plane_output *out, int64_t largest)
{
    const int64_t bytes = lob_volume_bytes(out->volume);
    (void)largest;
    LOB_TRY(lob_session_take(s, bytes, out->path));
    out->held = bytes;
    return lob_plane_writer_gather(&out->writer, &out->gathered, out->volume, out->path, &s->error);
}

static lob_status commit_stored(lob_session *s, lob_plane_output *out)
{
    lob_volume volume = *out->volume;
    LOB_TRY(lob_planes_finish(s, out->path, out));
    volume.data = out->gathered;
    out->gathered = NULL;
    const lob_status st = write_stored(s, &volume, out->path, &out->options);
    free(volume.data); /* its header belongs to the caller's volume */
    out->held = 0;
    return st;
}

const lob_maker lob_recipe_memory = {.read = read_stored,
                                     .peek = peek_stored,
                                     .open = open_stored,
                                     .write = write_stored,
                                     .begin = begin_stored,
                                     .commit = commit_stored,
                                     .read_kept = read_kept,
                                     .keep = keep};
