/* What the files of `lobule cells` share. */
#ifndef LOB_CELLS_WORK_H
#define LOB_CELLS_WORK_H

#include "kernels/cells/cells.h"
#include "tools/inout/slabs.h"
#include "tools/table/region_table.h"

/* The columns of the table of cells. */
#define LOB_CELLS_COLUMNS "basic,diameter,elongation,sphericity,neighbours"

/* What it reads and writes. */
typedef struct {
    const char *image, *out, *table; /* files; no table: NULL */
    int frame, channel;              /* of the image; < 0: not given */
    lob_stated_grid stated;          /* of the image */
} lob_cells_files;

typedef struct {
    lob_cells_files files;
    bool print, walls;
    lob_size size;           /* infinite: not given */
    lob_cells_options given; /* NAN: not given */
    lob_cells_options options;
    lob_cells_plan plan;
    lob_cells_stats stats;
    lob_volume image, labels;
    lob_region_table table;
    lob_slabs slabs; /* the image, cut for several tasks */
} lob_cells_work;

/* ---- cells_report.c ---- */

/* Print lines of commands that give the bytes of lob_cells: a recipe, to keep and change. */
lob_status lob_cells_print_recipe(const lob_cells_plan *plan, const lob_cells_files *files,
                                  lob_error *error);

void lob_cells_report_plan(lob_session *s, const lob_cells_plan *plan);
void lob_cells_report(lob_session *s, const lob_cells_work *set);
lob_status lob_cells_write_table(lob_session *s, lob_cells_work *set);

/* ---- cells_slabs.c ---- */

/* What --size says, for voxels of these sides. */
void lob_cells_take_size(lob_cells_work *set, const lob_volume *image);

lob_status lob_cells_by_slabs(lob_session *s, lob_cells_work *set);

/* After LOB_ENOMEM: add to the error what would do. */
void lob_cells_suggest(lob_session *s, lob_cells_work *set);

#endif
