/*
 * Running GrowCut on the device for one width of keys: fill, grow, write.
 *
 * Rules are made on the host, and so is what needs a logarithm or an exponential: the logarithms
 * behind the tables of weights, the starts of soft seeds and the strengths, because host and device
 * would differ in the last bit.
 */
#ifndef LOB_GROWCUT_RUN_CUDA_CUH
#define LOB_GROWCUT_RUN_CUDA_CUH

#include "kernels/growcut/gpu/grow_rounds_cuda.cuh"
#include "kernels/growcut/gpu/grow_tiles_cuda.cuh"
#include "kernels/growcut/gpu/run_state_cuda.cuh"
#include "volumes/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TABLE_SHARED = 4096 }; /* entries of the rule's table that blocks keep: 12 bits */

template <typename K, typename S, int N> static void (*grower(bool many))(const scene<K>)
{
    return many ? grow_kernel<K, S, N, true> : grow_kernel<K, S, N, false>;
}

template <typename K, typename S>
static void (*grower_of(int neighbours, bool many))(const scene<K>)
{
    if constexpr (S::flat)
        return neighbours == 4 ? grower<K, S, 4>(many) : grower<K, S, 8>(many);
    else
        return neighbours == 6    ? grower<K, S, 6>(many)
               : neighbours == 18 ? grower<K, S, 18>(many)
                                  : grower<K, S, 26>(many);
}

/*
 * Tell how far growing has come until the device is done; a cancel ends it soon. What takes a few
 * milliseconds is waited for without a nap, which would be a good part of it.
 */
template <typename K> static lob_status watch(run_state<K> *r, double before, double share)
{
    const growcut_job *job = r->job;
    const lob_context *context = job->context;
    const double begin_s = lob_clock_s(), awake_s = 2e-3, silent_s = 2e-4;
    double told_s = begin_s;
    bool cancelled = false;
    if (!context->progress) return LOB_OK;
    for (;;) {
        const cudaError_t state = cudaStreamQuery(lob_device_cuda_stream(job->device));
        if (state != cudaErrorNotReady) {
            const lob_status st = lob_device_check(state, "growing", r->error);
            return st != LOB_OK ? st : cancelled ? LOB_ECANCEL : LOB_OK;
        }
        const double time_s = lob_clock_s();
        const struct timespec nap = {0, 50000};
        if (time_s - begin_s >= awake_s) nanosleep(&nap, NULL);
        if (time_s - told_s < silent_s) continue;
        told_s = time_s;
        const double reached =
            (double)lob_device_mailbox_of(job->device)->done / (double)(job->data_voxels + 1);
        const double part = before + share * (reached < 1 ? reached : 1);
        if (context->progress(context->user, job->done_before + job->done_now * part)) {
            cancelled = true;
            lob_device_mailbox_of(job->device)->stop = 1;
        }
    }
}

template <typename K, typename S>
static lob_status grow(run_state<K> *r, double before, double share)
{
    const growcut_job *job = r->job;
    lob_error *error = r->error;
    scene<K> *s = &r->s;
    const bool many = job->image.channels > 1;
    void (*kernel)(const scene<K>) = grower_of<K, S>(s->neighbours, many);
    s->nest_bytes =
        (uint32_t)((sizeof(nest<K, S>) + 2 * (size_t)job->image.channels * S::padded + 15) / 16 *
                   16);
    const bool one_table = job->planes == 1 && has_table(job, 0);
    s->table_shared = !one_table                  ? 0
                      : r->table_n < TABLE_SHARED ? (uint32_t)r->table_n
                                                  : (uint32_t)TABLE_SHARED;
    const int64_t common = (int64_t)(hall_bytes<K, S>() + s->table_shared * sizeof(K));
    int64_t warps = (lob_device_shared_bytes(job->device) - common) / s->nest_bytes;
    if (warps > most_warps<S>()) warps = most_warps<S>();
    if (job->tuning->warps && warps > job->tuning->warps) warps = job->tuning->warps;
    if (warps < 1)
        return lob_fail_hint(
            error, LOB_ENOMEM, LOB_HINT_USE_CPU,
            "an image of %d channels needs %lld KiB of the GPU's shared memory, and it has %lld",
            job->image.channels, (long long)(common + s->nest_bytes) / 1024,
            (long long)lob_device_shared_bytes(job->device) / 1024);
    const size_t shared = (size_t)(common + warps * s->nest_bytes);
    const int64_t needed = (s->tiles + warps - 1) / warps;
    const int most = lob_device_multiprocessors(job->device),
              blocks = needed < most ? (int)needed : most;
    LOB_CUDA(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)shared));
    lob_device_mailbox_of(job->device)->stop = 0;
    lob_device_mailbox_of(job->device)->done = 0;
    LOB_TRY(lob_launch_cooperative(job->device, kernel, "growing", blocks, (int)warps * WARP,
                                   shared, *s, error));
    return watch(r, before, share);
}

