/* The growcut slot: what a backend gives against what the CPU gives, and times. */
#ifndef LOB_CHECK_GROWCUT_H
#define LOB_CHECK_GROWCUT_H

#include "tests/check_backends/check.h"

/* As check_algorithm has them. */
int check_growcut_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                        uint64_t n);
int check_growcut_repeats(const lob_backend *backend, const lob_context *context, int repeats);
int bench_growcut(const lob_context *context, const bench_options *options);

#endif
