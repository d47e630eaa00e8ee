/* What the files of a carry share, and what it does at a voxel between the algorithms that it
 * calls, for both compilers. Not installed. */
#ifndef LOB_CARRY_VOXEL_H
#define LOB_CARRY_VOXEL_H

#include "kernels/arrays.h"
#include "kernels/carry/carry.h"
#include "kernels/fuse/fuse_voxel.h"
#include "kernels/segment/segment_job.h"
#include "volumes/bytes.h"

LOB_BEGIN_DECLS

enum { LOB_CARRY_MAX_LABELS = LOB_APPEARANCE_MAX_LABELS - 1 }; /* without the background */

typedef struct {
    const lob_carry_input *in;
    const lob_carry_options *options;
    lob_carry_output *out;
    lob_segment_job steps; /* memory, progress and the algorithms; volumes below are where these
                              compute */

    /* on the grid for moving and votes */
    lob_volume scan;
    int used;                                                             /* atlases, */
    lob_volume image[LOB_FUSE_MAX_ATLASES], labels[LOB_FUSE_MAX_ATLASES]; /* moved */
    lob_fuse_output votes;

    lob_error why;                           /* the last atlas that was left out cannot be used */
    lob_label_set known;                     /* labels of all atlases that were read, */
    lob_label_set has[LOB_FUSE_MAX_ATLASES]; /* and of each that is used, before it was moved */

    lob_volume drawn; /* uint8, in ordinary memory: strokes on the scan's whole grid, until there is
                         a box; empty: there are none. Labels are as below */

    /* on the scan's grid, in the box; labels are dense: out->label[l - 1], count + 1 is background
     */
    int32_t count;
    lob_box box;
    lob_volume part;             /* the scan */
    lob_volume strokes;          /* uint8; empty: there are none */
    lob_volume best, share, all; /* uint8, uint16, uint16: the label that wins, its votes, and those
                                    of all labels; until labels that grew follow them */
    lob_volume seeds;            /* uint8 */
    lob_volume reached; /* uint8: of the nearest stroke within reach; empty: there are no strokes */
    lob_volume grown;   /* uint8; in the end refined */
} lob_carry_job;

/* ---- carry_run.c ---- */

/* What is done at each voxel by itself. */
typedef enum {
    LOB_CARRY_FINITE,
    LOB_CARRY_MARK,
    LOB_CARRY_CLEAR,
    LOB_CARRY_WIN,
    LOB_CARRY_SURE,
    LOB_CARRY_COUNT,
    LOB_CARRY_REST,
    LOB_CARRY_DENSE,
    LOB_CARRY_REOPEN,
    LOB_CARRY_DRAW,
    LOB_CARRY_WEAK,
    LOB_CARRY_BYTES,
    LOB_CARRY_TO_BEST,
    LOB_CARRY_JUDGE
} lob_carry_kind;

enum { LOB_CARRY_SUMS = LOB_CARRY_MAX_LABELS + 2 };

typedef struct {
    lob_carry_kind kind;
    int64_t voxels;
    int32_t count, label; /* labels; the one whose turn it is */
    uint8_t *seeds, *best, *out;
    uint16_t *share, *all; /* of what is best, of all labels together */
    const uint16_t *own;   /* votes of the label; NULL: none */
    const uint8_t *grey;   /* shares of grey values */
    const uint8_t *strokes, *reached;
    const float *image;
    float *doubt, *strength;
    uint16_t sure, beyond;
    int against, claimed;
    uint8_t flag[LOB_CARRY_SUMS]; /* of each label, from 1 */
} lob_carry_pass;

/* Run a pass where the job computes. sums: what it counts, in ordinary memory; NULL: nothing. */
lob_status lob_carry_each(lob_carry_job *j, const lob_carry_pass *pass,
                          int64_t sums[LOB_CARRY_SUMS], lob_error *error);
lob_status lob_carry_each_cuda(const lob_carry_pass *pass, int64_t *sums, lob_device *device,
                               lob_error *error);

/* Bring a volume of the job to ordinary memory; an empty one stays. */
lob_status lob_carry_fetch(lob_carry_job *j, lob_volume *volume, lob_error *error);

