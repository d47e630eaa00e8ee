/* Tables for people: columns that stand under each other, as many as a terminal is wide. */
#ifndef LOB_TERMINAL_TABLE_H
#define LOB_TERMINAL_TABLE_H

#include "tools/text/text.h"

/* Columns of the terminal that standard output is; 0: it is none, or that of a task of mpirun. */
int lob_terminal_width(void);

/* The bytes of the first characters of UTF-8, at most so many; *characters: how many there are. */
int lob_first_characters(const char *text, int most, int *characters);

/*
 * Print TSV on standard output, with its columns aligned: numbers to the right, texts to the left,
 * long ones cut; bbox_* and centroid_* behind all others. Columns that do not fit are left out, and
 * a last line says how many these are.
 *
 *   tsv    in  whole lines with as many cells each, the first with names; at most LOB_FIELDS
 *   width  in  >= 1
 *
 * Returns LOB_OK or LOB_ENOMEM; what printing does is for the caller to find out.
 */
lob_status lob_terminal_table(const lob_text *tsv, int width, lob_error *error);

/* Print TSV on standard output, as it is or, if that is a terminal, as above; it is freed.
 * Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_print_table(lob_text *tsv, lob_error *error);

#endif
