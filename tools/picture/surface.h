/* Labels as a body in space: smooth surfaces, lit from above. */
#ifndef LOB_SURFACE_H
#define LOB_SURFACE_H

#include "tools/picture/mosaic.h"

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
