/* Filters with the tuning that tests and benchmarks ask for. This header is not installed. */
#ifndef LOB_FILTERS_TUNED_H
#define LOB_FILTERS_TUNED_H

#include "kernels/filters/filter_plan.h"

LOB_BEGIN_DECLS

lob_status lob_filter_cpu_tuned(lob_filter_output *out, const lob_filter_input *in,
                                const lob_filter_options *options, const lob_filter_tuning *tuning,
                                const lob_context *context, lob_error *error);

lob_status lob_filter_cuda_tuned(lob_filter_output *out, const lob_filter_input *in,
                                 const lob_filter_options *options, const lob_filter_tuning *tuning,
                                 const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
