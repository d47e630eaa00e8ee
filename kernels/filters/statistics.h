/* What steps need to know of all that they read: percentiles, noise. Not installed. */
#ifndef LOB_FILTER_STATISTICS_H
#define LOB_FILTER_STATISTICS_H

#include "kernels/filters/filter_plan.h"

LOB_BEGIN_DECLS

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
