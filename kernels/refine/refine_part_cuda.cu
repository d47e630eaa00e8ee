/* The part of a volume that refining works on: its box, and arrays cut out and put back. */
#include "kernels/refine/refine_stages_cuda.cuh"

namespace lob::refine
{

/* ---- where the labels are ---- */

static __device__ inline void widen(counters *to, int axis, u64 low, u64 high)
{
    if (low < to->first[axis]) atomicMin(&to->first[axis], low);
    if (high > to->last[axis]) atomicMax(&to->last[axis], high);
}

/* A warp takes a row. */
static __global__ void __launch_bounds__(THREADS) box_kernel(voxel_params p)
{
    const int64_t rows = p.dims.ny * p.dims.nz;
    for (int64_t row = grid_first() / WARP; row < rows; row += grid_step() / WARP) {
        u64 low = ~(u64)0, high = 0;
        for (int64_t x = threadIdx.x % WARP; x < p.dims.nx; x += WARP) {
            const int64_t i = row * p.dims.nx + x;
            const int32_t seed = seed_at(p, i);
            if (label_at(p, i) == p.background && (seed == 0 || seed == p.background)) continue;
            if (low == ~(u64)0) low = (u64)x;
            high = (u64)x;
        }
        low = warp_min(low);
        high = warp_max(high);
        if (low == ~(u64)0 || threadIdx.x % WARP != 0) continue;
        widen(p.counts, 0, low, high);
        widen(p.counts, 1, (u64)(row % p.dims.ny), (u64)(row % p.dims.ny));
        widen(p.counts, 2, (u64)(row / p.dims.ny), (u64)(row / p.dims.ny));
    }
}

lob_status find_part(job *j, lob_box *box, bool *smaller, lob_error *error)
{
    counters found = {};
    void *block = NULL;
    const lob_dims d = j->whole.dims;
    *smaller = false;
    LOB_TRY(lob_device_block_take(j->device, LOB_DEVICE_TABLES, &block, sizeof found, error));
    j->counts = (counters *)block;
    for (int a = 0; a < 3; a++) found.first[a] = ~(u64)0;
    LOB_TRY(lob_device_upload(j->device, j->counts, &found, sizeof found, error));
    LOB_TRY(launch(j, box_kernel, "the box of labels", params_of(j, j->whole), d.ny * d.nz * WARP,
                   error));
    LOB_TRY(lob_device_download(j->device, &found, j->counts, sizeof found, error));
    if (found.first[0] == ~(u64)0) return LOB_OK;
    for (int a = 0; a < 3; a++) {
        box->first[a] = (int64_t)found.first[a];
        box->size[a] = (int64_t)(found.last[a] - found.first[a] + 1);
    }
    *smaller = lob_refine_widen(box, j->in->image, j->options);
    return LOB_OK;
}

/* ---- cutting out and putting back ---- */

/* Rows of a box, out of an array of planar channels or back into it. */
struct copy_params {
    void *part, *whole;
    int bytes; /* of a voxel */
    int channels;
    lob_dims dims, size;
    int64_t first[3];
    bool back;
};

template <typename T>
static __device__ inline void copy_voxel(const copy_params &p, int64_t part, int64_t whole)
{
    if (p.back)
        ((T *)p.whole)[whole] = ((const T *)p.part)[part];
    else
        ((T *)p.part)[part] = ((const T *)p.whole)[whole];
}

static __global__ void __launch_bounds__(THREADS) copy_kernel(copy_params p)
{
    const int64_t rows = p.size.ny * p.size.nz;
    for (int64_t at = grid_first() / WARP; at < rows * p.channels; at += grid_step() / WARP) {
        const int64_t y = p.first[1] + at % p.size.ny;
        const int64_t z = p.first[2] + at / p.size.ny % p.size.nz;
        const int64_t from = ((at / rows * p.dims.nz + z) * p.dims.ny + y) * p.dims.nx + p.first[0];
        for (int64_t x = threadIdx.x % WARP; x < p.size.nx; x += WARP) {
            const int64_t i = at * p.size.nx + x;
            if (p.bytes == 1) copy_voxel<uint8_t>(p, i, from + x);
            if (p.bytes == 2) copy_voxel<uint16_t>(p, i, from + x);
            if (p.bytes == 4) copy_voxel<uint32_t>(p, i, from + x);
            if (p.bytes == 8) copy_voxel<uint64_t>(p, i, from + x);
        }
    }
}

static lob_status copy_box(const job *j, const lob_box *box, const void *part, const void *whole,
                           lob_type type, int channels, bool back, lob_error *error)
{
    const lob_dims size = j->part.dims;
    const copy_params p = {
        (void *)part,
        (void *)whole,
        (int)type_bytes(type),
        channels,
        j->whole.dims,
        size,
        {box->first[0], box->first[1], box->first[2]},
        back
    };
    return lob_launch_over(j->device, copy_kernel, "copying a box",
                           size.ny * size.nz * channels * WARP, THREADS, p, error);
}

lob_status copy_part(const job *j, const lob_box *box, lob_error *error)
{
    const lob_refine_input *in = j->in;
    if (j->options->edge > 0)
        LOB_TRY(copy_box(j, box, j->part.image, j->whole.image, in->image->type, j->channels, false,
                         error));
    LOB_TRY(copy_box(j, box, j->part.seeds, j->whole.seeds, in->seeds_type, 1, false, error));
    return copy_box(j, box, j->part.labels, j->whole.labels, j->type, 1, false, error);
}

lob_status put_part(const job *j, const lob_box *box, lob_error *error)
{
    return copy_box(j, box, j->part.labels, j->whole.labels, j->type, 1, true, error);
}

} /* namespace lob::refine */
