/*
 * GrowCut on a GPU: keys cross the seams between a team's slabs, as growcut_slabs.h says. Each rank
 * has come to rest when they do: the list of keys that have fallen about a seam goes through
 * ordinary memory, and is short beside the planes that were grown.
 */
#ifndef LOB_GROW_SEAMS_CUDA_CUH
#define LOB_GROW_SEAMS_CUDA_CUH

#include "kernels/growcut/gpu/grow_state_cuda.cuh"

#include <stddef.h>

namespace lob::growcut
{

/* The two planes about a seam, and what its sides tell each other of them. */
template <typename K> struct seam_params {
    grow_params<K> g;
    uint32_t first; /* of the planes */
    int64_t n;      /* cells of both */
    K *known;       /* of each: the key that both sides had when they last told */
    seam_key<K> *news;
    u64 *count;    /* of news, as they are told */
    int64_t heard; /* those of the other side */
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
        s.news[atomicAdd(s.count, (u64)1)] = {(K)i, key};
    }
}

/* Take the keys of the other side that are lower. A voxel is in the list once. */
template <typename K, typename S>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    take_kernel(const __grid_constant__ seam_params<K> s)
{
    for (int64_t i = grid_first(); i < s.heard; i += grid_step()) {
        const seam_key<K> one = s.news[i];
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
    s.news = state->news;
    s.count = state->news_count;
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

/* What this side tells, or is told: before the slab, and behind it. */
template <typename K> struct seam_news {
    seam_key<K> *list[2]; /* malloc'ed */
    int64_t n[2];
};

template <typename K> static bool make_room(seam_news<K> *news, int k)
{
    news->list[k] = (seam_key<K> *)malloc((size_t)news->n[k] * sizeof *news->list[k] + 1);
    return news->list[k] != NULL;
}

template <typename K> static void forget(seam_news<K> *news)
{
    free(news->list[0]);
    free(news->list[1]);
}

template <typename K, typename S>
static lob_status look_for_news(grow_state<K> *state, seam_news<K> *told)
{
    lob_device *device = state->batch->device;
    lob_error *error = state->error;
    for (int k = 0; k < 2; k++) {
        if (seam_cells(state->batch, k) == 0) continue;
        const seam_params<K> s = seam_of(state, k);
        u64 count;
        LOB_TRY(lob_device_fill(device, s.count, 0, sizeof count, error));
        LOB_TRY(launch(state, tell_kernel<K, S>, "seams", s.n, s));
        LOB_TRY(lob_device_download(device, &count, s.count, sizeof count, error));
        told->n[k] = (int64_t)count;
        if (!make_room(told, k)) return LOB_ENOMEM;
        if (count > 0)
            LOB_TRY(lob_device_download(device, told->list[k], s.news,
                                        told->n[k] * (int64_t)sizeof *told->list[k], error));
    }
    return LOB_OK;
}

/* Send what this side tells, and receive what the others do: counts are of all ranks, of their seam
 * before and behind. */
template <typename K>
static lob_status send_news(const grow_state<K> *state, const seam_news<K> *told,
                            seam_news<K> *heard, const int64_t *counts)
{
    const section_batch *batch = state->batch;
    lob_team *const team = batch->slab->team;
    lob_letter letters[2];
    int n = 0;
    for (int k = 0; k < 2; k++) {
        const int with = team->rank + (k ? 1 : -1);
        if (seam_cells(batch, k) == 0) continue;
        heard->n[k] = counts[2 * with + !k];
        if (!make_room(heard, k)) return LOB_ENOMEM;
        letters[n++] = {with, told->list[k], told->n[k] * (int64_t)sizeof *told->list[k],
                        heard->list[k], heard->n[k] * (int64_t)sizeof *heard->list[k]};
    }
    return lob_team_send(team, letters, n, state->error);
}

template <typename K, typename S>
static lob_status take_news(grow_state<K> *state, const seam_news<K> *heard)
{
    lob_device *device = state->batch->device;
    for (int k = 0; k < 2; k++) {
        if (heard->n[k] == 0) continue;
        seam_params<K> s = seam_of(state, k);
        s.heard = heard->n[k];
        LOB_TRY(lob_device_upload(device, s.news, heard->list[k],
                                  s.heard * (int64_t)sizeof *heard->list[k], state->error));
        LOB_TRY(launch(state, take_kernel<K, S>, "seams", s.heard, s));
    }
    return LOB_OK;
}

template <typename K, typename S>
static lob_status pass_news(grow_state<K> *state, seam_news<K> *told, seam_news<K> *heard,
                            int64_t *counts, bool *any)
{
    lob_team *const team = state->batch->slab->team;
    LOB_TRY((look_for_news<K, S>(state, told)));
    LOB_TRY(lob_team_share(team, counts, told->n, sizeof told->n, state->error));
    for (int i = 0; i < 2 * team->size; i++) *any = *any || counts[i] > 0;
    if (!*any) return LOB_OK;
    LOB_TRY(send_news(state, told, heard, counts));
    return take_news<K, S>(state, heard);
}

/*
 * Exchange what has fallen about the seams.
 *
 *   any  out  whether a rank had something to tell; then all grow on
 */
template <typename K, typename S> static lob_status exchange(grow_state<K> *state, bool *any)
{
    const int size = state->batch->slab->team->size;
    int64_t *const counts = (int64_t *)malloc(2 * (size_t)size * sizeof *counts);
    seam_news<K> told = {}, heard = {};
    *any = false;
    const lob_status st = counts ? pass_news<K, S>(state, &told, &heard, counts, any) : LOB_ENOMEM;
    free(counts);
    forget(&told);
    forget(&heard);
    return st;
}

/* The result of a batch is that of all ranks. */
static lob_status add_slabs(const section_batch *batch, batch_result *result, lob_error *error)
{
    if (!batch->slab) return LOB_OK;
    lob_growcut_stats *const stats = &result->stats;
    lob_team *const team = batch->slab->team;
    int64_t sums[] = {stats->seeds, stats->seeds_outside, stats->reached};
    int64_t most[] = {result->overflow, stats->working_bytes};
    LOB_TRY(lob_team_reduce(team, sums, 3, LOB_TEAM_SUM, error));
    LOB_TRY(lob_team_reduce(team, most, 2, LOB_TEAM_MAX, error));
    stats->seeds = sums[0];
    stats->seeds_outside = sums[1];
    stats->reached = sums[2];
    result->overflow = most[0] != 0;
    stats->working_bytes = most[1];
    return lob_team_reduce(team, (int64_t *)result->largest, (int)batch->sections, LOB_TEAM_MAX,
                           error);
}

} /* namespace lob::growcut */

#endif
