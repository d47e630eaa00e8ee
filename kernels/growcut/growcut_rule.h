/*
 * A GrowCut rule in fixed point: what both backends need to know to take a step.
 *
 * A cost is a whole number of units; one level of difference costs `unit` units (exactly in the
 * distance rule, about in the strength rule). The strength rule's costs are round(-ln(1 - d/dmax) *
 * dmax * unit); `unit` is a power of two, 64 where they then fit 30 bits, which keeps the rounding
 * of a path of n steps below n/128 levels. The distance rule needs no fraction unless there is a
 * penalty, so its unit is 1 without and 64 with one.
 */
#ifndef LOB_GROWCUT_RULE_H
#define LOB_GROWCUT_RULE_H

#include "kernels/growcut/growcut.h"
#include "kernels/levels/levels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fraction bits go on only while a table stays below so many entries. */
enum { LOB_GROWCUT_TABLE_ENTRIES = 1 << 20 };

typedef struct {
    lob_growcut_kind kind;
    int fraction;     /* distances d count 1 / 2^fraction levels: 0 where they are whole */
    uint32_t dmax;    /* largest distance that the levels' spans allow, at least 1 */
    uint32_t max_step; /* the max_step step that can be taken: of its levels plus of its length */
    double unit;      /* units per level */
    double e_folding;      /* units over which a strength falls by a factor of e: dmax levels */
    double scale;     /* lob_growcut_cost's */
    int neighbours;
    int8_t offset[26][3]; /* neighbour k lies at x + offset[k][0], ... of the view */
    uint32_t extra[26];   /* units that a step to neighbour k costs beyond cost[d] */
    uint64_t limit;       /* no path may cost more units than this; UINT64_MAX: no limit */
} lob_growcut_rule;

/*
 * The rule of a view whose levels have been scanned.
 *
 *   span  in  image->channels: lob_levels_scan's spans
 *   view  in  its axes tell the lengths of steps
 */
lob_growcut_rule lob_growcut_rule_of(const lob_growcut_options *options, const lob_levels *levels,
                                     const uint16_t *span, const lob_volume *image,
                                     const lob_view *view);

/* ln[k] = ln(k) for k = 1..last, and ln[0] = 0; the result does not depend on threads, >= 1. */
void lob_growcut_logarithms(double *ln, uint32_t last, int threads);

/* lob_growcut_cost of every distance: dmax + 1, to be freed; NULL when out of memory. */
uint32_t *lob_growcut_costs(const lob_growcut_rule *rule);

/* Are 32-bit keys worth trying? Beyond so many labels they leave a cost 8 bits and less. */
static inline bool lob_growcut_try_32_bits(int32_t labels)
{
    return labels < 1 << 24;
}

/* Units at which a seed of strength t in (0, 1] starts; above every limit for any other t. */
uint64_t lob_growcut_start(const lob_growcut_rule *rule, float strength);

/* The strength exp(-cost / dmax levels) that a cost in units stands for, at least FLT_MIN. */
float lob_growcut_strength(const lob_growcut_rule *rule, uint64_t units);

/*
 * Options within their ranges, and input that fits together? LOB_OK, LOB_EARG with a line that
 * names the option, or LOB_EDATA with one that says what of the input does not fit.
 */
lob_status lob_growcut_check(const lob_growcut_input *in, const lob_growcut_options *options,
                             lob_error *error);

#ifdef __cplusplus
}
#endif

#endif