/* ---- carry_move.c ---- */

/* The scan on the grid for moving; the atlases that are used, moved onto it; their votes. */
lob_status lob_carry_move(lob_carry_job *j, lob_error *error);

/* ---- carry_seeds.c ---- */

/* The box around votes and strokes, with the scan and the strokes in it; false: there are none. */
lob_status lob_carry_box(lob_carry_job *j, bool *any, lob_error *error);

/* A label's share of the votes on a grid, uint16 in LOB_FUSE_ONE-ths; without data: no atlas has
 * this label. */
lob_status lob_carry_share(lob_carry_job *j, lob_volume *out, int32_t label, const lob_volume *grid,
                           lob_error *error);

/* Run a pass over the box with the votes of dense label l, which it sets; own is NULL where there
 * are none. */
lob_status lob_carry_each_of_label(lob_carry_job *j, lob_carry_pass *pass, int32_t l, int64_t *sums,
                                   lob_error *error);

/* Seeds: what is sure and is not contradicted, and the strokes. */
lob_status lob_carry_seeds(lob_carry_job *j, lob_error *error);

/* Grow the seeds, and refine what came out. */
lob_status lob_carry_grow(lob_carry_job *j, lob_error *error);

/* ---- a voxel ---- */

/* Mark what has votes; own: of all labels, `voxels` apart. */
LOB_BOTH void lob_carry_mark(const lob_carry_pass *p, int64_t i)
{
    uint8_t some = 0;
    for (int32_t l = 0; l < p->count; l++) some |= p->own[l * p->voxels + i] >= p->sure;
    p->out[i] = some;
}

/* A label's votes change what wins, and what all have together. */
LOB_BOTH void lob_carry_win(const lob_carry_pass *p, int64_t i)
{
    const int own = p->own ? p->own[i] : 0, sum = p->all[i] + own;
    p->all[i] = (uint16_t)(sum < LOB_FUSE_ONE ? sum : (int)LOB_FUSE_ONE);
    if (own <= p->share[i]) return;
    p->best[i] = (uint8_t)p->label;
    p->share[i] = (uint16_t)own;
}

/* Labels without seeds, which `flag` tells, have all voxels where they win; the background has what
 * is beyond all votes. Counts seeds. */
LOB_BOTH void lob_carry_rest(const lob_carry_pass *p, int64_t i, int64_t *sums)
{
    const int best = p->best[i];
    if (best > 0 && !p->flag[best] && p->share[i] > LOB_FUSE_ONE - p->all[i])
        p->seeds[i] = (uint8_t)best;
    if (p->seeds[i] == 0 && p->all[i] <= p->beyond) p->seeds[i] = (uint8_t)(p->count + 1);
    lob_fuse_add(&sums[p->seeds[i]], 1);
}

/* What marks seeds that were reopened, until the growth. */
LOB_BOTH uint8_t lob_carry_opened(const lob_carry_pass *p)
{
    return (uint8_t)(p->count + 2);
}

/* Seeds that grey values contradict leave a gap for the growth. Counts them. flag: the channel of a
 * label's grey values, UINT8_MAX: none. */
LOB_BOTH void lob_carry_reopen(const lob_carry_pass *p, int64_t i, int64_t *sums)
{
    const int32_t l = p->seeds[i];
    if (l == 0) return;
    bool opens = l <= p->count && p->grey[p->flag[l] * p->voxels + i] < p->against;
    for (int32_t k = 1; k <= p->count && l > p->count && !opens; k++)
        opens = p->flag[k] != UINT8_MAX && p->grey[p->flag[k] * p->voxels + i] > p->claimed;
    if (!opens) return;
    p->seeds[i] = lob_carry_opened(p);
    lob_fuse_add(&sums[l], 1);
}

/* Strokes become seeds, and near to them no seed says otherwise. */
LOB_BOTH void lob_carry_draw(const lob_carry_pass *p, int64_t i)
{
    const uint8_t said = p->reached[i];
    if (said > 0 && p->seeds[i] != said) p->seeds[i] = 0;
    if (p->strokes[i] > 0) p->seeds[i] = p->strokes[i];
}

