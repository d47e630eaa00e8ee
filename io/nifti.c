/* Reading NIfTI files: finding the two halves of a pair, voxels into place; the format's row. */
#include "io/format.h"
#include "io/gzip.h"
#include "io/nifti_header.h"
#include "io/nifti_pair.h"
#include "io/nifti_voxels.h"
#include "volumes/clock.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_BYTES = LOB_NIFTI_MAX_BYTES + LOB_NIFTI_EXTENDER };
#define MAX_EXTENSION_BYTES ((uint64_t)64 << 20)

/* ---- pairs ---- */

/* Open the other half, compressed like this one if there is such a file, else the other way. */
static lob_status open_other_half(lob_input *in, char **name, const char *path, lob_error *error)
{
    const bool gz = lob_has_suffix(path, ".gz");
    for (int attempt = 0; attempt < 2; attempt++) {
        char *other = lob_pair_other(path, attempt == 0 ? gz : !gz);
        if (!other) return lob_fail(error, LOB_ENOMEM, "%s: no memory", path);
        lob_error why = {.text = ""}; /* of no interest when the other spelling is there */
        const lob_status st = lob_input_open(in, other, &why);
        if (st != LOB_ENOINPUT) {
            *name = other;
            return st == LOB_OK ? st : lob_fail(error, st, "%s", why.text);
        }
        free(other);
    }
    char *plain = lob_pair_other(path, false);
    const lob_status st =
        lob_fail(error, LOB_ENOINPUT, "%s: its other half, %s (or the same with .gz), is missing",
                 path, plain ? plain : "of the pair");
    free(plain);
    return st;
}

/* The files that one volume is read from. */
typedef struct {
    const lob_input *header, *image; /* the same in a single file */
    const char *header_path, *image_path;
    lob_input opened; /* whichever of them we opened ourselves */
    char *opened_path;
} sources;

/* ---- the header ---- */

/* The first n bytes of a file, inflated if need be: a pointer into it or into scratch. */
static const unsigned char *head_of(const lob_input *file, unsigned char *scratch, size_t n,
                                    size_t *got)
{
    if (lob_is_gzip(file->bytes, file->size)) {
        *got = lob_gunzip_head(scratch, n, file->bytes, file->size);
        return scratch;
    }
    *got = file->size < n ? file->size : n;
    return file->bytes;
}

/* Is this the image of a pair, whose bytes say nothing of what it is? */
static bool has_header_beside(const char *path)
{
    bool there = false;
    for (int gz = 0; lob_pair_image(path) && !there && gz < 2; gz++) {
        char *header = lob_pair_other(path, gz);
        there = header && access(header, F_OK) == 0;
        free(header);
    }
    return there;
}

static bool nifti_sniff(const lob_location *where, const lob_input *file)
{
    unsigned char scratch[4];
    size_t got;
    const unsigned char *head = head_of(file, scratch, sizeof scratch, &got);
    return lob_nifti_looks(head, got) || has_header_beside(where->file);
}

/*
 * Keep the extender and the extensions, up to end in the header's file. Fewer bytes may be there: a
 * bare header has not even an extender.
 */
static lob_status keep_extensions(lob_header *out, const lob_nifti *h, const lob_input *file,
                                  const char *path, lob_file_info *info, lob_error *error)
{
    unsigned char scratch[HEAD_BYTES];
    size_t got;
    const bool gz = lob_is_gzip(file->bytes, file->size);
    const unsigned char *head = head_of(file, scratch, h->size + LOB_NIFTI_EXTENDER, &got);
    if (got < h->size + LOB_NIFTI_EXTENDER) return LOB_OK;
    const bool present = head[h->size] != 0;
    uint64_t end = h->size + LOB_NIFTI_EXTENDER;
    if (present && !h->pair) end = h->vox_offset;
    if (present && h->pair) end = gz ? end + MAX_EXTENSION_BYTES : file->size;
    if (end - h->size > LOB_NIFTI_EXTENDER + MAX_EXTENSION_BYTES)
        return lob_fail(error, LOB_EDATA,
                        "%s: its header extensions take %llu bytes; more than 64 MiB are not read",
                        path, (unsigned long long)(end - h->size));
    if (gz && !lob_gzip_justifies(end, file->size)) end = (uint64_t)file->size * LOB_GZIP_MAX_RATIO;

    unsigned char *bytes = malloc((size_t)end);
    if (!bytes) return lob_fail(error, LOB_ENOMEM, "%s: no memory for its extensions", path);
    head = head_of(file, bytes, (size_t)end, &got);
    if (got > end) got = (size_t)end;
    if (got <= h->size) { /* not twice the same answer from one file: it is changing */
        free(bytes);
        return lob_fail(error, LOB_EDATA, "%s: damaged: cut short in its header", path);
    }
    out->extensions_size = got - h->size;
    memmove(bytes, head + h->size, out->extensions_size);
    unsigned char *fitted = realloc(bytes, out->extensions_size);
    out->extensions = fitted ? fitted : bytes;
    lob_nifti_order_extensions(out->extensions, out->extensions_size, h->swapped, path, info);
    return LOB_OK;
}

