/* The atlases: which are used, and their way onto the scan's grid. */
#include "kernels/carry/carry_voxel.h"
#include "kernels/register/register.h"
#include "kernels/share.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The affine by which atlases are chosen is found on a grid so many times as coarse. */
static const double choosing_coarser = 2;

typedef struct {
    lob_volume image, labels;
    lob_label_set set; /* of the labels */
} atlas;

static void drop_atlas(lob_carry_job *j, atlas *a)
{
    lob_segment_drop(&j->steps, &a->image);
    lob_segment_drop(&j->steps, &a->labels);
    lob_label_set_free(&a->set);
}

/* ---- reading ---- */

static bool same_values(const lob_volume *a, const lob_volume *b)
{
    enum { PART = 512 };
    double x[PART], y[PART];
    const int64_t n = lob_voxels(a);
    if (lob_same_grid(a, "", b, "", NULL) != LOB_OK) return false;
    for (int64_t i = 0; i < n; i += PART) {
        const int64_t m = n - i < PART ? n - i : PART;
        lob_values(x, a->data, a->type, i, m);
        lob_values(y, b->data, b->type, i, m);
        for (int64_t k = 0; k < m; k++) {
            const double va = a->slope * x[k] + a->inter, vb = b->slope * y[k] + b->inter;
            if (va != vb && !(va != va && vb != vb)) return false;
        }
    }
    return true;
}

/* Labels that are written to need memory of the volume's own, which can grow. */
static lob_status own_labels(lob_carry_job *j, lob_volume *labels, lob_error *error)
{
    const int64_t bytes = lob_volume_bytes(labels);
    lob_volume own;
    if (!labels->borrowed && !labels->release) return LOB_OK;
    LOB_TRY(lob_budget_hold(&j->steps.budget, bytes, error));
    const lob_status st = lob_volume_move(&own, labels, (lob_place){0}, j->steps.context, error);
    lob_budget_release(&j->steps.budget, bytes); /* counted in its last type */
    if (st != LOB_OK) return st;
    lob_volume_free(labels);
    *labels = own;
    return LOB_OK;
}

/* An atlas with its own labels in a type of lob_label_type. Its memory is counted. */
static lob_status read_atlas(lob_carry_job *j, atlas *a, int i, lob_error *error)
{
    char name[32];
    snprintf(name, sizeof name, "atlas %d", i + 1);
    *a = (atlas){.image = lob_volume_empty(), .labels = lob_volume_empty()};
    LOB_TRY(j->in->read(j->in->user, i, &a->image, &a->labels, error));
    lob_status st = lob_check_memory(a->image.place, &a->labels, NULL, error);
    if (st == LOB_OK && (a->image.channels != 1 || a->labels.channels != 1))
        st = lob_fail(error, LOB_EARG, "%s has several channels", name);
    if (st == LOB_OK)
        st = lob_same_grid(&a->image, "the image of an atlas", &a->labels, "its labels", error);
    if (st == LOB_OK) st = own_labels(j, &a->labels, error);
    if (st == LOB_OK) st = lob_labels_dense(&a->labels, &a->set, name, error);
    if (st == LOB_OK && a->set.count > LOB_FUSE_MAX_LABELS)
        st = lob_fail_file(error, LOB_EDATA, name,
                           "has %d labels, and at most %d can be told apart; are images and labels "
                           "swapped?",
                           a->set.count, LOB_FUSE_MAX_LABELS);
    if (st == LOB_OK && lob_labels_restore(&a->labels, &a->set) != LOB_OK)
        st = lob_fail(error, LOB_ENOMEM, "no memory left for labels");
    if (st == LOB_OK) st = lob_label_set_join(&j->known, &a->set, error);
    const int64_t bytes = a->image.borrowed ? 0 : lob_volume_bytes(&a->image);
    if (st == LOB_OK)
        st = lob_budget_hold(&j->steps.budget, bytes + lob_volume_bytes(&a->labels), error);
    if (st != LOB_OK) {
        lob_volume_free(&a->image);
        lob_volume_free(&a->labels);
        lob_label_set_free(&a->set);
    }
    return st;
}

/* ---- registration ---- */

/* Register an atlas; to choose, by an affine on a coarser grid. LOB_EDATA: it cannot be; j->why has
 * the reason. */
