/* What check_backends needs of an algorithm: its row of the table, and its benchmark's options. */
#ifndef LOB_CHECK_H
#define LOB_CHECK_H

#include "kernels/backends.h"
#include "volumes/volume.h"

enum { BENCH_MAX_TIMES = 101 };

/* A benchmark prints those of these suites that it has. */
typedef struct {
    bool volumes, flat, flood, huge; /* which suites */
    lob_dims dims;                   /* of the volumes */
    int times;                       /* that the median is taken of, 1..BENCH_MAX_TIMES */
    const char *volume;              /* only volumes whose names hold this; NULL: all */
    const char *keep;  /* folder for volumes and times, for programs to compare with */
    const char *ranks; /* "0,1": GPUs whose ranks share a volume; NULL: no such suite */
    const char *only;  /* of these, algorithms whose names it holds; NULL: all */
} bench_options;

/* The context of the CPU's call beside a device's. */
#define ON_CPU(context) (&(const lob_context){.threads = (context)->threads})

/* Large fixed volumes are checked with at least this many cases. Fewer are run under
 * compute-sanitizer, which slows a kernel down a hundred times or more. */
enum { CHECK_MANY = 100 };

/* Run n random cases from number `first` on; returns how many differ, with a line for each. */
typedef int check_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                        uint64_t n);

/* Run one volume many times; returns how many runs do not give the bytes of the CPU's. */
typedef int check_repeats(const lob_backend *backend, const lob_context *context, int repeats);

/* Print times of results that have just been compared with the CPU's; returns how many differed. */
typedef int check_bench(const lob_context *context, const bench_options *options);

/* Those of filters and median, and all benchmarks, are in a build with CUDA. Components have the
 * slots components (slabs too) and regions; gaussian and median are steps of filters; letters are
 * those of ranks; threshold has denoising too, by the slot for filters. */
check_cases check_components_cases, check_components_slabs, check_filters_cases,
    check_gaussian_cases, check_growcut_cases, check_letters_cases, check_median_cases,
    check_supervoxels_cases, check_threshold_cases;
check_repeats check_components_repeats, check_filters_repeats, check_gaussian_repeats,
    check_growcut_repeats, check_median_repeats, check_supervoxels_repeats, check_threshold_repeats;
check_bench bench_appearance, bench_components, bench_distance, bench_filters, bench_gaussian,
    bench_growcut, bench_labels, bench_median_steps, bench_register, bench_supervoxels,
    bench_threshold;

/*
 * Give each rank a device of its own: the first that of the context, the others of the GPUs behind
 * it, in turn. On the CPU they have none. false: one could not be opened.
 */
bool check_open_ranks(lob_context *ranks, int count, const lob_context *context, lob_error *error);
void check_close_ranks(lob_context *ranks, int count); /* but for the first */

/* Times of volumes that ranks share; returns how many results differ from those of one. */
int bench_ranks(const bench_options *options, int threads);

/*
 * Random cases, for algorithms that need no more.
 *
 *   bytes     of a case
 *   make      makes a case; returns what it is, for messages, until it is freed
 *   differs   what of a backend's result differs from the CPU's, or NULL; *done: the CPU had one
 *   repeated  number of the case that is run many times
 *   slow      a fifth of the repeats will do
 */
typedef struct {
    size_t bytes;
    const char *(*make)(void *c, uint64_t number);
    const char *(*differs)(void *c, const lob_backend *backend, const lob_context *context,
                           bool *done);
    void (*free)(void *c);
    uint64_t repeated;
    bool slow;
} check_random;

/* Appearance has refining too; of carry, fuse, outvote and register the context's device alone
 * moves the work to a GPU; cells and segment go by all slots that they need. */
extern const check_random check_appearance, check_basins, check_carry, check_cells, check_distance,
    check_fuse, check_labels, check_maxima, check_outvote, check_register, check_resample,
    check_segment;

typedef struct {
    const char *name; /* as the slot in lob_backend */
    check_cases *cases;
    check_repeats *repeats;     /* NULL: none */
    check_bench *bench;         /* NULL in a build without CUDA */
    const check_random *random; /* in the place of cases and repeats; NULL: these are there */
} check_algorithm;

#endif