static lob_status keep_header(lob_header *out, const lob_nifti *h, const sources *from,
                              lob_file_info *info, lob_error *error)
{
    out->format = lob_nifti_name;
    out->size = h->size;
    out->bytes = malloc(h->size);
    if (!out->bytes) return lob_fail(error, LOB_ENOMEM, "%s: no memory", from->header_path);
    memcpy(out->bytes, h->bytes, h->size);
    return keep_extensions(out, h, from->header, from->header_path, info, error);
}

/* ---- the voxels ---- */

/* Could the file hold what its header asks for? Asked before any memory is. */
static lob_status check_size(const lob_nifti *h, const lob_input *image, const char *path,
                             lob_file_info *info, lob_error *error)
{
    const uint64_t end = h->vox_offset + (uint64_t)h->total_bytes; /* each is below 2^63 */
    if (lob_is_gzip(image->bytes, image->size)) {
        if (lob_gzip_justifies(end, image->size)) return LOB_OK;
        return lob_fail(
            error, LOB_EDATA,
            "%s: damaged: its header asks for %llu bytes, more than its %zu compressed ones "
            "can hold; copy it again from its source",
            path, (unsigned long long)end, image->size);
    }
    if (end > image->size)
        return lob_fail(
            error, LOB_EDATA,
            "%s: cut short: its header asks for %llu bytes, but there are %zu; copy it again "
            "from its source",
            path, (unsigned long long)end, image->size);
    if (end < image->size)
        lob_warn(info, "%s: %llu bytes after the voxels are not read", path,
                 (unsigned long long)(image->size - end));
    return LOB_OK;
}

/* The voxels of a file whose header alone is read: a warning where they are not all there. */
static void note_missing(const lob_nifti *h, const lob_input *image, const char *path,
                         lob_file_info *info)
{
    const uint64_t end = h->vox_offset + (uint64_t)h->total_bytes;
    lob_error why;
    lob_gzip_rest rest;
    lob_status st = check_size(h, image, path, info, &why);
    if (st == LOB_OK && lob_is_gzip(image->bytes, image->size) &&
        !lob_gzip_ends_at(end, image->bytes, image->size)) {
        lob_gzip_reader *reader = lob_gzip_reader_new(image->bytes, image->size, path);
        if (!reader) return;
        st = lob_gzip_reader_end(reader, end, &rest, &why);
        lob_gzip_reader_free(reader);
    }
    if (st != LOB_OK) lob_warn(info, "%s", why.text);
}

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

/* Move the components of a frame to the front of a buffer that begins like the file. */
static void gather(unsigned char *buffer, const unsigned char *file, const lob_nifti *h,
                   int64_t frame)
{
    const size_t bytes = (size_t)h->frame_bytes;
    for (int64_t v = 0; v < h->vectors; v++)
        memmove(buffer + (size_t)v * bytes, file + component_at(h, frame, v), bytes);
}

