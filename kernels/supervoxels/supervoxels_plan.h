/*
 * The plan of a call: what the host works out from the options and the range of levels, the same
 * for both backends: the rule with its grid, the tables, and how stored values become levels.
 */
#ifndef LOB_SUPERVOXELS_PLAN_H
#define LOB_SUPERVOXELS_PLAN_H

#include "kernels/levels/levels.h"
#include "kernels/supervoxels/supervoxels_voxel.h"

LOB_BEGIN_DECLS

typedef struct {
    lob_supervoxels_rule rule;
    lob_levels levels;                             /* of the whole image; not used in CIELAB */
    uint16_t lowest[LOB_SUPERVOXELS_MAX_CHANNELS]; /* the level of kernels/levels that counts as 0
                                                      here; 0 in CIELAB */
    double size_mm;

    /*
     * Tables, malloc'ed; NULL where the rule does not need them.
     *
     *   axis_cos_sin   lsc: side[0] + side[1] + side[2] entries, by x, then y, then z
     *   level_cos_sin  lsc: level_tables (1, or 2 in CIELAB) tables of LOB_COS_SIN_ENTRIES;
     *                  entry [lob_lsc_table][level >> shift]
     *   root           CIELAB: LOB_LAB_ROOTS, for lob_lab. A device makes its own
     */
    lob_cos_sin *axis_cos_sin, *level_cos_sin;
    int level_tables;
    uint16_t *root;
    uint16_t linear[256]; /* CIELAB: for lob_lab */
} lob_supervoxels_plan;

/*
 * Check that options lie in their ranges and that the image fits, without a look at its voxels.
 * Returns LOB_OK, LOB_EARG or LOB_EDATA.
 */
lob_status lob_supervoxels_check(const lob_supervoxels_input *in,
                                 const lob_supervoxels_options *options, lob_error *error);

/*
 * Make the plan of a call that lob_supervoxels_check has accepted.
 *
 *   plan      out  free with lob_supervoxels_plan_free; holds nothing on failure
 *   levels    in   of the whole image, settled from the extremes (lob_levels_settle)
 *   extremes  in   one an image channel, of its data
 *   context   in   threads; with a device no table of roots is made
 *
 * Returns LOB_OK, LOB_EARG (a size that is too small for the spacing), LOB_EDATA (no data, more
 * than 2^31 - 2 clusters, or such as might have 2^32 voxels) or LOB_ENOMEM.
 */
lob_status lob_supervoxels_plan_make(lob_supervoxels_plan *plan, const lob_supervoxels_input *in,
                                     const lob_supervoxels_options *options,
                                     const lob_levels *levels, const lob_extremes *extremes,
                                     const lob_context *context, lob_error *error);

/* Entries of axis_cos_sin. */
static inline int64_t lob_supervoxels_coordinates(const lob_supervoxels_rule *rule)
{
    return (int64_t)rule->side[0] + rule->side[1] + rule->side[2];
}

/* Bytes of its tables. */
int64_t lob_supervoxels_plan_bytes(const lob_supervoxels_plan *plan);

/* Free the tables and leave the plan all zero. */
void lob_supervoxels_plan_free(lob_supervoxels_plan *plan);

/* The most that labels can number. */
enum { LOB_FRAGMENTS_MAX = INT32_MAX - 1 };

static inline lob_status lob_fragments_too_many(lob_error *error)
{
    return lob_fail(error, LOB_EDATA,
                    "the supervoxels fall into more than %d connected parts; ask for larger ones",
                    LOB_FRAGMENTS_MAX);
}

LOB_END_DECLS

#endif
