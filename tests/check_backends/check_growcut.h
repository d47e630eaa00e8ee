/* Checks of the growcut slot: what a backend gives against what the CPU gives. */
#ifndef LOB_CHECK_GROWCUT_H
#define LOB_CHECK_GROWCUT_H

#include "kernels/backends.h"

/* n cases from the first on; returns how many differ, and prints a line for each. */
int check_growcut_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                        uint64_t n);

/* One volume many times: returns 0 when every run gives the bytes of the CPU's. */
int check_growcut_repeats(const lob_backend *backend, const lob_context *context, int repeats);

#endif
