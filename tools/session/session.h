/*
 * What a command may ask of its session between check and work: the device, memory, progress,
 * stages, notes, the line that says what went wrong. Reading and writing is in
 * tools/inout/volumes.h. Functions return lob_status and leave their line in s.error.
 */
#ifndef LOB_SESSION_H
#define LOB_SESSION_H

#include "tools/session/session_state.h"
#include "tools/text/json_text.h"
#include "volumes/bytes.h"

/*
 * Choose the backend by --device and open its device, for commands that can compute on a GPU.
 * "auto" takes the GPU if one works and the work is worth it, else the CPU. For a command that has
 * voxel_ns, whoever called it has begun to open the device in a thread, and this waits for it.
 * Returns LOB_OK, LOB_EDEVICE, LOB_EBUSY or LOB_ENOMEM.
 */
lob_status lob_session_device(lob_session *s);

/*
 * Let the CPU serve, for work that no GPU does here; before the device is begun.
 *
 *   what  in  is done on it, as "several tasks grow"
 *
 * Returns LOB_OK, or LOB_EARG where --device asks for a GPU.
 */
lob_status lob_session_cpu_alone(lob_session *s, const char *what);

/* The GPU that this task takes: tasks of one machine take its GPUs in turn, or those whose numbers
 * --device has. -1: none, or "auto" is free to choose. */
int lob_session_gpu(const lob_session *s);

/* How many processes may share this task's GPU: those that take its number, though each may see
 * another GPU under it. 1 for ranks of one process, which lob_device_share bounds. */
int lob_session_gpu_processes(const lob_session *s);

/* How many GPUs --device names by cuda:all or by their numbers; 0: by none of these. */
int lob_session_devices(const lob_session *s);

/*
 * How long a GPU takes to be opened, in seconds. "auto" leaves to the CPU what it does sooner:
 * voxels times lob_command.voxel_ns, shared by all threads. In a recipe the lines so far count
 * together, so that many small ones do get a GPU; one that is open already is used whatever is to
 * do.
 */
#define LOB_OPENING_S 0.2

/*
 * Begin to open the device in a thread, for commands that read inputs before they compute.
 *
 *   voxels  in  of what is to be worked on, as lob_session_voxels has them
 *
 * Between this and lob_session_device, which waits for it, backend and context.device must not be
 * used. A device that cannot be opened is an error before all others, whatever the inputs are.
 * Lines of a recipe open it at once. Of a batch's devices, which are open, a line gets one when it
 * asks: the first that has read its inputs gets the first that is free.
 */
lob_status lob_session_device_begin(lob_session *s, int64_t voxels);

/*
 * Describe an input that is no volume and was read by other means, with its checksum.
 *
 *   name  in  "RECIPE", its role; NULL: the name of the option or operand that holds this very path
 */
void lob_session_describe(lob_session *s, const char *path, const char *name);

/* Is this path a volume in memory, of the recipe around? NULL is none. */
bool lob_session_is_stored(const lob_session *s, const char *path);

/*
 * May the session have threads that outlive a call? Lines of a recipe and scans of a batch share
 * theirs.
 */
bool lob_session_is_threaded(const lob_session *s);

/* Does the command's table say that this input holds labels: seeds, a mask, a segmentation? */
bool lob_session_is_labels(const lob_session *s, const char *path);

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
/* Of --max-memory, what this rank may take: threads that are ranks share it. 0: no limit. */
int64_t lob_session_memory(const lob_session *s);
/* What this process may still take: of --max-memory, or of what is free. */
int64_t lob_session_left(const lob_session *s);
/* Count what is there already: whoever allocated it kept to context.max_memory. */
void lob_session_hold(lob_session *s, int64_t bytes);
void lob_session_give(lob_session *s, int64_t bytes);

/* Take the memory of an array, and allocate it with all bytes 0. Returns it, for free(), or NULL;
 * then the command ends with LOB_ENOMEM. */
void *lob_session_array(lob_session *s, int64_t count, size_t each, const char *name);

