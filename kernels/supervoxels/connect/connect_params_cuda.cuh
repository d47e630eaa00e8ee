/*
 * From cluster labels to supervoxel labels on a GPU; fragments.h has the terms and the algorithm.
 *
 * Fragments are numbered by the labelling of equal values in lob::components. The rest is here:
 * what small fragments join, and the final labels. connect_cuda.cu takes the memory and calls the
 * stages:
 *
 *   fragment_sums_cuda.cu       voxels of each fragment and sums of their levels
 *   fragment_contacts_cuda.cu   which sets are small, and their contacts: pairs (small set, set)
 *                               that share a face
 *   boruvka_cuda.cu             all phases and the numbers of sets in one kernel, on a list of the
 *                               contacts. The usual way
 *   boruvka_rescan_cuda.cu      phases that find the contacts in the volume each time, if there are
 *                               too many for a list; ranks tell each other what sets pick
 *   fragment_seams_cuda.cu      what ranks that share a volume tell each other
 *   connect_cuda.cu             labels of voxels
 *
 * fragment_tiles_cuda.cuh says in which order the first two read the volume. The result depends on
 * no order of threads: keys are joined by minimum, a set's root is its lowest fragment, sums are of
 * integers.
 */
#ifndef LOB_CONNECT_PARAMS_CUDA_H
#define LOB_CONNECT_PARAMS_CUDA_H

#include "kernels/supervoxels/supervoxels_params_cuda.cuh"

