/*
 * A GrowCut rule in fixed point: what both backends need to know to take a step.
 *
 * A cost is a whole number of units; one level of difference costs `unit` units (exactly in the
 * distance rule, about in the strength rule). The strength rule's table is round(-ln(1 - d/dmax) *
 * dmax * unit), made once on the host; `unit` is a power of two, 64 where the table then fits 30
 * bits, which keeps the rounding of a path of n steps below n/128 levels. The distance rule needs
 * no fraction unless there is a penalty, so its unit is 1 without and 64 with one.
 */
#ifndef LOB_GROWCUT_RULE_H
#define LOB_GROWCUT_RULE_H

#include "kernels/growcut/growcut.h"
#include "kernels/levels/levels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fraction bits go on only while a table stays below so many entries. */
enum { LOB_GROWCUT_ENTRIES = 1 << 20 };

typedef struct {
    int fraction;     /* distances d count 1 / 2^fraction levels: 0 where they are whole */
    uint32_t dmax;    /* largest distance that the levels' spans allow, at least 1 */
    uint32_t *cost;   /* dmax + 1: units of a step over distance d; LOB_NO_PASSAGE; malloc'ed */
    uint32_t dearest; /* the largest finite entry of cost plus the largest of extra */
    double unit;      /* units per level */
    double fold;      /* units over which a strength falls by a factor of e: dmax levels */
    int neighbours;
    int8_t offset[26][3]; /* neighbour k lies at x + offset[k][0], ... of the view */
    uint32_t extra[26];   /* units that a step to neighbour k costs beyond cost[d] */
    uint64_t limit;       /* no path may cost more units than this; UINT64_MAX: no limit */
} lob_growcut_rule;

/*
 * Make the rules of n views of one shape, such as all slices, whose levels have been scanned.
 *
 *   rule     out  n; free each with lob_growcut_rule_free
 *   levels   in   n
 *   span     in   n times image->channels: lob_levels_scan's spans, view after view
 *   view     in   any one of the views: its axes tell the lengths of steps
 *   threads  in   >= 1; the rules do not depend on it
 *
 * Returns LOB_OK or LOB_ENOMEM; then no rule holds anything.
 */
lob_status lob_growcut_rules_make(lob_growcut_rule *rule, int64_t n,
                                  const lob_growcut_options *options, const lob_levels *levels,
                                  const uint16_t *span, const lob_volume *image,
                                  const lob_view *view, int threads);

/* Free the table and leave the rule all zero. */
void lob_growcut_rule_free(lob_growcut_rule *rule);

/* Are 32-bit keys worth trying? Beyond so many labels they leave a cost 8 bits and less. */
static inline bool lob_growcut_narrow(int32_t labels)
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
