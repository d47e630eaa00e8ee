/*
 * NRRD: read and written with directions in space, and 3D Slicer's segmentations.
 *
 * Reading. .nrrd, and .nhdr with one file of voxels in its own folder; raw and gzip; three axes of
 * space or two, one of channels or layers, one of time. A segmentation (.seg.nrrd) becomes a label
 * volume with its names, colours and terminology. Where it has one layer, labels are its own
 * numbers. Where it has several, segment i, from 0, is label i + 1, and where segments overlap, the
 * first one counts (as in 3D Slicer's merged label maps), with a warning.
 *
 * Writing. .nrrd and .seg.nrrd, gzip, space left-posterior-superior. Keys of an input that was NRRD
 * go along, but for those of segments. A .seg.nrrd holds labels: a segment for each label that
 * occurs, with its name and colour, in one layer.
 */
#ifndef LOB_NRRD_H
#define LOB_NRRD_H

#include "io/format.h"

LOB_BEGIN_DECLS

/* Does the name ask for a segmentation? */
bool lob_is_segmentation_name(const char *path);

LOB_END_DECLS

#endif
