/* Clusters of supervoxels on a GPU: their start as cells, and their move to the mean of their
 * voxels after each pass. */
#include "kernels/device/device_letters.h"
#include "kernels/supervoxels/supervoxels_params_cuda.cuh"

namespace lob::supervoxels
{

enum {
    CLUSTER_THREADS = 256,
    TOTAL_BLOCKS = 64 /* for the sums over all clusters: few, because they add to the same words */
};

/* The cells whose clusters may get voxels of the tiles number i along the view's axis a. */
template <bool FLAT>
static __device__ inline cell_span span_of(const supervoxels_params &s, int a, int32_t i)
{
    typedef brick_shape<FLAT> S;
    const int side[3] = {S::bx, S::by, S::bz * S::depth};
    const int32_t at = s.begin[a] + i * side[a], last = min(at + side[a], s.end[a]) - 1;
    const int32_t beside = FLAT && a == 2 ? 0 : 1; /* not across slices */
    const int32_t low = lob_cell(at, s.side[a], s.cells[a]) - beside,
                  high = lob_cell(last, s.side[a], s.cells[a]) + beside;
    cell_span of;
    of.first = max(low, 0);
    of.n = min(high, s.cells[a] - 1) - of.first + 1;
    of.reciprocal = 1.0f / (float)of.n;
    return of;
}

static __device__ inline void fill_spans(const supervoxels_params &s, int64_t first, int64_t step)
{
    cell_span *to = s.spans;
    const uint32_t tiles[3] = {s.bricks[0], s.bricks[1], s.tiles_w};
    for (int a = 0; a < 3; to += tiles[a], a++)
        for (int64_t i = first; i < tiles[a]; i += step)
            to[i] = s.flat ? span_of<true>(s, a, (int32_t)i) : span_of<false>(s, a, (int32_t)i);
}

/* Before the first pass: boxes are the cells, and centres their middles. */
static __global__ void __launch_bounds__(CLUSTER_THREADS)
    begin_kernel(const __grid_constant__ supervoxels_params s)
{
    const lob_supervoxels_rule &rule = s.rule;
    const int floats = lob_cluster_floats(&rule);
    const int64_t first = (int64_t)blockIdx.x * CLUSTER_THREADS + threadIdx.x,
                  step = (int64_t)gridDim.x * CLUSTER_THREADS;
    fill_spans(s, first, step);
    for (int64_t i = s.first_cluster + first; i < (int64_t)s.first_cluster + s.clusters;
         i += step) {
        const int32_t k = (int32_t)i, across = k / rule.cells[0];
        const int32_t cell[3] = {k % rule.cells[0], across % rule.cells[1], across / rule.cells[1]};
        float *centre = s.centres + i * floats;
        int32_t *box = s.boxes + i * 6;
        for (int f = 0; f < floats; f++) centre[f] = 0;
        for (int a = 0; a < 3; a++) {
            box[a] = lob_cell_first(cell[a], rule.side[a], rule.cells[a]);
            box[3 + a] = lob_cell_first(cell[a] + 1, rule.side[a], rule.cells[a]) - 1;
            if (rule.method != LOB_LSC)
                centre[a] = (float)(box[a] + box[3 + a]) / 2 * rule.position_weight[a];
        }
    }
}

lob_status begin_clusters(lob_device *device, const supervoxels_params *s, lob_error *error)
{
    return lob_launch(device, begin_kernel, "laying out cells",
                      lob_grid_blocks(device, s->clusters, CLUSTER_THREADS), CLUSTER_THREADS, 0, *s,
                      error);
}

/* Sums over all clusters; each thread adds up one of them. */
static __global__ void __launch_bounds__(CLUSTER_THREADS)
    totals_kernel(const __grid_constant__ supervoxels_params s)
{
    const int sums = lob_cluster_sums(&s.rule);
    const int64_t step = (int64_t)gridDim.x * CLUSTER_THREADS / sums * sums;
    const int64_t first = (int64_t)blockIdx.x * CLUSTER_THREADS + threadIdx.x;
    u64 total = 0;
    const u64 *own = s.sums + (int64_t)s.first_cluster * sums;
    if (first >= step) return;
    for (int64_t i = first; i < (int64_t)s.clusters * sums; i += step) total += own[i];
    atomicAdd(&s.totals[first % sums], total);
}

static __global__ void weights_kernel(const __grid_constant__ supervoxels_params s)
{
    lob_lsc_weights(s.weights, (const int64_t *)s.totals, &s.rule);
}

lob_status find_weights(lob_device *device, const supervoxels_params *s, lob_team *team,
                        lob_error *error)
{
    const int sums = lob_cluster_sums(&s->rule);
    const int64_t n = (int64_t)s->clusters * sums, bytes = sums * (int64_t)sizeof *s->totals;
    const int64_t blocks = lob_grid_blocks(device, n, CLUSTER_THREADS), max_met = TOTAL_BLOCKS;
    LOB_TRY(lob_launch(device, totals_kernel, "adding up clusters",
                       blocks < max_met ? blocks : max_met, CLUSTER_THREADS, 0, *s, error));
    if (lob_team_size(team) > 1) {
        int64_t totals[LOB_CLUSTER_SUMS];
        LOB_TRY(lob_device_download(device, totals, s->totals, bytes, error));
        LOB_TRY(lob_team_reduce(team, totals, sums, LOB_TEAM_SUM, error));
        LOB_TRY(lob_device_upload(device, s->totals, totals, bytes, error));
    }
    return lob_launch(device, weights_kernel, "weights", 1, 1, 0, *s, error);
}

/* ---- clusters that several ranks have ---- */

typedef struct {
    u64 *sums;
    const u64 *more;
    int64_t n;
    uint32_t *largest; /* slico */
    const uint32_t *more_largest;
    int64_t clusters;
} add_params;

static __global__ void __launch_bounds__(CLUSTER_THREADS) add_kernel(add_params k)
{
    for (int64_t i = grid_first(); i < k.n; i += grid_step()) k.sums[i] += k.more[i];
    if (!k.largest) return;
    for (int64_t i = grid_first(); i < k.clusters; i += grid_step())
        k.largest[i] = max(k.largest[i], k.more_largest[i]);
}

/* A letter to each rank that has some of an array's clusters, n items of so many bytes each. */
static void write_letters(lob_letter *letters, const shared_clusters *shared, int count, void *own,
                          int64_t bytes, bool largest, lob_device *device)
{
    for (int i = 0; i < count; i++) {
        const shared_clusters &with = shared[i];
        void *const theirs = largest ? (void *)with.largest : (void *)with.sums;
        letters[i] = {with.rank,
                      (char *)own + with.first * bytes,
                      with.clusters * bytes,
                      theirs,
                      with.clusters * bytes,
                      device};
    }
}

/* ---- moving clusters ---- */

/* Did a cluster's sums or largest contrast change? Keeps them for the next iteration. */
static __device__ inline bool has_changed(const supervoxels_params &s, int32_t k, int sums,
                                          float largest)
{
    const u64 *now = s.sums + (int64_t)k * sums;
    u64 *before = s.before + (int64_t)k * sums;
    bool changed = s.iteration == 0;
    for (int f = 0; f < sums; f++) {
        changed = changed || now[f] != before[f];
        before[f] = now[f];
    }
    if (s.largest) {
        changed = changed || __float_as_uint(largest) != s.largest_before[k];
        s.largest_before[k] = __float_as_uint(largest);
    }
    return changed;
}

static __global__ void __launch_bounds__(CLUSTER_THREADS)
    update_kernel(const __grid_constant__ supervoxels_params s)
{
    const bool converged = is_converged(s);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        s.counters->changed[(s.iteration + 2) % RING] = 0;
        if (!converged) s.counters->iterations = (uint32_t)s.iteration;
        s.counters->listed = 0;
    }
    if (converged) return;
    const int sums = lob_cluster_sums(&s.rule), floats = lob_cluster_floats(&s.rule);
    for (int64_t of = grid_first(); of < s.clusters; of += grid_step()) {
        const int64_t i = s.first_cluster + of;
        const int32_t k = (int32_t)i;
        float *centre = s.centres + i * floats;
        int32_t *box = s.boxes + i * 6;
        u64 *sum = s.sums + i * sums;
        float largest = LOB_SLICO_START;
        if (s.iteration == 0) {
            for (int f = 0; f < floats; f++) centre[f] = 0;
            for (int a = 0; a < 6; a++) box[a] = a < 3 ? 0 : -1;
        } else if (s.largest)
            largest = __uint_as_float(s.largest[k]);
        if (s.before && has_changed(s, k, sums, largest))
            s.counters->changed[s.iteration % RING] = 1;
        lob_cluster_update(centre, box, k, (const int64_t *)sum, largest, s.weights, &s.rule);
        for (int f = 0; f < sums; f++) sum[f] = 0;
        if (s.largest) s.largest[k] = 0;
    }
}

