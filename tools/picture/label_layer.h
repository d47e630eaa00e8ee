/* Labels of a slice laid over a picture, with outlines as smooth as the slice allows. */
#ifndef LOB_LABEL_LAYER_H
#define LOB_LABEL_LAYER_H

#include "tools/picture/canvas.h"

#include <stdbool.h>

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

#endif
