/* Reading NIfTI files: voxels into place; the format's row. */
#include "io/byte_order.h"
#include "io/format.h"
#include "io/gunzip_threads.h"
#include "io/gzip.h"
#include "io/nifti/nifti_extensions.h"
#include "io/nifti/nifti_files.h"
#include "volumes/blocks.h"
#include "volumes/bytes.h"
#include "volumes/clock.h"
#include "volumes/voxel_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the voxels ---- */

/* Where component v of the frame begins in the file. */
static uint64_t component_at(const lob_nifti *h, int64_t frame, int64_t v)
{
    return h->vox_offset + (uint64_t)(v * h->frames + frame) * (uint64_t)h->frame_bytes;
}

/* Where the voxels of all frames end, and those of one. */
static uint64_t voxels_end(const lob_nifti *h)
{
    return h->vox_offset + (uint64_t)h->total_bytes;
}

static uint64_t frame_end(const lob_nifti *h, int64_t frame)
{
    return component_at(h, frame, h->vectors - 1) + (uint64_t)h->frame_bytes;
}

/* The frame to read: where all are, they are components of one. */
static int64_t frame_of(const lob_volume *out, const lob_nifti *h)
{
    return h->frames == 1 ? 0 : out->frame;
}

/* The only frame, by several threads; false when that is not possible, or not worth it. */
static bool inflate_apart(unsigned char **raw, const lob_nifti *h, lob_gzip_rest *rest,
                          const lob_input *image, int threads)
{
    const size_t head_bytes = (size_t)h->vox_offset, bytes = (size_t)h->total_bytes;
    *rest = (lob_gzip_rest){0};
    if (h->frames > 1 || !lob_gunzip_is_long(image->size, threads)) return false;
    unsigned char *const head = malloc(head_bytes), *const voxels = lob_voxel_memory(bytes);
    const bool done = head && voxels &&
                      lob_gunzip_threads(voxels, bytes, head, head_bytes, &rest->trailing,
                                         image->bytes, image->size, threads);
    free(head);
    if (done)
        *raw = voxels;
    else
        free(voxels);
    return done;
}

static lob_status inflate_whole(unsigned char **raw, const lob_nifti *h, int64_t frame,
                                lob_gzip_rest *rest, const lob_reading *r)
{
    const lob_input *const image = r->file;
    if (inflate_apart(raw, h, rest, image, r->options->threads)) return LOB_OK;
    const size_t size = (size_t)h->vox_offset + (size_t)h->total_bytes;
    unsigned char *buffer = lob_voxel_memory((int64_t)size);
    if (!buffer) return LOB_FAIL(r, LOB_ENOMEM, "no memory for %zu bytes", size);
    const lob_status st =
        lob_gunzip(buffer, size, rest, image->bytes, image->size, r->path, r->error);
    if (st != LOB_OK) {
        free(buffer);
        return st;
    }
    for (int64_t v = 0; v < h->vectors; v++)
        memmove(buffer + v * h->frame_bytes, buffer + component_at(h, frame, v),
                (size_t)h->frame_bytes);
    unsigned char *fitted = realloc(buffer, (size_t)(h->frame_bytes * h->vectors));
    *raw = fitted ? fitted : buffer;
    return LOB_OK;
}

/* What follows the bytes that were read, up to read_to, of a gzip file. */
static lob_status check_rest(const lob_nifti *h, const lob_gzip_rest *rest, uint64_t read_to,
                             const lob_reading *r)
{
    const uint64_t after = voxels_end(h), end = read_to + rest->surplus;
    if (end < after) return LOB_FAIL(r, LOB_EDATA, "damaged: it ends before its last frame");
    if (end > after)
        lob_warn(r->info, "%s: %llu bytes after the voxels are not read", r->path,
                 (unsigned long long)(end - after));
    if (rest->trailing > 0)
        lob_warn(r->info, "%s: %zu bytes after the gzip data are not read", r->path,
                 rest->trailing);
    return LOB_OK;
}

/*
 * n x87 extended numbers, 10 bytes in 16, to float64, which may go to where they are. The format
 * does not say what float128 is; these are what writers on PCs store.
 */
static void narrow_extended(unsigned char *out, const unsigned char *raw, int64_t n, bool swapped)
{
    for (int64_t i = 0; i < n; i++) {
        unsigned char in[10]; /* least significant byte first */
        for (int b = 0; b < 10; b++) in[b] = raw[16 * i + (swapped ? 15 - b : b)];
        uint64_t mantissa = 0;
        for (int b = 7; b >= 0; b--) mantissa = mantissa << 8 | in[b];
        const int biased = (in[9] & 0x7f) << 8 | in[8];
        double value;
        if (biased == 0x7fff) /* the top bit is always set and says nothing */
            value = mantissa << 1 ? (double)NAN : (double)INFINITY;
        else
            value = ldexp((double)mantissa, biased - 16383 - 63);
        if (in[9] & 0x80) value = -value;
        memcpy(out + 8 * i, &value, sizeof value);
    }
}

