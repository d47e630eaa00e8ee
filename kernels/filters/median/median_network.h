/*
 * The median of 27 values by comparisons that neighbours share; for both compilers.
 *
 * A nine is the 3x3 values around a voxel in one plane, ascending. It is made of three lines of
 * three values, each sorted: two are merged, then the third. The median of 27 is the 14th of three
 * nines. Two neighbours along the axis across the planes share two nines: of their 18 values only
 * the 5th to the 14th can be the median of 27, since 9 more values come. These ten are merged once
 * for both neighbours, and the median is the 10th of these ten and the third nine.
 *
 * Merging is Batcher's odd-even merge (AFIPS 1968). A list X(i, j) X(i, j) ... says which places
 * are compared: afterwards the lesser value is in i. An ORDER names the places in ascending order
 * of what they hold at the end. Comparisons whose results nobody reads vanish in the compiler.
 */
#ifndef LOB_MEDIAN_NETWORK_H
#define LOB_MEDIAN_NETWORK_H

#define LOB_SORT_3(X, a, b, c) X(a, b) X(b, c) X(a, b)

/* Places 0..2 and 3..5 hold sorted values. */
#define LOB_MERGE_3_3(X) X(0, 3) X(2, 5) X(2, 3) X(1, 4) X(1, 2) X(4, 3)

/* Places 0, 1, 2, 4, 3, 5 hold the result of LOB_MERGE_3_3, places 6..8 sorted values. */
#define LOB_MERGE_6_3(X) \
    X(0, 6) X(3, 6) X(2, 8) X(2, 3) X(8, 6) X(1, 7) X(5, 7) X(4, 5) X(1, 2) X(4, 3) X(5, 8) X(7, 6)
#define LOB_NINE_ORDER(X) X(0, 0) X(1, 1) X(2, 2) X(3, 4) X(4, 3) X(5, 5) X(6, 8) X(7, 7) X(8, 6)

/* Places 0..8 and 9..17 hold nines: their even places, their odd places, and both. */
#define LOB_MERGE_9_9(X) LOB_MERGE_EVEN(X) LOB_MERGE_ODD(X) LOB_MERGE_BOTH(X)
#define LOB_MERGE_EVEN(X) \
    X(0, 9)               \
    X(8, 17)              \
    X(8, 9) X(4, 13) X(4, 8) X(13, 9) X(2, 11) X(6, 15) X(6, 11) X(2, 4) X(6, 8) X(11, 13) X(15, 9)
#define LOB_MERGE_ODD(X) \
    X(1, 10) X(5, 14) X(5, 10) X(3, 12) X(7, 16) X(7, 12) X(3, 5) X(7, 10) X(12, 14)
#define LOB_MERGE_BOTH(X) X(1, 2) X(3, 4) X(5, 6) X(7, 8) X(10, 11) X(12, 13) X(14, 15) X(16, 9)

/* The ten: X(rank from 0, place). */
#define LOB_TEN_ORDER(X) \
    X(0, 4) X(1, 5) X(2, 6) X(3, 7) X(4, 8) X(5, 10) X(6, 11) X(7, 12) X(8, 13) X(9, 14)

/* The 10th of ten and nine: the least, over all X(i, j), of the greater one of ten[i] and nine[j];
 * and ten[9]. */
#define LOB_PICK(X) X(8, 0) X(7, 1) X(6, 2) X(5, 3) X(4, 4) X(3, 5) X(2, 6) X(1, 7) X(0, 8)

#endif
