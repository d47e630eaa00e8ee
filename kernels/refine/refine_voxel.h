/* What refining does at a single voxel, on the CPU and on a GPU. */
#ifndef LOB_REFINE_VOXEL_H
#define LOB_REFINE_VOXEL_H

#include "kernels/filters/pointwise_voxel.h"
#include "kernels/refine/refine.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdbool.h>

LOB_BEGIN_DECLS

/* The arrays of a job on one grid, and what is done with them. */
typedef struct {
    const void *before; /* labels as they came */
    lob_type before_type;
    void *labels; /* worked on in place */
    lob_type type;
    const void *seeds;
    lob_type seeds_type;
    int32_t background;
    int32_t label; /* the one that is worked on */
    float least;   /* its share or votes of a voxel that it takes are above this; of walls, in mm */
    uint8_t *mask; /* a label's indicator, where pieces may be, or where the image is finite */
    const float *share;
    float *best; /* several labels: the largest share or most votes so far, or how far a core is, */
    void *taken; /* and whose they are: on the whole grid, also where a box is worked on */
    const void *pieces;
    lob_type pieces_type;
    uint8_t *flags;     /* of pieces, and of 0 */
    const void *stored; /* the image's voxels, with its type, slope and inter */
    lob_type stored_type;
    double slope, inter;
    const void *others;    /* labels that grew in another way, as before; NULL: none */
    const uint8_t *shares; /* label_count - 1 planar channels */
    int channel;           /* of the label among these; -1: the background's, which has the rest. Of
                              the image, in parts; -1: the indicator */
    lob_dims dims;         /* of the grid */
    int64_t voxels;
    float settle;
    const uint8_t *absent; /* label_count + 1 for each slice: 1 where a label is not; or NULL */
    int32_t label_count;
    int absent_axis;
    float *parts; /* the label's indicator, or a channel of the image where it is; votes; the
                     image's values, 0 where they are not finite */

    /* of a label's vote; several channels are planar */
    const float *value; /* channels * voxels: the image, 0 where it is not finite */
    const float *mean;  /* channels * voxels: smoothed */
    const float *around[LOB_REFINE_MAX_CHANNELS + 1]; /* the label's share, and the image inside of
                                                         it, a channel each, smoothed */
    const uint8_t *finite;                            /* where all channels are; NULL: everywhere */
    int channels;
    float edge; /* the image's share of a vote */
} lob_refine_arrays;

/* The loops. Each voxel's function returns what the loop counts. */
#define LOB_REFINE_LOOPS(X) \
    X(begin)                \
    X(changed)              \
    X(is)                   \
    X(above)                \
    X(none)                 \
    X(taken)                \
    X(twice)                \
    X(gain)                 \
    X(put)                  \
    X(strokes)              \
    X(clear)                \
    X(hold)                 \
    X(dropped)              \
    X(drop)                 \
    X(is_not)               \
    X(open)                 \
    X(fill)                 \
    X(unmark)               \
    X(deep)                 \
    X(within)               \
    X(beyond)               \
    X(load)                 \
    X(parts)                \
    X(vote)

typedef enum {
#define LOB_REFINE_LOOP(name) LOB_REFINE_AT_##name,
    LOB_REFINE_LOOPS(LOB_REFINE_LOOP)
#undef LOB_REFINE_LOOP
        LOB_REFINE_LOOP_COUNT
} lob_refine_loop;

LOB_BOTH int32_t lob_refine_label(const lob_refine_arrays *a, int64_t i)
{
    return lob_label_at(a->labels, a->type, i);
}

LOB_BOTH void lob_refine_put(const lob_refine_arrays *a, int64_t i, int32_t label)
{
    lob_label_put(a->labels, a->type, i, label);
}

LOB_BOTH int32_t lob_refine_seed(const lob_refine_arrays *a, int64_t i)
{
    return lob_label_at(a->seeds, a->seeds_type, i);
}

LOB_BOTH int32_t lob_refine_piece(const lob_refine_arrays *a, int64_t i)
{
    return lob_label_at(a->pieces, a->pieces_type, i);
}

/* Flag the piece of a voxel. Threads may do so at the same time. */
LOB_BOTH void lob_refine_flag(const lob_refine_arrays *a, int64_t i)
{
    uint8_t *const flag = &a->flags[lob_refine_piece(a, i)];
#ifdef __CUDA_ARCH__
    *flag = 1;
#else
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
#endif
}

LOB_BOTH bool lob_refine_flagged(const lob_refine_arrays *a, int64_t i)
{
    const uint8_t *const flag = &a->flags[lob_refine_piece(a, i)];
#ifdef __CUDA_ARCH__
    return *flag;
#else
    return __atomic_load_n(flag, __ATOMIC_RELAXED);
#endif
}

/* ---- labels as they came, and what changed ---- */

LOB_BOTH int32_t lob_refine_came(const lob_refine_arrays *a, int64_t i)
{
    const int32_t label = lob_label_at(a->before, a->before_type, i);
    return label ? label : a->background;
}

LOB_BOTH int lob_refine_at_begin(const lob_refine_arrays *a, int64_t i)
{
    lob_refine_put(a, i, lob_refine_came(a, i));
    return 0;
}

