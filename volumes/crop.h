/* Boxes of a volume: the part that holds what is marked, cut out with its place in the world kept.
 */
#ifndef LOB_CROP_H
#define LOB_CROP_H

#include "volumes/volume.h"

LOB_BEGIN_DECLS

/* Voxels first .. first + size - 1 along each axis. */
typedef struct {
    int64_t first[3], size[3];
} lob_box;

/* All of a grid. */
static inline lob_box lob_box_whole(lob_dims d)
{
    const lob_box box = {
        {0,    0,    0   },
        {d.nx, d.ny, d.nz}
    };
    return box;
}

static inline lob_dims lob_box_dims(const lob_box *box)
{
    const lob_dims dims = {box->size[0], box->size[1], box->size[2]};
    return dims;
}

/* Does a box, with no size below 0, lie in another? */
static inline bool lob_box_lies_in(const lob_box *box, const lob_box *in)
{
    bool lies = true;
    for (int a = 0; a < 3; a++)
        lies = lies && box->first[a] >= in->first[a] && box->size[a] >= 0 &&
               box->size[a] <= in->first[a] + in->size[a] - box->first[a];
    return lies;
}

/*
 * Find the smallest box that holds every voxel of a volume that is neither 0 nor NaN, in any
 * channel. Returns false, with box untouched, where there is none.
 */
bool lob_box_of(lob_box *box, const lob_volume *volume);

/*
 * A scan's field of view. Beyond it a scan may be filled with one value, NaN too, and that border
 * is no border of the body: a quarter of its planes or more at an end hold that alone, up to one of
 * which a quarter or more is something else at once. All of a scan where no end is like that, or
 * where one value is beyond that too. Ends are judged once, in turn: what is left, looked at as a
 * scan of its own, may be less.
 *
 *   scan     in  one channel, in ordinary memory
 *   threads  in  CPU threads, at least 1; the result does not depend on them
 */
lob_box lob_field_of_view(const lob_volume *scan, int threads);

/* Widen a box by so many voxels on both sides of each axis, as far as the volume goes. */
void lob_box_widen(lob_box *box, const int64_t margin[3], lob_dims dims);

/* Widen a box so that it holds another one too; a box with a size of 0 is empty. */
void lob_box_join(lob_box *box, const lob_box *other);

/* What lies in both of two boxes; sizes of 0: nothing. */
lob_box lob_box_meet(const lob_box *box, const lob_box *other);

/* The geometry of a box of a grid: every voxel stays where it is in the world. */
lob_geometry lob_box_geometry(const lob_geometry *geometry, const lob_box *box);

/*
 * Cut a volume down to a box of it, all channels. Its header stays, and with it all that does not
 * describe the grid. Needs memory for the box's voxels meanwhile.
 *
 *   box  in  inside the volume, each size >= 1
 *
 * Returns LOB_OK, or LOB_ENOMEM with the volume unchanged.
 */
lob_status lob_volume_crop(lob_volume *volume, const lob_box *box);

/*
 * Where a grid lies in another one whose axes run along the same directions in steps of the same
 * length: the voxel of `onto` that the first voxel of `volume` covers, which may be outside.
 *
 *   first  out  voxels along x, y, z
 *
 * Returns false, with first untouched, where the grids differ by more than whole voxels: no corner
 * of `volume` may be farther than lob_grid_tolerance_mm from where the offset puts it.
 */
bool lob_place_in(int64_t first[3], const lob_volume *volume, const lob_volume *onto);

/*
 * Copy a volume's voxels into another one of its type and channels, on a grid of which its own is a
 * part, or the other way round; both in ordinary memory. What lies outside is left out.
 *
 *   first  in  as lob_place_in finds it
 */
void lob_volume_put(lob_volume *onto, const lob_volume *part, const int64_t first[3]);

/*
 * Lay a volume on a larger or smaller grid of which it is a part: what it does not cover is 0, what
 * lies outside is left out. Its header describes the grid as it was and is given up.
 *
 *   first  in  as lob_place_in finds it
 *   onto   in  the grid; its data may be NULL
 *
 * Returns LOB_OK, or LOB_ENOMEM with the volume unchanged.
 */
lob_status lob_volume_place(lob_volume *volume, const int64_t first[3], const lob_volume *onto);

LOB_END_DECLS

#endif
