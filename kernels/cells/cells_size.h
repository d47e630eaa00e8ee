/* The size of cells that nobody has given. This header is not installed. */
#ifndef LOB_CELLS_SIZE_H
#define LOB_CELLS_SIZE_H

#include "kernels/cells/cells_job.h"

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
lob_status lob_cells_size(double *size_mm, lob_cells_job *job, lob_cells_voxels *above,
                          const lob_volume *image, bool walls);

#endif
