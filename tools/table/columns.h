/* Tables of texts whose first line names their columns: manifests, lists of atlases. */
#ifndef LOB_COLUMNS_H
#define LOB_COLUMNS_H

#include "io/text_rows.h"

/*
 * How a table is read: lob_fields_gap says what parts cells. Lines of an exact one have as many
 * cells as the first, whose names are there and differ; between tabs \t, \n, \r and \\ stand for
 * these characters, else quotes end; on Windows all backslashes become '/'. In a loose one names
 * may be in capitals, what a line lacks is empty, what it has more is left out, and blanks and
 * quotes around a cell are none of its. So are quotes between tabs in an exact one whose first name
 * stands in them, as R writes tables. Lines of blanks and empty cells alone are left out.
 */
typedef enum { LOB_COLUMNS_EXACT, LOB_COLUMNS_LOOSE } lob_columns_rule;

typedef struct {
    const char *source; /* the file, or the pattern that found what is listed, for messages */
    lob_columns_rule rule;
    lob_lines text; /* cut apart: names and cells point into it */
    char gap;       /* what parts its cells */
    bool quoted;    /* tabs do, and cells stand in quotes */
    const char **names;
    int columns;
    const char **cells; /* a row after the other */
    int64_t *line;      /* of the text, from 1 */
    int64_t rows;
} lob_columns;

/*
 * Read a table, or the bytes of one. Its path must stay.
 *
 *   out  out  overwritten, so it must hold nothing; empty on failure
 *
 * Returns LOB_OK, also without rows; LOB_ENOINPUT, LOB_EDATA, LOB_EIO or LOB_ENOMEM.
 */
lob_status lob_columns_read(lob_columns *out, const char *path, lob_columns_rule rule,
                            lob_error *error);
lob_status lob_columns_parse(lob_columns *out, const char *bytes, size_t size, const char *path,
                             lob_columns_rule rule, lob_error *error);
void lob_columns_free(lob_columns *columns);

/* Spreadsheets save a CSV in a code of their own, in which no file would be found: of a loose table
 * who uses a cell checks it; between tabs it may be any bytes. Returns LOB_OK or LOB_EDATA. */
lob_status lob_columns_check_text(const lob_columns *columns, const char *cell, int64_t line,
                                  lob_error *error);

/* The column of a name; -1: there is none. Its cell in a row; NULL likewise. */
int lob_columns_find(const lob_columns *columns, const char *name);
const char *lob_columns_cell(const lob_columns *columns, int64_t row, const char *name);

#endif
