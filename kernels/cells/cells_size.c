/*
 * Estimating the diameter of a usual cell from the image alone.
 *
 * First the scale. An image that is smoothed by a Gaussian is compared with itself smoothed a
 * little more along one axis. A bump is where it lies above that for each axis: the middle of a
 * cell is one, but not the side of a cluster of cells, however bright, nor a wall. Bumps are
 * strongest where the Gaussian is about a fifth of a cell wide: the mean of their cubes has its
 * peak there, while that of noise falls (Lindeberg, International Journal of Computer Vision 30,
 * 1998, with the least of the second derivatives in place of their sum).
 *
 * Then, at this scale, bodies are counted, and the size is that of a ball of their mean volume.
 * Between walls no ball has the brightness of a wall, so there the size comes from the distance to
 * walls at the places that are the farthest from them.
 */
#include "kernels/cells/cells_job.h"
#include "kernels/distance/distance_slabs.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    lob_cells_job *job;
    const lob_volume *image;
    bool walls;
    lob_volume *above; /* which voxels are above a threshold */
} sizing;

/* ---- bumps ---- */

/* Smooth, where gaps stay gaps. */
static lob_status smoothen(sizing *z, lob_volume *out, const lob_volume *image,
                           const lob_filter_step *gaussian)
{
    LOB_TRY(lob_cells_filter(z->job, out, image, gaussian, 1));
    return lob_cells_put_gaps(z->job, out, image);
}

/* How far a smoothed image lies above itself smoothed more along an axis: over all axes the least,
 * or the sum, about the Laplacian; cells between walls are dark, and lie below. */
static lob_status rise(sizing *z, lob_volume *out, const lob_volume *smooth, double sigma_mm,
                       lob_cells_pass_kind what)
{
    const double more = z->walls && what == LOB_CELLS_SUM ? 1 : 0.64; /* of sigma */
    lob_cells_pass p = lob_cells_pass_of(what, lob_voxels(smooth), NULL);
    p.sign = z->walls && what == LOB_CELLS_LEAST ? -1 : 1;
    p.here = smooth->data;
    *out = lob_volume_empty();
    for (int a = 0; a < 3; a++) {
        lob_filter_step step = {.kind = LOB_FILTER_GAUSSIAN};
        lob_volume along = lob_volume_empty();
        if (lob_side(lob_cells_dims(z->job, smooth), a) == 1) continue;
        step.along[a] = more * sigma_mm / smooth->geometry.spacing_mm[a];
        lob_status st = smoothen(z, &along, smooth, &step);
        p.to = along.data;
        p.before = out->data;
        if (st == LOB_OK) st = lob_cells_run(z->job, NULL, &p);
        lob_segment_drop(&z->job->steps, out);
        *out = along;
        if (st != LOB_OK) lob_segment_drop(&z->job->steps, out);
        LOB_TRY(st);
    }
    return LOB_OK;
}

/* Otsu's threshold, and what is above it. */
static lob_status split(sizing *z, double *threshold, const lob_volume *image)
{
    lob_threshold_stats stats;
    LOB_TRY(lob_cells_split(z->job, z->above, &stats, image));
    *threshold = stats.threshold[0];
    return LOB_OK;
}

/* ---- the scale ---- */

/* The cube root of the mean of the cubes of what rises. */
static lob_status strength(sizing *z, double *strength, const lob_volume *bumps)
{
    lob_cells_pass p = lob_cells_pass_of(LOB_CELLS_CUBES, lob_voxels(bumps), NULL);
    lob_cells_sums sums;
    p.here = bumps->data;
    LOB_TRY(lob_cells_run(z->job, &sums, &p));
    *strength = sums.number[0] ? cbrt(sums.real[0] / (double)sums.number[0]) : 0;
    return LOB_OK;
}

