/*
 * NRRD: read and written with directions in space, and 3D Slicer's segmentations.
 *
 * Reading. .nrrd, and .nhdr with one file of voxels in its own folder; raw and gzip; three axes of
 * space or two, one of channels or layers, one of time. A segmentation (.seg.nrrd) becomes a label
 * volume with its names, colours and terminology. Where it has one layer, labels are its own
 * numbers, as in several where these tell all segments apart; else segment i, from 0, is label
 * i + 1, with a note. Where segments overlap, the first one counts (as in 3D Slicer's merged label
 * maps), with a note.
 *
 * Writing. .nrrd and .seg.nrrd, gzip, space left-posterior-superior. Keys of an input that was NRRD
 * go along, but for those of segments. A .seg.nrrd holds labels: a segment for each label that
 * occurs, with its name and colour, in one layer.
 */
#include "io/gzip.h"
#include "io/nrrd/nrrd_header.h"
#include "volumes/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char nrrd_name[] = "NRRD";
static const char apart[] = ".nhdr"; /* a header whose voxels lie in another file */
static const char *const suffixes[] = {".nrrd", apart, NULL};

static bool sniff(const lob_location *where, const lob_input *file)
{
    (void)where;
    return lob_nrrd_looks(file->bytes, file->size);
}

/* ---- segments ---- */

static lob_rgba colour_of(const char *text, int32_t label)
{
    double part[3];
    unsigned char byte[3];
    if (!text || sscanf(text, "%lf %lf %lf", &part[0], &part[1], &part[2]) != 3)
        return lob_label_default_colour(label);
    for (int i = 0; i < 3; i++) {
        const double share = part[i] > 0.0 ? part[i] < 1.0 ? part[i] : 1.0 : 0.0;
        byte[i] = (unsigned char)(share * 255.0 + 0.5);
    }
    return (lob_rgba){byte[0], byte[1], byte[2], 255};
}

static lob_status take_names(lob_volume *out, const lob_nrrd *n, const lob_reading *r)
{
    for (int i = 0; i < n->segment_count; i++) {
        const lob_nrrd_segment *s = &n->segments[i];
        const int64_t label = s->label;
        if (s->value < 1 || s->value > INT32_MAX)
            return LOB_FAIL(r, LOB_EDATA, "segment %d has label %lld, not from 1 to 2^31 - 1", i,
                            (long long)s->value);
        const lob_rgba colour = colour_of(s->colour, (int32_t)label);
        char *terminology = lob_nrrd_terminology(s);
        const lob_status st =
            lob_label_names_add(&out->names, (int32_t)label, s->name, &colour, terminology);
        free(terminology);
        if (st != LOB_OK) return LOB_FAIL(r, st, "no memory for its segments");
    }
    if (lob_label_names_settle(&out->names) == LOB_OK) return LOB_OK;
    return LOB_FAIL(r, LOB_ENOMEM, "no memory for its segments");
}

/* Where a segment lies. */
typedef struct {
    int64_t layer; /* INT64_MAX: none that there is */
    double value;
    int segment;
    bool shared; /* it is the first of several there */
} place;

/* By layer, value and segment. */
static int compare_places(const void *a, const void *b)
{
    const place *p = a, *q = b;
    if (p->layer != q->layer) return p->layer < q->layer ? -1 : 1;
    if (p->value != q->value) return p->value < q->value ? -1 : 1;
    return p->segment < q->segment ? -1 : p->segment > q->segment;
}

/* The places of all segments, those in no layer at the end; malloc'ed, or NULL. */
static place *sorted_places(const lob_nrrd *n)
{
    place *places = malloc((size_t)n->segment_count * sizeof *places);
    for (int i = 0; places && i < n->segment_count; i++) {
        const lob_nrrd_segment *s = &n->segments[i];
        places[i] = (place){s->layer < 0 ? INT64_MAX : s->layer, (double)s->value, i, false};
    }
    if (places) qsort(places, (size_t)n->segment_count, sizeof *places, compare_places);
    for (int i = 1; places && i < n->segment_count; i++)
        places[i - 1].shared =
            places[i].layer == places[i - 1].layer && places[i].value == places[i - 1].value;
    return places;
}

/* Give a voxel of a layer the place, from 1, of the segment that its value stands for. Returns
 * whether it lies in others too. */
