/* The table of the steps that look around. */
#include "kernels/filters/filter_kinds.h"

const lob_filter_kind_row lob_filter_kinds[LOB_FILTER_KINDS] = {};
