/* Voxel sizes and the place of an image that the caller states, in place of those of its file: many
 * pictures and arrays say nothing of them. */
#ifndef LOB_STATED_GRID_H
#define LOB_STATED_GRID_H

#include "tools/options/options.h"
#include "volumes/volume.h"

typedef struct {
    double spacing[3], origin[3]; /* mm along x, y, z; NaN: not stated */
} lob_stated_grid;

#define LOB_NOT_STATED                                          \
    {                                                           \
        .spacing = {NAN, NAN, NAN}, .origin = { NAN, NAN, NAN } \
    }

#define OPT_SPACING(pointer)                                                                \
    OPT_TRIPLE("spacing", pointer, 0, 1e6,                                                  \
               "voxel sizes in mm, in place of those that the file gives; axes keep their " \
               "directions",                                                                \
               .above_low = true)
#define OPT_ORIGIN(pointer)                  \
    OPT_TRIPLE("origin", pointer, -1e9, 1e9, \
               "where the first voxel's middle lies in mm (RAS), in place of what the file gives")

bool lob_grid_is_stated(const lob_stated_grid *stated);

/* Give a volume what is stated. Its header, which says something else, goes. */
void lob_grid_state(lob_volume *volume, const lob_stated_grid *stated);

#endif
