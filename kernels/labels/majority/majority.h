/*
 * The majority of label_steps.h: weights, and the filter on the CPU. On a GPU it is
 * majority_cuda.cuh.
 *
 * How it works. Tiles are filtered one by one. A tile whose neighbourhood, the tile and what lies
 * within the radius, holds one label has that label. Otherwise its labels are taken in ascending
 * order: a label's indicator goes through three separable passes, which give its weight at each
 * voxel, and the largest weight so far is kept. Since weights are exact, the weight of the labels
 * still to come is known as well: the last label needs no passes, and a tile is done when no voxel
 * of it can change any more.
 */
#ifndef LOB_MAJORITY_H
#define LOB_MAJORITY_H

#include "kernels/budget.h"
#include "kernels/labels/label_steps.h"

LOB_BEGIN_DECLS

enum {
    LOB_MAJORITY_TAPS = 2 * LOB_LABELS_MAX_RADIUS + 1,
    LOB_MAJORITY_UNIT = 1024 /* sum of a Gaussian's weights along an axis; its cube fits 30 bits */
};

/* Of each axis x, y, z. Products of three sums of weights are at most 2^30. */
typedef struct {
    int32_t radius[3];
    int32_t reach[3];                          /* of thin parts */
    bool keeps_thin;                           /* smooth */
    bool prefers_own;                          /* median: of equal weights, the own label */
    uint32_t weight[3][LOB_MAJORITY_TAPS];     /* 2 radius + 1 of them */
    uint32_t before[3][LOB_MAJORITY_TAPS + 1]; /* sums of the weights before each, and of all */
} lob_majority;

/* The weights of smooth; sigma in voxels, 3 sigma at most LOB_LABELS_MAX_RADIUS. */
void lob_majority_gaussian(lob_majority *m, const double sigma[3]);

/* The weights of median; radii are at most LOB_LABELS_MAX_RADIUS. */
void lob_majority_box(lob_majority *m, const int32_t radius[3]);

/*
 * Filter labels, all of whose axes are at most INT32_MAX voxels.
 *
 *   out  out  nx*ny*nz of type; not in
 *
 * Returns LOB_OK, LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_majority_cpu(void *out, const void *in, lob_type type, lob_dims dims,
                            const lob_majority *m, const lob_context *context, lob_budget *budget,
                            lob_error *error);

/*
 * The last part of it on the CPU: give voxels that the majority took their labels back, where they
 * are thin.
 *
 *   out    in/out  the majority, then with thin parts
 *   in     in      the labels before
 *   reach  in      of thin parts, in voxels
 *
 * Working memory is two bytes a voxel. Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_majority_keep_thin(void *out, const void *in, lob_type type, lob_dims dims,
                                  const int32_t reach[3], int threads, lob_budget *budget,
                                  lob_error *error);

LOB_END_DECLS

#endif
