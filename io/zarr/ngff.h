/* OME-NGFF, versions 0.4 and 0.5: what a group says of the image whose levels it holds. */
#ifndef LOB_NGFF_H
#define LOB_NGFF_H

#include "io/zarr/zarr_array.h"
#include "volumes/volume.h"

/* An image's level, its axes the last `dims` of LOB_ZARR_DIMS. */
typedef struct {
    char *dataset; /* the level's path below the group, malloc'ed */
    bool is_first; /* level 0 */
    int dims;
    char axes[LOB_ZARR_DIMS];                              /* 't', 'c', 'z', 'y', 'x' */
    double scale[LOB_ZARR_DIMS], shift[LOB_ZARR_DIMS];     /* of the level, in the axes' units */
    double scale_0[LOB_ZARR_DIMS], shift_0[LOB_ZARR_DIMS]; /* of level 0 */
    const char *unit[LOB_ZARR_DIMS]; /* part of what it was read from, or NULL */
} lob_ngff;

/* Does a group hold an image? */
bool lob_ngff_is_image(const cJSON *ome);

/*
 * Read what it says of a level.
 *
 *   ome      in  must live as long as out
 *   dataset  in  the level's path; NULL: level 0
 *
 * Returns LOB_OK, LOB_ENOINPUT (no such level), LOB_EDATA (damaged, or of a kind that is refused)
 * or LOB_ENOMEM.
 */
lob_status lob_ngff_read(lob_ngff *out, const cJSON *ome, const char *dataset, const char *path,
                         lob_error *error);
void lob_ngff_free(lob_ngff *ngff);

/* Names and colours of a label image. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_ngff_names(lob_label_names *out, const cJSON *ome);

/*
 * The attributes of a group of levels named "0", "1", ..., malloc'ed; NULL without memory.
 *
 *   volume  in  its geometry, channels and names; data is not read
 *   steps   in  count, of the levels: each has every so-manieth voxel along x, y and z
 *   labels  in  true: a label image, whose levels are voxels of the volume; false: each voxel of a
 *               level is a mean
 *   source  in  where a label image says its image is; NULL: nowhere
 */
cJSON *lob_ngff_make(const lob_volume *volume, const int64_t (*steps)[3], int count,
                     const char *name, bool labels, const char *source);

#endif