/* What is no seed starts with the label that leads in votes, the weaker the fewer it has; but not
 * where a seed was reopened or a stroke is near. Marks of reopened seeds end. */
LOB_BOTH void lob_carry_weak(const lob_carry_pass *p, int64_t i)
{
    const int all = p->all[i], rest = LOB_FUSE_ONE - all, share = p->share[i];
    const bool opened = p->seeds[i] == lob_carry_opened(p);
    if (opened) p->seeds[i] = 0;
    p->out[i] = p->seeds[i];
    p->strength[i] = 1;
    if (p->seeds[i] > 0 || opened || (p->reached && p->reached[i])) return;
    p->out[i] = (uint8_t)(share > 0 && share >= rest ? p->best[i] : p->count + 1);
    p->strength[i] = sqrtf((float)(share > rest ? share : rest) / LOB_FUSE_ONE);
}

/* What grew from a label that atlases have, which flag tells, goes to the one with most votes. */
LOB_BOTH void lob_carry_to_best(const lob_carry_pass *p, int64_t i)
{
    const int32_t l = p->out[i];
    if (l == 0 || l > p->count || !p->flag[l]) return;
    if (p->best[i] > 0 && !(p->reached && p->reached[i])) p->out[i] = p->best[i];
}

/* What votes say of a label's result: sums of voxels and of its votes in them; doubt. */
LOB_BOTH void lob_carry_judge(const lob_carry_pass *p, int64_t i, int64_t *sums)
{
    const int64_t has = p->own ? p->own[i] : 0;
    const int32_t l = p->out[i];
    if (l == p->label) {
        lob_fuse_add(&sums[0], 1);
        lob_fuse_add(&sums[1], has);
    }
    if (!p->doubt) return;
    float doubt = p->label == 1 ? 0.0f : p->doubt[i];
    if (l == p->label) doubt = 1 - (float)has / LOB_FUSE_ONE;
    if (l > p->count) doubt = fminf(doubt + (float)has / LOB_FUSE_ONE, 1.0f);
    p->doubt[i] = doubt;
}

/* A pass at voxel i. */
LOB_BOTH void lob_carry_voxel(const lob_carry_pass *p, int64_t i, int64_t *sums)
{
    switch (p->kind) {
    case LOB_CARRY_FINITE:
        if (isfinite(p->image[i])) lob_fuse_add(&sums[0], 1);
        break;
    case LOB_CARRY_MARK:
        lob_carry_mark(p, i);
        break;
    case LOB_CARRY_CLEAR:
        p->best[i] = 0;
        p->share[i] = p->all[i] = 0;
        break;
    case LOB_CARRY_WIN:
        lob_carry_win(p, i);
        break;
    case LOB_CARRY_SURE:
        p->seeds[i] = p->share[i] >= p->sure ? p->best[i] : 0;
        break;
    case LOB_CARRY_COUNT:
        lob_fuse_add(&sums[p->seeds[i]], 1);
        break;
    case LOB_CARRY_REST:
        lob_carry_rest(p, i, sums);
        break;
    case LOB_CARRY_DENSE:
        p->out[i] = p->seeds[i] ? (uint8_t)(p->flag[p->seeds[i]] + 1) : 0;
        break;
    case LOB_CARRY_REOPEN:
        lob_carry_reopen(p, i, sums);
        break;
    case LOB_CARRY_DRAW:
        lob_carry_draw(p, i);
        break;
    case LOB_CARRY_WEAK:
        lob_carry_weak(p, i);
        break;
    case LOB_CARRY_BYTES:
        p->out[i] = p->own ? (uint8_t)((p->own[i] * 255 + LOB_FUSE_ONE / 2) / LOB_FUSE_ONE) : 0;
        break;
    case LOB_CARRY_TO_BEST:
        lob_carry_to_best(p, i);
        break;
    case LOB_CARRY_JUDGE:
        lob_carry_judge(p, i, sums);
        break;
    }
}

LOB_END_DECLS

#endif
