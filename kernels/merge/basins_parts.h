/* Joining basins: what every backend shares. This header is not installed. */
#ifndef LOB_BASINS_PARTS_H
#define LOB_BASINS_PARTS_H

#include "kernels/merge/basins.h"

LOB_BEGIN_DECLS

/* The saddle of two labels, a < b; INFINITY: none of their faces has finite values. */
typedef struct {
    double saddle;
    int32_t a, b;
} lob_saddle;

lob_status lob_basins_check(const lob_label_grid *grid, const lob_volume *image,
                            const lob_basins_options *options, lob_error *error);

/*
 * Join over the saddles.
 *
 *   to, stats  out     as of lob_basins_cpu, but for working_bytes; stats is not NULL
 *   bottom     in/out  of each label up to `labels`; NaN: a label that was not met. Changed
 *   saddles    in/out  `count`, in any order; sorted, for which qsort may take a copy
 */
void lob_basins_finish(int32_t *to, lob_basins_stats *stats, double *bottom, int64_t labels,
                       lob_saddle *saddles, int64_t count, const lob_basins_options *options);

LOB_END_DECLS

#endif
