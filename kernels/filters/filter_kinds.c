/* The table of the steps that look around. */
#include "kernels/filters/filter_kinds.h"

#include "kernels/filters/denoise/denoise.h"

const lob_filter_kind_row lob_filter_kinds[LOB_FILTER_KINDS] = {
    [LOB_FILTER_DENOISE] = {lob_denoise_reach, NULL, lob_denoise_cpu},
};
