/* The files of a NIfTI volume: the two halves of a pair, the header, its extensions, sizes. */
#include "io/nifti/nifti_files.h"

#include "io/gzip.h"
#include "io/nifti/nifti_extensions.h"
#include "io/platform.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = LOB_NIFTI_MAX_BYTES + LOB_NIFTI_EXTENDER };
#define MAX_EXTENSION_BYTES ((uint64_t)64 << 20)

/* ---- pairs ---- */

bool lob_pair_header(const char *path)
{
    return lob_has_suffix(path, ".hdr") || lob_has_suffix(path, ".hdr.gz");
}

bool lob_pair_image(const char *path)
{
    return lob_has_suffix(path, ".img") || lob_has_suffix(path, ".img.gz");
}

char *lob_pair_other(const char *path, bool gz)
{
    const size_t stem = strlen(path) - (lob_has_suffix(path, ".gz") ? 3 : 0);
    char *other = malloc(stem + 4);
    if (!other) return NULL;
    memcpy(other, path, stem);
    const bool image = lob_pair_image(path);
    for (int i = 0; i < 3; i++) {
        const char was = path[stem - 3 + (size_t)i], now = (image ? "hdr" : "img")[i];
        other[stem - 3 + (size_t)i] = was >= 'A' && was <= 'Z' ? (char)(now - 'a' + 'A') : now;
    }
    memcpy(other + stem, gz ? ".gz" : "", gz ? 4 : 1);
    return other;
}

/* Open the other half, compressed like this one if there is such a file, else the other way. */
static lob_status open_other_half(lob_input *in, char **name, const char *path, lob_error *error)
{
    if (lob_nifti_second_file(name, path, true) != LOB_OK)
        return lob_fail_file(error, LOB_ENOMEM, path, "no memory");
    const lob_status st = lob_input_open(in, *name, error);
    if (st != LOB_ENOINPUT) return st;
    free(*name);
    *name = lob_pair_other(path, false);
    lob_fail_file(error, st, path, "its other half, %s (or the same with .gz), is missing",
                  *name ? *name : "of the pair");
    free(*name);
    *name = NULL;
    return st;
}

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
    char *header = NULL;
    const bool there = lob_pair_image(path) &&
                       lob_nifti_second_file(&header, path, true) == LOB_OK && lob_is_there(header);
    free(header);
    return there;
}

bool lob_nifti_sniff(const lob_location *where, const lob_input *file)
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
static lob_status keep_extensions(lob_header *out, const lob_nifti *h, const lob_reading *r)
{
    const lob_input *const file = r->file;
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
        return LOB_FAIL(r, LOB_EDATA,
                        "its header extensions take %llu bytes; more than 64 MiB are not read",
                        (unsigned long long)(end - h->size));
    if (gz && !lob_gzip_justifies(end, file->size)) end = (uint64_t)file->size * LOB_GZIP_MAX_RATIO;

    unsigned char *bytes = malloc((size_t)end);
    if (!bytes) return LOB_FAIL(r, LOB_ENOMEM, "no memory for its extensions");
    head = head_of(file, bytes, (size_t)end, &got);
    if (got > end) got = (size_t)end;
    if (got <= h->size) { /* not twice the same answer from one file: it is changing */
        free(bytes);
        return LOB_FAIL(r, LOB_EDATA, "damaged: cut short in its header");
    }
    out->extensions_size = got - h->size;
    memmove(bytes, head + h->size, out->extensions_size);
    unsigned char *fitted = realloc(bytes, out->extensions_size);
    out->extensions = fitted ? fitted : bytes;
    lob_nifti_order_extensions(out->extensions, out->extensions_size, h->swapped, r);
    return LOB_OK;
}

static lob_status keep_header(lob_header *out, const lob_nifti *h, const lob_reading *r)
{
    out->format = lob_nifti_name;
    out->size = h->size;
    out->bytes = malloc(h->size);
    if (!out->bytes) return LOB_FAIL(r, LOB_ENOMEM, "no memory");
    memcpy(out->bytes, h->bytes, h->size);
    return keep_extensions(out, h, r);
}

