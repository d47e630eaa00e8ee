/*
 * A call of cells.h as its steps see it: what they share. This header is not installed.
 *
 * Voxels between the steps lie where the context computes.
 */
#ifndef LOB_CELLS_JOB_H
#define LOB_CELLS_JOB_H

#include "kernels/arrays.h"
#include "kernels/cells/cells.h"
#include "kernels/cells/cells_voxel.h"
#include "kernels/segment/segment_job.h"
#include "kernels/share.h"
#include "kernels/team/team.h"

LOB_BEGIN_DECLS

/* Standard deviation of the Laplacian of Gaussian that has one valley in each body, in sizes. */
#define LOB_CELLS_BEND 0.2

typedef struct {
    lob_segment_job steps; /* backend, context, memory of what lies between the steps */
    lob_error *error;
    lob_share share; /* of the caller's progress: the step at hand's */
    lob_edge edge;   /* of Gaussians */
    bool gaps;       /* voxels of the image that is looked at for a choice may be NaN or infinite */
    lob_team *team;  /* each rank has some planes (cells_slabs.h); NULL: all are here */
    int64_t planes;  /* of the whole volume, with a team */
} lob_cells_job;

/* team: NULL, or of one rank: all planes are here. */
lob_cells_job lob_cells_begin(const lob_backend *backend, const lob_context *caller, lob_team *team,
                              int64_t planes, lob_error *error);

/* The sides of the volume that an image is, or is some planes of. */
lob_dims lob_cells_dims(const lob_cells_job *j, const lob_volume *image);

/* The context of a step's call: its progress is a part of the caller's, its memory what is left. */
lob_context lob_cells_context(lob_cells_job *j);

/* Voxels of one channel on an image's grid, where the context computes and counted by the budget;
 * they are not set. */
lob_status lob_cells_make(lob_cells_job *j, lob_volume *out, const lob_volume *image,
                          lob_type type);

/* A pass over voxels. sums: in ordinary memory; NULL: they are not wanted. */
lob_status lob_cells_run(lob_cells_job *j, lob_cells_sums *sums, const lob_cells_pass *pass);

/* The sums of each piece of a pass, on the CPU. */
void lob_cells_add_pieces(lob_cells_sums *of_piece, const lob_cells_pass *p, int64_t pieces,
                          int threads);

/* The same of one on a GPU, whose sums are those of the pieces; NULL where it has none. */
lob_status lob_cells_pass_cuda(lob_cells_sums *of_piece, const lob_cells_pass *p, int64_t pieces,
                               lob_device *device, lob_budget *budget, lob_error *error);

/* A pass of a kind over so many voxels, its image's where there is one. */
lob_cells_pass lob_cells_pass_of(lob_cells_pass_kind kind, int64_t n, const lob_volume *image);

/* NaN where an image has gaps, if the job's may have some. */
lob_status lob_cells_put_gaps(lob_cells_job *j, const lob_volume *to, const lob_volume *image);

/* Otsu's threshold of an image, and which voxels are above it. */
lob_status lob_cells_split(lob_cells_job *j, lob_volume *above, lob_threshold_stats *stats,
                           const lob_volume *image);

/* Maxima of an image among the voxels of a mask, NULL: of all; both lie where the context
 * computes. */
lob_status lob_cells_maxima(lob_cells_job *j, lob_maxima_output *found, const lob_volume *image,
                            const uint8_t *mask, const lob_maxima_options *options);

/*
 * Run steps on an image, where they begin with a Gaussian with the job's rule for edges.
 *
 *   out    out  float32
 *   image  in   wherever it is
 */
lob_status lob_cells_filter(lob_cells_job *j, lob_volume *out, const lob_volume *image,
                            const lob_filter_step *steps, int count);

/* A Gaussian of so many mm, or a box of this radius, along the axes of an image. */
lob_filter_step lob_cells_along(const lob_cells_job *j, lob_filter_kind kind,
                                const lob_volume *image, double mm);

/* lob_cells_choose and lob_cells, with a team or without. */
lob_status lob_cells_choose_by(lob_cells_plan *plan, const lob_volume *image,
                               const lob_cells_options *options, lob_cells_job job);
lob_status lob_cells_label_by(lob_volume *labels, lob_cells_stats *stats, const lob_volume *image,
                              const lob_cells_plan *plan, lob_cells_job job);

/*
 * ---- cells_team.c ----
 *
 * Steps where the job has a team, on the CPU. Volumes are a rank's own planes (lob_team_planes of
 * job->planes); all ranks call these alike.
 */

/* As lob_filter_cpu, of an image to float32. */
lob_status lob_cells_filter_slab(lob_cells_job *j, lob_filter_output *out, const lob_volume *image,
                                 const lob_filter_step *steps, int count,
                                 const lob_filter_options *options);

lob_status lob_cells_split_slab(lob_cells_job *j, lob_volume *above, lob_threshold_stats *stats,
                                const lob_volume *image);

/* The sums of a pass over all ranks' voxels, from this rank's: whole numbers, or the least. */
lob_status lob_cells_sums_of_team(lob_cells_job *j, lob_cells_sums *sums, const lob_cells_pass *p);

/* The same of real numbers, from this rank's values and marks: in the order that they are added up
 * in where one rank has all. */
lob_status lob_cells_reals_of_team(lob_cells_job *j, lob_cells_sums *sums, const lob_cells_pass *p);

/*
 * Bring an image that has been thinned to the planes that lob_team_planes gives; or all of it to
 * each rank, where that is not more than a rank had before, or planes are fewer than ranks: then
 * the job has no team any more.
 *
 *   thin    in/out  of this rank's planes those whose number in the volume `step` divides
 *   step    in      1 or 2; job->planes becomes that of the thinned volume
 *   before  in      voxels that each rank had before, at least
 */
lob_status lob_cells_deal_thinned(lob_cells_job *j, lob_volume *thin, int64_t step, int64_t before);

lob_status lob_cells_maxima_slab(lob_cells_job *j, lob_maxima_output *found,
                                 const lob_volume *image, const uint8_t *mask,
                                 const lob_maxima_options *options);

/*
 * Values at maxima of the whole volume, in any order.
 *
 *   values  out  places->count, the same in all ranks
 *   from    in   float32
 *   places  in   as lob_cells_maxima_slab has found them
 */
lob_status lob_cells_values_of_team(lob_cells_job *j, float *values, const lob_volume *from,
                                    const lob_maxima_output *places);

/* flooded: in ordinary memory. */
lob_status lob_cells_flood_slab(lob_cells_job *j, lob_volume *basins, lob_growcut_stats *stats,
                                const lob_growcut_input *flooded,
                                const lob_growcut_options *options);

lob_status lob_cells_basins_slab(lob_cells_job *j, int32_t *to, const lob_volume *basins,
                                 int64_t count, const lob_volume *image,
                                 const lob_basins_options *options);

/* ---- cells_size.c ---- */

/*
 * Estimate the diameter of a usual cell.
 *
 *   size_mm  out
 *   above    work  a byte a voxel
 *   image    in    where the context computes
 *   walls    in    cells are dark between walls, else bright bodies
 *
 * Working memory is 16 bytes a voxel and that of a filter, threshold, distance or maxima. Returns
 * LOB_OK, LOB_EDATA (the image shows nothing of a size), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_cells_size(double *size_mm, lob_cells_job *job, lob_volume *above,
                          const lob_volume *image, bool walls);

LOB_END_DECLS

#endif
