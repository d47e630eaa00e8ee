/*
 * GrowCut on a GPU: keys cross the seams between a team's slabs, as growcut_slabs.h says. Each rank
 * has come to rest when they do: the list of keys that have fallen about a seam goes from device to
 * device, and is short beside the planes that were grown.
 */
#ifndef LOB_GROW_SEAMS_CUDA_CUH
#define LOB_GROW_SEAMS_CUDA_CUH

#include "kernels/growcut/gpu/grow_state_cuda.cuh"

#include <stdlib.h>

namespace lob::growcut
{

/* The two planes about a seam, and what its sides tell each other of them. */
template <typename K> struct seam_params {
    grow_params<K> g;
    uint32_t first; /* of the planes */
    int64_t n;      /* cells of both */
    K *known;       /* of each: the key that both sides had when they last told */
    seam_key<K> *told;
    u64 *count; /* of told */
    const seam_key<K> *heard;
    int64_t heard_n;
};

/* Cell i of the two planes, one behind the other, among all cells. */
template <typename K, typename S>
static __device__ inline int64_t seam_cell(const seam_params<K> &s, int64_t i)
{
    const uint32_t *const side = s.g.view.side;
    const int64_t plane = s.n / 2, at = i % plane, along = at / side[0];
    const uint32_t across = s.first + (uint32_t)(i / plane);
    const position p = {(uint32_t)(at - along * side[0]), s.g.view.flat ? across : (uint32_t)along,
                        s.g.view.flat ? (uint32_t)along : across, true};
    return neighbour_of<S>(s.g, p, CENTRE);
}

template <typename K, typename S>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    know_kernel(const __grid_constant__ seam_params<K> s)
{
    for (int64_t i = grid_first(); i < s.n; i += grid_step())
        s.known[i] = s.g.key[seam_cell<K, S>(s, i)];
}

/* List the keys that have fallen since the last time. */
template <typename K, typename S>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    tell_kernel(const __grid_constant__ seam_params<K> s)
{
    for (int64_t i = grid_first(); i < s.n; i += grid_step()) {
        const K key = s.g.key[seam_cell<K, S>(s, i)];
        if (key == s.known[i]) continue;
        s.known[i] = key;
        s.told[atomicAdd(s.count, (u64)1)] = {(K)i, key};
    }
}

/* Take the keys of the other side that are lower. A voxel is in the list once. */
template <typename K, typename S>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    take_kernel(const __grid_constant__ seam_params<K> s)
{
    for (int64_t i = grid_first(); i < s.heard_n; i += grid_step()) {
        const seam_key<K> one = s.heard[i];
        const int64_t at = seam_cell<K, S>(s, (int64_t)one.voxel);
        if (one.key >= s.g.key[at]) continue;
        s.g.key[at] = s.known[one.voxel] = one.key;
        atomicOr(&s.g.pending[at / WARP], 1u << at % WARP);
        atomicMin(&s.g.priority[at / S::cells], one.key);
    }
}

/* ---- the host's side ---- */

template <typename K> static seam_params<K> seam_of(const grow_state<K> *state, int k)
{
    const lob_growcut_slab *const slab = state->batch->slab;
    seam_params<K> s = {};
    s.g = state->g;
    s.first = (uint32_t)((k ? slab->end : slab->first) - 1);
    s.n = seam_cells(state->batch, k);
    s.known = state->known[k];
    s.told = state->told[k];
    s.count = state->told_count + k;
    s.heard = state->heard[k];
    return s;
}

/* Seams begin with the keys of seeds, which both sides know. */
template <typename K, typename S> static lob_status begin_seams(grow_state<K> *state)
{
    for (int k = 0; k < 2; k++) {
        if (seam_cells(state->batch, k) == 0) continue;
        const seam_params<K> s = seam_of(state, k);
        LOB_TRY(launch(state, know_kernel<K, S>, "seams", s.n, s));
    }
    return LOB_OK;
}

/* List what this side tells: so many keys about the seam before the slab, and behind it. */
template <typename K, typename S> static lob_status look_for_news(grow_state<K> *state, u64 told[2])
{
    lob_device *device = state->batch->device;
    lob_error *error = state->error;
    const int64_t bytes = 2 * (int64_t)sizeof *told;
    LOB_TRY(lob_device_fill(device, state->told_count, 0, bytes, error));
    for (int k = 0; k < 2; k++) {
        if (seam_cells(state->batch, k) == 0) continue;
        const seam_params<K> s = seam_of(state, k);
        LOB_TRY(launch(state, tell_kernel<K, S>, "seams", s.n, s));
    }
    return lob_device_download(device, told, state->told_count, bytes, error);
}

/*
 * Exchange what has fallen about the seams.
 *
 *   any  out  whether a rank had something to tell; then all grow on
 */
template <typename K, typename S> static lob_status exchange(grow_state<K> *state, bool *any)
{
    const section_batch *batch = state->batch;
    lob_team_news news[2] = {};
    u64 told[2];
    LOB_TRY((look_for_news<K, S>(state, told)));
    for (int k = 0; k < 2; k++)
        news[k] = {seam_cells(batch, k) > 0, state->told[k], state->heard[k], (int64_t)told[k], 0};
    LOB_TRY(lob_team_swap(news, sizeof(seam_key<K>), any, batch->slab->team, batch->device,
                          state->error));
    for (int k = 0; k < 2; k++) {
        if (news[k].heard == 0) continue;
        seam_params<K> s = seam_of(state, k);
        s.heard_n = news[k].heard;
        LOB_TRY(launch(state, take_kernel<K, S>, "seams", s.heard_n, s));
    }
    return LOB_OK;
}

} /* namespace lob::growcut */

#endif
