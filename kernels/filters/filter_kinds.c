/* The table of the steps that look around. */
#include "kernels/filters/filter_kinds.h"

#include "kernels/filters/box/box.h"
#include "kernels/filters/denoise/denoise.h"
#include "kernels/filters/gaussian/gaussian.h"
#include "kernels/filters/median/median.h"

const lob_filter_kind_row lob_filter_kinds[LOB_FILTER_KINDS] = {
    [LOB_FILTER_GAUSSIAN] = {lob_gaussian_reach,  lob_gaussian_align, lob_gaussian_cpu },
    [LOB_FILTER_GRADIENT] = {lob_gradient_reach,  lob_gaussian_align, lob_gradient_cpu },
    [LOB_FILTER_LAPLACIAN] = {lob_laplacian_reach, lob_gaussian_align, lob_laplacian_cpu},
    [LOB_FILTER_BOX] = {lob_box_reach,       NULL,               lob_box_cpu      },
    [LOB_FILTER_MEDIAN] = {lob_median_reach,    NULL,               lob_median_cpu   },
    [LOB_FILTER_DENOISE] = {lob_denoise_reach,   NULL,               lob_denoise_cpu  },
};
