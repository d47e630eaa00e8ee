/* What the files of `lobule growcut` share. */
#ifndef LOB_GROWCUT_WORK_H
#define LOB_GROWCUT_WORK_H

#include "kernels/growcut/growcut.h"
#include "tools/inout/slabs.h"
#include "volumes/labels.h"

typedef struct {
    const char *seeds_path, *labels_path, *label_table;
    const char *seed_strength_path, *strength_path, *tie_path;
    int rule, norm, slices;
    lob_growcut_options options;
    lob_size max_mm;
    bool trust_seeds;

    lob_volume image, seeds;
    lob_volume labels, strength, tie; /* outputs; the last two only on request */
    lob_volume strengths; /* as the file of --seed-strength has them, while it is read */
    lob_label_set labelled;
    uint8_t *mask;        /* NULL: everything may be labelled */
    float *seed_strength; /* NULL: every seed has strength 1 */
    uint8_t *is_seed;     /* scratch of --max-mm */
    float *squared_mm;
    int64_t *voxels; /* of each label of the result, and of 0 before them */

    lob_slabs slabs;               /* image and mask as asked for, cut for several tasks, */
    lob_slab slab;                 /* of which this is the task's own; of one, all of it */
    lob_plane_input strength_file; /* of --seed-strength */
    int64_t sent;                  /* bytes, by this task before its planes were taken */
} lob_growcut_work;

/* Say how many seeds there are, of all tasks; refuse what has none, or one label alone and no
 * limit, or is most likely the scan; then take names of --label-table. */
lob_status lob_growcut_check_seeds(lob_session *s, lob_growcut_work *w);

/* Take the strengths that w->strengths holds, from plane z of the image on. */
lob_status lob_growcut_take_strength(lob_session *s, lob_growcut_work *w, int64_t z);

/* Grow, report and write, once all inputs are there. */
lob_status lob_growcut_grow(lob_session *s, lob_growcut_work *w);

/* Voxels of each dense label, and of 0 before them, in the planes of all tasks; malloc'ed. */
lob_status lob_growcut_count(lob_session *s, const lob_growcut_work *w, const lob_volume *labels,
                             int64_t **count);

/*
 * Take voxels farther than --max-mm from every seed out of the mask. With --slices distance is
 * measured inside the slice. Of several tasks the slab's mask is then w->mask.
 */
lob_status lob_growcut_limit_distance(lob_session *s, lob_growcut_work *w);

/* The whole command by several tasks, or its --plan. */
lob_status lob_growcut_by_slabs(lob_session *s, lob_growcut_work *w);

/* Add to the error of one task without memory how many would do. Returns the status. */
lob_status lob_growcut_suggest(lob_session *s, const lob_growcut_work *w, lob_status status);

/* Fill in the report, with w->voxels counted before; without the image's voxels, nothing of its
 * levels; note what the user should know. */
lob_status lob_growcut_report(lob_session *s, lob_growcut_work *w, const lob_growcut_stats *stats);

#endif