LOB_BOTH int lob_refine_at_changed(const lob_refine_arrays *a, int64_t i)
{
    return lob_refine_label(a, i) != lob_refine_came(a, i);
}

/* ---- smooth ---- */

LOB_BOTH int lob_refine_at_is(const lob_refine_arrays *a, int64_t i)
{
    a->mask[i] = lob_refine_label(a, i) == a->label;
    return 0;
}

/* Is the label's share large enough? */
LOB_BOTH int lob_refine_at_above(const lob_refine_arrays *a, int64_t i)
{
    return a->share[i] > a->least;
}

/* One label and the background: the label where its share is large enough. */
LOB_BOTH int lob_refine_at_put(const lob_refine_arrays *a, int64_t i)
{
    lob_refine_put(a, i, a->share[i] > a->least ? a->label : a->background);
    return 0;
}

/* Several labels: none has been looked at. */
LOB_BOTH int lob_refine_at_none(const lob_refine_arrays *a, int64_t i)
{
    a->best[i] = a->least;
    lob_label_put(a->taken, a->type, i, a->label);
    return 0;
}

/* What was taken becomes the labels. */
LOB_BOTH int lob_refine_at_taken(const lob_refine_arrays *a, int64_t i)
{
    lob_refine_put(a, i, lob_label_at(a->taken, a->type, i));
    return 0;
}

/* Take a label where its share, or its votes, are large enough and the most so far; labels come in
 * ascending order. i: the voxel in the label's box; at: on the whole grid. */
LOB_BOTH void lob_refine_larger(const lob_refine_arrays *a, int64_t i, int64_t at)
{
    if (!(a->share[i] > a->least && a->share[i] > a->best[at])) return;
    a->best[at] = a->share[i];
    lob_label_put(a->taken, a->type, at, a->label);
}

/* ---- settle ---- */

/* The indicator, twice; where labels grew in another way, both. */
LOB_BOTH int lob_refine_at_twice(const lob_refine_arrays *a, int64_t i)
{
    const int here = lob_refine_label(a, i) == a->label;
    const int32_t other = a->others ? lob_label_at(a->others, a->before_type, i) : 0;
    a->mask[i] = (uint8_t)(here + (other ? other == a->label : here));
    return 0;
}

/* The label's share of a voxel, 0..255; the background's is what the others leave. */
LOB_BOTH int lob_refine_share(const lob_refine_arrays *a, int64_t i)
{
    if (a->channel >= 0) return a->shares[a->channel * a->voxels + i];
    int rest = 255;
    for (int c = 0; c < a->label_count - 1; c++) rest -= a->shares[c * a->voxels + i];
    return rest > 0 ? rest : 0;
}

/* Is the label not on the slice of this voxel? */
LOB_BOTH bool lob_refine_absent(const lob_refine_arrays *a, int64_t i)
{
    if (!a->absent) return false;
    const int64_t row = i / a->dims.nx;
    const int64_t at = a->absent_axis == 0   ? i - row * a->dims.nx
                       : a->absent_axis == 1 ? row % a->dims.ny
                                             : row / a->dims.ny;
    return a->absent[at * (a->label_count + 1) + a->label];
}

/* The smoothed indicator with what the share adds: its fourth root, which is nearly a logarithm
 * and, other than one, the same everywhere. */
LOB_BOTH int lob_refine_at_gain(const lob_refine_arrays *a, int64_t i)
{
    const float around = 0.5F * a->share[i];
    const float root = sqrtf(sqrtf((float)lob_refine_share(a, i) / 255.0F));
    const float gain = a->settle * root;
    const float sum = lob_refine_absent(a, i) ? -1 : around + gain;
    if (!(sum > a->best[i])) return 0;
    a->best[i] = sum;
    lob_label_put(a->taken, a->type, i, a->label);
    return 0;
}

/* ---- tidy ---- */

LOB_BOTH int lob_refine_at_strokes(const lob_refine_arrays *a, int64_t i)
{
    const int32_t seed = lob_refine_seed(a, i);
    if (seed) lob_refine_put(a, i, seed);
    a->mask[i] = lob_refine_label(a, i) != a->background;
    return 0;
}

/* Of pieces, and of 0. */
LOB_BOTH int lob_refine_at_clear(const lob_refine_arrays *a, int64_t piece)
{
    a->flags[piece] = 0;
    return 0;
}

LOB_BOTH int lob_refine_at_hold(const lob_refine_arrays *a, int64_t i)
{
    if (lob_refine_seed(a, i)) lob_refine_flag(a, i);
    return 0;
}

/* Of pieces, from 0. */
LOB_BOTH int lob_refine_at_dropped(const lob_refine_arrays *a, int64_t piece)
{
    return !a->flags[piece + 1];
}

LOB_BOTH int lob_refine_at_drop(const lob_refine_arrays *a, int64_t i)
{
    const int32_t piece = lob_refine_piece(a, i);
    if (piece && !a->flags[piece]) lob_refine_put(a, i, a->background);
    return 0;
}

