/*
 * Components slab by slab, in two passes over the volume. The first finds the pieces of each slab
 * and joins them across seams (join/slab_pieces.h). The second finds them again and paints them
 * with the labels of the whole volume: the CPU at once, GPUs after they have painted them with
 * their numbers, from which the first pass has them too. Where a rank of a team has its planes as
 * one slab, there is no second reading: the pieces, or the numbers, are kept.
 */
#include "kernels/components/components_stream.h"

#include "kernels/arrays.h"
#include "kernels/components/components_select.h"
#include "kernels/components/join/slab_pieces.h"
#include "kernels/levels/levels.h"
#include "kernels/regions/regions_sum.h"
#include "kernels/share.h"
#include "kernels/team/team.h"
#include "volumes/bytes.h"
#include "volumes/labels.h"
#include "volumes/voxel_memory.h"

#include <stdlib.h>
#include <string.h>

/* A slab and its labels. */
typedef struct {
    int64_t z, planes;
    int64_t bytes; /* of labelled, as the budget counts them */
    lob_components_input in;
    bool blank, told; /* see look_at */
    lob_components_output labelled;
} labelled_slab;

typedef struct {
    lob_components_output *out;
    const lob_components_stream *stream;
    const lob_components_options *options;
    lob_components_function *label; /* the backend's */
    const lob_context *context;
    lob_error *error;
    lob_dims dims;
    int64_t first, end; /* this rank's planes */
    int64_t planes;     /* of a slab; the last slab may have fewer */
    int64_t plane_voxels;
    lob_volume format; /* of the image as first read, without data; channels 0: not yet read */
    lob_budget budget;
    lob_share share; /* of the whole call's progress, that the current work takes */
    lob_slab_pieces pieces;
    int64_t largest;    /* label of all */
    int64_t next;       /* piece, that the second pass has not painted */
    bool keeps;         /* this rank has one slab, which is read and labelled once */
    labelled_slab kept; /* nothing before that */
    labelled_slab *at;  /* whose pieces the backend tells of */
} streaming;

/* A context with the memory that is left, which reports this share of the progress. */
static lob_context inner_context(streaming *s)
{
    return lob_share_context(&s->share, lob_budget_inner(&s->budget, s->context));
}

/* Whether images are stored alike. */
static bool same_format(const lob_volume *a, const lob_volume *b)
{
    return a->type == b->type && a->channels == b->channels && a->slope == b->slope &&
           a->inter == b->inter;
}

static lob_status read_slab(streaming *s, labelled_slab *slab, int64_t z)
{
    const int64_t left = s->end - z;
    if (s->keeps && s->kept.in.image) {
        *slab = s->kept;
        return LOB_OK;
    }
    *slab = (labelled_slab){.z = z, .planes = left < s->planes ? left : s->planes};
    LOB_TRY(s->stream->read(s->stream->user, &slab->in, z, slab->planes, s->error));
    const lob_dims dims = {s->dims.nx, s->dims.ny, slab->planes};
    const lob_volume *image = slab->in.image;
    if (s->format.channels == 0) {
        s->format = *image;
        s->format.data = NULL;
    }
    if (memcmp(&image->dims, &dims, sizeof dims) != 0 || !same_format(image, &s->format))
        return lob_fail(s->error, LOB_EDATA,
                        "the planes from %lld on differ from those before in size, type or scaling",
                        (long long)z);
    LOB_TRY(lob_components_check(&slab->in, s->options, s->error));
    if (s->keeps) s->kept = *slab;
    return LOB_OK;
}

/* Is all of a slab 0, as where a store has no chunks, and 0 no foreground? */
static bool holds_nothing(const lob_volume *image, const lob_components_options *options,
                          int threads)
{
    const lob_component_rule rule = lob_component_rule_of(image, options);
    const int64_t planes = image->dims.nz * image->channels;
    const int64_t bytes =
        image->dims.nx * image->dims.ny * (int64_t)lob_type_of(image->type)->bytes;
    if (lob_component_foreground(0.0, &rule)) return false;
    bool nothing = true;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(&& : nothing)
    for (int64_t z = 0; z < planes; z++)
        nothing = nothing && lob_all_zero((const char *)image->data + z * bytes, (size_t)bytes);
    return nothing;
}

