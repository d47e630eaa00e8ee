/*
 * Components of flat images beside label propagation with far links ("Connected components
 * revisited on Kepler", GTC 2013, session 3193), on images of the sizes of its slides: a maze and
 * colour images. Both are compared with the CPU's components before their times count.
 */
#include "tests/check_backends/bench.h"

#include "kernels/phantom/phantom_random.h"
#include "tests/reference/far_links_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    int nx, ny, channels, threshold;
    double printed_ms; /* shuffles and label roots, 4 neighbours, on a GeForce GTX 680 */
    void (*make)(uint8_t *pixels, int nx, int ny);
} flat_case;

typedef struct {
    const lob_context *context;
    const flat_case *row;
    int neighbours;
    lob_volume image;
    lob_components_output want; /* the CPU's */
    uint8_t *pixels, *links;    /* on the device */
    uint32_t *labels, *changed; /* on the device */
    uint32_t *got;
} flat_bench;

/* ---- images ---- */

enum { WALL = 0, WAY = 200, UNSEEN = 255 };

/* A maze without loops: corridors one pixel wide, carved at random until every cell is reached. */
static void make_maze(uint8_t *pixels, int nx, int ny)
{
    static const int step[4][2] = {
        {1,  0 },
        {-1, 0 },
        {0,  1 },
        {0,  -1}
    };
    const int cx = nx / 2, cy = ny / 2;
    int32_t *path = malloc((size_t)cx * (size_t)cy * sizeof *path);
    if (!path) exit(75);
    memset(pixels, WALL, (size_t)nx * (size_t)ny);
    int64_t length = 0, turn = 0;
    path[length++] = 0;
    pixels[0] = WAY;
    while (length > 0) {
        const int x = path[length - 1] % cx, y = path[length - 1] / cx;
        const int first = (int)(random_bits(21, (uint64_t)turn++) & 3);
        int k = 0;
        for (; k < 4; k++) {
            const int *d = step[(first + k) & 3];
            const int tx = x + d[0], ty = y + d[1];
            if (tx < 0 || ty < 0 || tx >= cx || ty >= cy) continue;
            if (pixels[2 * ty * nx + 2 * tx] == WAY) continue;
            pixels[(2 * y + d[1]) * nx + 2 * x + d[0]] = WAY;
            pixels[2 * ty * nx + 2 * tx] = WAY;
            path[length++] = ty * cx + tx;
            break;
        }
        if (k == 4) length--;
    }
    free(path);
}

/* Patches of colour around points of a jittered grid, with a little noise. */
static void make_patches(uint8_t *pixels, int nx, int ny)
{
    enum { PATCH = 24, NOISE = 2 };
    const int64_t n = (int64_t)nx * ny;
    for (int y = 0; y < ny; y++)
        for (int x = 0; x < nx; x++) {
            uint64_t nearest = 0;
            double min = 1e30;
            for (int gy = y / PATCH; gy <= y / PATCH + 2; gy++)
                for (int gx = x / PATCH; gx <= x / PATCH + 2; gx++) {
                    const uint64_t id = (uint64_t)gy * 65536 + (uint64_t)gx;
                    const double dx = (gx - 1 + random_unit(22, id)) * PATCH - x;
                    const double dy = (gy - 1 + random_unit(23, id)) * PATCH - y;
                    if (dx * dx + dy * dy < min) {
                        min = dx * dx + dy * dy;
                        nearest = id;
                    }
                }
            for (int c = 0; c < 3; c++) {
                const int64_t i = c * n + (int64_t)y * nx + x;
                const int colour = (int)(random_bits(24 + (uint64_t)c, nearest) % 240);
                const int noise = (int)(random_bits(27, (uint64_t)i) % (2 * NOISE + 1));
                pixels[i] = (uint8_t)(colour + noise);
            }
        }
}

static const flat_case rows[] = {
    {"maze 512x512",      512,  512,  1, 0,  12.0, make_maze   },
    {"colours 100x300",   100,  300,  3, 12, 1.5,  make_patches},
    {"colours 1024x768",  1024, 768,  3, 12, 3.7,  make_patches},
    {"colours 4096x4096", 4096, 4096, 3, 12, 85.0, make_patches}
};

/* ---- the two ways ---- */

static lob_components_options options_of(const flat_bench *b)
{
    lob_components_options o = lob_components_defaults();
    o.join = LOB_JOIN_TOLERANCE;
    o.tolerance = b->row->threshold;
    o.ranged = true; /* every pixel belongs to a component */
    o.neighbours = b->neighbours;
    o.slice_axis = 2;
    o.type = LOB_I32;
    return o;
}

