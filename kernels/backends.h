/*
 * Backends: the same algorithms on the CPU and on a GPU. A backend is a table of functions, one for
 * each algorithm; the headers included below are their contracts. All backends give the same bytes.
 * The GPU's functions need a device in the context.
 *
 * Arrays are where their place says (volumes/place.h): in ordinary memory, or on the context's
 * device, each on its own; results come to lie at the input's place. The CPU's functions take
 * ordinary memory alone and return LOB_EARG for others; the GPU's return LOB_EDEVICE for another
 * GPU. What is on the device is read and written in the order of its stream (lob_device_stream);
 * work on it may still be under way when a function returns, and lob_device_wait waits for it.
 * Tables of labels and regions, and statistics, are in ordinary memory always.
 */
#ifndef LOB_BACKENDS_H
#define LOB_BACKENDS_H

#include "kernels/appearance/appearance.h"
#include "kernels/components/components.h"
#include "kernels/distance/distance.h"
#include "kernels/filters/filters.h"
#include "kernels/growcut/growcut.h"
#include "kernels/labels/label_steps.h"
#include "kernels/maxima/maxima.h"
#include "kernels/merge/basins.h"
#include "kernels/morphology/morphology.h"
#include "kernels/refine/refine.h"
#include "kernels/regions/regions.h"
#include "kernels/resample/resample.h"
#include "kernels/supervoxels/supervoxels.h"
#include "kernels/threshold/threshold.h"

LOB_BEGIN_DECLS

struct lob_growcut_slab; /* kernels/growcut/growcut_slabs.h: a rank's part of a volume */
struct lob_team;         /* kernels/team/team.h */

typedef struct {
    const char *name; /* "cpu", "cuda" */
    lob_status (*appearance)(void *shares, lob_appearance_stats *stats,
                             const lob_appearance_input *in, const lob_appearance_options *options,
                             const lob_context *context, lob_error *error);
    lob_status (*basins)(int32_t *to, lob_basins_stats *stats, const lob_label_grid *grid,
                         const lob_volume *image, const lob_basins_options *options,
                         const lob_context *context, lob_error *error);
    lob_status (*growcut)(const lob_growcut_output *out, lob_growcut_stats *stats,
                          const lob_growcut_input *in, const lob_growcut_options *options,
                          const lob_context *context, lob_error *error);
    lob_status (*growcut_slabs)(const lob_growcut_output *out, lob_growcut_stats *stats,
                                const lob_growcut_input *in, const lob_growcut_options *options,
                                const struct lob_growcut_slab *slab, const lob_context *context,
                                lob_error *error);
    lob_status (*supervoxels)(int32_t *labels, lob_supervoxels_stats *stats,
                              const lob_supervoxels_input *in,
                              const lob_supervoxels_options *options, const lob_context *context,
                              lob_error *error);
    lob_status (*supervoxels_slabs)(int32_t *labels, lob_supervoxels_stats *stats,
                                    const lob_supervoxels_input *in,
                                    const lob_supervoxels_options *options, int64_t planes,
                                    struct lob_team *team, const lob_context *context,
                                    lob_error *error);
    lob_status (*components)(lob_components_output *out, const lob_components_input *in,
                             const lob_components_options *options, const lob_context *context,
                             lob_error *error);
    lob_status (*filter)(lob_filter_output *out, const lob_filter_input *in,
                         const lob_filter_options *options, const lob_context *context,
                         lob_error *error);
    lob_status (*distance)(const lob_distance_output *out, const lob_distance_input *in,
                           const lob_distance_options *options, const lob_context *context,
                           lob_error *error);
    lob_status (*labels)(lob_labels_output *out, const lob_labels_input *in,
                         const lob_labels_options *options, const lob_context *context,
                         lob_error *error);
    lob_status (*maxima)(lob_maxima_output *out, const lob_maxima_input *in,
                         const lob_maxima_options *options, const lob_context *context,
                         lob_error *error);
    lob_status (*morphology)(void *out, const lob_morphology_input *in, lob_morphology how,
                             double radius, const lob_context *context, lob_error *error);
    lob_status (*refine)(void *out, lob_refine_stats *stats, const lob_refine_input *in,
                         const lob_refine_options *options, const lob_context *context,
                         lob_error *error);
    lob_status (*regions)(lob_region *regions, lob_region_values *values, lob_fine_levels *fine,
                          const lob_regions_input *in, const lob_context *context,
                          lob_error *error);
    lob_status (*resample)(void *out, const lob_resample_input *in,
                           const lob_resample_options *options, const lob_context *context,
                           lob_error *error);
    lob_status (*threshold)(uint8_t *labels, lob_threshold_stats *stats,
                            const lob_threshold_input *in, const lob_threshold_options *options,
                            const lob_context *context, lob_error *error);
} lob_backend;

/* All backends of this build, ending with NULL; the first is the CPU. */
extern const lob_backend *const lob_backends[];

/* The backend of this name, "cpu" or "cuda"; NULL where this build has none. Opens nothing. */
const lob_backend *lob_backend_named(const char *name);

/*
 * Open a backend.
 *
 *   backend  out  its functions; a constant of the library. NULL on failure
 *   context  out  what these functions are given: all CPU threads that the process may use, the
 *                 opened device, no memory limit, no progress. Change what you like, but not the
 *                 device; close with lob_backend_close, also after a failure
 *   choice   in   "best": the GPU with the most free memory, or the CPU where no GPU can be opened;
 *                 "cpu"; "cuda": the first GPU; "cuda:N": GPU number N
 *
 * Waking a GPU takes some tenths of a second. Returns LOB_OK, LOB_EDEVICE (no such backend in this
 * build, or its device is not available), LOB_EBUSY or LOB_ENOMEM; with "best" always LOB_OK.
 */
lob_status lob_backend_open(const lob_backend **backend, lob_context *context, const char *choice,
                            lob_error *error);

/* Close the context's device, if it has one. */
void lob_backend_close(lob_context *context);

LOB_END_DECLS

#endif
