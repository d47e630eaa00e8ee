/* The pieces of a slab's first and last plane; and which are joined with those of the slab behind
 * it, which another rank has. */
#include "kernels/components/bits/bits_params_cuda.cuh"

namespace lob::components
{

enum { SEAM_THREADS = 256 };

/* ---- the pieces of a plane ---- */

typedef struct {
    join_params join;
    int32_t z;
    uint32_t *piece; /* nx*ny; 0: background */
} plane_params;

/* A warp takes a word. */
template <typename K>
static __global__ void __launch_bounds__(SEAM_THREADS) plane_kernel(plane_params k)
{
    const join_params &p = k.join;
    const int lane = (int)threadIdx.x % WARP;
    for (int64_t i = grid_first() / WARP; i < (int64_t)p.ny * p.words; i += grid_step() / WARP) {
        const int y = (int)(i / p.words), w = (int)(i % p.words), x = w * WORD + lane;
        const int mrow_y = y / K::merge_y, mrow_z = k.z / K::merge_z;
        const bool filled = row_word(p, p.filled, y, k.z, w) >> lane & 1;
        const uint32_t starts = mrow_word_at<K>(p, mrow_y, mrow_z, w).starts;
        if (x < p.nx)
            k.piece[(int64_t)y * p.nx + x] =
                filled ? p.parent[piece_at(p, mrow_y, mrow_z, w, starts, lane)] : 0;
    }
}

static lob_status write_plane(call *c, uint32_t *piece, int32_t z, lob_error *error)
{
    const plane_params k = {c->join, z, piece};
    return with_merge(c->join, [&](auto kind) {
        return lob_launch_over(c->device, plane_kernel<decltype(kind)>, "labels of a plane",
                               (int64_t)k.join.ny * k.join.words * WARP, SEAM_THREADS, k, error);
    });
}

lob_status fetch_faces(call *c, lob_slab_found *found, lob_error *error)
{
    const int64_t plane = (int64_t)c->join.nx * c->join.ny;
    const int64_t bytes = 2 * plane * (int64_t)sizeof *found->faces;
    void *piece = NULL;
    if (!c->join.along[2]) return LOB_OK;
    LOB_TRY(lob_device_budget_take(&c->budget, LOB_DEVICE_LISTS, bytes, &piece, error));
    LOB_TRY(write_plane(c, (uint32_t *)piece, 0, error));
    LOB_TRY(write_plane(c, (uint32_t *)piece + plane, c->join.nz - 1, error));
    return lob_device_result(c->device, (void **)&found->faces, piece, bytes, {}, error);
}

/* ---- pairs ---- */

typedef struct {
    bits_params b;
    uint32_t *here;              /* pieces of the last plane */
    const uint32_t *there;       /* those of the next slab's first */
    const unsigned char *values; /* of that plane, channel after channel */
    int64_t value_bytes;         /* of a value */
    u64 *count;                  /* of pairs, */
    uint2 *pairs;                /* which lie behind it */
} seam_params;

/* Are voxels neighbours that are a plane and (dx, dy) apart? */
static __host__ __device__ inline bool is_across(const join_params &p, int dx, int dy)
{
    return 1 + (dx != 0) + (dy != 0) <= p.connectivity && (!dx || p.along[0]) &&
           (!dy || p.along[1]);
}

/* How far two voxels of a channel are apart; where equal ones are joined, 0 or 1. */
static __device__ inline double apart_in(const seam_params &k, const unsigned char *a,
                                         const unsigned char *b)
{
#define APART_IN(type_, ctype, name, integer, lowest, highest)             \
    case type_:                                                            \
        return k.b.tolerance ? apart(*(const ctype *)a, *(const ctype *)b) \
                             : *(const ctype *)a != *(const ctype *)b;
    LOB_TYPE_SWITCH(k.b.image.type, APART_IN);
#undef APART_IN
    return 0;
}

/* The pieces of voxel (x, y) of the next plane and of (x + dx, y + dy) of this one, if the voxels
 * are joined; else 0 and 0. */
static __device__ inline uint2 pair_at(const seam_params &k, int x, int y, int dx, int dy)
{
    const join_params &p = k.b.join;
    const int from_x = x + dx, from_y = y + dy;
    if (x < 0 || y < 0 || (uint32_t)from_x >= (uint32_t)p.nx || (uint32_t)from_y >= (uint32_t)p.ny)
        return {0, 0};
    const int64_t plane = (int64_t)p.nx * p.ny, a = (int64_t)from_y * p.nx + from_x;
    const int64_t b = (int64_t)y * p.nx + x, last = k.b.image.voxels - plane;
    const uint2 pair = {k.here[a], k.there[b]};
    if (!pair.x || !pair.y) return {0, 0};
    const unsigned char *const stored = (const unsigned char *)k.b.image.stored;
    double sum = 0;
    for (int c = 0; p.by_value && c < k.b.image.channels; c++)
        sum += apart_in(k, stored + (c * k.b.image.voxels + last + a) * k.value_bytes,
                        k.values + (c * plane + b) * k.value_bytes);
    return sum <= k.b.rule.limit ? pair : uint2{0, 0};
}

static __device__ inline bool same_pair(uint2 a, uint2 b)
{
    return a.x == b.x && a.y == b.y;
}

/* A pair that the voxel before along x or along y has too is left out. */
static __global__ void __launch_bounds__(SEAM_THREADS) seam_kernel(seam_params k)
{
    const join_params &p = k.b.join;
    for (int64_t i = grid_first(); i < (int64_t)p.nx * p.ny; i += grid_step()) {
        const int x = (int)(i % p.nx), y = (int)(i / p.nx);
        if (!k.there[i]) continue;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                if (!is_across(p, dx, dy)) continue;
                const uint2 pair = pair_at(k, x, y, dx, dy);
                if (pair.x && !same_pair(pair, pair_at(k, x - 1, y, dx, dy)) &&
                    !same_pair(pair, pair_at(k, x, y - 1, dx, dy)))
                    k.pairs[atomicAdd(k.count, 1ull)] = pair;
            }
    }
}

