/*
 * A recipe at work: its lines with values filled in, checked as a whole, then run one after another
 * in one process, with one device and one store of volumes in memory.
 */
#ifndef LOB_RECIPE_JOB_H
#define LOB_RECIPE_JOB_H

#include "tools/inout/volumes.h"
#include "tools/recipe/recipe.h"
#include "tools/recipe/store.h"
#include "tools/session/host.h"

#include <string.h>

/* A file or volume in memory that a line of a recipe names. */
typedef struct {
    char *path;
    const char *option; /* the row's name */
    lob_file_content content;
    bool is_output, was_read;
    const char *typed; /* where it stands in the line's words */
} lob_line_file;

/*
 * A line with its values, as the host of its command's session. The session belongs to that of the
 * whole recipe: it borrows its device, hands over what was read, written and noted, and leaves its
 * error to it. Volumes under names such as "@smooth" are read from and written to the recipe's
 * store.
 */
typedef struct {
    lob_host host; /* first: it leads back here; outer is the session of the recipe */
    lob_store *store;
    lob_command command; /* a copy of the table's row, whose host is this line */
    char **words;        /* the command's name, its arguments, NULL */
    bool *values;        /* of each word: it begins with a value of the recipe */
    int word_count;
    char *place; /* "liver.recipe:3"; "" in a recipe without a file */
    bool force;  /* outputs that are there may be replaced */

    /* what is left behind */
    lob_status
        status; /* with its text in the outer session's error, unless LOB_OK or LOB_EDIFFER */
    lob_line_file *files;
    int file_count;
    cJSON *report; /* of the line; NULL when it was only checked, or the recipe has no report */
} lob_line;

/* The line that is a session's host. */
static inline lob_line *lob_line_of(const lob_session *s)
{
    return (lob_line *)s->host;
}

/* Is it a file, not a volume in memory or standard output? */
static inline bool lob_line_file_is_on_disk(const lob_line_file *file)
{
    return !lob_is_stored_name(file->path) && strcmp(file->path, "-") != 0;
}

/* Make a line, whose words, values and place are there, a host: the index-th, from 0, of count. */
void lob_line_make(lob_line *line, lob_session *run, lob_store *store, int index, int count);

/* Free what a line has left behind. */
void lob_line_free(lob_line *line);

/* Volumes in memory: recipe_volumes.c. */
extern const lob_maker lob_recipe_memory;

typedef struct {
    const char *name; /* of the recipe's file */
    lob_session *run;
    lob_store store;
    lob_line *lines;
    int line_count;
} lob_recipe_job;

/*
 * Fill in values.
 *
 *   out     out  overwritten, so it must hold nothing; to be freed whatever is returned
 *   run     in   the session of the recipe; must outlive the job
 *   recipe  in   parsed; may be freed afterwards
 *   name    in   of its file, for messages; must outlive the job; NULL: it was typed, and its
 *                lines have no place
 *   values  in   recipe->value_count texts
 *
 * Returns LOB_OK, LOB_EARG (a line with an unknown command, or one that cannot stand in a recipe)
 * or LOB_ENOMEM, with the text in run->error.
 */
lob_status lob_recipe_job_make(lob_recipe_job *out, lob_session *run, const lob_recipe *recipe,
                               const char *name, const char *const *values);

/*
 * Check all of it before any work. First what the lines' options and names say, which reads no
 * input: the options of every line, and that outputs may be made. Then, unless there is nothing to
 * do: that inputs are there, or made by a line before; that no two lines write one name; that
 * volumes in memory are made before they are read. Volumes that nobody reads are noted, unless
 * their names begin with "@_".
 *
 *   skip  out  with --skip-existing: every output is there, and run->error says so
 *
 * Returns LOB_OK or the status of what is wrong, with the text in run->error.
 */
lob_status lob_recipe_job_check_options(lob_recipe_job *job, bool *skip);
lob_status lob_recipe_job_check_files(lob_recipe_job *job);

/* Check the options of one line, as typed; its files are known then. Returns what is left in
 * status. */
lob_status lob_line_check(lob_recipe_job *job, lob_line *line);

/* Is a line wrong as it stands, whatever files there are? Returns LOB_EARG, with the text of the
 * first such line in run->error, or LOB_OK. */
lob_status lob_recipe_job_check_usage(lob_recipe_job *job);

/*
 * Run the lines of a job that has been checked; the first that fails ends it. A line whose volumes
 * differ (LOB_EDIFFER) does not fail. What several lines read is read once, where memory allows;
 * when it then is too scarce for a line, they all run again, and each reads for itself.
 *
 * Returns LOB_OK, LOB_EDIFFER or the status of the line that failed, with the text in run->error.
 */
lob_status lob_recipe_job_run(lob_recipe_job *job);

/* The first line from this one on that makes a file or volume in memory; line_count: none does. */
int lob_recipe_job_maker(const lob_recipe_job *job, int from, const char *path);

/* Replace a word, and the end of one that ends in '=' and it, by another. Returns false without
 * memory. */
bool lob_line_replace(lob_line *line, const char *word, const char *by);

/* Print the lines as they could be typed in a shell. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_recipe_job_print(const lob_recipe_job *job);

void lob_recipe_job_free(lob_recipe_job *job);

#endif
