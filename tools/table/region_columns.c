/* The table of columns of region tables. */
#include "tools/table/region_columns.h"

#include <stddef.h>
#include <string.h>

#define FIELD(name) offsetof(lob_region_row, name)

#define SHAPE(word, name, name_um, field, power, needs, dimensions)        \
    {                                                                      \
        word, name, name_um, FIELD(field), power, needs, dimensions, false \
    }
#define BASIC(word, name, name_um, field, power)             \
    {                                                        \
        word, name, name_um, FIELD(field), power, 0, 0, true \
    }

static const lob_region_column columns[] = {
    BASIC("voxels", "voxels", NULL, voxels, 0),
    BASIC("volume", "volume_mm3", "volume_um3", measures.mm3, 3),
    BASIC("volume_ml", "volume_ml", "volume_mm3", volume_ml, 0),
    BASIC("bbox", "bbox_x_min", NULL, box[0], 0),
    BASIC("bbox", "bbox_y_min", NULL, box[1], 0),
    BASIC("bbox", "bbox_z_min", NULL, box[2], 0),
    BASIC("bbox", "bbox_x_max", NULL, box[3], 0),
    BASIC("bbox", "bbox_y_max", NULL, box[4], 0),
    BASIC("bbox", "bbox_z_max", NULL, box[5], 0),
    BASIC("centroid", "centroid_x", NULL, measures.centroid[0], 0),
    BASIC("centroid", "centroid_y", NULL, measures.centroid[1], 0),
    BASIC("centroid", "centroid_z", NULL, measures.centroid[2], 0),
    BASIC("centroid_world", "centroid_x_mm", "centroid_x_um", measures.centroid_mm[0], 1),
    BASIC("centroid_world", "centroid_y_mm", "centroid_y_um", measures.centroid_mm[1], 1),
    BASIC("centroid_world", "centroid_z_mm", "centroid_z_um", measures.centroid_mm[2], 1),
    BASIC("min", "min", NULL, measures.lowest, 0),
    BASIC("mean", "mean", NULL, measures.mean, 0),
    BASIC("max", "max", NULL, measures.highest, 0),
    BASIC("sd", "sd", NULL, measures.deviation, 0),
    SHAPE("diameter", "equivalent_diameter_mm", "equivalent_diameter_um",
          shape.equivalent_diameter_mm, 1, 0, 0),
    SHAPE("extent", "extent", NULL, shape.extent, 0, 0, 0),
    SHAPE("axes", "axis_1_mm", "axis_1_um", shape.axis_mm[0], 1, LOB_COLUMN_MOMENTS, 0),
    SHAPE("axes", "axis_2_mm", "axis_2_um", shape.axis_mm[1], 1, LOB_COLUMN_MOMENTS, 0),
    SHAPE("axes", "axis_3_mm", "axis_3_um", shape.axis_mm[2], 1, LOB_COLUMN_MOMENTS, 3),
    SHAPE("directions", "axis_1_x", NULL, shape.direction[0][0], 0, LOB_COLUMN_MOMENTS, 0),
    SHAPE("directions", "axis_1_y", NULL, shape.direction[0][1], 0, LOB_COLUMN_MOMENTS, 0),
    SHAPE("directions", "axis_1_z", NULL, shape.direction[0][2], 0, LOB_COLUMN_MOMENTS, 0),
    SHAPE("directions", "axis_2_x", NULL, shape.direction[1][0], 0, LOB_COLUMN_MOMENTS, 0),
    SHAPE("directions", "axis_2_y", NULL, shape.direction[1][1], 0, LOB_COLUMN_MOMENTS, 0),
    SHAPE("directions", "axis_2_z", NULL, shape.direction[1][2], 0, LOB_COLUMN_MOMENTS, 0),
    SHAPE("directions", "axis_3_x", NULL, shape.direction[2][0], 0, LOB_COLUMN_MOMENTS, 3),
    SHAPE("directions", "axis_3_y", NULL, shape.direction[2][1], 0, LOB_COLUMN_MOMENTS, 3),
    SHAPE("directions", "axis_3_z", NULL, shape.direction[2][2], 0, LOB_COLUMN_MOMENTS, 3),
    SHAPE("elongation", "elongation", NULL, shape.elongation, 0, LOB_COLUMN_MOMENTS, 0),
    SHAPE("flatness", "flatness", NULL, shape.flatness, 0, LOB_COLUMN_MOMENTS, 3),
    SHAPE("surface", "surface_mm2", "surface_um2", shape.surface_mm2, 2, LOB_COLUMN_BORDER, 3),
    SHAPE("surface", "perimeter_mm", "perimeter_um", shape.surface_mm2, 1, LOB_COLUMN_BORDER, 2),
    SHAPE("sphericity", "sphericity", NULL, shape.sphericity, 0, LOB_COLUMN_BORDER, 3),
    SHAPE("sphericity", "circularity", NULL, shape.sphericity, 0, LOB_COLUMN_BORDER, 2),
    SHAPE("euler", "euler_number", NULL, shape.euler, 0, LOB_COLUMN_BORDER, 0),
    SHAPE("feret", "feret_diameter_mm", "feret_diameter_um", feret_mm, 1, LOB_COLUMN_HULL, 0),
    SHAPE("hull", "hull_volume_mm3", "hull_volume_um3", hull_mm3, 3, LOB_COLUMN_HULL, 3),
    SHAPE("hull", "hull_area_mm2", "hull_area_um2", hull_mm3, 2, LOB_COLUMN_HULL, 2),
    SHAPE("solidity", "solidity", NULL, solidity, 0, LOB_COLUMN_HULL, 0),
    SHAPE("slices", "slices", NULL, slices, 0, LOB_COLUMN_SLICES, 3),
    SHAPE("slices", "slice_area_mean_mm2", "slice_area_mean_um2", slice_mean_mm2, 2,
          LOB_COLUMN_SLICES, 3),
    SHAPE("slices", "slice_area_max_mm2", "slice_area_max_um2", slice_largest_mm2, 2,
          LOB_COLUMN_SLICES, 3),
    SHAPE("slices", "slice_area_max_at", NULL, slice_where, 0, LOB_COLUMN_SLICES, 3),
    SHAPE("percentiles", "p5", NULL, percentile[0], 0, LOB_COLUMN_PERCENTILES, 0),
    SHAPE("percentiles", "p25", NULL, percentile[1], 0, LOB_COLUMN_PERCENTILES, 0),
    SHAPE("percentiles", "median", NULL, percentile[2], 0, LOB_COLUMN_PERCENTILES, 0),
    SHAPE("percentiles", "p75", NULL, percentile[3], 0, LOB_COLUMN_PERCENTILES, 0),
    SHAPE("percentiles", "p95", NULL, percentile[4], 0, LOB_COLUMN_PERCENTILES, 0),
    SHAPE("neighbours", "neighbours", NULL, neighbours, 0, LOB_COLUMN_NEIGHBOURS, 0),
};

