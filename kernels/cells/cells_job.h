/*
 * A call of cells.h as its steps see it: what they share. This header is not installed.
 *
 * Voxels between the steps lie where the context computes, and in ordinary memory where a step is
 * the CPU's: a lob_cells_voxels has them at one place or at both, and copies them when they are
 * asked for at the other. Without a GPU both are one.
 */
#ifndef LOB_CELLS_JOB_H
#define LOB_CELLS_JOB_H

#include "kernels/arrays.h"
#include "kernels/budget.h"
#include "kernels/cells/cells.h"

typedef struct {
    const lob_backend *backend;
    const lob_context *caller;
    lob_error *error;
    lob_budget budget; /* of what lies between the steps */
    double from, to;   /* of the caller's progress: what the step at hand covers */
    lob_edge edge;     /* of Gaussians */
} lob_cells_job;

lob_cells_job lob_cells_begin(const lob_backend *backend, const lob_context *caller,
                              lob_error *error);

/* Begin a step that ends at a share of the whole. Returns LOB_OK or LOB_ECANCEL. */
lob_status lob_cells_step(lob_cells_job *j, double to);

/* The context of a step's call: its progress is a part of the caller's, its memory what is left. */
lob_context lob_cells_context(lob_cells_job *j);

/* Voxels on an image's grid, of one channel. data is NULL where they are not. */
typedef struct {
    lob_volume memory; /* in ordinary memory */
    lob_volume device; /* where the context computes; a view of memory where that is the same */
    int64_t held;      /* bytes that the budget counts */
} lob_cells_voxels;

lob_cells_voxels lob_cells_nothing(void);

/* Make voxels where the context computes; they are not set. */
lob_status lob_cells_make(lob_cells_job *j, lob_cells_voxels *out, const lob_volume *image,
                          lob_type type);

/* Count voxels that the CPU has made, malloc'ed; they are freed where the budget has no room. */
lob_status lob_cells_take(lob_cells_job *j, lob_cells_voxels *out, const lob_volume *image,
                          void *data, lob_type type);

/* An image of the caller's in ordinary memory: a view of it, or a copy. Its scale stays. */
lob_status lob_cells_given(lob_cells_job *j, lob_cells_voxels *out, const lob_volume *image);

/* Have them in ordinary memory, and where the context computes. */
lob_status lob_cells_to_memory(lob_cells_job *j, lob_cells_voxels *v);
lob_status lob_cells_to_device(lob_cells_job *j, lob_cells_voxels *v);

/* Give a volume to the caller at a place: itself, or a copy; made is gone afterwards. */
lob_status lob_cells_hand_over(lob_cells_job *j, lob_volume *out, lob_volume *made,
                               lob_place place);

/* Free them; none are fine. */
void lob_cells_drop(lob_cells_job *j, lob_cells_voxels *v);

/* Write a value of some bytes over those of data where an image is NaN or infinite. */
void lob_cells_put_at_gaps(void *data, const lob_volume *image, const void *value, size_t bytes);

/*
 * Run steps on an image, where they begin with a Gaussian with the job's rule for edges.
 *
 *   out    out  float32, where the context computes
 *   image  in   wherever it is
 */
lob_status lob_cells_filter(lob_cells_job *j, lob_cells_voxels *out, const lob_volume *image,
                            const lob_filter_step *steps, int count);

/* A Gaussian of so many mm, or a box of this radius, along the axes of an image. */
lob_filter_step lob_cells_along(lob_filter_kind kind, const lob_volume *image, double mm);

#endif
