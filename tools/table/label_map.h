/* Tables of labels and what they become: FROM,TO a line, with commas, tabs or semicolons. */
#ifndef LOB_LABEL_MAP_H
#define LOB_LABEL_MAP_H

#include "io/text_rows.h"
#include "kernels/labels/label_steps.h"

/*
 * Read the rules of a table. Its first line may be a header; lines that are empty or begin with '#'
 * are left out; cells may be quoted, and cells after the second are not looked at.
 *
 *   rules  out  *count of them, malloc'ed, in the file's order; NULL on failure
 *   text   in   whatever it holds
 *
 * Returns LOB_OK, LOB_EDATA (the line and what is wrong with it; or there is no rule) or
 * LOB_ENOMEM.
 */
lob_status lob_label_map_parse(lob_labels_rule **rules, int64_t *count, lob_lines *text);

/* The same of a file. Returns besides LOB_ENOINPUT or LOB_EIO. */
lob_status lob_label_map_read(lob_labels_rule **rules, int64_t *count, const char *path,
                              lob_error *error);

#endif
