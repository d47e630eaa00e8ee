/* Phantoms as volumes: blur, bias, noise, truth and seeds. */
#include "kernels/phantom/phantom.h"

#include "kernels/phantom/phantom_parts.h"
#include "kernels/phantom/phantom_random.h"
#include "kernels/progress.h"
#include "volumes/labels.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { SLAB = 8, MAX_CELLS = 100000 };

enum { KEY_NOISE = 101, KEY_BIAS };

static const phantom_recipe *const recipes[LOB_PHANTOMS] = {
    [LOB_PHANTOM_ABDOMEN] = &lob_phantom_abdomen,
    [LOB_PHANTOM_CELLS] = &lob_phantom_cells,
};

/* The deepest voxel of a label. */
typedef struct {
    int64_t at; /* -1: no voxel yet */
    float depth;
    bool seeded; /* the label has a seed */
} deepest;

/* Working memory of a thread, in one block. */
typedef struct {
    deepest *found;        /* by label */
    phantom_voxel *voxels; /* nx * ny: a slice */
    uint16_t *bright;      /* 3 * nx * ny: brightness of three slices in succession */
} thread_memory;

typedef struct {
    const phantom_recipe *recipe;
    const lob_phantom_options *options;
    const void *model;
    int32_t labels;
    lob_volume *image, *truth, *seeds;
    double bias[9]; /* coefficients of the bias field */
    double top;     /* largest value of the image */
} call;

lob_phantom_options lob_phantom_defaults(lob_phantom_kind kind)
{
    const phantom_recipe *const r = recipes[kind];
    return (lob_phantom_options){
        .kind = kind,
        .dims = r->dims,
        .spacing_mm = {r->spacing_mm[0], r->spacing_mm[1], r->spacing_mm[2]},
        .type = r->type,
        .noise = r->noise,
        .bias = r->bias,
        .random_seed = 1,
        .cells = 120,
    };
}

static lob_status check(const lob_phantom_options *o, lob_error *error)
{
    if ((int)o->kind < 0 || o->kind >= LOB_PHANTOMS)
        return lob_fail(error, LOB_EARG, "there is no such kind of phantom");
    const int64_t voxels = lob_dims_voxels(o->dims);
    if (voxels < 1 || voxels > INT64_MAX / 16)
        return lob_fail(error, LOB_EARG,
                        "a phantom's size must be at least 1 voxel on each axis and "
                        "fit into memory");
    for (int a = 0; a < 3; a++)
        if (!(o->spacing_mm[a] >= 1e-6 && o->spacing_mm[a] <= 1e6))
            return lob_fail(error, LOB_EARG,
                            "a phantom's spacing must lie between 1e-6 and 1e6 mm");
    if (!(o->noise >= 0 && o->noise <= 100))
        return lob_fail(error, LOB_EARG, "a phantom's noise must lie between 0 and 100 %%");
    if (!(o->bias >= 0 && o->bias <= 1))
        return lob_fail(error, LOB_EARG, "a phantom's bias must lie between 0 and 1");
    if (!(o->stroke_gap == 0 || (o->stroke_gap >= 1 && o->stroke_gap <= 1000)))
        return lob_fail(error, LOB_EARG, "a phantom's strokes lie 1 to 1000 mm apart");
    if (o->drawn && o->kind != LOB_PHANTOM_ABDOMEN)
        return lob_fail(error, LOB_EARG, "strokes are drawn in an abdomen alone");
    if (o->type != LOB_U8 && o->type != LOB_I16 && o->type != LOB_U16)
        return lob_fail(error, LOB_EARG, "a phantom's voxels are uint8, int16 or uint16");
    if (o->cells < 1 || o->cells > MAX_CELLS)
        return lob_fail(error, LOB_EARG, "a phantom has 1 to %d cells", (int)MAX_CELLS);
    return LOB_OK;
}

/* A random quadratic over the field, scaled so that it stays within [-1, 1]. */
static void make_bias(double bias[9], uint64_t random_seed)
{
    const uint64_t key = random_key(random_seed, KEY_BIAS);
    double sum = 0.0;
    for (int i = 0; i < 9; i++) {
        bias[i] = random_signed(key, (uint64_t)i);
        sum += bias[i] < 0 ? -bias[i] : bias[i];
    }
    for (int i = 0; i < 9; i++)
        bias[i] /= 0.6 * sum + 1e-9; /* the terms are rarely all at their largest */
}

static double bias_at(const double c[9], double x, double y, double z)
{
    const double d = c[0] * x + c[1] * y + c[2] * z + c[3] * (x * y) + c[4] * (y * z) +
                     c[5] * (z * x) + c[6] * (x * x) + c[7] * (y * y) + c[8] * (z * z);
    return d < -1.0 ? -1.0 : d > 1.0 ? 1.0 : d;
}

