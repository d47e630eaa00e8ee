/* What GrowCut's host code on the device hands from planning to running. */
#ifndef LOB_GROWCUT_JOB_CUDA_CUH
#define LOB_GROWCUT_JOB_CUDA_CUH

#include "kernels/growcut/growcut_cuda.h"
#include "kernels/growcut/growcut_rule.h"
#include "kernels/levels/levels_cuda.cuh"

/* Planes to grow over together, their levels and rules known. */
typedef struct {
    lob_device *device;
    const lob_growcut_input *in;
    const lob_growcut_options *options;
    const lob_growcut_arrays *arrays;
    const lob_growcut_tuning *tuning;
    const lob_context *context;
    lob_device_image image;
    lob_device_view view;
    int64_t planes;
    const lob_levels *levels;     /* one a plane */
    const lob_growcut_rule *rule; /* one a plane */
    int64_t data_voxels;
    double done_before, done_now; /* this part of the whole */
} growcut_job;

/* What it came to. */
typedef struct {
    int64_t seeds, seeds_outside, reached, ties, working_bytes;
    uint64_t *largest; /* one a plane: cost in units */
    bool overflow;     /* a path's cost did not fit the key */
    int64_t rounds;    /* of options->rounds, those that changed a key */
    bool fixed_point;
    lob_growcut_counts counts;
} growcut_result;

/* Bits that a label needs. */
static inline int label_bits_of(int32_t labels)
{
    int bits = 0;
    while (labels >> bits) bits++;
    return bits;
}

/* Bytes of working memory for planes of these sides, without the rules' tables. */
int64_t lob_growcut_bytes_32(const growcut_job *job);
int64_t lob_growcut_bytes_64(const growcut_job *job);

/* Grow, write what is asked for, with keys of 32 or 64 bits. */
lob_status lob_growcut_run_32(const growcut_job *job, growcut_result *result, lob_error *error);
lob_status lob_growcut_run_64(const growcut_job *job, growcut_result *result, lob_error *error);

#endif
