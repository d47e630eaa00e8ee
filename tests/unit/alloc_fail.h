/*
 * Failing allocations on purpose: in a test program that its cmake file names in
 * lobule_alloc_fail(NAME), every malloc, calloc, realloc, aligned_alloc, posix_memalign, strdup,
 * strndup, asprintf, vasprintf, realpath and free of its own and of Lobule goes through the
 * counters here. What other libraries allocate inside is not seen.
 */
#ifndef LOB_ALLOC_FAIL_H
#define LOB_ALLOC_FAIL_H

#include "volumes/status.h"

#include <stdint.h>

/* Let the n-th allocation from now on fail, counted from 1, and no other; 0: none fails. */
void alloc_fail_at(int64_t n);

/* Allocations since alloc_fail_at, the failed one included. */
int64_t alloc_fail_count(void);

/* Blocks allocated and not freed since the program began. */
int64_t alloc_fail_live(void);

/* Bytes in these blocks, as large as the allocator made them. */
int64_t alloc_fail_bytes(void);

/* The most bytes at a time since alloc_fail_peak_begin. */
void alloc_fail_peak_begin(void);
int64_t alloc_fail_peak(void);

/*
 * Call attempt with its first, second, third ... allocation failing, until none is left to fail.
 * An attempt sets up nothing that outlives it, checks what its subject promises on failure, and
 * returns the subject's status. A failed allocation may be survived (LOB_OK) or reported
 * (LOB_ENOMEM); blocks that stay behind, another status, or anything but LOB_OK in the last call,
 * where nothing fails, fail the running cmocka test.
 *
 *   what  in  named in the message of a failure
 *
 * Returns the number of allocations that were made to fail and were reported.
 */
typedef lob_status alloc_fail_attempt(void *user);
int64_t alloc_fail_sweep(const char *what, alloc_fail_attempt *attempt, void *user);

#endif
