/* Names and colours of labels after the steps of lobule labels. */
#ifndef LOB_LABELS_HEIRS_H
#define LOB_LABELS_HEIRS_H

#include "kernels/labels/label_steps.h"
#include "volumes/label_names.h"

/*
 * Give a result the names of the labels that its own come from; of labels that became one, the
 * name of that which had the number, else of the smallest.
 *
 *   to      in/out  none
 *   result  in      of so many steps
 *   all     in      also names of labels that did not come through, as outside of a mask
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_labels_pass_names(lob_label_names *to, const lob_label_names *from,
                                 const lob_labels_output *result, int steps, bool all);

#endif
