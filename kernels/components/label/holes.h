/*
 * Holes: components of the background that reach no border of the volume, and the label that each
 * takes.
 */
#ifndef LOB_HOLES_H
#define LOB_HOLES_H

#include "kernels/components/join/run_table.h"

/*
 * Find the holes of labelled components.
 *
 *   holes    out  a table whose number is the label that each hole takes, or 0; all fields that a
 *                 caller of lob_label_runs sets are set here
 *   labels   in   a table whose number is the label of each piece, or 0
 *   removed  in   whether the number of any piece of labels is 0
 *   share    in   share of the whole call's progress at the start and at the end
 *
 * Returns as lob_label_runs does; lob_run_table_free(holes) afterwards in any case.
 */
lob_status lob_components_holes(lob_run_table *holes, const lob_run_table *labels, bool removed,
                                const double share[2], lob_error *error);

#endif
