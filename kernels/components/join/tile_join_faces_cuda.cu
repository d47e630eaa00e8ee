/*
 * tile_join_cuda.cu's work where values decide which neighbours through faces are joined.
 *
 * Runs are nodes in the order of words, without gaps. So once they are linked, threads take runs
 * and not words: lanes have the same amount of work, and what nodes before them have found helps.
 */
#include "kernels/components/components_stages_cuda.cuh"
#include "kernels/components/join/run_forest_cuda.cuh"

namespace lob::components
{

/* Nodes of a tile, each a word of shared memory. */
enum { TILE_NODES = TILE_THREADS * MAX_SLOTS };

/* A block's shared memory, by thread where it is of words. */
typedef struct {
    uint32_t starts[TILE_THREADS];
    uint16_t base[TILE_THREADS]; /* runs of the tile before the word's own */
    uint32_t of_warp[TILE_WARPS];
    union {
        struct {                           /* until pairs are known */
            uint32_t joined[TILE_THREADS]; /* bit x: with x - 1 in the tile */
            uint32_t along_y[TILE_THREADS], along_z[TILE_THREADS];
        };
        struct {
            uint32_t roots[TILE_NODES / WORD]; /* a bit per node */
            uint32_t pairs[TILE_WARPS * QUEUE];
        };
    };
} face_tile;

/* A thread's word. */
typedef struct {
    int thread, mrow, local_y, local_z, y, z, w;
    int thread_y, thread_z; /* of the words before it along y and z */
    uint32_t joined, along_y, along_z;
    uint32_t starts;
    int base, runs;
} face_word;

static __device__ inline uint32_t word_if(const uint32_t *bits, bool there, int64_t index)
{
    return bits && there ? bits[index] : 0;
}

/* The pairs of a word in the tile, and where its runs start. */
static __device__ inline face_word load_face_word(const join_params &p, const tile_position &at,
                                                  int thread)
{
    face_word f;
    f.thread = thread;
    f.mrow = thread / TILE_WORDS;
    f.local_y = f.mrow & ((1 << p.tile_y_bits) - 1);
    f.local_z = f.mrow >> p.tile_y_bits;
    f.y = mrow_y(p, at, f.mrow);
    f.z = mrow_z(p, at, f.mrow);
    f.w = at.tile_x * TILE_WORDS + thread % TILE_WORDS;
    f.thread_y = thread - TILE_WORDS;
    f.thread_z = thread - (TILE_WORDS << p.tile_y_bits);
    const bool inside = f.y < p.ny && f.z < p.nz && f.w < p.words;
    const int64_t index = ((int64_t)f.z * p.ny + f.y) * p.words + f.w;
    const uint32_t filled = word_if(p.filled, inside, index);
    f.joined = word_if(p.joined_bits[direction_of(-1, 0, 0)], inside, index);
    f.along_y = word_if(p.joined_bits[direction_of(0, -1, 0)], inside && f.local_y > 0, index);
    f.along_z = word_if(p.joined_bits[direction_of(0, 0, -1)], inside && f.local_z > 0, index);
    f.starts = run_starts(filled, f.joined);
    f.runs = __popc(f.starts);
    if (thread % TILE_WORDS == 0) f.joined &= ~UINT32_C(1);
    return f;
}

/* Leave the pairs of a word that need a union: one for two runs, none that others imply. */
static __device__ inline void select_needed(const face_tile &t, face_word *f)
{
    const uint32_t left_y = __shfl_up_sync(ALL_LANES, f->along_y, 1);
    const uint32_t left_z = __shfl_up_sync(ALL_LANES, f->along_z, 1);
    if (f->local_y > 0 && f->local_z > 0) /* implied by way of both merged rows at z - 1 */
        f->along_y &= ~(f->along_z & t.along_z[f->thread_y] & t.along_y[f->thread_z]);
    if (f->along_y) f->along_y = lowest_bits(f->along_y, f->joined & t.joined[f->thread_y], left_y);
    if (f->along_z) f->along_z = lowest_bits(f->along_z, f->joined & t.joined[f->thread_z], left_z);
}

/* Give every run of a word its first parent, and take out the pairs that this unites. */
static __device__ inline void link_face_word(const run_forest &forest, const face_tile &t,
                                             face_word *f)
{
    const uint32_t starts_y = f->along_y ? t.starts[f->thread_y] : 0;
    const uint32_t starts_z = f->along_z ? t.starts[f->thread_z] : 0;
    const int last_y = f->along_y ? t.base[f->thread_y] - 1 : 0;
    const int last_z = f->along_z ? t.base[f->thread_z] - 1 : 0;
    uint32_t left = f->starts;
    int node = f->base;
    if (f->joined & 1) { /* the last run of the word to the left goes on */
        *forest.at((uint32_t)node * 4) = (uint32_t)(node - 1) * 4;
        left &= left - 1;
        node++;
    }
    for (; left; node++) {
        const uint32_t start = left & -left, rest = left & (left - 1);
        const uint32_t run = (rest & -rest) - start; /* without a next one: all from start on */
        const uint32_t z = f->along_z & run, any = z ? z : f->along_y & run;
        const uint32_t pair = any & -any;
        const uint32_t starts = (z ? starts_z : starts_y) & (pair | (pair - 1));
        const int to = (z ? last_z : last_y) + __popc(starts);
        *forest.at((uint32_t)node * 4) = (uint32_t)(any ? to : node) * 4;
        f->along_z &= ~(z ? pair : 0);
        f->along_y &= ~(z ? 0 : pair);
        left = rest;
    }
}

/* All lanes together: unite the pairs that are left. */
static __device__ inline void unite_face_word(const run_forest &forest, face_tile *t,
                                              const face_word &f)
{
    pair_queue queue = {forest, t->pairs + f.thread / WARP * QUEUE, 0};
    uint32_t left_z = f.along_z, left_y = f.along_y;
    while (__any_sync(ALL_LANES, (left_z | left_y) != 0)) {
        const uint32_t any = left_z ? left_z : left_y, pair = any & -any;
        const uint32_t columns = pair | (pair - 1);
        const int other = !any ? f.thread : left_z ? f.thread_z : f.thread_y;
        const int node = f.base + __popc(f.starts & columns) - 1;
        const int to = t->base[other] + __popc(t->starts[other] & columns) - 1;
        left_y &= ~(left_z ? 0 : pair);
        left_z &= left_z - 1;
        queue.add(any != 0, (uint32_t)node * 4, (uint32_t)to * 4);
    }
    if (queue.count) queue.unite_last(queue.count);
}

/*
 * Make a node a child of its root while no unions run. Its parent is written at every step of the
 * climb, so that the paths of its descendants become shorter too.
 */
static __device__ inline uint32_t flatten_node(const run_forest &forest, uint32_t node)
{
    uint32_t root = forest.parent(node);
    for (uint32_t up; (up = forest.parent(root)) != root; root = up)
        atomicMin(forest.at(node), up); /* others read it meanwhile */
    return root;
}

static __device__ inline void flatten_nodes(const run_forest &forest, int total)
{
    const int lane = (int)threadIdx.x % WARP;
    for (int i = (int)threadIdx.x - lane; i < total; i += TILE_THREADS) {
        if (i + lane < total) flatten_node(forest, (uint32_t)(i + lane) * 4);
        __syncwarp();
    }
}

/* The same, and mark roots. */
static __device__ inline void find_roots(const run_forest &forest, face_tile *t, int total)
{
    const int lane = (int)threadIdx.x % WARP;
    for (int i = (int)threadIdx.x - lane; i < total; i += TILE_THREADS) {
        const uint32_t node = (uint32_t)(i + lane) * 4;
        const bool root = i + lane < total && flatten_node(forest, node) == node;
        const uint32_t bits = __ballot_sync(ALL_LANES, root);
        if (lane == 0) t->roots[i / WORD] = bits;
    }
}

/* Bit k: run k of a word is a root. */
static __device__ inline uint32_t own_roots(const face_tile &t, const face_word &f)
{
    const int at = f.base / WORD, shift = f.base % WORD;
    if (f.runs == 0) return 0;
    const bool both = shift + f.runs > WORD;
    const u64 bits = t.roots[at] | (both ? (u64)t.roots[at + 1] << WORD : 0);
    return (uint32_t)(bits >> shift) & bits_to(f.runs - 1);
}

/* Store the local roots of a word's own roots, and count those of its merged row. */
static __device__ inline void store_local_roots(const run_forest &forest, const join_params &p,
                                                const tile_position &at, const face_tile &t,
                                                const face_word &f)
{
    const uint32_t own = own_roots(t, f);
    const int count = __popc(own), first = f.thread % TILE_WORDS == 0;
    const int before = __shfl_up_sync(ALL_LANES, count, 1),
              after = __shfl_down_sync(ALL_LANES, count, 1);
    uint32_t local_root =
        (uint32_t)(f.mrow << LOCAL_ROOT_RANK_BITS) + (uint32_t)(first ? 0 : before);
    if (first && f.y < p.mrows_y && f.z < p.mrows_z)
        p.mrow_base[mrow_index(p, at, f.mrow)] = (uint32_t)(count + after);
    for (uint32_t left = own; left; left &= left - 1)
        *forest.at((uint32_t)(f.base + lowest_bit(left)) * 4) = forest.is_local_root | local_root++;
}

static __device__ inline void write_local_roots(const run_forest &forest, uint16_t *local_root,
                                                int total)
{
#pragma unroll 2
    for (int i = (int)threadIdx.x; i < total; i += TILE_THREADS)
        local_root[i] = forest.local_root((uint32_t)i * 4);
}

/* A block takes a tile. */
static __global__ void __launch_bounds__(TILE_THREADS, 3) tile_faces_kernel(join_params p)
{
    static_assert(TILE_WORDS == 2, "the other word of a merged row is the next lane's");
    extern __shared__ uint32_t parents[];
    __shared__ face_tile t;
    const run_forest forest = {(unsigned char *)parents};
    const int64_t tile = blockIdx.x;
    const int thread = (int)threadIdx.x;
    const tile_position at = position_of_tile(p, tile);
    face_word f = load_face_word(p, at, thread);
    uint32_t all = 0;
    t.starts[thread] = f.starts;
    t.joined[thread] = f.joined;
    t.along_y[thread] = f.along_y;
    t.along_z[thread] = f.along_z;
    f.base = (int)block_exclusive_sum((uint32_t)f.runs, t.of_warp, &all);
    const int total = (int)all;
    t.base[thread] = (uint16_t)f.base;
    p.first_run[tile * TILE_THREADS + thread] = tile_first_run(p, at) + (uint32_t)f.base;
    if (thread == 0) p.run_count[tile] = all;
    select_needed(t, &f);
    __syncthreads();
    link_face_word(forest, t, &f);
    __syncthreads();
    flatten_nodes(forest, total);
    __syncthreads();
    unite_face_word(forest, &t, f);
    __syncthreads();
    find_roots(forest, &t, total);
    __syncthreads();
    store_local_roots(forest, p, at, t, f);
    __syncthreads();
    write_local_roots(forest, p.local_root + tile_first_run(p, at), total);
}

lob_status join_tiles_by_faces(call *c, lob_error *error)
{
    const size_t shared = TILE_NODES * sizeof(uint32_t);
    LOB_TRY(lob_allow_shared(tile_faces_kernel, shared, error));
    return lob_launch(c->device, tile_faces_kernel, "joining in tiles", c->join.tiles, TILE_THREADS,
                      shared, c->join, error);
}

} /* namespace lob::components */
