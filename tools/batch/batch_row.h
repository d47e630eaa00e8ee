/* The row of a scan: what its lines read and wrote, and what its report says. */
#ifndef LOB_BATCH_ROW_H
#define LOB_BATCH_ROW_H

#include "io/platform.h"
#include "tools/batch/batch_table.h"
#include "tools/recipe/recipe_job.h"

/*
 * The files that a job's lines name, with sizes and times as they are now: inputs that no line
 * makes, or outputs.
 *
 *   out  in/out  what it held is freed
 *
 * Returns LOB_OK or LOB_ENOMEM; out is good for lob_batch_row_free either way.
 */
lob_status lob_batch_files_of(lob_batch_files *out, const lob_recipe_job *job, bool outputs);

/* Does a line of the job before this one make the file? */
bool lob_batch_is_made(const lob_recipe_job *job, int line, const char *path);

/* Checksums, stages, voxels, labels, memory and device from a session that ends and its report,
 * which may be NULL. */
void lob_batch_row_fill(lob_batch_row *row, const lob_session *s, const cJSON *report);

/* The key of a recipe's lines with values in their places. Returns false without memory. */
bool lob_batch_key(char key[LOB_SHA256_TEXT], const lob_recipe *recipe, const char *const *values,
                   const char *series);

/* Has a scan that was done before, by this row, nothing new: the same key, inputs and outputs? */
bool lob_batch_row_holds(const lob_batch_row *row, const char *key);

/* Is the file of a path, or of FILE.h5:/set, there? */
bool lob_batch_stat(lob_about *about, const char *path);

/* Are the outputs of a row, those that are still there, as it has left them? */
bool lob_batch_outputs_hold(const lob_batch_row *row);

#endif
