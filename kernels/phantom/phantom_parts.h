/* What the kinds of phantom and the code that turns them into volumes agree on. */
#ifndef LOB_PHANTOM_PARTS_H
#define LOB_PHANTOM_PARTS_H

#include "kernels/phantom/phantom.h"

/* The scan before blur, bias and noise, at one voxel. */
typedef struct {
    float depth;     /* how deep inside its region, in any unit; the deepest voxel of a label that
                        has no seed becomes its seed */
    int32_t label;   /* >= 1 */
    uint16_t bright; /* 0..PHANTOM_BRIGHT */
    bool seed;
} phantom_voxel;

enum { PHANTOM_BRIGHT = 4095 * 8 }; /* the full range, in eighths of a 12-bit step */

typedef struct {
    /* Returns LOB_OK, LOB_EARG or LOB_ENOMEM; free(*model) is enough to be rid of it. */
    lob_status (*make)(void **model, int32_t *labels, const lob_phantom_options *options,
                       lob_error *error);
    /* One slice across z, nx * ny voxels. */
    void (*slice)(phantom_voxel *out, const void *model, int64_t z);
    bool rician;   /* noise of a magnitude image; else it grows with brightness */
    lob_dims dims; /* this and what follows: defaults */
    double spacing_mm[3];
    lob_type type;
    double noise, bias;
} phantom_recipe;

extern const phantom_recipe lob_phantom_abdomen, lob_phantom_cells;

#endif
