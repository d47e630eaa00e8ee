/* Connected pieces of supervoxels on the CPU: numbering them in place, and joining the small. */
#ifndef LOB_SUPERVOXELS_PIECES_H
#define LOB_SUPERVOXELS_PIECES_H

#include "kernels/budget.h"
#include "kernels/progress.h"
#include "kernels/supervoxels/supervoxels_voxel.h"

enum { LOB_PIECES_TOLD = 64 }; /* rows between tellings */

/* Where the run of equal labels that starts at x of a row ends. */
static inline int64_t lob_label_run_end(const int32_t *row, int64_t x, int64_t nx)
{
    const int32_t label = row[x];
    while (++x < nx && row[x] == label) continue;
    return x;
}

/*
 * Replace each label by the number of the piece that its voxel lies in: pieces are connected
 * through faces (not across slices), hold equal labels, and count from 1 in the order of their
 * first voxels. 0 stays 0.
 *
 *   labels  in/out  side[0]*side[1]*side[2]
 *   pieces  out     how many
 *
 * No array has the volume's size: a piece is known by its first run until another run meets it.
 * Held are 4 bytes a number given so, up to 8 while slabs of rows bring theirs together, and labels
 * of the rows that later rows touch: two slices a thread, of a share of the volume, but where that
 * has few slices itself, 4 bytes a voxel at most.
 * Returns LOB_OK, LOB_EDATA (more than 2^31 - 2 pieces), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_pieces_number(int32_t *labels, int64_t *pieces, const lob_supervoxels_rule *rule,
                             int threads, lob_budget *budget, lob_progress *stages,
                             lob_error *error);

/* Where levels come from: those of row number `row` (counted through y, then z), channel after
 * channel, nx each. Called by several threads. */
typedef struct {
    void (*levels)(const void *user, uint16_t *out, int64_t row);
    const void *user;
} lob_level_rows;

/*
 * Join small pieces with their most similar neighbours, as supervoxels_voxel.h tells, and number
 * what comes of it.
 *
 *   labels  in/out  pieces 1..pieces in raster order; out: 1..count in raster order
 *   count   out
 *
 * Returns LOB_OK, LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_pieces_join(int32_t *labels, int64_t *count, int64_t pieces,
                           const lob_level_rows *rows, const lob_supervoxels_rule *rule,
                           int threads, lob_budget *budget, lob_progress *stages, lob_error *error);

#endif
