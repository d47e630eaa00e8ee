/* Passes over the voxels between the steps of cells.h, on a GPU: a block takes a piece. */
#include "kernels/cells/cells_job.h"
#include "kernels/cells/cells_voxel.h"
#include "kernels/device/cuda_calls.cuh"

namespace lob::cells
{

struct params {
    lob_cells_pass pass;
    lob_cells_sums *of_piece;
    int64_t pieces;
};

/* The lanes' sums go to lane 0. */
template <lob_cells_pass_kind KIND>
static __device__ void join_lanes(lob_cells_sums own, params s, int64_t piece)
{
    __shared__ lob_cells_sums lane[LOB_CELLS_LANES];
    const int t = (int)threadIdx.x;
    lane[t] = own;
    for (int apart = LOB_CELLS_LANES / 2; apart > 0; apart /= 2) {
        __syncthreads();
        if (t < apart) lob_cells_join(KIND, &lane[t], &lane[t + apart]);
    }
    if (t == 0) s.of_piece[piece] = lane[0];
    __syncthreads();
}

template <lob_cells_pass_kind KIND>
static __global__ void __launch_bounds__(LOB_CELLS_LANES) pass_kernel(params s)
{
    for (int64_t k = blockIdx.x; k < s.pieces; k += gridDim.x) {
        const int64_t first = k * LOB_CELLS_PIECE, left = s.pass.n - first;
        const int64_t end = first + (left < LOB_CELLS_PIECE ? left : LOB_CELLS_PIECE);
        lob_cells_sums own = lob_cells_none(KIND);
        for (int64_t i = first + threadIdx.x; i < end; i += LOB_CELLS_LANES)
            if (lob_cells_adds(KIND))
                lob_cells_add(KIND, &s.pass, i, &own);
            else
                lob_cells_change(KIND, &s.pass, i);
        if (lob_cells_adds(KIND)) join_lanes<KIND>(own, s, k);
    }
}

#define KERNEL(kind) pass_kernel<LOB_CELLS_##kind>,

static void (*const kernels[])(params) = {LOB_CELLS_CHANGES(KERNEL) LOB_CELLS_ADDS(KERNEL)};

#undef KERNEL

} /* namespace lob::cells */

using namespace lob::cells;

lob_status lob_cells_pass_cuda(lob_cells_sums *of_piece, const lob_cells_pass *p, int64_t pieces,
                               lob_device *device, lob_budget *budget, lob_error *error)
{
    const int64_t bytes = of_piece ? pieces * (int64_t)sizeof *of_piece : 0;
    params s = {*p, nullptr, pieces};
    LOB_TRY(lob_device_enter(device, error));
    if (of_piece) LOB_TRY(lob_budget_alloc_at(budget, device, &s.of_piece, bytes, error));
    lob_status st = lob_launch(device, kernels[p->kind], "a pass over cells", pieces,
                               LOB_CELLS_LANES, 0, s, error);
    if (st == LOB_OK && of_piece)
        st = lob_device_download(device, of_piece, s.of_piece, bytes, error);
    if (of_piece) lob_budget_free_at(budget, device, s.of_piece, bytes);
    return st;
}
