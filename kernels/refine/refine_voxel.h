/* What refining computes at a single voxel, on the CPU and on a GPU. */
#ifndef LOB_REFINE_VOXEL_H
#define LOB_REFINE_VOXEL_H

#include "volumes/both.h"

#include <math.h>
#include <stdint.h>

LOB_BEGIN_DECLS

/* Arrays of a label's vote; several channels are planar. */
typedef struct {
    const float *value;  /* channels * voxels: the image */
    const float *mean;   /* channels * voxels: smoothed */
    const float *around; /* (channels + 1) * voxels: the label's share, and the image inside of it,
                            smoothed */
    const uint8_t *mask; /* where all channels are finite */
    int channels;
    int64_t voxels;
    float edge; /* the image's share of a vote */
} lob_refine_votes;

/* The image's vote at a voxel: 0 for the rest, 1 for the label, whose share around is `inside`. */
LOB_BOTH float lob_refine_image_vote(const lob_refine_votes *v, int64_t i)
{
    const float inside = v->around[i];
    const float in = inside > 1e-6F ? inside : 1e-6F;
    const float out = 1 - inside > 1e-6F ? 1 - inside : 1e-6F;
    float to_label = 0, to_rest = 0, apart = 0;
    for (int c = 0; c < v->channels; c++) {
        const float sum = v->around[(c + 1) * v->voxels + i], x = v->value[c * v->voxels + i];
        const float label = sum / in, rest = (v->mean[c * v->voxels + i] - sum) / out;
        to_label += fabsf(x - label);
        to_rest += fabsf(x - rest);
        apart += fabsf(label - rest);
    }
    const float vote = (to_rest - to_label) / (apart > 1e-6F ? apart : 1e-6F);
    return ((vote > 1 ? 1 : vote < -1 ? -1 : vote) + 1) / 2;
}

/* The vote of a voxel whose label votes `own`. */
LOB_BOTH float lob_refine_vote(const lob_refine_votes *v, float own, int64_t i)
{
    const bool near = v->around[i] > 0.02F && v->around[i] < 0.98F && v->mask[i];
    const float image = near ? lob_refine_image_vote(v, i) : own;
    const float of_image = v->edge * image, of_label = (1 - v->edge) * own;
    return of_image + of_label;
}

LOB_END_DECLS

#endif