/* From the seeds on to the fixed point. */
template <typename K, typename S>
static lob_status grow_all(run_state<K> *r, double before, double share)
{
    const scene<K> *s = &r->s;
    LOB_TRY(launch(r, seed_kernel<K, S>, "seeds", s->cells, *s));
    LOB_TRY(launch(r, usual_kernel<K, S>, "sampling steps", s->cells / SAMPLED, *s));
    return grow<K, S>(r, before, share);
}

/* ---- soft seeds ---- */

/* Upload the starts gathered so far and put them in. */
template <typename K, typename S>
static lob_status send_starts(run_state<K> *r, const seed_start *starts, int64_t n)
{
    if (n == 0) return LOB_OK;
    LOB_TRY(lob_device_upload(r->job->device, r->parcel, starts, n * (int64_t)sizeof *starts,
                              r->error));
    const seed_list<K> list = {r->s, (const seed_start *)r->parcel, n};
    return launch(r, start_kernel<K, S>, "soft seeds", n, list);
}

template <typename K, typename S>
static lob_status start_seeds(run_state<K> *r, seed_start *starts, int64_t room)
{
    const growcut_job *job = r->job;
    const lob_device_view *view = &job->view;
    const lob_volume *seeds = job->in->seeds;
    int64_t n = 0, i = 0;
    for (int64_t z = 0; z < view->side[2]; z++)
        for (int64_t y = 0; y < view->side[1]; y++)
            for (int64_t x = 0; x < view->side[0]; x++, i++) {
                const int64_t v =
                    view->offset + x * view->stride[0] + y * view->stride[1] + z * view->stride[2];
                const int32_t label = lob_label_at(seeds->data, seeds->type, v);
                if (label == 0) continue;
                starts[n].voxel = i;
                starts[n++].units =
                    lob_growcut_start(&job->rule[view->flat ? z : 0], job->in->seed_strength[v]);
                if (n < room) continue;
                LOB_TRY((send_starts<K, S>(r, starts, n)));
                n = 0;
            }
    return send_starts<K, S>(r, starts, n);
}

template <typename K, typename S> static lob_status put_soft_seeds(run_state<K> *r)
{
    if (!r->s.soft) return LOB_OK;
    seed_start *starts = (seed_start *)malloc((size_t)PARCEL_BYTES);
    if (!starts) return lob_fail(r->error, LOB_ENOMEM, "no memory left for soft seeds");
    const lob_status st = start_seeds<K, S>(r, starts, PARCEL_BYTES / (int64_t)sizeof *starts);
    free(starts);
    return st;
}

/* ---- strengths ---- */

/* By a table of all costs' strengths, when it is short. */
template <typename K, typename S>
static lob_status strengths_by_table(run_state<K> *r, cost_range<K> *range, int64_t entries)
{
    const growcut_job *job = r->job;
    float *table = (float *)malloc((size_t)entries * sizeof *table);
    int64_t *first = (int64_t *)malloc((size_t)job->planes * sizeof *first);
    lob_status st = table && first ? LOB_OK : LOB_ENOMEM;
    int64_t at = 0;
    for (int64_t p = 0; p < job->planes && st == LOB_OK; p++) {
        first[p] = at;
        for (wide units = 0; units <= r->largest[p]; units++)
            table[at++] = lob_growcut_strength(&job->rule[p], units);
    }
    if (st == LOB_OK)
        st = lob_device_upload(job->device, r->parcel, table, entries * (int64_t)sizeof *table,
                               r->error);
    if (st == LOB_OK)
        st = lob_device_upload(job->device, r->parcel_first, first, job->planes * 8, r->error);
    free(table);
    free(first);
    if (st != LOB_OK) return st;
    range->strength = (const float *)r->parcel;
    range->first = r->parcel_first;
    return launch(r, strength_kernel<K, S>, "strengths", range->n, *range);
}

