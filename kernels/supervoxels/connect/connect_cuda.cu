/* Joining small fragments on a GPU: memory, the order of the stages, and the labels of voxels. */
#include "kernels/supervoxels/connect/fragment_tiles_cuda.cuh"

#include <stdlib.h>

namespace lob::supervoxels
{

/* Replace fragments by supervoxels; nothing if the sets are not numbered yet. */
static __global__ void __launch_bounds__(THREADS)
    relabel_kernel(const __grid_constant__ connect_params p)
{
    if (!p.counters->finished) return;
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < p.strips; i += gridDim.x * THREADS) {
        label_strip r;
        const uint32_t row = i / p.strips_x;
        r.x = (int32_t)(i - row * p.strips_x) * STRIP;
        r.voxel = (int64_t)row * p.nx + r.x;
        read_labels(p, &r);
#pragma unroll
        for (int j = 0; j < STRIP; j++) r.label[j] = fragment_of(r.label[j], p.before);
        /* most strips have at most two fragments, whose links are read side by side */
        const int32_t first = r.label[0], last = r.label[STRIP - 1];
        const int32_t first_label = -p.link[first], last_label = -p.link[last];
#pragma unroll
        for (int j = 0; j < STRIP; j++)
            r.label[j] = r.label[j] == first  ? first_label
                         : r.label[j] == last ? last_label
                                              : -p.link[r.label[j]];
        write_labels(p.s.labels + r.voxel, r.label, p.nx - r.x, 1, p.s.aligned);
    }
}

/* ---- parameters ---- */

static int log2_of(int n)
{
    int bits = 0;
    while (1 << bits < n) bits++;
    return bits;
}

/* Tiles are as near to cubes as rows of 64 voxels allow, flat in slices, and smaller if there were
 * few for each multiprocessor. */
static void lay_out_tiles(connect_params *p, const lob_device *device)
{
    const int slice_axis = p->s.rule.slice_axis;
    const bool no_y = p->ny == 1 || slice_axis == 1;
    const bool no_z = !no_y && (p->nz == 1 || slice_axis == 2);
    const int64_t rows = (int64_t)p->ny * p->nz;
    const int64_t tiles_x = (p->strips_x + TILE_STRIPS - 1) / TILE_STRIPS;
    const int64_t min_tiles = 12 * (int64_t)lob_device_multiprocessors(device);
    p->steps = MAX_STEPS;
    while (p->steps > 1 && rows * tiles_x / (p->steps * STEP_ROWS) < min_tiles) p->steps /= 2;
    const int bits = log2_of(p->steps * STEP_ROWS);
    p->tile_z_bits = no_y ? bits : no_z ? 0 : bits / 2;
    p->tile_y_bits = bits - p->tile_z_bits;
    p->lanes_z_bits = no_y ? LANES_BITS : no_z ? 0 : LANES_BITS / 2;
    p->lanes_y_bits = LANES_BITS - p->lanes_z_bits;
    p->tiles[0] = (uint32_t)tiles_x;
    p->tiles[1] = ((uint32_t)p->ny + (1u << p->tile_y_bits) - 1) >> p->tile_y_bits;
    p->tiles[2] = ((uint32_t)p->nz + (1u << p->tile_z_bits) - 1) >> p->tile_z_bits;
}

static connect_params make_params(const supervoxels_params *s, const fragment_join *join,
                                  const lob_device *device)
{
    connect_params p = {};
    p.s = *s;
    p.nx = s->rule.side[0];
    p.ny = s->rule.side[1];
    p.nz = s->planes;
    p.strips_x = (uint32_t)((p.nx + STRIP - 1) / STRIP);
    p.strips = p.strips_x * (uint32_t)p.ny * (uint32_t)p.nz;
    p.whole_strips = p.nx % STRIP == 0 && (uintptr_t)s->image.stored % 16 == 0;
    p.max_fragments = join->max_fragments;
    p.fragments = join->count;
    p.singletons = true;
    p.listed = join->max_contacts >= 0;
    lay_out_tiles(&p, device);
    return p;
}

