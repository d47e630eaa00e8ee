/* Checks of cells: random phantoms against the CPU, byte by byte, from ordinary memory and from a
 * device's. */
#include "kernels/arrays.h"
#include "kernels/cells/cells.h"
#include "kernels/phantom/phantom.h"
#include "tests/check_backends/check.h"
#include "tests/reference/random.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 40, LARGE = 16, LARGE_SIDE = 110 };

typedef struct {
    lob_volume image;
    lob_cells_options options;
    bool there; /* the image is on the device */
    char shape[80];
} cells_case;

static const char *make(void *of, uint64_t number)
{
    cells_case *const c = of;
    const int64_t side = number % LARGE ? SIDE : LARGE_SIDE;
    uint64_t state = number + 77;
    lob_phantom_options phantom = lob_phantom_defaults(LOB_PHANTOM_CELLS);
    const bool walls = random_chance(&state, 50);
    const int64_t nx = 16 + random_below(&state, side), ny = 16 + random_below(&state, side);
    const int64_t nz = random_chance(&state, 20) ? 1 : 8 + random_below(&state, side / 2);
    phantom.dims = (lob_dims){nx, ny, nz};
    phantom.cells = 1 + (int)random_below(&state, (nx / 9) * (ny / 9) * (nz < 9 ? 1 : nz / 9));
    phantom.nuclei = !walls;
    phantom.random_seed = number;
    c->options = lob_cells_defaults(walls);
    c->there = number % 2;
    if (random_chance(&state, 70))
        c->options.size_mm = 5e-4 * (double)(4 + random_below(&state, 16));
    if (random_chance(&state, 20)) c->options.wall = 0;
    if (random_chance(&state, 20)) c->options.least = 0;
    if (lob_phantom(&c->image, NULL, NULL, &phantom, &(lob_context){.threads = 1}, NULL) != LOB_OK)
        c->image = lob_volume_empty();
    snprintf(c->shape, sizeof c->shape, "case %llu, %lldx%lldx%lld, %s", (unsigned long long)number,
             (long long)nx, (long long)ny, (long long)nz, walls ? "walls" : "bodies");
    return c->shape;
}

static void free_case(void *of)
{
    lob_volume_free(&((cells_case *)of)->image);
}

/* Its labels in ordinary memory. */
static lob_status run(lob_volume *labels, lob_cells_plan *plan, lob_cells_stats *stats,
                      const lob_volume *image, const cells_case *c, const lob_backend *backend,
                      const lob_context *context, lob_error *error)
{
    lob_volume made;
    *labels = lob_volume_empty();
    LOB_TRY(lob_cells_choose(plan, image, &c->options, backend, context, error));
    LOB_TRY(lob_cells(&made, stats, image, plan, backend, context, error));
    const bool placed = lob_place_same(made.place, image->place);
    const lob_status st = lob_volume_move(labels, &made, (lob_place){0}, context, error);
    lob_volume_free(&made);
    return placed ? st : lob_fail(error, LOB_EINTERNAL, "the labels are not where the image is");
}

static const char *differs(void *of, const lob_backend *backend, const lob_context *context,
                           bool *done)
{
    const cells_case *const c = of;
    const lob_place place = c->there ? lob_context_place(context) : (lob_place){0};
    lob_volume image, want = lob_volume_empty(), got = lob_volume_empty();
    lob_cells_plan plans[2] = {{0}, {0}};
    lob_cells_stats stats[2];
    lob_error errors[2] = {{.text = ""}, {.text = ""}};
    const char *what = NULL;
    const size_t numbers = sizeof plans[0] - offsetof(lob_cells_plan, size_mm);
    if (lob_volume_move(&image, &c->image, place, context, &errors[1]) != LOB_OK) return "memory";
    const lob_status a = run(&want, &plans[0], &stats[0], &c->image, c, lob_backends[0],
                             ON_CPU(context), &errors[0]);
    const lob_status b = run(&got, &plans[1], &stats[1], &image, c, backend, context, &errors[1]);
    *done = a == LOB_OK;
    if (a != b)
        what = "status";
    else if (a == LOB_OK && memcmp(&plans[0].size_mm, &plans[1].size_mm, numbers) != 0)
        what = "plan";
    else if (a == LOB_OK && (want.type != got.type || stats[0].seeds != stats[1].seeds ||
                             stats[0].cells != stats[1].cells))
        what = "counts";
    else if (a == LOB_OK && memcmp(want.data, got.data,
                                   (size_t)lob_voxels(&want) * lob_type_of(want.type)->bytes) != 0)
        what = "labels";
    if (what)
        printf("cells: CPU: %d %s; %s: %d %s\n", (int)a, errors[0].text, backend->name, (int)b,
               errors[1].text);
    lob_volume_free(&image);
    lob_volume_free(&want);
    lob_volume_free(&got);
    return what;
}

const check_random check_cells = {sizeof(cells_case), make, differs, free_case, .repeated = 48};
