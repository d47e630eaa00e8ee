/*
 * Points that a person has placed: 3D Slicer's markups (.mrk.json, .fcsv) and tables (.tsv, .csv).
 *
 * A table has a row of names and columns x_mm, y_mm, z_mm or else x, y, z (world, RAS+, mm), or
 * i, j, k (voxels, from 0); label and radius (or radius_mm, in mm) may be there too. In markups a
 * point whose name is a whole number, such as "2", has it for its label. Points that were never
 * placed are left out.
 */
#ifndef LOB_POINT_FILE_H
#define LOB_POINT_FILE_H

#include "volumes/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    double at[3];
    bool voxel;       /* at is a voxel position; else mm in RAS+ */
    int32_t label;    /* 0: the file does not say */
    double radius_mm; /* NAN: the file does not say */
} lob_point;

typedef struct {
    lob_point *points; /* malloc'ed */
    int64_t count;
} lob_points;

/* The most points that a file may hold. */
enum { LOB_POINTS_MAX = 1 << 20 };

/* The largest radius in mm. */
enum { LOB_POINT_RADIUS_MAX = 1000000 };

/*
 * Read points from the bytes of a file.
 *
 *   out    out  free with lob_points_free; empty on failure
 *   text   in   size bytes; they may be anything
 *   name   in   the path, whose suffix names the kind of file; for messages too
 *
 * Returns LOB_OK, LOB_EARG (no such suffix), LOB_EDATA (not such a file; the message says which
 * line or what is missing; also when it holds no point) or LOB_ENOMEM.
 */
lob_status lob_points_parse(lob_points *out, const char *text, size_t size, const char *name,
                            lob_error *error);

/* lob_points_parse of a file. Returns besides LOB_ENOINPUT or LOB_EIO. */
lob_status lob_points_read(lob_points *out, const char *path, lob_error *error);

/* Free the points and leave none. */
void lob_points_free(lob_points *points);

#endif