_Static_assert(LOB_COUNT(columns) <= LOB_REGION_MAX_COLUMNS, "there is room for all of them");

/* Does a word of n letters stand for this column? */
static bool stands_for(const char *word, size_t n, const lob_region_column *c)
{
    const struct {
        const char *word;
        bool fits;
    } rows[] = {
        {"all",   true                                           },
        {"basic", c->basic                                       },
        {"shape", !c->basic && c->needs != LOB_COLUMN_PERCENTILES},
        {c->word, true                                           },
        {c->name, true                                           },
    };
    for (size_t i = 0; i < LOB_COUNT(rows); i++)
        if (strlen(rows[i].word) == n && strncmp(word, rows[i].word, n) == 0) return rows[i].fits;
    return false;
}

lob_status lob_region_columns_check(lob_session *s, const char *list)
{
    for (const char *word = list; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        const size_t n = strcspn(word, ",");
        bool known = false;
        for (size_t i = 0; i < LOB_COUNT(columns); i++)
            known = known || stands_for(word, n, &columns[i]);
        if (known) continue;
        char words[512] = "basic, shape, all";
        for (size_t i = 0; i < LOB_COUNT(columns); i++) {
            if (i > 0 && strcmp(columns[i].word, columns[i - 1].word) == 0) continue;
            const size_t used = strlen(words);
            snprintf(words + used, sizeof words - used, ", %s", columns[i].word);
        }
        return lob_fail(&s->error, LOB_EARG, "--columns: there is no '%.*s'; there are %s",
                        n < 40 ? (int)n : 40, word, words);
    }
    return LOB_OK;
}

int lob_region_columns_of(const lob_region_column **out, const char *list, bool flat)
{
    bool taken[LOB_COUNT(columns)] = {false};
    int count = 0;
    for (const char *word = list ? list : "basic"; word;
         word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL)
        for (size_t i = 0; i < LOB_COUNT(columns); i++) {
            const int dimensions = columns[i].dimensions;
            if (taken[i] || !stands_for(word, strcspn(word, ","), &columns[i])) continue;
            if (dimensions && (dimensions == 2) != flat) continue;
            taken[i] = true;
            out[count++] = &columns[i];
        }
    return count;
}

int lob_region_columns_needs(const char *list)
{
    const lob_region_column *chosen[LOB_REGION_MAX_COLUMNS];
    const int count = lob_region_columns_of(chosen, list, false);
    int needs = 0;
    for (int c = 0; c < count; c++) needs |= chosen[c]->needs;
    return needs;
}

lob_status lob_region_columns_check_slabs(lob_session *s, const char *list)
{
    if (!(lob_region_columns_needs(list) & LOB_COLUMN_PERCENTILES)) return LOB_OK;
    return lob_fail(&s->error, LOB_EARG,
                    "--columns %s: percentiles need the whole volume: start one task", list);
}