/* What options must not say of one another: a row that is wrong is the error LOB_EARG. */
typedef struct {
    bool wrong;
    const char *text;
} lob_rule;
#define LOB_RULES(s, rules) lob_session_rules(s, rules, LOB_COUNT(rules))
lob_status lob_session_rules(lob_session *s, const lob_rule *rules, size_t count);

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

/* That note of voxels that are no numbers, unless count is 0; becomes: "these are background". */
void lob_session_note_not_finite(lob_session *s, const char *path, int64_t count,
                                 const char *becomes);

/* The same as a question, for lob_read_options.stop. */
int lob_session_stops(void *unused);

/* How the session reads: its threads and memory, and of DICOM its series. */
lob_read_options lob_session_read_options(const lob_session *s, int64_t frame);

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

/* The end of an algorithm that returned st: lob_session_computed where it is LOB_OK, else
 * lob_session_name. Returns st. */
lob_status lob_session_done(lob_session *s, lob_status st, const char *path, const char *other);

/*
 * Add the time since start_s (of lob_clock_s) to a stage of the command's own. Stages follow one
 * another: no second belongs to two.
 *
 *   name  in  a string literal
 */
void lob_session_stage(lob_session *s, const char *name, double start_s);

/* Add seconds that have been measured. */
void lob_session_add(lob_session *s, const char *name, double seconds);

/* ---- for those who read, write and call commands ---- */

/* Let SIGINT, SIGTERM and SIGHUP cancel; and, in the end, let the one that did end the process. */
void lob_session_catch_signals(void);
void lob_session_raise(void);

/* Threads that were asked for, below 1: all; ranks inside of one process have their share of these,
 * at least 1. */
int lob_session_threads_due(const lob_session *s);

/* Threads of the session. A recipe's lines run in one thread, whose threads need not be counted
 * again for each. */
int lob_session_threads(const lob_session *s);

/* Now, in UTC: "2024-05-17T09:30:00Z". */
void lob_time_text(char text[32]);

/* The progress callback of a session's context. */
int lob_session_progress(void *session, double done);

/* May this command have the devices of --device? Returns LOB_OK or LOB_EARG. */
lob_status lob_device_check(lob_session *s);

/* Does --device of a line say the same as that of its recipe? */
bool lob_device_is_recipes(const lob_session *s);

/*
 * At the end of a command: wait for a GPU that is still being opened.
 *
 *   status  in  of the command
 *
 * Returns status; or, when the command failed before it asked for the GPU and the GPU could not be
 * opened, what that returned, with its line in s->error: the same line comes first as when it had
 * been opened before anything else. LOB_ECANCEL stays.
 */
lob_status lob_device_settle(lob_session *s, lob_status status);

/*
 * Put the error's parts together, with what to try, into s->failure. The message of a lack of
 * memory says what was left of --max-memory; what the user gave is added.
 */
void lob_session_put_failure(lob_session *s, lob_status st);

/* One line on stderr, whatever the text holds. */
void lob_session_print_line(lob_session *s, const char *text);

/*
 * Notes are printed when the work is done, because a command that fails prints one line only: first
 * the warnings of the inputs, then the command's notes.
 */
void lob_session_print_notes(lob_session *s);

/* What a person at a terminal wants to know in the end: what there is now, and how long it took. */
void lob_session_print_finished(lob_session *s, double seconds);

/* Draw the bar, or tell another program, a few times a second. */
void lob_session_print_progress(lob_session *s, double done);

/* Take the progress bar off the terminal. */
void lob_session_clear_bar(lob_session *s);

/* The host of the outermost session; NULL: that has the process for itself. */
lob_host *lob_session_outermost(const lob_session *s);

/*
 * Flush standard output. Returns LOB_OK, also when its reader has gone, as `head` does when it has
 * seen enough: what is printed from then on is lost, which is no error; or LOB_EIO.
 */
lob_status lob_stdout_end(lob_error *error);

#endif
