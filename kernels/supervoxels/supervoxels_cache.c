/* When the plan of one call serves the next. */
#include "kernels/supervoxels/supervoxels_cache.h"

#include <stdlib.h>
#include <string.h>

static bool same_options(const lob_supervoxels_options *a, const lob_supervoxels_options *b)
{
    return a->method == b->method && a->slice_axis == b->slice_axis && a->size_mm == b->size_mm &&
           a->count == b->count && a->compactness == b->compactness && a->ratio == b->ratio &&
           a->lab == b->lab && a->smallest == b->smallest;
}

static bool same_image(const lob_volume *a, const lob_volume *b)
{
    const double *mm = a->geometry.spacing_mm, *other_mm = b->geometry.spacing_mm;
    return a->type == b->type && a->channels == b->channels && a->dims.nx == b->dims.nx &&
           a->dims.ny == b->dims.ny && a->dims.nz == b->dims.nz && a->slope == b->slope &&
           mm[0] == other_mm[0] && mm[1] == other_mm[1] && mm[2] == other_mm[2];
}

static bool same_levels(const lob_supervoxels_cache *cache, const lob_levels *levels,
                        const lob_extremes *extremes, const lob_supervoxels_options *options)
{
    const bool same_count = levels->data_voxels == cache->levels.data_voxels;
    if (levels->data_voxels == 0 || (options->count > 0 && !same_count)) return false;
    if (options->lab) return true;
    for (int c = 0; c < cache->image.channels; c++) {
        const lob_extremes *a = &cache->extremes[c], *b = &extremes[c];
        if (a->low != b->low || a->high != b->high || a->low_bits != b->low_bits ||
            a->high_bits != b->high_bits)
            return false;
    }
    return levels->exact == cache->levels.exact && levels->low_bits == cache->levels.low_bits &&
           levels->low == cache->levels.low && levels->per_unit == cache->levels.per_unit;
}

lob_status lob_supervoxels_cache_plan(lob_supervoxels_cache *cache, const lob_supervoxels_input *in,
                                      const lob_supervoxels_options *options,
                                      const lob_levels *levels, const lob_extremes *extremes,
                                      lob_error *error)
{
    if (cache->made && same_options(&cache->options, options) &&
        same_image(&cache->image, in->image) && same_levels(cache, levels, extremes, options))
        return LOB_OK;
    lob_supervoxels_cache_clear(cache);
    const lob_status st =
        lob_supervoxels_plan_make(&cache->plan, in, options, levels, extremes, error);
    if (st != LOB_OK) return st;
    cache->made = true;
    cache->options = *options;
    cache->image = *in->image;
    cache->image.data = NULL;
    cache->levels = *levels;
    memcpy(cache->extremes, extremes, (size_t)in->image->channels * sizeof *extremes);
    return LOB_OK;
}

void lob_supervoxels_cache_clear(lob_supervoxels_cache *cache)
{
    if (cache->made) lob_supervoxels_plan_free(&cache->plan);
    *cache = (lob_supervoxels_cache){0};
}

lob_supervoxels_cache *lob_supervoxels_cache_make(void)
{
    return calloc(1, sizeof(lob_supervoxels_cache));
}

void lob_supervoxels_cache_free(lob_supervoxels_cache *cache)
{
    if (cache) lob_supervoxels_cache_clear(cache);
    free(cache);
}
