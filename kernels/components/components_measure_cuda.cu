/* Regions of components from their runs: the table's memory, and what pieces are listed for. */
#include "kernels/components/components_job_cuda.cuh"
#include "kernels/components/components_table_cuda.cuh"

/* ---- from the list to the table ---- */

enum {
    ADD_THREADS = 256,
    ADD_BLOCKS = 4, /* on a multiprocessor: each meets a frequent label many times */
    FAR_ENDS = 5,
    ADD_SLOT_BITS = 9,
    ADD_SLOTS = 1 << ADD_SLOT_BITS, /* labels that a block adds up by itself */
    ADD_PROBES = 4
};

/* What a listed piece adds, in places of the volume. */
typedef struct {
    uint32_t label; /* 0: nothing */
    wide voxels, sum[3];
    uint32_t end[FAR_ENDS]; /* of x, y, z the highest; complements of the lowest x and y */
} added;

static __device__ inline added piece_at(const measuring &m, int64_t i)
{
    added a = {};
    if (i >= m.listed) return a;
    const uint4 *at = (const uint4 *)&m.list[i], low = at[0];
    if (low.x == 0) return a;
    const uint4 high = at[1];
    const place p = place_of_tile(m.r, low.y >> 2 * LISTED_X_BITS);
    const uint32_t x = (uint32_t)p.tile_x * TILE_WORDS * WORD;
    const uint32_t y = ((uint32_t)p.tile_y << m.r.tile_y_bits) * (uint32_t)m.r.by;
    const uint32_t z = ((uint32_t)p.tile_z << m.r.tile_z_bits) * (uint32_t)m.r.bz;
    const uint32_t last = (1u << LISTED_X_BITS) - 1;
    a.label = low.x;
    a.voxels = low.z;
    a.sum[0] = low.w + a.voxels * x;
    a.sum[1] = high.x + a.voxels * y;
    a.sum[2] = high.y + a.voxels * z;
    a.end[0] = x + (low.y & last);
    a.end[1] = y + span_high(high.z);
    a.end[2] = z + span_high(high.w);
    a.end[3] = ~(x + (low.y >> LISTED_X_BITS & last));
    a.end[4] = ~(y + span_low(high.z));
    return a;
}

/* A component's lowest z is its root's. */
static __device__ inline void add_piece(lob_region *regions, const added &a)
{
    if (!a.label) return;
    lob_region *region = &regions[a.label - 1];
    uint32_t *low = (uint32_t *)region->low, *high = (uint32_t *)region->high;
    atomicAdd((wide *)&region->voxels, a.voxels);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        atomicAdd((wide *)&region->sum[k], a.sum[k]);
        if (a.end[k] > __ldca(&high[k])) atomicMax(&high[k], a.end[k]);
    }
#pragma unroll
    for (int k = 0; k < 2; k++)
        if (~a.end[3 + k] < __ldca(&low[k])) atomicMin(&low[k], ~a.end[3 + k]);
}

/*
 * What a block adds up by itself. Components that are most of a volume have pieces in every tile,
 * and all blocks adding to few rows wait for each other; such labels come early and find a place
 * here.
 */
typedef struct {
    uint32_t label[ADD_SLOTS];                      /* 0: free */
    uint32_t low[4][ADD_SLOTS], high[4][ADD_SLOTS]; /* halves of voxels and of the three sums */
    uint32_t end[FAR_ENDS][ADD_SLOTS];
} added_table;

/* In two halves, as shared memory adds no more at once. */
static __device__ inline void add_halves(uint32_t *low, uint32_t *high, wide value)
{
    const uint32_t by = (uint32_t)value, before = atomicAdd(low, by);
    const uint32_t more = (uint32_t)(value >> 32) + (before + by < before);
    if (more) atomicAdd(high, more);
}

static __device__ inline void keep_piece(added_table *t, const added &a, lob_region *regions)
{
    const int slot = a.label ? lob_place_of_key<ADD_SLOT_BITS, ADD_PROBES>(t->label, a.label) : -1;
    if (slot < 0) {
        add_piece(regions, a);
        return;
    }
    add_halves(&t->low[0][slot], &t->high[0][slot], a.voxels);
#pragma unroll
    for (int k = 0; k < 3; k++) add_halves(&t->low[1 + k][slot], &t->high[1 + k][slot], a.sum[k]);
#pragma unroll
    for (int k = 0; k < FAR_ENDS; k++)
        if (a.end[k] > *(volatile uint32_t *)&t->end[k][slot])
            atomicMax(&t->end[k][slot], a.end[k]);
}

static __device__ inline added kept_piece(const added_table *t, int slot)
{
    added a;
    a.label = t->label[slot];
    a.voxels = (wide)t->high[0][slot] << 32 | t->low[0][slot];
#pragma unroll
    for (int k = 0; k < 3; k++) a.sum[k] = (wide)t->high[1 + k][slot] << 32 | t->low[1 + k][slot];
#pragma unroll
    for (int k = 0; k < FAR_ENDS; k++) a.end[k] = t->end[k][slot];
    return a;
}

