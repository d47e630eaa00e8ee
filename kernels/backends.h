/* The backends: each is a table of functions, one slot an algorithm. */
#ifndef LOB_BACKENDS_H
#define LOB_BACKENDS_H

#include "kernels/components/components.h"
#include "kernels/growcut/growcut.h"
#include "kernels/regions/regions.h"
#include "kernels/supervoxels/supervoxels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *name; /* "cpu", "cuda" */
    lob_status (*growcut)(const lob_growcut_output *out, lob_growcut_stats *stats,
                          const lob_growcut_input *in, const lob_growcut_options *options,
                          const lob_context *context, lob_error *error);
    lob_status (*supervoxels)(int32_t *labels, lob_supervoxels_stats *stats,
                              const lob_supervoxels_input *in,
                              const lob_supervoxels_options *options, const lob_context *context,
                              lob_error *error);
    lob_status (*components)(lob_components_output *result, const lob_components_input *in,
                             const lob_components_options *options, const lob_context *context,
                             lob_error *error);
    lob_status (*regions)(lob_region *regions, lob_region_values *values, lob_fine_levels *fine,
                          const lob_regions_input *in, const lob_context *context,
                          lob_error *error);
} lob_backend;

/* The backends of this build, ending with NULL; the CPU is first and complete. */
extern const lob_backend *const lob_backends[];

#ifdef __cplusplus
}
#endif

#endif
