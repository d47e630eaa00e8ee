/* Options, report and table of `lobule components`, for both ways of working. */
#include "tools/commands/components/components_work.h"

#include "io/file.h"
#include "tools/inout/grid.h"
#include "tools/table/region_table.h"

#include <math.h>
#include <string.h>

/* Bounds of a size in whole voxels; a size that differs from a bound by rounding only is inside. */
static lob_status size_bounds(lob_session *s, const lob_components_work *w,
                              lob_components_options *options, const lob_geometry *geometry)
{
    const double voxel_mm3 = lob_voxel_mm3(geometry);
    const double rounding = 1e-6; /* headers hold spacings as float32 */
    if (isfinite(w->min_size.value)) {
        const double voxels = w->min_size.value / (w->min_size.voxels ? 1.0 : voxel_mm3);
        options->min_voxels = (int64_t)fmin(ceil(voxels * (1.0 - rounding)), 0x1p62);
    }
    if (isfinite(w->max_size.value)) {
        const double voxels = w->max_size.value / (w->max_size.voxels ? 1.0 : voxel_mm3);
        options->max_voxels = (int64_t)fmin(floor(voxels * (1.0 + rounding)), 0x1p62);
        if (options->max_voxels < 1)
            return lob_fail(&s->error, LOB_EARG,
                            "--max-size %.15g%s is less than a voxel of %s (%.6g mm3), so nothing "
                            "would be left",
                            w->max_size.value, w->max_size.voxels ? "vox" : "mm3", w->slabs.path,
                            voxel_mm3);
        if (options->max_voxels < options->min_voxels)
            return lob_fail(&s->error, LOB_EARG,
                            "--max-size is below --min-size (%lld and %lld voxels), so nothing "
                            "would be left",
                            (long long)options->max_voxels, (long long)options->min_voxels);
    }
    return LOB_OK;
}

lob_status lob_components_work_options(lob_session *s, lob_components_work *w)
{
    const lob_geometry *geometry = &w->image.geometry;
    lob_components_options *options = &w->options;
    static const lob_type types[] = {LOB_TYPES, LOB_U8, LOB_I16, LOB_I32};
    LOB_TRY(lob_session_check(s, &w->image, LOB_I32, 1, w->labels_path));
    if (w->label_of == 1 && w->image.channels != 1)
        return lob_fail_file(&s->error, LOB_EDATA, w->slabs.path,
                             "has %d channels; --label-of input keeps the values of one: choose it "
                             "with --channel N",
                             w->image.channels);
    *options = lob_components_defaults();
    if (w->equal) options->join = LOB_JOIN_EQUAL;
    if (isfinite(w->tolerance)) {
        options->join = LOB_JOIN_TOLERANCE;
        options->tolerance = w->tolerance;
    }
    if (!isnan(w->range[0])) {
        options->ranged = true;
        memcpy(options->range, w->range, sizeof options->range);
    }
    if (isfinite(w->above)) {
        options->ranged = true;
        options->range[0] = lob_next_above(w->above, &w->image);
    }
    options->neighbours = w->neighbours;
    options->slice_axis = lob_grid_slice_axis(w->slices, geometry);
    options->order = (lob_components_order)w->order;
    options->largest = w->largest;
    options->fill_holes = w->fill_holes;
    options->keep_values = w->label_of == 1;
    options->regions = w->table != NULL;
    options->type = types[w->type];
    return size_bounds(s, w, options, geometry);
}

lob_status lob_components_work_make_values(lob_session *s, lob_components_work *w)
{
    if (!w->equal || !w->table) return LOB_OK;
    w->values = lob_session_array(s, w->result.count, (size_t)w->image.channels * sizeof *w->values,
                                  w->table);
    return w->values ? LOB_OK : LOB_ENOMEM;
}

void lob_components_work_take_values(lob_components_work *w, const lob_volume *planes, int64_t z)
{
    const lob_components_output *r = &w->result;
    for (int64_t i = 0; w->values && i < r->count; i++) {
        const int64_t first = r->member ? r->member[i] : r->regions[i].first;
        const int64_t at = first - z * planes->dims.nx * planes->dims.ny;
        double *const value = &w->values[i * planes->channels];
        for (int c = 0; at >= 0 && at < lob_voxels(planes) && c < planes->channels; c++)
            lob_volume_values(&value[c], planes, c * lob_voxels(planes) + at, 1);
    }
}

