/*
 * The public calls on arrays in GPU memory, used as a program with GPU arrays of its own would:
 * they give what the CPU gives. Ends with 77, which CTest counts as skipped, where there is no GPU.
 */
#include "api/lobule.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77 };

static void must(int status, const char *what, const char *why)
{
    if (status == 0) return;
    printf("%s: %d %s\n", what, status, why);
    exit(1);
}

static void *to_device(const void *bytes, size_t n)
{
    void *to = NULL;
    must(cudaMalloc(&to, n), "cudaMalloc", "");
    if (bytes) must(cudaMemcpy(to, bytes, n, cudaMemcpyHostToDevice), "cudaMemcpy", "");
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize", "");
    return to;
}

/* Do n bytes in GPU memory differ from those in ordinary memory? */
static int differs(const char *what, const void *device, const void *host, size_t n)
{
    void *copy = malloc(n + 1);
    must(!copy, "malloc", "");
    must(n && cudaMemcpy(copy, device, n, cudaMemcpyDeviceToHost), "cudaMemcpy", "");
    const int differ = memcmp(copy, host, n) != 0;
    printf("%s: %s\n", what, differ ? "differ" : "same bytes");
    free(copy);
    return differ;
}

int main(void)
{
    lob_context cpu = {.threads = 2}, context;
    const lob_backend *backend;
    lob_error error = {.text = ""};
    if (lob_backend_open(&backend, &context, "cuda", &error) != LOB_OK) {
        printf("skipped: %s\n", error.text);
        return SKIPPED;
    }
    lob_volume scan, truth;
    lob_phantom_options phantom = lob_phantom_defaults(LOB_PHANTOM_CELLS);
    phantom.dims = (lob_dims){61, 53, 47};
    phantom.cells = 40;
    must(lob_phantom(&scan, &truth, NULL, &phantom, &cpu, &error), "phantom", error.text);

    lob_components_options options = lob_components_defaults();
    lob_components_input in = {.image = &truth, .intensities = &scan};
    lob_components_output want, got;
    options.join = LOB_JOIN_EQUAL;
    options.type = LOB_I32;
    options.regions = true;
    must(lob_components_cpu(&want, &in, &options, &cpu, &error), "components", error.text);

    const size_t voxels = (size_t)lob_voxels(&truth), count = (size_t)want.count;
    void *const image = to_device(truth.data, voxels * lob_type_of(truth.type)->bytes);
    void *const intensities = to_device(scan.data, voxels * lob_type_of(scan.type)->bytes);
    void *const labels = to_device(NULL, voxels * sizeof(int32_t));
    const lob_components_arrays arrays = {
        .image = image, .intensities = intensities, .labels = labels};
    must(lob_components_cuda_arrays(&arrays, &got, &in, &options, &context, &error),
         "lob_components_cuda_arrays", error.text);
    int failures = got.count != want.count || got.type != LOB_I32 || got.labels != NULL;
    failures += differs("labels", labels, want.labels, voxels * sizeof(int32_t));
    failures += differs("regions", got.regions, want.regions, count * sizeof *want.regions);
    failures += differs("values", got.values, want.values, count * sizeof *want.values);
    free(got.member);

    const lob_regions_arrays measured = {.labels = labels, .image = intensities};
    const lob_regions_input on = {
        .type = LOB_I32, .count = want.count, .dims = truth.dims, .image = &scan};
    const lob_region *regions;
    const lob_region_values *values;
    lob_fine_levels fine;
    must(lob_regions_cuda_arrays(&measured, &regions, &values, &fine, NULL, &on, &context, &error),
         "lob_regions_cuda_arrays", error.text);
    failures += differs("regions of labels", regions, want.regions, count * sizeof *regions);
    failures += differs("values of labels", values, want.values, count * sizeof *values);

    cudaFree(image);
    cudaFree(intensities);
    cudaFree(labels);
    lob_components_output_free(&want);
    lob_volume_free(&scan);
    lob_volume_free(&truth);
    lob_backend_close(&context);
    return failures != 0;
}
