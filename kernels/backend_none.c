/* What is declared for CUDA, in a build without it: opening a GPU fails, and so does the rest. */
#include "kernels/appearance/appearance_cuda.h"
#include "kernels/components/components_cuda.h"
#include "kernels/device/device.h"
#include "kernels/distance/distance_cuda.h"
#include "kernels/filters/filters_cuda.h"
#include "kernels/growcut/growcut_cuda.h"
#include "kernels/labels/label_steps_cuda.h"
#include "kernels/morphology/morphology_cuda.h"
#include "kernels/refine/refine_cuda.h"
#include "kernels/regions/regions_cuda.h"
#include "kernels/resample/resample_cuda.h"
#include "kernels/supervoxels/supervoxels_cuda.h"
#include "kernels/threshold/threshold_cuda.h"

#include <stddef.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

static lob_status none(lob_error *error)
{
    return lob_fail_hint(error, LOB_EDEVICE, LOB_HINT_USE_CPU, "built without CUDA");
}

/* A function of these parameters and an error. */
#define FAILS(name, ...)                           \
    lob_status name(__VA_ARGS__, lob_error *error) \
    {                                              \
        return none(error);                        \
    }

/* A function of a device. */
#define GIVES(type, name, value)        \
    type name(const lob_device *device) \
    {                                   \
        return value;                   \
    }

lob_status lob_device_open(lob_device **out, const char *choice, lob_error *error)
{
    *out = NULL;
    return none(error);
}

void lob_device_close(lob_device *device) {}
void lob_device_begin(lob_device *device) {}
void lob_device_end(lob_device *device) {}
void lob_device_free(lob_device *device, void *memory) {}

lob_device_traffic lob_device_traffic_here(void)
{
    return (lob_device_traffic){0};
}

int lob_device_count(void)
{
    return 0;
}

void lob_device_identity(char text[LOB_DEVICE_IDENTITY], int n)
{
    text[0] = '\0';
}

GIVES(const char *, lob_device_name, "none")
GIVES(int, lob_device_number, -1)
GIVES(int, lob_device_capability, 0)
GIVES(int64_t, lob_device_free_bytes, 0)
GIVES(int64_t, lob_device_total_bytes, 0)
GIVES(void *, lob_device_stream, NULL)
FAILS(lob_device_alloc, lob_device *device, void **memory, int64_t bytes)
FAILS(lob_device_copy, lob_device *device, void *to, const void *from, int64_t bytes)
FAILS(lob_device_upload, lob_device *device, void *to, const void *from, int64_t bytes)
FAILS(lob_device_download, lob_device *device, void *to, const void *from, int64_t bytes)
FAILS(lob_device_wait, lob_device *device)
FAILS(lob_device_wait_stream, lob_device *device, void *stream)

lob_status lob_components_cuda(lob_components_output *out, const lob_components_input *in,
                               const lob_components_options *options, const lob_context *context,
                               lob_error *error)
{
    *out = (lob_components_output){0};
    return none(error);
}

lob_status lob_components_cuda_arrays(const lob_components_arrays *arrays,
                                      lob_components_output *out, const lob_components_input *in,
                                      const lob_components_options *options,
                                      const lob_context *context, lob_error *error)
{
    return lob_components_cuda(out, in, options, context, error);
}

lob_status lob_filter_cuda(lob_filter_output *out, const lob_filter_input *in,
                           const lob_filter_options *options, const lob_context *context,
                           lob_error *error)
{
    *out = (lob_filter_output){0};
    return none(error);
}

lob_status lob_filter_cuda_arrays(const lob_filter_arrays *arrays, lob_filter_output *out,
                                  const lob_filter_input *in, const lob_filter_options *options,
                                  const lob_context *context, lob_error *error)
{
    return lob_filter_cuda(out, in, options, context, error);
}

FAILS(lob_appearance_cuda, float *shares, lob_appearance_stats *stats,
      const lob_appearance_input *in, const lob_appearance_options *options,
      const lob_context *context)
FAILS(lob_distance_cuda, const lob_distance_output *out, const lob_distance_input *in,
      const lob_distance_options *options, const lob_context *context)
FAILS(lob_distance_cuda_arrays, const lob_distance_output *out, const void *labels,
      const lob_distance_input *in, const lob_distance_options *options, const lob_context *context)
FAILS(lob_growcut_cuda, const lob_growcut_output *out, lob_growcut_stats *stats,
      const lob_growcut_input *in, const lob_growcut_options *options, const lob_context *context)
FAILS(lob_growcut_cuda_arrays, const lob_growcut_arrays *arrays, lob_growcut_stats *stats,
      const lob_growcut_input *in, const lob_growcut_options *options, const lob_context *context)

lob_status lob_labels_cuda(lob_labels_output *out, const lob_labels_input *in,
                           const lob_labels_options *options, const lob_context *context,
                           lob_error *error)
{
    *out = (lob_labels_output){0};
    return none(error);
}

lob_status lob_labels_cuda_arrays(const lob_labels_arrays *arrays, lob_labels_output *out,
                                  const lob_labels_input *in, const lob_labels_options *options,
                                  const lob_context *context, lob_error *error)
{
    return lob_labels_cuda(out, in, options, context, error);
}

FAILS(lob_morphology_cuda, void *out, const lob_morphology_input *in, lob_morphology how,
      double radius, const lob_context *context)
FAILS(lob_morphology_cuda_arrays, void *out, const void *labels, const lob_morphology_input *in,
      lob_morphology how, double radius, const lob_context *context)
FAILS(lob_refine_cuda, void *out, lob_refine_stats *stats, const lob_refine_input *in,
      const lob_refine_options *options, const lob_context *context)
FAILS(lob_regions_cuda, lob_region *regions, lob_region_values *values, lob_fine_levels *fine,
      const lob_regions_input *in, const lob_context *context)
FAILS(lob_regions_cuda_arrays, const lob_regions_arrays *arrays, const lob_region **regions,
      const lob_region_values **values, lob_fine_levels *fine, int64_t *working_bytes,
      const lob_regions_input *in, const lob_context *context)
FAILS(lob_resample_cuda, void *out, const lob_resample_input *in,
      const lob_resample_options *options, const lob_context *context)
FAILS(lob_resample_cuda_arrays, void *out, const void *voxels, const lob_resample_input *in,
      const lob_resample_options *options, const lob_context *context)
FAILS(lob_supervoxels_cuda, int32_t *labels, lob_supervoxels_stats *stats,
      const lob_supervoxels_input *in, const lob_supervoxels_options *options,
      const lob_context *context)
FAILS(lob_supervoxels_cuda_arrays, const lob_supervoxels_arrays *arrays,
      lob_supervoxels_stats *stats, const lob_supervoxels_input *in,
      const lob_supervoxels_options *options, lob_supervoxels_cache *cache,
      const lob_context *context)
FAILS(lob_threshold_cuda, uint8_t *labels, lob_threshold_stats *stats,
      const lob_threshold_input *in, const lob_threshold_options *options,
      const lob_context *context)
FAILS(lob_threshold_cuda_arrays, const lob_threshold_arrays *arrays, lob_threshold_stats *stats,
      const lob_threshold_input *in, const lob_threshold_options *options,
      const lob_context *context)