/* Make slice z. With keep, a slice of this slab, store labels and seeds too. */
static void make_slice(const call *c, thread_memory *w, uint16_t *bright, int64_t z, bool keep)
{
    const int64_t n = c->options->dims.nx * c->options->dims.ny;
    c->recipe->slice(w->voxels, c->model, z);
    for (int64_t i = 0; i < n; i++) bright[i] = w->voxels[i].bright;
    if (!keep) return;
    for (int64_t i = 0; i < n; i++) {
        const phantom_voxel *const v = &w->voxels[i];
        deepest *const d = &w->found[v->label];
        if (d->at < 0 || v->depth > d->depth) {
            d->at = z * n + i;
            d->depth = v->depth;
        }
        d->seeded |= v->seed;
        if (c->truth) lob_label_put(c->truth->data, c->truth->type, z * n + i, v->label);
        if (c->seeds && v->seed) lob_label_put(c->seeds->data, c->seeds->type, z * n + i, v->label);
    }
}

/* Brightness blurred with weights 1 2 1 along each axis, in units of the full range. */
static double blurred(const uint16_t *const slices[3], lob_dims d, int64_t x, int64_t y)
{
    const int64_t left = x > 0 ? -1 : 0, right = x + 1 < d.nx ? 1 : 0;
    const int64_t up = y > 0 ? -d.nx : 0, down = y + 1 < d.ny ? d.nx : 0;
    const int64_t at = x + d.nx * y, row[3] = {at + up, at, at + down};
    uint32_t sum = 0;
    for (int s = 0; s < 3; s++)
        for (int r = 0; r < 3; r++) {
            const uint16_t *const v = slices[s] + row[r];
            sum += ((uint32_t)v[left] + 2u * v[0] + v[right]) << ((s == 1) + (r == 1));
        }
    return (double)sum * (1.0 / 64.0 / PHANTOM_BRIGHT);
}

static void store_slice(const call *c, const uint16_t *const slices[3], int64_t z)
{
    const lob_dims d = c->options->dims;
    const uint64_t key = random_key(c->options->random_seed, KEY_NOISE);
    const double sigma = c->options->noise / 100.0;
    const double w = ((double)z + 0.5) / (double)d.nz * 2.0 - 1.0;
    for (int64_t y = 0; y < d.ny; y++)
        for (int64_t x = 0; x < d.nx; x++) {
            const int64_t at = x + d.nx * (y + d.ny * z);
            const double u = ((double)x + 0.5) / (double)d.nx * 2.0 - 1.0;
            const double v = ((double)y + 0.5) / (double)d.ny * 2.0 - 1.0;
            double value =
                blurred(slices, d, x, y) * (1.0 + c->options->bias * bias_at(c->bias, u, v, w));
            if (sigma > 0 && c->recipe->rician) {
                const double re = value + sigma * random_normal(key, 2 * (uint64_t)at);
                const double im = sigma * random_normal(key, 2 * (uint64_t)at + 1);
                value = sqrt(re * re + im * im);
            } else if (sigma > 0) {
                value += sigma * sqrt(0.25 + 1.5 * value) * random_normal(key, (uint64_t)at);
            }
            value = value * c->top + 0.5;
            const int whole = value < 0 ? 0 : value > c->top ? (int)c->top : (int)value;
            if (c->options->type == LOB_U8)
                ((uint8_t *)c->image->data)[at] = (uint8_t)whole;
            else /* int16 and uint16 are the same up to 4095 */
                ((uint16_t *)c->image->data)[at] = (uint16_t)whole;
        }
}

static void make_slab(const call *c, thread_memory *w, int64_t first)
{
    const lob_dims d = c->options->dims;
    const int64_t n = d.nx * d.ny, end = first + SLAB < d.nz ? first + SLAB : d.nz;
    uint16_t *slices[3] = {w->bright, w->bright + n, w->bright + 2 * n};
    if (c->image && first > 0) make_slice(c, w, slices[0], first - 1, false);
    make_slice(c, w, slices[1], first, true);
    for (int64_t z = first; z < end; z++) {
        if (z + 1 < end || (c->image && z + 1 < d.nz))
            make_slice(c, w, slices[2], z + 1, z + 1 < end);
        if (c->image) {
            const uint16_t *const around[3] = {z > 0 ? slices[0] : slices[1], slices[1],
                                               z + 1 < d.nz ? slices[2] : slices[1]};
            store_slice(c, around, z);
        }
        uint16_t *const oldest = slices[0];
        slices[0] = slices[1];
        slices[1] = slices[2];
        slices[2] = oldest;
    }
}

