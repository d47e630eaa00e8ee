/*
 * Times of appearance and refining from ordinary memory and back, after their results have been
 * compared with the CPU's. --size gives the dims.
 */
#include "kernels/device/device.h"
#include "kernels/refine/refine.h"
#include "tests/check_backends/bench.h"
#include "volumes/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    lob_volume image, seeds;
    lob_label_set set;
    const lob_volume *views[1];
    lob_appearance_input in;
    lob_refine_input refine;
    int64_t n;
} bench_strokes;

/* Strokes in every 40th slice: of the first label, and of all others as a second one. */
static bool make(bench_strokes *b, lob_dims dims, int threads)
{
    *b = (bench_strokes){.n = lob_dims_voxels(dims)};
    if (!bench_abdomen(&b->image, NULL, &b->seeds, dims, BENCH_NOISE_PERCENT, 3, threads))
        return false;
    if (lob_labels_dense(&b->seeds, &b->set, "seeds", NULL) != LOB_OK || b->seeds.type != LOB_U8)
        return false;
    uint8_t *const seed = b->seeds.data;
    for (int64_t i = 0; i < b->n; i++) {
        const int64_t z = i / (dims.nx * dims.ny);
        seed[i] = z % 40 != 20 || seed[i] == 0 ? 0 : seed[i] == 2 ? 1 : 2;
    }
    b->views[0] = &b->image;
    b->in = (lob_appearance_input){.views = b->views,
                                   .view_count = 1,
                                   .seeds = seed,
                                   .seed_type = LOB_U8,
                                   .labels = 2,
                                   .background = 2,
                                   .outline_type = LOB_U8};
    b->refine = (lob_refine_input){.image = &b->image,
                                   .labels = seed,
                                   .labels_type = LOB_U8,
                                   .seeds = seed,
                                   .seeds_type = LOB_U8,
                                   .label_count = 2,
                                   .background = 2};
    return true;
}

static void release(bench_strokes *b)
{
    lob_volume_free(&b->image);
    lob_volume_free(&b->seeds);
    lob_label_set_free(&b->set);
}

static lob_status run(void *out, const bench_strokes *b, const lob_backend *backend, bool refines,
                      const lob_context *context, lob_error *error)
{
    const lob_appearance_options options = lob_appearance_defaults();
    const lob_refine_options refine =
        lob_refine_defaults(b->image.dims, b->image.geometry.spacing_mm);
    lob_appearance_stats stats;
    lob_refine_stats counts;
    if (refines) return backend->refine(out, &counts, &b->refine, &refine, context, error);
    return backend->appearance(out, &stats, &b->in, &options, context, error);
}

static int bench_one(const bench_strokes *b, const char *what, bool refines,
                     const lob_context *context, int times)
{
    const lob_backend *cuda = lob_backend_named("cuda");
    const size_t bytes = (size_t)b->n * (refines ? 1 : sizeof(float));
    lob_error error = {.text = ""};
    float ms[BENCH_MAX_TIMES];
    void *want = malloc(bytes), *got = malloc(bytes);
    if (!want || !got) exit(75);
    lob_device_traffic before = {0}, after = {0};
    lob_status st = run(want, b, lob_backends[0], refines, ON_CPU(context), &error);
    for (int i = -1; i < times && st == LOB_OK; i++) {
        before = lob_device_traffic_here();
        bench_clock clock = bench_start(context);
        st = run(got, b, cuda, refines, context, &error);
        ms[i < 0 ? 0 : i] = bench_stop_ms(&clock);
        after = lob_device_traffic_here();
    }
    const bool same = st == LOB_OK && memcmp(want, got, bytes) == 0;
    const lob_dims d = b->image.dims;
    if (same)
        printf("%s,%lldx%lldx%lld,%.3f ms,of them copies %.3f ms\n", what, (long long)d.nx,
               (long long)d.ny, (long long)d.nz, (double)bench_median(ms, times),
               1e3 * (after.upload_s - before.upload_s + after.download_s - before.download_s));
    else
        printf("%s: differs: %s\n", what, error.text);
    free(want);
    free(got);
    return !same;
}

int bench_appearance(const lob_context *context, const bench_options *options)
{
    bench_strokes b;
    int failures = 0;
    const int times = options->times < 5 ? options->times : 5;
    if (!options->volumes) return 0;
    if (!make(&b, options->dims, context->threads)) return 1;
    failures += bench_one(&b, "appearance by distance", false, context, times);
    b.in.outline = b.seeds.data;
    failures += bench_one(&b, "appearance by outline", false, context, times);
    failures += bench_one(&b, "refine", true, context, times);
    release(&b);
    return failures;
}
