/* The plan of cells.h as a recipe: plain lines of commands, which a person can keep and change. */
#ifndef LOB_CELLS_RECIPE_H
#define LOB_CELLS_RECIPE_H

#include "kernels/cells/cells.h"
#include "tools/inout/grid.h"

/* The columns of the table of cells. */
#define LOB_CELLS_COLUMNS "basic,diameter,elongation,sphericity,neighbours"

/* What the lines read and write. */
typedef struct {
    const char *image, *out, *table; /* files; no table: NULL */
    int frame, channel;              /* of the image; < 0: not given */
    lob_stated_grid stated;          /* of the image */
} lob_cells_files;

/* Print lines that give the bytes of lob_cells. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_cells_recipe_print(const lob_cells_plan *plan, const lob_cells_files *files,
                                  lob_error *error);

#endif
