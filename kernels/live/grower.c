/* A grower: engines that are kept between growths, or a fresh growth each time. */
#include "kernels/live/grower.h"

#include "kernels/arrays.h"
#include "kernels/growcut/cpu/growcut_tiles.h"
#include "volumes/labels.h"

#include <stdlib.h>
#include <string.h>

/* A whole volume, or one slice of it. */
typedef struct {
    lob_growcut_section section;
    lob_growcut_kept *kept;
    bool wide; /* it has keys of 64 bits */
    lob_growcut_stats stats;
} part;

struct lob_grower {
    const lob_backend *backend;
    lob_growcut_input in;
    lob_growcut_output out;
    lob_growcut_options options;
    lob_volume seeds; /* what parts have grown from */
    lob_box pending;  /* where other seeds may be there by now; sizes of 0: nowhere */
    lob_box written;  /* since the last growth that ended well; likewise */
    int64_t count;    /* of parts; 0: each growth is a fresh one */
    part *parts;      /* NULL: not made yet */
};

static const lob_growcut_engine *engine_of(const part *p)
{
    return p->wide ? &lob_growcut_tiles_64 : &lob_growcut_tiles_32;
}

static size_t seed_bytes(const lob_grower *g)
{
    return (size_t)lob_voxels(&g->seeds) * lob_type_of(g->seeds.type)->bytes;
}

/* ---- parts ---- */

static void drop_parts(lob_grower *g)
{
    for (int64_t i = 0; g->parts && i < g->count; i++) {
        engine_of(&g->parts[i])->release(g->parts[i].kept);
        free(g->parts[i].section.cost);
    }
    free(g->parts);
    g->parts = NULL;
}

static lob_status make_parts(lob_grower *g, const lob_context *context)
{
    g->parts = calloc((size_t)g->count, sizeof *g->parts);
    if (!g->parts) return LOB_ENOMEM;
    for (int64_t i = 0; i < g->count; i++) {
        part *const p = &g->parts[i];
        p->section = lob_growcut_section_of(&g->out, &g->in, &g->options, context);
        if (g->options.slice_axis >= 0)
            p->section.view = lob_view_slice(g->in.image->dims, g->options.slice_axis, i);
        if (p->section.max_memory) p->section.max_memory = 1 + p->section.max_memory / g->count;
        p->wide = g->options.key_bits == 64 || !lob_growcut_try_32_bits(g->in.labels);
        LOB_TRY(lob_growcut_section_begin(&p->section, &g->options, NULL));
    }
    return LOB_OK;
}

/* What of a box lies in a part, as a change of its seeds. */
static lob_growcut_change change_of(const part *p, const lob_box *box, const void *seeds)
{
    const lob_dims dims = p->section.view.dims;
    const int64_t side[3] = {dims.nx, dims.ny, dims.nz};
    lob_growcut_change change = {.seeds = seeds};
    for (int a = 0; a < 3; a++) {
        const int axis = p->section.view.axis[a];
        const bool across = side[a] == 1; /* a slice's own axis, or one of a single voxel */
        change.first[a] = across ? 0 : box->first[axis];
        change.size[a] = across ? 1 : box->size[axis];
    }
    return change;
}

/* Grow a part on; with wider keys, where its paths no longer fit. */
static lob_status grow_part(lob_grower *g, part *p, const lob_growcut_change *change,
                            lob_growcut_result *result, lob_error *error)
{
    if (!p->kept) LOB_TRY(engine_of(p)->keep(&p->kept, &p->section, error));
    LOB_TRY(engine_of(p)->grow_on(p->kept, change, result, error));
    if (result->overflow && g->options.key_bits == 32)
        return lob_fail(error, LOB_EARG, "path costs do not fit 32-bit keys");
    if (result->overflow) {
        const lob_growcut_change none = {0};
        engine_of(p)->release(p->kept);
        p->kept = NULL;
        p->wide = true;
        LOB_TRY(engine_of(p)->keep(&p->kept, &p->section, error));
        LOB_TRY(engine_of(p)->grow_on(p->kept, &none, result, error));
    }
    p->stats = lob_growcut_section_stats(&p->section, result, p->wide ? 64 : 32);
    return LOB_OK;
}

/* Where a part's results were written, as a box of the volume. */
static lob_box written_box(const lob_grower *g, int64_t i, const lob_growcut_result *result)
{
    const part *const p = &g->parts[i];
    lob_box box = {{0}, {0}};
    for (int a = 0; a < 3; a++) {
        box.first[p->section.view.axis[a]] = result->first[a];
        box.size[p->section.view.axis[a]] = result->end[a] - result->first[a];
    }
    if (g->options.slice_axis >= 0) box.first[g->options.slice_axis] = i;
    return box;
}

/* Grow the parts that a box touches, or all of them the first time. */
static lob_status grow_parts(lob_grower *g, const lob_volume *seeds, const lob_context *context,
                             lob_error *error)
{
    const int axis = g->options.slice_axis;
    const bool first = !g->parts;
    if (first) {
        memcpy(g->seeds.data, seeds->data, seed_bytes(g));
        LOB_TRY(make_parts(g, context));
    }
    const int64_t from = first || axis < 0 ? 0 : g->pending.first[axis];
    const int64_t end = first || axis < 0 ? g->count : from + g->pending.size[axis];
    for (int64_t i = from; i < end; i++) {
        part *const p = &g->parts[i];
        const lob_growcut_change change = change_of(p, &g->pending, seeds->data);
        lob_growcut_result result;
        p->section.context = context;
        p->section.progress_from = (double)(i - from) / (double)(end - from);
        p->section.progress_to = (double)(i - from + 1) / (double)(end - from);
        LOB_TRY(grow_part(g, p, &change, &result, error));
        const lob_box box = written_box(g, i, &result);
        lob_box_join(&g->written, &box);
    }
    return LOB_OK;
}

