/*
 * Synthetic scans with known truth: an abdomen as MRI shows it, and touching cells under a
 * microscope. Tests, benchmarks and the demonstration need no patient's data.
 *
 * Features lie in coordinates relative to the field of view, so any number of voxels shows the same
 * picture, finer or coarser. Randomness is a hash of the random seed and the voxel's number, and
 * the arithmetic is + - * / and sqrt in double: the same options give the same bytes on every
 * machine that follows IEEE 754, at any thread count.
 */
#ifndef LOB_PHANTOM_H
#define LOB_PHANTOM_H

#include "kernels/context.h"
#include "volumes/volume.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* kind, name; the order of the command line's choices */
#define LOB_PHANTOM_LIST(X)           \
    X(LOB_PHANTOM_ABDOMEN, "abdomen") \
    X(LOB_PHANTOM_CELLS, "cells")

typedef enum {
#define LOB_PHANTOM_ENUM(kind, name) kind,
    LOB_PHANTOM_LIST(LOB_PHANTOM_ENUM)
#undef LOB_PHANTOM_ENUM
        LOB_PHANTOMS
} lob_phantom_kind;

/*
 * Labels of the abdomen. Of cells, 1 is the background and 2, 3, ... are the cells, from the first
 * corner of the volume to the last.
 */
#define LOB_ABDOMEN_LIST(X)                                                            \
    X(LOB_ABDOMEN_OTHER, 1, "background") /* air and all tissue without a name here */ \
    X(LOB_ABDOMEN_LIVER, 2, "liver")      /* with the vessels inside it */             \
    X(LOB_ABDOMEN_TUMOUR, 3, "liver tumour")                                           \
    X(LOB_ABDOMEN_SPLEEN, 4, "spleen")                                                 \
    X(LOB_ABDOMEN_KIDNEY_R, 5, "right kidney")                                         \
    X(LOB_ABDOMEN_KIDNEY_L, 6, "left kidney")                                          \
    X(LOB_ABDOMEN_SPINE, 7, "spine")                                                   \
    X(LOB_ABDOMEN_STOMACH, 8, "stomach") /* with what it holds */

enum {
#define LOB_ABDOMEN_ENUM(label, number, name) label = number,
    LOB_ABDOMEN_LIST(LOB_ABDOMEN_ENUM)
#undef LOB_ABDOMEN_ENUM
        LOB_ABDOMEN_LABELS = LOB_ABDOMEN_STOMACH
};

typedef struct {
    lob_phantom_kind kind;
    lob_dims dims;        /* each >= 1; a side of 1 gives the slice through the middle */
    double spacing_mm[3]; /* each > 0 */
    lob_type type;        /* LOB_I16 (12 bits used), LOB_U16 (12 bits used) or LOB_U8 */
    double noise;         /* standard deviation, in per cent of the type's range, [0, 100] */
    double bias;          /* how far brightness drifts across the field, share, [0, 1] */
    uint64_t random_seed;
    int cells;   /* cells: how many, [1, 100000] */
    bool nuclei; /* cells: nuclei are bright instead of membranes */
} lob_phantom_options;

/* What a kind is made with when nothing else is asked for. */
lob_phantom_options lob_phantom_defaults(lob_phantom_kind kind);

/*
 * Make a scan.
 *
 *   image  out  options->type, one channel, centred on the world's origin, axes to right, anterior
 *               and superior
 *   truth  out  the label of every voxel, from 1; lob_label_type of the largest
 *   seeds  out  scribbles: the truth's label at few voxels well inside of each region, else 0;
 *               every label that occurs in truth has at least one
 *
 * Each may be NULL; each is overwritten, so it must hold nothing, and is empty on failure.
 *
 * Abdomen: body, ribs, lungs, great vessels and fat around the organs of the list above; the liver
 * holds branching vessels and two tumours. Noise is Rician. Organs that are smaller than a voxel
 * may be missing from truth. Cells: a cluster of touching cells; noise grows with brightness.
 *
 * Returns LOB_OK, LOB_EARG (an option out of its range, too many cells for the grid), LOB_ENOMEM or
 * LOB_ECANCEL.
 */
lob_status lob_phantom(lob_volume *image, lob_volume *truth, lob_volume *seeds,
                       const lob_phantom_options *options, const lob_context *context,
                       lob_error *error);

#ifdef __cplusplus
}
#endif

#endif
