/* The searches along lines for both types of costs: see distance_search_tmpl.h. */
#ifndef LOB_DISTANCE_SEARCH_H
#define LOB_DISTANCE_SEARCH_H

#include "kernels/distance/distance_plan.h"

#ifdef __CUDA_ARCH__
#define LOB_UNROLL _Pragma("unroll")
#else
#define LOB_UNROLL
#endif

enum { LOB_SEARCH_MOST = 4 }; /* voxels that are searched for at a time */

#define COST        int32_t
#define MOST        INT32_MAX
#define NAMED(name) lob_narrow_##name
#include "kernels/distance/distance_search_tmpl.h"
#undef COST
#undef MOST
#undef NAMED

#define COST        double
#define MOST        0x1p60
#define NAMED(name) lob_wide_##name
#include "kernels/distance/distance_search_tmpl.h"
#undef COST
#undef MOST
#undef NAMED

#endif
