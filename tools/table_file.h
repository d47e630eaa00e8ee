/*
 * Tables of numbers as files: TSV in the manner of BIDS (a header row, n/a for what is missing), or
 * JSON (an array of objects with the same names, null for what is missing).
 *
 * A number is the shortest text of 15 to 17 digits that reads back as the same double, so equal
 * numbers are equal bytes.
 */
#ifndef LOB_TABLE_FILE_H
#define LOB_TABLE_FILE_H

#include "tools/session.h"

typedef struct {
    const char *const *names; /* one a column */
    int columns;              /* >= 1 */
    int64_t rows;
    /* Fill in row i, NaN for what is missing; false: there is no such row in the table. */
    bool (*row)(double *values, int64_t i, const void *user);
    const void *user;
} lob_table;

/* Does a table's name say how it is to be written: .tsv, .json, or "-" for TSV on standard output?
 * NULL does. Returns LOB_OK or LOB_EARG. */
lob_status lob_table_check(lob_session *s, const char *path);

/* Write a table, as its name says. Returns LOB_OK, LOB_EEXIST, LOB_ECREATE, LOB_EIO, LOB_ENOMEM or
 * LOB_ECANCEL.
 */
lob_status lob_table_write(lob_session *s, const lob_table *table, const char *path);

#endif