/* Keep every second voxel along the axes where the image is smooth enough. */
static lob_status thin_out(sizing *z, lob_volume *smooth, double sigma_mm)
{
    const double enough = 4; /* voxels of sigma */
    lob_cells_job *const job = z->job;
    const lob_dims whole = lob_cells_dims(job, smooth);
    lob_volume grid = *smooth;
    lob_volume thin;
    int64_t *const sides[3] = {&grid.dims.nx, &grid.dims.ny, &grid.dims.nz};
    int64_t first = 0, end;
    lob_cells_pass p = {
        .kind = LOB_CELLS_THIN, .here = grid.data, .from = grid.dims, .step = {1, 1, 1}
    };
    for (int a = 0; a < 3; a++) {
        if (lob_side(whole, a) == 1 || sigma_mm < enough * grid.geometry.spacing_mm[a]) continue;
        p.step[a] = 2;
        *sides[a] = (*sides[a] + 1) / 2;
        grid.geometry.spacing_mm[a] *= 2;
    }
    if (p.step[0] * p.step[1] * p.step[2] == 1) return LOB_OK;
    if (job->team) lob_team_planes(&first, &end, job->team, lob_team_rank(job->team), job->planes);
    if (first % p.step[2] == 1) { /* another rank has an even plane before */
        p.here += p.from.nx * p.from.ny;
        grid.dims.nz = smooth->dims.nz / 2;
    }
    p.n = lob_voxels(&grid);
    p.thinned = grid.dims;
    if (grid.dims.nz == 0) grid.dims.nz = 1; /* of no use, but there */
    LOB_TRY(lob_cells_make(job, &thin, &grid, LOB_F32));
    p.to = thin.data;
    const lob_status st = lob_cells_run(job, NULL, &p);
    lob_segment_drop(&job->steps, smooth);
    *smooth = thin;
    if (st != LOB_OK || !job->team) return st;
    return lob_cells_deal_thinned(job, smooth, p.step[2],
                                  whole.nx * whole.ny * (whole.nz / lob_team_size(job->team)));
}

/* Smooth to the next scale: the image, or what it was at the scale before. */
static lob_status to_scale(sizing *z, lob_volume *smooth, double before_mm, double sigma_mm)
{
    const lob_volume *const from = before_mm > 0 ? smooth : z->image;
    const lob_filter_step step = lob_cells_along(z->job, LOB_FILTER_GAUSSIAN, from,
                                                 sqrt(sigma_mm * sigma_mm - before_mm * before_mm));
    lob_volume next = lob_volume_empty();
    const lob_status st = smoothen(z, &next, from, &step);
    lob_segment_drop(&z->job->steps, smooth);
    *smooth = next;
    return st == LOB_OK ? thin_out(z, smooth, sigma_mm) : st;
}

/* Strengths of three scales, the last one at sigma, and the best so far. */
typedef struct {
    double of[3], sigma_mm;
    double peak, peak_mm; /* the highest one between two lower ones; 0: none */
    double most, most_mm; /* the highest one */
} strengths;

static void add_strength(strengths *s, double strength, double sigma_mm, double ratio)
{
    s->of[0] = s->of[1];
    s->of[1] = s->of[2];
    s->of[2] = strength;
    if (strength > s->most) s->most = strength, s->most_mm = sigma_mm;
    const double fall = 2 * s->of[1] - s->of[0] - s->of[2];
    if (s->of[0] > 0 && s->of[1] > s->of[0] && s->of[1] >= s->of[2] && s->of[1] > s->peak) {
        s->peak = s->of[1]; /* the place of a parabola's top, in steps of scale */
        s->peak_mm = sigma_mm / ratio * pow(ratio, 0.5 * (s->of[2] - s->of[0]) / fall);
    }
}

