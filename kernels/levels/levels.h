/*
 * Levels: the unsigned 16-bit intensities that GrowCut, supervoxels and their measures compute
 * with.
 *
 * A voxel is data when the mask holds it, every channel is finite and every channel's value lies in
 * the range that the caller gave. The lowest stored value of the data, over all channels, becomes
 * level 0. Whole numbers whose range over the data fits 16 bits keep their differences, in integer
 * and in real types; all other values are mapped linearly from the data's range to 0..65535. Sums
 * and distances of levels are integers, so their order cannot change a result.
 *
 * levels_voxel.h has the arithmetic of single voxels, levels.c makes the mapping and the levels of
 * a row on the CPU, levels_cuda.cu finds the extremes on a GPU. This header is not installed.
 */
#ifndef LOB_LEVELS_H
#define LOB_LEVELS_H

#include "kernels/team/team.h"
#include "volumes/volume.h"

LOB_BEGIN_DECLS

/* A whole volume, or one slice of it as a volume with nz = 1. */
typedef struct {
    int64_t offset; /* index of the first voxel */
    lob_dims dims;
    int64_t stride[3]; /* in voxels, along the view's x, y, z */
    int axis[3];       /* the volume's axis that each of the view's axes follows */
} lob_view;

/* All of a volume, its axes in order. */
lob_view lob_view_whole(lob_dims dims);

/* Slice number index across axis 0, 1 or 2 of a volume: its x and y are the other two axes, in
 * their order. */
lob_view lob_view_slice(lob_dims dims, int axis, int64_t index);

/* Index in the volume of voxel (x, y, z) of a view. */
static inline int64_t lob_view_index(const lob_view *view, int64_t x, int64_t y, int64_t z)
{
    return view->offset + x * view->stride[0] + y * view->stride[1] + z * view->stride[2];
}

enum { LOB_LEVELS_MAX_CHANNELS = 64 };

/* An image and which of its voxels are data. */
typedef struct {
    const lob_volume *image;
    const uint8_t *mask; /* nx*ny*nz; 0: not data. NULL: all voxels */
    double range[2];     /* lowest and highest value that is data, compared as lob_as_compared
                            says; -INFINITY, INFINITY: all */
} lob_data;

/* The mapping from stored values to levels. */
typedef struct {
    bool exact;        /* level = stored - low; else level = round((stored - low) * per_unit) */
    uint64_t low_bits; /* exact: the lowest stored integer, sign-extended */
    double low;        /* stored value of level 0 */
    double per_unit;   /* levels per stored unit; 1 when exact */
    double level_step; /* image units per level, > 0: |slope| / per_unit */
    int64_t data_voxels;
    int64_t not_finite; /* voxels inside the mask that are NaN or infinite in a channel */
    bool whole;         /* every stored value of the data is a whole number */
    uint16_t highest;   /* level of the data, over all channels; the lowest is 0 */
} lob_levels;

/* Lowest and highest stored value of a set of voxels. */
typedef struct {
    bool any; /* false: the set is empty, and the rest is 0 */
    double low, high;
    uint64_t low_bits, high_bits; /* integers: the same values, sign-extended; real types: 0 */
} lob_extremes;

/* Widen the extremes of voxels of this type by those of others. */
void lob_extremes_widen(lob_extremes *all, const lob_extremes *part, lob_type type);

/* Widen each rank's extremes by those of all ranks. Returns LOB_OK, LOB_ENOMEM or what
 * lob_team_share does. */
lob_status lob_extremes_of_team(lob_extremes *extremes, lob_team *team, lob_type type,
                                lob_error *error);

/*
 * Make the mapping from the extremes of the data.
 *
 *   levels    in/out  data_voxels, not_finite and whole stay, the rest is set
 *   span      out     image->channels: highest minus lowest level of the channel's data
 *   all       in      image->channels: the extremes of the channel's data
 *   image     in      its type, channels and slope; the voxels are not read
 */
void lob_levels_settle(lob_levels *levels, uint16_t *span, const lob_extremes *all,
                       const lob_volume *image);

/*
 * Find the extremes of every channel's data, for lob_levels_settle.
 *
 *   all      out  image->channels
 *   levels   out  data_voxels, not_finite and whole are set, the rest is unspecified
 *   data, view, threads  in   as for lob_levels_scan
 */
void lob_levels_extremes(lob_extremes *all, lob_levels *levels, const lob_data *data,
                         const lob_view *view, int threads);

/*
 * Make what each rank found in its data, of some sections, that of all ranks.
 *
 *   all     in/out  sections * channels
 *   levels  in/out  sections: data_voxels, not_finite and whole
 *
 * Returns LOB_OK, LOB_ENOMEM or what lob_team_share does.
 */
lob_status lob_levels_of_team(lob_extremes *all, lob_levels *levels, int64_t sections,
                              const lob_volume *image, lob_team *team, lob_error *error);

/*
 * The same of the data of all ranks of a team, each with a view of its own, for all of them.
 * Returns LOB_OK, LOB_ENOMEM or what lob_team_share does.
 */
lob_status lob_levels_extremes_of_team(lob_extremes *all, lob_levels *levels, const lob_data *data,
                                       const lob_view *view, int threads, lob_team *team,
                                       lob_error *error);

/*
 * Find the mapping for the data of a view.
 *
 *   levels   out  without data: per_unit is 1, level_step |slope|, not_finite is set, the rest is 0
 *   span     out  image->channels: highest minus lowest level of the channel's data
 *   data     in   of 1..LOB_LEVELS_MAX_CHANNELS channels, which is not checked here
 *   threads  in   >= 1; the result does not depend on it
 */
void lob_levels_scan(lob_levels *levels, uint16_t *span, const lob_data *data, const lob_view *view,
                     int threads);

/*
 * Find which of n voxels of a view from (x, y, z) on along x are data.
 *
 *   is_data  out  n; 1 or 0
 *
 * Returns the number of voxels inside the mask that are not finite.
 */
int64_t lob_levels_data_row(uint8_t *is_data, const lob_data *data, const lob_view *view, int64_t x,
                            int64_t y, int64_t z, int64_t n);

/*
 * Make the levels of the same voxels in one channel.
 *
 *   out      out  n; 0 where is_data is 0
 *   is_data  in   n; as lob_levels_data_row makes them
 */
void lob_levels_row(uint16_t *out, const uint8_t *is_data, const lob_levels *levels,
                    const lob_data *data, int channel, const lob_view *view, int64_t x, int64_t y,
                    int64_t z, int64_t n);

LOB_END_DECLS

#endif