static float far_links_ms(flat_bench *b, int *passes)
{
    const flat_case *r = b->row;
    const far_links_image image = {b->pixels,   r->nx,        r->ny,
                                   r->channels, r->threshold, b->neighbours};
    bench_clock clock = bench_start(b->context);
    must(far_links_label(b->labels, b->links, b->changed, passes, &image, clock.queue),
         "far_links_label");
    return bench_stop_ms(&clock);
}

static float components_ms(flat_bench *b)
{
    const lob_components_options o = options_of(b);
    const lob_volume there = bench_there(b->context, &b->image, b->pixels);
    const lob_components_input in = {.image = &there, .place = there.place};
    lob_components_output result = {0};
    lob_error error = {.text = ""};
    bench_clock clock = bench_start(b->context);
    const lob_status st = lob_components_cuda(&result, &in, &o, b->context, &error);
    const float ms = bench_stop_ms(&clock);
    if (st == LOB_OK)
        must(cudaMemcpy(b->labels, result.labels, (size_t)lob_voxels(&there) * sizeof(int32_t),
                        cudaMemcpyDeviceToDevice),
             "cudaMemcpy");
    if (st != LOB_OK) printf("%s: %s\n", b->row->name, error.text);
    lob_components_output_free(&result);
    return ms;
}

/* Pixels whose label differs from the CPU's; propagated labels are renumbered first. */
static int64_t count_wrong(flat_bench *b, bool propagated)
{
    const int64_t n = (int64_t)b->row->nx * b->row->ny;
    uint32_t *number = propagated ? calloc((size_t)n + 1, sizeof *number) : NULL;
    if (propagated && !number) exit(75);
    bench_download(b->got, b->labels, (size_t)n * sizeof *b->got);
    const int32_t *want = b->want.labels;
    uint32_t numbers = 0;
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t label = b->got[i];
        if (propagated) {
            if (!number[label]) number[label] = ++numbers;
            label = number[label];
        }
        wrong += label != (uint32_t)want[i];
    }
    free(number);
    return wrong;
}

static int time_both(flat_bench *b, int times)
{
    float ours[BENCH_MAX_TIMES], theirs[BENCH_MAX_TIMES];
    int passes = 0, failures = 0;
    for (int i = -BENCH_WARM_UP; i < times; i++) {
        const float one = far_links_ms(b, &passes);
        if (i < 0) failures += count_wrong(b, true) != 0;
        const float other = components_ms(b);
        if (i < 0) failures += count_wrong(b, false) != 0;
        if (i >= 0) theirs[i] = one, ours[i] = other;
    }
    const float far = bench_median(theirs, times), mine = bench_median(ours, times);
    printf("%-18s %2d %10lld %9.3f %9.3f %6d %6.1f", b->row->name, b->neighbours,
           (long long)b->want.count, mine, far, passes, far / mine);
    if (b->neighbours == 4)
        printf(" %9.1f", b->row->printed_ms);
    else
        printf(" %9s", "-");
    printf("  %s\n", failures ? "DIFFERS" : "same");
    return failures;
}

static int bench_row(const lob_context *context, const flat_case *row, int neighbours, int times)
{
    const size_t n = (size_t)row->nx * (size_t)row->ny;
    flat_bench b = {.context = context, .row = row, .neighbours = neighbours};
    b.image = lob_volume_empty();
    b.image.dims = (lob_dims){row->nx, row->ny, 1};
    b.image.channels = row->channels;
    b.image.data = malloc(n * (size_t)row->channels);
    b.got = malloc(n * sizeof *b.got);
    if (!b.image.data || !b.got) exit(75);
    row->make(b.image.data, row->nx, row->ny);

    const lob_components_options o = options_of(&b);
    const lob_components_input in = {.image = &b.image};
    lob_error error = {.text = ""};
    int failures = 1;
    if (lob_components_cpu(&b.want, &in, &o, ON_CPU(context), &error) == LOB_OK) {
        b.pixels = bench_to_device(b.image.data, n * (size_t)row->channels);
        b.links = bench_to_device(NULL, n);
        b.labels = bench_to_device(NULL, n * sizeof *b.labels);
        b.changed = bench_to_device(NULL, sizeof *b.changed);
        failures = time_both(&b, times);
        cudaFree(b.pixels);
        cudaFree(b.links);
        cudaFree(b.labels);
        cudaFree(b.changed);
    } else
        printf("%s on the CPU: %s\n", row->name, error.text);
    lob_components_output_free(&b.want);
    free(b.got);
    lob_volume_free(&b.image);
    return failures;
}

int bench_far_links(const lob_context *context, int times)
{
    int failures = 0;
    printf("\nflat images beside label propagation with far links (GTC 2013, session 3193)\n"
           "%-18s %2s %10s %9s %9s %6s %6s %9s\n",
           "image", "n", "components", "ms", "links ms", "passes", "ratio", "printed");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int neighbours = 4; neighbours <= 8; neighbours += 4)
            failures += bench_row(context, &rows[i], neighbours, times);
    return failures;
}
