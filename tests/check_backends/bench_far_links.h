/* Components of flat images beside label propagation with far links, the method of GTC 2013. */
#ifndef LOB_BENCH_FAR_LINKS_H
#define LOB_BENCH_FAR_LINKS_H

#include "kernels/context.h"

/* Print the times of both on the sizes of the slides; returns how many results differed. */
int bench_far_links(const lob_context *context, int times);

#endif