static lob_status inflate_whole(unsigned char **raw, const lob_nifti *h, int64_t frame,
                                lob_gzip_rest *rest, const lob_input *image, const char *path,
                                lob_error *error)
{
    const size_t size = (size_t)h->vox_offset + (size_t)h->total_bytes;
    unsigned char *buffer = lob_voxel_memory(size);
    if (!buffer) return lob_fail(error, LOB_ENOMEM, "%s: no memory for %zu bytes", path, size);
    const lob_status st = lob_gunzip(buffer, size, rest, image->bytes, image->size, path, error);
    if (st != LOB_OK) {
        free(buffer);
        return st;
    }
    if (h->frames == 1) /* one move, though the components are counted apart */
        memmove(buffer, buffer + h->vox_offset, (size_t)h->total_bytes);
    else
        gather(buffer, buffer, h, frame);
    unsigned char *fitted = realloc(buffer, (size_t)(h->frame_bytes * h->vectors));
    *raw = fitted ? fitted : buffer;
    return LOB_OK;
}

static lob_status inflate_frame(unsigned char **raw, const lob_nifti *h, int64_t frame,
                                lob_gzip_rest *rest, const lob_input *image, const char *path,
                                lob_error *error)
{
    lob_gzip_part *parts = malloc((size_t)h->vectors * sizeof *parts);
    *raw = lob_voxel_memory((size_t)(h->frame_bytes * h->vectors));
    lob_status st = LOB_ENOMEM;
    if (parts && *raw) {
        for (int64_t v = 0; v < h->vectors; v++)
            parts[v] = (lob_gzip_part){component_at(h, frame, v), (size_t)h->frame_bytes,
                                       *raw + v * h->frame_bytes};
        st = lob_gunzip_parts(parts, (int)h->vectors, rest, image->bytes, image->size, path, error);
    } else {
        lob_fail(error, st, "%s: no memory for its voxels", path);
    }
    free(parts);
    if (st != LOB_OK) {
        free(*raw);
        *raw = NULL;
    }
    return st;
}

/* What follows the bytes that were read, up to read_to, of a gzip file. */
static lob_status check_rest(const lob_nifti *h, const lob_gzip_rest *rest, uint64_t read_to,
                             const char *path, lob_file_info *info, lob_error *error)
{
    const uint64_t after = voxels_end(h), end = read_to + rest->surplus;
    if (end < after)
        return lob_fail(error, LOB_EDATA, "%s: damaged: it ends before its last frame", path);
    if (end > after)
        lob_warn(info, "%s: %llu bytes after the voxels are not read", path,
                 (unsigned long long)(end - after));
    if (rest->trailing > 0)
        lob_warn(info, "%s: %zu bytes after the gzip data are not read", path, rest->trailing);
    return LOB_OK;
}

/* The stored voxels of one frame, component after component, malloc'ed. */
static lob_status fetch(unsigned char **raw, const lob_nifti *h, int64_t frame,
                        const lob_input *image, const char *path, const lob_read_options *options,
                        lob_file_info *info, lob_error *error)
{
    const int64_t bytes = h->frame_bytes * h->vectors;
    const bool converts = h->type->channels > 1 || h->type->word == 16;
    lob_status st =
        lob_memory_allows(converts ? lob_product(bytes, 2, 1, 1) : bytes, path, options, error);
    if (st != LOB_OK) return st;
    if (lob_is_gzip(image->bytes, image->size)) {
        lob_gzip_rest rest;
        /* All frames at once is several times as fast, where memory holds them. */
        const bool whole =
            h->frames == 1 || lob_memory_allows(h->total_bytes, path, options, NULL) == LOB_OK;
        st = (whole ? inflate_whole : inflate_frame)(raw, h, frame, &rest, image, path, error);
        const uint64_t read_to = whole ? voxels_end(h) : frame_end(h, frame);
        if (st == LOB_OK) st = check_rest(h, &rest, read_to, path, info, error);
        if (st != LOB_OK) {
            free(*raw);
            *raw = NULL;
        }
        return st;
    }
    *raw = lob_voxel_memory((size_t)bytes);
    if (!*raw) return lob_fail(error, LOB_ENOMEM, "%s: no memory for its voxels", path);
    if (h->frames == 1)
        memcpy(*raw, image->bytes + h->vox_offset, (size_t)bytes);
    else
        gather(*raw, image->bytes, h, frame);
    return LOB_OK;
}

/* Interleaved colours to planes. */
static unsigned char *planes_of(const unsigned char *raw, int64_t voxels, int channels)
{
    unsigned char *planes = lob_voxel_memory((size_t)voxels * (size_t)channels);
    if (planes) lob_nifti_split(planes, raw, voxels, channels);
    return planes;
}

