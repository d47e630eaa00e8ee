/*
 * Medians of rows on the CPU, for each width of a voxel: median_rows_tmpl.h is compiled four times.
 * This header is not installed.
 */
#ifndef LOB_MEDIAN_ROWS_H
#define LOB_MEDIAN_ROWS_H

#include "kernels/filters/median/median_key.h"

enum {
    LOB_MEDIAN_STRIP = 256,      /* voxels of a row that are worked on together */
    LOB_MEDIAN_ROWS = 64,        /* rows that a thread takes at once */
    LOB_MEDIAN_HELD = 256 * 1024 /* bytes of keys that a strip's neighbourhood may take; a larger
                                    one is read again for each bit */
};

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
    bool gaps;    /* places can hold no data inside of the volume too */
    bool network; /* 3x3x3 or 3x3 places, without gaps: by comparisons */
} lob_median_rows;

/* The functions for voxels of a width. */
typedef struct {
    /* Bytes of a thread's scratch. */
    int64_t (*scratch)(const lob_median_rows *m);

    /* The medians of a strip's voxels x .. x + w - 1, w at most LOB_MEDIAN_STRIP, in rows y ..
     * y + n - 1 of plane z. */
    void (*block)(const lob_median_rows *m, void *scratch, int64_t x, int64_t w, int64_t y,
                  int64_t n, int64_t z);
} lob_median_width;

extern const lob_median_width lob_median_8, lob_median_16, lob_median_32, lob_median_64;

#endif
