/* The steps of refining, as both backends do them. */
#include "kernels/filters/gaussian/gaussian.h"
#include "kernels/refine/refine_job.h"
#include "kernels/share.h"

#include <math.h>

/* ---- memory ---- */

static size_t label_bytes(const lob_refine_job *j)
{
    return lob_type_of(j->a.type)->bytes;
}

static bool several(const lob_refine_job *j)
{
    return j->in->label_count > 2;
}

/* The context of one of the job's calls, with what is left of its memory. */
static lob_context inner_context(const lob_refine_job *j)
{
    lob_context context = lob_budget_inner(&j->budget, j->context);
    context.progress = NULL;
    return context;
}

/* Count what an algorithm has worked with on the device, where that counts to this call. */
static void count_inner(lob_refine_job *j, int64_t bytes)
{
    const int64_t all = j->budget.held + bytes;
    if (j->device && all > j->budget.peak) j->budget.peak = all;
}

/* ---- what algorithms are asked for ---- */

static lob_volume on_grid(const lob_refine_job *j, void *data, lob_type type, int channels)
{
    lob_volume v = lob_volume_empty();
    v.data = data;
    v.place = j->in->place;
    v.type = type;
    v.channels = channels;
    v.dims = j->image.dims;
    v.geometry = j->image.geometry;
    return v;
}

/* Smooth channels of an array with a Gaussian of sigma mm along the axes with more than one voxel,
 * edges repeated; everything is data without a mask. */
static lob_status gaussian(lob_refine_job *j, lob_refine_owned to, void *array, lob_type type,
                           int channels, const uint8_t *mask, double sigma_mm)
{
    const lob_volume image = on_grid(j, array, type, channels);
    lob_filter_step step = {.kind = LOB_FILTER_GAUSSIAN};
    lob_filter_options options = lob_filter_defaults();
    for (int a = 0; a < 3; a++)
        if (lob_side(image.dims, a) > 1) step.along[a] = sigma_mm / image.geometry.spacing_mm[a];
    options.edge = LOB_EDGE_NEAREST;
    const lob_filter_input in = {.image = &image,
                                 .mask = mask,
                                 .steps = &step,
                                 .step_count = 1,
                                 .place = image.place,
                                 .bounded = type == LOB_U8 || j->bounded};
    lob_filter_output out;
    LOB_TRY(lob_refine_take(j, to, lob_product(j->a.voxels, channels, 1, 1), sizeof(float)));
    if (j->context->max_memory > 0) lob_refine_trim(j);
    const lob_filter_tuning tuning = {.into = j->owned[to].data};
    const lob_context context = inner_context(j);
    LOB_TRY(j->operations->filter(&out, &in, &options, &tuning, &context, j->error));
    count_inner(j, out.working_bytes);
    return LOB_OK;
}

/* Pieces of what the mask holds, and flags of 0 for them. */
static lob_status find_pieces(lob_refine_job *j, const lob_components_options *options,
                              int64_t *count)
{
    const lob_volume image = on_grid(j, j->a.labels, j->a.type, 1);
    const lob_components_input in = {&image, j->a.mask, NULL, image.place};
    lob_components_output found;
    lob_refine_drop(j, LOB_REFINE_PIECES);
    lob_refine_trim(j);
    const lob_context context = inner_context(j);
    LOB_TRY(j->operations->components(&found, &in, options, &context, j->error));
    count_inner(j, found.working_bytes);
    *count = found.count;
    j->a.pieces = j->owned[LOB_REFINE_PIECES].data = found.labels;
    j->a.pieces_type = found.type;
    LOB_TRY(lob_refine_take(j, LOB_REFINE_FLAGS, found.count + 1, 1));
    j->a.flags = j->owned[LOB_REFINE_FLAGS].data;
    return j->operations->loop(j, LOB_REFINE_AT_clear, found.count + 1);
}

static lob_status loop(lob_refine_job *j, lob_refine_loop which)
{
    return j->operations->loop(j, which, j->a.voxels);
}

/* Run a loop that runs in no other way, and tell what it counted. */
static lob_status counted(lob_refine_job *j, lob_refine_loop which, int64_t *found)
{
    const int64_t before = j->sums[which];
    LOB_TRY(loop(j, which));
    LOB_TRY(j->operations->sum_up(j));
    *found = j->sums[which] - before;
    return LOB_OK;
}

/* ---- a part of the volume ---- */