/* The labels of such a slab are pages that nobody writes. */
static lob_status label_nothing(lob_components_output *out, int64_t bytes, lob_error *error)
{
    *out = (lob_components_output){.type = LOB_I32, .labels = lob_voxel_memory_zero(bytes)};
    return out->labels ? LOB_OK : lob_fail(error, LOB_ENOMEM, "no memory for labels");
}

/* Count labels of so many bytes a voxel, until free_slab. */
static lob_status hold_labels(streaming *s, labelled_slab *slab, int64_t word)
{
    const int64_t bytes = slab->planes * s->plane_voxels * word;
    LOB_TRY(lob_budget_hold(&s->budget, bytes, s->error));
    slab->bytes = bytes;
    return LOB_OK;
}

/* Have the backend label a slab. */
static lob_status label_slab(streaming *s, labelled_slab *slab, const lob_components_input *in,
                             const lob_components_options *options)
{
    const lob_context part = inner_context(s);
    const int64_t held = s->budget.held; /* later it has what the backend tells of */
    const lob_status st = s->label(&slab->labelled, in, options, &part, s->error);
    const int64_t peak = held + slab->labelled.working_bytes;
    if (peak > s->budget.peak) s->budget.peak = peak;
    return st;
}

static void free_slab(streaming *s, labelled_slab *slab)
{
    lob_components_output_free(&slab->labelled);
    lob_budget_release(&s->budget, slab->bytes);
    slab->bytes = 0;
}

/* Number the pieces of a slab by its labels: int32, in raster order, nothing removed. */
static lob_status number_slab(streaming *s, labelled_slab *slab, bool regions)
{
    lob_components_options options = *s->options;
    options.order = LOB_ORDER_RASTER;
    options.min_voxels = options.max_voxels = options.largest = 0;
    options.fill_holes = options.keep_values = false;
    options.regions = regions;
    options.type = LOB_I32;
    const lob_components_input in = {.image = slab->in.image, .mask = slab->in.mask};
    LOB_TRY(hold_labels(s, slab, (int64_t)sizeof(int32_t)));
    if (slab->blank) return label_nothing(&slab->labelled, slab->bytes, s->error);
    return label_slab(s, slab, &in, &options);
}

/* Sizes and values of a slab's pieces, which are numbered in the order of the scan. */
static void add_sizes(lob_slab_found *found, const labelled_slab *slab)
{
    const int32_t *const labels = slab->labelled.labels;
    const lob_volume *const image = slab->in.image;
    int32_t seen = 0;
    if (!found->voxels && !found->value) return;
    for (int64_t i = 0; i < lob_voxels(image); i++) {
        const int32_t label = labels[i];
        if (label == 0) continue;
        if (found->voxels) found->voxels[label - 1]++;
        if (label <= seen) continue;
        seen = label;
        if (found->value) found->value[label - 1] = lob_component_value_at(image, i);
    }
}

/* Regions and values of a slab's pieces. */
static lob_status sum_regions(streaming *s, lob_slab_found *found, const labelled_slab *slab)
{
    const lob_regions_input in = {slab->labelled.labels, LOB_I32, found->found,
                                  slab->in.image->dims, slab->in.intensities};
    lob_context part = inner_context(s);
    part.progress = NULL; /* the slab's share has been reported */
    const int64_t bytes = lob_regions_sum_bytes(&in, &part);
    LOB_TRY(lob_budget_hold(&s->budget, bytes, s->error));
    const lob_status st =
        lob_regions_sum(found->regions, found->values, &s->out->fine, &in, &part, s->error);
    lob_budget_release(&s->budget, bytes);
    return st;
}

