/* Label steps from their definitions, voxel by voxel. */
#ifndef LOB_LABELS_REFERENCE_H
#define LOB_LABELS_REFERENCE_H

#include "kernels/labels/label_steps.h"

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
