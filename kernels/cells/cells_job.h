/*
 * A call of cells.h as its steps see it: what they share. This header is not installed.
 *
 * Voxels between the steps lie where the context computes.
 */
#ifndef LOB_CELLS_JOB_H
#define LOB_CELLS_JOB_H

#include "kernels/arrays.h"
#include "kernels/cells/cells.h"
#include "kernels/cells/cells_voxel.h"
#include "kernels/segment/segment_job.h"
#include "kernels/share.h"

LOB_BEGIN_DECLS

typedef struct {
    lob_segment_job steps; /* backend, context, memory of what lies between the steps */
    lob_error *error;
    lob_share share; /* of the caller's progress: the step at hand's */
    lob_edge edge;   /* of Gaussians */
    bool gaps;       /* voxels of the image that is looked at for a choice may be NaN or infinite */
} lob_cells_job;

lob_cells_job lob_cells_begin(const lob_backend *backend, const lob_context *caller,
                              lob_error *error);

/* The context of a step's call: its progress is a part of the caller's, its memory what is left. */
lob_context lob_cells_context(lob_cells_job *j);

/* Voxels of one channel on an image's grid, where the context computes and counted by the budget;
 * they are not set. */
lob_status lob_cells_make(lob_cells_job *j, lob_volume *out, const lob_volume *image,
                          lob_type type);

/* A pass over voxels. sums: in ordinary memory; NULL: they are not wanted. */
lob_status lob_cells_run(lob_cells_job *j, lob_cells_sums *sums, const lob_cells_pass *pass);

/* The same of one on a GPU, whose sums are those of the pieces; NULL where it has none. */
lob_status lob_cells_pass_cuda(lob_cells_sums *of_piece, const lob_cells_pass *p, int64_t pieces,
                               lob_device *device, lob_budget *budget, lob_error *error);

/* A pass of a kind over so many voxels, its image's where there is one. */
lob_cells_pass lob_cells_pass_of(lob_cells_pass_kind kind, int64_t n, const lob_volume *image);

/* NaN where an image has gaps, if the job's may have some. */
lob_status lob_cells_put_gaps(lob_cells_job *j, const lob_volume *to, const lob_volume *image);

/* Otsu's threshold of an image, and which voxels are above it. */
lob_status lob_cells_split(lob_cells_job *j, lob_volume *above, lob_threshold_stats *stats,
                           const lob_volume *image);

/* Maxima of an image among the voxels of a mask, NULL: of all; both lie where the context
 * computes. */
lob_status lob_cells_maxima(lob_cells_job *j, lob_maxima_output *found, const lob_volume *image,
                            const uint8_t *mask, const lob_maxima_options *options);

/*
 * Run steps on an image, where they begin with a Gaussian with the job's rule for edges.
 *
 *   out    out  float32
 *   image  in   wherever it is
 */
lob_status lob_cells_filter(lob_cells_job *j, lob_volume *out, const lob_volume *image,
                            const lob_filter_step *steps, int count);

/* A Gaussian of so many mm, or a box of this radius, along the axes of an image. */
lob_filter_step lob_cells_along(lob_filter_kind kind, const lob_volume *image, double mm);

/* ---- cells_size.c ---- */

/*
 * Estimate the diameter of a usual cell.
 *
 *   size_mm  out
 *   above    work  a byte a voxel
 *   image    in    where the context computes
 *   walls    in    cells are dark between walls, else bright bodies
 *
 * Working memory is 16 bytes a voxel and that of a filter, threshold, distance or maxima. Returns
 * LOB_OK, LOB_EDATA (the image shows nothing of a size), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_cells_size(double *size_mm, lob_cells_job *job, lob_volume *above,
                          const lob_volume *image, bool walls);

LOB_END_DECLS

#endif
