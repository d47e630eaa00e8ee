/*
 * The exact Euclidean distance transform of labels, on an anisotropic grid.
 *
 * Distances are between centres of voxels. Squares of distances are whole numbers of a unit, in
 * which all comparisons are made: so a result is the least of a set of integers, and does not
 * depend on how it is found. Where the squared spacings are whole multiples of the smallest one (to
 * within 2^-23 of themselves), this is the unit. Otherwise it is the smallest power of 2 that keeps
 * the square of the volume's diagonal below 2^50 of it; squared spacings are rounded to it.
 *
 * Method: a pass along each axis. Along x, the nearest voxel of the row; along y, then z, the least
 * over a line of cost + weight * offset^2 (Saito and Toriwaki, Pattern Recognition 27, 1994), by
 * searches between the places that were found for neighbours: these are in the order of the voxels.
 */
#ifndef LOB_DISTANCE_H
#define LOB_DISTANCE_H

#include "kernels/context.h"
#include "volumes/volume.h"

#include <stdbool.h>

LOB_BEGIN_DECLS

/* Which voxels the distance is to. */
typedef enum {
    LOB_DISTANCE_TO_SET,   /* labelled voxels; 0 at these themselves */
    LOB_DISTANCE_SIGNED,   /* outside: to labelled voxels; inside: to others, and negative */
    LOB_DISTANCE_TO_OTHER, /* voxels whose label, which may be 0, is another */
    LOB_DISTANCES
} lob_distance_kind;

typedef struct {
    const void *labels; /* nx*ny*nz, x fastest; 0: no label */
    lob_type type;      /* of labels: an integer of 1, 2 or 4 bytes; labels are >= 0 */
    lob_dims dims;      /* sides of at most LOB_DISTANCE_MAX_SIDE voxels */
    double spacing[3];  /* of voxels along x, y, z, each > 0, in any unit; INFINITY for an axis
                           along which voxels do not see each other, such as across slices */
    uint32_t only;      /* this label alone counts, all others are taken as 0; 0: all count */
    lob_place place;    /* of arrays and results */
} lob_distance_input;

enum { LOB_DISTANCE_MAX_SIDE = 65535 };

typedef struct {
    lob_distance_kind kind;
    double max;   /* farther voxels get no distance, in the unit of spacing; INFINITY: no limit. A
                     squared distance beyond its square by less than 1e-6 of it is not farther */
    bool squared; /* give squares of distances */
} lob_distance_options;

/* To the set, no limit, not squared. */
lob_distance_options lob_distance_defaults(void);

typedef struct {
    float *distance; /* nx*ny*nz, in the unit of spacing (squared: of its square), correctly rounded
                        from double; INFINITY where there is no voxel to measure to, -INFINITY
                        inside with LOB_DISTANCE_SIGNED. May be NULL */
    void *feature;   /* nx*ny*nz of the labels' type: the label of the nearest labelled voxel, of
                        equally near ones the smallest; 0: none. May be NULL */
} lob_distance_output;

/*
 * Find distances and nearest labels.
 *
 *   out      out  arrays of the caller's, which may not overlap the labels
 *   in       in   see above
 *   options  in   see above
 *   context  in   threads, memory, progress. Working memory is some 0.7 KB for each voxel of the
 *                 longest side and thread, and 4 bytes for each voxel without out->distance
 *
 * Same bytes on every backend and thread count; on error the output is unspecified. Returns LOB_OK,
 * LOB_EARG (a type, spacing or limit that does not fit; feature with LOB_DISTANCE_TO_OTHER),
 * LOB_EDATA (sides that are too long), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_distance_cpu(const lob_distance_output *out, const lob_distance_input *in,
                            const lob_distance_options *options, const lob_context *context,
                            lob_error *error);

/*
 * Find the squared distance, in mm^2, from each voxel's centre to the nearest centre of a voxel of
 * the set: lob_distance_cpu for a mask.
 *
 *   squared_mm  out  nx*ny*nz, x fastest; INFINITY everywhere when the set is empty
 *   set         in   nx*ny*nz; nonzero: in the set
 *   dims        in   each >= 1
 *   spacing_mm  in   voxel sizes along x, y, z, each > 0
 *   threads     in   >= 1; the result does not depend on it
 *
 * Returns LOB_OK, LOB_EDATA (sides that are too long) or LOB_ENOMEM.
 */
lob_status lob_distance_squared(float *squared_mm, const uint8_t *set, lob_dims dims,
                                const double spacing_mm[3], int threads);

/* Bytes of working memory that lob_distance_squared takes at most, beyond its arguments. */
int64_t lob_distance_bytes(lob_dims dims, int threads);

LOB_END_DECLS

#endif
