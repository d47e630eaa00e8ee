/* Times of GrowCut on a device, of results that have been compared with the CPU's. */
#ifndef LOB_BENCH_GROWCUT_H
#define LOB_BENCH_GROWCUT_H

#include "kernels/context.h"
#include "volumes/volume.h"

typedef struct {
    bool volumes, sweep, flat; /* which suites */
    lob_dims dims;             /* of the volumes */
    int times;                 /* of which the median is taken */
} bench_options;

/* Print the tables; returns how many results differed from the CPU's. */
int bench_growcut(const lob_context *context, const bench_options *options);

#endif
