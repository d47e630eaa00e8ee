/*
 * What the ranks that share a volume tell each other, to join small fragments. A rank's fragments
 * are numbered behind those of the ranks before, so that numbers follow the raster order through
 * all slabs. Parts of one fragment that lie in two slabs are paired across the seam between these.
 */
#include "kernels/supervoxels/connect/connect_params_cuda.cuh"

#include <stdlib.h>

namespace lob::supervoxels
{

typedef struct {
    const int32_t *here, *there; /* clusters, then fragments, on both sides of a seam */
    int64_t nx, plane;
    uint2 *pairs;
    u64 *count;
} seam_params;

/* Fragments of one cluster there and here; 0 and 0: none. */
static __device__ inline uint2 pair_at(const seam_params &k, int64_t i)
{
    if (k.here[i] == 0 || k.here[i] != k.there[i]) return {0, 0};
    return {(uint32_t)k.there[k.plane + i], (uint32_t)k.here[k.plane + i]};
}

static __device__ inline bool same_pair(uint2 a, uint2 b)
{
    return a.x == b.x && a.y == b.y;
}

/* A pair that the voxel before along x or along y has too is left out. */
static __global__ void __launch_bounds__(THREADS) seam_kernel(seam_params k)
{
    for (int64_t i = grid_first(); i < k.plane; i += grid_step()) {
        const uint2 pair = pair_at(k, i);
        if (pair.x == 0 || (i % k.nx > 0 && same_pair(pair, pair_at(k, i - 1))) ||
            (i >= k.nx && same_pair(pair, pair_at(k, i - k.nx))))
            continue;
        k.pairs[atomicAdd(k.count, 1ull)] = pair;
    }
}

lob_status meet_at_seams(lob_device *device, connect_params *p, const fragment_join *join,
                         lob_error *error)
{
    const seam_planes *const seams = &join->seams;
    const int64_t plane = (int64_t)p->nx * p->ny, bytes = 2 * plane * (int64_t)sizeof(int32_t);
    LOB_TRY(lob_device_fill(device, seams->pair_count, 0, sizeof *seams->pair_count, error));
    if (p->s.rule.slice_axis == 2) return LOB_OK;
    LOB_TRY(lob_device_copy(device, seams->first + plane, p->s.labels, bytes / 2, error));
    LOB_TRY(lob_device_copy(device, seams->last + plane, p->s.labels + (p->nz - 1) * plane,
                            bytes / 2, error));
    LOB_TRY(lob_team_beside(join->team, {0, seams->first, bytes, seams->before, bytes, device},
                            {0, seams->last, bytes, seams->behind, bytes, device}, error));
    p->beside[0] = seams->before ? seams->before + plane : NULL;
    p->beside[1] = seams->behind ? seams->behind + plane : NULL;
    if (!seams->before) return LOB_OK;
    const seam_params k = {seams->first, seams->before, p->nx,
                           plane,        seams->pairs,  seams->pair_count};
    return lob_launch_over(device, seam_kernel, "joining across a seam", plane, THREADS, k, error);
}

lob_status gather_items(lob_device *device, void *all, const int64_t *starts, const int64_t *counts,
                        int64_t bytes, lob_team *team, lob_error *error)
{
    const int me = team->rank;
    lob_letter *const letters = (lob_letter *)malloc((size_t)team->size * sizeof *letters);
    int n = 0;
    if (!letters) return LOB_ENOMEM;
    for (int r = 0; r < team->size; r++)
        if (r != me)
            letters[n++] = {r,
                            (char *)all + starts[me] * bytes,
                            counts[me] * bytes,
                            (char *)all + starts[r] * bytes,
                            counts[r] * bytes,
                            device};
    const lob_status st = lob_team_send(team, letters, n, error);
    free(letters);
    return st;
}

} /* namespace lob::supervoxels */
