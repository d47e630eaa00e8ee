/* Seeds of `lobule growcut`: whether they are any, how strong, and how far they may grow. */
#include "kernels/distance/distance.h"
#include "tools/commands/growcut/growcut_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- are these seeds? ---- */

/*
 * A scan in the place of the seeds has hundreds of labels, and of neighbours that both carry one,
 * few carry the same: at most a quarter in twenty scans (CT, MR, microscopy), nine tenths or more
 * in as many label volumes, eroded ones and hundreds of cells among them.
 */
enum { LABELS_OF_A_SCAN = 100 };
static const double alike_in_seeds = 0.5;

/* Whole truths, eroded by a single voxel, leave three times this share of the voxels unknown. */
static const double least_unknown = 1e-4;

/* Do labels change from voxel to voxel? Sparse ones, such as points, have too few neighbours. */
static bool changes_like_a_scan(const lob_volume *seeds, int64_t labelled)
{
    const lob_dims d = seeds->dims;
    const int64_t strides[3] = {1, d.nx, d.nx * d.ny};
    int64_t pairs = 0, alike = 0;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t stride = strides[axis], run = stride * (lob_side(d, axis) - 1);
        for (int64_t first = 0; first < lob_voxels(seeds); first += stride * lob_side(d, axis))
            for (int64_t i = first; i < first + run; i++) {
                const int32_t a = lob_label_at(seeds->data, seeds->type, i);
                const int32_t b = lob_label_at(seeds->data, seeds->type, i + stride);
                pairs += a != 0 && b != 0;
                alike += a != 0 && a == b;
            }
    }
    return 2 * pairs >= labelled && (double)alike < alike_in_seeds * (double)pairs;
}

/* Tell how many seeds each label has. */
static void say_seeds(lob_session *s, const lob_label_set *set)
{
    enum { MOST = 30 };
    char text[MOST * 40] = "";
    size_t used = 0;
    for (int32_t i = 0; i < set->count && i < MOST; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d: %lld", i ? ", " : "",
                                 set->values[i], (long long)set->voxels[i]);
    if (set->count > MOST)
        lob_session_say(s, "seed voxels by label: %s, and %d labels more", text, set->count - MOST);
    else
        lob_session_say(s, "seed voxels by label: %s", text);
}

lob_status lob_growcut_check_seeds(lob_session *s, const lob_growcut_work *w)
{
    const lob_growcut_settings *const set = &w->set;
    const int64_t n = lob_voxels(&w->seeds);
    int64_t labelled = 0;
    for (int32_t i = 0; i < w->labelled.count; i++) labelled += w->labelled.voxels[i];
    say_seeds(s, &w->labelled);
    if (set->trust_seeds) return LOB_OK;
    if (w->labelled.count >= LABELS_OF_A_SCAN && changes_like_a_scan(&w->seeds, labelled))
        return lob_fail_file(
            &s->error, LOB_EDATA, set->seeds,
            "has %d labels that change from voxel to voxel, as in a scan: are "
            "IMAGE and SEEDS swapped? The scan comes first; --trust-seeds takes them "
            "as they are",
            w->labelled.count);
    if ((double)(n - labelled) < least_unknown * (double)n)
        return lob_fail_file(
            &s->error, LOB_EDATA, set->seeds,
            "seeds cover %lld of %lld voxels, so nothing is left to grow: are "
            "IMAGE and SEEDS swapped? 0 is unknown; --trust-seeds takes them as they "
            "are",
            (long long)labelled, (long long)n);
    return LOB_OK;
}

/* Values of one row of a volume, scale applied. */
static void values_of_row(double *values, const lob_volume *v, int64_t row)
{
    lob_values(values, v->data, v->type, row * v->dims.nx, v->dims.nx);
    for (int64_t i = 0; i < v->dims.nx; i++) values[i] = v->slope * values[i] + v->inter;
}

static bool is_seed(const lob_growcut_work *w, int64_t i)
{
    return lob_label_at(w->seeds.data, w->seeds.type, i) != 0;
}

/* One row of strengths; those of seeds must make sense. */
static lob_status take_strengths(lob_session *s, lob_growcut_work *w, const double *values,
                                 int64_t row)
{
    const lob_dims d = w->strengths.dims;
    for (int64_t i = 0; i < d.nx; i++) {
        const int64_t voxel = row * d.nx + i;
        const float strength = (float)values[i];
        if (is_seed(w, voxel) && !(strength > 0.0F && strength <= 1.0F))
            return lob_fail_file(&s->error, LOB_EDATA, w->set.seed_strength,
                                 "the seed at voxel (%lld, %lld, %lld) has strength %.10g; a "
                                 "seed's strength is above 0 and at most 1",
                                 (long long)i, (long long)(row % d.ny), (long long)(row / d.ny),
                                 values[i]);
        w->seed_strength[voxel] = strength;
    }
    return LOB_OK;
}

lob_status lob_growcut_read_strength(lob_session *s, lob_growcut_work *w)
{
    const char *const path = w->set.seed_strength;
    lob_volume *const v = &w->strengths;
    if (!path) return LOB_OK;
    LOB_TRY(lob_grid_read(s, v, path, &w->image, w->set.image));
    w->seed_strength = lob_session_array(s, lob_voxels(v), sizeof *w->seed_strength, path);
    if (!w->seed_strength) return LOB_ENOMEM;
    double *const values = malloc((size_t)v->dims.nx * sizeof *values);
    lob_status st = values ? LOB_OK : lob_session_no_memory(s, path);
    for (int64_t row = 0; row < v->dims.ny * v->dims.nz && st == LOB_OK; row++) {
        values_of_row(values, v, row);
        st = take_strengths(s, w, values, row);
    }
    free(values);
    lob_grid_drop(s, v);
    return st;
}

lob_status lob_growcut_limit_distance(lob_session *s, lob_growcut_work *w, int axis)
{
    const lob_size max = w->set.max_mm;
    if (!isfinite(max.value)) return LOB_OK;
    const int64_t n = lob_voxels(&w->image);
    double spacing[3] = {1.0, 1.0, 1.0};
    if (!max.voxels) memcpy(spacing, w->image.geometry.spacing_mm, sizeof spacing);
    if (axis >= 0) spacing[axis] = INFINITY; /* other slices are out of reach */

    const char *const path = w->set.image;
    if (!w->mask && (w->mask = lob_session_array(s, n, 1, path)) != NULL)
        memset(w->mask, 1, (size_t)n);
    if (!w->mask || !(w->is_seed = lob_session_array(s, n, 1, path)) ||
        !(w->squared_mm = lob_session_array(s, n, sizeof *w->squared_mm, path)))
        return LOB_ENOMEM;

    for (int64_t i = 0; i < n; i++) w->is_seed[i] = is_seed(w, i);
    const lob_status st =
        lob_distance_squared(w->squared_mm, w->is_seed, w->image.dims, spacing, s->context.threads);
    if (st != LOB_OK) return lob_fail_file(&s->error, st, w->set.seeds, "%s", lob_status_text(st));
    /* A distance that exceeds the limit by rounding only is within it. */
    const double limit = max.value * max.value * (1.0 + 1e-6);
    for (int64_t i = 0; i < n; i++)
        if (w->squared_mm[i] > limit) w->mask[i] = 0;
    free(w->squared_mm);
    free(w->is_seed);
    w->squared_mm = NULL;
    w->is_seed = NULL;
    lob_session_give(s, n * (int64_t)(sizeof *w->is_seed + sizeof *w->squared_mm));
    return LOB_OK;
}
