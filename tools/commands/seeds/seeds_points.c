/* Seeds from points: a ball around each. */
#include "tools/commands/seeds/seeds_work.h"

#include <math.h>

typedef lob_seeds_work work;

/*
 * How far a ball of radius 1 mm reaches along each voxel axis, in voxels: the lengths of the rows
 * of the inverse affine.
 */
static void reach_of_mm(double reach[3], const lob_geometry *g)
{
    const double none[3] = {0, 0, 0};
    double from[3], square[3] = {0, 0, 0};
    lob_world_to_voxel(from, g, none);
    for (int axis = 0; axis < 3; axis++) {
        double world[3] = {0, 0, 0}, to[3];
        world[axis] = 1.0;
        lob_world_to_voxel(to, g, world);
        for (int a = 0; a < 3; a++) square[a] += (to[a] - from[a]) * (to[a] - from[a]);
    }
    for (int a = 0; a < 3; a++) reach[a] = sqrt(square[a]);
}

static double square_distance(const double a[3], const double b[3])
{
    double square = 0.0;
    for (int i = 0; i < 3; i++) square += (a[i] - b[i]) * (a[i] - b[i]);
    return square;
}

/*
 * A ball around a voxel position: the voxels whose centres lie in it, its border counting as
 * kernels/morphology/morphology.h has it, and the voxel that holds its own centre.
 */
static void put_ball(work *w, const double at[3], lob_size radius, int32_t label)
{
    const lob_geometry *const g = &w->seeds.geometry;
    const lob_dims d = w->seeds.dims;
    const double square = radius.value * radius.value * (1.0 + 1e-6);
    double reach[3] = {1, 1, 1}, centre[3];
    int64_t first[3], last[3];
    if (!radius.voxels) reach_of_mm(reach, g);
    lob_voxel_to_world(centre, g, at);
    for (int a = 0; a < 3; a++) {
        const double end = (double)lob_side(d, a) - 1.0, far = reach[a] * radius.value + 1.0;
        first[a] = (int64_t)fmin(fmax(ceil(at[a] - far), 0.0), end);
        last[a] = (int64_t)fmin(fmax(floor(at[a] + far), 0.0), end);
    }
    for (int64_t z = first[2]; z <= last[2]; z++)
        for (int64_t y = first[1]; y <= last[1]; y++)
            for (int64_t x = first[0]; x <= last[0]; x++) {
                const double voxel[3] = {(double)x, (double)y, (double)z};
                double world[3];
                lob_voxel_to_world(world, g, voxel);
                const double away =
                    radius.voxels ? square_distance(voxel, at) : square_distance(world, centre);
                if (away <= square) lob_seeds_put(w, (z * d.ny + y) * d.nx + x, label);
            }
    int64_t own = 0;
    for (int a = 2; a >= 0; a--) own = own * lob_side(d, a) + (int64_t)floor(at[a] + 0.5);
    lob_seeds_put(w, own, label);
}

static lob_status put_point(lob_session *s, work *w, const lob_point *p)
{
    const lob_size own = {.value = p->radius_mm};
    double at[3] = {p->at[0], p->at[1], p->at[2]};
    bool inside = true;
    if (!p->voxel) lob_world_to_voxel(at, &w->seeds.geometry, p->at);
    for (int a = 0; a < 3; a++)
        inside = inside && at[a] >= -0.5 && at[a] < (double)lob_side(w->seeds.dims, a) - 0.5;
    w->points++;
    w->outside += !inside;
    if (inside) put_ball(w, at, isnan(own.value) ? w->radius : own, p->label ? p->label : w->label);
    return lob_session_cancelled(s);
}

lob_status lob_seeds_put_points(lob_session *s, work *w, const char *path)
{
    const double start_s = lob_clock_s();
    lob_session_describe(s, path, NULL);
    lob_points_free(&w->read);
    LOB_TRY(lob_points_read(&w->read, path, &s->error));
    lob_session_stage(s, "read", start_s);
    lob_session_compute(s, "seeding");
    for (int64_t k = 0; k < w->read.count; k++) LOB_TRY(put_point(s, w, &w->read.points[k]));
    lob_session_computed(s);
    return LOB_OK;
}

lob_status lob_seeds_check_points(lob_session *s, const work *w)
{
    if (w->points == 0) return LOB_OK;
    LOB_JSON_NUMBERS(s->results, {"points", w->points}, {"points_outside", w->outside});
    if (w->outside == w->points)
        return lob_fail_file(&s->error, LOB_EDATA, w->points_paths.word[0],
                             "all points lie outside of %s", w->image_path);
    if (w->outside > 0)
        lob_session_note(s, "points outside of %s, which are left out: %lld of %lld", w->image_path,
                         (long long)w->outside, (long long)w->points);
    return LOB_OK;
}
