/* What the files of `lobule growcut` share. */
#ifndef LOB_GROWCUT_WORK_H
#define LOB_GROWCUT_WORK_H

#include "kernels/growcut/growcut.h"
#include "tools/inout/slabs.h"
#include "volumes/labels.h"

typedef struct {
    const char *image, *seeds, *labels, *label_table;
    const char *mask, *seed_strength, *strength, *tie;
    int frame, rule, norm, neighbours, slices, rounds, tile, plan;
    double penalty, range[2], min_strength, max_cost;
    lob_size max_mm;
    bool trust_seeds;
} lob_growcut_settings;

/* Everything on the grid, freed together. */
typedef struct {
    lob_growcut_settings set; /* first */
    lob_volume image, seeds;
    lob_volume labels, strength, tie; /* outputs; the last two only on request */
    lob_volume strengths; /* as the file of --seed-strength has them, while it is read */
    lob_label_set labelled;
    uint8_t *mask;        /* NULL: everything may be labelled */
    float *seed_strength; /* NULL: every seed has strength 1 */
    uint8_t *is_seed;     /* scratch of --max-mm */
    float *squared_mm;
    int64_t *voxels; /* of each label of the result, and of 0 before them */
} lob_growcut_work;

/* Tell how many seeds each label has. */
void lob_growcut_say_seeds(lob_session *s, const lob_label_set *set);

/* Say how many seeds there are, and refuse what is most likely the scan. Returns LOB_OK or
 * LOB_EDATA. */
lob_status lob_growcut_check_seeds(lob_session *s, const lob_growcut_work *w);

/* Refuse what has no seeds, or one label alone and no limit. Returns LOB_OK or LOB_EDATA. */
lob_status lob_growcut_check_labels(lob_session *s, const lob_growcut_work *w);

/* Read --seed-strength, if it is given. */
lob_status lob_growcut_read_strength(lob_session *s, lob_growcut_work *w);

/* Take the strengths that w->strengths holds, from plane z of the image on. */
lob_status lob_growcut_take_strength(lob_session *s, lob_growcut_work *w, int64_t z);

/* Allocate results on the grid of an image, or of a slab of it. */
lob_status lob_growcut_make_outputs(lob_session *s, lob_growcut_work *w, const lob_volume *image);

/* The kernel's options; axis: across the slices, or -1. */
lob_growcut_options lob_growcut_options_of(const lob_growcut_settings *set, int axis);

/* Voxels of each of so many dense labels, and of 0 before them; NULL without memory. */
int64_t *lob_growcut_count(const lob_volume *labels, int32_t label_count, int threads);

/*
 * Take voxels farther than --max-mm from every seed out of the mask. With --slices (axis >= 0),
 * distance is measured inside the slice.
 *
 *   slab  in  of several tasks, whose mask is then w->mask; NULL: all is here
 */
lob_status lob_growcut_limit_distance(lob_session *s, lob_growcut_work *w, int axis,
                                      const lob_slab *slab);

/* The whole command by several tasks, or its --plan. */
lob_status lob_growcut_by_slabs(lob_session *s, lob_growcut_work *common);

/* Add to the error of one task without memory how many would do. Returns the status. */
lob_status lob_growcut_suggest(lob_session *s, const lob_growcut_settings *set, lob_status status);

/* Fill in the report, with w->voxels counted before; without the image's voxels, nothing of its
 * levels; note what the user should know. */
lob_status lob_growcut_report(lob_session *s, lob_growcut_work *w, const lob_growcut_stats *stats,
                              int axis);

#endif
