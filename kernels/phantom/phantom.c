/* From a kind of phantom to volumes: blur, brightness drift, noise, truth and seeds. */
#include "kernels/phantom/phantom.h"

#include "kernels/phantom/phantom_parts.h"
#include "kernels/phantom/phantom_random.h"
#include "volumes/labels.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { SLAB = 8, MOST_CELLS = 100000 };

enum { KEY_NOISE = 101, KEY_BIAS };

static const phantom_recipe *const recipes[LOB_PHANTOMS] = {
    [LOB_PHANTOM_ABDOMEN] = &lob_phantom_abdomen,
    [LOB_PHANTOM_CELLS] = &lob_phantom_cells,
};

/* The best voxel to make a seed of, for a label without one. */
typedef struct {
    int64_t at; /* -1: the label has not been met */
    float depth;
    bool seeded;
} deepest;

/* What a thread works with. */
typedef struct {
    phantom_voxel *voxels; /* a slice as the kind makes it */
    uint16_t *bright;      /* three slices' brightness, the one under way in the middle */
    deepest *found;        /* by label */
} worker;

typedef struct {
    const phantom_recipe *recipe;
    const lob_phantom_options *options;
    const void *model;
    int32_t labels;
    lob_volume *image, *truth, *seeds;
    double drift[9]; /* coefficients of the brightness drift */
    double top;      /* largest value of the image */
} job;

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
    if (o->type != LOB_U8 && o->type != LOB_I16 && o->type != LOB_U16)
        return lob_fail(error, LOB_EARG, "a phantom's voxels are uint8, int16 or uint16");
    if (o->cells < 1 || o->cells > MOST_CELLS)
        return lob_fail(error, LOB_EARG, "a phantom has 1 to %d cells", (int)MOST_CELLS);
    return LOB_OK;
}

/* A random quadratic over the field, scaled so that it stays within [-1, 1]. */
static void make_drift(double drift[9], uint64_t random_seed)
{
    const uint64_t key = random_key(random_seed, KEY_BIAS);
    double sum = 0.0;
    for (int i = 0; i < 9; i++) {
        drift[i] = random_signed(key, (uint64_t)i);
        sum += drift[i] < 0 ? -drift[i] : drift[i];
    }
    for (int i = 0; i < 9; i++) drift[i] /= 0.6 * sum + 1e-9; /* the terms rarely peak together */
}

static double drift_at(const double c[9], double x, double y, double z)
{
    const double d = c[0] * x + c[1] * y + c[2] * z + c[3] * (x * y) + c[4] * (y * z) +
                     c[5] * (z * x) + c[6] * (x * x) + c[7] * (y * y) + c[8] * (z * z);
    return d < -1.0 ? -1.0 : d > 1.0 ? 1.0 : d;
}

/* Make slice z; keep its labels and seeds when it belongs to this slab, its brightness always. */
static void make_slice(const job *j, worker *w, uint16_t *bright, int64_t z, bool keep)
{
    const int64_t n = j->options->dims.nx * j->options->dims.ny;
    j->recipe->slice(w->voxels, j->model, z);
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
        if (j->truth) lob_label_put(j->truth->data, j->truth->type, z * n + i, v->label);
        if (j->seeds && v->seed) lob_label_put(j->seeds->data, j->seeds->type, z * n + i, v->label);
    }
}

/*
 * Brightness as a scanner sees it: a voxel gathers from its neighbours with weights 1 2 1 along
 * each axis (along z with one slice as with three equal ones). In units of the full range.
 */
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

static void store_slice(const job *j, const uint16_t *const slices[3], int64_t z)
{
    const lob_dims d = j->options->dims;
    const uint64_t key = random_key(j->options->random_seed, KEY_NOISE);
    const double sigma = j->options->noise / 100.0;
    const double w = ((double)z + 0.5) / (double)d.nz * 2.0 - 1.0;
    for (int64_t y = 0; y < d.ny; y++)
        for (int64_t x = 0; x < d.nx; x++) {
            const int64_t at = x + d.nx * (y + d.ny * z);
            const double u = ((double)x + 0.5) / (double)d.nx * 2.0 - 1.0;
            const double v = ((double)y + 0.5) / (double)d.ny * 2.0 - 1.0;
            double value =
                blurred(slices, d, x, y) * (1.0 + j->options->bias * drift_at(j->drift, u, v, w));
            if (sigma > 0 && j->recipe->rician) {
                const double re = value + sigma * random_normal(key, 2 * (uint64_t)at);
                const double im = sigma * random_normal(key, 2 * (uint64_t)at + 1);
                value = sqrt(re * re + im * im);
            } else if (sigma > 0) {
                value += sigma * sqrt(0.25 + 1.5 * value) * random_normal(key, (uint64_t)at);
            }
            value = value * j->top + 0.5;
            const int whole = value < 0 ? 0 : value > j->top ? (int)j->top : (int)value;
            if (j->options->type == LOB_U8)
                ((uint8_t *)j->image->data)[at] = (uint8_t)whole;
            else /* 12 bits: int16 and uint16 look alike */
                ((uint16_t *)j->image->data)[at] = (uint16_t)whole;
        }
}

