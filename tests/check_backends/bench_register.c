/* Times of registering a pair, from arrays of ordinary memory to a field there. */
#include "kernels/register/register.h"
#include "tests/check_backends/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An abdomen on a grid of 3 mm. */
static lob_volume make_scan(uint64_t seed, lob_dims dims, int threads)
{
    const double spacing[3] = {3, 3, 3};
    lob_volume v;
    if (!bench_abdomen(&v, NULL, NULL, dims, BENCH_NOISE_PERCENT, seed, threads)) exit(75);
    v.geometry = lob_geometry_of_spacing(spacing);
    return v;
}

int bench_register(const lob_context *context, const bench_options *options)
{
    const lob_dims dims = {112, 88, 119};
    lob_volume fixed = make_scan(3, dims, context->threads);
    lob_volume moving = make_scan(4, dims, context->threads);
    const lob_register_input in = {.fixed = &fixed, .moving = &moving};
    const lob_register_options defaults = lob_register_defaults();
    float ms[BENCH_MAX_TIMES];
    uint64_t hash[2] = {0, 0};
    const int times = options->volumes ? options->times : 0;
    for (int i = -1; i < times; i++) {
        lob_field field;
        bench_clock clock = bench_start(context);
        const lob_status st =
            lob_register(&field, NULL, &in, &defaults, i < 0 ? ON_CPU(context) : context, NULL);
        const float took = bench_stop_ms(&clock);
        if (st != LOB_OK) exit(70);
        if (i >= 0) ms[i] = took;
        hash[i >= 0] = bench_hash(field.mm, 3 * lob_dims_voxels(dims) * (int64_t)sizeof(float));
        lob_field_free(&field);
    }
    if (times > 0)
        printf("register,%lldx%lldx%lld,%.1f ms\n", (long long)dims.nx, (long long)dims.ny,
               (long long)dims.nz, (double)bench_median(ms, times));
    lob_volume_free(&fixed);
    lob_volume_free(&moving);
    return hash[0] != hash[1] && times > 0;
}
