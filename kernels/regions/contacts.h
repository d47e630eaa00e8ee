/*
 * The contact graph (region adjacency graph) of a label volume. Its nodes are the labels. An edge,
 * a contact, joins two labels that share at least one voxel face; it has the area of the shared
 * faces and the difference of the labels' mean intensities. Region merging and graph cuts start
 * from this graph. The labels may come from any source: supervoxels, components, a segmentation by
 * hand.
 *
 * Also here: the mean intensities of labels, and two pictures of a label volume, its boundaries and
 * its means.
 *
 *     lob_label_means(means, &grid, &image, &context, &error);
 *     lob_contacts(&contacts, &count, &grid, &image.geometry, means, image.channels, -1, &context,
 *                  &error);
 */
#ifndef LOB_CONTACTS_H
#define LOB_CONTACTS_H

#include "kernels/context.h"
#include "volumes/volume.h"

LOB_BEGIN_DECLS

typedef struct {
    const void *labels; /* nx*ny*nz values from 0 to count; 0: no label */
    lob_type type;      /* LOB_U8, LOB_I16 or LOB_I32 */
    int64_t count;      /* the largest label; labels below it need not all occur */
    lob_dims dims;
} lob_label_grid;

typedef struct {
    int32_t a, b;      /* labels, a < b */
    int64_t faces[3];  /* number of shared voxel faces, perpendicular to x, y and z */
    double mm2;        /* area of the shared faces in square millimetres */
    double difference; /* Euclidean distance of the two means over the channels, in image units; NaN
                          if no means were given or one of them is NaN */
} lob_contact;

/*
 * Compute the mean intensity of every label.
 *
 *   means    out  count * image->channels; the channels of a label are adjacent. In image units, of
 *                 the finite values; NaN if there are none
 *   grid     in   labels 1..count
 *   image    in   on the grid, of any type; all its channels are measured
 *   context  in   threads, and max_memory as a limit of working memory
 *
 * Same bytes at any thread count. Working memory is 112 bytes per label, and as much again for each
 * further thread; fewer threads work where the limit asks for it.
 * Returns LOB_OK, LOB_EARG, LOB_EDATA (a side past 2^31 - 1 voxels, more than 2^32 voxels of one
 * label, a label outside 0..count), LOB_ENOMEM or LOB_ECANCEL; on error means is unspecified.
 */
lob_status lob_label_means(double *means, const lob_label_grid *grid, const lob_volume *image,
                           const lob_context *context, lob_error *error);

/*
 * List the contacts of labels 1..count.
 *
 *   contacts    out  malloc'ed array of *count, sorted by a, then by b; NULL if there are none, and
 *                    on failure. The caller frees it
 *   count       out  number of contacts
 *   grid        in   labels
 *   geometry    in   of the grid: gives the areas of faces
 *   means       in   as lob_label_means writes them; NULL: difference is NaN
 *   channels    in   channels of means; not read without means
 *   slice_axis  in   -1, or the axis (0 x, 1 y, 2 z) whose faces are ignored, for labels of slices
 *   context     in   threads, and max_memory as a limit of working memory and result
 *
 * Same bytes at any thread count. Memory is about 100 bytes per contact, counted once for each
 * thread that meets it.
 * Returns LOB_OK, LOB_EARG (slice_axis or type is invalid) or LOB_ENOMEM.
 */
lob_status lob_contacts(lob_contact **contacts, int64_t *count, const lob_label_grid *grid,
                        const lob_geometry *geometry, const double *means, int channels,
                        int slice_axis, const lob_context *context, lob_error *error);

/*
 * Mark the boundaries of labels.
 *
 *   marks       out  nx*ny*nz; 1 for a labelled voxel with a face neighbour of another label or
 *                    without one, else 0
 *   grid        in   labels
 *   slice_axis  in   -1, or the axis (0 x, 1 y, 2 z) whose faces are ignored
 *   threads     in   CPU threads
 */
void lob_paint_boundaries(uint8_t *marks, const lob_label_grid *grid, int slice_axis, int threads);

/*
 * Give every voxel the mean of its label.
 *
 *   out      in/out  on the grid, with type, channels, slope, inter and data set by the caller; the
 *                    data are written. A mean is stored as the nearest value that the type can
 *                    hold; voxels without a label, or with a mean of NaN, get the value nearest
 *                    to 0
 *   grid     in      labels
 *   means    in      count * out->channels, as lob_label_means writes them
 *   threads  in      CPU threads
 */
void lob_paint_means(lob_volume *out, const lob_label_grid *grid, const double *means, int threads);

LOB_END_DECLS

#endif