static void make_slab(const job *j, worker *w, int64_t first)
{
    const lob_dims d = j->options->dims;
    const int64_t n = d.nx * d.ny, end = first + SLAB < d.nz ? first + SLAB : d.nz;
    uint16_t *slices[3] = {w->bright, w->bright + n, w->bright + 2 * n};
    if (j->image && first > 0) make_slice(j, w, slices[0], first - 1, false);
    make_slice(j, w, slices[1], first, true);
    for (int64_t z = first; z < end; z++) {
        if (z + 1 < end || (j->image && z + 1 < d.nz))
            make_slice(j, w, slices[2], z + 1, z + 1 < end);
        if (j->image) {
            const uint16_t *const around[3] = {z > 0 ? slices[0] : slices[1], slices[1],
                                               z + 1 < d.nz ? slices[2] : slices[1]};
            store_slice(j, around, z);
        }
        uint16_t *const oldest = slices[0];
        slices[0] = slices[1];
        slices[1] = slices[2];
        slices[2] = oldest;
    }
}

/* Give labels without a seed their deepest voxel; of equally deep ones the first. */
static void seed_the_rest(const job *j, const worker *workers, int threads)
{
    if (!j->seeds) return;
    for (int32_t label = 1; label <= j->labels; label++) {
        deepest best = {.at = -1};
        for (int t = 0; t < threads; t++) {
            const deepest *const d = &workers[t].found[label];
            best.seeded |= d->seeded;
            if (d->at < 0) continue;
            if (best.at < 0 || d->depth > best.depth ||
                (d->depth == best.depth && d->at < best.at)) {
                best.at = d->at;
                best.depth = d->depth;
            }
        }
        if (best.at >= 0 && !best.seeded)
            lob_label_put(j->seeds->data, j->seeds->type, best.at, label);
    }
}

static lob_status run(const job *j, const lob_context *context)
{
    const lob_dims d = j->options->dims;
    const size_t n = (size_t)(d.nx * d.ny);
    const int64_t slabs = (d.nz + SLAB - 1) / SLAB;
    const int threads = slabs < context->threads ? (int)slabs : context->threads;
    lob_status st = LOB_ENOMEM;
    int stop = 0;
    int64_t done = 0;
    worker *const workers = calloc((size_t)threads, sizeof *workers);
    if (!workers) return LOB_ENOMEM;
    for (int t = 0; t < threads; t++) {
        worker *const w = &workers[t];
        w->voxels = malloc(n * sizeof *w->voxels);
        w->bright = malloc(3 * n * sizeof *w->bright);
        w->found = malloc(((size_t)j->labels + 1) * sizeof *w->found);
        if (!w->voxels || !w->bright || !w->found) goto out;
        for (int32_t l = 0; l <= j->labels; l++) w->found[l] = (deepest){.at = -1};
    }
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t s = 0; s < slabs; s++) {
        int stopped;
#pragma omp atomic read
        stopped = stop;
        if (stopped) continue;
        make_slab(j, &workers[omp_get_thread_num()], s * SLAB);
#pragma omp atomic
        done++;
        if (omp_get_thread_num() != 0 || !context->progress) continue;
        int64_t so_far;
#pragma omp atomic read
        so_far = done;
        if (context->progress(context->user, (double)so_far / (double)slabs)) {
#pragma omp atomic write
            stop = 1;
        }
    }
    if (!stop) seed_the_rest(j, workers, threads);
    st = stop ? LOB_ECANCEL : LOB_OK;
out:
    for (int t = 0; t < threads; t++) {
        free(workers[t].voxels);
        free(workers[t].bright);
        free(workers[t].found);
    }
    free(workers);
    return st;
}

static lob_geometry centred(lob_dims d, const double spacing_mm[3])
{
    const double side[3] = {(double)d.nx, (double)d.ny, (double)d.nz};
    lob_geometry g = lob_geometry_of_spacing(spacing_mm);
    for (int a = 0; a < 3; a++) g.affine[a][3] = -0.5 * (side[a] - 1.0) * spacing_mm[a];
    return g;
}

lob_status lob_phantom(lob_volume *image, lob_volume *truth, lob_volume *seeds,
                       const lob_phantom_options *options, const lob_context *context,
                       lob_error *error)
{
    lob_volume *const outputs[3] = {image, truth, seeds};
    for (int i = 0; i < 3; i++)
        if (outputs[i]) *outputs[i] = lob_volume_empty();
    lob_status st = check(options, error);
    if (st != LOB_OK) return st;

    void *model = NULL;
    job j = {.recipe = recipes[options->kind],
             .options = options,
             .image = image,
             .truth = truth,
             .seeds = seeds,
             .top = options->type == LOB_U8 ? 255.0 : 4095.0};
    make_drift(j.drift, options->random_seed);
    st = j.recipe->make(&model, &j.labels, options, error);
    if (st != LOB_OK) return st;
    j.model = model;

    lob_volume like = lob_volume_empty();
    like.dims = options->dims;
    like.geometry = centred(options->dims, options->spacing_mm);
    const lob_type types[3] = {options->type, lob_label_type(j.labels), lob_label_type(j.labels)};
    for (int i = 0; i < 3 && st == LOB_OK; i++)
        if (outputs[i]) st = lob_volume_like(outputs[i], &like, types[i], 1);
    if (st == LOB_OK) st = run(&j, context);
    if (st != LOB_OK) {
        for (int i = 0; i < 3; i++)
            if (outputs[i]) lob_volume_free(outputs[i]);
        lob_fail(error, st, st == LOB_ECANCEL ? "phantom cancelled" : "no memory for the phantom");
    }
    free(model);
    return st;
}