static void set_grid(lob_refine_job *j, const lob_box *box)
{
    j->a.dims = j->image.dims = lob_box_dims(box);
    j->a.voxels = lob_dims_voxels(j->a.dims);
}

/* Copy the box out of an array of channels. */
static lob_status take_part(lob_refine_job *j, lob_refine_owned which, const void *whole,
                            lob_type type, int channels, lob_dims dims, const lob_box *box)
{
    const int64_t n = lob_product(box->size[0], box->size[1], box->size[2], channels);
    LOB_TRY(lob_refine_take(j, which, n, lob_type_of(type)->bytes));
    return j->operations->cut(j, j->owned[which].data, (void *)whole, type, channels, dims, box,
                              false);
}

/*
 * The boxes of all labels, widened so that Gaussians of one sigma in mm, and then of another, give
 * 0 beyond them, as the labels' indicators are; the whole where one goes by a coarser grid, which a
 * box would move. Sizes are 0 where no voxel has the label.
 */
static lob_status find_label_boxes(lob_refine_job *j, double first_mm, double second_mm)
{
    const lob_dims d = j->image.dims;
    const int32_t labels = j->in->label_count;
    int64_t margin[3];
    LOB_TRY(j->operations->find_boxes(j, labels));
    for (int a = 0; a < 3; a++) {
        const double mm = j->image.geometry.spacing_mm[a];
        const double one = first_mm / mm, two = second_mm / mm;
        const bool exact = one < LOB_GAUSSIAN_COARSE && two < LOB_GAUSSIAN_COARSE;
        /* Twice the first: a mean over data alone is 0 where no voxel in reach has the label. */
        margin[a] = exact ? (int64_t)(8 * one + 4 * two) + 4 : lob_side(d, a);
    }
    for (int32_t k = 0; k < labels; k++)
        if (j->boxes[k].size[0] > 0) lob_box_widen(&j->boxes[k], margin, d);
    return LOB_OK;
}

/* What a label's step takes beside labels, and gives back. */
typedef enum {
    TAKE_BEST,  /* of several labels, the largest share so far and whose it is; else labels */
    TAKE_VOTES, /* the same, by votes of the image */
    TAKE_SEEDS  /* seeds; labels */
} box_kind;

/* Let a label have the voxels of its box that its share gives it. */
static lob_status take_larger(lob_refine_job *j, lob_dims dims, const lob_box *box)
{
    return several(j) ? j->operations->take_larger(j, dims, box) : loop(j, LOB_REFINE_AT_put);
}

/* Run a step for a label on its box, where it counts alone: it makes the share, or changes labels.
 */
static lob_status run_in_box(lob_refine_job *j, int32_t label, box_kind kind,
                             lob_status (*run)(lob_refine_job *j))
{
    const lob_box *const box = &j->boxes[label - 1];
    const bool shares = kind != TAKE_SEEDS;
    j->a.label = label;
    const lob_refine_arrays whole = j->a;
    const lob_volume image = j->image;
    const lob_dims d = image.dims;
    const int channels = image.channels;
    const bool all = box->size[0] == d.nx && box->size[1] == d.ny && box->size[2] == d.nz;
    if (box->size[0] == 0) return LOB_OK;
    if (all) {
        LOB_TRY(run(j));
        return shares ? take_larger(j, d, box) : LOB_OK;
    }
    set_grid(j, box);
    LOB_TRY(take_part(j, LOB_REFINE_BOX_LABELS, whole.labels, whole.type, 1, d, box));
    j->a.labels = j->owned[LOB_REFINE_BOX_LABELS].data;
    if (kind == TAKE_SEEDS) {
        LOB_TRY(take_part(j, LOB_REFINE_BOX_SEEDS, whole.seeds, whole.seeds_type, 1, d, box));
        j->a.seeds = j->owned[LOB_REFINE_BOX_SEEDS].data;
    }
    if (kind == TAKE_VOTES) {
        const void *const finite = whole.finite;
        LOB_TRY(take_part(j, LOB_REFINE_BOX_VALUE, whole.value, LOB_F32, channels, d, box));
        if (finite) LOB_TRY(take_part(j, LOB_REFINE_BOX_FINITE, finite, LOB_U8, 1, d, box));
        LOB_TRY(take_part(j, LOB_REFINE_BOX_MEAN, whole.mean, LOB_F32, channels, d, box));
        j->a.value = j->owned[LOB_REFINE_BOX_VALUE].data;
        j->a.finite = j->owned[LOB_REFINE_BOX_FINITE].data;
        j->a.mean = j->owned[LOB_REFINE_BOX_MEAN].data;
    }
    LOB_TRY(run(j));
    if (shares) LOB_TRY(take_larger(j, d, box));
    if (!shares || !several(j))
        LOB_TRY(j->operations->cut(j, j->a.labels, whole.labels, whole.type, 1, d, box, true));
    for (int k = LOB_REFINE_BOX_LABELS; k < LOB_REFINE_AROUND; k++)
        lob_refine_drop(j, (lob_refine_owned)k);
    j->a = whole;
    j->image = image;
    return LOB_OK;
}