static lob_status find_scale(sizing *z, double *sigma_mm)
{
    /* walls have several cells between them: what is darker at a coarser scale are corners of the
     * image beside a cluster */
    const double ratio = sqrt(2.0), first = 0.6, last = z->walls ? 0.15 : 0.25, share = 0.6;
    lob_share *const done = &z->job->share;
    const lob_volume *const image = z->image;
    const lob_dims dims = lob_cells_dims(z->job, image);
    const double finest = lob_least_spacing(dims, image->geometry.spacing_mm);
    lob_team *const team = z->job->team; /* which goes where the image is thin */
    const int64_t planes = z->job->planes;
    double longest = 0, before = 0, of_bumps;
    lob_volume smooth = lob_volume_empty();
    strengths s = {.peak = 0};
    lob_status st = LOB_OK;
    for (int a = 0; a < 3; a++)
        longest = fmax(longest, (double)lob_side(dims, a) * image->geometry.spacing_mm[a] *
                                    (lob_side(dims, a) > 1));
    double sigma = first * finest;
    while (st == LOB_OK && (before <= 0 || sigma < last * longest)) {
        lob_volume bumps = lob_volume_empty();
        st = lob_share_next(done, done->to + (share - done->to) / 4);
        if (st == LOB_OK) st = to_scale(z, &smooth, before, sigma);
        if (st == LOB_OK) st = lob_share_next(done, done->to); /* the bar waits */
        if (st == LOB_OK) st = rise(z, &bumps, &smooth, sigma, LOB_CELLS_LEAST);
        if (st == LOB_OK) st = strength(z, &of_bumps, &bumps);
        if (st == LOB_OK) add_strength(&s, of_bumps, sigma, ratio);
        lob_segment_drop(&z->job->steps, &bumps);
        before = sigma;
        sigma *= ratio;
    }
    lob_segment_drop(&z->job->steps, &smooth);
    z->job->team = team;
    z->job->planes = planes;
    *sigma_mm = s.peak > 0 ? s.peak_mm : s.most_mm;
    if (st == LOB_OK && s.most <= 0)
        return lob_fail_hint(z->job->error, LOB_EDATA, LOB_HINT_GIVE_SIZE,
                             "nothing in the image looks like a cell, so no size is estimated");
    return st;
}

/* ---- the size ---- */

/*
 * Part high from low: turn values into their roots, those that are not above 0 into none, and find
 * the root of half of Otsu's threshold of the values. A few that are far higher would hide others,
 * so a multiple of the threshold of the roots, squared, bounds it.
 */
static lob_status part(sizing *z, double *least, const lob_volume *image, double bound)
{
    const double share = 0.5;
    lob_cells_pass roots = lob_cells_pass_of(LOB_CELLS_ROOTS, lob_voxels(image), NULL);
    double high, root;
    roots.to = image->data;
    LOB_TRY(split(z, &high, image));
    LOB_TRY(lob_cells_run(z->job, NULL, &roots));
    LOB_TRY(split(z, &root, image));
    *least = sqrt(fmin(share * fmax(high, 0), bound * root * root));
    return LOB_OK;
}

/* How many bumps are high. */
static lob_status count_bodies(sizing *z, int64_t *count, const lob_volume *smooth, double sigma_mm)
{
    const double bound = 4.0 / 3;
    lob_cells_pass risen = lob_cells_pass_of(LOB_CELLS_RISEN, lob_voxels(smooth), NULL);
    lob_maxima_options options = lob_maxima_defaults();
    lob_volume bumps = lob_volume_empty();
    lob_maxima_output found = {.count = 0};
    lob_status st = rise(z, &bumps, smooth, sigma_mm, LOB_CELLS_LEAST);
    risen.to = bumps.data;
    options.apart = 2 * sigma_mm;
    if (st == LOB_OK) st = lob_cells_run(z->job, NULL, &risen);
    if (st == LOB_OK) st = part(z, &options.above, &bumps, bound);
    if (st == LOB_OK) st = lob_cells_maxima(z->job, &found, &bumps, NULL, &options);
    *count = found.count;
    lob_maxima_output_free(&found);
    lob_segment_drop(&z->job->steps, &bumps);
    return st;
}

/* How many voxels are bodies': brighter than what is around them, or than the image's threshold,
 * where bodies are so dense that little is around them. */
static lob_status voxels_of_bodies(sizing *z, int64_t *count, const lob_volume *smooth,
                                   double sigma_mm)
{
    const double bound = 1;
    const lob_filter_step finer =
        lob_cells_along(z->job, LOB_FILTER_GAUSSIAN, z->image, sigma_mm / 3);
    lob_volume around = lob_volume_empty(), fine = lob_volume_empty();
    lob_cells_pass bodies = lob_cells_pass_of(LOB_CELLS_BODIES, lob_voxels(smooth), NULL);
    lob_cells_sums sums = {.number = {0}};
    double unused;
    lob_status st = rise(z, &around, smooth, sigma_mm, LOB_CELLS_SUM);
    if (st == LOB_OK) st = part(z, &bodies.level, &around, bound);
    if (st == LOB_OK) st = smoothen(z, &fine, z->image, &finer);
    if (st == LOB_OK) st = split(z, &unused, &fine);
    bodies.here = around.data;
    bodies.marks = z->above->data;
    if (st == LOB_OK) st = lob_cells_run(z->job, &sums, &bodies);
    *count = sums.number[0];
    lob_segment_drop(&z->job->steps, &around);
    lob_segment_drop(&z->job->steps, &fine);
    return st;
}

