/* What check_backends asks of an algorithm: its row of the table, and what its benchmark is told.
 */
#ifndef LOB_CHECK_H
#define LOB_CHECK_H

#include "kernels/backends.h"
#include "volumes/volume.h"

/* A benchmark prints the suites that it has of those asked for. */
typedef struct {
    bool volumes, sweep, flat, huge; /* which suites */
    lob_dims dims;                   /* of the volumes */
    int times;                       /* of which the median is taken, >= 1 */
    const char *volume;              /* only volumes whose names hold this; NULL: all */
    const char *keep; /* folder for volumes and times, for programs to compare with */
} bench_options;

/* Large fixed volumes are checked only where at least so many cases are asked for: who asks for
 * fewer has tools look on that slow a kernel down a hundred times and more. */
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
