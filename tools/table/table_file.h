/*
 * Tables of numbers as files: TSV in the manner of BIDS (a header row, n/a for what is missing),
 * CSV (nothing for what is missing; ' before a text that a spreadsheet would compute), or JSON (an
 * array of objects with the same names, null for what is missing).
 *
 * In TSV and CSV a number has at most 7 significant digits, but all of its whole part. In JSON, and
 * in columns of keys, it is the shortest text of 15 to 17 digits that reads back as the same
 * double. TSV on a terminal has its columns aligned, and those that fit.
 */
#ifndef LOB_TABLE_FILE_H
#define LOB_TABLE_FILE_H

#include "tools/inout/volumes.h"

typedef struct {
    const char *const *names;           /* one a column */
    int columns;                        /* >= 1 */
    int keys;                           /* columns at the left whose numbers keep all digits */
    const lob_label_names *label_names; /* a column `name` after the first, of what the labels there
                                           are called; NULL or none: there is no such column */
    const char *scan; /* goes into a column `scan` before all others; NULL: there is none */
    int64_t rows;
    /* Fill in row i, NaN for what is missing; false: there is no such row in the table. */
    bool (*row)(double *values, int64_t i, const void *user);
    const void *user;
} lob_table;

/* The option of commands that write tables. */
#define OPT_SCAN_NAME(pointer)                                                                  \
    OPT_TEXT("name", pointer, "NAME",                                                           \
             "a first column, scan, that holds this name in every row, so that tables of many " \
             "scans can be joined")

/*
 * Does a table's name say how it is to be written: .tsv, .csv, .json, or "-" for TSV on standard
 * output? NULL does. Can the scan's name, unless NULL, stand in a line? Returns LOB_OK or LOB_EARG.
 */
lob_status lob_table_check(lob_session *s, const char *path, const char *scan);

/* Write a table, as its name says. Returns LOB_OK, LOB_EEXIST, LOB_ECREATE, LOB_EIO, LOB_ENOMEM or
 * LOB_ECANCEL.
 */
lob_status lob_table_write(lob_session *s, const lob_table *table, const char *path);

#endif
