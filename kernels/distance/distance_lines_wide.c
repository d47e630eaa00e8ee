/* Lines of the distance transform with costs of up to 2^50, as doubles. */
#include "kernels/distance/distance_lines.h"

#include "kernels/distance/distance_search.h"
#include "kernels/distance/distance_voxel.h"
#include "kernels/simd_clones.h"

#include <math.h>
#include <string.h>

#define COST        double
#define TAG         double
#define NARROW      0
#define NO_COST     LOB_NO_COST_WIDE
#define NAMED(name) lob_wide_##name

#include "kernels/distance/distance_lines_tmpl.h"