static bool put_segment(void *labels, lob_type type, int64_t voxel, double value,
                        const place *places, int count)
{
    int low = 0, high = count;
    if (value == 0.0 && places[0].value > 0.0) return false; /* most voxels */
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (places[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count || places[low].value != value) return false;
    const int32_t at = places[low].segment + 1, before = lob_label_at(labels, type, voxel);
    if (before == 0 || at < before) lob_label_put(labels, type, voxel, at);
    return places[low].shared || before != 0;
}

/* What holds the labels of segments, and their places in the list too. */
static lob_type type_of_labels(const lob_nrrd *n)
{
    int64_t largest = n->segment_count;
    for (int i = 0; i < n->segment_count; i++)
        if (n->segments[i].label > largest) largest = n->segments[i].label;
    return lob_label_type((int32_t)largest);
}

/* Put the values of segments for their places in the list, from 1. */
static void put_labels(void *labels, lob_type type, int64_t voxels, const lob_nrrd *n)
{
    for (int64_t i = 0; i < voxels; i++) {
        const int32_t at = lob_label_at(labels, type, i);
        if (at > 0) lob_label_put(labels, type, i, (int32_t)n->segments[at - 1].label);
    }
}

/* One volume of labels out of layers, each a channel of whole numbers. */
static lob_status merge_layers(lob_volume *out, const lob_nrrd *n, const lob_reading *r)
{
    enum { BLOCK = 4096 };
    const int64_t voxels = lob_voxels(out);
    const lob_type type = type_of_labels(n);
    LOB_TRY(lob_memory_allows(lob_product(voxels, (int64_t)lob_type_of(type)->bytes, 1, 1), r));
    void *labels = calloc((size_t)voxels, lob_type_of(type)->bytes);
    if (!labels) return LOB_FAIL(r, LOB_ENOMEM, "no memory for its labels");
    place *places = sorted_places(n);
    int64_t overlaps = 0;
    int from = 0;
    for (int64_t layer = 0; places && layer < out->channels; layer++) {
        int to = from;
        while (to < n->segment_count && places[to].layer == layer) to++;
        for (int64_t first = 0; to > from && first < voxels; first += BLOCK) {
            double values[BLOCK];
            const int64_t count = voxels - first < BLOCK ? voxels - first : BLOCK;
            lob_values(values, out->data, out->type, layer * voxels + first, count);
            for (int64_t k = 0; k < count; k++)
                overlaps +=
                    put_segment(labels, type, first + k, values[k], places + from, to - from);
        }
        from = to;
    }
    free(places);
    if (!places) {
        free(labels);
        return LOB_FAIL(r, LOB_ENOMEM, "no memory for its segments");
    }
    if (!n->renumbered)
        put_labels(labels, type, voxels, n);
    else
        lob_warn(r->info,
                 "%s: some of its segments have one number, so that its %d segments are labels by "
                 "their order, from 1",
                 r->path, n->segment_count);
    if (overlaps > 0)
        lob_warn(r->info,
                 "%s: its segments overlap (voxels: %lld); the segment that comes first counts",
                 r->path, (long long)overlaps);
    free(out->data);
    out->data = labels;
    out->type = type;
    return LOB_OK;
}

static lob_status take_segments(lob_volume *out, const lob_nrrd *n, const lob_reading *r)
{
    if (n->segment_count == 0) return LOB_OK;
    const bool layered = out->channels > 1;
    LOB_TRY(take_names(out, n, r));
    if (!layered) return LOB_OK;
    if (!lob_type_of(out->type)->is_integer)
        return LOB_FAIL(r, LOB_EDATA, "its layers hold %s, not labels",
                        lob_type_of(out->type)->name);
    if (out->data) LOB_TRY(merge_layers(out, n, r));
    if (!out->data) out->type = type_of_labels(n);
    out->channels = 1;
    return LOB_OK;
}

/* ---- reading ---- */

/* Where the voxels begin in the file that holds them, but for bytes to be skipped. */
static lob_status find_voxels(const unsigned char **bytes, const lob_nrrd *n, const lob_input *file,
                              size_t from, const lob_reading *r)
{
    const unsigned char *at = file->bytes + from, *end = file->bytes + file->size;
    for (int64_t line = 0; line < n->line_skip && at; line++) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (at) at++;
    }
    *bytes = at;
    if (!at) return LOB_FAIL(r, LOB_EDATA, "ends before the lines to be skipped do");
    if (n->image.compressed && n->image.skip != 0) /* it counts inflated bytes */
        return LOB_FAIL(r, LOB_EDATA, "a byte skip in compressed voxels is not read");
    return LOB_OK;
}