/* ---- steps ---- */

static lob_status take_mask(lob_refine_job *j)
{
    LOB_TRY(lob_refine_take(j, LOB_REFINE_MASK, j->a.voxels, 1));
    j->a.mask = j->owned[LOB_REFINE_MASK].data;
    return LOB_OK;
}

/* Labels take what is above `least`. Several: room for the largest so far, and whose it is: at
 * first `label`, with 0. */
static lob_status take_best(lob_refine_job *j, int32_t label, float least)
{
    if (several(j)) {
        LOB_TRY(lob_refine_take(j, LOB_REFINE_BEST, j->a.voxels, sizeof(float)));
        LOB_TRY(lob_refine_take(j, LOB_REFINE_TAKEN, j->a.voxels, label_bytes(j)));
        j->a.best = j->owned[LOB_REFINE_BEST].data;
        j->a.taken = j->owned[LOB_REFINE_TAKEN].data;
        j->a.label = label;
        j->a.least = 0;
        LOB_TRY(loop(j, LOB_REFINE_AT_none));
    }
    j->a.least = least;
    return LOB_OK;
}

/* Several labels: what was taken becomes the labels. */
static lob_status put_taken(lob_refine_job *j)
{
    if (several(j)) LOB_TRY(loop(j, LOB_REFINE_AT_taken));
    lob_refine_drop(j, LOB_REFINE_BEST);
    lob_refine_drop(j, LOB_REFINE_TAKEN);
    lob_refine_drop(j, LOB_REFINE_SMOOTH);
    return LOB_OK;
}

static lob_status smooth_label(lob_refine_job *j)
{
    LOB_TRY(loop(j, LOB_REFINE_AT_is));
    LOB_TRY(gaussian(j, LOB_REFINE_SMOOTH, j->a.mask, LOB_U8, 1, NULL, j->options->smooth_mm));
    j->a.share = j->owned[LOB_REFINE_SMOOTH].data;
    return LOB_OK;
}

static lob_status smooth(lob_refine_job *j)
{
    LOB_TRY(take_mask(j));
    LOB_TRY(take_best(j, 1, several(j) ? 0 : 0.5F));
    LOB_TRY(find_label_boxes(j, j->options->smooth_mm, 0));
    for (int32_t l = 1; l <= j->in->label_count; l++)
        if (several(j) || l != j->in->background)
            LOB_TRY(run_in_box(j, l, TAKE_BEST, smooth_label));
    LOB_TRY(put_taken(j));
    lob_refine_drop(j, LOB_REFINE_MASK);
    return LOB_OK;
}

/* What strokes and others' labels begin with is on the whole grid: labels may grow by shares. */
static lob_status begin_settling(lob_refine_job *j)
{
    lob_refine_arrays *a = &j->a;
    LOB_TRY(take_mask(j));
    LOB_TRY(lob_refine_take(j, LOB_REFINE_BEST, j->a.voxels, sizeof(float)));
    LOB_TRY(lob_refine_take(j, LOB_REFINE_TAKEN, j->a.voxels, label_bytes(j)));
    a->best = j->owned[LOB_REFINE_BEST].data;
    a->taken = j->owned[LOB_REFINE_TAKEN].data;
    a->least = -2; /* below what is absent */
    a->others = j->in->others;
    a->shares = j->in->shares;
    a->absent = j->in->absent;
    a->absent_axis = j->in->absent_axis;
    a->settle = (float)j->options->settle;
    return LOB_OK;
}

