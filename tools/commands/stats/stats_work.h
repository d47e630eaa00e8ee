/* What the files of `lobule stats` share. */
#ifndef LOB_STATS_WORK_H
#define LOB_STATS_WORK_H

#include "tools/inout/slabs.h"
#include "tools/inout/stated_grid.h"
#include "tools/table/region_table.h"

typedef struct {
    const char *image, *labels, *table, *name, *columns;
    int frame, channel, plan;
    lob_stated_grid stated;
} lob_stats_settings;

/* Everything on the grid, freed together. */
typedef struct {
    lob_stats_settings set; /* first */
    lob_volume image, labels;
    lob_label_set labelled;
    int64_t frames; /* of the image, that are measured */
    lob_region_table table;
} lob_stats_work;

/* What is stated of the image holds for labels that lie as its file says. */
void lob_stats_state_grid(lob_volume *image, lob_volume *labels, const lob_stated_grid *stated);

/* Fill in the report, and write the table, whose regions are measured. */
lob_status lob_stats_write(lob_session *s, lob_stats_work *w);

/* The whole command in slabs. */
lob_status lob_stats_by_slabs(lob_session *s, lob_stats_work *common, lob_slabs *slabs);

#endif
