/* Measures of an over-segmentation as a table and in the report. */
#include "tools/commands/compare/compare_supervoxels.h"

#include "kernels/scores/partition.h"
#include "tools/inout/grid.h"

#include <math.h>

static lob_status make_dense(lob_session *s, lob_volume *v, int64_t *count, const char *path)
{
    lob_label_set set = {0};
    LOB_TRY(lob_grid_dense(s, v, &set, path));
    *count = set.count;
    lob_label_set_free(&set);
    return LOB_OK;
}

static void print(lob_session *s, const lob_partition *p, bool quiet)
{
    const struct {
        const char *name;
        double value;
        const char *format;
    } rows[] = {
        {"voxels",                           (double)p->voxels,        "%.0f"},
        {"supervoxels",                      (double)p->supervoxels,   "%.0f"},
        {"regions",                          (double)p->regions,       "%.0f"},
        {"boundary_recall",                  p->boundary_recall,       "%.6f"},
        {"under_segmentation_error",         p->under_segmentation,    "%.6f"},
        {"under_segmentation_error_neubert", p->under_segmentation_np, "%.6f"},
        {"achievable_segmentation_accuracy", p->achievable_accuracy,   "%.6f"},
        {"explained_variation",              p->explained_variation,   "%.6f"},
        {"compactness",                      p->compactness,           "%.6f"},
        {"contour_density",                  p->contour_density,       "%.6f"},
    };
    if (!quiet) printf("measure\tvalue\n");
    for (size_t i = 0; i < LOB_COUNT(rows); i++) {
        char text[64];
        snprintf(text, sizeof text, rows[i].format, rows[i].value);
        if (!quiet) printf("%s\t%s\n", rows[i].name, isnan(rows[i].value) ? "n/a" : text);
        cJSON_AddNumberToObject(s->results, rows[i].name, rows[i].value);
    }
}

lob_status lob_compare_supervoxels(lob_session *s, const lob_compare_supervoxels_settings *set,
                                   lob_volume *truth, lob_volume *labels, const lob_volume *image)
{
    lob_partition_input in = {.labels = labels, .truth = truth, .image = image};
    LOB_TRY(make_dense(s, truth, &in.truth_count, set->truth_path));
    LOB_TRY(make_dense(s, labels, &in.label_count, set->labels_path));

    const bool given = isfinite(set->tolerance.value);
    const lob_partition_options options = {
        .tolerance = given ? set->tolerance.value : 1.0,
        .in_voxels = given ? set->tolerance.voxels : true,
        .slice_axis = lob_grid_slice_axis(set->slices, &labels->geometry),
    };
    lob_partition measures;
    LOB_TRY(
        lob_session_name(s, lob_partition_measure(&measures, &in, &options, &s->context, &s->error),
                         set->labels_path, NULL));
    cJSON_AddNumberToObject(s->results, "tolerance", options.tolerance);
    cJSON_AddStringToObject(s->results, "tolerance_unit", options.in_voxels ? "vox" : "mm");
    cJSON_AddNumberToObject(s->results, "slice_axis", options.slice_axis);
    lob_session_doing(s, "printing");
    print(s, &measures, set->quiet);
    return LOB_OK;
}
