/*
 * Volumes and other files that a command reads and writes: timed, counted against its memory, shown
 * to the watcher. They are files, or, in a recipe, volumes in memory (lob_maker, at
 * the end of this header).
 */
#ifndef LOB_INOUT_VOLUMES_H
#define LOB_INOUT_VOLUMES_H

#include "tools/picture/canvas.h"
#include "tools/session/session.h"

/*
 * lob_read with the session's threads and memory limit; the file's description, checksum, times and
 * warnings go to the report, and the warnings are notes too.
 *
 *   frame  in  as in lob_read_options
 */
lob_status lob_session_read(lob_session *s, lob_volume *out, const char *path, int64_t frame);

/*
 * Begin to read, in a thread, the frame that lob_session_read will be asked for: seeds inflate
 * beside the scan. path may be NULL; it is the very string that lob_session_read gets. What cannot
 * be read ahead, for whatever reason, is read then: errors and their order are the same. With
 * --max-memory, which counts one input after the other, nothing is read ahead.
 */
void lob_session_ahead(lob_session *s, const char *path, int64_t frame);

/*
 * What lob_session_ahead has read of a path, waiting for it if need be: the wait is info's
 * inflate_s. Returns false when there is nothing, or it could not be read: lob_read then says why.
 */
bool lob_ahead_take(lob_session *s, lob_volume *out, const char *path, int64_t frame,
                    lob_file_info *info);

/* Is it there, or on its way? */
bool lob_ahead_has(const lob_session *s, const char *path);

/* Wait for all that nobody has taken, and free it. Returns whether there was any. */
bool lob_ahead_drop(lob_session *s);

/* lob_session_read for the header alone: out->data stays NULL. info may be NULL. */
lob_status lob_session_read_header(lob_session *s, lob_volume *out, const char *path,
                                   lob_file_info *info);

/* Values of n of a volume's numbers, from `first` on. */
static inline void lob_volume_values(double *values, const lob_volume *v, int64_t first, int64_t n)
{
    lob_values(values, v->data, v->type, first, n);
    for (int64_t i = 0; i < n; i++) values[i] = v->slope * values[i] + v->inter;
}

/* Free volumes, each of which may be empty. */
#define LOB_VOLUMES_FREE(...) lob_volumes_free((lob_volume *const[]){__VA_ARGS__, NULL})
void lob_volumes_free(lob_volume *const *volumes);

/* The header alone, for an estimate: nothing is reported. false: it cannot be read; then out is
 * empty. */
bool lob_session_peek_header(const lob_session *s, lob_volume *out, const char *path);

/* The same without what needs memory: nothing to free. */
bool lob_session_peek(const lob_session *s, lob_volume *out, const char *path);

/*
 * The most voxels, times channels, that an image or labels among the inputs have by its header, for
 * an estimate; INT64_MAX where one is a folder or cannot be read, or --device is not "auto".
 */
int64_t lob_session_voxels(const lob_session *s);

/*
 * Start again, after an attempt that ran out of memory and freed what it had read (see
 * reads_again of lob_session): no input is reported, no memory is held, there is no error.
 */
void lob_session_forget(lob_session *s);

/*
 * lob_write with the session's threads and --force; remembered for the report and for cleaning up.
 * Does nothing when path is NULL, so that optional outputs need no branch.
 *
 *   volume  in/out  a recipe may keep its voxels in memory: data may be NULL afterwards; the rest
 *                   stays, and is freed as before
 */
lob_status lob_session_write(lob_session *s, lob_volume *volume, const char *path, bool labels);

/* lob_session_write with other options (force and threads are filled in). */
lob_status lob_session_write_with(lob_session *s, lob_volume *volume, const char *path,
                                  lob_write_options options);

/* A volume that is written a few planes at a time, channel after channel. */
typedef struct {
    lob_plane_writer *writer; /* NULL: not begun, or done */
    const lob_volume *volume; /* its data is not read */
    const char *path;
    lob_write_options options;
    double write_s, compress_s;
    char *comment;  /* of options; malloc'ed */
    int64_t z, own; /* with ranks: planes that rank 0 has, and those that this rank has put */
    void *gathered; /* the voxels, where they stay in memory, */
    int64_t held;   /* and what the session holds for them */
    void *room;     /* of rank 0, for planes of the others */
} lob_plane_output;

/*
 * lob_plane_writer_begin, _put, _commit and _abort with the session's threads and --force. The
 * output is remembered when it is committed. Whatever begin returned, abort is called in the end;
 * an output of zeros is fine.
 *
 * With ranks (s->team) each puts the planes of its own, and rank 0 writes them all, rank by rank. A
 * rank that has put them all settles, if it has more to do with its team before it commits.
 */
lob_status lob_session_planes_begin(lob_session *s, lob_plane_output *out, const lob_volume *volume,
                                    int64_t largest, const char *path, lob_write_options options);
lob_status lob_session_planes_put(lob_session *s, lob_plane_output *out, const void *planes,
                                  int64_t n);
lob_status lob_session_planes_settle(lob_session *s, lob_plane_output *out);
lob_status lob_session_planes_commit(lob_session *s, lob_plane_output *out);
void lob_session_planes_abort(lob_session *s, lob_plane_output *out);