/* Give each label without a seed its deepest voxel; of equally deep ones the first. */
static void add_missing_seeds(const call *c, const thread_memory *memory, int threads)
{
    if (!c->seeds) return;
    for (int32_t label = 1; label <= c->labels; label++) {
        deepest best = {.at = -1};
        for (int t = 0; t < threads; t++) {
            const deepest *const d = &memory[t].found[label];
            best.seeded |= d->seeded;
            if (d->at < 0) continue;
            if (best.at < 0 || d->depth > best.depth ||
                (d->depth == best.depth && d->at < best.at)) {
                best.at = d->at;
                best.depth = d->depth;
            }
        }
        if (best.at >= 0 && !best.seeded)
            lob_label_put(c->seeds->data, c->seeds->type, best.at, label);
    }
}

static lob_status make_slabs(const call *c, const lob_context *context)
{
    const lob_dims d = c->options->dims;
    const size_t n = (size_t)(d.nx * d.ny), labels = (size_t)c->labels + 1;
    const int64_t slabs = (d.nz + SLAB - 1) / SLAB;
    const int threads = slabs < context->threads ? (int)slabs : context->threads;
    lob_status st = LOB_ENOMEM;
    lob_progress progress = {.context = context};
    thread_memory *const memory = calloc((size_t)threads, sizeof *memory);
    if (!memory) return LOB_ENOMEM;
    for (int t = 0; t < threads; t++) {
        thread_memory *const w = &memory[t];
        w->found =
            malloc(labels * sizeof *w->found + n * sizeof *w->voxels + 3 * n * sizeof *w->bright);
        if (!w->found) goto out;
        w->voxels = (phantom_voxel *)(w->found + labels);
        w->bright = (uint16_t *)(w->voxels + n);
        for (size_t l = 0; l < labels; l++) w->found[l] = (deepest){.at = -1};
    }
    lob_progress_stage(&progress, slabs, 1.0);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t s = 0; s < slabs; s++) {
        if (lob_progress_stopped(&progress)) continue;
        make_slab(c, &memory[omp_get_thread_num()], s * SLAB);
        lob_progress_report(&progress, 1);
    }
    st = lob_progress_stopped(&progress) ? LOB_ECANCEL : LOB_OK;
    if (st == LOB_OK) add_missing_seeds(c, memory, threads);
out:
    for (int t = 0; t < threads; t++) free(memory[t].found);
    free(memory);
    return st;
}

static lob_geometry centred(lob_dims d, const double spacing_mm[3])
{
    const double side[3] = {(double)d.nx, (double)d.ny, (double)d.nz};
    lob_geometry g = lob_geometry_of_spacing(spacing_mm);
    for (int a = 0; a < 3; a++) g.affine[a][3] = -0.5 * (side[a] - 1.0) * spacing_mm[a];
    return g;
}

static lob_status name_organs(lob_volume *truth, lob_volume *seeds)
{
    static const char *const names[] = {
#define NAME(label, number, name) [label] = name,
        LOB_ABDOMEN_LIST(NAME)
#undef NAME
    };
    for (int32_t label = 1; label <= LOB_ABDOMEN_LABELS; label++) {
        if (truth) LOB_TRY(lob_label_names_put(&truth->names, label, names[label], NULL, NULL));
        if (seeds) LOB_TRY(lob_label_names_put(&seeds->names, label, names[label], NULL, NULL));
    }
    return LOB_OK;
}

lob_status lob_phantom(lob_volume *image, lob_volume *truth, lob_volume *seeds,
                       const lob_phantom_options *options, const lob_context *context,
                       lob_error *error)
{
    lob_volume *const outputs[3] = {image, truth, seeds};
    for (int i = 0; i < 3; i++)
        if (outputs[i]) *outputs[i] = lob_volume_empty();
    LOB_TRY(check(options, error));

    void *model = NULL;
    call c = {.recipe = recipes[options->kind],
              .options = options,
              .image = image,
              .truth = truth,
              .seeds = seeds,
              .top = options->type == LOB_U8 ? 255.0 : 4095.0};
    make_bias(c.bias, options->random_seed);
    LOB_TRY(c.recipe->make(&model, &c.labels, options, error));
    c.model = model;

    lob_volume like = lob_volume_empty();
    like.dims = options->dims;
    like.geometry = centred(options->dims, options->spacing_mm);
    const lob_type types[3] = {options->type, lob_label_type(c.labels), lob_label_type(c.labels)};
    lob_status st = LOB_OK;
    for (int i = 0; i < 3 && st == LOB_OK; i++)
        if (outputs[i]) st = lob_volume_like(outputs[i], &like, types[i], 1);
    if (st == LOB_OK && options->kind == LOB_PHANTOM_ABDOMEN) st = name_organs(truth, seeds);
    if (st == LOB_OK) st = make_slabs(&c, context);
    if (st != LOB_OK) {
        for (int i = 0; i < 3; i++)
            if (outputs[i]) lob_volume_free(outputs[i]);
        lob_fail(error, st, st == LOB_ECANCEL ? "phantom cancelled" : "no memory for the phantom");
    }
    free(model);
    return st;
}
