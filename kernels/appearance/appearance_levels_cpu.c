/*
 * Shares in steps of 1/255, plane by plane. A plane is smoothed along x and y into one of as many
 * as the sum along z reads, a ring for each label.
 */
#include "kernels/appearance/appearance_levels.h"

#include "kernels/filters/filter_edge.h"
#include "kernels/filters/gaussian/gaussian_lines.h"
#include "kernels/simd_clones.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { TAPS = 64 }; /* products of a sum, at most */

typedef struct {
    const lob_gaussian_plan *gaussian;
    lob_dims dims;
    int labels, threads;
    int64_t plane; /* voxels */
    int64_t depth; /* planes of a ring */
    float *raw;    /* a plane of each label */
    float *along_x;
    float *ring;
    float *line; /* of a thread: nx and what lies outside */
    int64_t line_items;
} work;

lob_status lob_appearance_smoothing_make(lob_appearance_smoothing *s, lob_dims dims,
                                         const double spacing_mm[3], double blur_mm,
                                         lob_budget *budget, lob_error *error)
{
    *s = (lob_appearance_smoothing){.step = {.kind = LOB_FILTER_GAUSSIAN},
                                    .options = lob_filter_defaults()};
    s->options.edge = LOB_EDGE_NEAREST;
    s->call = (lob_filter_call){.step = &s->step, .options = &s->options, .finite = true};
    lob_appearance_blur(&s->step, dims, spacing_mm, blur_mm);
    LOB_TRY(lob_gaussian_plan_make(&s->gaussian, dims, &s->call, budget, error));
    s->by_planes = true;
    for (int a = 0; a < 3; a++) {
        const lob_gaussian_axis *const axis = &s->gaussian.axis[a];
        if (axis->used && (axis->coarse || axis->smooth[0].taps > TAPS)) s->by_planes = false;
    }
    return LOB_OK;
}

void lob_appearance_smoothing_free(lob_appearance_smoothing *s, lob_budget *budget)
{
    lob_gaussian_plan_free(&s->gaussian, budget);
}

/* ---- sums ---- */

static const lob_line_op *op_of(const work *w, int axis)
{
    return w->gaussian->axis[axis].used ? &w->gaussian->axis[axis].smooth[0] : NULL;
}

static void sum(const work *w, const lob_line_op *op, float *out, const float *const *rows)
{
    lob_weighted_rows(out, rows, w->gaussian->tables + op->weights, op->taps, 1.0f, 0, w->dims.nx);
}

static void row_along_x(const work *w, float *out, const float *row)
{
    const lob_line_op *const op = op_of(w, 0);
    const int64_t nx = w->dims.nx, reach = -op->first;
    float *const line = w->line + omp_get_thread_num() * w->line_items;
    const float *rows[TAPS];
    for (int64_t i = 0; i < reach; i++) {
        line[i] = row[0];
        line[reach + nx + i] = row[nx - 1];
    }
    memcpy(line + reach, row, (size_t)nx * sizeof *row);
    for (int64_t t = 0; t < op->taps; t++) rows[t] = line + t;
    sum(w, op, out, rows);
}

/* Row `at` of n that lie `apart` from one another, from these around it. A ring of `turn` rows
 * holds them; 0: they are all there. */
static void row_across(const work *w, const lob_line_op *op, float *out, const float *first,
                       int64_t apart, int64_t n, int64_t at, int64_t turn)
{
    const float *rows[TAPS];
    for (int64_t t = 0; t < op->taps; t++) {
        const int64_t from = lob_edge_position(at + op->first + t, n, LOB_EDGE_NEAREST);
        rows[t] = first + (turn ? from % turn : from) * apart;
    }
    sum(w, op, out, rows);
}

/* ---- planes ---- */

