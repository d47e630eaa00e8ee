/*
 * The table of regions as a file: one row a label, in the manner of tools/table/table_file.h. Its
 * keys: scan, where the user gives a name; label; name, where labels have some; frame, where all of
 * a time series are measured; value, or value_0, value_1, ..., where what the region's voxels share
 * is asked for. Then the columns of region_columns.c, of which `lobule stats --help` tells.
 */
#ifndef LOB_REGION_TABLE_H
#define LOB_REGION_TABLE_H

#include "tools/table/region_columns.h"

/* What is counted for columns beyond sums, of each region; NULL: it is not known. */
typedef struct {
    lob_region_moments *moments;
    lob_region_border *border;
    lob_region_slices *slices;
    lob_region_hull *hulls;
    double (*percentiles)[LOB_PERCENTILES]; /* of each frame one after the other */
    int64_t *neighbours;
} lob_region_shapes;

typedef struct {
    const lob_volume *grid;  /* the labels, 1..count; where its data is NULL, columns whose shapes
                                are not known are refused */
    const lob_volume *image; /* the intensities, a channel for each frame; NULL: none */
    int64_t count;
    int64_t frames;        /* 0: one, and no such column */
    const char *scan;      /* NULL: no such column */
    const char *columns;   /* a list that has been checked; NULL: the basic ones */
    const int32_t *labels; /* count: what they are called; NULL: 1..count */
    bool named;            /* the grid's names are those of `labels` */
    const double *values;  /* count rows of `channels` image values; NULL: no such column */
    int channels;

    /* what lob_region_table_measure fills in */
    lob_region *regions;            /* count; those without voxels get no row */
    lob_region_values *intensities; /* count, of each frame one after the other; NULL: none */
    lob_fine_levels *fine;          /* of each frame */
    lob_region_shapes shapes;       /* what is not known is measured as the table is written */
} lob_region_table;

/* Make the arrays, all 0, of count regions for what is needed (LOB_COLUMN_...), but percentiles.
 * Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_region_shapes_make(lob_session *s, lob_region_shapes *shapes, int64_t count,
                                  int needs, const char *path);

/* Free the arrays, and give their memory back to the session; s may be NULL. */
void lob_region_shapes_free(lob_session *s, lob_region_shapes *shapes, int64_t count);

/*
 * Measure the regions by the session's backend, for lob_region_table_free; it is the stage compute.
 *
 *   path, other  in  for messages, as of lob_session_name
 *
 * Returns LOB_OK, LOB_ENOMEM or what the backend does.
 */
lob_status lob_region_table_measure(lob_session *s, lob_region_table *table, const char *path,
                                    const char *other);
void lob_region_table_free(lob_region_table *table);

/* How many voxels of the rows are NaN or infinite, with a note of them, by the image's path, where
 * there are some. */
int64_t lob_region_table_not_finite(lob_session *s, const lob_region_table *table,
                                    const char *path);

/* Measure what the columns need, and write the table, as its name says, with a note where the
 * image's range makes mean and sd too coarse; its shapes are freed. Returns LOB_OK, LOB_EDATA,
 * LOB_EEXIST, LOB_ECREATE, LOB_EIO, LOB_ENOMEM or LOB_ECANCEL. */
lob_status lob_region_table_write(lob_session *s, lob_region_table *table, const char *path);

#endif
