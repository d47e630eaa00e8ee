/*
 * Registration: where each point of a fixed scan lies in a moving one, first by an affine, then by
 * a field of displacements that folds next to nowhere. No weights are learned.
 *
 * Both scans go to voxels of about 3 mm, of which each gets a word of 60 bits: how alike its
 * surroundings are to each other, in six directions (Heinrich et al., MICCAI 2013: MIND-SSC). A
 * point of the fixed scan costs, at each displacement of a dense set, the bits in which words
 * differ; a displacement costs, beside, the square of its difference from the neighbour's on a
 * minimum spanning tree of a grid of points. The least sum is found exactly, on grids that become
 * finer, from fixed to moving and back, and both fields are made consistent (Heinrich et al., IEEE
 * TMI 2013). The affine is the trimmed least squares fit to such fields, a few times over; for it
 * no voxel counts around which all is alike. Where a scan was filled with one value beyond its
 * field of view (crop.h), it ends with that; the field goes on beyond as at its border.
 *
 * Words, costs and choices are whole numbers; of equal costs the shorter displacement, then the
 * first in raster order is taken. Real numbers are added in an order fixed by the data: same bytes
 * at any thread count, on the CPU and on a GPU.
 */
#ifndef LOB_REGISTER_H
#define LOB_REGISTER_H

#include "kernels/context.h"
#include "volumes/crop.h"
#include "volumes/volume.h"

LOB_BEGIN_DECLS

/* Displacements on a grid: moving point = fixed point + displacement there, world RAS, mm. */
typedef struct {
    lob_dims dims;         /* of the grid, which covers the fixed scan along the same axes */
    lob_geometry geometry; /* likewise */
    float *mm;             /* 3 * nx*ny*nz: along world x, then y, then z */
    lob_device *device;    /* in whose memory mm is; NULL: malloc'ed */
    double affine[3][4];   /* the affine part alone: world of fixed -> world of moving. Of a field
                              from a file, it is the identity */
} lob_field;

/* Free the planes, before their device is closed, and leave everything 0. */
void lob_field_free(lob_field *field);

/* Where to begin: where the headers place the scans, or with their centres on each other; along
 * axes on which the moving scan is twice as long or longer, with every half of the fixed one's
 * length beside, too. Best: from both, as far as the headers let the scans overlap, and the best
 * one counts. */
typedef enum { LOB_START_BEST, LOB_START_HEADERS, LOB_START_CENTRES } lob_register_start;

typedef struct {
    double spacing_mm; /* of the grid; 0: lob_register_spacing of the fixed scan */
    double smooth;     /* how stiff the field is, [0.01, 100] */
    bool affine_only;  /* the field is the affine */
    lob_register_start start;
} lob_register_options;

/* 0, 0.4, deformable, the best start. */
lob_register_options lob_register_defaults(void);

/* 3 mm, but 64 to 1024 steps along the longest side of a scan, and no finer than its voxels. */
double lob_register_spacing(const lob_volume *scan);

/* One channel of any type each, two voxels or more along two axes; neither may be constant. */
typedef struct {
    const lob_volume *fixed, *moving;
    const uint8_t *mask; /* on the fixed scan's grid, and where it is; 0: does not count. NULL:
                            everything does */
    bool whole;          /* all of both scans counts; else what lob_field_of_view finds of each */
} lob_register_input;

typedef struct {
    double cost_before, cost_affine, cost_after; /* share of bits that differ, mean over the grid */
    double folded;                               /* share of the grid where the field folds */
    double most_mm;                              /* the longest displacement */
    bool centres;                                /* it began with the centres on each other */
    double view[2];        /* share of the fixed and of the moving scan's grid that counts */
    double overlap;        /* share of the fixed scan's data that the affine leads onto data of the
                              moving one */
    int64_t points;        /* that lay on the fixed scan when the affine was last fitted, */
    int64_t matches;       /* and of these, those that it rests on */
    bool doubtful;         /* more than 0.33 of bits differ after the affine, or less than 0.25
                              overlaps, as where scans show other parts of the body */
    int64_t working_bytes; /* peak of working memory, beyond input and output */
} lob_register_stats;