/* Else by the host, parcel after parcel: costs come, strengths go. Labelled voxels only. */
template <typename K, typename S>
static lob_status strengths_by_host(run_state<K> *r, cost_range<K> *range, int64_t voxels)
{
    const growcut_job *job = r->job;
    const lob_device_view *view = &job->view;
    const int64_t slice = (int64_t)view->side[0] * view->side[1], room = PARCEL_BYTES / 8;
    wide *units = (wide *)malloc((size_t)PARCEL_BYTES);
    if (!units) return lob_fail(r->error, LOB_ENOMEM, "no memory left for strengths");
    lob_status st = LOB_OK;
    for (range->from = 0; range->from < voxels && st == LOB_OK; range->from += range->n) {
        range->n = voxels - range->from < room ? voxels - range->from : room;
        range->units = (wide *)r->parcel;
        st = launch(r, cost_kernel<K, S>, "costs", range->n, *range);
        if (st == LOB_OK)
            st = lob_device_download(job->device, units, r->parcel, range->n * 8, r->error);
        float *strength = (float *)units; /* in place: shorter, and from the front */
        for (int64_t i = 0; i < range->n && st == LOB_OK; i++) {
            const wide cost = units[i];
            const int64_t p = view->flat ? (range->from + i) / slice : 0;
            const float value = cost == ~0ull ? 0.0f : lob_growcut_strength(&job->rule[p], cost);
            memcpy(&strength[i], &value, sizeof value);
        }
        if (st == LOB_OK)
            st = lob_device_upload(job->device, r->parcel, strength, range->n * 4, r->error);
        if (st == LOB_OK) {
            range->strength = (const float *)r->parcel;
            st = launch(r, put_kernel<K>, "strengths", range->n, *range);
        }
    }
    free(units);
    return st;
}

template <typename K, typename S> static lob_status write_strengths(run_state<K> *r)
{
    const growcut_job *job = r->job;
    const lob_device_view *view = &job->view;
    const int64_t voxels = (int64_t)view->side[0] * view->side[1] * view->side[2];
    const int64_t room = PARCEL_BYTES / (int64_t)sizeof(float);
    cost_range<K> range = {};
    range.s = r->s;
    range.n = voxels;
    int64_t entries = 0;
    for (int64_t p = 0; p < job->planes && entries <= room; p++)
        entries += r->largest[p] < (wide)room ? (int64_t)r->largest[p] + 1 : room + 1;
    return entries <= room ? strengths_by_table<K, S>(r, &range, entries)
                           : strengths_by_host<K, S>(r, &range, voxels);
}

/* ---- the whole ---- */

template <typename K> static lob_status read_results(run_state<K> *r)
{
    const growcut_job *job = r->job;
    LOB_TRY(lob_device_download(job->device, r->ctl, r->s.ctl, found_bytes(job), r->error));
    lob_growcut_counts *counts = &r->result->counts;
    counts->rounds += (int64_t)r->ctl->rounds;
    counts->visits += (int64_t)r->ctl->visits;
    counts->pops += (int64_t)r->ctl->pops;
    return LOB_OK;
}

/*
 * Could a path have been turned away only because its cost does not fit the key? Not when a plane's
 * dearest path leaves room for one more step; else look for a step that growing left out.
 */
template <typename K, typename S> static lob_status find_overflow(run_state<K> *r)
{
    const growcut_job *job = r->job;
    bool *narrow = (bool *)calloc((size_t)job->planes, sizeof *narrow), any = false;
    if (!narrow)
        return lob_fail(r->error, LOB_ENOMEM, "no memory left for %lld planes",
                        (long long)job->planes);
    for (int64_t p = 0; p < job->planes; p++) {
        const wide room = (r->planes[p].unreached >> r->s.label_bits) - 1;
        r->result->overflow |= r->overflow[p] != 0; /* a soft seed that starts too late */
        narrow[p] = room < job->rule[p].limit && r->largest[p] + job->rule[p].dearest > room;
        any |= narrow[p];
    }
    lob_status st = LOB_OK;
    if (any && !r->result->overflow) {
        st = launch(r, overflow_kernel<K, S>, "looking for overflow", r->s.cells, r->s);
        if (st == LOB_OK)
            st = lob_device_download(job->device, r->overflow, r->s.overflow, job->planes * 4,
                                     r->error);
        for (int64_t p = 0; p < job->planes && st == LOB_OK; p++)
            r->result->overflow |= narrow[p] && r->overflow[p];
    }
    free(narrow);
    return st;
}