/* The diameter of a ball, or disc, that has its share of the bodies' voxels. */
static lob_status size_of_bodies(sizing *z, double *size_mm, const lob_volume *smooth,
                                 double sigma_mm)
{
    const double pi = 3.14159265358979;
    int64_t bodies, voxels;
    int dimensions = 0;
    LOB_TRY(count_bodies(z, &bodies, smooth, sigma_mm));
    LOB_TRY(voxels_of_bodies(z, &voxels, smooth, sigma_mm));
    double each = (double)voxels / (double)(bodies > 0 ? bodies : 1);
    for (int a = 0; a < 3; a++)
        if (lob_side(lob_cells_dims(z->job, smooth), a) > 1)
            each *= smooth->geometry.spacing_mm[a], dimensions++;
    *size_mm = dimensions == 3 ? cbrt(6 / pi * each) : dimensions == 2 ? sqrt(4 / pi * each) : each;
    return LOB_OK;
}

/* Distances to walls: 0 on these. Gaps are none. */
static lob_status distances(sizing *z, lob_volume *depth)
{
    lob_volume *const above = z->above;
    lob_cells_pass inside = lob_cells_pass_of(LOB_CELLS_INSIDE, lob_voxels(depth), z->image);
    lob_distance_input in = {
        .labels = above->data, .type = LOB_U8, .dims = depth->dims, .place = above->place};
    lob_distance_options options = lob_distance_defaults();
    const lob_distance_output out = {.distance = depth->data};
    const lob_context context = lob_cells_context(z->job);
    inside.marks = above->data;
    memcpy(in.spacing, depth->geometry.spacing_mm, sizeof in.spacing);
    options.kind = LOB_DISTANCE_TO_SET;
    if (z->job->team)
        LOB_TRY(lob_distance_slabs(&out, &in, &options, z->job->planes, z->job->team, &context,
                                   z->job->error));
    else
        LOB_TRY(z->job->steps.backend->distance(&out, &in, &options, &context, z->job->error));
    LOB_TRY(lob_cells_put_gaps(z->job, depth, z->image));
    return lob_cells_run(z->job, NULL, &inside);
}

/* Distances at places, in ordinary memory; of a team in no order. */
static lob_status depths_at(sizing *z, float *of, const lob_volume *depth,
                            const lob_maxima_output *places)
{
    const int64_t n = places->count;
    lob_volume list = lob_volume_empty(), there = lob_volume_empty(), here = lob_volume_empty();
    lob_volume numbers = lob_volume_empty();
    lob_cells_pass p = {.kind = LOB_CELLS_GATHER, .n = n, .here = depth->data};
    int64_t *first;
    if (z->job->team) return lob_cells_values_of_team(z->job, of, depth, places);
    LOB_TRY(lob_budget_alloc(&z->job->steps.budget, &first, n, sizeof *first, z->job->error));
    for (int64_t i = 0; i < n; i++) first[i] = places->maxima[i].first;
    numbers.data = first;
    numbers.type = LOB_I64;
    numbers.dims = (lob_dims){n, 1, 1};
    lob_status st = lob_segment_here(&z->job->steps, &list, &numbers, z->job->error);
    if (st == LOB_OK) st = lob_cells_make(z->job, &there, &numbers, LOB_F32);
    p.list = list.data;
    p.to = there.data;
    if (st == LOB_OK) st = lob_cells_run(z->job, NULL, &p);
    if (st == LOB_OK)
        st = lob_volume_move(&here, &there, (lob_place){0}, z->job->steps.context, z->job->error);
    if (st == LOB_OK) memcpy(of, here.data, (size_t)n * sizeof *of);
    lob_volume_free(&here);
    lob_segment_drop(&z->job->steps, &there);
    lob_segment_drop(&z->job->steps, &list);
    lob_budget_free(&z->job->steps.budget, first, n, sizeof *first);
    return st;
}

