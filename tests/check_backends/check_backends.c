/*
 * Backends against the CPU: every function of the table over random and adversarial inputs, byte by
 * byte; with --bench also what was checked is timed. Ends with 77, which CTest counts as skipped,
 * where there is no GPU.
 */
#include "kernels/device/device.h"
#include "tests/check_backends/bench_growcut.h"
#include "tests/check_backends/check_growcut.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SKIPPED = 77 };

typedef struct {
    const char *device;
    uint64_t first, cases;
    int repeats;
    bench_options bench;
    bool benches;
} choices;

static int usage(void)
{
    fputs("usage: check_backends [--device cuda:N] [--cases N] [--first N] [--repeats N]\n"
          "                      [--bench] [--sweep] [--flat] [--size NX NY NZ] [--times N]\n"
          "  --bench   time the volumes after checking them   --sweep  try windows, caps, warps\n"
          "  --flat    2D images from 1 to 64 megapixels, with approximations and their errors\n",
          stderr);
    return 64;
}

static bool parse(choices *c, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        const int left = argc - i - 1;
        if (strcmp(name, "--bench") == 0)
            c->benches = c->bench.volumes = true;
        else if (strcmp(name, "--sweep") == 0)
            c->benches = c->bench.sweep = true;
        else if (strcmp(name, "--flat") == 0)
            c->benches = c->bench.flat = true;
        else if (strcmp(name, "--device") == 0 && left >= 1)
            c->device = argv[++i];
        else if (strcmp(name, "--cases") == 0 && left >= 1)
            c->cases = strtoull(argv[++i], NULL, 10);
        else if (strcmp(name, "--first") == 0 && left >= 1)
            c->first = strtoull(argv[++i], NULL, 10);
        else if (strcmp(name, "--repeats") == 0 && left >= 1)
            c->repeats = atoi(argv[++i]);
        else if (strcmp(name, "--times") == 0 && left >= 1)
            c->bench.times = atoi(argv[++i]);
        else if (strcmp(name, "--size") == 0 && left >= 3) {
            c->bench.dims.nx = atoll(argv[++i]);
            c->bench.dims.ny = atoll(argv[++i]);
            c->bench.dims.nz = atoll(argv[++i]);
        } else
            return false;
    }
    return c->bench.times > 0 && lob_dims_voxels(c->bench.dims) > 0;
}

int main(int argc, char **argv)
{
    choices c = {
        .device = "auto",
        .cases = 500,
        .repeats = 100,
        .bench = {.times = 9, .dims = {512, 512, 300}}
    };
    lob_error error = {""};
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    lob_context context = {.threads = cores > 0 ? (int)cores : 1};
    if (!parse(&c, argc, argv)) return usage();
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (lob_device_open(&context.device, c.device, &error) != LOB_OK) {
        printf("skipped: %s\n", error.text);
        return SKIPPED;
    }
    printf("device: %s, %.1f GiB free\n", lob_device_name(context.device),
           (double)lob_device_free_bytes(context.device) / (1 << 30));
    int failures = 0;
    for (const lob_backend *const *b = lob_backends + 1; *b; b++) {
        failures += check_growcut_cases(*b, &context, c.first, c.cases);
        if (c.repeats > 0) failures += check_growcut_repeats(*b, &context, c.repeats);
    }
    if (failures == 0 && c.benches) failures += bench_growcut(&context, &c.bench);
    lob_device_close(context.device);
    return failures != 0;
}