static lob_status settle(lob_refine_job *j)
{
    lob_refine_arrays *a = &j->a;
    LOB_TRY(begin_settling(j));
    for (int round = 0; round < j->options->settle_rounds; round++) {
        int channel = 0;
        a->label = j->in->background;
        LOB_TRY(loop(j, LOB_REFINE_AT_none));
        for (int32_t l = 1; l <= j->in->label_count; l++) {
            a->label = l;
            a->channel = l == j->in->background ? -1 : channel++;
            LOB_TRY(loop(j, LOB_REFINE_AT_twice));
            LOB_TRY(
                gaussian(j, LOB_REFINE_SMOOTH, a->mask, LOB_U8, 1, NULL, j->options->settle_mm));
            a->share = j->owned[LOB_REFINE_SMOOTH].data;
            LOB_TRY(loop(j, LOB_REFINE_AT_gain));
        }
        LOB_TRY(loop(j, LOB_REFINE_AT_taken));
        LOB_TRY(loop(j, LOB_REFINE_AT_strokes));
        a->others = NULL;
    }
    lob_refine_drop(j, LOB_REFINE_BEST);
    lob_refine_drop(j, LOB_REFINE_TAKEN);
    lob_refine_drop(j, LOB_REFINE_SMOOTH);
    lob_refine_drop(j, LOB_REFINE_MASK);
    return LOB_OK;
}

static lob_status fill_holes(lob_refine_job *j)
{
    lob_components_options holes = lob_components_defaults();
    int64_t count;
    holes.neighbours = 6;
    LOB_TRY(loop(j, LOB_REFINE_AT_is_not));
    LOB_TRY(find_pieces(j, &holes, &count));
    LOB_TRY(loop(j, LOB_REFINE_AT_open));
    return loop(j, LOB_REFINE_AT_fill);
}

static lob_status tidy(lob_refine_job *j)
{
    lob_components_options pieces = lob_components_defaults();
    int64_t count;
    pieces.join = several(j) ? LOB_JOIN_EQUAL : LOB_JOIN_ANY; /* ANY: there is one label */
    pieces.neighbours = 26;
    LOB_TRY(take_mask(j));
    LOB_TRY(loop(j, LOB_REFINE_AT_strokes));
    LOB_TRY(find_pieces(j, &pieces, &count));
    LOB_TRY(loop(j, LOB_REFINE_AT_hold));
    LOB_TRY(j->operations->loop(j, LOB_REFINE_AT_dropped, count));
    LOB_TRY(loop(j, LOB_REFINE_AT_drop));
    /* What is around a label's box is open: straight on lies a border. A hole that was filled lies
     * in the box of its label, and takes nothing from the others'. */
    LOB_TRY(find_label_boxes(j, 0, 0));
    for (int32_t l = 1; l <= j->in->label_count; l++)
        if (l != j->in->background) LOB_TRY(run_in_box(j, l, TAKE_SEEDS, fill_holes));
    lob_refine_drop(j, LOB_REFINE_PIECES);
    lob_refine_drop(j, LOB_REFINE_FLAGS);
    lob_refine_drop(j, LOB_REFINE_MASK);
    return LOB_OK;
}

/* The image's values, and their means. */
static lob_status load(lob_refine_job *j)
{
    lob_refine_arrays *const a = &j->a;
    a->channels = j->image.channels;
    LOB_TRY(lob_refine_take(j, LOB_REFINE_VALUE, a->voxels * a->channels, sizeof(float)));
    LOB_TRY(lob_refine_take(j, LOB_REFINE_FINITE, a->voxels, 1));
    a->parts = j->owned[LOB_REFINE_VALUE].data;
    a->mask = j->owned[LOB_REFINE_FINITE].data;
    a->stored = j->image.data;
    a->stored_type = j->image.type;
    a->slope = j->image.slope;
    a->inter = j->image.inter;
    LOB_TRY(loop(j, LOB_REFINE_AT_load));
    LOB_TRY(j->operations->sum_up(j));
    if (!j->options->fade) lob_refine_drop(j, LOB_REFINE_IMAGE);
    if (j->sums[LOB_REFINE_AT_load] == 0) lob_refine_drop(j, LOB_REFINE_FINITE);
    a->value = a->parts;
    a->finite = j->owned[LOB_REFINE_FINITE].data;
    a->edge = (float)j->options->edge;
    LOB_TRY(gaussian(j, LOB_REFINE_MEAN, a->parts, LOB_F32, a->channels, a->finite,
                     j->options->edge_mm));
    a->mean = j->owned[LOB_REFINE_MEAN].data;
    return LOB_OK;
}

/* A label's indicator and the image inside of it, smoothed. */
static lob_status smooth_parts(lob_refine_job *j)
{
    for (int c = 0; c <= j->a.channels; c++) {
        const lob_refine_owned to = (lob_refine_owned)(LOB_REFINE_AROUND + c);
        j->a.channel = c - 1;
        LOB_TRY(loop(j, LOB_REFINE_AT_parts));
        LOB_TRY(gaussian(j, to, j->a.parts, LOB_F32, 1, j->a.finite, j->options->edge_mm));
        j->a.around[c] = j->owned[to].data;
    }
    return LOB_OK;
}

