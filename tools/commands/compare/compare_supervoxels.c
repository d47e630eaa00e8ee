/* Measures of an over-segmentation as a table and in the report. */
#include "tools/commands/compare/compare_work.h"

#include "kernels/scores/partition.h"

#include <math.h>

static lob_status make_dense(lob_session *s, lob_volume *v, int64_t *count, const char *path)
{
    lob_label_set set = {0};
    LOB_TRY(lob_grid_dense(s, v, &set, path));
    *count = set.count;
    lob_label_set_free(&set);
    return LOB_OK;
}

static lob_status print(lob_session *s, const lob_partition *p, bool quiet)
{
    const lob_measure rows[] = {
        {"voxels",                           "%.0f", (double)p->voxels       },
        {"supervoxels",                      "%.0f", (double)p->supervoxels  },
        {"regions",                          "%.0f", (double)p->regions      },
        {"boundary_recall",                  "%.6f", p->boundary_recall      },
        {"under_segmentation_error",         "%.6f", p->under_segmentation   },
        {"under_segmentation_error_neubert", "%.6f", p->under_segmentation_np},
        {"achievable_segmentation_accuracy", "%.6f", p->achievable_accuracy  },
        {"explained_variation",              "%.6f", p->explained_variation  },
        {"compactness",                      "%.6f", p->compactness          },
        {"contour_density",                  "%.6f", p->contour_density      },
    };
    return lob_compare_print(s, rows, LOB_COUNT(rows), quiet);
}

lob_status lob_compare_supervoxels(lob_session *s, lob_compare_work *w)
{
    const lob_volume *const image = w->image_path ? &w->image : NULL;
    lob_partition_input in = {.labels = &w->b, .truth = &w->a, .image = image};
    LOB_TRY(make_dense(s, &w->a, &in.truth_count, w->a_path));
    LOB_TRY(make_dense(s, &w->b, &in.label_count, w->b_path));

    const bool given = isfinite(w->tolerance.value);
    const lob_partition_options options = {
        .tolerance = given ? w->tolerance.value : 1.0,
        .in_voxels = given ? w->tolerance.voxels : true,
        .slice_axis = lob_grid_slice_axis(w->slices, &w->b.geometry),
    };
    lob_partition measures;
    LOB_TRY(
        lob_session_name(s, lob_partition_measure(&measures, &in, &options, &s->context, &s->error),
                         w->b_path, NULL));
    cJSON_AddNumberToObject(s->results, "tolerance", options.tolerance);
    cJSON_AddStringToObject(s->results, "tolerance_unit", options.in_voxels ? "vox" : "mm");
    cJSON_AddNumberToObject(s->results, "slice_axis", options.slice_axis);
    lob_session_doing(s, "printing");
    return print(s, &measures, w->json);
}
