/*
 * What the stages of a segmentation share, and in part those of `cells` and `carry`: the job, and a
 * backend's algorithms as its steps. Each step counts its result as working memory, gets what is
 * left of it, and takes a share of the progress. This header is not installed.
 */
#ifndef LOB_SEGMENT_JOB_H
#define LOB_SEGMENT_JOB_H

#include "kernels/appearance/strokes.h"
#include "kernels/budget.h"
#include "kernels/segment/segment.h"
#include "volumes/labels.h"

LOB_BEGIN_DECLS

/* ---- memory of 0 that stays: segment_zeros.c ---- */

/*
 * Volumes of bytes that are 0 but for a few strokes. Fresh memory is cleared where it is touched,
 * which takes longer than to write strokes: so what a volume was in is cleared of these and serves
 * the next one.
 */
enum { LOB_SEGMENT_ZEROS = 6 };
typedef struct {
    lob_budget *budget; /* counts them, in use or not */
    int threads;
    struct lob_segment_zero {
        uint8_t *data; /* NULL: none */
        int64_t bytes;
        int threads;
        bool taken;
    } block[LOB_SEGMENT_ZEROS];
} lob_segment_zeros;

/* A volume of bytes of a grid, 0. zeros NULL, or all in use: of memory of its own. Returns LOB_OK
 * or LOB_ENOMEM. */
lob_status lob_segment_zeros_take(lob_segment_zeros *zeros, lob_volume *out,
                                  const lob_volume *grid);

/* Does a volume lie in such memory, which is counted where it stays? */
bool lob_segment_zeros_hold(const lob_volume *volume);

/* Free what no volume lies in. */
void lob_segment_zeros_drop(lob_segment_zeros *zeros);

/* ---- the job ---- */

typedef struct {
    const lob_segment_input *in;
    const lob_segment_plan *plan;
    const lob_backend *backend;
    const lob_context *context;
    lob_budget budget;
    lob_segment_zeros *zeros; /* NULL: each volume of strokes has memory of its own */
    double done;              /* of the progress, 0..1 */
    bool once; /* nothing follows the last growth: what its shares are made of goes with them */

    /* on the box's grid, where the context computes */
    lob_volume whole; /* in->image, in a job of many strokes: their boxes are cut from it; empty: it
                         is there already, or memory is short */
    lob_volume image;
    lob_volume view;     /* empty: there is none */
    lob_volume coarse;   /* the image on the first growth's grid; empty: not made, or not coarser */
    lob_volume strokes;  /* uint8, dense labels, in ordinary memory: the part of the box that has
                            them, or all of it; */
    lob_volume starts;   /* these without corrections and borders of areas; empty: as they are */
    lob_volume agreeing; /* and without what looks like another label, in the last growth */
    lob_volume seeds;    /* what is learnt from: starts or strokes, or a view of them; */
    lob_volume drawn;    /* and what keeps its label: strokes, or a view of them */
    lob_volume first;    /* what came out of the first of two growths, uint8, dense */
    lob_volume plain;    /* and what grew over the image alone */
    lob_volume shares;   /* of the last growth, uint8 */
    lob_volume labels;   /* what came out, uint8, dense */
    lob_volume strength;
    int64_t at[3];       /* of the box, where strokes and starts begin */
    lob_strokes counted; /* the strokes, on their grid */
    lob_strokes counts;  /* of the seeds, by the box's slices; empty: there is one growth */
    int32_t background;  /* dense */
    bool sharp;          /* growth over the image alone confirms most labels (outvote.h), */
    bool confirmed[LOB_SEGMENT_MAX_LABELS + 1]; /* these, dense */
} lob_segment_job;

/* ---- memory ---- */

/* A volume of a grid that counts as working memory; its voxels are not set. */
lob_status lob_segment_make(lob_segment_job *j, lob_volume *out, const lob_volume *grid,
                            lob_type type, int channels, lob_error *error);

/* A volume of bytes of a grid, 0 and in ordinary memory; what: it is for, as an error says. */
lob_status lob_segment_make_here(lob_segment_job *j, lob_volume *out, const lob_volume *grid,
                                 const char *what, lob_error *error);

/* Such a volume for strokes: in memory that stays, where the job has some. */
lob_status lob_segment_make_strokes(lob_segment_job *j, lob_volume *out, const lob_volume *grid,
                                    lob_error *error);

