/* Regions of components from their runs: the table's memory, and the kernels that fill it. */
#include "kernels/components/components_job_cuda.cuh"
#include "kernels/components/measure/measure_list_cuda.cuh"
#include "kernels/components/measure/measure_rows_cuda.cuh"

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
    b.work = values ? lob::regions::value_sums_bytes() : 0;
    return b;
}

/* all: of the block; counted: of working memory, with what is held */
static bool fits(const joining *j, int64_t all, int64_t counted)
{
    const int64_t most = j->context->max_memory;
    if (most && counted > most) return false;
    return all <= lob_device_block_capacity(j->device, LOB_DEVICE_LISTS, all);
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

/* A list that is short for the device is cut into no more shares than it may work on at once. */
template <bool VALUES>
static lob_status add_pieces(joining *j, const measuring &m, lob_error *error)
{
    const int shared = (int)sizeof(added_table<VALUES>);
    const int64_t blocks = (int64_t)lob_device_multiprocessors(j->device) * ADD_BLOCKS;
    const int64_t even = (m.listed / blocks / ADD_THREADS + 1) * ADD_THREADS;
    adding a = {};
    a.m = m;
    a.share = even < added_table<VALUES>::most ? even : added_table<VALUES>::most;
    LOB_CUDA(cudaFuncSetAttribute((const void *)add_kernel<VALUES>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    return lob_launch(j->device, add_kernel<VALUES>, "adding pieces",
                      (m.listed + a.share - 1) / a.share, ADD_THREADS, (size_t)shared, a, error);
}

lob_status lob_joining_measure(joining *j, lob_components_output *result, const uint32_t *label,
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
    LOB_TRY(lob_device_block_take(j->device, LOB_DEVICE_LISTS, &memory, all, error));
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
        LOB_TRY(lob::regions::begin_value_sums(&m.values, &result->fine, image,
                                               j->arrays->intensities, j->device, at, error));
    LOB_TRY(lob_with_lines(j->r, [&](auto lines) {
        using K = decltype(lines);
        return image ? measure_tiles<K, true>(j, m, error) : measure_tiles<K, false>(j, m, error);
    }));
    LOB_TRY(image ? add_pieces<true>(j, m, error) : add_pieces<false>(j, m, error));
    if (image)
        LOB_TRY(lob::regions::finish_value_sums(m.sums, result->count, j->device, at, error));
    result->regions = result->count ? m.regions : NULL;
    result->values = result->count ? (lob_region_values *)m.sums : NULL;
    return LOB_OK;
}