/* Fill, grow, write: once for the labels, once more with ties reversed for the tie zone. */
template <typename K, typename S>
static lob_status pass(run_state<K> *r, bool reversed, double before, double share)
{
    const growcut_job *job = r->job;
    lob_error *error = r->error;
    scene<K> *s = &r->s;
    s->reversed = reversed;
    s->levels_known = reversed;
    LOB_CUDA(
        cudaMemsetAsync(s->ctl, 0, (size_t)found_bytes(job), lob_device_cuda_stream(job->device)));
    LOB_CUDA(cudaMemsetAsync(s->ctl->least, 0xff, sizeof s->ctl->least,
                             lob_device_cuda_stream(job->device)));
    LOB_TRY(launch(r, fill_kernel<K, S>, "filling tiles", s->cells, *s));
    LOB_TRY((put_soft_seeds<K, S>(r)));
    if (job->options->rounds)
        LOB_TRY((grow_rounds<K, S>(r, before, share)));
    else
        LOB_TRY((grow_all<K, S>(r, before, share)));
    LOB_TRY(launch(r, write_kernel<K, S>, "writing labels", s->cells, *s));
    return read_results(r);
}

template <typename K, typename S> static lob_status run_passes(run_state<K> *r)
{
    const growcut_job *job = r->job;
    growcut_result *result = r->result;
    const double share = job->arrays->tie ? 0.5 : 1.0;
    LOB_TRY((pass<K, S>(r, false, 0.0, share)));
    const int64_t most = job->options->rounds, changing = (int64_t)r->ctl->rounds;
    result->seeds = (int64_t)r->ctl->seeds;
    result->seeds_outside = (int64_t)r->ctl->outside;
    result->reached = (int64_t)r->ctl->labelled;
    result->fixed_point = most ? changing <= most : job->tuning->rounds == 0;
    result->rounds = changing < most ? changing : most;
    memcpy(result->largest, r->largest, (size_t)job->planes * sizeof *r->largest);
    if (sizeof(K) == 4) LOB_TRY((find_overflow<K, S>(r)));
    if (result->overflow) return LOB_OK;
    if (job->arrays->strength) LOB_TRY((write_strengths<K, S>(r)));
    if (!job->arrays->tie) return LOB_OK;
    LOB_TRY((pass<K, S>(r, true, share, share)));
    result->ties = (int64_t)r->ctl->ties;
    return LOB_OK;
}

template <typename K> static void describe(run_state<K> *r)
{
    const growcut_job *job = r->job;
    scene<K> *s = &r->s;
    s->image = job->image;
    s->view = job->view;
    s->seeds = job->arrays->seeds;
    s->labels = job->arrays->labels;
    s->tie = job->arrays->tie;
    s->strength = job->arrays->strength;
    s->label_type = job->in->seeds->type;
    s->norm = job->options->norm;
    s->largest_label = job->in->labels;
    s->label_bits = label_bits_of(job->in->labels);
    s->soft = job->in->seed_strength != NULL;
    s->penalty = job->options->penalty > 0;
    s->line = job->context->progress ? lob_device_mailbox_of(job->device) : NULL;
    s->window_steps = job->tuning->window_steps;
    s->window_levels = job->tuning->window_levels;
    s->rounds = job->tuning->rounds > 0 && job->tuning->rounds < UINT32_MAX
                    ? (uint32_t)job->tuning->rounds
                    : UINT32_MAX;
    s->cap = job->tuning->cap > 0 ? (uint32_t)job->tuning->cap : UINT32_MAX;
    s->adapt = job->tuning->adapt;
}

template <typename K> static lob_status prepare(run_state<K> *r)
{
    const growcut_job *job = r->job;
    describe(r);
    place_tables(r);
    make_planes(r);
    const int64_t bytes = lay_out(r, NULL);
    void *base = NULL;
    LOB_TRY(lob_device_block_take(job->device, LOB_DEVICE_WORK, &base, bytes, r->error));
    lay_out(r, (unsigned char *)base);
    r->result->working_bytes = bytes;
    r->result->counts.tiles = r->s.tiles;
    LOB_TRY(lob_device_upload(job->device, (void *)r->s.planes, r->planes,
                              job->planes * (int64_t)sizeof *r->planes, r->error));
    return make_tables(r);
}

template <typename K>
static lob_status run_keys(const growcut_job *job, growcut_result *result, lob_error *error)
{
    run_state<K> r = {};
    const size_t n = (size_t)job->planes;
    r.job = job;
    r.result = result;
    r.error = error;
    r.planes = (plane *)calloc(n, sizeof *r.planes);
    r.ctl = (control *)calloc(1, (size_t)found_bytes(job));
    split_found(r.ctl, job->planes, &r.largest, &r.overflow);
    lob_status st = r.planes && r.ctl ? LOB_OK : LOB_ENOMEM;
    if (st == LOB_OK) st = prepare(&r);
    if (st == LOB_OK) st = job->view.flat ? run_passes<K, sheet>(&r) : run_passes<K, cube>(&r);
    free(r.planes);
    free(r.ctl);
    return st;
}

#endif
