/* Options, report and table of `lobule components`, for both ways of working. */
#include "tools/commands/components/components_work.h"

#include "io/file.h"
#include "tools/inout/grid.h"
#include "tools/table/region_table.h"

#include <math.h>
#include <string.h>

/* Bounds of a size in whole voxels; a size that differs from a bound by rounding only is inside. */
static lob_status size_bounds(lob_session *s, const lob_components_settings *set,
                              lob_components_options *options, const lob_geometry *geometry)
{
    const double voxel_mm3 = lob_voxel_mm3(geometry);
    const double rounding = 1e-6; /* headers hold spacings as float32 */
    if (isfinite(set->min_size.value)) {
        const double voxels = set->min_size.value / (set->min_size.voxels ? 1.0 : voxel_mm3);
        options->min_voxels = (int64_t)fmin(ceil(voxels * (1.0 - rounding)), 0x1p62);
    }
    if (isfinite(set->max_size.value)) {
        const double voxels = set->max_size.value / (set->max_size.voxels ? 1.0 : voxel_mm3);
        options->max_voxels = (int64_t)fmin(floor(voxels * (1.0 + rounding)), 0x1p62);
        if (options->max_voxels < 1)
            return lob_fail(&s->error, LOB_EARG,
                            "--max-size %.15g%s is less than a voxel of %s (%.6g mm3), so nothing "
                            "would be left",
                            set->max_size.value, set->max_size.voxels ? "vox" : "mm3", set->image,
                            voxel_mm3);
        if (options->max_voxels < options->min_voxels)
            return lob_fail(&s->error, LOB_EARG,
                            "--max-size is below --min-size (%lld and %lld voxels), so nothing "
                            "would be left",
                            (long long)options->max_voxels, (long long)options->min_voxels);
    }
    return LOB_OK;
}

lob_status lob_components_work_options(lob_session *s, lob_components_work *work)
{
    const lob_components_settings *set = &work->set;
    const lob_geometry *geometry = &work->image.geometry;
    lob_components_options *options = &work->options;
    static const lob_type types[] = {LOB_TYPES, LOB_U8, LOB_I16, LOB_I32};
    LOB_TRY(lob_session_check(s, &work->image, LOB_I32, 1, set->labels));
    if (set->label_of == 1 && work->image.channels != 1)
        return lob_fail_file(&s->error, LOB_EDATA, set->image,
                             "has %d channels; --label-of input keeps the values of one: choose it "
                             "with --channel N",
                             work->image.channels);
    *options = lob_components_defaults();
    if (set->equal) options->join = LOB_JOIN_EQUAL;
    if (isfinite(set->tolerance)) {
        options->join = LOB_JOIN_TOLERANCE;
        options->tolerance = set->tolerance;
    }
    if (!isnan(set->range[0])) {
        options->ranged = true;
        memcpy(options->range, set->range, sizeof options->range);
    }
    if (isfinite(set->above)) {
        options->ranged = true;
        options->range[0] = lob_next_above(set->above, &work->image);
    }
    options->neighbours = set->neighbours;
    options->slice_axis = lob_grid_slice_axis(set->slices, geometry);
    options->order = (lob_components_order)set->order;
    options->largest = set->largest;
    options->fill_holes = set->fill_holes;
    options->keep_values = set->label_of == 1;
    options->regions = set->table != NULL;
    options->type = types[set->type];
    return size_bounds(s, set, options, geometry);
}

lob_status lob_components_work_make_values(lob_session *s, lob_components_work *work)
{
    if (!work->set.equal || !work->set.table) return LOB_OK;
    work->values =
        lob_session_array(s, work->result.count,
                          (size_t)work->image.channels * sizeof *work->values, work->set.table);
    return work->values ? LOB_OK : LOB_ENOMEM;
}

void lob_components_work_take_values(lob_components_work *work, const lob_volume *planes, int64_t z)
{
    const lob_components_output *r = &work->result;
    for (int64_t i = 0; work->values && i < r->count; i++) {
        const int64_t first = r->member ? r->member[i] : r->regions[i].first;
        const int64_t at = first - z * planes->dims.nx * planes->dims.ny;
        double *const value = &work->values[i * planes->channels];
        for (int c = 0; at >= 0 && at < lob_voxels(planes) && c < planes->channels; c++)
            lob_volume_values(&value[c], planes, c * lob_voxels(planes) + at, 1);
    }
}

