/*
 * Components slab by slab, in two passes over the volume. The first labels each slab and joins the
 * slabs' components across seams (join/slab_pieces.h). The second labels each slab again and
 * replaces its labels by those of the whole volume. A rank of a team has its planes as one slab or
 * as several; of one slab it keeps the labels, and there is no second reading.
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
    int64_t largest;        /* label of all */
    bool keeps;             /* this rank has one slab, which is read and labelled once */
    lob_labelled_slab kept; /* nothing before that */
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

static lob_status read_slab(streaming *s, lob_labelled_slab *slab, int64_t z)
{
    const int64_t left = s->end - z;
    if (s->keeps && s->kept.in.image) {
        *slab = s->kept;
        return LOB_OK;
    }
    *slab = (lob_labelled_slab){.z = z, .planes = left < s->planes ? left : s->planes};
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

/* Label a slab with the backend, nothing removed. The labels are in the budget until free_slab. */
static lob_status label_slab(streaming *s, lob_labelled_slab *slab, bool regions)
{
    lob_components_options options = *s->options;
    options.order = LOB_ORDER_RASTER;
    options.min_voxels = options.max_voxels = options.largest = 0;
    options.fill_holes = options.keep_values = false;
    options.regions = regions;
    options.type = LOB_I32;
    const lob_components_input in = {.image = slab->in.image, .mask = slab->in.mask};
    const int64_t labels = slab->planes * s->plane_voxels * (int64_t)sizeof(int32_t);
    LOB_TRY(lob_check_memory(slab->in.place, in.image, slab->in.intensities, s->error));
    LOB_TRY(lob_budget_hold(&s->budget, labels, s->error));
    slab->bytes = labels;
    const lob_context part = inner_context(s);
    lob_status st = holds_nothing(in.image, &options, s->context->threads)
                        ? label_nothing(&slab->labelled, labels, s->error)
                        : s->label(&slab->labelled, &in, &options, &part, s->error);
    const int64_t peak = s->budget.held + slab->labelled.working_bytes;
    if (peak > s->budget.peak) s->budget.peak = peak;
    if (st != LOB_OK || !regions) return st;
    const int64_t table = slab->labelled.count * (int64_t)sizeof(lob_region);
    st = lob_budget_hold(&s->budget, table, s->error);
    if (st == LOB_OK) slab->bytes += table;
    return st;
}

static void free_slab(streaming *s, lob_labelled_slab *slab)
{
    lob_components_output_free(&slab->labelled);
    lob_budget_release(&s->budget, slab->bytes);
    slab->bytes = 0;
}

/* The first pass over a slab: label it and add its pieces. */
static lob_status add_slab(streaming *s, int64_t z)
{
    lob_labelled_slab slab;
    lob_status st = read_slab(s, &slab, z);
    if (st == LOB_OK && z == s->first) st = lob_slab_pieces_begin(&s->pieces, slab.in.image);
    if (st != LOB_OK) return st;
    st = label_slab(s, &slab, s->options->regions && !slab.in.intensities);
    if (st == LOB_OK) {
        lob_context part = inner_context(s);
        part.progress = NULL; /* the slab's share has been reported */
        s->out->foreground += slab.labelled.foreground;
        s->out->not_finite += slab.labelled.not_finite;
        st = lob_slab_pieces_add(&s->pieces, &slab, &part);
    }
    if (s->keeps)
        s->kept = slab;
    else
        free_slab(s, &slab);
    return st;
}

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
    return s->stream->begin ? s->stream->begin(s->stream->user, s->out, s->largest, s->error)
                            : LOB_OK;
}

static lob_status write_labels(streaming *s, const void *labels, int64_t z, int64_t planes)
{
    return s->stream->write(s->stream->user, labels, s->out->type, z, planes, s->error);
}

/* The second pass over a slab: replace its labels and write it. piece is the number of the slab's
 * first piece and becomes that of the next slab. */
static lob_status write_slab(streaming *s, int64_t z, int64_t *piece, int32_t *taken)
{
    lob_labelled_slab slab;
    LOB_TRY(read_slab(s, &slab, z));
    lob_status st = s->keeps ? LOB_OK : label_slab(s, &slab, false);
    const int64_t next = *piece + slab.labelled.found, pieces = s->pieces.count;
    const bool last = z + slab.planes == s->end;
    if (st == LOB_OK && (next > pieces || (last && next < pieces)))
        st = lob_fail(s->error, LOB_EDATA,
                      "the planes from %lld on have changed while they were being read",
                      (long long)z);
    if (st == LOB_OK) {
        if (next > *piece)
            relabel(s, slab.labelled.labels, slab.planes, s->pieces.parent + *piece, taken);
        *piece = next;
        st = write_labels(s, slab.labelled.labels, z, slab.planes);
    }
    if (!s->keeps) free_slab(s, &slab);
    return st;
}

