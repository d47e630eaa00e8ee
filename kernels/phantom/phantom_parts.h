/* The interface between phantom_scan.c, which makes volumes, and the kinds of phantom. */
#ifndef LOB_PHANTOM_PARTS_H
#define LOB_PHANTOM_PARTS_H

#include "kernels/phantom/phantom.h"

/* A voxel of the scan before blur, bias and noise. */
typedef struct {
    float depth;     /* depth inside its region, in any unit: a label without a seed gets its
                        deepest voxel as seed */
    int32_t label;   /* >= 1 */
    uint16_t bright; /* 0..PHANTOM_BRIGHT */
    bool seed;
} phantom_voxel;

enum { PHANTOM_BRIGHT = 4095 * 8 }; /* the full range: 12 bits, in eighths */

typedef struct {
    /* Returns LOB_OK, LOB_EARG or LOB_ENOMEM; the caller frees *model with free(). */
    lob_status (*make)(void **model, int32_t *labels, const lob_phantom_options *options,
                       lob_error *error);
    /* Make slice z, nx * ny voxels. */
    void (*slice)(phantom_voxel *out, const void *model, int64_t z);
    bool rician;   /* Rician noise; else noise that grows with brightness */
    lob_dims dims; /* from here on: default options */
    double spacing_mm[3];
    lob_type type;
    double noise, bias;
} phantom_recipe;

extern const phantom_recipe lob_phantom_abdomen, lob_phantom_cells;

#endif
