/*
 * Thin parts of label_steps.h on the GPU. A warp takes 32 voxels of a row; lost ones, which are
 * few, it takes one after the other, and its lanes look around together, a piece of a row at a
 * time, the nearest rows first.
 */
#include "kernels/device/arena.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/labels/majority/majority_cuda.cuh"
#include "kernels/labels/majority/majority_voxel.h"
#include "volumes/labels.h"

namespace lob::labels
{

enum { THIN_THREADS = 256, BRICK = 32 };

typedef struct {
    void *out;
    const void *in;
    lob_type type;
    int32_t side[3], reach[3];
    int32_t words;     /* of a row of bits */
    int64_t rows;      /* ny * nz */
    uint32_t *thin;    /* rows * words bits: which voxels are thin */
    uint8_t *has_thin; /* of each brick of BRICK^3 voxels */
    int32_t bricks[3];
} thin_params;

static int64_t lay_out(thin_params *p, lob_dims dims, void *work)
{
    arena memory(work);
    int64_t bricks = 1;
    for (int a = 0; a < 3; a++) {
        p->side[a] = (int32_t)lob_side(dims, a);
        p->bricks[a] = (p->side[a] + BRICK - 1) / BRICK;
        bricks *= p->bricks[a];
    }
    p->words = p->bricks[0];
    p->rows = dims.ny * dims.nz;
    p->has_thin = memory.take<uint8_t>(bricks);
    p->thin = memory.take<uint32_t>(p->rows * p->words);
    return memory.used;
}

static __device__ int32_t label_of(const void *labels, const thin_params &p, int64_t row, int32_t x)
{
    return lob_label_at(labels, p.type, row * p.side[0] + x);
}

/* A warp's place: a word of a row. */
typedef struct {
    int64_t row;
    int32_t word, y, z;
} place;

static __device__ place place_of(const thin_params &p, int64_t item)
{
    place at;
    at.row = item / p.words;
    at.word = (int32_t)(item % p.words);
    at.z = (int32_t)(at.row / p.side[1]);
    at.y = (int32_t)(at.row % p.side[1]);
    return at;
}

/*
 * Does a voxel of this label lie within the reach that kept it or, with THIN, that is thin? Asked
 * by a warp for one voxel.
 */
template <bool THIN>
static __device__ bool is_near(const thin_params &p, const place &at, int32_t x, int32_t label)
{
    const int lane = (int)threadIdx.x % WARP;
    const int32_t low = max(x - p.reach[0], 0), high = min(x + p.reach[0], p.side[0] - 1);
    for (int32_t k = 0; k <= 2 * p.reach[2]; k++) {
        const int32_t z = at.z + lob_majority_offset(k);
        if (z < 0 || z >= p.side[2]) continue;
        for (int32_t j = 0; j <= 2 * p.reach[1]; j++) {
            const int32_t y = at.y + lob_majority_offset(j);
            if (y < 0 || y >= p.side[1]) continue;
            const int64_t row = (int64_t)z * p.side[1] + y;
            for (int32_t first = low; first <= high; first += WARP) {
                const int32_t i = first + lane;
                bool found = false;
                if (i <= high && label_of(p.in, p, row, i) == label)
                    found = THIN ? p.thin[row * p.words + i / WARP] >> i % WARP & 1
                                 : label_of(p.out, p, row, i) == label;
                if (__any_sync(ALL_LANES, found)) return true;
            }
        }
    }
    return false;
}

/* The lanes whose voxels lost their label. */
static __device__ uint32_t lost_lanes(const thin_params &p, const place &at, int32_t *label)
{
    const int32_t x = at.word * WARP + (int32_t)threadIdx.x % WARP;
    bool lost = false;
    *label = 0;
    if (x < p.side[0]) {
        *label = label_of(p.in, p, at.row, x);
        lost = *label != 0 && label_of(p.out, p, at.row, x) != *label;
    }
    return __ballot_sync(ALL_LANES, lost);
}

static __global__ void __launch_bounds__(THIN_THREADS) find_thin_kernel(thin_params p)
{
    const int lane = (int)threadIdx.x % WARP;
    for (int64_t i = grid_first() / WARP; i < p.rows * p.words; i += grid_step() / WARP) {
        const place at = place_of(p, i);
        int32_t label;
        uint32_t thin = 0;
        for (uint32_t lost = lost_lanes(p, at, &label); lost; lost &= lost - 1) {
            const int one = __ffs((int)lost) - 1;
            const int32_t its = __shfl_sync(ALL_LANES, label, one);
            if (!is_near<false>(p, at, at.word * WARP + one, its)) thin |= 1u << one;
        }
        if (lane != 0) continue;
        p.thin[i] = thin;
        if (thin)
            p.has_thin[((int64_t)(at.z / BRICK) * p.bricks[1] + at.y / BRICK) * p.bricks[0] +
                       at.word] = 1;
    }
}

/* Does a brick that the reach of a warp's voxels touches hold a thin one? */
static __device__ bool thin_brick_near(const thin_params &p, const place &at)
{
    const int32_t x = at.word * WARP;
    const int32_t low[3] = {max(x - p.reach[0], 0) / BRICK, max(at.y - p.reach[1], 0) / BRICK,
                            max(at.z - p.reach[2], 0) / BRICK};
    const int32_t high[3] = {min(x + WARP - 1 + p.reach[0], p.side[0] - 1) / BRICK,
                             min(at.y + p.reach[1], p.side[1] - 1) / BRICK,
                             min(at.z + p.reach[2], p.side[2] - 1) / BRICK};
    for (int32_t k = low[2]; k <= high[2]; k++)
        for (int32_t j = low[1]; j <= high[1]; j++)
            for (int32_t i = low[0]; i <= high[0]; i++)
                if (p.has_thin[((int64_t)k * p.bricks[1] + j) * p.bricks[0] + i]) return true;
    return false;
}

/* What is written here is not looked at by other warps: they look at bits and at the input. */
static __global__ void __launch_bounds__(THIN_THREADS) give_back_kernel(thin_params p)
{
    const int lane = (int)threadIdx.x % WARP;
    for (int64_t i = grid_first() / WARP; i < p.rows * p.words; i += grid_step() / WARP) {
        const place at = place_of(p, i);
        if (!thin_brick_near(p, at)) continue;
        int32_t label;
        const uint32_t lost = lost_lanes(p, at, &label), thin = p.thin[i];
        uint32_t back = thin;
        for (uint32_t rest = lost & ~thin; rest; rest &= rest - 1) {
            const int one = __ffs((int)rest) - 1;
            const int32_t its = __shfl_sync(ALL_LANES, label, one);
            if (is_near<true>(p, at, at.word * WARP + one, its)) back |= 1u << one;
        }
        if (back >> lane & 1)
            lob_label_put(p.out, p.type, at.row * p.side[0] + at.word * WARP + lane, label);
    }
}

int64_t thin_bytes(lob_dims dims)
{
    thin_params unused;
    return lay_out(&unused, dims, NULL);
}

lob_status keep_thin(lob_device *device, void *out, const void *in, lob_type type, lob_dims dims,
                     const int32_t reach[3], void *work, lob_error *error)
{
    thin_params p = {};
    lay_out(&p, dims, work);
    p.out = out;
    p.in = in;
    p.type = type;
    for (int a = 0; a < 3; a++) p.reach[a] = reach[a];
    const int64_t lanes = p.rows * p.words * WARP;
    LOB_TRY(lob_device_fill(device, p.has_thin, 0, (int64_t)p.bricks[0] * p.bricks[1] * p.bricks[2],
                            error));
    LOB_TRY(lob_launch_over(device, find_thin_kernel, "finding thin parts", lanes, THIN_THREADS, p,
                            error));
    return lob_launch_over(device, give_back_kernel, "giving thin parts back", lanes, THIN_THREADS,
                           p, error);
}

} /* namespace lob::labels */
