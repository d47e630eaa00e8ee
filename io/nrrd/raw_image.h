/*
 * Voxels as NRRD and MetaImage hold them: one block of numbers, plain or compressed, whose axes
 * come in an order that the header states.
 */
#ifndef LOB_RAW_IMAGE_H
#define LOB_RAW_IMAGE_H

#include "io/format.h"

/* The axes of a block, as strides count them. */
enum { LOB_RAW_X, LOB_RAW_Y, LOB_RAW_Z, LOB_RAW_CHANNEL, LOB_RAW_FRAME, LOB_RAW_AXES };

typedef struct {
    lob_type type;
    bool swapped;                 /* the other byte order than this machine's */
    bool compressed;              /* gzip or zlib */
    int64_t side[LOB_RAW_AXES];   /* each >= 1 */
    int64_t stride[LOB_RAW_AXES]; /* in numbers; together they cover the block once */
    int64_t skip;                 /* bytes before the block; below 0: all that it leaves */
} lob_raw_image;

/*
 * Read one frame, or all: channel after channel, x fastest, in this machine's byte order. Sets
 * out's data, type, dims, channels, frames and frame.
 *
 *   bytes  in  size of them, from those that are skipped on; what follows the block is a warning
 *
 * Returns LOB_OK, LOB_EDATA (cut short, damaged, no such frame) or LOB_ENOMEM.
 */
lob_status lob_raw_read(lob_volume *out, const lob_raw_image *image, const unsigned char *bytes,
                        size_t size, const lob_reading *r);

/*
 * The file of voxels that a header names: a plain name, in the header's folder.
 *
 *   out   out  open; close it with lob_input_close
 *
 * Returns LOB_OK, LOB_EDATA (not a plain name), LOB_ENOINPUT, LOB_EIO or LOB_ENOMEM.
 */
lob_status lob_raw_open(lob_input *out, const char *header_path, const char *name,
                        lob_error *error);

/*
 * A row's second_file: the file of voxels that a header names.
 *
 *   name_of  in  what a header's bytes name, malloc'ed; NULL where the voxels follow it
 */
typedef char *lob_raw_name_fn(const lob_input *header, const char *path);
lob_status lob_raw_second_file(char **second, const char *file, bool reading,
                               lob_raw_name_fn *name_of);

/*
 * lob_geometry_of_affine that refuses, too, what float32 cannot hold, in which NIfTI keeps lengths:
 * a place beyond LOB_RAW_MOST_MM, and voxels that are larger, or smaller than 1 / LOB_RAW_MOST_MM.
 */
#define LOB_RAW_MOST_MM 1e30
bool lob_raw_geometry(lob_geometry *out, const double affine[3][4]);

#endif