/* ---- the seam ---- */

/* What a rank sends, and what it has from the next: pieces of a first plane, and its values. */
typedef struct {
    unsigned char *mine, *next;
    int64_t values_at, bytes;
} seam_letters;

static lob_status lay_out(call *c, seam_params *k, seam_letters *l, lob_error *error)
{
    const int64_t plane = (int64_t)c->join.nx * c->join.ny;
    int offsets = 0; /* at most so many pairs has a voxel */
    void *block = NULL;
    for (int i = 0; i < 9; i++) offsets += is_across(c->join, i % 3 - 1, i / 3 - 1);
    const auto place = [&](lob::arena at) {
        l->mine = at.take<unsigned char>(l->bytes);
        l->next = at.take<unsigned char>(l->bytes);
        k->here = at.take<uint32_t>(plane);
        k->count = at.take<u64>(1 + offsets * plane);
        return at.used;
    };
    LOB_TRY(
        lob_device_budget_take(&c->budget, LOB_DEVICE_LISTS, place(lob::arena()), &block, error));
    place(lob::arena(block));
    k->pairs = (uint2 *)(k->count + 1);
    k->there = (const uint32_t *)l->next;
    k->values = l->next + l->values_at;
    return lob_device_fill(c->device, k->count, 0, sizeof *k->count, error);
}

/* Send the first plane to the rank before, and have that of the rank behind. */
static lob_status pass_down(call *c, const seam_params &k, const seam_letters &l, lob_error *error)
{
    lob_team *const team = c->in->share->team;
    const int64_t bytes = (int64_t)c->join.nx * c->join.ny * k.value_bytes;
    const unsigned char *const stored = (const unsigned char *)k.b.image.stored;
    if (team->rank > 0) {
        LOB_TRY(write_plane(c, (uint32_t *)l.mine, 0, error));
        for (int i = 0; c->join.by_value && i < k.b.image.channels; i++)
            LOB_TRY(lob_device_copy(c->device, l.mine + l.values_at + i * bytes,
                                    stored + i * k.b.image.voxels * k.value_bytes, bytes, error));
    }
    return lob_team_beside(team, {0, l.mine, l.bytes, NULL, 0, c->device},
                           {0, NULL, 0, l.next, l.bytes, c->device}, error);
}

lob_status join_seam(call *c, lob_slab_found *out, lob_error *error)
{
    const lob_volume *const image = c->in->image;
    const lob_team *const team = c->in->share->team;
    const int64_t plane = (int64_t)c->join.nx * c->join.ny;
    seam_params k = {};
    seam_letters l = {};
    if (!c->join.along[2]) return LOB_OK;
    k.b.join = c->join;
    k.b.image = lob_device_image_of(image, c->arrays->image, NULL, NULL);
    k.b.rule = c->rule;
    k.b.tolerance = c->options->join == LOB_JOIN_TOLERANCE;
    k.value_bytes = (int64_t)lob_type_of(image->type)->bytes;
    l.values_at = (plane * (int64_t)sizeof *k.there + 7) / 8 * 8;
    l.bytes = l.values_at + (c->join.by_value ? image->channels * plane * k.value_bytes : 0);
    LOB_TRY(lay_out(c, &k, &l, error));
    const bool is_last = team->rank + 1 == team->size;
    if (!is_last) LOB_TRY(write_plane(c, k.here, c->join.nz - 1, error));
    LOB_TRY(pass_down(c, k, l, error));
    if (is_last) return LOB_OK;
    LOB_TRY(lob_launch_over(c->device, seam_kernel, "joining across a seam", plane, SEAM_THREADS, k,
                            error));
    LOB_TRY(lob_device_download(c->device, &out->pair_count, k.count, sizeof *k.count, error));
    return lob_device_result(c->device, (void **)&out->pairs, k.pairs,
                             out->pair_count * (int64_t)sizeof *out->pairs, {}, error);
}

} /* namespace lob::components */