/* The list's pieces to their rows, by way of the blocks' tables. */
static __global__ void __launch_bounds__(ADD_THREADS) add_kernel(measuring m)
{
    __shared__ added_table table;
    const int64_t step = (int64_t)gridDim.x * ADD_THREADS;
    for (int i = (int)threadIdx.x; i < (int)(sizeof table / sizeof(uint32_t)); i += ADD_THREADS)
        ((uint32_t *)&table)[i] = 0;
    __syncthreads();
    for (int64_t i = (int64_t)blockIdx.x * ADD_THREADS + threadIdx.x; i < m.listed; i += step) {
        const added a = piece_at(m, i);
        if (m.sums && a.label) merge_values(&m.sums[a.label - 1], m.list_values[i]);
        keep_piece(&table, a, m.regions);
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < ADD_SLOTS; i += ADD_THREADS)
        add_piece(m.regions, kept_piece(&table, i));
}

/* ---- the call ---- */

/* Bytes of the table, which is output, and of what is needed besides. */
typedef struct {
    int64_t table, sums, list, values, work;
} parts;

static parts parts_of(const joining *j, int64_t count)
{
    const bool values = j->in->intensities != NULL;
    parts b = {};
    b.table = count * (int64_t)sizeof(lob_region);
    b.sums = values ? count * (int64_t)sizeof(value_sums) : 0;
    b.list = (j->r.pieces - j->found) * (int64_t)sizeof(listed_piece);
    b.values = values ? (j->r.pieces - j->found) * (int64_t)sizeof(value_sums) : 0;
    b.work = values ? lob_region_values_bytes() : 0;
    return b;
}

/* all: of the block; counted: of working memory, with what is held */
static bool fits(const joining *j, int64_t all, int64_t counted)
{
    const int64_t most = j->context->max_memory;
    if (most && counted > most) return false;
    if (all <= j->device->block_bytes[LOB_DEVICE_LISTS]) return true; /* asking takes long */
    return all <= lob_device_room(j->device, LOB_DEVICE_LISTS);
}

template <typename K, bool VALUES>
static lob_status measure_tiles(joining *j, const measuring &m, lob_error *error)
{
    const int places = TILE_THREADS * m.r.slots * (int)sizeof(uint16_t);
    const int shared = (int)sizeof(tile_table<K, VALUES>) + places;
    LOB_CUDA(cudaFuncSetAttribute((const void *)measure_kernel<K, VALUES>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    return lob_launch(j->device, measure_kernel<K, VALUES>, "measuring components", m.r.tiles,
                      TILE_THREADS, (size_t)shared, m, error);
}

lob_status lob_joining_measure(joining *j, lob_components_result *result, const uint32_t *label,
                               bool *measured, lob_error *error)
{
    const lob_volume *image = j->in->intensities;
    const parts b = parts_of(j, result->count);
    const int64_t slack = 5 * 256, besides = b.list + b.values + b.work + slack;
    const int64_t all = b.table + b.sums + besides;
    void *memory = NULL;
    measuring m = {};
    *measured = fits(j, all, lob_joining_bytes_with(j, LOB_DEVICE_LISTS, besides));
    if (!*measured) return LOB_OK;
    LOB_TRY(lob_device_scratch(j->device, LOB_DEVICE_LISTS, &memory, all, error));
    lob_joining_hold(j, LOB_DEVICE_LISTS, besides);
    unsigned char *at = (unsigned char *)memory;
    m.r = j->r;
    m.label = label;
    m.regions = (lob_region *)lob_take(&at, b.table);
    m.sums = image ? (value_sums *)lob_take(&at, b.sums) : NULL;
    m.list = (listed_piece *)lob_take(&at, b.list);
    m.list_values = image ? (value_sums *)lob_take(&at, b.values) : NULL;
    m.listed = j->r.pieces - j->found;
    if (image)
        LOB_TRY(lob_region_values_begin(&m.values, &result->fine, image, j->arrays->intensities,
                                        j->device, at, error));
    LOB_TRY(lob_with_lines(j->r, [&](auto lines) {
        using K = decltype(lines);
        return image ? measure_tiles<K, true>(j, m, error) : measure_tiles<K, false>(j, m, error);
    }));
    const int64_t blocks = (m.listed + ADD_THREADS - 1) / ADD_THREADS;
    const int64_t most = (int64_t)j->device->multiprocessors * ADD_BLOCKS;
    LOB_TRY(lob_launch(j->device, add_kernel, "adding pieces", blocks < most ? blocks : most,
                       ADD_THREADS, 0, m, error));
    if (image) LOB_TRY(lob_region_values_end(m.sums, result->count, j->device, at, error));
    result->regions = result->count ? m.regions : NULL;
    result->values = result->count ? (lob_region_values *)m.sums : NULL;
    return LOB_OK;
}