static lob_status register_atlas(lob_carry_job *j, lob_field *field, lob_register_stats *stats,
                                 const lob_volume *image, bool choosing, double share,
                                 lob_error *error)
{
    const lob_register_input in = {.fixed = &j->scan, .moving = image, .whole = true};
    lob_register_options options = lob_register_defaults();
    lob_segment_turn turn;
    options.spacing_mm = j->out->grid_mm * (choosing ? choosing_coarser : 1);
    options.smooth = j->options->smooth;
    options.affine_only = choosing;
    const lob_status st = lob_register(field, stats, &in, &options,
                                       lob_segment_begin(&j->steps, &turn, share), &j->why);
    if (st != LOB_OK && st != LOB_EDATA && error) *error = j->why;
    return st;
}

/* A volume through a field, onto the grid. */
static lob_status move_through(lob_carry_job *j, lob_volume *out, const lob_volume *volume,
                               const lob_field *field, lob_warp_method method, lob_error *error)
{
    const lob_type type = method == LOB_WARP_VALUES ? LOB_F32 : volume->type;
    const int64_t bytes = lob_voxels(&j->scan) * (int64_t)lob_type_of(type)->bytes;
    lob_segment_turn turn;
    LOB_TRY(lob_budget_hold(&j->steps.budget, bytes, error));
    const lob_status st = lob_warp(out, volume, field, &j->scan, method,
                                   lob_segment_begin(&j->steps, &turn, 0), error);
    if (st != LOB_OK) lob_budget_release(&j->steps.budget, bytes);
    return st;
}

/* Use an atlas that was registered; image, labels: of the atlas, where the job computes. LOB_EDATA,
 * without a message: its image has no finite value on the grid. */
static lob_status use(lob_carry_job *j, atlas *a, const lob_volume *image, const lob_volume *labels,
                      const lob_field *field, lob_error *error)
{
    const int k = j->used;
    int64_t sums[LOB_CARRY_SUMS];
    LOB_TRY(move_through(j, &j->image[k], image, field, LOB_WARP_VALUES, error));
    const lob_carry_pass finite = {
        .kind = LOB_CARRY_FINITE, .voxels = lob_voxels(&j->scan), .image = j->image[k].data};
    LOB_TRY(lob_carry_each(j, &finite, sums, error));
    if (sums[0] == 0) return LOB_EDATA;
    LOB_TRY(move_through(j, &j->labels[k], labels, field, LOB_WARP_LABELS, error));
    /* labels are called what the first atlas that names them calls them */
    if (lob_label_names_complete(&j->out->labels.names, &a->labels.names) != LOB_OK)
        return lob_fail(error, LOB_ENOMEM, "no memory left for names");
    j->has[k] = a->set;
    a->set = (lob_label_set){0};
    j->used++;
    return LOB_OK;
}

/* An atlas's image or labels where the job computes, as far as the image's field of view goes: what
 * was filled beyond has no votes. */
static lob_status bring(lob_carry_job *j, lob_volume *out, const lob_volume *volume,
                        const lob_box *view, lob_error *error)
{
    const lob_box all = lob_box_whole(volume->dims);
    const lob_volume grid = lob_segment_box_grid(&volume->geometry, view);
    return memcmp(view, &all, sizeof all) == 0
               ? lob_segment_here(&j->steps, out, volume, error)
               : lob_segment_onto(&j->steps, out, volume, &grid, LOB_RESAMPLE_NEAREST, 0, error);
}

/* Find out how far an atlas is from the scan, or use it. */
static lob_status take(lob_carry_job *j, atlas *a, int i, bool choosing, double share,
                       lob_error *error)
{
    lob_carry_atlas *const of = &j->out->atlas[i];
    const int k = j->used;
    lob_volume image = lob_volume_empty(), labels = lob_volume_empty();
    lob_field field = {.mm = NULL};
    lob_register_stats stats;
    const lob_box view = lob_field_of_view(&a->image, j->steps.context->threads);
    lob_status st = bring(j, &image, &a->image, &view, error);
    if (st == LOB_OK && !choosing) st = bring(j, &labels, &a->labels, &view, error);
    if (st == LOB_OK) st = register_atlas(j, &field, &stats, &image, choosing, share, error);
    if (st == LOB_OK) {
        of->cost = stats.cost_after;
        of->doubtful = stats.doubtful && !choosing;
        if (choosing) of->fate = LOB_CARRY_FARTHER;
        if (!choosing) st = use(j, a, &image, &labels, &field, error);
        if (st == LOB_EDATA)
            lob_fail(&j->why, st, "atlas %d has no finite value where the scan lies", i + 1);
    }
    lob_field_free(&field);
    lob_segment_drop(&j->steps, &image);
    lob_segment_drop(&j->steps, &labels);
    if (st == LOB_OK) return st;
    lob_segment_drop(&j->steps, &j->image[k]);
    lob_segment_drop(&j->steps, &j->labels[k]);
    if (st == LOB_EDATA) of->fate = LOB_CARRY_APART;
    return st == LOB_EDATA ? LOB_OK : st;
}

