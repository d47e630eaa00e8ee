/* Lines of the distance transform with costs that fit 32 bits. */
#include "kernels/distance/distance_lines.h"

#include "kernels/distance/distance_search.h"
#include "kernels/distance/distance_voxel.h"
#include "kernels/simd_clones.h"

#include <math.h>
#include <string.h>

#define COST        int32_t
#define TAG         uint32_t
#define NARROW      1
#define NO_COST     LOB_NO_COST_NARROW
#define NAMED(name) lob_narrow_##name

#include "kernels/distance/distance_lines_tmpl.h"