/* ---- the calls ---- */

/* A seed that is no label, among n voxels of ordinary memory, or 0. Those that parts have grown
 * from are right. */
static int32_t wrong_seed(const lob_grower *g, const lob_volume *seeds, int64_t first, int64_t n)
{
    const size_t bytes = lob_type_of(seeds->type)->bytes, at = (size_t)first * bytes;
    if (seeds->place.kind != LOB_PLACE_MEMORY) return 0;
    if (g->parts && memcmp((const uint8_t *)seeds->data + at, (const uint8_t *)g->seeds.data + at,
                           (size_t)n * bytes) == 0)
        return 0;
    for (int64_t i = 0; i < n; i++) {
        const int32_t seed = lob_label_at(seeds->data, seeds->type, first + i);
        if (seed < 0 || seed > g->in.labels) return seed;
    }
    return 0;
}

static lob_status check_grid(const lob_grower *g, const lob_volume *seeds, const lob_box *box,
                             lob_error *error)
{
    const lob_dims dims = seeds->dims;
    if (memcmp(&dims, &g->seeds.dims, sizeof dims) != 0 || seeds->type != g->seeds.type)
        return lob_fail(error, LOB_EDATA, "the seeds have another grid or type than before");
    if (g->count) LOB_TRY(lob_check_memory((lob_place){0}, seeds, NULL, error));
    const lob_box whole = lob_box_whole(dims);
    if (!lob_box_lies_in(box, &whole))
        return lob_fail(error, LOB_EARG, "the box of changes reaches beyond the grid");
    return LOB_OK;
}

static lob_status check_seeds(const lob_grower *g, const lob_volume *seeds, const lob_box *box,
                              lob_error *error)
{
    const lob_dims dims = seeds->dims;
    for (int64_t j = 0; j < box->size[1] * box->size[2]; j++) {
        const int64_t y = box->first[1] + j % box->size[1], z = box->first[2] + j / box->size[1];
        const int32_t seed =
            wrong_seed(g, seeds, box->first[0] + dims.nx * (y + dims.ny * z), box->size[0]);
        if (seed)
            return lob_fail(error, LOB_EDATA, "seed %d: labels are 0..%d", seed, g->in.labels);
    }
    return LOB_OK;
}

static bool starts_afresh(const lob_backend *backend, const lob_growcut_output *out,
                          const lob_growcut_input *in, const lob_growcut_options *options)
{
    return backend != lob_backends[0] || options->rule == LOB_RULE_FLOOD || options->rounds ||
           in->seed_strength || out->tie;
}

lob_status lob_grower_open(lob_grower **grower, const lob_backend *backend,
                           const lob_growcut_output *out, const lob_growcut_input *in,
                           const lob_growcut_options *options, lob_error *error)
{
    *grower = NULL;
    lob_error_begin(error);
    if (backend == lob_backends[0])
        LOB_TRY(lob_check_memory(in->place, in->image, in->seeds, error));
    LOB_TRY(lob_growcut_check(in, options, false, error));
    lob_grower *const g = calloc(1, sizeof *g);
    if (!g) return LOB_ENOMEM;
    *g = (lob_grower){
        .backend = backend, .in = *in, .out = *out, .options = *options, .seeds = *in->seeds};
    const lob_dims dims = in->image->dims;
    const int64_t side[3] = {dims.nx, dims.ny, dims.nz};
    g->seeds.data = NULL;
    g->pending = lob_box_whole(dims);
    if (!starts_afresh(backend, out, in, options)) {
        g->count = options->slice_axis < 0 ? 1 : side[options->slice_axis];
        g->in.seeds = &g->seeds;
        g->seeds.data = malloc(seed_bytes(g));
        if (!g->seeds.data) {
            free(g);
            return LOB_ENOMEM;
        }
    }
    *grower = g;
    return LOB_OK;
}

lob_status lob_grower_grow(lob_grower *g, lob_box *changed, lob_growcut_stats *stats,
                           const lob_volume *seeds, const lob_box *box, const lob_context *context,
                           lob_error *error)
{
    const lob_box whole = lob_box_whole(g->in.image->dims);
    const bool first = !g->parts;
    lob_growcut_stats sums = {.fixed_point = true};
    lob_error_begin(error);
    LOB_TRY(check_grid(g, seeds, box ? box : &whole, error));
    lob_box_join(&g->pending, box && !first ? box : &whole);
    LOB_TRY(check_seeds(g, seeds, &g->pending, error));
    lob_status st;
    if (g->count) {
        st = grow_parts(g, seeds, context, error);
        for (int64_t i = 0; i < g->count && st == LOB_OK; i++)
            lob_growcut_stats_add(&sums, &g->parts[i].stats);
    } else {
        lob_growcut_input in = g->in;
        in.seeds = seeds;
        g->written = whole;
        st = g->backend->growcut(&g->out, &sums, &in, &g->options, context, error);
    }
    const bool goes_on = st == LOB_OK || (st == LOB_ECANCEL && !first);
    if (!goes_on) drop_parts(g);
    if (st == LOB_OK) st = lob_growcut_check_grown(&sums, error);
    if (stats) *stats = sums;
    if (changed) *changed = g->written;
    if (st == LOB_OK) g->pending = g->written = (lob_box){{0}, {0}};
    return lob_error_end(error, st);
}

void lob_grower_close(lob_grower *g)
{
    if (!g) return;
    drop_parts(g);
    free(g->seeds.data);
    free(g);
}
