/* Names and colours follow their labels through the steps of a chain. */
#ifndef LOB_LABELS_NAMES_H
#define LOB_LABELS_NAMES_H

#include "kernels/labels/label_chain.h"
#include "volumes/labels.h"

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
