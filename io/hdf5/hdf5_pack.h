/* Between the two files of the HDF5 writer: what is to be written, and its voxels. */
#ifndef LOB_HDF5_PACK_H
#define LOB_HDF5_PACK_H

#include "io/hdf5/hdf5_parts.h"

enum { LOB_HDF5_SIDES = 5 }; /* t, z, y, x, c */

typedef struct {
    const lob_volume *volume;
    const lob_write_options *options;
    double *compress_s; /* of the outcome */
    lob_type type;      /* as stored: a scaled volume becomes real */
    bool scaled;
    hsize_t extent[LOB_HDF5_SIDES], chunk[LOB_HDF5_SIDES];
    int first, rank; /* of these, the sides that the data set has: t for frames, c for channels */
    unsigned char *nifti; /* header with extensions to be kept, of nifti_bytes; NULL: none */
    size_t nifti_bytes;
} lob_hdf5_target;

/* Work out type, sides and chunks. */
void lob_hdf5_plan(lob_hdf5_target *t, const lob_volume *volume, const lob_write_options *options);

/*
 * Write all chunks, shuffled if a number has several bytes, then deflated, in the order of the
 * file. Returns LOB_OK, LOB_EIO or LOB_ENOMEM.
 */
lob_status lob_hdf5_pack(hid_t set, const lob_hdf5_target *t);

#endif
