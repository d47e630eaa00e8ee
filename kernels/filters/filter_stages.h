/*
 * Running a plan: the stages of a chain on the CPU, and whole chains with the tuning that tests and
 * benchmarks ask for. This header is not installed.
 */
#ifndef LOB_FILTER_STAGES_H
#define LOB_FILTER_STAGES_H

#include "kernels/filters/filter_plan.h"

LOB_BEGIN_DECLS

lob_status lob_filter_cpu_tuned(lob_filter_output *out, const lob_filter_input *in,
                                const lob_filter_options *options, const lob_filter_tuning *tuning,
                                const lob_context *context, lob_error *error);

lob_status lob_filter_cuda_tuned(lob_filter_output *out, const lob_filter_input *in,
                                 const lob_filter_options *options, const lob_filter_tuning *tuning,
                                 const lob_context *context, lob_error *error);

/* Run a pass of a kind other than LOB_PASS_STEP. */
void lob_pointwise_run(const lob_filter_image *out, const lob_filter_image *in,
                       const lob_filter_pass *pass, int threads);

/*
 * Look through an image: count the voxels that are NaN or infinite in a channel or outside of the
 * mask, and find whether a stored number is not finite or beyond LOB_FILTER_BOUND.
 */
void lob_filter_scan(int64_t *not_data, bool *unbounded, const lob_volume *image,
                     const uint8_t *mask, int threads);

/*
 * Find the statistic of pass number i on the image that it reads, and take it into the plan and the
 * output.
 *
 * Returns LOB_OK, LOB_EDATA (percentiles of an image without data), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_filter_statistic_cpu(lob_filter_plan *plan, int i, lob_filter_output *out,
                                    const lob_filter_image *in, const uint8_t *mask,
                                    const lob_context *context, lob_budget *budget,
                                    lob_error *error);

LOB_END_DECLS

#endif
