/* The supervoxels slot: what a backend gives against what the CPU gives, and times. */
#ifndef LOB_CHECK_SUPERVOXELS_H
#define LOB_CHECK_SUPERVOXELS_H

#include "tests/check_backends/check.h"

/* As check_algorithm has them; the fixed cases come before case 0. */
int check_supervoxels_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                            uint64_t n);
int check_supervoxels_repeats(const lob_backend *backend, const lob_context *context, int repeats);
int bench_supervoxels(const lob_context *context, const bench_options *options);

#endif