/*
 * Register a moving scan to a fixed one.
 *
 *   out      out  free with lob_field_free; empty on failure
 *   stats    out  may be NULL
 *   in       in   see above
 *   options  in   see above
 *   context  in   threads, memory, progress; working memory is below 400 bytes a voxel of a grid of
 *                 32 voxels or more a side, and 2 MiB a thread of the CPU. With a device, what
 *                 takes long is computed there, to the same bytes. The scans may be there too,
 *                 and the field comes to lie where the fixed one is
 *
 * Returns LOB_OK, LOB_EARG (an option out of range, several channels), LOB_EDATA (a scan without
 * two different finite values, or, by headers alone, fields of view that do not overlap),
 * LOB_ENOMEM, LOB_ECANCEL or LOB_EDEVICE.
 */
lob_status lob_register(lob_field *out, lob_register_stats *stats, const lob_register_input *in,
                        const lob_register_options *options, const lob_context *context,
                        lob_error *error);

/* ---- fields: in ordinary memory, but for lob_warp's ---- */

/*
 * The displacement at a point of the world, linear between voxels of the field; outside of them,
 * that of the nearest point inside.
 */
void lob_field_at(double mm[3], const lob_field *field, const double world_mm[3]);

/*
 * The field as a volume and back: float32, three channels, displacements in mm along LPS, as ITK
 * and ANTs have them in files (NIfTI's intent 1007).
 *
 *   out     out  overwritten, so it must hold nothing; empty on failure
 *   like    in   a volume whose header the output takes where its format has one; NULL: none
 *   volume  in   any type of three channels and one frame
 *
 * Return LOB_OK, LOB_ENOMEM, or LOB_EDATA (not three channels, or a value is not finite).
 */
lob_status lob_field_to_volume(lob_volume *out, const lob_field *field, const lob_volume *like);
lob_status lob_field_of_volume(lob_field *out, const lob_volume *volume, lob_error *error);

/*
 * The field that leads back, on a grid in the moving world: inverse(x) = -field(x + inverse(x)),
 * found by iteration. Where the field does not reach, it goes on as at its border.
 *
 *   out   out  free with lob_field_free; empty on failure
 *   like  in   the grid covers this volume, with voxels as large as the field's; its data is not
 *              read
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_field_invert(lob_field *out, const lob_field *field, const lob_volume *like,
                            const lob_context *context, lob_error *error);

/*
 * One field after another, on the first one's grid: a point x goes to y = x + first(x), then to
 * y + second(y). Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_field_compose(lob_field *out, const lob_field *first, const lob_field *second,
                             const lob_context *context, lob_error *error);

typedef enum {
    LOB_WARP_LINEAR,  /* between the 8 voxels around the point, NaN left out */
    LOB_WARP_NEAREST, /* the nearest voxel; half-way between two, the one farther along */
    LOB_WARP_LABELS,  /* the label with the largest sum of linear weights; of equal sums, the
                         smallest */
    LOB_WARP_VALUES   /* as linear, rounded to the moving volume's type, but as float32 of slope 1,
                         and NaN where a point falls outside */
} lob_warp_method;

/*
 * A volume through a field, on the grid of another.
 *
 *   out     out  the moving volume's type, scale, channels and names, header and grid of `like`;
 *                0, stored, where a point falls outside of the moving volume. Overwritten, so it
 *                must hold nothing; empty on failure
 *   moving  in   any type and channels; the result comes to lie where it is
 *   like    in   its data is not read
 *   method  in   see above; LOB_WARP_LABELS takes integers alone
 *   context in   with a device, it is computed there, where volume and field may be
 *
 * Same bytes at any thread count, on the CPU and on a GPU. Returns LOB_OK, LOB_EARG, LOB_ENOMEM,
 * LOB_ECANCEL or LOB_EDEVICE.
 */
lob_status lob_warp(lob_volume *out, const lob_volume *moving, const lob_field *field,
                    const lob_volume *like, lob_warp_method method, const lob_context *context,
                    lob_error *error);

LOB_END_DECLS

#endif
