/* The files that a NIfTI volume is read from. */
#ifndef LOB_NIFTI_FILES_H
#define LOB_NIFTI_FILES_H

#include "io/format.h"
#include "io/nifti/nifti_header.h"

#include <stdbool.h>

/* One file, or the two halves of a pair. */
typedef struct {
    const lob_input *header, *image; /* the same in a single file */
    const char *header_path, *image_path;
    lob_input opened; /* whichever of them we opened ourselves */
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
                          const lob_location *where, const lob_input *file,
                          const lob_read_options *options, lob_file_info *info, lob_error *error);

void lob_nifti_close(lob_nifti_files *from);

/* The row's sniff and second_file. */
bool lob_nifti_sniff(const lob_location *where, const lob_input *file);
lob_status lob_nifti_second_file(char **second, const char *file, bool reading);

#endif