/* Find the range of the intensities, which fine levels need before anything is added up. */
static lob_status find_range(streaming *s)
{
    lob_extremes all = {0};
    lob_type type = LOB_U8;
    for (int64_t z = s->first; z < s->end; z += s->planes) {
        lob_labelled_slab slab;
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
    int64_t piece = 0;
    int32_t *taken = NULL;
    lob_status st = s->options->regions ? find_range(s) : LOB_OK;
    for (int64_t z = s->first; st == LOB_OK && z < s->end; z += s->planes) {
        st = lob_share_next(&s->share, s->share.to + 0.5 / (double)slabs);
        if (st == LOB_OK) st = add_slab(s, z);
    }
    if (st == LOB_OK) st = lob_slab_pieces_select(&s->pieces, &s->largest);
    if (st == LOB_OK) st = begin_output(s);
    s->budget.limit = s->context->max_memory; /* which begin may have lowered */
    if (st == LOB_OK) st = lob_budget_hold(&s->budget, 0, s->error);
    if (st == LOB_OK)
        st = lob_budget_alloc(&s->budget, &taken, s->plane_voxels, sizeof *taken, s->error);
    for (int64_t z = s->first; st == LOB_OK && z < s->end; z += s->planes) {
        st = lob_share_next(&s->share, s->share.to + 0.5 / (double)slabs);
        if (st == LOB_OK) st = write_slab(s, z, &piece, taken);
    }
    lob_budget_free(&s->budget, taken, s->plane_voxels, sizeof *taken);
    free_slab(s, &s->kept);
    return st;
}

/* lob_components_share.settle */
static lob_status settle(void *user, const uint32_t **label, lob_type *type,
                         const lob_slab_found *found, lob_error *error)
{
    streaming *const s = user;
    LOB_TRY(lob_budget_hold(&s->budget, found->held, error));
    lob_status st = lob_slab_pieces_take(&s->pieces, found);
    if (st == LOB_OK) st = lob_slab_pieces_select(&s->pieces, &s->largest);
    lob_budget_release(&s->budget, found->held);
    *label = s->pieces.parent;
    *type = s->out->type;
    return st;
}

/* Have all ranks their planes at once on a GPU, and is nothing wanted but labels? */
static lob_status may_share(streaming *s, bool *may)
{
    lob_labelled_slab slab = {0};
    if (s->keeps) LOB_TRY(read_slab(s, &slab, s->first));
    int64_t can = s->keeps && s->context->device && s->label != lob_components_cpu &&
                  !s->options->keep_values && !s->options->regions;
    LOB_TRY(lob_team_reduce(s->pieces.team, &can, 1, LOB_TEAM_MIN, s->error));
    *may = can;
    return LOB_OK;
}

/* The GPU of each rank joins its planes, and paints them when the team has settled on labels. */
static lob_status label_shared(streaming *s)
{
    const lob_components_share share = {s->stream->team, settle, s};
    lob_components_options options = *s->options;
    lob_components_input in = s->kept.in;
    lob_components_output labelled = {0};
    const int64_t bytes = in.place.kind == LOB_PLACE_MEMORY
                              ? s->planes * s->plane_voxels * (int64_t)sizeof(int32_t)
                              : 0;
    in.share = &share;
    options.type = LOB_TYPES; /* the team tells */
    LOB_TRY(lob_budget_hold(&s->budget, bytes, s->error));
    s->share.to = 0.99;
    const lob_context part = inner_context(s);
    lob_status st = s->label(&labelled, &in, &options, &part, s->error);
    if (s->budget.held + labelled.working_bytes > s->budget.peak)
        s->budget.peak = s->budget.held + labelled.working_bytes;
    if (st == LOB_OK) st = begin_output(s);
    if (st == LOB_OK) st = write_labels(s, labelled.labels, s->first, s->planes);
    lob_components_output_free(&labelled);
    lob_budget_release(&s->budget, bytes);
    return st;
}

/* The whole volume at once: one pass, nothing to join. */
static lob_status label_whole(streaming *s)
{
    lob_labelled_slab slab;
    LOB_TRY(read_slab(s, &slab, 0));
    lob_components_output *out = s->out;
    if (s->options->keep_values)
        LOB_TRY(lob_check_memory(slab.in.place, slab.in.image, slab.in.intensities, s->error));
    const lob_type widest = s->options->type == LOB_TYPES ? LOB_I32 : s->options->type;
    LOB_TRY(lob_budget_hold(
        &s->budget, slab.planes * s->plane_voxels * (int64_t)lob_type_of(widest)->bytes, s->error));
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