/* Add the pieces of a slab that has their numbers. */
static lob_status add_numbers(streaming *s, labelled_slab *slab)
{
    const lob_components_options *const o = s->options;
    lob_components_output *const l = &slab->labelled;
    const int64_t n = l->found;
    const int32_t *const labels = l->labels;
    const bool sums = o->regions && slab->in.intensities;
    lob_slab_found found = {n, l->foreground, l->not_finite, .first_plane = labels,
                            .last_plane = labels + (slab->planes - 1) * s->plane_voxels};
    lob_budget *const b = &s->budget;
    lob_status st = LOB_OK;
    if (lob_components_selects(o))
        st = lob_budget_calloc(b, &found.voxels, n, sizeof *found.voxels, s->error);
    if (st == LOB_OK && o->keep_values)
        st = lob_budget_alloc(b, &found.value, n, sizeof *found.value, s->error);
    if (st == LOB_OK && sums)
        st = lob_budget_calloc(b, &found.regions, n, sizeof *found.regions, s->error);
    if (st == LOB_OK && sums)
        st = lob_budget_calloc(b, &found.values, n, sizeof *found.values, s->error);
    if (st == LOB_OK && l->regions)
        st = lob_budget_hold(b, n * (int64_t)sizeof *found.regions, s->error);
    if (st == LOB_OK && l->regions) {
        found.regions = l->regions;
        l->regions = NULL;
    }
    if (st == LOB_OK) add_sizes(&found, slab);
    if (st == LOB_OK && sums) st = sum_regions(s, &found, slab);
    if (st == LOB_OK) st = lob_slab_pieces_add(&s->pieces, &found, slab->in.image, slab->z);
    lob_budget_free(b, found.values, n, sizeof *found.values);
    lob_budget_free(b, found.regions, n, sizeof *found.regions);
    lob_budget_free(b, found.value, n, sizeof *found.value);
    lob_budget_free(b, found.voxels, n, sizeof *found.voxels);
    return st;
}

/* ---- pieces that are painted once ---- */

/* Is a slab blank, and else is the backend told of labels before it paints them, as the CPU is? */
static lob_status look_at(const streaming *s, labelled_slab *slab)
{
    LOB_TRY(lob_check_memory(slab->in.place, slab->in.image, slab->in.intensities, s->error));
    slab->blank = holds_nothing(slab->in.image, s->options, s->context->threads);
    slab->told = !slab->blank && s->label == lob_components_cpu;
    return LOB_OK;
}

/* lob_components_share.settle: add the pieces. A rank's only slab is painted then. */
static lob_status add_pieces(void *user, const uint32_t **label, lob_type *type,
                             lob_slab_found *found, lob_error *error)
{
    streaming *const s = user;
    LOB_TRY(lob_budget_hold(&s->budget, found->held, error));
    lob_status st = lob_slab_pieces_add(&s->pieces, found, s->at->in.image, s->at->z);
    if (st == LOB_OK && s->keeps) st = lob_slab_pieces_select(&s->pieces, &s->largest);
    if (st == LOB_OK && s->keeps && s->at->in.place.kind == LOB_PLACE_MEMORY)
        st = hold_labels(s, s->at, (int64_t)lob_type_of(s->out->type)->bytes);
    lob_budget_release(&s->budget, found->held);
    *label = s->pieces.parent;
    *type = s->keeps ? s->out->type : LOB_TYPES;
    return st;
}

/* The labels of the next pieces, those of a slab. */
static lob_status next_labels(streaming *s, const uint32_t **label, const labelled_slab *slab,
                              int64_t found)
{
    const int64_t next = s->next + found, pieces = s->pieces.count;
    const bool last = slab->z + slab->planes == s->end;
    if (next > pieces || (last && next < pieces))
        return lob_fail(s->error, LOB_EDATA,
                        "the planes from %lld on have changed while they were being read",
                        (long long)slab->z);
    *label = s->pieces.parent + s->next;
    s->next = next;
    return LOB_OK;
}

/* lob_components_share.settle where all have labels. */
static lob_status give_labels(void *user, const uint32_t **label, lob_type *type,
                              lob_slab_found *found, lob_error *error)
{
    streaming *const s = user;
    (void)error; /* s has it */
    *type = s->out->type;
    return next_labels(s, label, s->at, found->found);
}

