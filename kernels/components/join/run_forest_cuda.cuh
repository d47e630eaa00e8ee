/*
 * Union-find over the runs of a tile, in a block's shared memory.
 *
 * First each run's own thread stores a link to an earlier run that it touches; nobody else writes
 * there yet. Then paths to roots are made short, and the pairs that are left are united by whole
 * warps, whose lanes share them.
 */
#ifndef LOB_RUN_FOREST_CUDA_CUH
#define LOB_RUN_FOREST_CUDA_CUH

#include "kernels/components/join/join_params_cuda.cuh"

namespace lob::components
{

enum { QUEUE = 2 * WARP }; /* pairs of a warp */

/* A node names a run by the byte offset of the run's word in parents; that word holds the parent's
 * node. Nodes increase with the order of runs. */
struct run_forest {
    /* In the end a root's parent is its local root with this bit. */
    static constexpr uint32_t is_local_root = UINT32_C(1) << 31;

    unsigned char *parents;

    __device__ uint32_t *at(uint32_t node) const
    {
        return (uint32_t *)(parents + node);
    }

    __device__ uint32_t parent(uint32_t node) const
    {
        return *(const volatile uint32_t *)at(node);
    }

    /* Parents only become smaller, so every tree's root is its smallest node. */
    __device__ void unite(uint32_t a, uint32_t b) const
    {
        for (;;) {
            for (uint32_t up_a, up_b;; a = up_a, b = up_b) { /* climb both at once */
                up_a = parent(a);
                up_b = parent(b);
                if (up_a == up_b) return;
                if (up_a == a && up_b == b) break;
            }
            const uint32_t low = a < b ? a : b, high = a < b ? b : a;
            const uint32_t before = atomicMin(at(high), low);
            if (before == high) return;
            a = before;
            b = low;
        }
    }

    /* What local_root gets for a node, once local roots are in the roots. */
    __device__ uint16_t local_root(uint32_t node) const
    {
        const uint32_t up = parent(node);
        return (uint16_t)(up & is_local_root ? up : parent(up));
    }
};

/* Pairs of nodes that a warp has found and not yet united: its lanes find them unevenly. */
struct pair_queue {
    run_forest forest;
    volatile uint32_t *pairs; /* QUEUE of the warp: two nodes each, in words */
    int count;                /* below WARP between calls; the same in all lanes */

    /* All lanes together: the last n <= WARP pairs. */
    __device__ void unite_last(int n)
    {
        const int lane = (int)threadIdx.x % WARP;
        __syncwarp();
        count -= n;
        const uint32_t pair = lane < n ? pairs[count + lane] : 0;
        __syncwarp();
        if (lane < n) forest.unite((pair & 0xffff) * 4, (pair >> 16) * 4);
    }

    /* All lanes together: those that have a pair add it. */
    __device__ void add(bool wanted, uint32_t a, uint32_t b)
    {
        const uint32_t lanes = __ballot_sync(ALL_LANES, wanted);
        const uint32_t before = lanes & ((1u << threadIdx.x % WARP) - 1);
        if (wanted) pairs[count + __popc(before)] = a / 4 | b / 4 << 16;
        count += __popc(lanes);
        if (count >= WARP) unite_last(WARP);
    }
};

} /* namespace lob::components */

#endif
