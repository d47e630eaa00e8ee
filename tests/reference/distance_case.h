/* Random volumes of labels with options for distances, made from a number. */
#ifndef LOB_DISTANCE_CASE_H
#define LOB_DISTANCE_CASE_H

#include "kernels/distance/distance.h"

typedef struct {
    uint64_t number;
    int64_t n; /* voxels */
    void *labels;
    lob_distance_input in;
    lob_distance_options options;
    bool distance, feature; /* what is asked for */
    char shape[160];        /* for messages */
} distance_case;

/* Ends the program where there is no memory. */
void distance_case_make(distance_case *c, uint64_t number, int64_t max_voxels);
void distance_case_free(distance_case *c);

/* ---- the reference: over all pairs of voxels ---- */

/* Squared distance in mm^2 from voxel `at` to the nearest voxel of the set, INFINITY without one.
 */
double reference_distance_squared(const uint8_t *set, lob_dims dims, const double spacing_mm[3],
                                  int64_t at);

/*
 * The squared distance from voxel `at` to the nearest voxel that what the input and kind say
 * counts; INFINITY without one.
 *
 *   label   in   0: any; else only voxels with this label count, for LOB_DISTANCE_TO_SET
 */
double reference_distance_of(const lob_distance_input *in, lob_distance_kind kind, int64_t at,
                             uint32_t label);

/* A label of the input as it counts: 0 where another label alone does. */
uint32_t reference_distance_label(const lob_distance_input *in, int64_t i);

#endif
