/* Passes of Gaussian steps over a volume on the CPU. */
#ifndef LOB_GAUSSIAN_LINES_H
#define LOB_GAUSSIAN_LINES_H

#include "kernels/filters/gaussian/gaussian_plan.h"
#include "kernels/filters/gaussian/gaussian_voxel.h"
#include "kernels/progress.h"

LOB_BEGIN_DECLS

/* Where passes read and write. */
typedef struct {
    const lob_gaussian_source *source;
    const lob_gaussian_finish *finish; /* NULL: the sum is written */
    const float *tables;
    float *out; /* the source's data, where it is written by a single pass along y or z */
    int threads;
    lob_progress *progress; /* counts rows of what is read */
    lob_budget *budget;
} lob_gaussian_job;

/* A pass along one axis. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_gaussian_strips(const lob_gaussian_job *job, const lob_gaussian_pass *pass,
                               lob_error *error);

/* Exact passes along x and along y, plane by plane; either may be NULL. The same bytes as one after
 * the other. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_gaussian_planes(const lob_gaussian_job *job, const lob_gaussian_pass *along_x,
                               const lob_gaussian_pass *along_y, lob_dims dims, lob_error *error);

LOB_END_DECLS

#endif