void lob_components_work_hold(lob_session *s, const lob_components_work *work)
{
    const lob_components_output *r = &work->result;
    lob_session_hold(s, r->count * (int64_t)((r->regions ? sizeof *r->regions : 0) +
                                             (r->values ? sizeof *r->values : 0) +
                                             (r->member ? sizeof *r->member : 0)));
}

void lob_components_work_report(lob_session *s, const lob_components_work *work)
{
    const lob_components_settings *set = &work->set;
    const lob_components_output *r = &work->result;
    const lob_number rows[] = {
        {"voxels",            (double)lob_voxels(&work->image)},
        {"foreground_voxels", (double)r->foreground           },
        {"not_finite_voxels", (double)r->not_finite           },
        {"components_found",  (double)r->found                },
        {"components",        (double)r->count                },
        {"neighbours",        set->neighbours                 },
        {"slice_axis",        work->options.slice_axis        },
        {"working_bytes",     (double)r->working_bytes        },
    };
    lob_json_numbers(s->results, rows, LOB_COUNT(rows));
    cJSON_AddStringToObject(s->results, "type", lob_type_of(r->type)->name);
    lob_session_note_not_finite(s, set->image, r->not_finite, "these are background");
    if (r->found == 0)
        lob_session_note(s, "%s: has no foreground, so there is no component", set->image);
    else if (r->count == 0)
        lob_session_note(s, "%s: components: %lld, none of the size asked for", set->image,
                         (long long)r->found);
    lob_session_say(s, "components: %lld of %lld; foreground voxels: %lld", (long long)r->count,
                    (long long)r->found, (long long)r->foreground);
}

/* The labels of the table's rows with --label-of input: the components' values. */
static lob_status keep_labels(lob_session *s, lob_components_work *work)
{
    const int64_t count = work->result.count;
    if (!work->options.keep_values) return LOB_OK;
    work->kept = lob_session_array(s, count, sizeof *work->kept, work->set.table);
    if (!work->kept) return LOB_ENOMEM;
    for (int64_t i = 0; i < count; i++) work->kept[i] = (int32_t)lround(work->values[i]);
    return LOB_OK;
}

lob_status lob_components_work_table(lob_session *s, lob_components_work *work)
{
    if (!work->set.table || lob_team_rank(s->team) > 0) return LOB_OK;
    LOB_TRY(keep_labels(s, work));
    lob_components_output *const r = &work->result;
    lob_volume grid = work->image;
    grid.type = r->type;
    grid.data = work->options.keep_values ? NULL : r->labels; /* else they are not 1..count */
    lob_region_table table = {
        .grid = &grid,
        .image = work->measured,
        .count = r->count,
        .scan = work->set.name,
        .columns = work->set.columns,
        .labels = work->kept,
        .values = work->values,
        .channels = work->image.channels,
        .regions = r->regions,
        .intensities = r->values,
        .fine = &r->fine,
    };
    return lob_region_table_write(s, &table, work->set.table);
}

/* ---- memory ---- */

int64_t lob_components_label_bytes(const lob_components_settings *set)
{
    static const int64_t bytes[] = {4, 1, 2, 4}; /* in the order of the option's words */
    return bytes[set->type];
}

/* Bytes per voxel of a file in memory; 0 where its header cannot be read. */
static int64_t voxel_bytes(const lob_session *s, const char *path, int64_t *voxels)
{
    lob_volume header;
    if (!path || !lob_session_peek(s, &header, path)) return 0;
    *voxels = lob_voxels(&header);
    return header.channels * (int64_t)lob_type_of(header.type)->bytes;
}

int64_t lob_components_bytes_needed(const lob_session *s, const lob_components_settings *set)
{
    enum { MASK = 1, WORK = 5 };
    int64_t voxels = 0, unused;
    const int64_t image = voxel_bytes(s, set->image, &voxels);
    const bool own = set->intensities && lob_same_file(set->image, set->intensities);
    const int64_t each = image + lob_components_label_bytes(set) + WORK + (set->mask ? MASK : 0) +
                         voxel_bytes(s, set->mask, &unused) +
                         (own ? 0 : voxel_bytes(s, set->intensities, &unused));
    return lob_product(voxels, each, 1, 1);
}