LOB_BOTH int lob_refine_at_is_not(const lob_refine_arrays *a, int64_t i)
{
    a->mask[i] = lob_refine_label(a, i) != a->label;
    return 0;
}

/* Flag the pieces that reach a border of the volume (axes of one voxel have none), or in which
 * background was drawn. */
LOB_BOTH int lob_refine_at_open(const lob_refine_arrays *a, int64_t i)
{
    const lob_dims d = a->dims;
    if (lob_refine_piece(a, i) == 0 || lob_refine_flagged(a, i)) return 0;
    const int64_t row = i / d.nx, x = i - row * d.nx, y = row % d.ny, z = row / d.ny;
    const bool border = (d.nx > 1 && (x == 0 || x == d.nx - 1)) ||
                        (d.ny > 1 && (y == 0 || y == d.ny - 1)) ||
                        (d.nz > 1 && (z == 0 || z == d.nz - 1));
    if (border || lob_refine_seed(a, i) == a->background) lob_refine_flag(a, i);
    return 0;
}

LOB_BOTH int lob_refine_at_fill(const lob_refine_arrays *a, int64_t i)
{
    const int32_t piece = lob_refine_piece(a, i);
    if (piece == 0 || a->flags[piece] || lob_refine_label(a, i) != a->background) return 0;
    lob_refine_put(a, i, a->label);
    return 1;
}

/* ---- walls ---- */

/* Is a voxel so deep in a core that a wall may be around it? */
LOB_BOTH int lob_refine_at_deep(const lob_refine_arrays *a, int64_t i)
{
    return a->least <= -0.5F * a->best[i];
}

LOB_BOTH int lob_refine_at_unmark(const lob_refine_arrays *a, int64_t i)
{
    a->mask[i] = 0;
    return 0;
}

/* Mark what is near enough to a core. */
LOB_BOTH int lob_refine_at_within(const lob_refine_arrays *a, int64_t i)
{
    if (!(a->best[i] > a->least)) a->mask[i] = 1;
    return 0;
}

/* Cut what is near to none. */
LOB_BOTH int lob_refine_at_beyond(const lob_refine_arrays *a, int64_t i)
{
    if (!a->mask[i] && lob_refine_label(a, i) == a->label && !lob_refine_seed(a, i))
        lob_refine_put(a, i, a->background);
    return 0;
}

/* ---- edge ---- */

/* The image as float32, and where all channels are finite. Counts where they are not. */
LOB_BOTH int lob_refine_at_load(const lob_refine_arrays *a, int64_t i)
{
    bool all = true;
    for (int c = 0; c < a->channels; c++) {
        const int64_t at = c * a->voxels + i;
        const double stored = lob_filter_load(a->stored, a->stored_type, at);
        const float value = (float)(a->slope * stored + a->inter);
        const bool good = value - value == 0;
        a->parts[at] = good ? value : 0;
        all = all && good;
    }
    a->mask[i] = all;
    return !all;
}

/* A label's indicator, or the image inside of it. */
LOB_BOTH int lob_refine_at_parts(const lob_refine_arrays *a, int64_t i)
{
    const bool is = lob_refine_label(a, i) == a->label;
    a->parts[i] = !is ? 0 : a->channel < 0 ? 1 : a->value[a->channel * a->voxels + i];
    return 0;
}

/* The image's vote at a voxel: 0 for the rest, 1 for the label, whose share around is `inside`. */
LOB_BOTH float lob_refine_image_vote(const lob_refine_arrays *a, int64_t i)
{
    const float inside = a->around[0][i];
    const float in = inside > 1e-6F ? inside : 1e-6F;
    const float out = 1 - inside > 1e-6F ? 1 - inside : 1e-6F;
    float to_label = 0, to_rest = 0, apart = 0;
    for (int c = 0; c < a->channels; c++) {
        const float sum = a->around[c + 1][i], x = a->value[c * a->voxels + i];
        const float label = sum / in, rest = (a->mean[c * a->voxels + i] - sum) / out;
        to_label += fabsf(x - label);
        to_rest += fabsf(x - rest);
        apart += fabsf(label - rest);
    }
    const float vote = (to_rest - to_label) / (apart > 1e-6F ? apart : 1e-6F);
    return ((vote > 1 ? 1 : vote > -1 ? vote : -1) + 1) / 2; /* 0 of what overflowed */
}

/* Counts how much of the voxel is the label's, in LOB_REFINE_VOTES: near a border the vote; farther
 * off its label, as the image differs there for other reasons. */
enum { LOB_REFINE_VOTES = 1024 };
LOB_BOTH int lob_refine_at_vote(const lob_refine_arrays *a, int64_t i)
{
    const float around = a->around[0][i], own = lob_refine_label(a, i) == a->label;
    const bool near = around > 0.02F && around < 0.98F && (!a->finite || a->finite[i]);
    const float image = near ? lob_refine_image_vote(a, i) : own;
    const float of_image = a->edge * image, of_label = (1 - a->edge) * own;
    const float vote = of_image + of_label;
    a->parts[i] = vote;
    return (int)rintf(LOB_REFINE_VOTES * (around > 0.1F && around < 0.9F ? vote : own));
}

LOB_END_DECLS

#endif
