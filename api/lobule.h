/*
 * Lobule: cut medical volumes (CT, MRI, microscopy) into labelled regions, on the CPU or a GPU.
 *
 * Results have the same bytes on every backend and at any number of threads. Functions return a
 * lob_status and write one line for a person into a lob_error. They print nothing, never end the
 * process and keep no global state.
 *
 *     const lob_backend *backend;
 *     lob_context context;
 *     lob_error error;
 *     lob_volume scan, labels;
 *     lob_components_input in = {.image = &scan};
 *     lob_components_output found;
 *     lob_components_options options = lob_components_defaults();
 *
 *     lob_backend_open(&backend, &context, "best", &error);
 *     lob_read(&scan, "scan.nii.gz", NULL, NULL, &error);
 *     backend->components(&found, &in, &options, &context, &error);
 *     lob_volume_adopt(&labels, &scan, &found.labels, found.type, 1);
 *     lob_write(&labels, "labels.nii.gz", NULL, &error);
 *
 * (each with its status checked; then lob_components_output_free, lob_volume_free for both volumes
 * and lob_backend_close). A name ends in _empty, _defaults or _open where a value is made, in _free
 * or _close where it is given back. An algorithm NAME has lob_NAME_input, _options, _output and
 * _stats, lob_NAME_defaults() and limits LOB_NAME_MAX_*.
 *
 * Reading order: status.h, volume.h, io.h; context.h, backends.h; then the algorithms. An array may
 * be on the GPU that computes: place.h, arrays.h.
 */
#ifndef LOB_LOBULE_H
#define LOB_LOBULE_H

/* Volumes: voxels, their types, their place in the world, label numbers. */
#include "volumes/crop.h"
#include "volumes/geometry.h"
#include "volumes/label_check.h"
#include "volumes/label_names.h"
#include "volumes/labels.h"
#include "volumes/place.h"
#include "volumes/reorient.h"
#include "volumes/status.h"
#include "volumes/version.h"
#include "volumes/volume.h"
#include "volumes/voxel_type.h"

/* Files: whole volumes, and volumes larger than memory. */
#include "io/io.h"
#include "io/label_table.h"
#include "io/nifti/nifti.h"
#include "io/planes.h"

/* Where to compute. */
#include "kernels/arrays.h"
#include "kernels/backends.h"
#include "kernels/context.h"
#include "kernels/device/device.h"

/* The algorithms of every backend. */
#include "kernels/appearance/appearance.h"
#include "kernels/appearance/strokes.h"
#include "kernels/components/components.h"
#include "kernels/components/components_stream.h"
#include "kernels/distance/distance.h"
#include "kernels/filters/filters.h"
#include "kernels/growcut/growcut.h"
#include "kernels/labels/label_steps.h"
#include "kernels/maxima/maxima.h"
#include "kernels/merge/basins.h"
#include "kernels/morphology/morphology.h"
#include "kernels/refine/refine.h"
#include "kernels/regions/regions.h"
#include "kernels/resample/resample.h"
#include "kernels/supervoxels/supervoxels.h"
#include "kernels/threshold/threshold.h"

/* Whole jobs, which call the algorithms. */
#include "kernels/carry/carry.h"
#include "kernels/cells/cells.h"
#include "kernels/live/grower.h"
#include "kernels/live/segmenter.h"
#include "kernels/segment/segment.h"

/* Algorithms that are called by their names, on the CPU or, where it has one, the context's GPU. */
#include "kernels/fuse/fuse.h"
#include "kernels/register/register.h"

/* Algorithms of the CPU alone. */
#include "kernels/histogram/histogram.h"
#include "kernels/phantom/phantom.h"
#include "kernels/regions/contacts.h"
#include "kernels/regions/shapes.h"
#include "kernels/scores/instances.h"
#include "kernels/scores/overlaps.h"
#include "kernels/scores/partition.h"

#endif