/* ---- sizes ---- */

/* Could the file hold what its header asks for? Asked before any memory is. */
static lob_status check_size(const lob_nifti *h, const lob_reading *r)
{
    const lob_input *const image = r->file;
    const uint64_t end = h->vox_offset + (uint64_t)h->total_bytes; /* each is below 2^63 */
    if (lob_is_gzip(image->bytes, image->size)) {
        if (lob_gzip_justifies(end, image->size)) return LOB_OK;
        return LOB_FAIL(
            r, LOB_EDATA,
            "damaged: its header asks for %llu bytes, more than its %zu compressed ones "
            "can hold; copy it again from its source",
            (unsigned long long)end, image->size);
    }
    if (end > image->size)
        return LOB_FAIL(
            r, LOB_EDATA,
            "cut short: its header asks for %llu bytes, but there are %zu; copy it again "
            "from its source",
            (unsigned long long)end, image->size);
    if (end < image->size)
        lob_warn(r->info, "%s: %llu bytes after the voxels are not read", r->path,
                 (unsigned long long)(image->size - end));
    return LOB_OK;
}

/* Are the voxels all there, to the last checksum? Keeps none of them. */
static lob_status check_whole(const lob_nifti *h, const lob_reading *r)
{
    const lob_input *const image = r->file;
    lob_gzip_rest rest;
    const lob_status st = check_size(h, r);
    if (st != LOB_OK || !lob_is_gzip(image->bytes, image->size)) return st;
    lob_gzip_reader *reader = lob_gzip_reader_new(image->bytes, image->size, r->path);
    if (!reader) return LOB_FAIL(r, LOB_ENOMEM, "no memory to inflate it");
    const uint64_t end = h->vox_offset + (uint64_t)h->total_bytes;
    const lob_status ended = lob_gzip_reader_end(reader, end, &rest, r->error);
    lob_gzip_reader_free(reader);
    return ended;
}

static void warn_of(lob_file_info *info, const lob_error *why)
{
    char line[LOB_ERROR_LINE];
    lob_warn(info, "%s", lob_error_line(line, sizeof line, why));
}

/* The voxels of a file whose header alone is read: a warning where they are not all there. */
static void note_missing(const lob_nifti *h, const lob_reading *r)
{
    const uint64_t end = h->vox_offset + (uint64_t)h->total_bytes;
    const lob_input *const image = r->file;
    const bool seems_whole =
        lob_is_gzip(image->bytes, image->size) && lob_gzip_ends_at(end, image->bytes, image->size);
    const lob_status st = (seems_whole ? check_size : check_whole)(h, r);
    if (st != LOB_OK && st != LOB_ENOMEM) warn_of(r->info, r->error);
}

/* ---- all of it ---- */

/* Find the header: in this file, or beside it when this one is the image of a pair. */
static lob_status find_header(lob_nifti_files *from, const lob_reading *r)
{
    const char *const file = r->where->file;
    *from = (lob_nifti_files){.image = *r};
    from->header = from->image;
    if (!lob_pair_image(file)) return LOB_OK;
    const lob_status st = open_other_half(&from->opened, &from->opened_path, file, r->error);
    if (st == LOB_OK) {
        from->header.file = &from->opened;
        from->header.path = from->opened_path;
    } else if (st == LOB_ENOINPUT) { /* a single file that has got the wrong suffix? */
        unsigned char scratch[4];
        size_t got;
        const unsigned char *head = head_of(r->file, scratch, sizeof scratch, &got);
        if (lob_nifti_looks(head, got)) return LOB_OK;
    }
    return st;
}