/* Take each atlas: all of them, or those that were chosen before. */
static lob_status take_all(lob_carry_job *j, bool choosing, bool chosen, double share,
                           lob_error *error)
{
    for (int i = 0; i < j->in->count; i++) {
        lob_carry_fate *const fate = &j->out->atlas[i].fate;
        atlas a;
        if (chosen && *fate != LOB_CARRY_USED) continue;
        LOB_TRY(read_atlas(j, &a, i, error));
        *fate = a.set.count == 0                                ? LOB_CARRY_UNLABELLED
                : !chosen && same_values(j->in->scan, &a.image) ? LOB_CARRY_SAME
                                                                : LOB_CARRY_USED;
        const lob_status st =
            *fate == LOB_CARRY_USED ? take(j, &a, i, choosing, share, error) : LOB_OK;
        drop_atlas(j, &a);
        LOB_TRY(st);
    }
    return LOB_OK;
}

/* The nearest ones are used, of equally near ones the first. */
static void use_nearest(lob_carry_output *out, int count, int use)
{
    for (; use > 0; use--) {
        int nearest = -1;
        for (int i = 0; i < count; i++)
            if (out->atlas[i].fate == LOB_CARRY_FARTHER &&
                (nearest < 0 || out->atlas[i].cost < out->atlas[nearest].cost))
                nearest = i;
        if (nearest >= 0) out->atlas[nearest].fate = LOB_CARRY_USED;
    }
}

/* ---- the stage ---- */

/* The scan on the grid for moving, which covers its field of view. */
static lob_status make_grid(lob_carry_job *j, lob_error *error)
{
    const lob_volume *const scan = j->in->scan;
    j->out->field_of_view = lob_field_of_view(scan, j->steps.context->threads);
    lob_volume grid = lob_segment_box_grid(&scan->geometry, &j->out->field_of_view);
    double spacing[3] = {0, 0, 0};
    j->out->grid_mm = j->options->grid_mm > 0 ? j->options->grid_mm : lob_register_spacing(scan);
    for (int a = 0; a < 3; a++) {
        const double side = scan->geometry.spacing_mm[a] * (double)lob_side(grid.dims, a);
        if (lob_side(grid.dims, a) > 1)
            spacing[a] = side / fmax(floor(side / j->out->grid_mm + 0.5), 1);
    }
    lob_resample_respace(&grid.geometry, &grid.dims, spacing);
    return lob_segment_onto(&j->steps, &j->scan, scan, &grid, LOB_RESAMPLE_LINEAR, 0.02, error);
}

static lob_status fuse(lob_carry_job *j, lob_error *error)
{
    lob_fuse_atlas atlases[LOB_FUSE_MAX_ATLASES];
    const lob_fuse_input in = {.scan = &j->scan, .atlases = atlases, .count = j->used};
    lob_segment_turn turn;
    for (int k = 0; k < j->used; k++) atlases[k] = (lob_fuse_atlas){&j->image[k], &j->labels[k]};
    LOB_TRY(lob_fuse(&j->votes, &in, &j->options->fuse, lob_segment_begin(&j->steps, &turn, 0.15),
                     error));
    lob_volume_free(&j->votes.labels);
    return lob_budget_hold(&j->steps.budget, 2 * lob_voxels(&j->scan) * j->votes.set.count, error);
}

lob_status lob_carry_move(lob_carry_job *j, lob_error *error)
{
    const int count = j->in->count, most = j->options->use;
    const bool many = count > most;
    LOB_TRY(make_grid(j, error));
    if (many) LOB_TRY(take_all(j, true, false, 0.2 / count, error));
    if (many) use_nearest(j->out, count, most);
    LOB_TRY(take_all(j, false, many, many ? 0.45 / most : 0.65 / count, error));
    if (j->used == 0 && j->why.text[0])
        return lob_fail(error, LOB_EDATA, "no atlas can be used: %s", j->why.text);
    if (j->used == 0)
        return lob_fail(error, LOB_EDATA,
                        "no atlas can be used: none but the scan itself has labels");
    return fuse(j, error);
}
