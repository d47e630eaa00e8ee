/* Regions of components from runs: memory for the table and for what is listed. */
#include "kernels/components/measure/measure_params_cuda.cuh"

namespace lob::components
{

/* Lay out the table, which is output, and behind it working memory; returns the bytes of that. */
static int64_t lay_out(measure_params *m, void **work, const call *c, int64_t count,
                       lob::arena *block)
{
    const bool values = c->in->intensities != NULL;
    m->regions = block->take<lob_region>(count);
    m->sums = values ? block->take<value_sums>(count) : NULL;
    const int64_t table = block->used;
    m->list = block->take<listed_piece>(m->listed);
    m->list_values = values ? block->take<value_sums>(m->listed) : NULL;
    *work = values ? block->take<unsigned char>(regions::value_sums_bytes()) : NULL;
    return block->used - table;
}

/* bytes: of the block; working: of these working memory */
static bool fits(const call *c, int64_t bytes, int64_t working)
{
    const lob_device_budget *b = &c->budget;
    const int64_t beside = lob_device_budget_held(b) - b->held[LOB_DEVICE_LISTS];
    if (b->max_bytes > 0 && beside + working > b->max_bytes) return false;
    return bytes <= lob_device_block_capacity(c->device, LOB_DEVICE_LISTS, bytes);
}

lob_status measure_runs(call *c, lob_components_output *out, const uint32_t *label, bool *measured,
                        lob_error *error)
{
    const lob_volume *image = c->in->intensities;
    void *memory = NULL, *work = NULL;
    measure_params m = {};
    m.join = c->join;
    m.label = label;
    m.listed = c->join.pieces - c->found;
    lob::arena sizes;
    const int64_t working = lay_out(&m, &work, c, out->count, &sizes);
    *measured = fits(c, sizes.used, working);
    if (!*measured && c->in->share)
        return lob_device_budget_refuse(&c->budget, LOB_DEVICE_LISTS, sizes.used, error);
    if (!*measured) return LOB_OK;
    LOB_TRY(lob_device_block_take(c->device, LOB_DEVICE_LISTS, &memory, sizes.used, error));
    lob_device_budget_hold(&c->budget, LOB_DEVICE_LISTS, working);
    lob::arena block(memory);
    lay_out(&m, &work, c, out->count, &block);
    if (image && c->in->share) {
        m.intensities.image = lob_device_image_of(image, c->arrays->intensities, NULL, NULL);
        m.intensities.levels = lob_device_levels_of(out->fine);
    } else if (image)
        LOB_TRY(regions::begin_value_sums(&m.intensities, &out->fine, image, c->arrays->intensities,
                                          c->device, work, error));
    LOB_TRY(measure_tiles(c, m, error));
    LOB_TRY(add_listed_pieces(c, m, error));
    if (image) LOB_TRY(regions::finish_value_sums(m.sums, out->count, c->device, work, error));
    out->regions = out->count ? m.regions : NULL;
    out->values = out->count ? (lob_region_values *)m.sums : NULL;
    return LOB_OK;
}

} /* namespace lob::components */
