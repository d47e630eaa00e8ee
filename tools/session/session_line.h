/*
 * The session of a recipe's line. It belongs to the session of the whole recipe: it borrows its
 * device, hands over what was read, written and noted, and leaves its error to it. Volumes under
 * names such as "@smooth" are read from and written to the recipe's store.
 */
#ifndef LOB_SESSION_LINE_H
#define LOB_SESSION_LINE_H

#include "tools/recipe/store.h"
#include "tools/session/session.h"

/* A file or volume in memory that a line names. */
typedef struct {
    char *path;
    const char *option; /* the row's name */
    lob_file_content content;
    bool is_output, was_read;
    const char *typed; /* where it stands in the line's words */
} lob_line_file;

/* A line of a recipe, to be checked or to be run; lob_command.line leads its session here. */
struct lob_line {
    lob_session *run; /* the session of the recipe */
    lob_store *store;
    const char *place; /* "liver.recipe:3" */
    int index, count;  /* of the line, from 0, and of all lines */
    bool checking;     /* parse and check everything, then stop before any work */

    /* what is left behind */
    lob_status status; /* with its text in run->error, unless LOB_OK or LOB_EDIFFER */
    lob_line_file *files;
    int file_count;
    cJSON *report; /* of the line; NULL when it was only checked, or run has no report */

    bool keeps_inputs; /* the line may read its inputs again */
};

/* Free what a line has left behind. */
void lob_line_free(lob_line *line);

/* Is the line's command only checked, not run? Then a session's calls that begin work fail. */
bool lob_session_checking(const lob_session *s);

/* End the check: everything that could be wrong before the work is right. Returns LOB_ECANCEL. */
lob_status lob_session_checked(lob_session *s);

/* Bytes of volumes in memory, which are there beside what the session holds. */
int64_t lob_session_stored_bytes(const lob_session *s);

/* Is this path, in this session, a volume in memory? */
bool lob_session_is_stored(const lob_session *s, const char *path);

/* What the session of a line begins with: the options that were given for the recipe. */
void lob_line_inherit(lob_session *s);

/*
 * Once a line's options are parsed: note its files, keep its memory within the recipe's.
 * Returns LOB_OK, LOB_EARG (a name in memory that is none, or where it cannot stand) or LOB_ENOMEM.
 */
lob_status lob_line_begin(lob_session *s);

/*
 * Remember the report that a line has written as one of its outputs, so that it goes with them if a
 * later line fails. Does nothing outside of recipes.
 *
 *   is_new  in  nothing was under its name before
 */
void lob_line_note_report(lob_session *s, bool is_new);

/*
 * Take over what a finished line has read, written, noted and measured, or its error.
 *
 *   report  in  the line's, or NULL; belongs to the line afterwards
 */
void lob_line_end(lob_session *s, lob_status status, cJSON *report);

/* Take the recipe's device, if this is a line that computes where the recipe does. While it is
 * checked, the recipe only learns that it will be wanted, and this fails. */
bool lob_line_borrow_device(lob_session *s);

/* lob_session_read, _read_header, _open and _write_with for a volume in memory. */
lob_status lob_line_read(lob_session *s, lob_volume *out, const char *path, int64_t frame,
                         bool voxels);
lob_status lob_line_open(lob_session *s, lob_plane_input *input, const char *path, int64_t frame);
lob_status lob_line_write(lob_session *s, lob_volume *volume, const char *path,
                          const lob_write_options *options);

/*
 * Files that several lines read: lob_session_read comes here first, and when it has read one.
 *
 * lob_line_read_kept gives what a line before has read, and describes it as that line did; false:
 * nothing is kept of this file, or there is no memory for a copy of it.
 *
 * lob_line_keep keeps a copy of what has been read, where a line after this will read it and a
 * quarter of the memory holds all that is kept. Whatever the line's algorithm needs beyond the rest
 * makes the recipe start again without (lob_recipe_job_run).
 */
bool lob_line_read_kept(lob_session *s, lob_status *status, lob_volume *out, const char *path,
                        int64_t frame);
void lob_line_keep(lob_session *s, const lob_volume *volume, const char *path,
                   const lob_file_info *info);

/* The header of a volume in memory, without data, for the report of nobody; false: not there. */
bool lob_line_peek(const lob_session *s, lob_volume *out, const char *path);

#endif