/* Find the voxels: in the header's file or in the other half of the pair. */
static lob_status find_image(lob_nifti_files *from, const lob_nifti *h, lob_error *error)
{
    if (!h->pair) {
        from->image = from->header;
        return LOB_OK;
    }
    if (from->image.file != from->header.file) return LOB_OK;
    if (!lob_pair_header(from->header.path))
        return lob_fail_file(
            error, LOB_EDATA, from->header.path,
            "is the header of a .hdr/.img pair; give it the suffix .hdr beside its .img");
    const lob_status st =
        open_other_half(&from->opened, &from->opened_path, from->header.path, error);
    from->image.file = &from->opened;
    from->image.path = from->opened_path;
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

/* Every frame of every component becomes a component, which lie in the file in this order. */
static lob_status take_all_frames(lob_nifti *h, const lob_reading *r)
{
    const int64_t all = lob_product(h->vectors, h->frames, h->type->channels, 1);
    if (all < 0 || all > INT_MAX)
        return LOB_FAIL(r, LOB_EDATA, "has too many frames to be read together");
    h->vectors *= h->frames;
    h->frames = 1;
    return LOB_OK;
}

/* Voxels of a type that is not read. Who wants them has the file looked through: it may be damaged,
 * too. */
static lob_status refuse_type(lob_nifti_files *from, const lob_nifti *h, const lob_reading *r)
{
    const bool through = !r->options->header_only;
    if (through) {
        LOB_TRY(find_image(from, h, r->error));
        LOB_TRY(check_whole(h, &from->image));
    }
    return lob_fail_file_hint(r->error, LOB_EDATA, LOB_HINT_CONVERT, from->header.path,
                              "%s%s voxels are not read; convert it to magnitude or phase first",
                              through ? "is sound, but " : "", h->type->name);
}

lob_status lob_nifti_open(lob_nifti_files *from, lob_nifti *h, lob_volume *out,
                          const lob_reading *r)
{
    const bool header_only = r->options->header_only;
    unsigned char scratch[LOB_NIFTI_MAX_BYTES];
    size_t got = 0;
    int64_t frame = 0;
    LOB_TRY(find_header(from, r));
    const unsigned char *head = head_of(from->header.file, scratch, sizeof scratch, &got);
    LOB_TRY(lob_nifti_parse(h, head, got, &from->header));
    if (r->info) r->info->format = h->version == 2 ? "NIfTI-2" : "NIfTI-1";
    if (h->type->type == LOB_TYPES) LOB_TRY(refuse_type(from, h, r));
    if (header_only) {
        lob_error why; /* there may be a header alone */
        const bool there = find_image(from, h, &why) == LOB_OK;
        from->image.error = &why;
        if (there)
            note_missing(h, &from->image);
        else
            warn_of(r->info, &why);
        from->image.error = r->error;
    } else {
        LOB_TRY(find_image(from, h, r->error));
        LOB_TRY(check_size(h, &from->image));
        LOB_TRY(lob_choose_frame(&frame, h->frames, r->path, r->options, r->error));
    }
    const int64_t frames = h->frames;
    if (r->options->frame == LOB_FRAME_ALL && frames > 1 && !header_only)
        LOB_TRY(take_all_frames(h, r));
    describe(out, h, frame);
    if (h->frames != frames) {
        out->frames = frames;
        out->frame = LOB_FRAME_ALL;
    }
    lob_nifti_geometry(&out->geometry, h, &from->header);
    LOB_TRY(keep_header(&out->header, h, &from->header));
    /* names are those of whole numbers in one channel; a scan keeps what it carries */
    if (lob_type_of(out->type)->is_integer && h->type->channels == 1 &&
        lob_nifti_names(&out->names, &out->header) != LOB_OK)
        return LOB_FAIL(r, LOB_ENOMEM, "no memory for its labels' names");
    lob_info_add_file(r->info, from->header.file);
    if (from->image.file != from->header.file && !header_only)
        lob_info_add_file(r->info, from->image.file);
    return LOB_OK;
}

void lob_nifti_close(lob_nifti_files *from)
{
    lob_input_close(&from->opened);
    free(from->opened_path);
}

lob_status lob_nifti_second_file(char **second, const char *file, bool reading)
{
    *second = NULL;
    if (!lob_pair_header(file) && !lob_pair_image(file)) return LOB_OK;
    const bool gz = lob_has_suffix(file, ".gz");
    *second = lob_pair_other(file, gz);
    if (*second && reading && !lob_is_there(*second)) {
        free(*second);
        *second = lob_pair_other(file, !gz);
    }
    return *second ? LOB_OK : LOB_ENOMEM;
}
