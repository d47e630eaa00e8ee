/* A pass of the distance transform on the CPU, over lines along y or z. */
#ifndef LOB_DISTANCE_LINES_H
#define LOB_DISTANCE_LINES_H

#include "kernels/distance/distance_plan.h"

/* Lines that lie side by side and are worked on together. */
enum { LOB_LINES = 16 };

typedef struct {
    const lob_distance_plan *plan;
    uint32_t *voxels;   /* in/out: as distance_voxel.h says; after the last pass bits of floats */
    void *feature;      /* in/out: nearest labels so far, with LOB_FIND_LABEL */
    const void *labels; /* with LOB_FIND_OTHER */
    int label_bytes;
    int pass; /* 0 .. plan->passes - 1 */
} lob_distance_pass;

/* What a thread works with. */
typedef struct {
    void *memory; /* lob_narrow_line_bytes or lob_wide_line_bytes */
    int searched; /* blocks of lines until looking outward is tried again */
} lob_distance_scratch;

/* Bytes for lines of n voxels. */
int64_t lob_narrow_line_bytes(int64_t n);
int64_t lob_wide_line_bytes(int64_t n);

/* Work on `lines` <= LOB_LINES lines, the first of which begins at voxel first. */
void lob_narrow_lines(const lob_distance_pass *pass, int64_t first, int lines,
                      lob_distance_scratch *scratch);
void lob_wide_lines(const lob_distance_pass *pass, int64_t first, int lines,
                    lob_distance_scratch *scratch);

#endif
