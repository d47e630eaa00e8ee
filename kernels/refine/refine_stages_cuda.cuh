/*
 * The stages of refining on a GPU, as on the CPU.
 *
 *   refine_cuda.cu       the call: memory, labels as they came, smoothing, Gaussians
 *   refine_part_cuda.cu  the part of the volume that holds labels
 *   refine_tidy_cuda.cu  strokes, pieces, holes
 *   refine_edge_cuda.cu  borders that move to where the image changes
 */
#ifndef LOB_REFINE_STAGES_CUDA_CUH
#define LOB_REFINE_STAGES_CUDA_CUH

#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/refine/refine_plan.h"
#include "volumes/labels.h"

namespace lob::refine
{

enum { THREADS = 256 };

/* What kernels count for the host. */
struct counters {
    u64 first[3], last[3]; /* the box of labels; last < first: there are none */
    u64 changed, pieces, filled;
    uint32_t not_finite;
};

/* Arrays on one grid: the whole volume's, or those of its part. */
struct grid {
    lob_dims dims;
    int64_t voxels;
    const void *image, *seeds;
    void *labels; /* worked on in place */
};

/* A call. Arrays of the part are laid out in one block; results of algorithms are beside it. */
struct job {
    const lob_refine_input *in;
    const lob_refine_options *options;
    const lob_context *context;
    lob_device *device;
    lob_device_budget budget;
    lob_refine_stats *stats;
    lob_type type; /* of labels */
    int channels;
    bool several; /* labels beside the background */
    int64_t peak; /* bytes of working memory */

    grid whole, part;
    const void *labels_before; /* of the whole, as they came */

    counters *counts;
    uint8_t *mask;   /* a label's indicator, or where pieces may be */
    float *value;    /* channels * voxels: the image, 0 where it is not finite */
    uint8_t *finite; /* where all channels are */
    float *parts;    /* (channels + 1) * voxels: a label's indicator, and the image where it is */
    uint8_t *flags;  /* of pieces; where parts are */
    float *best;     /* several labels: the largest share or most votes so far */
    void *taken;     /* several labels: whose they are */

    void *block;
    int64_t block_bytes;
    float *mean;   /* channels * voxels: the image, smoothed */
    float *smooth; /* what else was smoothed last, of smooth_bytes */
    void *pieces;  /* found last: numbers, of pieces_bytes */
    int64_t smooth_bytes, pieces_bytes;
};

static inline int64_t type_bytes(lob_type type)
{
    return (int64_t)lob_type_of(type)->bytes;
}

/* The context of an algorithm below, with what is left of the memory. */
lob_context inner_context(const job *j);

/* Count bytes that an algorithm below has worked with. */
static inline void count_inner(job *j, int64_t bytes)
{
    const int64_t all = lob_device_budget_held(&j->budget) + bytes;
    if (all > j->peak) j->peak = all;
}

/* Free an array of the budget, if there is one, and forget it. */
template <typename T> static inline void drop(job *j, T **array, int64_t bytes)
{
    lob_device_budget_free(&j->budget, *array, bytes);
    *array = NULL;
}

/* A volume of the part, in device memory. */
lob_volume on_part(const job *j, const void *data, lob_type type, int channels);

/*
 * Smooth a volume.
 *
 *   smooth  out  as many channels, of the budget
 */
lob_status gaussian(job *j, float **smooth, const lob_volume *image, const uint8_t *mask,
                    double sigma_mm, lob_error *error);

/* Bytes of what is smoothed of so many channels. */
int64_t smooth_bytes(const job *j, int channels);

/* The same into j->smooth, in place of what was there. */
lob_status smooth_next(job *j, const lob_volume *image, const uint8_t *mask, double sigma_mm,
                       lob_error *error);

/* ---- the stages; a void pointer is a job ---- */

/* Find the box to work on; *smaller false: the whole volume. The block of tables holds counters
 * meanwhile. */
lob_status find_part(job *j, lob_box *box, bool *smaller, lob_error *error);

/* Copy image, seeds and labels of a box to the part's arrays, and labels back. */
lob_status copy_part(const job *j, const lob_box *box, lob_error *error);
lob_status put_part(const job *j, const lob_box *box, lob_error *error);

lob_status tidy(void *a_job, lob_error *error);
lob_status edge(void *a_job, lob_error *error);

/* Several labels: what was taken becomes the labels. */
lob_status put_taken(const job *j, lob_error *error);

/* ---- kernels on voxels ---- */

struct voxel_params {
    lob_dims dims;
    int64_t voxels;
    void *labels;
    lob_type type;
    const void *seeds;
    lob_type seeds_type;
    int32_t background, label;
    bool first; /* of several labels */
    counters *counts;
    uint8_t *mask;
    float *best;
    void *taken;
    const float *share;
    const void *pieces;
    lob_type pieces_type;
    uint8_t *flags;
    int64_t pieces_count;
};

typedef void voxel_kernel(voxel_params);

voxel_params params_of(const job *j, const grid &g);

/* Launch a kernel over n items. */
static inline lob_status launch(const job *j, voxel_kernel *kernel, const char *name,
                                const voxel_params &p, int64_t n, lob_error *error)
{
    return lob_launch_over(j->device, kernel, name, n, THREADS, p, error);
}

/* Labels where shares are above 1/2, of one label and the background. */
voxel_kernel *above_half(void);

static __device__ inline int32_t label_at(const voxel_params &p, int64_t i)
{
    return lob_label_at(p.labels, p.type, i);
}

static __device__ inline int32_t seed_at(const voxel_params &p, int64_t i)
{
    return lob_label_at(p.seeds, p.seeds_type, i);
}

static __device__ inline void add_up(u64 *to, u64 mine)
{
    const u64 sum = warp_sum(mine);
    if (threadIdx.x % WARP == 0 && sum) atomicAdd(to, sum);
}

} /* namespace lob::refine */

#endif
