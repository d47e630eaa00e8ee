/*
 * What a batch is to do: its scans, and for each the values of the recipe's placeholders.
 *
 * The values come from columns: those of a manifest, a TSV whose first line names them and in whose
 * cells \t, \n, \r and \\ stand for these characters, or, where images are found by a pattern,
 * these:
 *
 *     image   the file
 *     folder  the folders between the pattern's first wildcard and the file; "." where there are
 *             none
 *     stem    the file's name without the suffix of its format
 *     bids    of a name as sub-01_ses-2_T1w, what comes before the last '_'; else the stem. Where
 *             images of one folder would share it, as T1w and T2w, sub-01_ses-2_mod-T1w
 *     scan    folder and stem
 *
 * NAME=PATTERN gives the placeholder NAME the pattern with columns in the places of {column}; it
 * comes before the column NAME, and both before the recipe's default. Where no column is called so,
 * {scan} is the scan's name there and, with --out, {dir} its folder.
 */
#ifndef LOB_BATCH_PLAN_H
#define LOB_BATCH_PLAN_H

#include "tools/recipe/recipe.h"

#include <stdint.h>

/* Cells of text under names; all malloc'ed. */
typedef struct {
    const char *source; /* the manifest, or the pattern, for messages */
    char **names;
    int columns;
    char **cells;  /* a row after the other */
    int64_t *line; /* of the manifest, from 1 */
    int64_t rows;
} lob_columns;

/* Read a manifest. Returns LOB_OK, LOB_ENOINPUT, LOB_EDATA, LOB_EIO or LOB_ENOMEM; on failure out
 * is empty. */
lob_status lob_columns_read(lob_columns *out, const char *path, lob_error *error);

/* The same of the bytes of a manifest. path is its name, and must stay. */
lob_status lob_columns_parse(lob_columns *out, const char *bytes, size_t size, const char *path,
                             lob_error *error);

/* Find images by a pattern with * ? [ and **, which stands for any folders. Returns LOB_OK,
 * LOB_ENOINPUT (there is none) or LOB_ENOMEM; on failure out is empty. */
lob_status lob_columns_find(lob_columns *out, const char *pattern, lob_error *error);

void lob_columns_free(lob_columns *columns);

/* Set the names of columns, or add a row, from copies of n texts. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_columns_name(lob_columns *columns, const char *const *names, int n);
lob_status lob_columns_add(lob_columns *columns, const char *const *cells, int64_t line);

/* The index of a column; -1: there is none. */
int lob_column_of(const lob_columns *columns, const char *name);

/* The cell of a row; NULL: there is no such column. */
const char *lob_columns_cell(const lob_columns *columns, int64_t row, const char *name);

typedef struct {
    char *name;     /* unlike all others */
    char **values;  /* one a placeholder; malloc'ed */
    int64_t bytes;  /* of the files among its values that are there */
    bool elsewhere; /* another shard does it */
} lob_plan_scan;

typedef struct {
    lob_recipe recipe;
    const char *recipe_path; /* for messages and reports */
    bool is_typed;           /* behind "--": messages do not name the recipe's file */
    const char *label;       /* desc-LABEL in the usual names of outputs, as BIDS has them */
    const char *out;         /* --out; NULL: none */
    lob_plan_scan *scans;
    int64_t count;
} lob_batch_plan;

/*
 * The scans of all rows.
 *
 *   plan   out  its recipe and the texts are set before; free with lob_batch_plan_free
 *   given  in   words NAME=PATTERN
 *
 * Returns LOB_OK, LOB_EARG (of the words), LOB_EDATA (of the columns) or LOB_ENOMEM.
 */
lob_status lob_batch_plan_make(lob_batch_plan *plan, const lob_columns *columns,
                               const char *const *given, int given_count, lob_error *error);

void lob_batch_plan_free(lob_batch_plan *plan);

/* The number of scans that this process does, the bytes of their files, and of the largest. */
int64_t lob_batch_plan_here(const lob_batch_plan *plan, int64_t *bytes, int64_t *most);

/* Which shard of how many. */
typedef struct {
    int index, count; /* 1 <= index <= count; 0, 0: all of the batch is done here */
} lob_shard;

/* "3/8", or what Slurm tells a task of an array where text is NULL. Returns LOB_OK or LOB_EARG. */
lob_status lob_shard_parse(lob_shard *out, const char *text, lob_error *error);

/*
 * Mark the scans that other shards do. The shards are balanced by the bytes of their files; the
 * first of them that begins writes the division into folder/shards-of-N.tsv, which all of them keep
 * to.
 *
 * Returns LOB_OK, LOB_EDATA (the division there is one of other scans), LOB_EIO, LOB_ECREATE or
 * LOB_ENOMEM.
 */
lob_status lob_shard_divide(lob_batch_plan *plan, lob_shard shard, const char *folder,
                            lob_error *error);

#endif
