/*
 * What every command shares: the common options, inputs and outputs that are checked and
 * remembered, progress, cancelling, stage times, the report, and the one line that says what went
 * wrong.
 *
 *     static int run(const lob_command *self, int argc, char **argv)
 *     {
 *         const char *in = NULL;
 *         const lob_option rows[] = {...};
 *         lob_session s;
 *         if (!lob_session_begin(&s, self, rows, LOB_COUNT(rows), argc, argv)) return s.exit_code;
 *         return lob_session_end(&s, work(&s, in));
 *     }
 *
 * Between begin and end, functions return lob_status and leave their line in s.error.
 */
#ifndef LOB_SESSION_H
#define LOB_SESSION_H

#include "tools/session/session_state.h"

/*
 * Parse the arguments and make everything ready: signals, device, report; outputs named in rows are
 * checked (suffix, folder, not there yet, not an input, not named twice) before any work is done.
 *
 *   rows   in  the command's table; must outlive the session
 *   argv   in  argc arguments after the command's name
 *
 * Returns false when the command is over: help or version was printed, or the line that says what
 * is wrong; s->exit_code is then the command's exit code and lob_session_end must not be called.
 */
bool lob_session_begin(lob_session *s, const lob_command *command, const lob_option *rows,
                       size_t count, int argc, char **argv);

/*
 * End the command: remove outputs that a failed command had already made, write the report, print
 * the error line if there is one, and return the exit code. After SIGINT, SIGTERM or SIGHUP it
 * does not return but lets the signal end the process.
 */
int lob_session_end(lob_session *s, lob_status status);

/*
 * Choose the backend by --device and open its device, for commands that can compute on a GPU.
 * "auto" takes the GPU if one works, else the CPU. lob_session_begin does not do this, because
 * opening a GPU takes longer than many commands. Returns LOB_OK, LOB_EDEVICE, LOB_EBUSY or
 * LOB_ENOMEM.
 */
lob_status lob_session_device(lob_session *s);

/*
 * Begin to open the device in a thread, for commands that read inputs before they compute. Between
 * this and lob_session_device, which waits for it, backend and context.device must not be used. A
 * device that cannot be opened is an error before all others, whatever the inputs are. HDF5 is read
 * in a child process, which is not made beside other threads: with such an input the device is
 * opened at once, as in lines of a recipe and scans of a batch.
 */
lob_status lob_session_device_begin(lob_session *s);

/*
 * lob_read with the session's threads and memory limit; the file's description, checksum, times and
 * warnings go to the report, and the warnings are notes too.
 *
 *   frame  in  as in lob_read_options
 */
lob_status lob_session_read(lob_session *s, lob_volume *out, const char *path, int64_t frame);

/*
 * Begin to read, in a thread, what lob_session_read will be asked for: seeds inflate beside the
 * scan. path may be NULL; it is the very string that lob_session_read gets. What cannot be read
 * ahead, for whatever reason, is read then: errors and their order are the same. With --max-memory,
 * which counts one input after the other, nothing is read ahead.
 */
void lob_session_ahead(lob_session *s, const char *path, int64_t frame);

/* lob_session_read for the header alone: out->data stays NULL. info may be NULL. */
lob_status lob_session_read_header(lob_session *s, lob_volume *out, const char *path,
                                   lob_file_info *info);

/*
 * Describe an input that is no volume and was read by other means, with its checksum.
 *
 *   name  in  "RECIPE", its role; NULL: the name of the option or operand that holds this very path
 */
void lob_session_describe(lob_session *s, const char *path, const char *name);

/* The header alone, for an estimate: nothing is reported. false: it cannot be read; then out is
 * empty. */
bool lob_session_peek(const lob_session *s, lob_volume *out, const char *path);

/* Say, before reading, that inputs may be read again after lob_session_forget: a volume in memory
 * that nobody else reads is then not handed over, but copied. */
void lob_session_keep_inputs(lob_session *s);

/* Does the command's table say that this input holds labels: seeds, a mask, a segmentation? */
bool lob_session_is_labels(const lob_session *s, const char *path);

