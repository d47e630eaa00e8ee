/* What the files of `lobule seeds` share. */
#ifndef LOB_SEEDS_WORK_H
#define LOB_SEEDS_WORK_H

#include "tools/commands/seeds_input.h"
#include "tools/table/point_file.h"

typedef struct {
    const char *image_path, *out, *shares_path, *complete;
    lob_words labels_paths, points_paths, seeds_paths;
    lob_size radius, erode, shell;
    int label, shell_label, conflict, background, corrections, complete_axis;

    lob_volume image, from, near, shares, values;
    lob_label_set labels; /* of from, a file with labels */
    bool *left;           /* of these, which eroding leaves */
    uint8_t *kept;        /* of the seeds' voxels, what looking at them keeps; NULL: not now */
    lob_points read;
    lob_volume seeds; /* LOB_I32; -L: label L for now, but sources disagree */
    int64_t points, outside, left_out;
    int32_t rest; /* dense number of --background in the labels of --complete, which near has */
} lob_seeds_work;

/* Give a voxel a seed, by the rule for conflicts. */
void lob_seeds_put(lob_seeds_work *w, int64_t i, int32_t label);

/* Put a ball, of its own radius or --radius, around each point of a file. */
lob_status lob_seeds_put_points(lob_session *s, lob_seeds_work *w, const char *path);

/* Points beside the image are told of; if there are no others, that is LOB_EDATA. */
lob_status lob_seeds_check_points(lob_session *s, const lob_seeds_work *w);

/* Look at the seeds for --complete, --corrections and --shares: what joins, what is left out. */
lob_status lob_seeds_look(lob_session *s, lob_seeds_work *w);

#endif