/* The votes above which a label takes a voxel: the most at which it gets what its votes sum to. */
static lob_status find_least(lob_refine_job *j, int64_t votes)
{
    enum { STEPS = 16, PARTS = 128 };
    int low = 0, high = STEPS;
    while (low < high) {
        const int middle = (low + high) / 2;
        int64_t taken;
        j->a.least = 0.5F - (float)middle / PARTS;
        LOB_TRY(counted(j, LOB_REFINE_AT_above, &taken));
        if (taken * LOB_REFINE_VOTES >= votes)
            high = middle;
        else
            low = middle + 1;
    }
    j->a.least = 0.5F - (float)low / PARTS;
    return LOB_OK;
}

/* The smoothed votes for a label. */
static lob_status count_votes(lob_refine_job *j)
{
    const double mm = j->options->edge_smooth_mm;
    int64_t votes;
    LOB_TRY(lob_refine_take(j, LOB_REFINE_PARTS, j->a.voxels, sizeof(float)));
    j->a.share = j->a.parts = j->owned[LOB_REFINE_PARTS].data;
    LOB_TRY(smooth_parts(j));
    LOB_TRY(counted(j, LOB_REFINE_AT_vote, &votes));
    for (int k = LOB_REFINE_AROUND; k < LOB_REFINE_OWNED; k++)
        lob_refine_drop(j, (lob_refine_owned)k);
    if (mm > 0) {
        LOB_TRY(gaussian(j, LOB_REFINE_SMOOTH, j->a.parts, LOB_F32, 1, NULL, mm));
        lob_refine_drop(j, LOB_REFINE_PARTS);
        j->a.share = j->owned[LOB_REFINE_SMOOTH].data;
    }
    return j->options->keep ? find_least(j, votes) : LOB_OK;
}

static lob_status edge(lob_refine_job *j)
{
    const lob_refine_options *o = j->options;
    LOB_TRY(load(j));
    LOB_TRY(take_best(j, j->in->background, 0.5F));
    LOB_TRY(find_label_boxes(j, o->edge_mm, o->edge_smooth_mm));
    for (int32_t l = 1; l <= j->in->label_count; l++)
        if (l != j->in->background) LOB_TRY(run_in_box(j, l, TAKE_VOTES, count_votes));
    LOB_TRY(put_taken(j));
    for (int k = LOB_REFINE_VALUE; k <= LOB_REFINE_PARTS; k++)
        lob_refine_drop(j, (lob_refine_owned)k);
    return LOB_OK;
}

/* What is left without a stroke by this is a piece too. */
static lob_status fade(lob_refine_job *j)
{
    int64_t cleared;
    LOB_TRY(lob_refine_fade(j, &cleared));
    return cleared > 0 ? tidy(j) : LOB_OK;
}

/* Run the steps that the options ask for, in their order. */
static lob_status run_steps(lob_refine_job *j)
{
    const bool settles = j->in->shares, edges = j->options->edge > 0;
    const bool walls = j->in->wall_count > 0;
    const bool smooths = !settles && j->options->smooth_mm > 0;
    const bool fades = edges && j->options->fade;
    const struct {
        bool wanted;
        lob_status (*run)(lob_refine_job *j);
        double done;
    } order[] = {
        {settles,        settle,           0.2},
        {smooths,        smooth,           0.2},
        {true,           tidy,             0.5},
        {walls,          lob_refine_walls, 0.6},
        {edges,          edge,             0.8},
        {edges || walls, tidy,             0.9},
        {fades,          fade,             1.0},
    };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (order[i].wanted) LOB_TRY(order[i].run(j));
        LOB_TRY(lob_report(j->context, order[i].done));
    }
    return LOB_OK;
}

/* ---- the part of the volume that holds labels: beyond it nothing can change ---- */

/*
 * Widen the box of all labels but the background as far as refining may change the volume, or look
 * at it. A share above the least that lets the image vote is found within REACH - 4 sigma of the
 * box, and the mean there takes 4 sigma more. Smoothed votes are below 1/2 beyond a flat border of
 * these, and below 3/8, the least that takes a voxel where labels keep their volume, from a third
 * of their own sigma on. Beyond, all is background, as a repeated edge has it.
 *
 * Returns false where the box is the whole volume.
 */
