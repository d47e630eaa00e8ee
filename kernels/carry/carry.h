/*
 * Carry: labels for a scan from a few scans with finished labels, the whole job as one call.
 *
 *   choose    where there are more atlases than are used, each is registered by an affine on a
 *             coarse grid, and those that fit best are taken
 *   move      each is registered (register.h) and moved onto a grid of about 3 mm of the scan,
 *             without planes at its ends that were filled with one value
 *   fuse      patches vote (fuse.h); a label's share of the votes goes to the scan's own grid
 *   seeds     what is sure: a label where its share is at least `sure` and others are farther away
 *             than sure_mm, background where its share is at least sure_background. A label without
 *             such a voxel has all those where it wins
 *   reopen    the scan's own grey values under the seeds (appearance.h) may contradict: a label's
 *             seed whose share there is below `against`, and a background seed where a label's is
 *             above `claimed`, are seeds no longer
 *   strokes   win: a stroke is a seed, and seeds that say otherwise within reach_mm of it are none
 *   growth    growcut.h grows the seeds over the scan, against weak ones: what is no seed, and was
 *             not reopened, starts with the label that leads in votes, at a strength that is the
 *             square root of its share. Grey values say where organs end; which of two organs a
 *             voxel is of, they often cannot: there the label with the most votes is taken, beyond
 *             the reach of strokes. refine.h settles what came out with the votes, and cleans up
 *
 * All of it in the box around what has votes for a label; beyond, all is background. No step
 * learns anything beforehand. Files and text are nobody's business here.
 *
 * A label's doubt is 1 less its agreement, the mean Dice of what came out with the labels of each
 * moved atlas: it says which results to look at first. A voxel's doubt is 1 less the share of the
 * label that it got.
 *
 * Same bytes at any thread count, on the CPU and on a GPU.
 */
#ifndef LOB_CARRY_H
#define LOB_CARRY_H

#include "kernels/fuse/fuse.h"
#include "volumes/crop.h"

LOB_BEGIN_DECLS

enum { LOB_CARRY_MAX_ATLASES = 4096 }; /* to choose from */

typedef struct {
    double grid_mm;         /* of the grid for moving and votes; 0: lob_register_spacing */
    double smooth;          /* register.h, */
    lob_fuse_options fuse;  /* fuse.h */
    int use;                /* atlases at most, 1..LOB_FUSE_MAX_ATLASES */
    double sure;            /* share of votes, 0.5..1 */
    double sure_background; /* likewise */
    double sure_mm;         /* >= 0 */
    double against;         /* share of grey values, 0..1; 0: labels' seeds stay */
    double claimed;         /* likewise; 1: the background's seeds stay */
    double edge;            /* refine.h, 0..1 */
    double reach_mm;        /* of strokes, >= 0 */
    int32_t background;     /* label of strokes that says background; 0: the one that no atlas has,
                               if there is one */
} lob_carry_options;

/* Grid chosen, smooth and votes as there by default, 5 atlases, sure 0.9 and 0.9, 2.6 mm inside,
 * against 0.2, claimed 0.6, edge 1, reach 20 mm, the background found. */
lob_carry_options lob_carry_defaults(void);

typedef struct {
    const lob_volume *scan; /* any type, one channel, in ordinary memory */
    int count;              /* of atlases */

    /*
     * Read an atlas, 0..count - 1: an image of one channel, and whole numbers on its grid; both in
     * ordinary memory, and freed by the caller of this function. Atlases are asked for in their
     * order, some of them twice, by one thread.
     */
    lob_status (*read)(void *user, int atlas, lob_volume *image, lob_volume *labels,
                       lob_error *error);
    void *user;
    const lob_volume *strokes; /* on the scan's grid, whole numbers; NULL: none */
    bool shares, doubt;        /* asked for */
} lob_carry_input;

/* What became of an atlas. */
typedef enum {
    LOB_CARRY_USED,
    LOB_CARRY_FARTHER, /* others fit better */
    LOB_CARRY_SAME,    /* it is the scan itself */
    LOB_CARRY_UNLABELLED,
    LOB_CARRY_APART /* it cannot be registered, as where it has one value alone, or it has no finite
                       value where the scan lies */
} lob_carry_fate;

typedef struct {
    lob_carry_fate fate;
    double cost;   /* share of bits that differ after the registration; NaN: there was none */
    bool doubtful; /* of an atlas that is used: register.h */
} lob_carry_atlas;

/* A label of what came out, or of an atlas. */
typedef struct {
    int32_t label;
    int atlases;      /* that were used and have it */
    int64_t seeds;    /* voxels that were sure, */
    int64_t reopened; /* and of these, no longer */
    int64_t voxels;   /* of the result; 0: it came out nowhere */
    double share;     /* mean of its votes in these; NaN: there are none */
    double agreement; /* mean Dice of these, on the grid for moving, with it in each of `atlases`,
                         as moved; NaN: there are none */
} lob_carry_label;

typedef struct {
    lob_volume labels; /* on the scan's grid, with its header; in lob_label_type(largest), with the
                          names that the first atlases have */
    lob_volume shares; /* float32, a channel for each label, ascending: votes. Empty where they are
                          not asked for */
    lob_volume doubt;  /* float32. Likewise */
    lob_carry_label *label; /* label_count, malloc'ed, ascending */
    int32_t label_count;
    lob_carry_atlas *atlas;      /* of in->count, malloc'ed */
    int64_t reopened_background; /* voxels of background that were sure, and are no longer */
    lob_box field_of_view;       /* the scan without planes that were filled with one value */
    double grid_mm;
    int64_t working_bytes; /* peak of working memory, beyond input and output */
} lob_carry_output;

/* Nothing yet. */
lob_carry_output lob_carry_output_empty(void);

/* Free everything and leave nothing. */
void lob_carry_output_free(lob_carry_output *out);

/*
 * Carry labels to a scan.
 *
 *   out      out  overwritten; nothing to free after a failure
 *   in       in   see above
 *   options  in   see above
 *   context  in   threads, memory, which shares count in too, progress over all steps. With a
 * device it is computed there, to the same bytes; arrays of input and output are in ordinary memory
 * all the same
 *
 * Returns LOB_OK, LOB_EARG (an option outside its range, several channels), LOB_EDATA (a scan that
 * is constant, no atlas that can be used, labels that are no whole numbers), what `read` returns,
 * LOB_ENOMEM, LOB_ECANCEL or LOB_EDEVICE.
 */
lob_status lob_carry(lob_carry_output *out, const lob_carry_input *in,
                     const lob_carry_options *options, const lob_context *context,
                     lob_error *error);

LOB_END_DECLS

#endif
