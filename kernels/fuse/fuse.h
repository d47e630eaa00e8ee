/*
 * Fuse: the labels of several atlases, moved onto a scan's grid, become one label volume.
 *
 * An atlas is an image with finished labels. Each voxel of the scan looks at the candidates of
 * every atlas: the atlas's voxels at the same place and up to `search` voxels from it. A candidate
 * votes for its own label, with a weight that falls with the distance of the two patches, boxes of
 * 2 * patch + 1 voxels around both:
 *
 *     d = n * sum (scan - atlas)^2 - (sum scan - sum atlas)^2
 *
 * over the n voxels of the patch, so that a difference of brightness alone costs nothing; its
 * weight is exp(-d / (the least d of all candidates of this voxel + n^2 floor)), from a table
 * (Coupe, Manjon and others, "Patch-based segmentation using expert priors", NeuroImage 54, 2011).
 *
 * Brightness is in levels 1..255, linear between two percentiles of each image's finite values.
 * What is not finite in the scan has the lowest level; an atlas has no candidate where it is not
 * finite or where its grid ends, so a moved image should be NaN where nothing of it lies.
 *
 * A label's share is its weight among the candidates of those atlases that have this label
 * anywhere: an atlas in which nobody painted a structure does not vote against it. Where shares of
 * labels add up to more than 1, they are divided by their sum; what they leave is the background's,
 * 0. The label with the largest share wins, of equal ones the smallest. A voxel without candidates
 * is background.
 *
 * Same bytes at any thread count, on the CPU and on a GPU: distances and votes are whole numbers.
 */
#ifndef LOB_FUSE_H
#define LOB_FUSE_H

#include "kernels/context.h"
#include "volumes/labels.h"

LOB_BEGIN_DECLS

enum {
    LOB_FUSE_MAX_ATLASES = 64,
    LOB_FUSE_MAX_LABELS = 64, /* that differ, over all atlases, without 0 */
    LOB_FUSE_MAX_PATCH = 2,   /* voxels to each side */
    LOB_FUSE_MAX_SEARCH = 3,  /* likewise */
    LOB_FUSE_ONE = 65535      /* a share of 1 */
};

typedef struct {
    int patch;     /* voxels to each side, 0..LOB_FUSE_MAX_PATCH */
    int search;    /* likewise, 0..LOB_FUSE_MAX_SEARCH */
    double floor;  /* levels^2 a voxel of the patch that may differ freely, 0..65025 */
    bool majority; /* every atlas has one candidate, at the same place, of weight 1 */
} lob_fuse_options;

/* Patches of 3 x 3 x 3, a search of 3 x 3 x 3, a floor of 16. */
lob_fuse_options lob_fuse_defaults(void);

typedef struct {
    const lob_volume *image;  /* on the scan's grid, one channel; not read for a majority */
    const lob_volume *labels; /* likewise, as stored, of one of lob_label_type's types */
} lob_fuse_atlas;

typedef struct {
    const lob_volume *scan; /* any type, one channel; for a majority its grid alone is read */
    const lob_fuse_atlas *atlases;
    int count; /* 1..LOB_FUSE_MAX_ATLASES */
} lob_fuse_input;

typedef struct {
    lob_volume labels;     /* the winners, in lob_label_type(largest of the set) */
    uint16_t *shares;      /* set.count * nx*ny*nz, planar, in LOB_FUSE_ONE-ths, rounded down */
    lob_device *device;    /* in whose memory shares is; NULL: malloc'ed */
    lob_label_set set;     /* labels of all atlases; its voxels count the winners */
    int64_t unseen;        /* voxels without a candidate */
    int64_t working_bytes; /* peak of working memory, beyond input and output */
} lob_fuse_output;

/* Nothing yet. */
lob_fuse_output lob_fuse_output_empty(void);

/* Free everything, before its device is closed, and leave nothing. */
void lob_fuse_output_free(lob_fuse_output *out);

/*
 * Fuse labels.
 *
 *   out      out  overwritten; nothing to free after a failure. Its labels carry the scan's header
 *   in       in   see above; results come to lie where the scan is
 *   options  in   see above
 *   context  in   threads, memory, which the output counts in too, progress. Working memory: for
 *                 each atlas 2 bytes a voxel. With a device, it is computed there, to the same
 *                 bytes, and arrays may be there
 *
 * Returns LOB_OK, LOB_EARG (an option outside its range, several channels, an array on a GPU
 * without a device), LOB_EDATA (grids that differ, no finite value, no label in any atlas, one
 * below 0, too many), LOB_ENOMEM, LOB_ECANCEL or LOB_EDEVICE.
 */
lob_status lob_fuse(lob_fuse_output *out, const lob_fuse_input *in, const lob_fuse_options *options,
                    const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