/* Bytes of a volume's voxels; -1 when they do not fit in 64 bits. */
int64_t lob_voxel_bytes(const lob_volume *volume);

/*
 * --max-memory bounds all memory that a command holds at a time: context.max_memory is what is left
 * of it for the next stage. lob_session_read counts the voxels that it reads. Call take before
 * allocating anything else of a volume's size, and give after freeing it.
 *
 *   bytes  in  -1 stands for more than fits in 64 bits
 *   name   in  for the message: the path of the file that needs the memory
 *
 * Returns LOB_OK, or LOB_ENOMEM when less than that is left.
 */
lob_status lob_session_take(lob_session *s, int64_t bytes, const char *name);
void lob_session_give(lob_session *s, int64_t bytes);

/*
 * Start again, after an attempt that ran out of memory and freed what it had read (see
 * lob_session_keep_inputs): no input is reported, no memory is held, there is no error.
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

/* A volume of one channel that is written a few planes at a time. */
typedef struct {
    lob_plane_writer *writer; /* NULL: not begun, or done */
    const lob_volume *volume; /* its data is not read */
    const char *path;
    lob_write_options options;
    double write_s, compress_s;
    char *comment;  /* of options; malloc'ed */
    void *gathered; /* the voxels, where they stay in memory, */
    int64_t held;   /* and what the session holds for them */
} lob_plane_output;

/*
 * lob_plane_writer_begin, _put, _commit and _abort with the session's threads and --force. The
 * output is remembered when it is committed. Whatever begin returned, abort is called in the end;
 * an output of zeros is fine.
 */
lob_status lob_session_planes_begin(lob_session *s, lob_plane_output *out, const lob_volume *volume,
                                    int64_t largest, const char *path, lob_write_options options);
lob_status lob_session_planes_put(lob_session *s, lob_plane_output *out, const void *planes,
                                  int64_t n);
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
lob_status lob_session_write_picture(lob_session *s, const unsigned char *rgb, int width,
                                     int height, const char *path);

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
 */
lob_status lob_session_open(lob_session *s, lob_plane_input *input, const char *path,
                            int64_t frame);

/* lob_planes_get. */
lob_status lob_session_planes(lob_session *s, const lob_plane_input *input, void *out, int64_t z,
                              int64_t n);

/* Close it, and describe it as lob_session_read does. An input that is not open is fine. */
void lob_session_close(lob_session *s, lob_plane_input *input);

/*
 * Put the file's name before what a kernel says, which knows of no files; its hint stays.
 *
 *   other  in  a second file at work; NULL: none
 *
 * Returns st, which may be LOB_OK.
 */
lob_status lob_session_name(lob_session *s, lob_status st, const char *path, const char *other);

/* The line for memory that this file needs and the system does not give. Returns LOB_ENOMEM. */
lob_status lob_session_no_memory(lob_session *s, const char *path);

/* LOB_ECANCEL after SIGINT, SIGTERM or SIGHUP, else LOB_OK; for long work that has no progress
 * callback. */
lob_status lob_session_cancelled(lob_session *s);

/*
 * Tell the user something that is no error: a line on stderr unless --quiet, printed when the
 * command has succeeded, and an entry of the report.
 */
void lob_session_note(lob_session *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One line on stderr with --verbose. */
void lob_session_say(lob_session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Name the work that the progress bar shows ("growing"); a string literal. */
void lob_session_doing(lob_session *s, const char *doing);

/*
 * The time between these two calls is the stage "compute": an algorithm runs, and no file is read
 * or written. With a device, the time of copies to and from it goes to the stages "upload" and
 * "download" instead. When the work fails, the second call is left out.
 *
 *   doing  in  as for lob_session_doing
 */
void lob_session_compute(lob_session *s, const char *doing);
void lob_session_computed(lob_session *s);

/*
 * Add the time since start_s (of lob_clock_s) to a stage of the command's own. Stages follow one
 * another: no second belongs to two.
 *
 *   name  in  a string literal
 */
void lob_session_stage(lob_session *s, const char *name, double start_s);

/* Add seconds that have been measured. */
void lob_session_add(lob_session *s, const char *name, double seconds);

#endif
