/*
 * Files that name labels and give them colours, as other programs write and read them:
 *
 *   .ctbl .txt  3D Slicer's colour table: number, name without blanks, R G B A from 0 to 255
 *   .csv        3D Slicer's labels.csv: LabelValue, Name, Color_R, Color_G, Color_B, Color_A and
 *               terminology; with tabs as .tsv it is read too
 *   .label      ITK-SNAP's label descriptions: number, R G B 0..255, A 0..1, two flags, "name"
 *               (recognised under .txt too)
 *   .lut        FreeSurfer's colour table: number, name, R G B A, where A 0 covers
 *   .tsv        BIDS' dseg.tsv: index, name, color (#rrggbb)
 *
 * Only .csv keeps all of a row. The others hold no terminology, .lut and .tsv no opacity, and in
 * .ctbl, .txt and .lut a name's blanks are underscores.
 */
#ifndef LOB_LABEL_TABLE_H
#define LOB_LABEL_TABLE_H

#include "volumes/label_names.h"

LOB_BEGIN_DECLS

/*
 * Read names from the bytes of such a file. Rows of label 0 are left out; of several rows of one
 * label the last counts. Text that is no UTF-8 is taken for Latin-1.
 *
 *   out   out  overwritten; free with lob_label_names_free; empty on failure
 *   text  in   size bytes; they may be anything
 *   name  in   the path, whose suffix names the kind; for messages too
 *
 * Returns LOB_OK, LOB_EARG (no such suffix), LOB_EDATA (the line and what is wrong with it; or no
 * label is named) or LOB_ENOMEM.
 */
lob_status lob_label_table_parse(lob_label_names *out, const char *text, size_t size,
                                 const char *name, lob_error *error);

/* lob_label_table_parse of a file. Returns besides LOB_ENOINPUT or LOB_EIO. */
lob_status lob_label_table_read(lob_label_names *out, const char *path, lob_error *error);

/*
 * Names as the bytes of a file of this name.
 *
 *   text  out  size bytes, malloc'ed; NULL on failure
 *
 * Returns LOB_OK, LOB_EARG (no such suffix) or LOB_ENOMEM.
 */
lob_status lob_label_table_print(char **text, size_t *size, const lob_label_names *names,
                                 const char *name, lob_error *error);

/*
 * Write names as the file's suffix says.
 *
 * Returns LOB_OK, LOB_EARG (no such suffix), LOB_EEXIST (and not force), LOB_ECREATE, LOB_EIO or
 * LOB_ENOMEM.
 */
lob_status lob_label_table_write(const lob_label_names *names, const char *path, bool force,
                                 lob_error *error);

/* Does the path end as one of these kinds does? */
bool lob_is_label_table_name(const char *path);

LOB_END_DECLS

#endif