/* ---- memory ---- */

typedef struct {
    lob_device *device;
    lob_device_budget *budget;
    const fragment_join *join;
    connect_params p;
    uint32_t *fragments_copy; /* of *p.fragments, which may lie where links are written */
    uint2 *pairs;             /* of all ranks */
    int64_t all_pairs;
    int64_t cleared; /* bytes at the beginning that start as zeros */
    lob_error *error;
} connect_call;

/* Returns the bytes; block may be NULL. Without lists the links of one rank take the place of
 * join->table. */
static int64_t lay_out(connect_call *c, void *block)
{
    connect_params *p = &c->p;
    arena a(block);
    const int64_t n = p->max_fragments + 1, channels = p->s.rule.channels;
    const int64_t listed = p->listed ? n : 0;
    p->counters = a.take<connect_counters>(1);
    p->size = a.take<uint32_t>(n);
    p->link = a.take<int32_t>(p->gathered ? n : listed);
    p->low = a.take<uint32_t>(n * channels);
    p->high = a.take<uint32_t>((n * channels + 1) / 2);
    c->cleared = a.used;
    if (!p->listed && !p->gathered) p->link = (int32_t *)c->join->table;
    c->fragments_copy = a.take<uint32_t>(1);
    p->small_bits =
        a.take<uint32_t>((p->gathered ? p->own_fragments : p->max_fragments) / WARP + 1);
    p->roots = a.take<uint32_t>(lob_device_multiprocessors(c->device));
    p->key = a.take<u64>(listed);
    p->mean = a.take<uint32_t>(listed * channels);
    p->small = a.take<int32_t>(listed);
    p->contacts = a.take<u64>(p->contacts_capacity);
    p->theirs = a.take<int32_t>(p->gathered && !p->listed ? n : 0);
    c->pairs = a.take<uint2>(c->all_pairs);
    return a.used;
}

/* Replace the bound of the number of fragments by the number, which the host waits for. */
static lob_status count_fragments(connect_call *c)
{
    uint32_t n = 0;
    LOB_TRY(lob_device_download(c->device, &n, c->p.fragments, sizeof n, c->error));
    c->p.max_fragments = n;
    return LOB_OK;
}

/*
 * List contacts, and how many? The list may take 2 bytes per voxel, within what the other arrays
 * leave of 4 bytes per voxel for the whole call (64 KiB in small volumes, whose arrays are rounded
 * up). With less than half a byte per voxel for the list, rescans are better.
 */
static lob_status plan_list(connect_call *c)
{
    enum { SMALL_VOLUME_BYTES = 1 << 16, ROUNDED = 256 };
    connect_params *p = &c->p;
    const lob_device_budget *budget = c->budget;
    const int64_t beside = lob_device_budget_held(budget) - budget->held[LOB_DEVICE_WORK];
    const int64_t voxels = (int64_t)p->nx * p->ny * p->nz;
    const int64_t max_list = (2 * voxels / ROUNDED + 1) * ROUNDED;
    const int64_t max_bytes = max(4 * voxels, (int64_t)SMALL_VOLUME_BYTES) - beside;
    if (p->listed && lay_out(c, NULL) > max_list) LOB_TRY(count_fragments(c));
    const int64_t tables = lay_out(c, NULL), wanted = min(tables + max_list, max_bytes);
    const int64_t left = lob_device_budget_left(budget, LOB_DEVICE_WORK, wanted);
    const int64_t list = (min(wanted, left) - tables) / ROUNDED * ROUNDED;
    p->listed = p->listed && list >= voxels / 2;
    p->contacts_capacity = p->listed ? list / (int64_t)sizeof *p->contacts : 0;
    if (c->join->max_contacts > 0 && c->join->max_contacts < p->contacts_capacity)
        p->contacts_capacity = c->join->max_contacts;
    return p->listed ? LOB_OK : count_fragments(c);
}