/* Have the backend tell of a slab's pieces, and paint what it hears of them. */
static lob_status tell_slab(streaming *s, labelled_slab *slab, bool known)
{
    const lob_components_share share = {s->stream->team, &s->out->fine, known,
                                        known ? give_labels : add_pieces, s};
    lob_components_options options = *s->options;
    lob_components_input in = slab->in;
    in.share = &share;
    options.type = known ? s->out->type : LOB_TYPES; /* which it is told */
    s->at = slab;
    return label_slab(s, slab, &in, &options);
}

/* ---- passes ---- */

/* Replace the pieces of some planes by their labels, in place though these may be narrower: a plane
 * is taken out, and comes back. Rows of background are not written where they are 0. */
static void relabel(const streaming *s, void *labels, int64_t planes, const uint32_t *label,
                    int32_t *taken)
{
    enum { BACKGROUND = -1 }; /* for a row */
    const int64_t nx = s->dims.nx, ny = s->dims.ny;
    const int64_t word = (int64_t)lob_type_of(s->out->type)->bytes;
    for (int64_t z = 0; z < planes; z++) {
#pragma omp parallel for schedule(static) num_threads(s->context->threads)
        for (int64_t y = 0; y < ny; y++) {
            const int32_t *const row = (const int32_t *)labels + (z * ny + y) * nx;
            if (lob_all_zero(row, (size_t)nx * sizeof *row))
                taken[y * nx] = BACKGROUND;
            else
                memcpy(taken + y * nx, row, (size_t)nx * sizeof *row);
        }
#pragma omp parallel for schedule(static) num_threads(s->context->threads)
        for (int64_t y = 0; y < ny; y++) {
            const int32_t *const row = taken + y * nx;
            const int64_t first = (z * ny + y) * nx;
            if (row[0] == BACKGROUND) {
                lob_clear((char *)labels + first * word, (size_t)(nx * word));
                continue;
            }
            for (int64_t x = 0; x < nx; x++)
                lob_label_put(labels, s->out->type, first + x,
                              row[x] ? (int32_t)label[row[x] - 1] : 0);
        }
    }
}

static lob_status begin_output(streaming *s)
{
    if (!s->stream->begin) return LOB_OK;
    LOB_TRY(s->stream->begin(s->stream->user, s->out, s->largest, s->error));
    s->budget.limit = s->context->max_memory; /* which begin may have lowered */
    return lob_budget_hold(&s->budget, 0, s->error);
}

static lob_status write_labels(streaming *s, const void *labels, int64_t z, int64_t planes)
{
    return s->stream->write(s->stream->user, labels, s->out->type, z, planes, s->error);
}

/* The first pass over a slab: add its pieces. */
static lob_status add_slab(streaming *s, int64_t z)
{
    labelled_slab slab;
    LOB_TRY(read_slab(s, &slab, z));
    LOB_TRY(look_at(s, &slab));
    lob_status st = slab.told ? tell_slab(s, &slab, false)
                              : number_slab(s, &slab, s->options->regions && !slab.in.intensities);
    if (st == LOB_OK && !slab.told) st = add_numbers(s, &slab);
    if (s->keeps)
        s->kept = slab;
    else
        free_slab(s, &slab);
    return st;
}

/* The second pass over a slab: label and write it. */
static lob_status write_slab(streaming *s, int64_t z, int32_t *taken)
{
    labelled_slab slab;
    const uint32_t *label = NULL;
    LOB_TRY(read_slab(s, &slab, z));
    if (!s->keeps) LOB_TRY(look_at(s, &slab));
    const int64_t word = (int64_t)lob_type_of(s->out->type)->bytes;
    lob_status st = slab.told ? hold_labels(s, &slab, word) : LOB_OK;
    if (st == LOB_OK && slab.told) st = tell_slab(s, &slab, true);
    if (st == LOB_OK && !slab.told && !s->keeps) st = number_slab(s, &slab, false);
    if (st == LOB_OK && !slab.told) st = next_labels(s, &label, &slab, slab.labelled.found);
    if (st == LOB_OK && !slab.told && slab.labelled.found > 0)
        relabel(s, slab.labelled.labels, slab.planes, label, taken);
    if (st == LOB_OK) st = write_labels(s, slab.labelled.labels, z, slab.planes);
    if (!s->keeps) free_slab(s, &slab);
    return st;
}