/*
 * n stored voxels to voxels in memory, which is the same place unless they are colours, whose
 * channels are so many numbers apart, or float128.
 */
static void convert(unsigned char *out, int64_t channel, unsigned char *raw, int64_t n,
                    const lob_nifti *h)
{
    if (h->type->word == 16)
        narrow_extended(out, raw, n, h->swapped);
    else if (h->swapped)
        lob_swap_words(raw, (size_t)n * h->type->bytes, h->type->word);
    const int channels = h->type->channels; /* colours, side by side */
    for (int c = 0; channels > 1 && c < channels; c++)
        lob_copy_strided(out + c * channel, 1, raw + c, channels, n, 1);
}

/* ---- reading planes ---- */

enum { MAX_READERS = 64 };

typedef struct {
    lob_nifti_files from;
    lob_nifti h;
    int64_t frame, plane; /* plane: voxels */
    bool outgrows;        /* the image's file, memory */
    bool checked;         /* the whole file */
    /* of components, which lie apart: number v has reader v modulo their count; 0: no gzip */
    lob_gzip_reader *readers[MAX_READERS];
    int64_t reader_count;
    unsigned char *stored; /* a piece of what does not lie in memory as it lies in the file */
} planes;

static void close_parts(planes *p)
{
    for (int64_t i = 0; i < p->reader_count; i++) lob_gzip_reader_free(p->readers[i]);
    free(p->stored);
    lob_nifti_close(&p->from);
}

static void planes_close(void *state)
{
    close_parts(state);
    free(state);
}

/* Readers of a gzip file, so many at most. */
static lob_status open_readers(planes *p, int64_t most, const lob_reading *r)
{
    const lob_input *const image = p->from.image.file;
    if (!lob_is_gzip(image->bytes, image->size)) return LOB_OK;
    p->reader_count = p->h.vectors < most ? p->h.vectors : most;
    for (int64_t i = 0; i < p->reader_count; i++) {
        p->readers[i] = lob_gzip_reader_new(image->bytes, image->size, p->from.image.path);
        if (!p->readers[i]) return LOB_FAIL(r, LOB_ENOMEM, "no memory to inflate it");
    }
    return LOB_OK;
}

/* n stored bytes of component v from a place in its frame on. */
static lob_status fetch_stored(planes *p, unsigned char *out, int64_t v, uint64_t at, size_t n,
                               lob_error *error)
{
    const uint64_t from = component_at(&p->h, p->frame, v) + at;
    lob_reading image = p->from.image;
    lob_gzip_rest rest;
    if (p->reader_count == 0) {
        lob_copy_apart(out, image.file->bytes + from, n, image.options->threads);
        return LOB_OK;
    }
    const double start_s = lob_clock_s();
    lob_gzip_reader *reader = p->readers[v % p->reader_count];
    const uint64_t end = frame_end(&p->h, p->frame);
    const bool whole = lob_gzip_reader_get(reader, out, from, n);
    lob_status st = LOB_OK;
    if (!whole || (from + n == end && !p->checked)) {
        st = lob_gzip_reader_end(reader, end, &rest, error);
        image.error = error;
        if (st == LOB_OK) st = check_rest(&p->h, &rest, end, &image);
        p->checked = true;
    }
    if (image.info) image.info->inflate_s += lob_clock_s() - start_s;
    return st;
}

static lob_status planes_get(void *state, unsigned char *out, int64_t z, int64_t n,
                             lob_error *error)
{
    enum { PIECE = 1 << 20 };
    planes *p = state;
    const lob_nifti_type *type = p->h.type;
    const int64_t voxels = n * p->plane, bytes = (int64_t)type->bytes;
    const int64_t word = (int64_t)lob_type_of(type->type)->bytes;
    const bool as_stored = type->channels == 1 && type->word != 16;
    const int64_t most = as_stored ? voxels : PIECE / bytes;
    if (!as_stored && !p->stored && !(p->stored = malloc(PIECE)))
        return lob_fail_file(error, LOB_ENOMEM, p->from.image.path, "no memory");
    for (int64_t v = 0; v < p->h.vectors; v++, out += voxels * type->channels * word) {
        for (int64_t at = 0; at < voxels; at += most) {
            const int64_t some = voxels - at < most ? voxels - at : most;
            unsigned char *const raw = as_stored ? out : p->stored;
            LOB_TRY(fetch_stored(p, raw, v, (uint64_t)((z * p->plane + at) * bytes),
                                 (size_t)(some * bytes), error));
            convert(out + at * word, voxels, raw, some, &p->h);
        }
        if (p->outgrows) lob_input_unload(p->from.image.file);
    }
    return LOB_OK;
}