static lob_status take_memory(connect_call *c)
{
    connect_params *p = &c->p;
    lob_error *error = c->error;
    void *block = NULL;
    LOB_TRY(plan_list(c));
    LOB_TRY(lob_device_budget_take(c->budget, LOB_DEVICE_WORK, lay_out(c, NULL), &block, error));
    lay_out(c, block);
    LOB_TRY(lob_device_fill(c->device, block, 0, c->cleared, error));
    if (p->listed) return LOB_OK;
    LOB_CUDA(cudaMemcpyAsync(c->fragments_copy, p->fragments, sizeof *p->fragments,
                             cudaMemcpyDeviceToDevice, lob_device_cuda_stream(c->device)));
    p->fragments = c->fragments_copy;
    return lob_device_fill(c->device, p->link, 0, (p->max_fragments + 1) * (int64_t)sizeof *p->link,
                           error);
}

/* ---- the stages ---- */

/* The last phases, the numbers of sets and the labels, if the list has all contacts. */
static lob_status finish(connect_call *c, connect_counters *counters)
{
    const connect_params *p = &c->p;
    LOB_TRY(join_listed(c->device, p, c->error));
    LOB_TRY(lob_launch(c->device, relabel_kernel, "labels of supervoxels",
                       lob_grid_blocks(c->device, p->strips, THREADS), THREADS, 0, *p, c->error));
    return lob_device_download(c->device, counters, p->counters, sizeof *counters, c->error);
}

static lob_status join_alone(connect_call *c, connect_counters *counters)
{
    LOB_TRY(take_memory(c));
    LOB_TRY(sum_fragments(c->device, &c->p, c->error));
    if (c->p.listed) {
        LOB_TRY(find_small_sets(c->device, &c->p, c->error));
        LOB_TRY(find_contacts(c->device, &c->p, c->error));
        LOB_TRY(finish(c, counters));
    }
    if (counters->finished) return LOB_OK;
    LOB_TRY(join_by_rescans(c->device, &c->p, NULL, c->error)); /* no list, or too short */
    return finish(c, counters);
}

/* ---- of a team ---- */

/* What ranks have told of theirs. */
typedef struct {
    int64_t *fragments, *before, *pairs, *contacts, *starts;
    int64_t (*told)[2]; /* fragments and pairs; contacts found, and how many would fit */
} rank_counts;

/* Numbers of each rank's items: where they start behind `from`. Returns how many there are. */
static int64_t add_up(int64_t *starts, const int64_t *counts, int size, int64_t from)
{
    int64_t n = from;
    for (int r = 0; r < size; r++) {
        starts[r] = n;
        n += counts[r];
    }
    return n - from;
}

/* Fragments of all ranks are numbered, and paired across seams. */
static lob_status number_in_team(connect_call *c, rank_counts *of)
{
    connect_params *p = &c->p;
    lob_team *const team = c->join->team;
    uint32_t n = 0;
    int64_t own[2] = {0, 0};
    LOB_TRY(meet_at_seams(c->device, p, c->join, c->error));
    LOB_TRY(lob_device_download(c->device, &n, p->fragments, sizeof n, c->error));
    LOB_TRY(lob_device_download(c->device, &own[1], c->join->seams.pair_count, sizeof own[1],
                                c->error));
    own[0] = n;
    LOB_TRY(lob_team_share(team, of->told, own, sizeof own, c->error));
    for (int r = 0; r < team->size; r++) {
        of->fragments[r] = of->told[r][0];
        of->pairs[r] = of->told[r][1];
    }
    p->max_fragments = add_up(of->before, of->fragments, team->size, 0);
    if (p->max_fragments > LOB_FRAGMENTS_MAX) return lob_fragments_too_many(c->error);
    p->before = (int32_t)of->before[team->rank];
    p->own_fragments = (int32_t)n;
    if (p->beside[0]) p->before_beside[0] = (int32_t)of->before[team->rank - 1];
    p->before_beside[1] = p->before + p->own_fragments;
    p->singletons = false;
    p->gathered = true;
    p->listed = p->listed && p->s.rule.small > 1;
    c->all_pairs = add_up(of->starts, of->pairs, team->size, 0);
    return LOB_OK;
}

