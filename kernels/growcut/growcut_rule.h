/*
 * A GrowCut rule in fixed point: what a step costs, on either backend.
 *
 * A cost is a whole number of units, and a difference of one level costs `unit` units (exactly in
 * the distance rule, approximately in the strength rule). `unit` is a power of two, but for square.
 * In the strength rule a step costs round(-ln(1 - d/dmax) * D * unit), D being dmax in levels; unit
 * is 64 where these costs then fit 30 bits, so that a path of n steps is rounded by less than n/128
 * levels. In the distance and value rules unit is 1, or 64 with a penalty or with distances that
 * are no whole levels. In the square rule it is dmax over the least power of two with which a step
 * fits 30 bits. In the flood it is 1: steps are counted in bits of a key below those of its cost.
 */
#ifndef LOB_GROWCUT_RULE_H
#define LOB_GROWCUT_RULE_H

#include "kernels/growcut/growcut.h"
#include "kernels/levels/levels.h"

LOB_BEGIN_DECLS

/* Distances get more fraction bits only while a table of costs has fewer entries than this. */
enum { LOB_GROWCUT_TABLE_ENTRIES = 1 << 20 };

typedef struct {
    lob_growcut_kind kind;
    int fraction;      /* a distance d counts 1 / 2^fraction levels */
    uint32_t dmax;     /* largest distance that spans allow, in 1 / 2^fraction levels; >= 1 */
    uint32_t max_step; /* the largest cost of a step that can be taken, length included, in units */
    double unit;       /* units per level */
    double e_folding;  /* units over which a strength falls by a factor of e: those of dmax */
    double scale;      /* lob_growcut_cost's */
    int neighbours;
    int8_t offset[26][3]; /* neighbour k lies at x + offset[k][0], ... of the view */
    uint32_t extra[26];   /* units that a step to neighbour k costs beyond cost[d]; flood: 0 */
    uint64_t limit;       /* no path may cost more units; UINT64_MAX: no limit */
} lob_growcut_rule;

/*
 * The rule of a view whose levels have been scanned.
 *
 *   span  in  image->channels: lob_levels_scan's spans
 *   view  in  its axes and the image's spacing give the lengths of steps
 */
lob_growcut_rule lob_growcut_rule_of(const lob_growcut_options *options, const lob_levels *levels,
                                     const uint16_t *span, const lob_volume *image,
                                     const lob_view *view);

/* ln[k] = ln(k) for k = 1..last, and ln[0] = 0; the result does not depend on threads, >= 1. */
void lob_growcut_logarithms(double *ln, uint32_t last, int threads);

/* lob_growcut_cost of every distance: dmax + 1, to be freed; NULL when out of memory. */
uint32_t *lob_growcut_costs(const lob_growcut_rule *rule);

/* Are 32-bit keys worth an attempt? With more labels they leave 8 bits or fewer for the cost. A
 * flood also needs some for its steps. */
static inline bool lob_growcut_try_32_bits(int32_t labels)
{
    return labels < 1 << 24;
}

/* The cost, in units, at which a seed of strength in (0, 1] starts; UINT64_MAX for any other. */
uint64_t lob_growcut_start(const lob_growcut_rule *rule, float strength);

/* The strength of a cost in units: exp(-units / e_folding), at least FLT_MIN. */
float lob_growcut_strength(const lob_growcut_rule *rule, uint64_t units);

/* Add what growing some sections gave to what others gave. */
void lob_growcut_stats_add(lob_growcut_stats *to, const lob_growcut_stats *part);

/*
 * Check the options' ranges, and that the input, which may be a slab, fits together. Returns
 * LOB_OK, LOB_EARG with a line that names the option, or LOB_EDATA with a line that says what of
 * the input does not fit.
 */
lob_status lob_growcut_check(const lob_growcut_input *in, const lob_growcut_options *options,
                             bool is_slab, lob_error *error);

/* After the growth: LOB_EDATA where no seed lies on data. */
lob_status lob_growcut_check_grown(const lob_growcut_stats *stats, lob_error *error);

LOB_END_DECLS

#endif