namespace lob::supervoxels
{

enum {
    THREADS = 256,
    MAX_PHASES = 40 /* a phase halves the sets that pick, of which there are under 2^31 */
};
static constexpr u64 NO_EDGE = ~0ull;

/* Cleared before contacts are looked for; before each phase of rescans, those up to `joined`. */
typedef struct {
    u64 contacts;              /* found, in the list or beyond its capacity */
    uint32_t small_sets;       /* listed */
    uint32_t arrived;          /* blocks at grid barriers */
    uint32_t more[MAX_PHASES]; /* does a phase leave contacts of small sets? Without a list, in
                                  [0]: did a set pick? */
    uint32_t finished;         /* sets are numbered */
    int32_t supervoxels;       /* sets */
    int32_t fragments;
    uint32_t joined; /* fragments with others across seams */
} connect_counters;

/*
 * Fragments count from 1, and 0 is none. The links of fragments are the trees of the union-find:
 *
 *   above 0   the parent, a lower fragment of the same set
 *   0         a root
 *   below 0   while phases rescan: a root, and minus the other end of its cheapest edge so far;
 *             at the end: minus the supervoxel
 */
typedef struct {
    supervoxels_params s;
    int32_t nx, ny, nz;
    uint32_t strips_x, strips;      /* of a row, and of all rows */
    bool whole_strips;              /* every strip has 8 voxels, and their levels are aligned */
    int tile_y_bits, tile_z_bits;   /* log2 of a tile's rows along y and z */
    int lanes_y_bits, lanes_z_bits; /* log2 of a warp's rows along y and z in one step */
    uint32_t tiles[3];
    int steps; /* of a warp in a tile */

    int32_t before; /* fragments in the slabs of ranks before: those of labels count from there
                       on */
    int32_t own_fragments;     /* in the slab, of a team */
    const int32_t *beside[2];  /* labels of the planes before and behind the slab; NULL: none */
    int32_t before_beside[2];  /* and the fragments that theirs count from */
    bool gathered;             /* fragments, and contacts if listed, are of all ranks */
    int32_t *theirs;           /* without a list: room for the links of another rank */
    int64_t max_fragments;     /* arrays have entries for 0..max_fragments */
    const uint32_t *fragments; /* how many there are */
    connect_counters *counters;
    int32_t *link;        /* per fragment */
    uint32_t *size;       /* per set: voxels */
    uint32_t *low;        /* per set and channel: bits 0..31 of the sum of levels, */
    uint32_t *high;       /* and bits 32..47, two sums in a word */
    uint32_t *small_bits; /* a bit per fragment of the slab: is its set small? */
    uint32_t *roots;      /* per block of the kernel that numbers sets */
    bool singletons;      /* every set is still one fragment */
    bool listed;          /* contacts are; if not, what follows is not used */
    u64 *key;             /* per set: lob_fragment_key of its cheapest edge so far, or NO_EDGE */
    uint32_t *mean;       /* per set and channel: lob_fragment_mean, or STALE_MEAN */
    int32_t *small;       /* list of small sets */
    u64 *contacts;        /* list: small set << 32 | other set */
    int64_t contacts_capacity;
    int64_t own_contacts; /* if gathered: the first of the list, that this rank found */
} connect_params;

/* ---- the stages: each puts kernels into the device's queue ---- */

/* Sizes and sums of all fragments, added to zeros. */
lob_status sum_fragments(lob_device *device, const connect_params *p, lob_error *error);

/* small_bits; if contacts are listed, also the list of small sets, keys and means. */
lob_status find_small_sets(lob_device *device, const connect_params *p, lob_error *error);

/* The contacts of all small sets, listed and compared; without a list they are only compared: the
 * cheapest is kept in the set's link. */
lob_status find_contacts(lob_device *device, const connect_params *p, lob_error *error);

/* All phases that are left for the listed contacts, then links become minus the numbers of sets.
 * Does nothing if the list has not all contacts. */
lob_status join_listed(lob_device *device, const connect_params *p, lob_error *error);

/*
 * Join pairs of fragments that are parts of one, before sets are looked for: the lower one stays.
 *
 *   before  in  what the fragments of the pairs' two sides count from
 */
lob_status join_pairs(lob_device *device, const connect_params *p, const uint2 *pairs, int64_t n,
                      uint2 before, lob_error *error);

/* Sizes and sums of joined fragments to the sets' roots. */
lob_status sum_sets(lob_device *device, const connect_params *p, lob_error *error);

/* Without a list: keep the cheaper of each set's picks here and in p->theirs. */
lob_status compare_picks(lob_device *device, const connect_params *p, lob_error *error);

/* All phases without lists. The host waits for each. */
lob_status join_by_rescans(lob_device *device, connect_params *p, lob_team *team, lob_error *error);

/* ---- what ranks tell each other ---- */

/*
 * Tell those beside the labels of the planes at seams, and find pairs across the seam before the
 * slab.
 *
 *   p     in/out  beside is set
 *   join  in      its seams; pairs, their number and planes beside are written
 */
lob_status meet_at_seams(lob_device *device, connect_params *p, const fragment_join *join,
                         lob_error *error);

/*
 * Everyone's items to everyone.
 *
 *   all     in/out  each rank's begin at item starts[rank]; one's own are there
 *   counts  in      of each rank
 *   bytes   in      of an item
 */
lob_status gather_items(lob_device *device, void *all, const int64_t *starts, const int64_t *counts,
                        int64_t bytes, lob_team *team, lob_error *error);

/* ---- sets ---- */

/* The number of a label's fragment, in a slab behind so many. */
static __device__ inline int32_t fragment_of(int32_t label, int32_t before)
{
    return label ? label + before : 0;
}

/* The thread whose addition overflows the low bits carries into the high ones. */
static __device__ inline void add_sum(const connect_params &p, int64_t i, u64 sum)
{
    const uint32_t low = (uint32_t)sum, before = atomicAdd(&p.low[i], low);
    const uint32_t high = (uint32_t)(sum >> 32) + (low > ~before);
    if (high) atomicAdd(&p.high[i / 2], high << i % 2 * 16);
}

static __device__ inline u64 sum_of(const connect_params &p, int64_t i)
{
    return (u64)(p.high[i / 2] >> i % 2 * 16 & UINT16_MAX) << 32 | p.low[i];
}

/* The set of a fragment, while trees are flat: between phases. That of 0 is 0. */
static __device__ inline int32_t set_of(const connect_params &p, int64_t fragment)
{
    const int32_t link = p.link[fragment];
    return link > 0 ? link : (int32_t)fragment;
}

static __device__ inline bool is_small(const connect_params &p, int32_t set)
{
    return (int64_t)p.size[set] < p.s.rule.small;
}

/* While other threads change links. A parent is always lower than its child, so an old link still
 * leads towards the root. */
static __device__ inline int32_t link_now(const connect_params &p, int32_t i)
{
    return *(volatile const int32_t *)&p.link[i];
}

static __device__ inline int32_t find_root(const connect_params &p, int32_t i)
{
    for (int32_t next; (next = link_now(p, i)) > 0;) i = next;
    return i;
}

/* ---- edges ---- */

/* A mean that has to be computed again; real ones take 20 bits. */
static constexpr uint32_t STALE_MEAN = ~0u;

/* Compare the edge from small set a to b with the cheapest so far. key_before: a key that a had,
 * which saves the atomic if it is lower already. */
static __device__ inline void compare_edge(const connect_params &p, int32_t a, int32_t b,
                                           uint64_t difference, u64 key_before)
{
    const u64 key = lob_fragment_key(difference, (uint32_t)b);
    if (key < key_before) atomicMin(&p.key[a], key);
}

} /* namespace lob::supervoxels */

#endif