/*
 * Check, once the inputs' headers are known and before any work is done, that an output's format
 * can hold what is going to be written: lob_check_volume for a volume of this type and so many
 * channels on the grid of another, without a scale. Does nothing when path is NULL.
 */
lob_status lob_session_check(lob_session *s, const lob_volume *like, lob_type type, int channels,
                             const char *path);

/* The same for a volume whose dims, type, channels, frames and scale say it. */
lob_status lob_session_check_volume(lob_session *s, const lob_volume *volume, const char *path);

/*
 * Call make to write an output, and remember the file for the report and for cleaning up.
 *
 *   volume  in  what the file then holds, for the report; NULL when it is no volume
 *
 * Returns what make does, or LOB_ENOMEM or LOB_ECANCEL.
 */
typedef lob_status lob_make_fn(lob_session *s, const char *path, void *user);
lob_status lob_session_make(lob_session *s, const lob_volume *volume, const char *path,
                            lob_make_fn *make, void *user);

/* lob_png_write_rgb likewise. */
lob_status lob_session_write_picture(lob_session *s, lob_canvas *picture, const char *path);

/* A volume that is read a few planes at a time. */
typedef struct {
    lob_planes *planes; /* NULL: not open */
    lob_volume volume;  /* its data is NULL */
    lob_file_info info;
    const char *path;
} lob_plane_input;

/*
 * lob_planes_open with the session's threads and memory limit. What a plane input holds is small
 * and is not counted against --max-memory. Returns what lob_planes_open does; on failure there is
 * nothing to close.
 *
 * With ranks the first volume that is opened says who has planes (s->team). Those that have none
 * get LOB_ECANCEL, and wait at the command's end.
 */
lob_status lob_session_open(lob_session *s, lob_plane_input *input, const char *path,
                            int64_t frame);

/* lob_planes_get. */
lob_status lob_session_planes(lob_session *s, const lob_plane_input *input, void *out, int64_t z,
                              int64_t n);

/* Close it, and describe it as lob_session_read does. An input that is not open is fine. */
void lob_session_close(lob_session *s, lob_plane_input *input);

/*
 * What makes volumes and takes them: files, or the memory of a recipe. lob_session_read and its
 * like go to the one that a path belongs to.
 */
struct lob_maker {
    /* lob_session_read; voxels false: lob_session_read_header. */
    lob_status (*read)(lob_session *s, lob_volume *out, const char *path, int64_t frame,
                       bool voxels, lob_file_info *info);
    /* lob_session_peek_header. */
    bool (*peek)(const lob_session *s, lob_volume *out, const char *path);
    /* lob_session_open; *input has its path. */
    lob_status (*open)(lob_session *s, lob_plane_input *input, int64_t frame);
    /* lob_session_write_with; force and threads are filled in. */
    lob_status (*write)(lob_session *s, lob_volume *volume, const char *path,
                        lob_write_options *options);
    /* lob_session_planes_begin and _commit; the rest of *out is filled in. */
    lob_status (*begin)(lob_session *s, lob_plane_output *out, int64_t largest);
    lob_status (*commit)(lob_session *s, lob_plane_output *out);

    /*
     * Of memory: files that several lines read. read_kept gives what a line before has read, and
     * describes it as that line did; false: nothing is kept of this file, or there is no memory for
     * a copy. keep is told what a line has read.
     */
    bool (*read_kept)(lob_session *s, lob_status *status, lob_volume *out, const char *path,
                      int64_t frame);
    void (*keep)(lob_session *s, const lob_volume *volume, const char *path,
                 const lob_file_info *info);
};

/* The end of both makers' commit: finish the writer, and time it; user is the lob_plane_output. */
lob_make_fn lob_planes_finish;

/* ---- whether outputs may be made, and their removal when a command fails: outputs.c ---- */

/*
 * Check all of outputs that can be checked before the work. A report of an earlier run is no
 * obstacle: it will be replaced.
 *
 *   skip  out  --skip-existing is given and every output but the report is there; s->error then
 *              holds the line that says so
 *
 * Returns LOB_OK, LOB_EARG, LOB_EEXIST, LOB_ECREATE or LOB_ENOMEM.
 */
lob_status lob_outputs_check(lob_session *s, bool *skip);

/* For --skip-existing: the first output whose files are all there, and the first other one. */
typedef struct {
    const char *found, *missing;
} lob_existing;

/* Look for the files of an output. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_existing_look(lob_existing *e, const char *path, bool is_of_volume);

/* Is there nothing to do, because all are there? Then the error's text says so. Some without the
 * others are an error, because they cannot be of one run. Returns LOB_OK or LOB_EEXIST. */
lob_status lob_existing_judge(const lob_existing *e, bool *skip, lob_error *error);

/* Make room for one more output. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_session_reserve_output(lob_session *s);

/*
 * Would writing to a path change a file of another?
 *
 *   is_of_volume, used_is_of_volume  in  the path may stand for two files, or for a data set in one
 *   reading                          in  the other is read, not written
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_paths_touch(bool *touch, const char *path, bool is_of_volume, const char *used,
                           bool used_is_of_volume, bool reading);

/* Remove what has been written, as lob_outputs_remove does, and forget all of it: it is going to be
 * made again. */
void lob_outputs_forget(lob_session *s);

/* Remove what a failed command wrote, from the report too; what replaced an older file stays. */
void lob_outputs_remove(lob_session *s);

#endif