/* Is there memory for a list of so many contacts in all ranks? 0: for as many as usual, 4 bytes for
 * each voxel of the slab, or as fit. Without it there is no list. */
static lob_status plan_team_list(connect_call *c, int64_t contacts)
{
    enum { ROUNDED = 256 };
    connect_params *p = &c->p;
    const int64_t usual = 4 * (int64_t)p->nx * p->ny * p->nz + (1 << 16);
    p->contacts_capacity = contacts ? contacts : c->join->max_contacts;
    const int64_t wanted = lay_out(c, NULL);
    const int64_t left = lob_device_budget_left(c->budget, LOB_DEVICE_WORK, wanted + usual);
    int64_t fits = wanted <= left;
    LOB_TRY(lob_team_reduce(c->join->team, &fits, 1, LOB_TEAM_MIN, c->error));
    p->listed = fits;
    if (!fits)
        p->contacts_capacity = 0;
    else if (p->contacts_capacity == 0)
        p->contacts_capacity =
            min(usual, left - wanted) / ROUNDED * ROUNDED / (int64_t)sizeof *p->contacts;
    return LOB_OK;
}

/* Memory for the fragments of all ranks, and for a list as above. */
static lob_status take_team_memory(connect_call *c, int64_t contacts)
{
    connect_params *p = &c->p;
    const uint32_t all = (uint32_t)p->max_fragments;
    void *block = NULL;
    if (p->listed) LOB_TRY(plan_team_list(c, contacts));
    const lob_status st =
        lob_device_budget_take(c->budget, LOB_DEVICE_WORK, lay_out(c, NULL), &block, c->error);
    if (st == LOB_ENOMEM)
        lob_error_add(c->error, "; each GPU holds all %lld pieces that clusters fall into",
                      (long long)p->max_fragments);
    LOB_TRY(st);
    lay_out(c, block);
    LOB_TRY(lob_device_fill(c->device, block, 0, c->cleared, c->error));
    p->fragments = c->fragments_copy;
    return lob_device_upload(c->device, c->fragments_copy, &all, sizeof all, c->error);
}

/* Sizes and sums of the fragments of all ranks. */
static lob_status sum_in_team(connect_call *c, rank_counts *of)
{
    const connect_params *p = &c->p;
    lob_team *const team = c->join->team;
    lob_device *const device = c->device;
    LOB_TRY(sum_fragments(device, p, c->error));
    add_up(of->starts, of->fragments, team->size, 1);
    LOB_TRY(
        gather_items(device, p->size, of->starts, of->fragments, sizeof *p->size, team, c->error));
    LOB_TRY(gather_items(device, p->low, of->starts, of->fragments,
                         p->s.rule.channels * (int64_t)sizeof *p->low, team, c->error));
    return gather_items(device, p->high, of->starts, of->fragments,
                        p->s.rule.channels * (int64_t)sizeof(uint16_t), team, c->error);
}

/* Parts of fragments across seams become sets, with their sizes and sums. */
static lob_status join_at_seams(connect_call *c, rank_counts *of)
{
    lob_team *const team = c->join->team;
    lob_device *const device = c->device;
    if (c->all_pairs == 0) return LOB_OK;
    add_up(of->starts, of->pairs, team->size, 0);
    LOB_TRY(lob_device_copy(device, c->pairs + of->starts[team->rank], c->join->seams.pairs,
                            of->pairs[team->rank] * (int64_t)sizeof *c->pairs, c->error));
    LOB_TRY(
        gather_items(device, c->pairs, of->starts, of->pairs, sizeof *c->pairs, team, c->error));
    for (int r = 1; r < team->size; r++)
        LOB_TRY(join_pairs(device, &c->p, c->pairs + of->starts[r], of->pairs[r],
                           {(uint32_t)of->before[r - 1], (uint32_t)of->before[r]}, c->error));
    return sum_sets(device, &c->p, c->error);
}