/* The median of the distances at places, each weighed by its inverse; 0 where there is none. Below
 * `least` they are specks of noise that was taken for walls. */
static lob_status median_at(sizing *z, double *median, const lob_volume *depth,
                            const lob_maxima_output *places, double least)
{
    lob_budget *const budget = &z->job->steps.budget;
    const int64_t n = places->count;
    double weight = 0, below = 0;
    int64_t at = 0;
    float *of;
    *median = 0;
    if (n == 0) return LOB_OK;
    LOB_TRY(lob_budget_alloc(budget, &of, n, sizeof *of, z->job->error));
    const lob_status st = depths_at(z, of, depth, places);
    if (st == LOB_OK) {
        qsort(of, (size_t)n, sizeof *of, lob_by_float);
        while (at < n - 1 && (double)of[at] < least) at++;
        for (int64_t i = at; i < n; i++) weight += 1 / (double)of[i];
        for (; at < n - 1 && below + 1 / (double)of[at] < weight / 2; at++)
            below += 1 / (double)of[at];
        *median = (double)of[at];
    }
    lob_budget_free(budget, of, n, sizeof *of);
    return st;
}

/*
 * The median of the distances to walls at their maxima, times 2, is the diameter of the largest
 * ball between walls. That of a ball of a cell's volume, its share of the walls included, is more:
 * 1.6 times in cells that fill space. The background of a cluster has few maxima, all of them far
 * from walls, which count little.
 */
static lob_status size_between_walls(sizing *z, double *size_mm, const lob_volume *smooth,
                                     double sigma_mm)
{
    const double of_inner = 1.6;
    const lob_filter_step gaussian =
        lob_cells_along(z->job, LOB_FILTER_GAUSSIAN, smooth, sigma_mm / 2);
    const lob_maxima_options options = lob_maxima_defaults();
    lob_volume ridges = lob_volume_empty(), even = lob_volume_empty();
    lob_maxima_output found = {.count = 0};
    double threshold, inner = 0;
    lob_status st = rise(z, &ridges, smooth, sigma_mm, LOB_CELLS_SUM);
    if (st == LOB_OK) st = split(z, &threshold, &ridges);
    lob_volume *const distance = &ridges; /* takes the place of the ridges */
    if (st == LOB_OK) st = distances(z, distance);
    if (st == LOB_OK) st = smoothen(z, &even, distance, &gaussian);
    if (st == LOB_OK) st = lob_cells_maxima(z->job, &found, &even, z->above->data, &options);
    if (st == LOB_OK) st = median_at(z, &inner, distance, &found, sigma_mm / 2);
    lob_maxima_output_free(&found);
    lob_segment_drop(&z->job->steps, &ridges);
    lob_segment_drop(&z->job->steps, &even);
    *size_mm = of_inner * 2 * inner;
    return st;
}

lob_status lob_cells_size(double *size_mm, lob_cells_job *job, lob_volume *above,
                          const lob_volume *image, bool walls)
{
    sizing z = {.job = job, .image = image, .walls = walls, .above = above};
    lob_volume smooth = lob_volume_empty();
    double sigma;
    job->edge = LOB_EDGE_RENORMALISE; /* as at gaps */
    LOB_TRY(find_scale(&z, &sigma));
    sigma *= walls ? 1.25 : 1.1; /* a little smoother there are fewer double bumps */
    const lob_filter_step step = lob_cells_along(job, LOB_FILTER_GAUSSIAN, image, sigma);
    lob_status st = lob_share_next(&job->share, 0.7);
    if (st == LOB_OK) st = smoothen(&z, &smooth, image, &step);
    if (st == LOB_OK) st = lob_share_next(&job->share, job->share.to);
    if (st == LOB_OK)
        st = (walls ? size_between_walls : size_of_bodies)(&z, size_mm, &smooth, sigma);
    lob_segment_drop(&job->steps, &smooth);
    job->edge = LOB_EDGE_NEAREST;
    return st;
}
