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

#endif