/* Stored voxels to voxels in memory; takes raw over. */
static lob_status convert(lob_volume *out, unsigned char *raw, const lob_nifti *h, const char *path,
                          lob_error *error)
{
    const int64_t voxels = lob_voxels(out);
    const size_t bytes = (size_t)(h->frame_bytes * h->vectors);
    out->data = raw;
    if (h->type->word == 16) {
        lob_nifti_narrow_extended(raw, voxels * h->vectors, h->swapped);
        void *fitted = realloc(raw, bytes / 2);
        if (fitted) out->data = fitted;
    } else if (h->swapped) {
        lob_nifti_swap_words(raw, bytes, h->type->word);
    }
    if (h->type->channels > 1) {
        out->data = planes_of(raw, voxels * h->vectors, h->type->channels);
        free(raw);
        if (!out->data) return lob_fail(error, LOB_ENOMEM, "%s: no memory for its voxels", path);
    }
    return LOB_OK;
}

/* ---- reading ---- */

/* Find the header: in this file, or beside it when this one is the image of a pair. */
static lob_status find_header(sources *from, const lob_location *where, const lob_input *file,
                              lob_error *error)
{
    *from = (sources){file, file, where->file, where->file, {0}, NULL};
    if (!lob_pair_image(where->file)) return LOB_OK;
    const lob_status st = open_other_half(&from->opened, &from->opened_path, where->file, error);
    if (st == LOB_OK) {
        from->header = &from->opened;
        from->header_path = from->opened_path;
    } else if (st == LOB_ENOINPUT) { /* a single file that has got the wrong suffix? */
        unsigned char scratch[4];
        size_t got;
        const unsigned char *head = head_of(file, scratch, sizeof scratch, &got);
        if (lob_nifti_looks(head, got)) return LOB_OK;
    }
    return st;
}

/* Find the voxels: in the header's file or in the other half of the pair. */
static lob_status find_image(sources *from, const lob_nifti *h, lob_error *error)
{
    if (!h->pair) {
        from->image = from->header;
        from->image_path = from->header_path;
        return LOB_OK;
    }
    if (from->image != from->header) return LOB_OK;
    if (!lob_pair_header(from->header_path))
        return lob_fail(
            error, LOB_EDATA,
            "%s: is the header of a .hdr/.img pair; give it the suffix .hdr beside its .img",
            from->header_path);
    const lob_status st =
        open_other_half(&from->opened, &from->opened_path, from->header_path, error);
    from->image = &from->opened;
    from->image_path = from->opened_path;
    return st;
}

static void describe(lob_volume *out, const lob_nifti *h, int64_t frame)
{
    out->type = h->type->type;
    out->dims = h->dims;
    out->channels = (int)h->vectors * h->type->channels;
    out->slope = h->slope;
    out->inter = h->inter;
    out->frames = h->frames;
    out->frame = frame;
    out->frame_step_s = lob_nifti_frame_step_s(h);
}

static lob_status read_voxels(lob_volume *out, const lob_nifti *h, const sources *from,
                              const lob_read_options *options, lob_file_info *info,
                              lob_error *error)
{
    unsigned char *raw = NULL;
    const double start_s = lob_clock_s();
    lob_status st = fetch(&raw, h, out->frame, from->image, from->image_path, options, info, error);
    if (info && lob_is_gzip(from->image->bytes, from->image->size))
        info->inflate_s += lob_clock_s() - start_s;
    if (st == LOB_OK) st = convert(out, raw, h, from->image_path, error);
    return st;
}

/* Every frame of every component becomes a component, which lie in the file in this order. */
static lob_status take_all_frames(lob_nifti *h, const char *path, lob_error *error)
{
    const int64_t all = lob_product(h->vectors, h->frames, h->type->channels, 1);
    if (all < 0 || all > INT_MAX)
        return lob_fail(error, LOB_EDATA, "%s: has too many frames to be read together", path);
    h->vectors *= h->frames;
    h->frames = 1;
    return LOB_OK;
}

/*
 * Find and check everything but the voxels, and fill in all of out but its data.
 *
 *   from  out  to be closed by close_sources, whatever is returned
 */
