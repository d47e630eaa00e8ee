/*
 * Synthetic scans with known truth: an abdomen as in MRI, and touching cells as under a microscope.
 * Tests, benchmarks and the demonstration need no patient data.
 *
 * Shapes have coordinates relative to the field of view, so any number of voxels shows the same
 * picture, finer or coarser. Random numbers are hashes of the random seed and the voxel's index,
 * and the arithmetic is + - * / and sqrt in double. So the same options give the same bytes on
 * every machine with IEEE 754 arithmetic, at any thread count.
 */
#ifndef LOB_PHANTOM_H
#define LOB_PHANTOM_H

#include "kernels/context.h"
#include "volumes/volume.h"

#include <stdbool.h>

LOB_BEGIN_DECLS

/* kind, name */
#define LOB_PHANTOM_LIST(X)           \
    X(LOB_PHANTOM_ABDOMEN, "abdomen") \
    X(LOB_PHANTOM_CELLS, "cells")

typedef enum {
#define LOB_PHANTOM_ENUM(kind, name) kind,
    LOB_PHANTOM_LIST(LOB_PHANTOM_ENUM)
#undef LOB_PHANTOM_ENUM
        LOB_PHANTOMS
} lob_phantom_kind;

/* Labels of the abdomen. In the phantom of cells 1 is the background and 2, 3, ... are the cells.
 */
#define LOB_ABDOMEN_LIST(X)                                                                  \
    X(LOB_ABDOMEN_OTHER, 1, "background") /* air, and tissue that has no label of its own */ \
    X(LOB_ABDOMEN_LIVER, 2, "liver")      /* with its vessels */                             \
    X(LOB_ABDOMEN_TUMOUR, 3, "liver tumour")                                                 \
    X(LOB_ABDOMEN_SPLEEN, 4, "spleen")                                                       \
    X(LOB_ABDOMEN_KIDNEY_R, 5, "right kidney")                                               \
    X(LOB_ABDOMEN_KIDNEY_L, 6, "left kidney")                                                \
    X(LOB_ABDOMEN_SPINE, 7, "spine")                                                         \
    X(LOB_ABDOMEN_STOMACH, 8, "stomach") /* with its contents */

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
    lob_type type;        /* LOB_U8: 0..255; LOB_I16 or LOB_U16: 0..4095 */
    double noise;         /* standard deviation, in percent of the image's range, [0, 100] */
    double bias;          /* slow change of brightness across the field, as a share, [0, 1] */
    uint64_t random_seed;
    double stroke_gap; /* LOB_PHANTOM_ABDOMEN: about so many mm of a body 210 mm high from one slice
                          with strokes to the next, [1, 1000]; 0: 16, of drawn ones 40 */
    bool drawn;  /* LOB_PHANTOM_ABDOMEN: seeds are lines as a person draws them, along the middle
                    of each organ and in arcs around; else rows over whole regions */
    int cells;   /* LOB_PHANTOM_CELLS: number of cells, [1, 100000] */
    bool nuclei; /* LOB_PHANTOM_CELLS: bright nuclei instead of bright membranes */
} lob_phantom_options;

/* The default options of a kind. */
lob_phantom_options lob_phantom_defaults(lob_phantom_kind kind);

/*
 * Make a scan.
 *
 *   image  out  options->type, one channel, centred on the world's origin, axes to right, anterior
 *               and superior
 *   truth  out  the label of every voxel, from 1; lob_label_type of the largest
 *   seeds  out  strokes: the label of truth at a few voxels well inside each region, else 0; every
 *               label that occurs in truth has at least one voxel
 *               both carry the names of the abdomen's labels
 *   context  in  threads and progress; max_memory is not used
 *
 * Each output may be NULL. Each is overwritten without being freed, and is empty on failure; free
 * it with lob_volume_free.
 *
 * Abdomen: body, ribs, lungs, large vessels and fat around the organs of the list above. The liver
 * has branching vessels and two tumours. Noise is Rician. Organs smaller than a voxel may be
 * missing from truth. Cells: a cluster of touching cells; noise grows with brightness.
 *
 * Returns LOB_OK, LOB_EARG (an option outside its range, too many cells for the grid), LOB_ENOMEM
 * or LOB_ECANCEL.
 */
lob_status lob_phantom(lob_volume *image, lob_volume *truth, lob_volume *seeds,
                       const lob_phantom_options *options, const lob_context *context,
                       lob_error *error);

LOB_END_DECLS

#endif
