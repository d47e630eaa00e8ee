/*
 * The contact graph of a label volume: which labels share faces, how many, and how unlike they are.
 * Written for supervoxels, which region merging and graph cuts take from here; any labels will do.
 */
#ifndef LOB_CONTACTS_H
#define LOB_CONTACTS_H

#include "kernels/context.h"
#include "volumes/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const void *labels; /* nx*ny*nz; 0: no label */
    lob_type type;      /* LOB_U8, LOB_I16 or LOB_I32 */
    int64_t count;      /* largest label */
    lob_dims dims;
} lob_label_grid;

typedef struct {
    int32_t a, b;      /* labels, a < b */
    int64_t faces[3];  /* shared by their voxels, across x, y and z */
    double mm2;        /* their area */
    double difference; /* of means: root of the sum of squares over channels, image units; NaN
                          without means, or where one is NaN */
} lob_contact;

/*
 * Means of an image over its labels.
 *
 *   means    out  count * image->channels, a label's channels side by side, image units: of the
 *                 finite values, NaN where there are none
 *   image    in   of the grid's dims
 *
 * The sums are those of kernels/regions/regions.h, whose statuses it returns; 112 bytes a label are
 * taken beside the result, and as many again for each thread but the first, within max_memory.
 */
lob_status lob_label_means(double *means, const lob_label_grid *grid, const lob_volume *image,
                           const lob_context *context, lob_error *error);

/*
 * List the contacts of labels 1..count.
 *
 *   contacts    out  malloc'ed, in the order of a, then b; NULL when there is none, and on failure
 *   found       out  how many
 *   geometry    in   of the grid
 *   means       in   of lob_label_means; NULL: no differences
 *   channels    in   of means
 *   slice_axis  in   -1, or the axis whose faces do not count
 *
 * Same bytes at any thread count. Takes some 100 bytes a contact, for each thread that met it.
 * Returns LOB_OK, LOB_EARG (a slice axis or type that there is not) or LOB_ENOMEM.
 */
lob_status lob_contacts(lob_contact **contacts, int64_t *found, const lob_label_grid *grid,
                        const lob_geometry *geometry, const double *means, int channels,
                        int slice_axis, const lob_context *context, lob_error *error);

/*
 * Mark the outlines of labels.
 *
 *   marks       out  nx*ny*nz: 1 where a voxel has a label and a neighbour through a face has
 *                    another one, or none; else 0
 *   slice_axis  in   -1, or the axis whose faces do not count
 */
void lob_paint_boundaries(uint8_t *marks, const lob_label_grid *grid, int slice_axis, int threads);

/*
 * Paint every label with its mean.
 *
 *   out    in/out  of the grid's dims, its type, channels, slope and inter set and its data
 *                  allocated: a mean is stored as the nearest value that the type holds. 0 where
 *                  there is no label or its mean is NaN (or the nearest to 0 that can be stored)
 *   means  in      count * out->channels
 */
void lob_paint_means(lob_volume *out, const lob_label_grid *grid, const double *means, int threads);

#ifdef __cplusplus
}
#endif

#endif
