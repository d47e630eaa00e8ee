/* An image in device memory, as the kernels see it that turn it into bits. */
#ifndef LOB_COMPONENTS_SCENE_CUDA_CUH
#define LOB_COMPONENTS_SCENE_CUDA_CUH

#include "kernels/components/components_job_cuda.cuh"
#include "kernels/components/components_voxel.h"

typedef struct {
    runs r;
    const void *stored;
    const uint8_t *mask;
    int64_t voxels;
    int channels;
    bool tolerance;
    lob_component_rule rule;
    wide *counts; /* foreground, not finite */
} scene;

/* Which neighbours are joined: the planes of bits, of an image whose foreground is known. */
lob_status lob_joining_compare(joining *j, const scene &s, lob_error *error);

#endif