/* Free a volume of the job and leave it empty; an empty one is fine. */
void lob_segment_drop(lob_segment_job *j, lob_volume *volume);

/* A volume of the job where the context computes: a view of it, or a copy. */
lob_status lob_segment_here(lob_segment_job *j, lob_volume *out, const lob_volume *volume,
                            lob_error *error);

/* A copy of it, in ordinary memory or where the context computes. */
lob_status lob_segment_copy(lob_segment_job *j, lob_volume *out, const lob_volume *volume,
                            lob_place to, lob_error *error);

/* What is left of the memory, with the share of the progress that comes next. */
typedef struct {
    lob_context context;
    const lob_context *outer;
    double from, to;
} lob_segment_turn;
const lob_context *lob_segment_begin(lob_segment_job *j, lob_segment_turn *turn, double share);

/* ---- steps ---- */

/* A volume's grid without voxels or header. */
lob_volume lob_segment_grid(lob_dims dims, const lob_geometry *geometry);
lob_volume lob_segment_box_grid(const lob_geometry *geometry, const lob_box *box); /* of a box */

/* A volume's voxels on a grid. */
lob_status lob_segment_onto(lob_segment_job *j, lob_volume *out, const lob_volume *volume,
                            const lob_volume *grid, lob_resample_method method, double share,
                            lob_error *error);

/* Filters, edges repeated. */
lob_status lob_segment_filter(lob_segment_job *j, lob_volume *out, const lob_volume *image,
                              const lob_filter_step *steps, int count, double share,
                              lob_error *error);

/* Dense labels as the values that they stand for; `drop`, one of these, or 0: none, becomes 0. */
lob_status lob_segment_recode(lob_segment_job *j, lob_volume *out, const lob_volume *labels,
                              int32_t count, const int32_t *values, int32_t drop, lob_error *error);

/* A step of labels on such labels; all that come out are at most UINT8_MAX where the values are. */
lob_status lob_segment_relabel(lob_segment_job *j, lob_volume *out, const lob_volume *labels,
                               int32_t count, const int32_t *values, const lob_labels_step *step,
                               lob_error *error);

/* ---- sharp cases: segment_sharp.c ---- */

/* Let the first growth and the plain one outvote labels, on their grid, and find out whether the
 * case is sharp (outvote.h); all are where the job's context computes. */
lob_status lob_segment_outvote(lob_segment_job *j, lob_volume *labels, lob_error *error);

/*
 * Grow labels anew over the image in a band of 2 voxels on both sides of all borders, and let those
 * that are confirmed have what comes out, in the place of each other and of background; then tidy
 * as refine.h does. Volumes are where the job's context computes.
 *
 *   labels      in/out  uint8, 1..count
 *   image       in      of any type
 *   drawn       in      uint8, strokes, which keep their labels
 *   count       in      <= UINT8_MAX
 *   confirmed   in      count + 1 bools, of a verdict of outvote.h
 *
 * Of the job it takes backend, context and memory, and of its plan how labels grow.
 */
lob_status lob_segment_sharpen(lob_segment_job *j, lob_volume *labels, const lob_volume *image,
                               const lob_volume *drawn, int32_t count, int32_t background,
                               const bool *confirmed, double share, lob_error *error);

/* ---- the whole: segment_run.c; its stages: segment_box.c, _growth.c, _after.c ---- */

/* Is this a plan for the input? */
lob_status lob_segment_check(const lob_segment_input *in, const lob_segment_plan *plan,
                             lob_error *error);

/* A job with nothing yet. */
lob_segment_job lob_segment_job_of(const lob_segment_input *in, const lob_segment_plan *plan,
                                   const lob_backend *backend, const lob_context *context);

/* Cut the image to the box, and lay out the strokes that were taken. An image of the plan's box
 * that is there is taken as it is. */
lob_status lob_segment_box_make(lob_segment_job *j, lob_error *error);

/* What a caller gets before, of two growths: what came out of the first; or, where that is not
 * there and takes a CPU long, what grows on its grid from a part of the voxels. Strokes keep their
 * labels but for slips. A coarse image that is there is taken. Where it fails, strokes may be other
 * ones: the job is to be given them again. */
lob_status lob_segment_preview(lob_segment_job *j, lob_volume *out, lob_error *error);

