/* The components and regions slots: what a backend gives against what the CPU gives, and times. */
#ifndef LOB_CHECK_COMPONENTS_H
#define LOB_CHECK_COMPONENTS_H

#include "tests/check_backends/check.h"

/* As check_algorithm has them; cases and repeats are of both slots, cases of slabs too. */
int check_components_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                           uint64_t n);
int check_components_slabs(const lob_backend *backend, const lob_context *context, uint64_t first,
                           uint64_t n);
int check_components_repeats(const lob_backend *backend, const lob_context *context, int repeats);
int bench_components(const lob_context *context, const bench_options *options);

#endif