void lob_components_work_hold(lob_session *s, const lob_components_work *w)
{
    const lob_components_output *r = &w->result;
    lob_session_hold(s, r->count * (int64_t)((r->regions ? sizeof *r->regions : 0) +
                                             (r->values ? sizeof *r->values : 0) +
                                             (r->member ? sizeof *r->member : 0)));
}

void lob_components_work_report(lob_session *s, const lob_components_work *w)
{
    const lob_components_output *r = &w->result;
    LOB_JSON_NUMBERS(s->results, {"voxels", lob_voxels(&w->image)},
                     {"foreground_voxels", r->foreground}, {"not_finite_voxels", r->not_finite},
                     {"components_found", r->found}, {"components", r->count},
                     {"neighbours", w->neighbours}, {"slice_axis", w->options.slice_axis},
                     {"working_bytes", r->working_bytes});
    cJSON_AddStringToObject(s->results, "type", lob_type_of(r->type)->name);
    lob_session_note_not_finite(s, w->slabs.path, r->not_finite, "these are background");
    if (r->found == 0)
        lob_session_note(s, "%s: has no foreground, so there is no component", w->slabs.path);
    else if (r->count == 0)
        lob_session_note(s, "%s: components: %lld, none of the size asked for", w->slabs.path,
                         (long long)r->found);
    lob_session_say(s, "components: %lld of %lld; foreground voxels: %lld", (long long)r->count,
                    (long long)r->found, (long long)r->foreground);
}

/* The labels of the table's rows with --label-of input: the components' values. */
static lob_status keep_labels(lob_session *s, lob_components_work *w)
{
    const int64_t count = w->result.count;
    if (!w->options.keep_values) return LOB_OK;
    w->kept = lob_session_array(s, count, sizeof *w->kept, w->table);
    if (!w->kept) return LOB_ENOMEM;
    for (int64_t i = 0; i < count; i++) w->kept[i] = (int32_t)lround(w->values[i]);
    return LOB_OK;
}

lob_status lob_components_work_table(lob_session *s, lob_components_work *w)
{
    if (!w->table || lob_team_rank(s->team) > 0) return LOB_OK;
    LOB_TRY(keep_labels(s, w));
    lob_components_output *const r = &w->result;
    lob_volume grid = w->image;
    grid.type = r->type;
    grid.data = w->options.keep_values ? NULL : r->labels; /* else they are not 1..count */
    lob_region_table table = {
        .grid = &grid,
        .image = w->measured,
        .count = r->count,
        .scan = w->name,
        .columns = w->columns,
        .labels = w->kept,
        .values = w->values,
        .channels = w->image.channels,
        .regions = r->regions,
        .intensities = r->values,
        .fine = &r->fine,
    };
    return lob_region_table_write(s, &table, w->table);
}

/* ---- memory ---- */

int64_t lob_components_label_bytes(const lob_components_work *w)
{
    static const int64_t bytes[] = {4, 1, 2, 4}; /* in the order of the option's words */
    return bytes[w->type];
}

/* Bytes per voxel of a file in memory; 0 where its header cannot be read. */
static int64_t voxel_bytes(const lob_session *s, const char *path, int64_t *voxels)
{
    lob_volume header;
    if (!path || !lob_session_peek(s, &header, path)) return 0;
    *voxels = lob_voxels(&header);
    return header.channels * (int64_t)lob_type_of(header.type)->bytes;
}

int64_t lob_components_bytes_needed(const lob_session *s, const lob_components_work *w)
{
    enum { MASK = 1, WORK = 5 };
    int64_t voxels = 0, unused;
    const int64_t image = voxel_bytes(s, w->slabs.path, &voxels);
    const bool own = w->intensities_path && lob_same_file(w->slabs.path, w->intensities_path);
    const int64_t each = image + lob_components_label_bytes(w) + WORK + (w->slabs.mask ? MASK : 0) +
                         voxel_bytes(s, w->slabs.mask, &unused) +
                         (own ? 0 : voxel_bytes(s, w->intensities_path, &unused));
    return lob_product(voxels, each, 1, 1);
}
