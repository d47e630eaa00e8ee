/*
 * A data set without a layout around it. Its axes come from its attribute `axistags` (ilastik's
 * JSON, in the data set's order), else from its rank:
 *
 *   2  y x
 *   3  z y x
 *   4  z y x c when the last side is at most 4, else c z y x when the first is, else t z y x
 *   5  t z y x c when the last side is at most 4, else t c z y x
 *
 * and its spacing from the attribute `element_size_um` (PlantSeg's and Fiji's: z y x, in
 * micrometres), else from the tags' `resolution` in the unit of the attribute `axis_units`
 * (micrometres without one), else it is 1 mm.
 */
#include "io/hdf5/hdf5_parts.h"
#include "volumes/free.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The only volume under a group; a solid one goes before flat ones. */
static lob_status plain_find(char path[LOB_HDF5_PATH], const char *asked,
                             const lob_hdf5_reading *in)
{
    path[0] = '\0';
    const hid_t object = lob_hdf5_demand(in, asked);
    if (object < 0) return LOB_EDATA;
    const H5I_type_t kind = H5Iget_type(object);
    H5Oclose(object);
    if (kind == H5I_DATASET) {
        strcpy(path, asked);
        return LOB_OK;
    }
    if (kind != H5I_GROUP) return LOB_HDF5_BAD(in, "is neither a data set nor a group");
    const lob_hdf5_found *w = lob_hdf5_collect(in, asked, lob_hdf5_is_volume);
    if (w->found == 0 && w->closed[0]) return lob_hdf5_fail_to_open(in, w->closed);
    if (w->found == 0)
        return LOB_HDF5_BAD(
            in, "holds no data set of numbers with 2 to 5 dimensions that hard links lead to");
    if (w->found > LOB_HDF5_MAX_SETS || (w->solid != 1 && w->found != 1))
        return lob_hdf5_fail_to_choose(in, w);
    strcpy(path, w->sets[w->solid == 1 ? w->first_solid : 0].path);
    return LOB_OK;
}

static void take_rank(lob_hdf5_view *view)
{
    const bool last = view->extent[view->rank - 1] <= 4, first = view->extent[0] <= 4;
    const char *const letters[LOB_HDF5_MAX_AXES + 1] = {
        [2] = "yx",
        [3] = "zyx",
        [4] = last    ? "zyxc"
              : first ? "czyx"
                      : "tzyx",
        [5] = last ? "tzyxc" : "tczyx",
    };
    lob_hdf5_take_letters(view, letters[view->rank]);
}

/* Axes, and spacing where the tags know it (left at 0 where not). False when there are no usable
 * tags. */
static bool take_axistags(lob_hdf5_view *view, double spacing_mm[3], const lob_hdf5_reading *in)
{
    char *text = lob_hdf5_text(view->set, "axistags", "");
    if (!text) return false;
    char *units_text = lob_hdf5_text(view->set, "axis_units", "");
    cJSON *tags = cJSON_Parse(text), *units = units_text ? cJSON_Parse(units_text) : NULL;
    const cJSON *axes = cJSON_GetObjectItemCaseSensitive(tags, "axes");
    char letters[LOB_HDF5_MAX_AXES + 1] = "";
    double resolution[LOB_HDF5_MAX_AXES] = {0};
    bool ok = cJSON_GetArraySize(axes) == view->rank;
    for (int i = 0; ok && i < view->rank; i++) {
        const cJSON *axis = cJSON_GetArrayItem(axes, i);
        const char *key = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(axis, "key"));
        const cJSON *step = cJSON_GetObjectItemCaseSensitive(axis, "resolution");
        ok = key && key[0] && !key[1];
        if (!ok) break;
        letters[i] = key[0];
        const char *unit = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(units, key));
        if (cJSON_IsNumber(step) && step->valuedouble > 0.0 && strchr("xyz", key[0]))
            resolution[i] = step->valuedouble * lob_hdf5_unit_mm(unit, 1e-3, view, in);
    }
    ok = ok && lob_hdf5_take_letters(view, letters);
    for (int a = 0; ok && a < 3; a++)
        if (view->at[a] >= 0) spacing_mm[a] = resolution[view->at[a]];
    if (!ok)
        lob_warn(in->info,
                 "%s: attribute axistags does not fit the data set; axes taken from its rank",
                 view->path);
    cJSON_Delete(units);
    cJSON_Delete(tags);
    LOB_FREE(units_text, text);
    return ok;
}

static bool usable_spacing(double mm)
{
    return isfinite(mm) && mm > 0.0;
}

static lob_status plain_view(lob_hdf5_view *view, const char *path, const lob_hdf5_reading *in)
{
    LOB_TRY(lob_hdf5_view_set(view, path, in));
    double spacing_mm[3] = {0.0, 0.0, 0.0};
    if (!take_axistags(view, spacing_mm, in)) take_rank(view);

    /* Two-dimensional data sets come with two sizes or with three. */
    double um[3];
    const int n = lob_hdf5_numbers(um, 3, view->set, "element_size_um"), sizes = n < 2 ? 0 : n;
    bool good = sizes > 0;
    for (int i = 0; i < sizes; i++) good = good && usable_spacing(um[i]);
    if (sizes && !good)
        lob_warn(in->info, "%s: attribute element_size_um is not usable", view->path);
    for (int a = 0; good && a < sizes; a++) spacing_mm[a] = um[sizes - 1 - a] * 1e-3;

    bool known = true;
    for (int a = 0; a < 3; a++) {
        if (usable_spacing(spacing_mm[a])) continue;
        known = known && view->at[a] < 0;
        spacing_mm[a] = 1.0;
    }
    if (!known && !in->spaced)
        lob_warn(in->info,
                 "%s: has no element_size_um and no resolution in axistags; spacing taken as 1 mm",
                 view->path);
    lob_hdf5_take_box(view, spacing_mm, (const double[3]){0.0, 0.0, 0.0}, good, in);
    return LOB_OK;
}

const lob_hdf5_layout lob_hdf5_plain = {"plain", plain_find, plain_view};