static lob_status open_volume(sources *from, lob_nifti *h, lob_volume *out,
                              const lob_location *where, const lob_input *file,
                              const lob_read_options *options, lob_file_info *info,
                              lob_error *error)
{
    unsigned char scratch[LOB_NIFTI_MAX_BYTES];
    size_t got = 0;
    int64_t frame = 0;
    lob_status st = find_header(from, where, file, error);
    if (st != LOB_OK) return st;
    const unsigned char *head = head_of(from->header, scratch, sizeof scratch, &got);
    st = lob_nifti_parse(h, head, got, from->header_path, info, error);
    if (st == LOB_OK && !options->header_only) st = find_image(from, h, error);
    if (st != LOB_OK) return st;
    if (info) info->format = h->version == 2 ? "NIfTI-2" : "NIfTI-1";

    if (options->header_only) {
        lob_error why; /* there may be a header alone */
        if (find_image(from, h, &why) == LOB_OK)
            note_missing(h, from->image, from->image_path, info);
        else
            lob_warn(info, "%s", why.text);
    } else {
        st = check_size(h, from->image, from->image_path, info, error);
        if (st == LOB_OK) st = lob_choose_frame(&frame, h->frames, where->path, options, error);
        if (st != LOB_OK) return st;
    }
    const int64_t frames = h->frames;
    if (options->frame == LOB_FRAME_ALL && frames > 1 && !options->header_only)
        st = take_all_frames(h, where->path, error);
    if (st != LOB_OK) return st;
    describe(out, h, frame);
    if (h->frames != frames) {
        out->frames = frames;
        out->frame = LOB_FRAME_ALL;
    }
    lob_nifti_geometry(&out->geometry, h, from->header_path, info);
    st = keep_header(&out->header, h, from, info, error);
    if (st != LOB_OK) return st;
    lob_info_add_file(info, from->header);
    if (from->image != from->header && !options->header_only) lob_info_add_file(info, from->image);
    return LOB_OK;
}

static void close_sources(sources *from)
{
    lob_input_close(&from->opened);
    free(from->opened_path);
}

static lob_status nifti_read(lob_volume *out, const lob_location *where, const lob_input *file,
                             const lob_read_options *options, lob_file_info *info, lob_error *error)
{
    sources from;
    lob_nifti h;
    lob_status st = open_volume(&from, &h, out, where, file, options, info, error);
    if (st == LOB_OK && !options->header_only)
        st = read_voxels(out, &h, &from, options, info, error);
    close_sources(&from);
    return st;
}

/* ---- reading planes ---- */

enum { MAX_READERS = 64 };

typedef struct {
    sources from;
    lob_nifti h;
    int64_t frame, plane; /* plane: voxels */
    lob_file_info *info;
    bool outgrows; /* the image's file, memory */
    bool checked;  /* the whole file */
    /* of components, which lie apart: number v has reader v modulo their count; 0: no gzip */
    lob_gzip_reader *readers[MAX_READERS];
    int64_t reader_count;
    unsigned char *stored; /* planes that do not lie in memory as they lie in the file */
    size_t stored_bytes;
} planes;

static void planes_close(void *state)
{
    planes *p = state;
    for (int64_t i = 0; i < p->reader_count; i++) lob_gzip_reader_free(p->readers[i]);
    free(p->stored);
    close_sources(&p->from);
    free(p);
}

/* Room for stored planes: where they go at once, unless they need work. */
static unsigned char *buffer_for(planes *p, unsigned char *out, size_t bytes)
{
    if (p->h.type->channels == 1 && p->h.type->word != 16) return out;
    if (bytes > p->stored_bytes) {
        free(p->stored);
        p->stored = malloc(bytes);
        p->stored_bytes = p->stored ? bytes : 0;
    }
    return p->stored;
}

/* n stored bytes of component v from a place in its frame on. */
static lob_status fetch_stored(planes *p, unsigned char *out, int64_t v, uint64_t at, size_t n,
                               lob_error *error)
{
    const uint64_t from = component_at(&p->h, p->frame, v) + at;
    lob_gzip_rest rest;
    if (p->reader_count == 0) {
        memcpy(out, p->from.image->bytes + from, n);
        return LOB_OK;
    }
    const double start_s = lob_clock_s();
    lob_gzip_reader *reader = p->readers[v % p->reader_count];
    const uint64_t end = frame_end(&p->h, p->frame);
    const bool whole = lob_gzip_reader_get(reader, out, from, n);
    lob_status st = LOB_OK;
    if (!whole || (from + n == end && !p->checked)) {
        st = lob_gzip_reader_end(reader, end, &rest, error);
        if (st == LOB_OK) st = check_rest(&p->h, &rest, end, p->from.image_path, p->info, error);
        p->checked = true;
    }
    if (p->info) p->info->inflate_s += lob_clock_s() - start_s;
    return st;
}

