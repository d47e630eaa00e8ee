/* Grids that the caller states. */
#include "tools/inout/stated_grid.h"

#include <math.h>
#include <stdlib.h>

bool lob_grid_is_stated(const lob_stated_grid *stated)
{
    return !isnan(stated->spacing[0]) || !isnan(stated->origin[0]);
}

void lob_grid_state(lob_volume *volume, const lob_stated_grid *stated)
{
    lob_geometry *const g = &volume->geometry;
    if (!lob_grid_is_stated(stated)) return;
    for (int a = 0; a < 3; a++) {
        const double ratio = isnan(stated->spacing[0]) ? 1 : stated->spacing[a] / g->spacing_mm[a];
        for (int row = 0; row < 3; row++) g->affine[row][a] *= ratio;
        g->spacing_mm[a] *= ratio;
    }
    for (int row = 0; row < 3 && !isnan(stated->origin[0]); row++)
        g->affine[row][3] = stated->origin[row];
    free(volume->header.bytes);
    free(volume->header.extensions);
    volume->header = (lob_header){.format = NULL};
}
