/* Slices of a volume as pictures: turned as radiologists hold them, mm square, labels laid over. */
#ifndef LOB_MOSAIC_H
#define LOB_MOSAIC_H

#include "tools/picture/canvas.h"
#include "volumes/labels.h"

#include <stdbool.h>

/* What is drawn. */
typedef struct {
    const lob_volume *image;  /* three channels are drawn as red, green, blue, else the first */
    double window[2];         /* values drawn black and white */
    const lob_volume *labels; /* dense; NULL: none */
    const lob_colour *colour; /* by dense label */
    const bool *shown;        /* by dense label; shown[0] is false */
    double alpha;             /* how much a label covers the image */
    int contour;              /* pixels that a label's contour is wide; < 0: by the slice's size */
} lob_overlay;

/* One slice and how it lies in its picture. */
typedef struct {
    lob_anatomical_plane plane;
    int across, right, down; /* voxel axes: across the slice, along picture rows, along columns */
    bool flip_right, flip_down; /* the axis runs against the picture */
    char side[4];               /* world direction at the left, right, top, bottom of the picture */
    int64_t slice;              /* along across */
    double mm[2];               /* width, height */
    bool projected;             /* not one slice but several, */
    int64_t near, far;          /* along across, both ends included, as the viewer sees them */
} lob_slice;

/*
 * The slice of a plane. Axial has anterior at the top, coronal and sagittal superior. By the
 * radiological convention the patient's right is at the left, and in sagittal slices anterior; the
 * neurological one turns both around. A volume whose file does not say how it lies, such as a PNG,
 * is drawn with its first row at the top, without letters (side is then empty).
 */
lob_slice lob_slice_of(const lob_volume *volume, lob_anatomical_plane plane, int64_t slice,
                       bool neurological);

/*
 * Show the slices low to high in one: the brightest voxel of each line of sight, and the label that
 * is shown first on it. The viewer stands where the plane is seen from: at the feet, in front and
 * at the patient's left by the radiological convention, by the neurological one opposite.
 */
void lob_slice_project(lob_slice *view, const lob_volume *volume, int64_t low, int64_t high);

/* "axial", "coronal", "sagittal" */
const char *lob_plane_name(lob_anatomical_plane plane);

/*
 * Draw a slice with its upper left corner at (x, y): round(mm * scale) pixels either way, at
 * least 1.
 *
 *   pixels_per_mm  in  > 0
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_draw_slice(lob_canvas *canvas, int x, int y, double pixels_per_mm,
                          const lob_overlay *overlay, const lob_slice *view);

/* Pixels that it takes at a scale. */
void lob_slice_pixels(int pixels[2], const lob_slice *view, double pixels_per_mm);

/*
 * A bar of a round length (1, 2 or 5 times a power of ten) that is at most `max` pixels long, with
 * its length above it; (x, y) is the lower left corner. size: of the text. Returns LOB_OK or
 * LOB_ENOMEM.
 */
lob_status lob_draw_scale_bar(lob_canvas *canvas, int x, int y, int max, double pixels_per_mm,
                              int size);

/* Thin lines where the planes through voxel `at` cut this slice. */
void lob_draw_cross(lob_canvas *canvas, int x, int y, const int pixels[2], const lob_volume *volume,
                    const lob_slice *view, const int64_t at[3]);

/* The letters of a slice's sides, in the middle of each. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_draw_sides(lob_canvas *canvas, int x, int y, const int pixels[2],
                          const lob_slice *view, int size);

/*
 * Choose overlay->window: the low and high percentile of the image's finite voxels (of 262144 of
 * them at most, evenly spread, where there are many). Of a CT in Hounsfield units, known by its air
 * and soft tissue, only voxels from -200 on count, since air and lungs would take most of the
 * greys; unless most of what is shown of the labels is darker. Equal values are drawn apart by 1.
 *
 *   low, high  in  percentiles, 0 <= low < high <= 100
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_overlay_window(lob_overlay *overlay, double low, double high);

/* Labels as they lie in the picture: row after row from the top, `wide` numbers each. */
typedef struct {
    const int32_t *label; /* 0: nothing is drawn */
    int64_t wide, tall;
} lob_label_map;

/*
 * Draw them into pixels[0] x pixels[1] from (x, y).
 *
 *   colour   in  by label
 *   alpha    in  how much a label covers, 0..1
 *   contour  in  pixels, inside the label, that its outline is wide; 0: none
 *
 * A point belongs to the label with most of the weights of a quadratic B-spline over the voxels
 * around it: outlines are smooth, borders that are straight stay where they are, and the middle of
 * each voxel keeps its label, so that nothing thin is lost. A pixel mixes what SAMPLES x SAMPLES
 * points in it are.
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_draw_labels(lob_canvas *canvas, int x, int y, const int pixels[2],
                           const lob_label_map *map, const lob_colour *colour, double alpha,
                           int contour);

/* Memory that it takes at most, in bytes. */
int64_t lob_surface_bytes(void);

/*
 * Draw the labels that are shown into pixels[0] x pixels[1] from (x, y), seen from the front, a
 * little from the left and above; by the neurological convention from behind. Voxels' axes stand
 * for the patient's nearest directions.
 *
 *   low, high  in  voxels of the box in which they lie, both included
 *   threads    in  >= 1; the picture is the same with any number
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_draw_surface(lob_canvas *canvas, int x, int y, const int pixels[2],
                            const lob_overlay *overlay, const int64_t low[3], const int64_t high[3],
                            bool neurological, int threads);

#endif
