/* lobule compare --instances: how well labelled objects find those of a truth. */
#ifndef LOB_COMPARE_INSTANCES_H
#define LOB_COMPARE_INSTANCES_H

#include "tools/session/session.h"

typedef struct {
    const char *truth_path, *labels_path;
    const char *table; /* of pairs, a name that has been checked; NULL: none */
    bool quiet;        /* no tables on standard output */
} lob_compare_instances_settings;

/*
 * Score the instances, print tables (TSV) with a blank line between them, and put the same into the
 * results.
 *
 *   truth, labels  in/out  on one grid; renumbered
 *
 * Returns LOB_OK, LOB_EDATA (no labels), LOB_ENOMEM, LOB_ECANCEL or what writing a table does.
 */
lob_status lob_compare_instances(lob_session *s, const lob_compare_instances_settings *set,
                                 lob_volume *truth, lob_volume *labels);

#endif
