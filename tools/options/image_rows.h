/* Rows of the option table that many commands have: their image, its frame and channel, slices,
 * neighbours, labels, seeds and mask, and what they write. */
#ifndef LOB_IMAGE_ROWS_H
#define LOB_IMAGE_ROWS_H

#include "tools/options/options.h"

/* what: "scan" */
#define OPERAND_IMAGE(pointer, what)                                                               \
    OPERAND_INPUT("IMAGE", pointer, LOB_FILE_IMAGE, what ", FILE.h5:/dataset or STORE.zarr/array", \
                  .required = true)
#define OPT_LABELS_OUTPUT(pointer)                                                         \
    OPT_OUTPUT("output", pointer, LOB_FILE_LABELS, "label volume to write", .letter = 'o', \
               .required = true)

#define OPT_IMAGE_OUTPUT(pointer, what) \
    OPT_OUTPUT("output", pointer, LOB_FILE_IMAGE, what, .letter = 'o', .required = true)

/* what: what the volume on the image's grid is to the command; of a table, what it is of */
#define OPERAND_LABELS(pointer, what) \
    OPERAND_INPUT("LABELS", pointer, LOB_FILE_LABELS, what, .required = true)
#define OPERAND_SEEDS(pointer, what) \
    OPERAND_INPUT("SEEDS", pointer, LOB_FILE_LABELS, what, .required = true)
#define OPT_MASK(pointer, what) OPT_INPUT("mask", pointer, LOB_FILE_LABELS, what)
#define OPT_TABLE(pointer, what)                 \
    OPT_OUTPUT("table", pointer, LOB_FILE_TABLE, \
               what ": FILE.tsv, .csv or .json, or - for standard output")

/* -1: not given */
#define OPT_BACKGROUND(pointer)                       \
    OPT_INT("background", pointer, "N", 1, INT32_MAX, \
            "label that stands for all else; left out: the one whose strokes surround the others")

/* of: "image"; -1: not given */
#define OPT_FRAME(pointer, of)                   \
    OPT_INT("frame", pointer, "N", 0, INT32_MAX, \
            "time frame of the " of ", from 0; needed when there are several")
#define OPT_CHANNEL(pointer)                       \
    OPT_INT("channel", pointer, "N", 0, INT32_MAX, \
            "channel of the image, from 0; needed when there are several")

/* The words of --slices; lob_grid_slice_axis takes their index, -1: not given. */
#define LOB_GRID_SLICES "axial|coronal|sagittal|x|y|z"
#define OPT_SLICES(pointer)                        \
    OPT_CHOICE("slices", pointer, LOB_GRID_SLICES, \
               "treat every slice as an image of its own; x, y, z are voxel axes")

/* lob_grid_neighbours settles what is not given, -1. */
#define OPT_NEIGHBOURS(pointer)                      \
    OPT_INT_OF("neighbours", pointer, "4|6|8|18|26", \
               "neighbours of a voxel; left out: 26, with --slices 8")

#endif