/* Find the range of the intensities, which fine levels need before anything is added up. */
static lob_status find_range(streaming *s)
{
    lob_extremes all = {0};
    lob_type type = LOB_U8;
    for (int64_t z = s->first; z < s->end; z += s->planes) {
        labelled_slab slab;
        LOB_TRY(read_slab(s, &slab, z));
        if (!slab.in.intensities) return LOB_OK;
        s->pieces.intensities = true;
        type = slab.in.intensities->type;
        const lob_extremes part = lob_extremes_of(slab.in.intensities, s->context->threads);
        lob_extremes_widen(&all, &part, type);
    }
    LOB_TRY(lob_extremes_of_team(&all, s->stream->team, type, s->error));
    s->out->fine = lob_fine_levels_of(&all, type);
    return LOB_OK;
}

static lob_status label_slabs(streaming *s)
{
    const int64_t slabs = (s->end - s->first + s->planes - 1) / s->planes;
    int32_t *taken = NULL;
    lob_status st = s->options->regions ? find_range(s) : LOB_OK;
    for (int64_t z = s->first; st == LOB_OK && z < s->end; z += s->planes) {
        st = lob_share_next(&s->share, s->share.to + 0.5 / (double)slabs);
        if (st == LOB_OK) st = add_slab(s, z);
    }
    if (st == LOB_OK) st = lob_slab_pieces_select(&s->pieces, &s->largest);
    if (st == LOB_OK) st = begin_output(s);
    if (st == LOB_OK)
        st = lob_budget_alloc(&s->budget, &taken, s->plane_voxels, sizeof *taken, s->error);
    for (int64_t z = s->first; st == LOB_OK && z < s->end; z += s->planes) {
        st = lob_share_next(&s->share, s->share.to + 0.5 / (double)slabs);
        if (st == LOB_OK) st = write_slab(s, z, taken);
    }
    lob_budget_free(&s->budget, taken, s->plane_voxels, sizeof *taken);
    free_slab(s, &s->kept);
    return st;
}

/* Does the backend paint a rank's only slab when the team has settled on labels? The CPU does; GPUs
 * do where all ranks have one, and nothing is wanted but labels. */
static lob_status may_share(streaming *s, bool *may)
{
    labelled_slab slab = {0};
    if (s->keeps) LOB_TRY(read_slab(s, &slab, s->first));
    int64_t can = s->keeps && s->context->device && s->label != lob_components_cpu &&
                  !s->options->keep_values && !s->options->regions;
    LOB_TRY(lob_team_reduce(s->pieces.team, &can, 1, LOB_TEAM_MIN, s->error));
    *may = can || (s->keeps && s->label == lob_components_cpu);
    return LOB_OK;
}

/* Each rank joins its planes, and paints them when the team has settled on labels. */
static lob_status label_shared(streaming *s)
{
    labelled_slab slab;
    LOB_TRY(read_slab(s, &slab, s->first));
    lob_status st = s->options->regions ? find_range(s) : LOB_OK;
    s->share.to = 0.99;
    if (st == LOB_OK) st = tell_slab(s, &slab, false);
    if (st == LOB_OK) st = begin_output(s);
    if (st == LOB_OK) st = write_labels(s, slab.labelled.labels, s->first, s->planes);
    free_slab(s, &slab);
    return st;
}

