/* A list of labels as it is given on the command line: "2,4,7-9". */
#ifndef LOB_LABEL_LIST_H
#define LOB_LABEL_LIST_H

#include "volumes/status.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Is this a list: labels or ranges of them, each >= 1, a range's ends in order, between commas?
 * Returns LOB_OK or LOB_EARG; the message names the option.
 */
lob_status lob_label_list_check(const char *list, const char *option, lob_error *error);

/* The first range of a list that has been checked; returns the rest, NULL after the last one. */
const char *lob_label_list_next(const char *list, int32_t *first, int32_t *last);

/* Is this label in a list that has been checked? */
bool lob_label_list_has(const char *list, int32_t label);

#endif