static lob_status planes_get(void *state, unsigned char *out, int64_t z, int64_t n,
                             lob_error *error)
{
    planes *p = state;
    const lob_nifti_type *type = p->h.type;
    const int64_t voxels = n * p->plane;
    const size_t bytes = (size_t)voxels * type->bytes;
    const size_t made = (size_t)(voxels * type->channels) * lob_type_of(type->type)->bytes;
    for (int64_t v = 0; v < p->h.vectors; v++, out += made) {
        unsigned char *raw = buffer_for(p, out, bytes);
        if (!raw) return lob_fail(error, LOB_ENOMEM, "%s: no memory", p->from.image_path);
        const uint64_t at = (uint64_t)(z * p->plane) * type->bytes;
        const lob_status st = fetch_stored(p, raw, v, at, bytes, error);
        if (st != LOB_OK) return st;
        if (type->word == 16) {
            lob_nifti_narrow_extended(raw, voxels, p->h.swapped);
            memcpy(out, raw, made);
        } else if (p->h.swapped) {
            lob_nifti_swap_words(raw, bytes, type->word);
        }
        if (type->channels > 1) lob_nifti_split(out, raw, voxels, type->channels);
        if (p->outgrows) lob_input_unload(p->from.image);
    }
    return LOB_OK;
}

static lob_status nifti_open_planes(lob_plane_source *source, lob_volume *out,
                                    const lob_location *where, const lob_input *file,
                                    const lob_read_options *options, lob_file_info *info,
                                    lob_error *error)
{
    planes *p = calloc(1, sizeof *p);
    if (!p) return lob_fail(error, LOB_ENOMEM, "%s: no memory", where->path);
    lob_status st = open_volume(&p->from, &p->h, out, where, file, options, info, error);
    p->frame = out->frame;
    p->plane = out->dims.nx * out->dims.ny;
    p->info = info;
    const lob_input *image = p->from.image;
    p->outgrows = st == LOB_OK && lob_outgrows_memory(image, options);
    if (st == LOB_OK && lob_is_gzip(image->bytes, image->size))
        p->reader_count = p->h.vectors < MAX_READERS ? p->h.vectors : MAX_READERS;
    for (int64_t i = 0; st == LOB_OK && i < p->reader_count; i++) {
        p->readers[i] = lob_gzip_reader_new(image->bytes, image->size, p->from.image_path);
        if (!p->readers[i])
            st = lob_fail(error, LOB_ENOMEM, "%s: no memory to inflate it", where->path);
    }
    if (st == LOB_OK)
        *source = (lob_plane_source){p, planes_get, planes_close};
    else
        planes_close(p);
    return st;
}

static lob_status nifti_second_file(char **second, const char *file, bool reading)
{
    *second = NULL;
    if (!lob_pair_header(file) && !lob_pair_image(file)) return LOB_OK;
    const bool gz = lob_has_suffix(file, ".gz");
    *second = lob_pair_other(file, gz);
    if (*second && reading && access(*second, F_OK) != 0) {
        free(*second);
        *second = lob_pair_other(file, !gz);
    }
    return *second ? LOB_OK : LOB_ENOMEM;
}

static const char *const suffixes[] = {".nii.gz", ".nii",    ".hdr", ".hdr.gz",
                                       ".img",    ".img.gz", NULL};

const lob_format lob_format_nifti = {
    .name = lob_nifti_name,
    .suffixes = suffixes,
    .sniff = nifti_sniff,
    .all_frames = true,
    .read = nifti_read,
    .write = lob_nifti_write,
    .open_planes = nifti_open_planes,
    .begin_planes = lob_nifti_begin_planes,
    .check = lob_nifti_check,
    .second_file = nifti_second_file,
    .fields = lob_nifti_list,
};
