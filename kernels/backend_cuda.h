/*
 * The algorithms on a GPU, as the table of backends holds them and as they call each other: the
 * contracts of their _cpu, on context->device, which the caller has for himself (lob_device_begin).
 * They return besides LOB_EDEVICE when the device fails or an array is on another GPU, and
 * LOB_ENOMEM when it has less memory than this needs (the message gives both sizes and the number
 * of voxels that would fit).
 *
 * Arrays may be in ordinary memory or on the device, each as its place says. What is on the device
 * is read and written in the order of lob_device_stream.
 */
#ifndef LOB_BACKEND_CUDA_H
#define LOB_BACKEND_CUDA_H

#include "kernels/appearance/appearance.h"
#include "kernels/components/components.h"
#include "kernels/distance/distance.h"
#include "kernels/filters/filters.h"
#include "kernels/growcut/growcut.h"
#include "kernels/growcut/growcut_slabs.h"
#include "kernels/labels/label_steps.h"
#include "kernels/maxima/maxima.h"
#include "kernels/merge/basins.h"
#include "kernels/morphology/morphology.h"
#include "kernels/refine/refine.h"
#include "kernels/regions/regions.h"
#include "kernels/resample/resample.h"
#include "kernels/supervoxels/supervoxels_slabs.h"
#include "kernels/threshold/threshold.h"

LOB_BEGIN_DECLS

__typeof__(lob_appearance_cpu) lob_appearance_cuda;

/* Working memory on the device: 8 bytes a label, and 256 or more a label for the table of pairs. */
__typeof__(lob_basins_cpu) lob_basins_cuda;
__typeof__(lob_components_cpu) lob_components_cuda;

/*
 * Working memory is 2 bytes a voxel, and 4 more without out->distance. LOB_ENOMEM: also where a
 * line along y or z does not fit the shared memory of a multiprocessor, which on Hopper holds 17800
 * voxels at least. Work on arrays of the device may still be under way when this returns.
 */
__typeof__(lob_distance_cpu) lob_distance_cuda;

/*
 * An image of ordinary memory goes through in slabs: while one is computed, the next is uploaded
 * and the one before is downloaded; out->stream has the times. A small image goes through as a
 * whole, and so do a chain that cannot be cut and one that needs percentiles or the noise of an
 * image that the device holds.
 */
__typeof__(lob_filter_cpu) lob_filter_cuda;

/* options->tile has no effect. Working memory: about 6 bytes per voxel with one channel and 32-bit
 * keys. How it works: kernels/growcut/gpu/section_batch_cuda.cuh. */
__typeof__(lob_growcut_cpu) lob_growcut_cuda;

/* Each rank on a lob_device of its own. Not for floods and rounds, which are LOB_EARG. */
__typeof__(lob_growcut_slabs) lob_growcut_slabs_cuda;
__typeof__(lob_labels_cpu) lob_labels_cuda;

/* Heights are the CPU's work: an image of the device is copied for them. */
__typeof__(lob_maxima_cpu) lob_maxima_cuda;

/* Work on arrays of the device may still be under way when this returns. */
__typeof__(lob_morphology_cpu) lob_morphology_cuda;

/*
 * Working memory, for each voxel of the part that is worked on: 10 bytes without edge; with it 10 +
 * 16 for each channel; with several labels beside the background up to 8 more; results of filters
 * and components; and copies as lob_refine_cpu makes them.
 */
__typeof__(lob_refine_cpu) lob_refine_cuda;
__typeof__(lob_regions_cpu) lob_regions_cuda;
__typeof__(lob_resample_cpu) lob_resample_cuda;

/*
 * Working memory is the tables (32 kB for lsc, 132 kB for CIELAB) and the largest of three stages,
 * since a later stage uses the memory of an earlier one again:
 *
 *   iterations  with one channel or three 2.1 bytes per voxel (rows and slices are rounded up to
 *               bricks of 8x8x4 voxels, in slices 16x16); and per cluster 45 bytes + 4 per channel
 *               (lsc: 50 + 8). The array of labels, which is not written before the end, holds the
 *               rest: with three channels the levels of two of them, else the clusters' sums. With
 *               three channels the sums take another 32 bytes per cluster + 8 per channel (lsc: 80
 *               + 16; twice as much with until_still)
 *   fragments   2 bytes per voxel, about 24 bytes per 32 voxels of a row (a row's last ones count
 *               as 32; in all 2.7 bytes per voxel in long rows, 3.3 in rows of 33), and 4 bytes per
 *               provisional number, of which there are somewhat more than fragments
 *   joining     24 bytes per fragment + 12 per channel, and a list of contacts that takes what
 *               these leave of 4 bytes per voxel, at most 2 bytes per voxel. Where they leave less
 *               than half a byte per voxel there is no list, and 8 bytes per fragment + 6 per
 *               channel are enough
 *
 * So with up to five channels it is at most 4 bytes per voxel if a supervoxel has 64 voxels or more
 * (with three channels 75; lsc 150; with until_still 95, lsc 200), unless a volume is thinner than
 * a brick, has rows shorter than 16 voxels or fewer than 250000 voxels, or is so noisy that it has
 * a fragment per 5 voxels (per 7 with three channels, per 10 with five).
 */
__typeof__(lob_supervoxels_cpu) lob_supervoxels_cuda;
__typeof__(lob_supervoxels_slabs) lob_supervoxels_slabs_cuda;
__typeof__(lob_threshold_cpu) lob_threshold_cuda;

LOB_END_DECLS

#endif