/* Contacts in the slab. *all: of all ranks; *fit: so many would fit in each. */
static lob_status list_in_team(connect_call *c, rank_counts *of, int64_t *all, int64_t *fit)
{
    const connect_params *p = &c->p;
    lob_team *const team = c->join->team;
    int64_t own[2] = {0, p->contacts_capacity};
    LOB_TRY(find_small_sets(c->device, p, c->error));
    LOB_TRY(find_contacts(c->device, p, c->error));
    LOB_TRY(
        lob_device_download(c->device, &own[0], &p->counters->contacts, sizeof own[0], c->error));
    LOB_TRY(lob_team_share(team, of->told, own, sizeof own, c->error));
    *all = 0;
    *fit = own[1];
    for (int r = 0; r < team->size; r++) {
        of->contacts[r] = of->told[r][0];
        *all += of->contacts[r];
        *fit = min(*fit, of->told[r][1]);
    }
    return LOB_OK;
}

/* Everyone's contacts to everyone; the own ones are first in the list. */
static lob_status gather_contacts(connect_call *c, rank_counts *of, int64_t all)
{
    connect_params *p = &c->p;
    lob_team *const team = c->join->team;
    int64_t n = p->own_contacts = of->contacts[team->rank];
    for (int r = 0; r < team->size; r++) {
        of->starts[r] = r == team->rank ? 0 : n;
        n += r == team->rank ? 0 : of->contacts[r];
    }
    LOB_TRY(gather_items(c->device, p->contacts, of->starts, of->contacts, sizeof *p->contacts,
                         team, c->error));
    return lob_device_upload(c->device, &p->counters->contacts, &all, sizeof all, c->error);
}

static lob_status join_in_team(connect_call *c, rank_counts *of, connect_counters *counters)
{
    const bool joins = c->p.s.rule.small > 1; /* else numbers are all there is to do */
    int64_t all = 0, fit = 0;
    LOB_TRY(number_in_team(c, of));
    do { /* each count may find some contacts more often */
        LOB_TRY(take_team_memory(c, all + all / 8));
        if (joins) LOB_TRY(sum_in_team(c, of));
        LOB_TRY(join_at_seams(c, of));
        if (c->p.listed) LOB_TRY(list_in_team(c, of, &all, &fit));
    } while (c->p.listed && all > fit);
    if (c->p.listed)
        LOB_TRY(gather_contacts(c, of, all));
    else if (joins)
        LOB_TRY(join_by_rescans(c->device, &c->p, c->join->team, c->error));
    return finish(c, counters);
}

static lob_status join_by_team(connect_call *c, connect_counters *counters)
{
    const size_t size = (size_t)lob_team_size(c->join->team);
    int64_t *const room = (int64_t *)malloc(7 * size * sizeof *room);
    rank_counts of = {room,
                      room + size,
                      room + 2 * size,
                      room + 3 * size,
                      room + 4 * size,
                      (int64_t(*)[2])(room + 5 * size)};
    if (!room) return LOB_ENOMEM;
    const lob_status st = join_in_team(c, &of, counters);
    free(room);
    return st;
}

lob_status join_fragments(lob_device_budget *budget, fragment_join *join,
                          const supervoxels_params *s, lob_error *error)
{
    connect_counters counters = {};
    connect_call c = {};
    lob_device *const device = c.device = budget->device;
    c.budget = budget;
    c.join = join;
    c.p = make_params(s, join, device);
    c.error = error;
    LOB_TRY(lob_team_size(join->team) > 1 ? join_by_team(&c, &counters)
                                          : join_alone(&c, &counters));
    join->fragments = counters.fragments;
    join->supervoxels = counters.supervoxels;
    return LOB_OK;
}

} /* namespace lob::supervoxels */
