/*
 * Components slab by slab, in two passes over the volume. In the first the backend tells of the
 * pieces of each slab, which are joined across seams (join/slab_pieces.h). In the second it finds
 * them again, and paints them with the labels of the whole volume. Where a rank of a team has its
 * planes as one slab, it paints them at once: it tells of them, and waits for their labels.
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
    bool pairs;         /* ranks on GPUs, each with one slab, join them there */
    labelled_slab slab; /* at hand */
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

/* Planes from z on as the slab at hand. */
static lob_status read_slab(streaming *s, int64_t z)
{
    labelled_slab *const slab = &s->slab;
    const int64_t left = s->end - z;
    if (s->keeps && slab->in.image) return LOB_OK;
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
    return lob_components_check(&slab->in, s->options, s->error);
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

/* Count labels of so many bytes a voxel, until free_slab. */
static lob_status hold_labels(streaming *s, int64_t word)
{
    const int64_t bytes = s->slab.planes * s->plane_voxels * word;
    LOB_TRY(lob_budget_hold(&s->budget, bytes, s->error));
    s->slab.bytes = bytes;
    return LOB_OK;
}

static void free_slab(streaming *s)
{
    lob_components_output_free(&s->slab.labelled);
    lob_budget_release(&s->budget, s->slab.bytes);
    s->slab.bytes = 0;
}

/* ---- what the backend tells, and hears ---- */

/* lob_components_share.settle: add the pieces. A rank's only slab is painted then. */
static lob_status add_pieces(void *user, const uint32_t **label, lob_type *type,
                             lob_slab_found *found, lob_error *error)
{
    streaming *const s = user;
    LOB_TRY(lob_budget_hold(&s->budget, found->held, error));
    lob_status st = lob_slab_pieces_add(&s->pieces, found, s->slab.in.image, s->slab.z);
    if (st == LOB_OK && s->keeps) st = lob_slab_pieces_select(&s->pieces, &s->largest);
    if (st == LOB_OK && s->keeps && s->slab.in.place.kind == LOB_PLACE_MEMORY)
        st = hold_labels(s, (int64_t)lob_type_of(s->out->type)->bytes);
    lob_budget_release(&s->budget, found->held);
    *label = s->pieces.parent;
    *type = s->keeps ? s->out->type : LOB_TYPES;
    return st;
}

/* The labels of the next pieces, as many as the slab at hand has. */
static lob_status next_labels(streaming *s, const uint32_t **label, int64_t found)
{
    const int64_t next = s->next + found, pieces = s->pieces.count;
    const bool last = s->slab.z + s->slab.planes == s->end;
    if (next > pieces || (last && next < pieces))
        return lob_fail(s->error, LOB_EDATA,
                        "the planes from %lld on have changed while they were being read",
                        (long long)s->slab.z);
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
    return next_labels(s, label, found->found);
}

/* Have the backend tell of the slab's pieces, and paint what it hears of them. */
static lob_status tell_slab(streaming *s, bool known)
{
    const lob_components_share share = {s->pairs ? s->stream->team : NULL,
                                        &s->out->fine,
                                        known,
                                        known || s->keeps,
                                        known ? give_labels : add_pieces,
                                        s};
    lob_components_options options = *s->options;
    lob_components_input in = s->slab.in;
    in.share = &share;
    if (known || !options.regions) in.intensities = NULL;
    options.type = known ? s->out->type : LOB_TYPES; /* which it is told */
    const lob_context part = inner_context(s);
    const int64_t held = s->budget.held; /* later it has what the backend tells of */
    const lob_status st = s->label(&s->slab.labelled, &in, &options, &part, s->error);
    const int64_t peak = held + s->slab.labelled.working_bytes;
    if (peak > s->budget.peak) s->budget.peak = peak;
    return st;
}

/* A slab that holds nothing has no pieces: neither on its faces, */
static lob_status add_nothing(streaming *s)
{
    const int64_t faces = 2 * s->plane_voxels;
    lob_slab_found found = {0};
    if (s->options->slice_axis != 2)
        LOB_TRY(lob_budget_calloc(&s->budget, &found.faces, faces, sizeof *found.faces, s->error));
    const lob_status st = lob_slab_pieces_add(&s->pieces, &found, s->slab.in.image, s->slab.z);
    lob_budget_free(&s->budget, found.faces, faces, sizeof *found.faces);
    return st;
}

/* nor in its labels, which are pages that nobody writes. */
static lob_status label_nothing(streaming *s)
{
    const uint32_t *none;
    LOB_TRY(next_labels(s, &none, 0));
    s->slab.labelled.labels = lob_voxel_memory_zero(s->slab.bytes);
    return s->slab.labelled.labels ? LOB_OK
                                   : lob_fail(s->error, LOB_ENOMEM, "no memory for labels");
}

/* ---- passes ---- */

static lob_status begin_output(streaming *s)
{
    if (!s->stream->begin) return LOB_OK;
    LOB_TRY(s->stream->begin(s->stream->user, s->out, s->largest, s->error));
    s->budget.limit = s->context->max_memory; /* which begin may have lowered */
    return lob_budget_hold(&s->budget, 0, s->error);
}

static lob_status write_labels(streaming *s, const void *labels)
{
    return s->stream->write(s->stream->user, labels, s->out->type, s->slab.z, s->slab.planes,
                            s->error);
}

/* The first pass over a slab: add its pieces. */
static lob_status add_slab(streaming *s, int64_t z)
{
    const lob_components_input *const in = &s->slab.in;
    LOB_TRY(read_slab(s, z));
    if (!s->pairs) LOB_TRY(lob_check_memory(in->place, in->image, in->intensities, s->error));
    if (!s->keeps && holds_nothing(in->image, s->options, s->context->threads))
        return add_nothing(s);
    return tell_slab(s, false);
}

/* The second pass over a slab: label and write it. */
static lob_status write_slab(streaming *s, int64_t z)
{
    LOB_TRY(read_slab(s, z));
    LOB_TRY(hold_labels(s, (int64_t)lob_type_of(s->out->type)->bytes));
    const bool blank = holds_nothing(s->slab.in.image, s->options, s->context->threads);
    lob_status st = blank ? label_nothing(s) : tell_slab(s, true);
    if (st == LOB_OK) st = write_labels(s, s->slab.labelled.labels);
    free_slab(s);
    return st;
}

/* Find the range of the intensities, which fine levels need before anything is added up. */
static lob_status find_range(streaming *s)
{
    lob_extremes all = {0};
    lob_type type = LOB_U8;
    for (int64_t z = s->first; z < s->end; z += s->planes) {
        LOB_TRY(read_slab(s, z));
        const lob_volume *const intensities = s->slab.in.intensities;
        if (!intensities) return LOB_OK;
        LOB_TRY(lob_check_memory((lob_place){0}, intensities, NULL, s->error));
        s->pieces.intensities = true;
        type = intensities->type;
        const lob_extremes part = lob_extremes_of(intensities, s->context->threads);
        lob_extremes_widen(&all, &part, type);
    }
    LOB_TRY(lob_extremes_of_team(&all, s->stream->team, type, s->error));
    s->out->fine = lob_fine_levels_of(&all, type);
    return LOB_OK;
}

static lob_status label_slabs(streaming *s)
{
    const int64_t slabs = (s->end - s->first + s->planes - 1) / s->planes;
    const double step = s->keeps ? 0.99 : 0.5 / (double)slabs;
    int64_t pairs = s->keeps && s->context->device && s->label != lob_components_cpu;
    LOB_TRY(lob_team_reduce(s->pieces.team, &pairs, 1, LOB_TEAM_MIN, s->error));
    s->pairs = pairs;
    if (s->options->regions) LOB_TRY(find_range(s));
    for (int64_t z = s->first; z < s->end; z += s->planes) {
        LOB_TRY(lob_share_next(&s->share, s->share.to + step));
        LOB_TRY(add_slab(s, z));
    }
    if (!s->keeps) LOB_TRY(lob_slab_pieces_select(&s->pieces, &s->largest));
    LOB_TRY(begin_output(s));
    if (s->keeps) return write_labels(s, s->slab.labelled.labels);
    for (int64_t z = s->first; z < s->end; z += s->planes) {
        LOB_TRY(lob_share_next(&s->share, s->share.to + step));
        LOB_TRY(write_slab(s, z));
    }
    return LOB_OK;
}

/* The whole volume at once: one pass, nothing to join. */
static lob_status label_whole(streaming *s)
{
    const lob_components_input *const in = &s->slab.in;
    lob_components_output *out = s->out;
    LOB_TRY(read_slab(s, 0));
    if (s->options->keep_values)
        LOB_TRY(lob_check_memory(in->place, in->image, in->intensities, s->error));
    const lob_type widest = s->options->type == LOB_TYPES ? LOB_I32 : s->options->type;
    const int64_t voxels = s->dims.nz * s->plane_voxels;
    const int64_t most = voxels * (int64_t)lob_type_of(widest)->bytes;
    LOB_TRY(lob_budget_hold(&s->budget, most, s->error));
    s->share.to = 0.99;
    const lob_context part = inner_context(s);
    lob_status st = s->label(out, in, s->options, &part, s->error);
    s->budget.peak = s->budget.held + out->working_bytes;
    if (st != LOB_OK) return st;
    void *const labels = out->labels;
    lob_device *const device = out->device;
    s->largest = out->count;
    if (s->options->keep_values) /* labels are values */
        s->largest = lob_label_largest(out->labels, out->type, voxels, s->context->threads);
    lob_budget_release(&s->budget, most - voxels * (int64_t)lob_type_of(out->type)->bytes);
    out->labels = NULL;
    out->device = NULL;
    st = begin_output(s);
    if (st == LOB_OK) st = write_labels(s, labels);
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
    lob_status st = s.planes < dims.nz ? label_slabs(&s) : label_whole(&s);
    if (st == LOB_OK) st = lob_report(context, 1.0);
    free_slab(&s);
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