/* Write strokes of the job into dense labels of the box, where the context computes. */
lob_status lob_segment_draw(lob_segment_job *j, lob_volume *onto, const lob_volume *strokes,
                            lob_error *error);

/* The last growth, and the first before it, if it has not been done: its shares, labels and
 * strength. It fails as the preview. */
lob_status lob_segment_grow_last(lob_segment_job *j, lob_error *error);

/* Dense labels of the box as what a caller gets, on the whole grid. */
lob_status lob_segment_give(lob_segment_job *j, lob_volume *out, const lob_volume *labels,
                            lob_error *error);

/* The last growth, and all that a caller gets of it. Frees what came out of it in the job. */
lob_status lob_segment_finish(lob_segment_job *j, lob_segment_output *out, lob_error *error);

/* Drop what depends on strokes, or what does not. */
void lob_segment_drop_strokes(lob_segment_job *j);
void lob_segment_drop_images(lob_segment_job *j);

/* Where two labels grow almost as cheaply, on the box's grid, in ordinary memory. */
lob_status lob_segment_doubt(lob_segment_job *j, lob_volume *uncertain, lob_error *error);

/* After the first of two growths: complete strokes on slices that are painted out. These are the
 * outline there; what is learnt from stays as it was drawn, as the rest of a slice may hold more
 * tissue like what is drawn. */
lob_status lob_segment_complete(lob_segment_job *j, lob_error *error);

/* How strokes, or those of one label, grow over shares. */
lob_growcut_options lob_segment_growcut(const lob_segment_plan *plan);

/* Strokes that are learnt and grown from, uint8, dense, in ordinary memory, where strokes are. */
const lob_volume *lob_segment_starts(const lob_segment_job *j);

/* ---- before: segment_strokes.c, segment_plan.c; strokes in the box: segment_box.c ---- */

/* The part of a volume that has strokes, in ordinary memory: they are few, and it is looked at
 * often.
 */
typedef struct {
    lob_volume voxels;  /* dense labels, with one voxel more to each side than strokes need, where
                           there is one: a side of one voxel would be that of a 2D image */
    lob_label_set set;  /* what these stand for */
    lob_strokes counts; /* of the voxels; empty: there are too many labels */
    lob_box at;         /* of the whole */
    lob_box strokes;    /* the least box of the whole that holds them; sizes of 0: there are none */
} lob_segment_part;

/* Where strokes may be: in a box, on the slices across z whose bytes are not 0; slices NULL: on any
 */
typedef struct {
    lob_box box;
    uint8_t *slices; /* nz, of the whole */
} lob_segment_within;

/* Cut it out. There are no strokes but `within`; NULL: anywhere. Where there are none, or an
 * offset makes values of stored zeros, it is the whole. Empty on failure. zeros: that it may lie
 * in; may be NULL. */
lob_status lob_segment_cut(lob_segment_part *part, const lob_volume *strokes,
                           const lob_segment_within *within, lob_segment_zeros *zeros,
                           const lob_context *context, lob_error *error);

/* Free it and leave nothing. */
void lob_segment_part_free(lob_segment_part *part);

/* lob_segment_choose, with the part of in->strokes. */
lob_status lob_segment_choose_part(lob_segment_plan *plan, const lob_segment_input *in,
                                   const lob_segment_part *part, const lob_segment_options *options,
                                   const lob_context *context, lob_error *error);

/* Let a job of the plan have a copy of strokes, without slips. Returns LOB_OK, LOB_EARG (they are
 * not those that the plan was made for) or LOB_ENOMEM. */
lob_status lob_segment_take_strokes(lob_segment_job *j, const lob_segment_part *part,
                                    lob_error *error);

/* Let strokes and starts have the whole box. */
lob_status lob_segment_lay_strokes(lob_segment_job *j, lob_error *error);

/*
 * Strokes without their slips.
 *
 *   out      out  uint8, on the strokes' grid; not written where it is NULL
 *   strokes  in   dense labels
 *   counted  in   counts of these
 *   slips    out  are there some, and does every label have other strokes too?
 *   threads  in   >= 1
 */
lob_status lob_segment_slips(uint8_t *out, bool *slips, const lob_volume *strokes,
                             const lob_strokes *counted, int threads, lob_error *error);

/* Is the grid of the first growth coarser than the box's? */
bool lob_segment_is_coarse(const lob_segment_plan *plan);

LOB_END_DECLS

#endif
