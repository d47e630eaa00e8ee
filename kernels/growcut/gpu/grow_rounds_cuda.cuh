/*
 * Growing by the automaton's own rounds on the device, which may end before the fixed point.
 *
 * In a round every cell looks at its neighbours' keys of the round before and takes the least path
 * that they offer. New keys go to a second array, and the two change places. Tiles around which
 * nothing changed in the round before rest: their keys are the same in both arrays.
 */
#ifndef LOB_GROWCUT_ROUNDS_CUDA_CUH
#define LOB_GROWCUT_ROUNDS_CUDA_CUH

#include "kernels/growcut/gpu/run_state_cuda.cuh"

enum { ROUNDS_A_TRIP = 32 }; /* launched before the host looks whether there is more to do; >= 2 */

template <typename K> struct automaton_round {
    scene<K> s; /* list: the last round in which a tile changed; control's rounds: of all tiles */
    K *next;
    uint32_t number; /* from 1 */
};

/* The least path that a cell's neighbours offer, or its own key. */
template <typename K, typename S>
static __device__ inline K least_offer(const scene<K> &s, const plane *in, const place &p,
                                       int64_t cell, K key)
{
    K best = key;
    for (int k = 0; k < s.neighbours; k++) {
        const int64_t from = neighbour_of<S>(s, p, s.direction[k]);
        const K theirs = from < 0 ? 0 : s.key[from];
        if (theirs == 0 || theirs >= best) continue; /* a hard seed's offer has been made */
        const uint32_t d = lob_growcut_distance(s.level + from, s.level + cell, s.image.channels,
                                                s.cells, s.norm, in->fraction);
        const wide offer = theirs + weight_of(s, in, d) + in->extra[s.direction[k]];
        if (offer < best) best = (K)offer;
    }
    return best;
}

/* Did a key change in a tile or one beside it in the round before? A later change does no harm. */
template <typename K, typename S>
static __device__ inline bool stirred(const scene<K> &s, const place &corner, uint32_t number,
                                      uint32_t lane)
{
    bool changed = false;
    if (lane < SIDES && (!S::flat || lane / 9 == 1)) {
        const uint32_t x = corner.x / S::x + lane % 3 - 1, y = corner.y / S::y + lane / 3 % 3 - 1;
        const uint32_t z = corner.z / S::z + lane / 9 - 1;
        if (x < s.grid[0] && y < s.grid[1] && z < s.grid[2])
            changed = __ldcg(&s.list[x + s.grid[0] * (y + s.grid[1] * z)]) + 1 >= number;
    }
    return __any_sync(ALL_LANES, changed);
}

static __device__ inline void note_round(control *ctl, uint32_t number)
{
    if (__ldcg(&ctl->rounds) < number) atomicMax(&ctl->rounds, (wide)number);
}

template <typename K, typename S>
static __global__ void __launch_bounds__(CELL_THREADS)
    round_kernel(const __grid_constant__ automaton_round<K> r)
{
    const scene<K> &s = r.s;
    uint32_t reached = 0;
    /* Nothing changed in the round before: then no block of this one raises the number either. */
    if (r.number > 2 && __ldcg(&s.ctl->rounds) + 1 < r.number) return;
    FOR_TILES(s)
    {
        const place corner = corner_of<S>(s, tile);
        /* The first two write all of the second array, and the second hears of the seeds. */
        if (r.number > 2 && !stirred<K, S>(s, corner, r.number, lane)) continue;
        const plane *in = plane_of(s, corner);
        const K unreached = (K)in->unreached;
        bool changed = false;
        for (uint32_t cell = lane; cell < S::cells; cell += WARP) {
            const int64_t index = (int64_t)tile * S::cells + cell;
            const K key = s.key[index];
            K best = key;
            if (key) best = least_offer<K, S>(s, in, place_in<S>(s, corner, cell), index, key);
            r.next[index] = best;
            changed = changed || best != key;
            reached += best != key && key == unreached;
        }
        changed = __any_sync(ALL_LANES, changed);
        if (lane != 0) continue;
        if (changed) {
            s.list[tile] = r.number;
            note_round(s.ctl, r.number);
        }
        if (r.number == 2 && s.priority[tile] != keys<K>::never) note_round(s.ctl, 1);
    }
    add_lanes(&s.ctl->reached, reached);
}

/* One round; the hard seeds' offers, which stay the same, belong to the first. */
template <typename K, typename S>
static lob_status run_round(run_state<K> *r, uint32_t number, bool kept)
{
    scene<K> *s = &r->s;
    const automaton_round<K> round = {*s, r->other, number};
    LOB_TRY(launch(r, round_kernel<K, S>, "a round", s->cells, round));
    if (kept) {
        r->other = s->key;
        s->key = round.next;
    }
    return number == 1 ? launch(r, seed_kernel<K, S>, "seeds", s->cells, *s) : LOB_OK;
}

/*
 * As many rounds as are asked for, and one more to see whether it would change anything. Afterwards
 * the control's rounds is the last that changed, or would have changed, a key.
 */
template <typename K, typename S>
static lob_status grow_rounds(run_state<K> *r, double before, double share)
{
    const growcut_job *job = r->job;
    const lob_context *context = job->context;
    lob_error *error = r->error;
    scene<K> *s = &r->s;
    const uint32_t last = (uint32_t)job->options->rounds + 1;
    /* Priorities show which tiles the hard seeds' offers reached; soft seeds had set some. */
    LOB_CUDA(cudaMemsetAsync(s->priority, 0xff, s->tiles * sizeof(K),
                             lob_device_cuda_stream(job->device)));
    LOB_CUDA(cudaMemsetAsync(s->list, 0, s->tiles * sizeof *s->list,
                             lob_device_cuda_stream(job->device)));
    uint32_t round = 0;
    do {
        for (int i = 0; i < ROUNDS_A_TRIP && round < last; i++) {
            round++;
            LOB_TRY((run_round<K, S>(r, round, round < last)));
        }
        LOB_TRY(lob_device_download(job->device, r->ctl, s->ctl, sizeof *r->ctl, error));
        const double reached = (double)r->ctl->reached / (double)(job->data_voxels + 1);
        const double part = before + share * (reached < 1 ? reached : 1);
        if (context->progress &&
            context->progress(context->user, job->done_before + job->done_now * part))
            return LOB_ECANCEL;
    } while (round < last && r->ctl->rounds == round);
    return LOB_OK;
}

#endif