/* Keep the header's text, for its keys. */
static lob_status keep_header(lob_header *out, const lob_nrrd *n, const lob_reading *r)
{
    out->bytes = malloc(n->header_bytes);
    if (!out->bytes) return LOB_FAIL(r, LOB_ENOMEM, "no memory for its header");
    memcpy(out->bytes, r->file->bytes, n->header_bytes);
    out->size = n->header_bytes;
    out->format = nrrd_name;
    return LOB_OK;
}

static lob_status read_parsed(lob_volume *out, const lob_nrrd *n, const lob_reading *of_file)
{
    lob_input other = {0};
    const lob_input *voxels = of_file->file;
    lob_read_options chosen = *of_file->options;
    lob_reading one = *of_file, *const r = &one;
    one.options = &chosen;
    /* labels are of one frame */
    if (n->segment_count > 0 && chosen.frame == LOB_FRAME_ALL) chosen.frame = LOB_FRAME_UNSAID;
    const unsigned char *bytes = NULL;
    if (n->data_file) {
        LOB_TRY(lob_raw_open(&other, r->where->file, n->data_file, r->error));
        lob_info_add_file(r->info, &other);
        voxels = &other;
    }
    lob_status st = find_voxels(&bytes, n, voxels, n->data_file ? 0 : n->header_bytes, r);
    if (st == LOB_OK)
        st = lob_raw_read(out, &n->image, bytes, (size_t)(voxels->bytes + voxels->size - bytes), r);
    lob_input_close(&other);
    out->geometry = n->geometry;
    out->frame_step_s = n->frame_step_s;
    if (st == LOB_OK) st = keep_header(&out->header, n, r);
    if (st == LOB_OK) st = take_segments(out, n, r);
    return st;
}

static lob_status read_nrrd(lob_volume *out, const lob_reading *r)
{
    lob_nrrd n;
    lob_info_add_file(r->info, r->file);
    lob_status st = lob_nrrd_parse(&n, r->file->bytes, r->file->size, r);
    if (st == LOB_OK) st = read_parsed(out, &n, r);
    lob_nrrd_free(&n);
    return st;
}

/* ---- the row ---- */

/* Hand over the keys of a header. */
static void list_keys(const lob_header *header, lob_field_fn *field, void *user)
{
    lob_nrrd n;
    if (lob_nrrd_parse(&n, header->bytes, header->size, &(lob_reading){.path = ""}) == LOB_OK)
        for (int i = 0; i < n.key_count; i++) field(user, n.keys[i], n.values[i]);
    lob_nrrd_free(&n);
}

static lob_status holds(const lob_volume *volume, const lob_location *where, lob_error *error)
{
    if (!lob_is_segmentation_name(where->file))
        return lob_holds_no_scale(volume, where, nrrd_name, error);
    if (volume->channels == 1 && lob_type_of(volume->type)->is_integer && !lob_is_scaled(volume))
        return LOB_OK;
    return lob_fail_file(error, LOB_EDATA, where->path,
                         "a segmentation holds labels, whole numbers in one channel; write an "
                         "image as .nrrd");
}

static char *name_of_voxels(const lob_input *header, const char *path)
{
    lob_nrrd n;
    const lob_reading r = {.path = path};
    const lob_status st = lob_nrrd_parse(&n, header->bytes, header->size, &r);
    char *const name = st == LOB_OK && n.data_file ? strdup(n.data_file) : NULL;
    lob_nrrd_free(&n);
    return name;
}

static lob_status second_file(char **second, const char *file, bool reading)
{
    return lob_raw_second_file(second, file, reading, name_of_voxels);
}

const lob_format lob_format_nrrd = {
    .name = nrrd_name,
    .level = LOB_GZIP_BY_CONTENT,
    .suffixes = suffixes,
    .read_only = apart,
    .sniff = sniff,
    .read = read_nrrd,
    .all_frames = true,
    .keeps_names = ".seg.nrrd",
    .write = lob_nrrd_write,
    .holds = holds,
    .second_file = second_file,
    .fields = list_keys,
};
