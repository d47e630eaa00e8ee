/* The steps of finding maxima: what they share. maxima_cpu.c calls them in this order. */
#ifndef LOB_MAXIMA_STEPS_H
#define LOB_MAXIMA_STEPS_H

#include "kernels/budget.h"
#include "kernels/components/components.h"
#include "kernels/maxima/maxima.h"
#include "kernels/share.h"
#include "kernels/team/team.h"

#include <math.h>

LOB_BEGIN_DECLS

enum { LOB_MOST_NEIGHBOURS = 26 };

/* A call. */
typedef struct {
    const lob_maxima_input *in;
    const lob_maxima_options *options;
    const lob_context *context;
    lob_error *error;
    lob_budget budget;
    int64_t voxels;
    lob_team *team;     /* of ranks; NULL: this one has all */
    int64_t first, end; /* voxels of its own planes, */
    int64_t origin;     /* which are these of the whole volume, and so many more */
    int offsets;        /* neighbours of a voxel */
    int8_t offset[LOB_MOST_NEIGHBOURS][3];
    uint8_t *top; /* 1: no neighbour is higher */
} lob_maxima_call;

/* Check the arguments and begin: the neighbours' offsets. */
lob_status lob_maxima_begin(lob_maxima_call *c, const lob_maxima_input *in,
                            const lob_maxima_options *options, const lob_context *context,
                            lob_error *error);

/* What each backend does in its own way; c->top, labels and the image are where it computes. */
typedef struct {
    lob_status (*mark)(lob_maxima_call *c); /* make c->top, which is the caller's to free */
    __typeof__(lob_components_cpu) *label;

    /* Make the maxima of out->count plateaus. keep: 0 where a plateau goes on in a voxel with a
     * higher neighbour, and so is none; else 1. */
    lob_status (*look)(lob_maxima_call *c, lob_maxima_output *out, uint8_t *keep,
                       const lob_region *regions);

    /* Label i becomes number[i - 1]; 0 stays. */
    lob_status (*renumber)(lob_maxima_call *c, int32_t *labels, const int32_t *number,
                           int64_t count);
    lob_status (*heights)(lob_maxima_call *c, uint8_t *keep, const lob_maxima_output *out);
} lob_maxima_ways;

/* Find the maxima of an image where the backend computes: a call whose arguments have been checked,
 * but for its last report. out is 0 before; labels are there. */
lob_status lob_maxima_find(lob_maxima_output *out, lob_maxima_call *c, const lob_volume *image,
                           const lob_maxima_ways *ways);

/* Make c->top on the CPU. */
lob_status lob_maxima_mark(lob_maxima_call *c);

/* What joins voxels of equal value without a higher neighbour. */
lob_components_options lob_maxima_plateaus(const lob_maxima_options *options);

/*
 * On the CPU: let keep become 0 where a plateau goes on in a voxel with a higher neighbour.
 *
 *   labels  in  of `voxels` voxels from the first on; 0: none
 */
void lob_maxima_drop_slopes(uint8_t *keep, const lob_maxima_call *c, const int32_t *labels,
                            int64_t first, int64_t voxels);

/* The value of a voxel; -INFINITY where it is no data. */
static inline double lob_maxima_value(const lob_maxima_call *c, int64_t i)
{
    const lob_volume *v = c->in->image;
    double value;
    if (c->in->mask && !c->in->mask[i]) return -INFINITY;
    lob_values(&value, v->data, v->type, i, 1);
    if (v->slope != 1.0 || v->inter != 0.0) value = v->slope * value + v->inter;
    return isfinite(value) ? value : -INFINITY;
}

/* The neighbours of voxel i that lie in the volume; returns how many. */
int lob_maxima_neighbours(int64_t neighbour[LOB_MOST_NEIGHBOURS], const lob_maxima_call *c,
                          int64_t i);

/*
 * On the CPU: let keep[m] become 0 where a maximum is not as high as is asked for, or follows[m]
 * the number, from 1, of one before it that it stays or goes with; it is 0 before. Ranks have one
 * list of maxima; what one of them finds is in its own keep and follows.
 */
lob_status lob_maxima_visit(lob_maxima_call *c, uint8_t *keep, int32_t *follows,
                            const lob_maxima_output *out);

/* The same of one rank, where all is settled in keep. */
lob_status lob_maxima_heights(lob_maxima_call *c, uint8_t *keep, const lob_maxima_output *out);

/* Take those out, of which keep is 1, that are too near to a higher one. */
lob_status lob_maxima_thin(uint8_t *keep, const lob_maximum *maxima, int64_t count,
                           lob_maxima_call *c);

LOB_END_DECLS

#endif
