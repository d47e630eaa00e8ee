/*
 * Text files that people and other programs write: lines, and fields in them. A reader has a copy
 * of the text and cuts it apart in place.
 *
 *     lob_lines t;
 *     LOB_TRY(lob_lines_begin(&t, bytes, size, name, error));
 *     for (char *line; (line = lob_lines_next(&t));) ...
 *     lob_lines_end(&t);
 */
#ifndef LOB_TEXT_ROWS_H
#define LOB_TEXT_ROWS_H

#include "volumes/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *name;
    char *copy, *rest;
    int64_t line; /* number of the last line given, from 1, */
    bool whole;   /* which has an end */
    lob_error *error;
} lob_lines;

/*
 * Begin to read a text; the mark of its byte order, which spreadsheets put first, is left out.
 *
 *   bytes  in  size of them; they may be anything, and are not needed afterwards
 *   name   in  for messages; must stay, as error must
 *
 * Returns LOB_OK, LOB_EDATA (a byte 0) or LOB_ENOMEM; on failure there is nothing to end.
 */
lob_status lob_lines_begin(lob_lines *text, const char *bytes, size_t size, const char *name,
                           lob_error *error);

/* lob_lines_begin with the text of a file; its path is its name. Returns besides LOB_ENOINPUT or
 * LOB_EIO. */
lob_status lob_lines_read(lob_lines *text, const char *path, lob_error *error);

/* The next line without its end, as it stands there; NULL after the last. It may be changed, and
 * stays until lob_lines_end. */
char *lob_lines_raw(lob_lines *text);

/* The next line without its end and the blanks before it; NULL after the last. */
char *lob_lines_next(lob_lines *text);

/* "NAME: line N WHAT". Returns LOB_EDATA. */
lob_status lob_lines_bad(const lob_lines *text, const char *what);

void lob_lines_end(lob_lines *text);

enum { LOB_FIELDS = 512 };

/* A line cut into fields, which point into it; what is beyond LOB_FIELDS of them is left out. */
typedef struct {
    char *field[LOB_FIELDS];
    int count;
    bool open; /* the last one's quote has no end; set by lob_fields_cut */
} lob_fields;

/* What parts the fields of a table whose first line this is: tabs, but where its name ends in .csv
 * commas, else tabs, else semicolons, as spreadsheets write where commas begin decimals. */
char lob_fields_gap(const char *name, const char *line);

/* Cut a line at a character; where that is no tab, quotes hold it and doubled quotes. */
void lob_fields_cut(lob_fields *fields, char *line, char gap);

/* Cut it at blanks; what stands in double quotes is one field. */
void lob_fields_cut_at_blanks(lob_fields *fields, char *line);

/* The field that holds a name, whatever its case; -1: none does. */
int lob_fields_column(const lob_fields *fields, const char *name);

/* The text of a field; empty where the line has none such. */
const char *lob_fields_text(const lob_fields *fields, int field);

/* The first n numbers of a text, with blanks between. False: there are fewer, one is not finite, or
 * text is NULL. */
bool lob_text_numbers(double *out, int n, const char *text);

/* A field as a finite number, or a whole one within bounds; blanks may stand around it. False:
 * there is none. */
bool lob_field_real(double *value, const lob_fields *fields, int field);
bool lob_field_whole(int32_t *value, const lob_fields *fields, int field, int32_t lowest,
                     int32_t highest);

#endif
