/*
 * A recipe at work: its lines with values filled in, checked as a whole, then run one after another
 * in one process, with one device and one store of volumes in memory.
 */
#ifndef LOB_RECIPE_JOB_H
#define LOB_RECIPE_JOB_H

#include "tools/recipe/recipe.h"
#include "tools/recipe/recipe_line.h"

/* A line with its values. */
typedef struct {
    lob_line line;
    lob_command command; /* a copy of the table's row, whose host is this line */
    char **words;        /* the command's name, its arguments, NULL */
    bool *values;        /* of each word: it begins with a value of the recipe */
    int word_count;
    char *place; /* "liver.recipe:3"; "" in a recipe without a file */
} lob_job_line;

typedef struct {
    const char *name; /* of the recipe's file */
    lob_session *run;
    lob_store store;
    lob_job_line *lines;
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
 * Check all of it before any work: the options of every line; that inputs are there, or made by a
 * line before; that outputs may be made; that no two lines write one name; that volumes in memory
 * are made before they are read. Volumes that nobody reads are noted, unless their
 * names begin with "@_".
 *
 *   skip  out  with --skip-existing: every output is there, and run->error says so
 *
 * Returns LOB_OK or the status of what is wrong, with the text in run->error.
 */
lob_status lob_recipe_job_check(lob_recipe_job *job, bool *skip);

/* Check the options of one line, as typed; its files are known then. Returns what is left in
 * line.status. */
lob_status lob_job_line_check(lob_recipe_job *job, lob_job_line *line);

/* The two parts of the check: what the lines' options and names say, which reads no input, and,
 * unless there is nothing to do, the inputs and how the lines fit together. */
lob_status lob_recipe_job_check_options(lob_recipe_job *job, bool *skip);
lob_status lob_recipe_job_check_files(lob_recipe_job *job);

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

/* Replace a word, and the end of one that ends in '=' and it, by another. Returns false without
 * memory. */
bool lob_job_line_replace(lob_job_line *line, const char *word, const char *by);

/* Print the lines as they could be typed in a shell. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_recipe_job_print(const lob_recipe_job *job);

void lob_recipe_job_free(lob_recipe_job *job);

#endif
