/* The names of .hdr/.img pairs, and the halves of the NIfTI row that live in different files. */
#ifndef LOB_NIFTI_PAIR_H
#define LOB_NIFTI_PAIR_H

#include "io/format.h"

#include <stdbool.h>

/* Is this the name of a pair's header (.hdr, .hdr.gz) or image (.img, .img.gz)? */
bool lob_pair_header(const char *path);
bool lob_pair_image(const char *path);

/*
 * The path of the other half of a pair: hdr for img and back, in the letters' own case; with .gz,
 * or without. malloc'ed; NULL when there is no memory. path is a name of a pair.
 */
char *lob_pair_other(const char *path, bool gz);

/* The row's writing functions; see io/format.h. */
lob_status lob_nifti_write(const lob_volume *volume, const lob_location *where,
                           const lob_write_options *options, lob_error *error);
lob_status lob_nifti_begin_planes(lob_plane_sink *sink, const lob_volume *volume, int64_t largest,
                                  const lob_location *where, const lob_write_options *options,
                                  lob_error *error);
lob_status lob_nifti_check(const lob_location *where, bool force, lob_error *error);

#endif
