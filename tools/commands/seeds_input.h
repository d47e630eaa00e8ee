/* Seeds of several labels as commands read them: numbered 1..K, one of them the background. */
#ifndef LOB_SEEDS_INPUT_H
#define LOB_SEEDS_INPUT_H

#include "kernels/appearance/strokes.h"
#include "tools/inout/grid.h"
#include "volumes/labels.h"

typedef struct {
    lob_volume volume;  /* labels 1..set.count, 0: unknown */
    lob_label_set set;  /* the labels in the file */
    int32_t background; /* 1..set.count */
} lob_seeds_input;

/*
 * Read seeds on the image's grid, and choose the background: the label that is asked for, or the
 * one that lob_strokes_background finds; the report says which.
 *
 *   seeds       out  free with lob_seeds_free, also after a failure
 *   background  in   label in the file; < 0: to be found
 *
 * Returns LOB_OK, what lob_grid_read and lob_labels_dense do, or LOB_EDATA (no seeds, one label
 * alone, no seed of the background).
 */
lob_status lob_seeds_read(lob_session *s, lob_seeds_input *seeds, const char *path,
                          const lob_volume *image, const char *image_path, int background);

void lob_seeds_free(lob_seeds_input *seeds);

/*
 * Read labels on the image's grid and number them as the seeds are. Returns LOB_OK, what
 * lob_grid_read and lob_labels_dense do, or LOB_EDATA (a label that no seed has).
 */
lob_status lob_seeds_labels(lob_session *s, lob_volume *labels, const char *path,
                            const lob_seeds_input *seeds, const char *seeds_path,
                            const lob_volume *image, const char *image_path);

/*
 * Read shares of appearance, times 255, on the image's grid. Returns what lob_session_read and
 * lob_grid_match do.
 */
lob_status lob_shares_read(lob_session *s, lob_volume *shares, const char *path,
                           const lob_volume *image, const char *image_path);

/* Are they of so many labels, one of which is the background? Returns LOB_OK or LOB_EDATA. */
lob_status lob_shares_check(lob_session *s, const lob_volume *shares, const char *path,
                            int32_t labels);

#endif
