/* The CUDA backend's functions in a build without CUDA: all of them say so. */
#include "kernels/components/components_cuda.h"
#include "kernels/growcut/growcut_cuda.h"
#include "kernels/regions/regions_cuda.h"
#include "kernels/supervoxels/supervoxels_cuda.h"

static lob_status none(lob_error *error)
{
    return lob_fail_hint(error, LOB_EDEVICE, LOB_HINT_USE_CPU, "built without CUDA");
}

lob_status lob_components_cuda(lob_components_output *out, const lob_components_input *in,
                               const lob_components_options *options, const lob_context *context,
                               lob_error *error)
{
    (void)in, (void)options, (void)context;
    *out = (lob_components_output){0};
    return none(error);
}

lob_status lob_components_cuda_arrays(const lob_components_arrays *arrays,
                                      lob_components_output *out, const lob_components_input *in,
                                      const lob_components_options *options,
                                      const lob_context *context, lob_error *error)
{
    (void)arrays;
    return lob_components_cuda(out, in, options, context, error);
}

lob_status lob_growcut_cuda(const lob_growcut_output *out, lob_growcut_stats *stats,
                            const lob_growcut_input *in, const lob_growcut_options *options,
                            const lob_context *context, lob_error *error)
{
    (void)out, (void)stats, (void)in, (void)options, (void)context;
    return none(error);
}

lob_status lob_growcut_cuda_arrays(const lob_growcut_arrays *arrays, lob_growcut_stats *stats,
                                   const lob_growcut_input *in, const lob_growcut_options *options,
                                   const lob_context *context, lob_error *error)
{
    (void)arrays, (void)stats, (void)in, (void)options, (void)context;
    return none(error);
}

lob_status lob_regions_cuda(lob_region *regions, lob_region_values *values, lob_fine_levels *fine,
                            const lob_regions_input *in, const lob_context *context,
                            lob_error *error)
{
    (void)regions, (void)values, (void)fine, (void)in, (void)context;
    return none(error);
}

lob_status lob_regions_cuda_arrays(const lob_regions_arrays *arrays, const lob_region **regions,
                                   const lob_region_values **values, lob_fine_levels *fine,
                                   int64_t *working_bytes, const lob_regions_input *in,
                                   const lob_context *context, lob_error *error)
{
    (void)arrays, (void)regions, (void)values, (void)fine, (void)working_bytes, (void)in;
    (void)context;
    return none(error);
}

lob_status lob_supervoxels_cuda(int32_t *labels, lob_supervoxels_stats *stats,
                                const lob_supervoxels_input *in,
                                const lob_supervoxels_options *options, const lob_context *context,
                                lob_error *error)
{
    (void)labels, (void)stats, (void)in, (void)options, (void)context;
    return none(error);
}

lob_status lob_supervoxels_cuda_arrays(const lob_supervoxels_arrays *arrays,
                                       lob_supervoxels_stats *stats,
                                       const lob_supervoxels_input *in,
                                       const lob_supervoxels_options *options,
                                       lob_supervoxels_cache *cache, const lob_context *context,
                                       lob_error *error)
{
    (void)arrays, (void)stats, (void)in, (void)options, (void)cache, (void)context;
    return none(error);
}
