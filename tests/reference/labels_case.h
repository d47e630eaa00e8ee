/* Random label volumes and chains of label steps, the same for one number. */
#ifndef LOB_LABELS_CASE_H
#define LOB_LABELS_CASE_H

#include "kernels/labels/label_steps.h"

enum { LABELS_CASE_STEPS = 4, LABELS_CASE_RULES = 6 };

typedef struct {
    uint64_t number;
    char shape[400]; /* for messages */
    int64_t n;
    lob_labels_input in;
    lob_labels_options options;

    void *labels;
    uint8_t *mask;
    int32_t *values;
    lob_labels_step steps[LABELS_CASE_STEPS];
    lob_labels_rule rules[LABELS_CASE_STEPS][LABELS_CASE_RULES];
} labels_case;

/*
 * Make case `number`; free it with labels_case_free.
 *
 *   max_voxels  in  at most so many
 */
void labels_case_make(labels_case *c, uint64_t number, int64_t max_voxels);
void labels_case_free(labels_case *c);

/* ---- the reference: from definitions, voxel by voxel ---- */

/*
 * As lob_labels_cpu, for small volumes and valid input. Ends the program where there is no memory.
 *
 *   labels  out  nx*ny*nz
 */
void labels_reference(int32_t *labels, const lob_labels_input *in,
                      const lob_labels_options *options);

/* NULL when two results have the same bytes in all but working_bytes, else what differs. */
const char *labels_result_differs(const lob_labels_output *a, const lob_labels_output *b,
                                  const lob_labels_input *in);

#endif
