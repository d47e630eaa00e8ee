/*
 * Regions of components from runs: what is handed from tiles to rows of the table.
 *
 *   measure_cuda.cu        memory for both steps
 *   measure_tiles_cuda.cu  adds up the runs of each tile, piece by piece. The piece that holds its
 *                          component's root writes the component's row, all of it, so rows need not
 *                          be cleared; the sums of other pieces are listed. Where components are
 *                          many, most have a single piece
 *   measure_list_cuda.cu   adds the listed pieces to the rows
 *
 * Sums in a tile are of positions in the tile and fit 32 bits.
 */
#ifndef LOB_MEASURE_PARAMS_CUDA_CUH
#define LOB_MEASURE_PARAMS_CUDA_CUH

#include "kernels/components/components_stages_cuda.cuh"
#include "kernels/regions/regions_values_cuda.cuh"

namespace lob::components
{

using regions::value_sums;

enum {
    VOXELS_BITS = 17,  /* a piece has up to 64 * 256 * 4 voxels in a tile */
    LISTED_X_BITS = 6, /* a tile is 64 voxels wide; there are fewer than 2^20 tiles */
    MIN_SHARED = 4     /* lanes of a warp with one key, for it to be added up in registers */
};

/* What a piece that is not its component's first one adds to a row; read and written 16 bytes at a
 * time. */
typedef struct alignas(sizeof(uint4)) {
    uint32_t label; /* 0: nothing */
    uint32_t tile;  /* tile << 12 | lowest x << 6 | highest x */
    uint32_t voxels;
    uint32_t sum[3];
    uint32_t span[2]; /* of y and z */
} listed_piece;

typedef struct {
    join_params join;
    const uint32_t *label; /* of components; NULL: their numbers */
    lob_region *regions;
    value_sums *sums;   /* of intensities, one for each row; NULL: none */
    listed_piece *list; /* in the order of pieces */
    value_sums *list_values;
    int64_t listed;
    regions::region_intensities intensities;
} measure_params;

lob_status measure_tiles(call *c, const measure_params &m, lob_error *error);
lob_status add_listed_pieces(call *c, const measure_params &m, lob_error *error);

/* The lowest and the highest of positions below 2^16, so that a wider span is larger in both
 * halves; 0: none. */
static __device__ inline uint32_t span_of(uint32_t low, uint32_t high)
{
    return (0xffff - low) << 16 | high;
}

static __device__ inline uint32_t span_low(uint32_t span)
{
    return 0xffff - (span >> 16);
}

static __device__ inline uint32_t span_high(uint32_t span)
{
    return span & 0xffff;
}

/* All lanes together: the key that most lanes have, if at least MIN_SHARED do; else none. */
static __device__ inline uint32_t shared_key(uint32_t key, uint32_t none)
{
    const uint32_t lane = threadIdx.x % WARP, alike = __match_any_sync(ALL_LANES, key);
    const uint32_t best =
        __reduce_max_sync(ALL_LANES, key != none ? (uint32_t)__popc(alike) * WARP + lane : 0);
    return best < MIN_SHARED * WARP ? none : __shfl_sync(ALL_LANES, key, (int)(best % WARP));
}

} /* namespace lob::components */

#endif
