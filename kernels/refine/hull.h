/* Convex hulls of voxels in a plane, in whole numbers. */
#ifndef LOB_HULL_H
#define LOB_HULL_H

#include <stdint.h>

/*
 * The convex hull of the middles of voxels in a plane: a digitized disc is its own. By Andrew's
 * monotone chain (Information Processing Letters 9, 1979) on each side.
 *
 *   first, last  in/out  the first and the last column that is marked, by row; first > last: none.
 *                        Then the first and the last column whose middle lies in the hull
 *   work                 as many numbers as rows
 *
 * Columns and rows are below 2^20.
 */
void lob_hull(int64_t *first, int64_t *last, int64_t *work, int64_t rows);

#endif
