/*
 * Names of labels as Connectome Workbench keeps them inside NIfTI: an extension (code 30) of XML
 * with a LabelTable, as in GIFTI.
 *
 * Workbench: src/Files/CaretVolumeExtension.cxx, src/Gifti/GiftiLabelTable.cxx. A label's code, of
 * which the format knows nothing, is an attribute Terminology, which other readers pass over.
 */
#ifndef LOB_CARET_LABELS_H
#define LOB_CARET_LABELS_H

#include "volumes/label_names.h"

/*
 * Take the names out of such a text. What is no label table gives none; a label below 1, as
 * Workbench's "???" with 0, is left out.
 *
 *   out   out  overwritten; free with lob_label_names_free; empty on failure
 *   text  in   size bytes; they may be anything
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_caret_labels_parse(lob_label_names *out, const char *text, size_t size);

/* Names as such a text, malloc'ed and ended by a 0, which belongs to the extension; NULL without
 * memory. */
char *lob_caret_labels_print(const lob_label_names *names);

#endif
