/* Walls: labels around others, cut where they are wider than their strokes say. */
#include "kernels/device/device.h"
#include "kernels/distance/distance.h"
#include "kernels/refine/refine_job.h"

#include <math.h>
#include <stdlib.h>

/* What is measured, in ordinary memory. */
typedef struct {
    lob_dims dims;
    const double *spacing;
    void *labels;
    const void *seeds;
    lob_type type, seed_type;
    float *distance; /* of a core, negative inside */
    float *strokes;  /* distances of a wall's strokes, ascending */
    int64_t count;   /* of these */
} measured;

/* The share of a core's surface that faces a wall. */
static double facing(const measured *m, const int32_t *pair, int threads)
{
    const lob_dims d = m->dims;
    const int64_t step[3] = {1, d.nx, d.nx * d.ny}, n = lob_dims_voxels(d);
    double whole = 0, wall = 0;
    for (int a = 0; a < 3; a++) {
        const int64_t side = lob_side(d, a);
        int64_t all = 0, faces = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : all, faces)
        for (int64_t i = 0; i < n; i++) {
            if (i / step[a] % side + 1 == side) continue;
            const int32_t one = lob_label_at(m->labels, m->type, i);
            const int32_t next = lob_label_at(m->labels, m->type, i + step[a]);
            if (one == next || (one != pair[1] && next != pair[1])) continue;
            all++;
            faces += one == pair[0] || next == pair[0];
        }
        const double area = m->spacing[(a + 1) % 3] * m->spacing[(a + 2) % 3];
        whole += area * (double)all;
        wall += area * (double)faces;
    }
    return whole > 0 ? wall / whole : 0;
}

static int ascending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The deepest voxel of the core, and how far the wall's strokes are from it. */
static float measure(measured *m, const int32_t *pair)
{
    const int64_t n = lob_dims_voxels(m->dims);
    float deep = 0;
    m->count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (-m->distance[i] > deep) deep = -m->distance[i];
        if (lob_label_at(m->seeds, m->seed_type, i) == pair[0])
            m->strokes[m->count++] = m->distance[i];
    }
    qsort(m->strokes, (size_t)m->count, sizeof *m->strokes, ascending);
    return deep;
}

static lob_status cut(lob_refine_job *j, measured *m, const int32_t *pair)
{
    const int64_t n = lob_dims_voxels(m->dims);
    const int threads = j->context->threads;
    if (facing(m, pair, threads) < 0.6) return LOB_OK;
    const lob_distance_output out = {.distance = m->distance};
    lob_distance_input in = {
        .labels = m->labels, .type = m->type, .dims = m->dims, .only = (uint32_t)pair[1]};
    lob_distance_options options = lob_distance_defaults();
    lob_context context = lob_budget_inner(&j->budget, j->context);
    for (int a = 0; a < 3; a++) in.spacing[a] = m->spacing[a];
    options.kind = LOB_DISTANCE_SIGNED;
    context.progress = NULL;
    LOB_TRY(lob_distance_cpu(&out, &in, &options, &context, j->error));
    const float deep = measure(m, pair);
    if (m->count == 0) return LOB_OK;
    const float half = m->strokes[m->count / 2], most = m->strokes[m->count * 19 / 20];
    if (!(half > 0 && half <= 0.5F * deep && most <= 2.5F * half)) return LOB_OK;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        if (m->distance[i] > 2 * half && lob_label_at(m->labels, m->type, i) == pair[0] &&
            lob_label_at(m->seeds, m->seed_type, i) == 0)
            lob_label_put(m->labels, m->type, i, j->in->background);
    return LOB_OK;
}

/* An array of the job in ordinary memory: itself, or a copy. */
static lob_status bring(lob_refine_job *j, void **here, void *array, int64_t bytes)
{
    *here = array;
    if (!j->device) return LOB_OK;
    *here = NULL;
    LOB_TRY(lob_budget_alloc(&j->budget, here, bytes, 1, j->error));
    return lob_device_download(j->device, *here, array, bytes, j->error);
}

lob_status lob_refine_walls(lob_refine_job *j)
{
    const lob_refine_input *const in = j->in;
    const int64_t n = j->voxels;
    const int64_t bytes = n * (int64_t)lob_type_of(j->a.type)->bytes;
    const int64_t seed_bytes = n * (int64_t)lob_type_of(j->a.seeds_type)->bytes;
    measured m = {.dims = j->image.dims,
                  .spacing = j->image.geometry.spacing_mm,
                  .type = j->a.type,
                  .seed_type = j->a.seeds_type};
    void *seeds = NULL;
    lob_status st = bring(j, &m.labels, j->a.labels, bytes);
    if (st == LOB_OK) st = bring(j, &seeds, (void *)j->a.seeds, seed_bytes);
    if (st == LOB_OK) st = lob_budget_alloc(&j->budget, &m.distance, n, sizeof(float), j->error);
    if (st == LOB_OK) st = lob_budget_alloc(&j->budget, &m.strokes, n, sizeof(float), j->error);
    m.seeds = seeds;
    for (int i = 0; st == LOB_OK && i < in->wall_count; i++)
        st = cut(j, &m, in->walls + (ptrdiff_t)2 * i);
    if (st == LOB_OK && j->device)
        st = lob_device_upload(j->device, j->a.labels, m.labels, bytes, j->error);
    lob_budget_free(&j->budget, m.strokes, n, sizeof(float));
    lob_budget_free(&j->budget, m.distance, n, sizeof(float));
    if (j->device) {
        lob_budget_free(&j->budget, seeds, seed_bytes, 1);
        lob_budget_free(&j->budget, m.labels, bytes, 1);
    }
    return st;
}
