/*
 * Shares smoothed and in steps of 1/255, on the CPU: plane by plane, so that shares in float32 are
 * never held for all voxels. The bytes of filters.h's Gaussian, scale and cast. This header is not
 * installed.
 */
#ifndef LOB_APPEARANCE_LEVELS_H
#define LOB_APPEARANCE_LEVELS_H

#include "kernels/appearance/appearance_plan.h"
#include "kernels/filters/gaussian/gaussian_plan.h"

LOB_BEGIN_DECLS

/* How planes are smoothed. */
typedef struct {
    lob_filter_step step;
    lob_filter_options options;
    lob_filter_call call;
    lob_gaussian_plan gaussian;
    bool by_planes; /* else the Gaussian is too wide for it */
} lob_appearance_smoothing;

/* Begin; free it, also after a failure. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_appearance_smoothing_make(lob_appearance_smoothing *s, lob_dims dims,
                                         const double spacing_mm[3], double blur_mm,
                                         lob_budget *budget, lob_error *error);
void lob_appearance_smoothing_free(lob_appearance_smoothing *s, lob_budget *budget);

/* Plane z of all labels, nx*ny numbers each, *apart numbers from one label to the next; it may be
 * put into buffer, which holds them all. */
typedef const float *lob_appearance_plane(void *user, float *buffer, int64_t z, int64_t *apart);

/*
 * For what goes by planes.
 *
 *   levels  out  labels * nx*ny*nz
 *   plane   in   asked for from z = 0 up, with user
 *
 * Progress is the context's 0.7..1. Returns LOB_OK, LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_appearance_smooth(uint8_t *levels, int labels, lob_dims dims,
                                 const lob_appearance_smoothing *s, lob_appearance_plane *plane,
                                 void *user, const lob_context *context, lob_budget *budget,
                                 lob_error *error);

LOB_END_DECLS

#endif
