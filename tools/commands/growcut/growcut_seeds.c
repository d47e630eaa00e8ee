/* Seeds of `lobule growcut`: whether they are any, how strong, and how far they may grow. */
#include "kernels/distance/distance_slabs.h"
#include "tools/commands/growcut/growcut_work.h"
#include "tools/table/label_names_option.h"
#include "volumes/free.h"
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

/* Refuse what has no seeds, or one label alone and no limit. */
static lob_status check_labels(lob_session *s, const lob_growcut_work *w)
{
    const bool limited = w->slabs.mask || isfinite(w->options.range[0]) ||
                         isfinite(w->options.range[1]) || w->options.min_strength > 0.0 ||
                         isfinite(w->options.max_cost) || isfinite(w->max_mm.value) ||
                         w->options.rounds > 0;
    if (w->labelled.count == 0)
        return lob_fail_file(&s->error, LOB_EDATA, w->seeds_path,
                             "no seeds: 0 means unknown, and labels start at 1");
    /* A single slice may well hold a single label. */
    if (w->labelled.count == 1 && !limited && w->slices < 0)
        return lob_fail_file(&s->error, LOB_EDATA, w->seeds_path,
                             "the only label is %d, so everything would become %d; add seeds of a "
                             "background label, or a limit such as --mask, --range or --max-mm",
                             w->labelled.values[0], w->labelled.values[0]);
    return LOB_OK;
}

lob_status lob_growcut_check_seeds(lob_session *s, lob_growcut_work *w)
{
    const char *const path = w->seeds_path;
    const lob_volume own = lob_slab_own(&w->slab, &w->seeds);
    lob_label_neighbours n = {0};
    LOB_TRY(check_labels(s, w));
    say_seeds(s, &w->labelled);
    if (!w->trust_seeds) {
        const bool looked = lob_labels_look(&n, &own, &w->labelled) == LOB_OK;
        int64_t counted[] = {n.pairs, n.alike, !looked};
        LOB_TRY(lob_team_reduce(s->team, counted, 3, LOB_TEAM_SUM, &s->error));
        if (counted[2] > 0) return lob_session_no_memory(s, path);
        n.pairs = counted[0];
        n.alike = counted[1];
        const lob_status st =
            lob_seeds_judge(&n, lob_voxels(&w->image), w->labelled.count, &s->error);
        LOB_TRY(lob_session_name(s, st, path, NULL));
    }
    return lob_label_table_take(s, &w->seeds, w->label_table);
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
            return lob_fail_file(&s->error, LOB_EDATA, w->seed_strength_path,
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
    const char *const path = w->seed_strength_path;
    lob_volume *const v = &w->strengths;
    w->seed_strength = lob_session_array(s, lob_voxels(v), sizeof *w->seed_strength, path);
    if (!w->seed_strength) return LOB_ENOMEM;
    double *const values = malloc((size_t)v->dims.nx * sizeof *values);
    lob_status st = values ? LOB_OK : lob_session_no_memory(s, path);
    for (int64_t row = 0; row < v->dims.ny * v->dims.nz && st == LOB_OK; row++) {
        lob_volume_values(values, v, row * v->dims.nx, v->dims.nx);
        st = take_row(s, w, values, row, z);
    }
    free(values);
    lob_grid_drop(s, v);
    return st;
}

/* Tasks tell each other of their first and last planes. */
static lob_status pass_masks(lob_session *s, const lob_growcut_work *w)
{
    const lob_slab *const slab = &w->slab;
    const int64_t plane = slab->image.dims.nx * slab->image.dims.ny;
    uint8_t *const own = w->mask + lob_slab_before(slab), *const end = own + lob_slab_voxels(slab);
    lob_letter letters[2];
    int count = 0;
    if (slab->z > slab->from)
        letters[count++] = (lob_letter){s->team->rank - 1, own, plane, own - plane, plane, NULL};
    if (end < w->mask + lob_voxels(&slab->image))
        letters[count++] = (lob_letter){s->team->rank + 1, end - plane, plane, end, plane, NULL};
    return lob_team_send(s->team, letters, count, &s->error);
}

lob_status lob_growcut_limit_distance(lob_session *s, lob_growcut_work *w)
{
    const lob_slab *const slab = &w->slab;
    const int axis = w->options.slice_axis;
    const lob_size max = w->max_mm;
    const char *const path = w->slabs.path;
    if (!isfinite(max.value)) return LOB_OK;
    const int64_t all = lob_voxels(&slab->image);
    const int64_t before = lob_slab_before(slab), n = lob_slab_voxels(slab);
    lob_distance_input in = {
        .type = LOB_U8, .dims = w->image.dims, .spacing = {1.0, 1.0, 1.0}
    };
    in.dims.nz = slab->planes;
    if (!max.voxels) memcpy(in.spacing, w->image.geometry.spacing_mm, sizeof in.spacing);
    if (axis >= 0) in.spacing[axis] = INFINITY; /* other slices are out of reach */

    if (!w->mask && (w->mask = lob_session_array(s, all, 1, path)) != NULL) {
        memset(w->mask, 1, (size_t)all);
        if (slab->mask) memcpy(w->mask, slab->mask, (size_t)all);
    }
    if (!w->mask || !(w->is_seed = lob_session_array(s, n, 1, path)) ||
        !(w->squared_mm = lob_session_array(s, n, sizeof *w->squared_mm, path)))
        return LOB_ENOMEM;

    for (int64_t i = 0; i < n; i++) w->is_seed[i] = is_seed(w, before + i);
    in.labels = w->is_seed;
    const lob_distance_output out = {.distance = w->squared_mm};
    const lob_context context = {.threads = s->context.threads};
    lob_distance_options options = lob_distance_defaults();
    options.squared = true;
    const lob_status st =
        lob_distance_slabs(&out, &in, &options, w->image.dims.nz, s->team, &context, &s->error);
    LOB_TRY(lob_session_name(s, st, w->seeds_path, NULL));
    /* A distance that exceeds the limit by rounding only is within it. */
    const double limit = max.value * max.value * (1.0 + 1e-6);
    for (int64_t i = 0; i < n; i++)
        if (w->squared_mm[i] > limit) w->mask[before + i] = 0;
    LOB_FREE(w->squared_mm, w->is_seed);
    w->squared_mm = NULL;
    w->is_seed = NULL;
    lob_session_give(s, n * (int64_t)(sizeof *w->is_seed + sizeof *w->squared_mm));
    return lob_team_size(s->team) > 1 ? pass_masks(s, w) : LOB_OK;
}
