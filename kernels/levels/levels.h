/*
 * Levels: the unsigned 16-bit intensities that every algorithm computes with.
 *
 * Integers whose range over the data fits 16 bits are used exactly, shifted by their minimum, and
 * so are real numbers that are all whole; everything else is mapped linearly from its finite range
 * to 0..65535. Sums and distances of levels are integers, which is why their order cannot change a
 * result.
 *
 * A voxel is data when the mask holds it, every channel is finite and every channel's value lies in
 * the range asked for.
 */
#ifndef LOB_LEVELS_H
#define LOB_LEVELS_H

#include "volumes/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A box of voxels inside a volume, or one slice of it: where it starts and how far apart voxels
 * are. */
typedef struct {
    int64_t offset;    /* index of the first voxel */
    lob_dims dims;     /* a slice has nz = 1 */
    int64_t stride[3]; /* in voxels, along the view's x, y, z */
    int axis[3];       /* the volume's axis that each of the view's axes follows */
} lob_view;

/* All of a volume, its axes in order. */
lob_view lob_view_whole(lob_dims dims);

/* Slice number index across a volume's axis (0 x, 1 y, 2 z); its x and y are the other two in
 * order. */
lob_view lob_view_slice(lob_dims dims, int axis, int64_t index);

/* Index in the volume of voxel (x, y, z) of a view. */
static inline int64_t lob_view_index(const lob_view *view, int64_t x, int64_t y, int64_t z)
{
    return view->offset + x * view->stride[0] + y * view->stride[1] + z * view->stride[2];
}

enum { LOB_LEVELS_MAX_CHANNELS = 64 }; /* of an image whose levels are scanned, at most */

/* What makes a voxel of an image data. */
typedef struct {
    const lob_volume *image;
    const uint8_t *mask; /* image's grid; 0: not data. May be NULL */
    double range[2];     /* lowest and highest value that is data, compared by lob_as_compared;
                            -INFINITY, INFINITY: all */
} lob_data;

typedef struct {
    bool exact;        /* level = stored - low; else level = round((stored - low) * per_unit) */
    uint64_t low_bits; /* exact: the lowest stored integer, sign-extended */
    double low;        /* stored value of level 0 */
    double per_unit;   /* levels per stored unit; 1 when exact */
    double level_step; /* image units per level, > 0: |slope| / per_unit */
    int64_t data_voxels;
    int64_t not_finite; /* voxels inside the mask that are NaN or infinite in a channel */
    bool whole;         /* every stored value of the data is a whole number */
} lob_levels;

/* Lowest and highest stored value of one channel's data. */
typedef struct {
    bool any; /* false: there is no data, and the rest is 0 */
    double low, high;
    uint64_t low_bits, high_bits; /* of integers: the same, sign-extended; 0 of others */
} lob_extremes;

/*
 * Make the mapping from what a scan of the data found.
 *
 *   levels    in/out  data_voxels, not_finite and whole are kept, the rest is set
 *   span      out     one an image channel: highest minus lowest level of its data
 *   all       in      one an image channel
 *   image     in      its type, channels and slope; the voxels are not looked at
 */
void lob_levels_settle(lob_levels *levels, uint16_t *span, const lob_extremes *all,
                       const lob_volume *image);

/*
 * Find the extremes of every channel's data, for lob_levels_settle.
 *
 *   all      out  one an image channel
 *   levels   out  data_voxels, not_finite and whole are set, the rest is unspecified
 *   data, view, threads  in   as for lob_levels_scan
 */
void lob_levels_extremes(lob_extremes *all, lob_levels *levels, const lob_data *data,
                         const lob_view *view, int threads);

/*
 * Find the mapping for the data of a view.
 *
 *   levels   out  without data: data_voxels 0, not_finite, per_unit 1 and level_step |slope| are
 *                 set, the rest is 0
 *   span     out  one an image channel: highest minus lowest level of its data; 0 without data
 *   data     in   the image has 1..LOB_LEVELS_MAX_CHANNELS channels, which is not checked here
 *   threads  in   >= 1; the result does not depend on it
 */
void lob_levels_scan(lob_levels *levels, uint16_t *span, const lob_data *data, const lob_view *view,
                     int threads);

/*
 * Which voxels of a row are data: n voxels of a view from (x, y, z) on along x.
 *
 *   is_data  out  n; 1 or 0
 *
 * Returns the number of voxels inside the mask that are not finite.
 */
int64_t lob_levels_data_row(uint8_t *is_data, const lob_data *data, const lob_view *view, int64_t x,
                            int64_t y, int64_t z, int64_t n);

/*
 * Levels of a row in one channel.
 *
 *   out      out  n; 0 where is_data is 0
 *   is_data  in   n, 1 or 0, as lob_levels_data_row has them
 */
void lob_levels_row(uint16_t *out, const uint8_t *is_data, const lob_levels *levels,
                    const lob_data *data, int channel, const lob_view *view, int64_t x, int64_t y,
                    int64_t z, int64_t n);

#ifdef __cplusplus
}
#endif

#endif
