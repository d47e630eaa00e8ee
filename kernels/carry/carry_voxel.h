/* What a carry does at a voxel between the algorithms that it calls; for both compilers. */
#ifndef LOB_CARRY_VOXEL_H
#define LOB_CARRY_VOXEL_H

#include "kernels/carry/carry_job.h"
#include "kernels/fuse/fuse_voxel.h"

LOB_BEGIN_DECLS

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
