/* Seeds of `lobule growcut`: whether they are any, how strong, and how far they may grow. */
#include "kernels/distance/distance.h"
#include "tools/commands/growcut/growcut_work.h"
#include "volumes/label_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    say_seeds(s, &w->labelled);
    if (w->set.trust_seeds) return LOB_OK;
    const lob_status st = lob_seeds_check(&w->seeds, &w->labelled, &s->error);
    lob_error_in(&s->error, w->set.seeds);
    return st;
}

lob_status lob_growcut_check_labels(lob_session *s, const lob_growcut_work *w)
{
    const lob_growcut_settings *const set = &w->set;
    const bool limited = set->mask || isfinite(set->range[0]) || isfinite(set->range[1]) ||
                         set->min_strength > 0.0 || isfinite(set->max_cost) ||
                         isfinite(set->max_mm.value) || set->rounds > 0;
    if (w->labelled.count == 0)
        return lob_fail_file(&s->error, LOB_EDATA, set->seeds,
                             "no seeds: 0 means unknown, and labels start at 1");
    /* A single slice may well hold a single label. */
    if (w->labelled.count == 1 && !limited && set->slices < 0)
        return lob_fail_file(&s->error, LOB_EDATA, set->seeds,
                             "the only label is %d, so everything would become %d; add seeds of a "
                             "background label, or a limit such as --mask, --range or --max-mm",
                             w->labelled.values[0], w->labelled.values[0]);
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
static lob_status take_row(lob_session *s, lob_growcut_work *w, const double *values, int64_t row,
                           int64_t z)
{
    const lob_dims d = w->strengths.dims;
    for (int64_t i = 0; i < d.nx; i++) {
        const int64_t voxel = row * d.nx + i;
        const float strength = (float)values[i];
        if (is_seed(w, voxel) && !(strength > 0.0F && strength <= 1.0F))
            return lob_fail_file(&s->error, LOB_EDATA, w->set.seed_strength,
                                 "the seed at voxel (%lld, %lld, %lld) has strength %.10g; a "
                                 "seed's strength is above 0 and at most 1",
                                 (long long)i, (long long)(row % d.ny), (long long)(row / d.ny + z),
                                 values[i]);
        w->seed_strength[voxel] = strength;
    }
    return LOB_OK;
}

lob_status lob_growcut_take_strength(lob_session *s, lob_growcut_work *w, int64_t z)
{
    const char *const path = w->set.seed_strength;
    lob_volume *const v = &w->strengths;
    w->seed_strength = lob_session_array(s, lob_voxels(v), sizeof *w->seed_strength, path);
    if (!w->seed_strength) return LOB_ENOMEM;
    double *const values = malloc((size_t)v->dims.nx * sizeof *values);
    lob_status st = values ? LOB_OK : lob_session_no_memory(s, path);
    for (int64_t row = 0; row < v->dims.ny * v->dims.nz && st == LOB_OK; row++) {
        values_of_row(values, v, row);
        st = take_row(s, w, values, row, z);
    }
    free(values);
    lob_grid_drop(s, v);
    return st;
}

lob_status lob_growcut_read_strength(lob_session *s, lob_growcut_work *w)
{
    const char *const path = w->set.seed_strength;
    if (!path) return LOB_OK;
    LOB_TRY(lob_grid_read(s, &w->strengths, path, &w->image, w->set.image));
    return lob_growcut_take_strength(s, w, 0);
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