/* Move those from `first` to end - 1. */
static lob_status update_some(lob_device *device, const supervoxels_params *s, int32_t first,
                              int32_t end, lob_error *error)
{
    supervoxels_params some = *s;
    some.first_cluster = first;
    some.clusters = end - first;
    if (first == end) return LOB_OK;
    return lob_launch_over(device, update_kernel, "moving clusters", some.clusters, CLUSTER_THREADS,
                           some, error);
}

/* Those that no other rank has are moved while letters are under way. */
lob_status update_clusters(lob_device *device, const supervoxels_params *s,
                           const shared_clusters *shared, int count, lob_letter *letters,
                           lob_team *team, lob_error *error)
{
    const int64_t sums = lob_cluster_sums(&s->rule);
    const int32_t first = s->first_cluster, end = first + s->clusters;
    int32_t own = first, own_end = end;
    for (const shared_clusters *with = shared; with < shared + count; with++)
        if (with->rank < lob_team_rank(team))
            own = max(own, with->first + with->clusters);
        else
            own_end = min(own_end, with->first);
    if (own > own_end) own = own_end = end;
    write_letters(letters, shared, count, s->sums, sums * (int64_t)sizeof *s->sums, false, device);
    LOB_TRY(lob_team_begin_send(team, letters, count, error));
    if (s->largest) {
        write_letters(letters, shared, count, s->largest, sizeof *s->largest, true, device);
        LOB_TRY(lob_team_begin_send(team, letters, count, error));
    }
    LOB_TRY(update_some(device, s, own, own_end, error));
    LOB_TRY(lob_device_after_fetches(device, error));
    for (const shared_clusters *with = shared; with < shared + count; with++) {
        const add_params k = {s->sums + with->first * sums,
                              with->sums,
                              with->clusters * sums,
                              s->largest ? s->largest + with->first : NULL,
                              with->largest,
                              with->clusters};
        LOB_TRY(lob_launch_over(device, add_kernel, "sums of other ranks", k.n, CLUSTER_THREADS, k,
                                error));
    }
    LOB_TRY(update_some(device, s, first, own, error));
    return update_some(device, s, own_end, end, error);
}

} /* namespace lob::supervoxels */
