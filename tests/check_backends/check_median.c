/* Checks of median and box as steps: random cases and repeats against the CPU, byte by byte. */
#include "tests/check_backends/check.h"

#include "kernels/filters/box/box.h"
#include "kernels/filters/median/median.h"
#include "tests/check_backends/bench.h"
#include "tests/check_backends/neighbourhood_steps.h"
#include "tests/reference/neighbourhood_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORK = 30000000 };

lob_status neighbourhood_step_cpu(const lob_filter_image *out, const lob_filter_image *in,
                                  const lob_filter_call *call, int threads, lob_error *error)
{
    const lob_context context = {.threads = threads};
    lob_budget budget = {.who = "a step"};
    return call->step->kind == LOB_FILTER_MEDIAN
               ? lob_median_cpu(out, in, call, &context, &budget, error)
               : lob_box_cpu(out, in, call, &context, &budget, error);
}

/* Run a case's step on the device; `to` takes the voxels that come out. */
static lob_status on_device(void *to, const neighbourhood_case *c, lob_device *device,
                            lob_error *error)
{
    const size_t voxels = (size_t)lob_dims_voxels(c->in.dims);
    const size_t in_bytes = (size_t)c->n * lob_type_of(c->in.type)->bytes;
    lob_filter_image in = c->in, out = c->out;
    lob_filter_call call = c->call;
    uint8_t *mask = c->mask ? bench_to_device(c->mask, voxels) : NULL;
    call.mask = mask;
    in.data = bench_to_device(c->in.data, in_bytes);
    out.data = bench_to_device(NULL, c->bytes);
    void *work = bench_to_device(NULL, (size_t)neighbourhood_step_bytes(&in, &call) + 1);
    lob_status st = neighbourhood_step(device, &out, &in, &call, work, error);
    if (st == LOB_OK) st = lob_device_wait(device, error);
    if (st == LOB_OK) bench_download(to, out.data, c->bytes);
    cudaFree(mask);
    cudaFree(in.data);
    cudaFree(out.data);
    cudaFree(work);
    return st;
}

static int check_case(const neighbourhood_case *c, const lob_context *context, int times)
{
    lob_error error = {.text = ""};
    char *const got = malloc(c->bytes);
    if (!got) exit(75);
    const char *const kind = c->step.kind == LOB_FILTER_MEDIAN ? "median" : "box";
    lob_status st = neighbourhood_step_cpu(&c->out, &c->in, &c->call, context->threads, &error);
    int failures = 0;
    for (int i = 0; i < times && failures == 0; i++) {
        memset(got, 0x5a, c->bytes);
        if (st == LOB_OK) st = on_device(got, c, context->device, &error);
        if (st != LOB_OK) {
            printf("%s: %s: %s\n", kind, c->shape, error.text);
            failures++;
        } else if (memcmp(got, c->out.data, c->bytes) != 0) {
            size_t at = 0;
            while (got[at] == ((const char *)c->out.data)[at]) at++;
            printf("%s: %s: byte %zu of %zu differs\n", kind, c->shape, at, c->bytes);
            failures++;
        }
    }
    free(got);
    return failures;
}

int check_median_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                       uint64_t n)
{
    int failures = 0;
    (void)backend;
    for (uint64_t i = 0; i < n; i++)
        for (int kind = 0; kind < 2; kind++) {
            neighbourhood_case c;
            neighbourhood_case_make(&c, kind ? LOB_FILTER_BOX : LOB_FILTER_MEDIAN, first + i, WORK);
            failures += check_case(&c, context, 1);
            neighbourhood_case_free(&c);
        }
    printf("median: %llu cases of median and of box, %d differ from the CPU\n",
           (unsigned long long)n, failures);
    return failures;
}

int check_median_repeats(const lob_backend *backend, const lob_context *context, int repeats)
{
    int failures = 0;
    (void)backend;
    for (int kind = 0; kind < 2; kind++) {
        neighbourhood_case c;
        neighbourhood_case_make(&c, kind ? LOB_FILTER_BOX : LOB_FILTER_MEDIAN, 7, WORK);
        failures += check_case(&c, context, repeats);
        neighbourhood_case_free(&c);
    }
    printf("median: %d repeats, %d differ from the CPU\n", repeats, failures);
    return failures;
}
