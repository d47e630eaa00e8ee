/* Medians of rows, for voxels of 8, 16, 32 and 64 bits. */
#include "kernels/filters/median/median_rows.h"

#include "kernels/filters/filter_edge.h"
#include "kernels/filters/median/median_network.h"
#include "kernels/filters/median/median_slices.h"
#include "kernels/simd_clones.h"

#include <string.h>

#define WIDTH 8
#define COUNT uint16_t
#include "kernels/filters/median/median_rows_tmpl.h"

#define WIDTH 16
#define COUNT uint16_t
#include "kernels/filters/median/median_rows_tmpl.h"

#define WIDTH 32
#define COUNT uint32_t
#include "kernels/filters/median/median_rows_tmpl.h"

#define WIDTH 64
#define COUNT uint64_t
#include "kernels/filters/median/median_rows_tmpl.h"
