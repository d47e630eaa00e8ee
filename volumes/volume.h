/* A volume: voxels of one type on a grid, its place in the world, and the header it came with. */
#ifndef LOB_VOLUME_H
#define LOB_VOLUME_H

#include "volumes/geometry.h"
#include "volumes/label_names.h"
#include "volumes/place.h"
#include "volumes/status.h"
#include "volumes/voxel_type.h"

LOB_BEGIN_DECLS

typedef struct {
    int64_t nx, ny, nz; /* voxels along each axis, each >= 1; x is fastest in memory */
} lob_dims;

/*
 * A file's own header, carried from input to output so that nothing of the scan is lost. Only the
 * format that made it knows how to read it; the others ignore it.
 */
typedef struct {
    const char *format;   /* the format's name, a constant of the library; NULL: no header */
    unsigned char *bytes; /* header in host byte order, malloc'ed */
    size_t size;
    unsigned char *extensions; /* what follows the header, as found in the file, malloc'ed */
    size_t extensions_size;
} lob_header;

/* In place of a frame's number: the volume holds all of them. */
enum { LOB_FRAME_ALL = -3 };

typedef struct {
    void *data; /* channels * nx*ny*nz voxels, channel after channel; malloc'ed, unless release or
                   borrowed says otherwise */
    lob_place place; /* where data is */
    lob_type type;
    lob_dims dims;
    int channels;        /* >= 1 */
    double slope, inter; /* a voxel's value is slope * stored + inter; 1 and 0 when not scaled */
    lob_geometry geometry;
    lob_header header;
    int64_t frames; /* time frames in the file; data holds one of them, or all */
    int64_t frame;  /* which one, from 0; LOB_FRAME_ALL: all, and channels counts every frame of
                       every channel, frame after frame of a channel */
    double frame_step_s;   /* from one frame to the next, in seconds; 0: not known */
    lob_label_names names; /* of labels, where the file has them */
    void (*release)(void *owner, void *data); /* frees data in place of free(); NULL: none */
    void *owner;                              /* what release is given, such as a lob_device */
    bool borrowed; /* data belongs to the caller and is not freed with the volume */
} lob_volume;

/* A volume without voxels: one channel, one frame, slope 1, inter 0, the rest zero. */
lob_volume lob_volume_empty(void);

/* a * b * c * d, or -1 when a factor is negative or the product exceeds INT64_MAX. */
int64_t lob_product(int64_t a, int64_t b, int64_t c, int64_t d);

/* nx * ny * nz; -1 when a side is < 1 or the product exceeds INT64_MAX. */
int64_t lob_dims_voxels(lob_dims dims);

/* nx * ny * nz: voxels of one channel. */
static inline int64_t lob_voxels(const lob_volume *volume)
{
    return volume->dims.nx * volume->dims.ny * volume->dims.nz;
}

/* Are values other than the voxels as they are stored? */
static inline bool lob_is_scaled(const lob_volume *volume)
{
    return volume->slope != 1.0 || volume->inter != 0.0;
}

/*
 * Convert a number for comparison with the volume's values. Values are slope * stored + inter in
 * double precision. Only float32 voxels without scaling are compared in float32: the number is
 * rounded to float32, so that 0.1 equals a voxel that holds 0.1 (as in numpy).
 */
double lob_as_compared(double number, const lob_volume *volume);

/* The smallest number above this one, in the precision in which these values are compared. */
double lob_next_above(double number, const lob_volume *volume);

/* Frames that data holds. */
static inline int64_t lob_frames_held(const lob_volume *volume)
{
    return volume->frame == LOB_FRAME_ALL ? volume->frames : 1;
}

/* The side along an axis: 0 x, 1 y, 2 z. */
LOB_BOTH int64_t lob_side(lob_dims dims, int axis)
{
    return axis == 0 ? dims.nx : axis == 1 ? dims.ny : dims.nz;
}

/* Are all sides equal? */
static inline bool lob_same_dims(lob_dims a, lob_dims b)
{
    return a.nx == b.nx && a.ny == b.ny && a.nz == b.nz;
}

/* The least spacing among axes with more than one voxel, in mm; among all, where there is none. */
double lob_least_spacing(lob_dims dims, const double spacing_mm[3]);

/*
 * The largest distance, in mm, between the same corner of a grid under two geometries. A corner is
 * the outer corner of a voxel, not its centre, so that the thickness of a single slice counts.
 */
double lob_corners_apart_mm(const lob_geometry *a, const lob_geometry *b, lob_dims dims);

/* How far apart corners of one grid may lie: 5 % of the smallest spacing of both geometries. */
double lob_grid_tolerance_mm(const lob_geometry *a, const lob_geometry *b);

/*
 * Allocate a volume on the grid of another: its dims, geometry and a copy of its header and names;
 * slope 1, inter 0, one frame. Voxels are zero.
 *
 *   out   out  overwritten, so it must hold nothing; empty again on failure
 *   like  in   its data may be NULL
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_volume_like(lob_volume *out, const lob_volume *like, lob_type type, int channels);

/*
 * Make a volume of voxels that exist, such as a backend's labels, on the grid of another: its dims,
 * geometry and a copy of its header and names; slope 1, inter 0, one frame. Voxels are not
 * copied.
 *
 *   out       out     overwritten, so it must hold nothing; empty again on failure
 *   like      in      its data may be NULL
 *   data      in/out  malloc'ed, channels * nx*ny*nz voxels of this type; belongs to out
 *                     afterwards and is NULL here. On failure it stays the caller's
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_volume_adopt(lob_volume *out, const lob_volume *like, void **data, lob_type type,
                            int channels);

/*
 * A volume on an array that belongs to the caller, which lob_volume_free leaves alone:
 * axis-aligned, one frame, slope 1, inter 0.
 *
 *   data        in/out  channels * nx*ny*nz voxels, x fastest; written to only where the volume is
 *                       an output
 *   spacing_mm  in      of x, y and z, each > 0
 *   place       in      where data is
 */
lob_volume lob_volume_wrap(void *data, lob_type type, lob_dims dims, int channels,
                           const double spacing_mm[3], lob_place place);

/* Free data, header, extensions and names and leave an empty volume; an empty volume is fine. */
void lob_volume_free(lob_volume *volume);

/*
 * Check that two volumes share one grid: the same dims, and corners of the grid no farther apart in
 * the world than lob_grid_tolerance_mm (writers round affines differently).
 *
 *   a_name, b_name  in   names for the message, usually the paths
 *   error           out  says what differs, by how much: dims, spacing, orientation, position
 *
 * Returns LOB_OK or LOB_EDATA.
 */
lob_status lob_same_grid(const lob_volume *a, const char *a_name, const lob_volume *b,
                         const char *b_name, lob_error *error);

LOB_END_DECLS

#endif
