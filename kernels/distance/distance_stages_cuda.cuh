/*
 * The stages of a distance transform on the GPU.
 *
 *   distance_cuda.cu        the call: memory, plans, the stages in order
 *   distance_rows_cuda.cu   along x: a bit per voxel of a row, and offsets from bits
 *   distance_lines_cuda.cu  along y and z: least costs of columns in shared memory
 *   distance_search_tmpl.h  the search along a column, as on the CPU
 */
#ifndef LOB_DISTANCE_STAGES_CUDA_CUH
#define LOB_DISTANCE_STAGES_CUDA_CUH

#include "kernels/device/cuda_calls.cuh"
#include "kernels/distance/distance_plan.h"

namespace lob::distance
{

enum { NO_OFFSET_16 = 0xffff };

/* A run's arrays in device memory. */
struct run_arrays {
    lob_distance_plan plan;
    const void *labels;
    int label_bytes;
    uint16_t *offsets; /* after the pass along x */
    uint32_t *voxels;  /* as distance_voxel.h says; in the end floats */
    void *feature;
};

lob_status along_x(lob_device *device, const run_arrays &run, lob_error *error);

/* Pass 0 or 1 of the plan. */
lob_status along_lines(lob_device *device, const run_arrays &run, int pass, lob_error *error);

/* Bytes of working memory. */
int64_t work_bytes(const lob_distance_output *out, int64_t voxels);

/* All of a call whose input has been checked. */
lob_status transform(lob_device *device, const lob_distance_output *out, const void *labels,
                     const lob_distance_input *in, const lob_distance_options *options, void *work,
                     lob_error *error);

} /* namespace lob::distance */

#endif
