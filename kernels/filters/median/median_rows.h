/*
 * Medians of rows on the CPU, for each width of a voxel: median_rows_tmpl.h is compiled four times.
 * This header is not installed.
 */
#ifndef LOB_MEDIAN_ROWS_H
#define LOB_MEDIAN_ROWS_H

#include "kernels/filters/median/median_key.h"

enum {
    LOB_MEDIAN_STRIP = 256, /* voxels of a row that are worked on together */
    LOB_MEDIAN_ROWS = 64,   /* rows that a thread takes at once */
};

typedef enum {
    LOB_MEDIAN_NETWORK,  /* 3x3x3 or 3x3 places, without gaps: by comparisons */
    LOB_MEDIAN_SLICES,   /* see median_slices.h */
    LOB_MEDIAN_BISECTION /* any */
} lob_median_method;

/* A channel's medians, as all its rows see them. */
typedef struct {
    const char *in;
    char *out;
    const uint8_t *mask; /* NULL: everything is data */
    lob_dims dims;
    int64_t radius[3];
    lob_edge edge;
    uint64_t edge_bits; /* of LOB_EDGE_CONSTANT */
    lob_key_kind kind;
    bool gaps; /* places can hold no data inside of the volume too */
    lob_median_method method;
} lob_median_rows;

/* The functions for voxels of a width. */
typedef struct {
    /* Bytes of a thread's scratch. */
    int64_t (*scratch)(const lob_median_rows *m);

    /* The medians of a block that begins at voxel `at` and has `side` voxels along each axis: by
     * slices at most a tile of theirs, else LOB_MEDIAN_STRIP, LOB_MEDIAN_ROWS and 1. */
    void (*block)(const lob_median_rows *m, void *scratch, const int64_t at[3],
                  const int64_t side[3]);
} lob_median_width;

extern const lob_median_width lob_median_8, lob_median_16, lob_median_32, lob_median_64;

#endif
