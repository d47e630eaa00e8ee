/* The files of a NIfTI volume: names of .hdr/.img pairs, and what is read; functions of the row. */
#ifndef LOB_NIFTI_FILES_H
#define LOB_NIFTI_FILES_H

#include "io/format.h"
#include "io/nifti/nifti_header.h"

#include <stdbool.h>

/* One file, or the two halves of a pair. */
typedef struct {
    lob_reading header, image; /* the same in a single file */
    lob_input opened;          /* whichever of them we opened ourselves */
    char *opened_path;
} lob_nifti_files;

/*
 * Find and check everything but the voxels, and fill in all of out but its data. With all frames,
 * every frame of every component becomes a component of h.
 *
 *   from  out  to be closed by lob_nifti_close, whatever is returned
 *
 * The rest is as in a row's read.
 */
lob_status lob_nifti_open(lob_nifti_files *from, lob_nifti *h, lob_volume *out,
                          const lob_reading *r);

void lob_nifti_close(lob_nifti_files *from);

/* Is this the name of a pair's header (.hdr, .hdr.gz) or image (.img, .img.gz)? */
bool lob_pair_header(const char *path);
bool lob_pair_image(const char *path);

/*
 * The path of the other half of a pair: hdr for img and back, in the letters' own case; with .gz,
 * or without. malloc'ed; NULL when there is no memory. path is a name of a pair.
 */
char *lob_pair_other(const char *path, bool gz);

/* Of the row; lob_nifti_begin_planes is in nifti_write.c. */
bool lob_nifti_sniff(const lob_location *where, const lob_input *file);
lob_status lob_nifti_second_file(char **second, const char *file, bool reading);
lob_status lob_nifti_begin_planes(lob_plane_sink *sink, const lob_volume *volume, int64_t largest,
                                  const lob_location *where, const lob_write_options *options,
                                  lob_error *error);

#endif
