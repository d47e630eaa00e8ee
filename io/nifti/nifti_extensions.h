/* Extensions of NIfTI headers: those that are there, and those that an output gets. */
#ifndef LOB_NIFTI_EXTENSIONS_H
#define LOB_NIFTI_EXTENSIONS_H

#include "io/io.h"

/* Codes of extensions that this library writes. */
enum { LOB_NIFTI_COMMENT = 6, LOB_NIFTI_CARET = 30 };

/* Tell a function the code and size of each, as the fields ext1_code, ext1_size and so on. */
void lob_nifti_list_extensions(const lob_header *header, lob_field_fn *field, void *user);

/*
 * The names of labels that a header's extensions hold, of the first that holds any. out is
 * overwritten; empty on failure. Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_nifti_names(lob_label_names *out, const lob_header *header);

/*
 * What follows the header of an output: the extender, then a table of names and a comment where
 * there are such, then the extensions that the volume carries, byte by byte, but for a table of
 * other names. Ours come first, because nothing is found after an extension that does not parse.
 *
 *   bytes  out  *size of them, LOB_NIFTI_EXTENDER and a multiple of 16, malloc'ed; NULL on failure
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_nifti_extensions(unsigned char **bytes, size_t *size, const lob_volume *volume,
                                const lob_write_options *options);

#endif
