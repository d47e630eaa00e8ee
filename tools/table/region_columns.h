/* The columns of a region table: which there are, what they need, how --columns names them. */
#ifndef LOB_REGION_COLUMNS_H
#define LOB_REGION_COLUMNS_H

#include "kernels/regions/shapes.h"
#include "tools/inout/volumes.h"

/* What has to be measured for a column beyond sums; bits. */
enum {
    LOB_COLUMN_MOMENTS = 1,
    LOB_COLUMN_BORDER = 2,
    LOB_COLUMN_SLICES = 4,
    LOB_COLUMN_PERCENTILES = 8,
    LOB_COLUMN_NEIGHBOURS = 16,
    LOB_COLUMN_HULL = 32
};

/* Everything that a row can show; NaN for what was not measured. */
typedef struct {
    lob_region_measures measures;
    double voxels, volume_ml, box[6];
    lob_region_shape shape;
    double slices, slice_largest_mm2, slice_mean_mm2, slice_where;
    double percentile[LOB_PERCENTILES];
    double neighbours;
    double feret_mm, hull_mm3, solidity;
} lob_region_row;

typedef struct {
    const char *word;           /* of --columns; several columns may share it */
    const char *name, *name_um; /* in mm and in micrometres; NULL: the same */
    size_t offset;              /* of a double in lob_region_row */
    int power;                  /* of the length in its unit */
    int needs;                  /* bits */
    int dimensions;             /* 2: of pictures alone, 3: of volumes alone, 0: of both */
    bool basic;                 /* where --columns is left out */
} lob_region_column;

enum { LOB_REGION_MAX_COLUMNS = 128 };

/* The option of commands that write region tables. */
#define OPT_REGION_COLUMNS(pointer)                                                            \
    OPT_TEXT("columns", pointer, "LIST",                                                       \
             "columns of the table, as volume,surface,sphericity; basic, shape and all stand " \
             "for several; `lobule stats --help` lists them; left out: basic")

/* For the descriptions of such commands. */
#define LOB_REGION_TOLD                                                                      \
    "volume_mm3 and volume_ml; the bounding box bbox_x_min to bbox_z_max in voxels from 0, " \
    "both ends inside; the centroid in voxels (centroid_x, _y, _z) and in mm of the "        \
    "image's world (centroid_x_mm, ..., RAS+), with micrometres volume_um3, volume_mm3 and " \
    "centroid_x_um, ...; "
#define LOB_TABLE_TOLD                                                                      \
    "of real values, mean and sd are good to a 2^32nd of the image's range. As TSV the "    \
    "first row holds these names and n/a stands for what is missing, as CSV nothing does; " \
    "as JSON it is an array of objects, and null. TSV and CSV have up to 7 significant "    \
    "digits, JSON has all.\n"

/* Is every word of the list known? NULL is fine. Returns LOB_OK or LOB_EARG, with all words. */
lob_status lob_region_columns_check(lob_session *s, const char *list);

/*
 * The columns of a list that has been checked, in its order, none twice.
 *
 *   out   out  at most LOB_REGION_MAX_COLUMNS
 *   flat  in   of a picture
 *
 * Returns how many.
 */
int lob_region_columns_of(const lob_region_column **out, const char *list, bool flat);

/* What these columns need, of volumes as of pictures: bits. */
int lob_region_columns_needs(const char *list);

/* Do sums of slabs serve for these columns? Returns LOB_OK or LOB_EARG. */
lob_status lob_region_columns_check_slabs(lob_session *s, const char *list);

#endif