static lob_status nifti_open_planes(lob_plane_source *source, lob_volume *out, const lob_reading *r)
{
    planes *p = calloc(1, sizeof *p);
    if (!p) return LOB_FAIL(r, LOB_ENOMEM, "no memory");
    lob_status st = lob_nifti_open(&p->from, &p->h, out, r);
    p->frame = out->frame;
    p->plane = out->dims.nx * out->dims.ny;
    if (st == LOB_OK) st = open_readers(p, MAX_READERS, r);
    if (st == LOB_OK) {
        p->outgrows = lob_outgrows_memory(p->from.image.file, r->options);
        *source = (lob_plane_source){.state = p, .get = planes_get, .close = planes_close};
    } else {
        planes_close(p);
    }
    return st;
}

/* ---- reading all ---- */

/* The frame of a gzip file, out of all that it holds. */
static lob_status read_inflated(lob_volume *out, const lob_nifti *h, const lob_reading *r)
{
    unsigned char *raw = NULL;
    lob_gzip_rest rest;
    const int64_t n = lob_voxels(out) * h->vectors;
    const double start_s = lob_clock_s();
    lob_status st = inflate_whole(&raw, h, frame_of(out, h), &rest, r);
    if (st == LOB_OK) st = check_rest(h, &rest, voxels_end(h), r);
    if (r->info) r->info->inflate_s += lob_clock_s() - start_s;
    const bool colours = h->type->channels > 1;
    if (st == LOB_OK) out->data = colours ? lob_voxel_memory(n * h->type->channels) : raw;
    if (out->data) convert(out->data, n, raw, n, h);
    if (out->data && h->type->word == 16) {
        void *fitted = realloc(raw, (size_t)(8 * n));
        if (fitted) out->data = fitted;
    }
    if (raw && (colours || st != LOB_OK)) free(raw);
    return st != LOB_OK || out->data ? st : LOB_FAIL(r, LOB_ENOMEM, "no memory for its voxels");
}

static lob_status read_voxels(lob_volume *out, planes *p, const lob_reading *r)
{
    lob_nifti *const h = &p->h;
    const lob_reading *const image = &p->from.image;
    const bool packed = lob_is_gzip(image->file->bytes, image->file->size);
    const int64_t inflated =
        lob_product(h->frame_bytes, h->vectors, h->type->channels > 1 ? 2 : 1, 1);
    LOB_TRY(lob_memory_allows(packed ? inflated : lob_volume_bytes(out), image));
    if (packed) {
        /* All frames at once is several times as fast, where memory holds them. */
        lob_reading quiet = *image;
        quiet.error = NULL;
        if (h->frames == 1 || lob_memory_allows(h->total_bytes, &quiet) == LOB_OK)
            return read_inflated(out, h, image);
    }
    out->data = lob_voxel_memory(lob_volume_bytes(out));
    if (!out->data) return LOB_FAIL(image, LOB_ENOMEM, "no memory for its voxels");
    LOB_TRY(open_readers(p, 1, r));
    p->frame = frame_of(out, h);
    p->plane = lob_voxels(out);
    if (h->frames == 1) { /* components follow one another, as if they were one */
        p->plane *= h->vectors;
        h->frame_bytes = h->total_bytes;
        h->vectors = 1;
    }
    return planes_get(p, out->data, 0, 1, r->error);
}

static lob_status nifti_read(lob_volume *out, const lob_reading *r)
{
    planes p = {.checked = false};
    lob_status st = lob_nifti_open(&p.from, &p.h, out, r);
    if (st == LOB_OK && !r->options->header_only) st = read_voxels(out, &p, r);
    close_parts(&p);
    return st;
}

static const char *const suffixes[] = {".nii.gz", ".nii",    ".hdr", ".hdr.gz",
                                       ".img",    ".img.gz", NULL};

static void list_fields(const lob_header *header, lob_field_fn *field, void *user)
{
    if (lob_nifti_list(header, field, user)) lob_nifti_list_extensions(header, field, user);
}

const lob_format lob_format_nifti = {
    .name = lob_nifti_name,
    .level = LOB_GZIP_BY_CONTENT,
    .suffixes = suffixes,
    .sniff = lob_nifti_sniff,
    .all_frames = true,
    .keeps_names = "", /* in an extension of the header */
    .read = nifti_read,
    .open_planes = nifti_open_planes,
    .begin_planes = lob_nifti_begin_planes,
    .second_file = lob_nifti_second_file,
    .fields = list_fields,
};
