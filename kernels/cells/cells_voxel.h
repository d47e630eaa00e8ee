/*
 * Passes over the voxels between the steps of cells.h, in which each voxel is by itself: written
 * once, for the CPU and CUDA. This header is not installed.
 */
#ifndef LOB_CELLS_VOXEL_H
#define LOB_CELLS_VOXEL_H

#include "kernels/filters/pointwise_voxel.h"
#include "volumes/labels.h"
#include "volumes/volume.h"

LOB_BEGIN_DECLS

/* Kinds that change voxels alone, */
#define LOB_CELLS_CHANGES(X)                                                              \
    X(GAPS)   /* to: NaN where the image is NaN or infinite */                            \
    X(INSIDE) /* marks: what was not marked, but for such voxels */                       \
    X(LEAST)  /* to: how far here lies above it, or what was before where that is less */ \
    X(SUM)    /* to: the same, and what was before added */                               \
    X(THIN)   /* to: every so many voxels of here */                                      \
    X(ROOTS)  /* to: its root; none where it is not above 0 */                            \
    X(RISEN)  /* to: none where it is not above 0 */                                      \
    X(GATHER) /* to: here at the voxels of a list */                                      \
    X(NARROW) /* narrow: the numbers of a list, in their type */

/* and those that have sums too. */
#define LOB_CELLS_ADDS(X)                                                    \
    X(BOUND)   /* to: at most the level. Counts those that were more */      \
    X(BRIGHT)  /* marks: here is above before less the level. Counts them */ \
    X(BODIES)  /* counts what is marked or where here is above the level */  \
    X(COUNT)   /* counts finite voxels of here, and marked ones */           \
    X(DIMMEST) /* the least of here that is marked */                        \
    X(CUBES)   /* adds up cubes of here above 0, and counts finite voxels */ \
    X(CLASSES) /* adds up finite voxels of here, not marked and marked, and counts both */

typedef enum {
#define LOB_CELLS_KIND(kind) LOB_CELLS_##kind,
    LOB_CELLS_CHANGES(LOB_CELLS_KIND) LOB_CELLS_ADDS(LOB_CELLS_KIND)
#undef LOB_CELLS_KIND
        LOB_CELLS_PASSES
} lob_cells_pass_kind;

/* Arrays are where the context computes. */
typedef struct {
    lob_cells_pass_kind kind;
    int64_t n;          /* voxels, or numbers of the list */
    const void *stored; /* an image's, with its type, slope and inter */
    lob_type type;      /* of stored, or narrow */
    double slope, inter, level;
    float *to;
    const float *here, *before; /* before may be NULL: none */
    float sign;
    uint8_t *marks;
    int64_t *list;
    const int32_t *numbers;
    void *narrow;
    lob_dims from; /* thin: the sides of here, those of to, and the steps along them */
    lob_dims thinned;
    int64_t step[3];
} lob_cells_pass;

/* What a pass adds up or counts. */
typedef struct {
    double real[2];
    int64_t number[2];
} lob_cells_sums;

/*
 * Sums of real numbers have an order: a piece of the voxels has lanes, each of which adds up every
 * LANES-th voxel; the lanes are added in pairs, the upper half to the lower one, then the pieces
 * one after the other.
 */
enum { LOB_CELLS_LANES = 256, LOB_CELLS_PIECE = 64 * LOB_CELLS_LANES };

LOB_BOTH lob_cells_sums lob_cells_none(lob_cells_pass_kind kind)
{
    lob_cells_sums none = {
        {0, 0},
        {0, 0}
    };
    if (kind == LOB_CELLS_DIMMEST) none.real[0] = (double)INFINITY;
    return none;
}

LOB_BOTH void lob_cells_join(lob_cells_pass_kind kind, lob_cells_sums *to, const lob_cells_sums *of)
{
    for (int k = 0; k < 2; k++) {
        if (kind == LOB_CELLS_DIMMEST)
            to->real[k] = of->real[k] < to->real[k] ? of->real[k] : to->real[k];
        else
            to->real[k] += of->real[k];
        to->number[k] += of->number[k];
    }
}