static bool widen(lob_box *box, const lob_volume *image, const lob_refine_options *options)
{
    const lob_dims d = image->dims;
    enum { REACH = 7 };
    const double votes = options->keep ? options->edge_smooth_mm / 3 : 0;
    const double mm = fmax(REACH * options->edge_mm, (REACH - 4) * options->edge_mm + votes);
    int64_t margin[3];
    for (int a = 0; a < 3; a++) {
        const double voxels = options->edge > 0 ? mm / image->geometry.spacing_mm[a] : 0;
        const double wide = ceil(voxels) + 2;
        margin[a] = wide < (double)lob_side(d, a) ? (int64_t)wide : lob_side(d, a);
    }
    lob_box_widen(box, margin, d);
    return box->size[0] < d.nx || box->size[1] < d.ny || box->size[2] < d.nz;
}

static lob_status run_in_part(lob_refine_job *j, const lob_box *box)
{
    const lob_refine_input *in = j->in;
    const lob_refine_arrays whole = j->a;
    const lob_volume image = j->image;
    if (j->options->edge > 0)
        LOB_TRY(take_part(j, LOB_REFINE_IMAGE, image.data, image.type, image.channels, image.dims,
                          box));
    LOB_TRY(take_part(j, LOB_REFINE_SEEDS, in->seeds, in->seeds_type, 1, image.dims, box));
    LOB_TRY(take_part(j, LOB_REFINE_LABELS, whole.labels, whole.type, 1, image.dims, box));
    j->image.data = j->owned[LOB_REFINE_IMAGE].data;
    j->image.geometry = lob_box_geometry(&image.geometry, box);
    set_grid(j, box);
    j->a.seeds = j->owned[LOB_REFINE_SEEDS].data;
    j->a.labels = j->owned[LOB_REFINE_LABELS].data;
    LOB_TRY(run_steps(j));
    LOB_TRY(j->operations->cut(j, j->a.labels, whole.labels, whole.type, 1, image.dims, box, true));
    j->image = image;
    j->a = whole;
    return LOB_OK;
}

static lob_status run(lob_refine_job *j, lob_refine_stats *stats)
{
    LOB_TRY(loop(j, LOB_REFINE_AT_begin));
    if (!j->in->shares) LOB_TRY(j->operations->find_boxes(j, 0));
    lob_box box = j->boxes[0];
    j->in_part = !j->in->shares && box.size[0] > 0 && widen(&box, &j->image, j->options);
    LOB_TRY(j->in_part ? run_in_part(j, &box) : run_steps(j));
    LOB_TRY(loop(j, LOB_REFINE_AT_changed));
    LOB_TRY(j->operations->sum_up(j));
    stats->changed = j->sums[LOB_REFINE_AT_changed];
    stats->pieces = j->sums[LOB_REFINE_AT_dropped];
    stats->filled = j->sums[LOB_REFINE_AT_fill];
    stats->working_bytes = j->budget.peak;
    return LOB_OK;
}

/* Is no value of an image anywhere near the largest of a float? */
static bool is_bounded(const lob_volume *image)
{
    return lob_type_of(image->type)->is_integer && fabs(image->slope) < 0x1p30 &&
           fabs(image->inter) < 0x1p90;
}

lob_status lob_refine_run(lob_refine_job *j, void *out, lob_refine_stats *stats)
{
    const lob_refine_input *in = j->in;
    *stats = (lob_refine_stats){0};
    j->budget = (lob_budget){.who = "refining", .limit = j->context->max_memory};
    j->image = *in->image;
    j->a.dims = j->image.dims;
    j->a.voxels = lob_voxels(in->image);
    j->a.label_count = in->label_count;
    j->bounded = is_bounded(in->image);
    j->a.before = in->labels;
    j->a.before_type = in->labels_type;
    j->a.labels = out;
    j->a.type = lob_label_type(in->label_count);
    j->a.seeds = in->seeds;
    j->a.seeds_type = in->seeds_type;
    j->a.background = in->background;
    j->block[0] = (struct lob_refine_block){in->room, in->room ? in->room_bytes : 0};
    lob_status st =
        lob_budget_calloc(&j->budget, &j->boxes, in->label_count, sizeof *j->boxes, j->error);
    if (st == LOB_OK) st = run(j, stats);
    lob_budget_free(&j->budget, j->boxes, in->label_count, sizeof *j->boxes);
    lob_refine_free(j);
    return st;
}
