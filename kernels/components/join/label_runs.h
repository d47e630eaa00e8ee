/* From the voxels of a volume to a run table whose runs are joined into components. */
#ifndef LOB_LABEL_RUNS_H
#define LOB_LABEL_RUNS_H

#include "kernels/components/join/run_table.h"

/*
 * Make the bits of all rows, join the runs and number the components.
 *
 *   share  in  share of the whole call's progress at which making bits ends, and joining
 *
 * Returns LOB_OK, LOB_EDATA, LOB_ENOMEM or LOB_ECANCEL; lob_run_table_free afterwards in any case.
 */
lob_status lob_label_runs(lob_run_table *table, const double share[2], lob_error *error);

#endif
