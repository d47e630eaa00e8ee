/* The XML file beside a BigDataViewer file, as far as it tells where voxels are. */
#ifndef LOB_BDV_XML_H
#define LOB_BDV_XML_H

#include "volumes/status.h"

#include <stdbool.h>

typedef struct {
    double size[3];      /* of a voxel, x y z; 0: not said */
    char unit[32];       /* of lengths; "": not said */
    bool placed;         /* affine is said */
    double affine[3][4]; /* from voxels to the world, in that unit */
} lob_bdv_place;

/*
 * Read what the XML says of a setup at a time point.
 *
 *   place  out  zero where nothing is said
 *   xml    in   any text, up to its NUL; nothing beyond is read
 *
 * The transforms of a view are multiplied in their order, as ViewRegistration does. Returns LOB_OK
 * or LOB_ENOMEM.
 */
lob_status lob_bdv_read(lob_bdv_place *place, const char *xml, int setup, int time_point);

#endif
