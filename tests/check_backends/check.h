/* What check_backends needs of an algorithm: its row of the table, and its benchmark's options. */
#ifndef LOB_CHECK_H
#define LOB_CHECK_H

#include "kernels/backends.h"
#include "volumes/volume.h"

enum { BENCH_MAX_TIMES = 101 };

/* A benchmark prints those of these suites that it has. */
typedef struct {
    bool volumes, sweep, flat, huge; /* which suites */
    lob_dims dims;                   /* of the volumes */
    int times;                       /* that the median is taken of, 1..BENCH_MAX_TIMES */
    const char *volume;              /* only volumes whose names hold this; NULL: all */
    const char *keep; /* folder for volumes and times, for programs to compare with */
} bench_options;

/* Large fixed volumes are checked with at least this many cases. Fewer are run under
 * compute-sanitizer, which slows a kernel down a hundred times or more. */
enum { CHECK_MANY = 100 };

typedef struct {
    const char *name; /* as the slot in lob_backend */

    /* n random cases from the first on; returns how many differ, and prints a line for each. */
    int (*cases)(const lob_backend *backend, const lob_context *context, uint64_t first,
                 uint64_t n);

    /* One volume many times; returns how many runs do not give the bytes of the CPU's. */
    int (*repeats)(const lob_backend *backend, const lob_context *context, int repeats);

    /*
     * Print times of results that have just been compared with the CPU's; returns how many
     * differed. NULL in a build without CUDA: there is nothing to time.
     */
    int (*bench)(const lob_context *context, const bench_options *options);
} check_algorithm;

#endif
