/*
 * What programs make of the two transforms of a NIfTI header: which one they take, and the voxel
 * sizes.
 *
 * ITK: itkNiftiImageIO.cxx since 5.2. nibabel: nifti1.py, get_best_affine and get_base_affine.
 * MRtrix: core/file/nifti_utils.cpp.
 */
#ifndef LOB_NIFTI_READERS_H
#define LOB_NIFTI_READERS_H

#include "volumes/volume.h"

typedef struct {
    const char *program, *transform; /* its name, and which one it takes or why it takes none */
    bool refused;
    lob_geometry geometry; /* world axes to right, anterior, superior; unless refused */
    double spacing[3];     /* as the program gives it */
} lob_nifti_reading;

enum { LOB_NIFTI_READERS = 3 };

typedef struct {
    int qform_code, sform_code;
    double unit_mm; /* what a length of 1 is */
    lob_nifti_reading reading[LOB_NIFTI_READERS];
} lob_nifti_readings;

/* Does the volume carry a NIfTI header that says, by its intent, that it holds labels? */
bool lob_nifti_says_labels(const lob_volume *volume);

/* Fill in what programs make of the volume's header; false where it has none of NIfTI. */
bool lob_nifti_read_as(lob_nifti_readings *out, const lob_volume *volume);

/*
 * Will ITK take a volume otherwise than nibabel once it is written as NIfTI, because its axes are
 * not at right angles? The sform holds them as they are, the qform what is nearest to them.
 *
 *   mm    out  how far apart they place a corner, at the most; infinite where ITK refuses it
 *   path  in   of the output, for its format
 */
bool lob_nifti_is_sheared(double *mm, const lob_volume *volume, const char *path);

#endif
