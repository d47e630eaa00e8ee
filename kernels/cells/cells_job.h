/* A call of cells.h as its steps see it: what they share. This header is not installed. */
#ifndef LOB_CELLS_JOB_H
#define LOB_CELLS_JOB_H

#include "kernels/budget.h"
#include "kernels/cells/cells.h"

typedef struct {
    const lob_backend *backend;
    const lob_context *caller;
    lob_error *error;
    lob_budget budget; /* of what lies between the steps */
    double from, to;   /* of the caller's progress: what the step at hand covers */
} lob_cells_job;

lob_cells_job lob_cells_begin(const lob_backend *backend, const lob_context *caller,
                              lob_error *error);

/* Begin a step that ends at a share of the whole. Returns LOB_OK or LOB_ECANCEL. */
lob_status lob_cells_step(lob_cells_job *j, double to);

/* The context of a step's call: its progress is a part of the caller's, its memory what is left. */
lob_context lob_cells_context(lob_cells_job *j);

/* Voxels on an image's grid, without its header. */
lob_volume lob_cells_volume(const lob_volume *image, void *data, lob_type type);

/*
 * Run steps on an image, Gaussians with its edges repeated.
 *
 *   out  out  float32, counted in the budget; give back with lob_cells_drop
 */
lob_status lob_cells_filter(lob_cells_job *j, lob_volume *out, const lob_volume *image,
                            const lob_filter_step *steps, int count);

/* Count voxels that a step has made; they are freed where the budget has no room. */
lob_status lob_cells_take(lob_cells_job *j, lob_volume *to, lob_volume *made);

/* Free voxels that the budget counts; none are fine. */
void lob_cells_drop(lob_cells_job *j, lob_volume *volume);

/* A Gaussian of so many mm, or a box of this radius, along the axes of an image. */
lob_filter_step lob_cells_along(lob_filter_kind kind, const lob_volume *image, double mm);

#endif