/* The whole volume at once: one pass, nothing to join. */
static lob_status label_whole(streaming *s)
{
    labelled_slab slab;
    LOB_TRY(read_slab(s, &slab, 0));
    lob_components_output *out = s->out;
    if (s->options->keep_values)
        LOB_TRY(lob_check_memory(slab.in.place, slab.in.image, slab.in.intensities, s->error));
    const lob_type widest = s->options->type == LOB_TYPES ? LOB_I32 : s->options->type;
    const int64_t voxels = slab.planes * s->plane_voxels;
    const int64_t most = voxels * (int64_t)lob_type_of(widest)->bytes;
    LOB_TRY(lob_budget_hold(&s->budget, most, s->error));
    s->share.to = 0.99;
    const lob_context part = inner_context(s);
    lob_status st = s->label(out, &slab.in, s->options, &part, s->error);
    s->budget.peak = s->budget.held + out->working_bytes;
    if (st != LOB_OK) return st;
    void *const labels = out->labels;
    lob_device *const device = out->device;
    s->largest = out->count;
    if (s->options->keep_values) /* labels are values */
        s->largest = lob_label_largest(out->labels, out->type, s->planes * s->plane_voxels,
                                       s->context->threads);
    lob_budget_release(&s->budget, most - voxels * (int64_t)lob_type_of(out->type)->bytes);
    out->labels = NULL;
    out->device = NULL;
    st = begin_output(s);
    if (st == LOB_OK) st = write_labels(s, labels, 0, slab.planes);
    lob_array_free(device, labels);
    return st;
}

lob_status lob_components_streamed(lob_components_output *out, const lob_components_stream *stream,
                                   lob_dims dims, int64_t planes,
                                   const lob_components_options *options,
                                   lob_components_function *label, const lob_context *context,
                                   lob_error *error)
{
    lob_error_begin(error);
    *out = (lob_components_output){0};
    lob_team *const team = lob_team_size(stream->team) > 1 ? stream->team : NULL;
    const int64_t voxels = lob_dims_voxels(dims);
    if (voxels < 1 || planes < 1 || dims.nz < lob_team_size(team))
        return lob_fail(error, LOB_EARG, "there are no planes to label components of");
    if (options->regions && lob_regions_check_sides(dims, error) != LOB_OK) return LOB_EDATA;
    char needed[LOB_BYTES_TEXT];
    if (options->fill_holes && (planes < dims.nz || team))
        return lob_fail(error, LOB_EARG,
                        "filling holes needs the whole volume at once, about %s of memory beside "
                        "the image; allow more memory or leave holes as they are",
                        lob_bytes_text(needed, voxels < INT64_MAX / 16 ? 9 * voxels : voxels));
    streaming s = {
        .out = out,
        .stream = stream,
        .options = options,
        .label = label,
        .context = context,
        .error = error,
        .dims = dims,
        .plane_voxels = dims.nx * dims.ny,
        .budget = {.who = "components", .limit = context->max_memory},
        .share = {.caller = context                  },
    };
    lob_team_planes(&s.first, &s.end, team, lob_team_rank(team), dims.nz);
    s.planes = planes < s.end - s.first ? planes : s.end - s.first;
    s.keeps = team && s.planes == s.end - s.first;
    s.pieces = (lob_slab_pieces){.options = options,
                                 .out = out,
                                 .dims = dims,
                                 .first_z = s.first,
                                 .team = team,
                                 .budget = &s.budget,
                                 .error = error};
    bool shared = false;
    lob_status st = may_share(&s, &shared);
    if (st == LOB_OK)
        st = shared ? label_shared(&s) : s.planes < dims.nz ? label_slabs(&s) : label_whole(&s);
    if (st == LOB_OK) st = lob_report(context, 1.0);
    lob_slab_pieces_free(&s.pieces);
    st = lob_error_end(error, st);
    if (st != LOB_OK) st = lob_team_agree(team, st, error); /* the others wait for nobody then */
    out->working_bytes = s.budget.peak;
    if (st != LOB_OK) lob_components_output_free(out);
    if (st == LOB_ENOMEM) out->working_bytes = s.pieces.needed;
    return st;
}

int64_t lob_components_stream_planes(lob_dims dims, int64_t voxel_bytes, int64_t memory)
{
    /* Bytes per voxel of labels, and of work where runs are many; planes of the seam and tables. */
    enum { LABELS = 4, WORKING = 5, SEAM = 3 };
    const int64_t plane_bytes = dims.nx * dims.ny * (voxel_bytes + LABELS + WORKING);
    if (memory == 0) return dims.nz;
    const int64_t planes = memory / plane_bytes - SEAM;
    return planes < 1 ? 1 : planes < dims.nz ? planes : dims.nz;
}