/* Smooth a plane of each label along x and y into its ring. */
static void take_plane(const work *w, const float *from, int64_t apart, int64_t z)
{
    const int64_t nx = w->dims.nx, ny = w->dims.ny, rows = w->labels * ny;
    const bool x = op_of(w, 0) != NULL;
#pragma omp parallel num_threads(w->threads)
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < (x ? rows : 0); i++)
            row_along_x(w, w->along_x + i * nx, from + i / ny * apart + i % ny * nx);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < rows; i++) {
            const int64_t k = i / ny, y = i % ny;
            const float *const plane = x ? w->along_x + k * w->plane : from + k * apart;
            float *const out = w->ring + (k * w->depth + z % w->depth) * w->plane + y * nx;
            if (op_of(w, 1))
                row_across(w, op_of(w, 1), out, plane, nx, ny, y, 0);
            else
                memcpy(out, plane + y * nx, (size_t)nx * sizeof *out);
        }
    }
}

/* Scaled by 255, rounded. */
LOB_SIMD_CLONES(void, write_levels, (level, share, n), uint8_t *level, const float *share,
                int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        const float whole = rintf(share[i] * 255.0f);
        level[i] = (uint8_t)(int32_t)(whole < 255.0f ? whole : 255.0f);
    }
}

/* Sum along z, and write a plane of each label. */
static void write_plane(const work *w, uint8_t *levels, int64_t z)
{
    const int64_t nx = w->dims.nx, ny = w->dims.ny;
#pragma omp parallel for num_threads(w->threads) schedule(static)
    for (int64_t i = 0; i < w->labels * ny; i++) {
        const int64_t k = i / ny, at = i % ny * nx;
        const float *const ring = w->ring + k * w->depth * w->plane + at;
        const float *row = ring + z % w->depth * w->plane;
        if (op_of(w, 2)) {
            float *const line = w->line + omp_get_thread_num() * w->line_items;
            row_across(w, op_of(w, 2), line, ring, w->plane, w->dims.nz, z, w->depth);
            row = line;
        }
        write_levels(levels + (k * w->dims.nz + z) * w->plane + at, row, nx);
    }
}

lob_status lob_appearance_smooth(uint8_t *levels, int labels, lob_dims dims,
                                 const lob_appearance_smoothing *s, lob_appearance_plane *plane,
                                 void *user, const lob_context *context, lob_budget *budget,
                                 lob_error *error)
{
    work w = {.gaussian = &s->gaussian,
              .dims = dims,
              .labels = labels,
              .threads = context->threads,
              .plane = dims.nx * dims.ny};
    const lob_line_op *const x = op_of(&w, 0), *const along_z = op_of(&w, 2);
    const int64_t reach = along_z ? -along_z->first : 0, all = labels * w.plane;
    w.depth = 2 * reach + 1;
    w.line_items = dims.nx + (x ? x->taps : 0) + 16; /* threads write to cache lines of their own */
    lob_status st = lob_budget_alloc(budget, &w.raw, all, sizeof(float), error);
    if (st == LOB_OK) st = lob_budget_alloc(budget, &w.along_x, all, sizeof(float), error);
    if (st == LOB_OK) st = lob_budget_alloc(budget, &w.ring, all * w.depth, sizeof(float), error);
    if (st == LOB_OK)
        st = lob_budget_alloc(budget, &w.line, w.threads * w.line_items, sizeof(float), error);
    for (int64_t z = 0; z < dims.nz + reach && st == LOB_OK; z++) {
        int64_t apart = w.plane;
        if (z < dims.nz) {
            const float *const from = plane(user, w.raw, z, &apart);
            take_plane(&w, from, apart, z);
        }
        if (z >= reach) write_plane(&w, levels, z - reach);
        if (context->progress &&
            context->progress(context->user, 0.7 + 0.3 * (double)z / (double)(dims.nz + reach)))
            st = LOB_ECANCEL;
    }
    lob_budget_free(budget, w.line, w.threads * w.line_items, sizeof(float));
    lob_budget_free(budget, w.ring, all * w.depth, sizeof(float));
    lob_budget_free(budget, w.along_x, all, sizeof(float));
    lob_budget_free(budget, w.raw, all, sizeof(float));
    return st;
}
