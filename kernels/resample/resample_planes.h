/*
 * Linear resampling of a volume that is never there as a whole: its planes come one after the
 * other, and means of what they cover grow. The same bytes as lob_resample_cpu. This header is not
 * installed.
 */
#ifndef LOB_RESAMPLE_PLANES_H
#define LOB_RESAMPLE_PLANES_H

#include "kernels/budget.h"
#include "kernels/resample/resample_voxel.h"

/* Channels that are summed at once. Voxels of a plane have so many or a multiple, one after the
 * other. */
enum { LOB_RESAMPLE_LANES = 8 };

typedef struct {
    lob_resample_map map;
    lob_resample_lines lines;
    int channels, lanes; /* lanes: channels, rounded up to LOB_RESAMPLE_LANES */
    int64_t depth;       /* new planes that one old plane touches, at most */
    int64_t next;        /* the first new plane that is not written */
    double *weight[3];   /* of the window's voxels along each axis: window[axis] for each place */
    int64_t window[3];
    double *sum; /* of a ring of depth new planes: lanes for each voxel, and its sum of weights */
    int64_t bytes[2];
    float *out;
    lob_budget *budget;
} lob_resample_planes;

/*
 * Begin. Free it, also after a failure or where it is not possible.
 *
 *   possible  out  false: the grids are not parallel, axis by axis
 *   out       out  channels * voxels of the new grid
 *   in        in   its volume: dims, geometry and channels of the old grid, no voxels; its values
 *                  are float32 and finite
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_resample_planes_begin(lob_resample_planes *p, bool *possible, float *out,
                                     const lob_resample_input *in, lob_budget *budget,
                                     lob_error *error);

/* Take the next plane along z, nx*ny voxels of `lanes` numbers; what lies beyond channels is not
 * used, but has to be finite. z goes up from 0. */
void lob_resample_planes_add(lob_resample_planes *p, const float *plane, int64_t z, int threads);

void lob_resample_planes_free(lob_resample_planes *p);

#endif