/* Does a pass give sums? */
LOB_BOTH bool lob_cells_adds(lob_cells_pass_kind kind)
{
    return kind >= LOB_CELLS_BOUND;
}

LOB_BOTH bool lob_cells_is_data(const lob_cells_pass *p, int64_t i)
{
    return isfinite(p->slope * lob_filter_load(p->stored, p->type, i) + p->inter);
}

/* Passes that change voxels alone. kind: p->kind, as a constant. */
LOB_BOTH void lob_cells_change(lob_cells_pass_kind kind, const lob_cells_pass *p, int64_t i)
{
    float *const to = p->to;
    switch (kind) {
    case LOB_CELLS_GAPS:
        if (!lob_cells_is_data(p, i)) to[i] = NAN;
        break;
    case LOB_CELLS_INSIDE:
        p->marks[i] = !p->marks[i] && lob_cells_is_data(p, i);
        break;
    case LOB_CELLS_LEAST:
    case LOB_CELLS_SUM: {
        const float up = p->sign * (p->here[i] - to[i]);
        if (!p->before)
            to[i] = up;
        else if (kind == LOB_CELLS_SUM)
            to[i] = p->before[i] + up;
        else
            to[i] = up < p->before[i] ? up : p->before[i];
        break;
    }
    case LOB_CELLS_THIN: {
        const lob_dims d = p->from, t = p->thinned;
        const int64_t x = i % t.nx, y = i / t.nx % t.ny, z = i / t.nx / t.ny;
        to[i] = p->here[x * p->step[0] + d.nx * (y * p->step[1] + d.ny * z * p->step[2])];
        break;
    }
    case LOB_CELLS_ROOTS:
        to[i] = to[i] > 0 ? sqrtf(to[i]) : NAN;
        break;
    case LOB_CELLS_RISEN:
        if (!(to[i] > 0)) to[i] = NAN;
        break;
    case LOB_CELLS_GATHER:
        to[i] = p->here[p->list[i]];
        break;
    case LOB_CELLS_NARROW:
        lob_label_put(p->narrow, p->type, i, p->numbers[i]);
        break;
    default:
        break;
    }
}

/* Passes with sums. */
LOB_BOTH void lob_cells_add(lob_cells_pass_kind kind, const lob_cells_pass *p, int64_t i,
                            lob_cells_sums *sums)
{
    switch (kind) {
    case LOB_CELLS_BOUND:
        if (!((double)p->to[i] > p->level)) break;
        p->to[i] = (float)p->level;
        sums->number[0]++;
        break;
    case LOB_CELLS_BRIGHT: {
        const float here = p->here[i];
        p->marks[i] = isfinite(here) && (double)here > (double)p->before[i] - p->level;
        sums->number[0] += p->marks[i];
        break;
    }
    case LOB_CELLS_BODIES:
        sums->number[0] += p->marks[i] || (double)p->here[i] > p->level;
        break;
    case LOB_CELLS_COUNT:
        sums->number[0] += isfinite(p->here[i]);
        sums->number[1] += p->marks[i];
        break;
    case LOB_CELLS_DIMMEST:
        if (p->marks[i] && (double)p->here[i] < sums->real[0]) sums->real[0] = (double)p->here[i];
        break;
    case LOB_CELLS_CUBES: {
        const double v = (double)p->here[i];
        if (v > 0) sums->real[0] += v * v * v;
        sums->number[0] += isfinite(v);
        break;
    }
    case LOB_CELLS_CLASSES:
        if (!isfinite(p->here[i])) break;
        sums->real[p->marks[i] != 0] += (double)p->here[i];
        sums->number[p->marks[i] != 0]++;
        break;
    default:
        break;
    }
}

LOB_END_DECLS

#endif
