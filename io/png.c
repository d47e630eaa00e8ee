/* PNG as a row of the formats, and RGB previews. libpng reports errors by longjmp; none leaves this
 * file. */
#include "io/png.h"
#include "io/libraries.h"
#include "io/platform.h"
#include "volumes/blocks.h"
#include "volumes/clock.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIDE = 1000000, DEFLATE_MAX_RATIO = 1032 };

static const char *const png_suffixes[] = {".png", NULL};

/* libpng's message, and where bytes come from or go to. */
typedef struct {
    char message[160];
    const lob_input *file;
    size_t at;
    FILE *memory;
} session;

static void on_error(png_structp png, png_const_charp message)
{
    session *s = png_get_error_ptr(png);
    strncpy(s->message, message, sizeof s->message - 1);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* ---- reading ---- */

static void read_bytes(png_structp png, png_bytep out, size_t n)
{
    session *s = png_get_io_ptr(png);
    if (n > s->file->size - s->at) png_error(png, "the file ends early");
    memcpy(out, s->file->bytes + s->at, n);
    s->at += n;
}

/* What the header says, once palettes and small depths are spread out and alpha is gone. */
typedef struct {
    png_uint_32 width, height;
    int samples, passes; /* of a pixel; over all rows */
    size_t row_bytes;
    bool alpha, wide;
    double spacing_mm[3];
} image_head;

static void read_spacing(image_head *head, png_structp png, png_infop info)
{
    png_uint_32 x = 0, y = 0;
    int unit = 0;
    for (int a = 0; a < 3; a++) head->spacing_mm[a] = 1.0;
    if (!png_get_pHYs(png, info, &x, &y, &unit) || unit != PNG_RESOLUTION_METER || !x || !y) return;
    head->spacing_mm[0] = 1000.0 / x;
    head->spacing_mm[1] = 1000.0 / y;
}

static bool read_head(image_head *head, png_structp png, png_infop info)
{
    if (setjmp(png_jmpbuf(png))) return false;
    /* Text, profiles and the like are skipped unread; only the resolution is of use. */
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_AS_DEFAULT, (png_const_bytep) "pHYs", 1);
    png_set_user_limits(png, MAX_SIDE, MAX_SIDE);
    png_read_info(png, info);
    read_spacing(head, png, info);
    head->passes = png_set_interlace_handling(png);
    const int colour = png_get_color_type(png, info);
    if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
    if (colour == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
    head->alpha = (colour & PNG_COLOR_MASK_ALPHA) ||
                  (colour == PNG_COLOR_TYPE_PALETTE && png_get_valid(png, info, PNG_INFO_tRNS));
    png_set_strip_alpha(png);
    png_set_swap(png); /* 16-bit samples come in this machine's order */
    png_read_update_info(png, info);
    head->width = png_get_image_width(png, info);
    head->height = png_get_image_height(png, info);
    head->samples = png_get_channels(png, info);
    head->wide = png_get_bit_depth(png, info) == 16;
    head->row_bytes = png_get_rowbytes(png, info);
    return head->row_bytes == (size_t)head->width * (size_t)head->samples * (head->wide ? 2 : 1);
}

/* Read channels one after another. mixed: room for a row, or, of several passes, for all of them;
 * NULL: there is one channel. */
static bool read_rows(unsigned char *out, unsigned char *mixed, const image_head *head,
                      png_structp png)
{
    const int64_t word = head->wide ? 2 : 1, n = head->samples, width = head->width;
    if (setjmp(png_jmpbuf(png))) return false;
    for (int pass = 0; pass < head->passes; pass++)
        for (png_uint_32 y = 0; y < head->height; y++) {
            unsigned char *const rows = mixed ? mixed : out;
            unsigned char *const row =
                rows + (mixed && head->passes == 1 ? 0 : y) * head->row_bytes;
            png_read_row(png, row, NULL);
            for (int64_t c = 0; mixed && pass == head->passes - 1 && c < n; c++)
                lob_copy_strided(out + (c * head->height + y) * width * word, word, row + c * word,
                                 word * n, width, (size_t)word);
        }
    png_read_end(png, NULL);
    return true;
}

static lob_status damaged(const lob_reading *r, const char *message)
{
    return LOB_FAIL(r, LOB_EDATA, "damaged PNG (%s); copy it again from its source", message);
}

static lob_status read_voxels(lob_volume *out, const image_head *head, png_structp png,
                              const session *s, const lob_reading *r)
{
    const int64_t bytes = lob_product((int64_t)head->row_bytes, head->height, 1, 1);
    const int64_t row_bytes = (int64_t)head->row_bytes;
    const int64_t beside = head->samples == 1 ? 0 : head->passes == 1 ? row_bytes : bytes;
    /* What a row packs into bits is spread to at most 8 x 3 bytes a pixel. */
    if (bytes / 24 / DEFLATE_MAX_RATIO > (int64_t)r->file->size)
        return LOB_FAIL(r, LOB_EDATA, "declares more pixels than a file of %zu bytes can hold",
                        r->file->size);
    LOB_TRY(lob_memory_allows(bytes + beside, r));
    unsigned char *const mixed = beside > 0 ? malloc((size_t)beside) : NULL;
    lob_status st = LOB_OK;
    out->data = malloc((size_t)bytes);
    if (!out->data || (beside > 0 && !mixed))
        st = LOB_FAIL(r, LOB_ENOMEM, "out of memory");
    else if (!read_rows(out->data, mixed, head, png))
        st = damaged(r, s->message);
    free(mixed);
    return st;
}

static lob_status png_read(lob_volume *out, const lob_reading *r)
{
    session s = {.file = r->file};
    image_head head = {0};
    lob_info_add_file(r->info, r->file);
    if (r->options->frame > 0)
        return LOB_FAIL(r, LOB_EDATA, "has no frame %lld; a PNG holds one image",
                        (long long)r->options->frame);

    const double start_s = lob_clock_s();
    lob_status st = LOB_OK;
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        st = LOB_FAIL(r, LOB_ENOMEM, "out of memory");
        goto out;
    }
    png_set_read_fn(png, &s, read_bytes);
    if (!read_head(&head, png, info)) {
        st = damaged(r, s.message[0] ? s.message : "odd row size");
        goto out;
    }
    out->type = head.wide ? LOB_U16 : LOB_U8;
    out->dims = (lob_dims){head.width, head.height, 1};
    out->channels = head.samples;
    out->geometry = lob_geometry_of_spacing(head.spacing_mm);
    out->geometry.unoriented = true;
    if (head.alpha) lob_warn(r->info, "%s: the alpha channel is left out", r->path);
    if (!r->options->header_only) st = read_voxels(out, &head, png, &s, r);
    if (r->info) r->info->inflate_s += lob_clock_s() - start_s;
out:
    png_destroy_read_struct(&png, &info, NULL);
    return st;
}

bool lob_is_png_name(const char *path)
{
    return lob_has_suffix(path, png_suffixes[0]);
}

static bool png_sniff(const lob_location *where, const lob_input *file)
{
    (void)where;
    return file->size >= 8 && png_sig_cmp(file->bytes, 0, 8) == 0;
}

/* ---- writing ---- */

static void write_bytes(png_structp png, png_bytep bytes, size_t n)
{
    session *s = png_get_io_ptr(png);
    if (fwrite(bytes, 1, n, s->memory) != n) png_error(png, "out of memory");
}

static void flush_bytes(png_structp png)
{
    (void)png;
}

typedef struct {
    png_uint_32 width, height;
    int colour, depth;
    double spacing_mm[2]; /* 0: not told */
    int level, filters;
    size_t row_bytes;
    const unsigned char *rows; /* or, NULL: those of */
    const lob_volume *volume;
    unsigned char *row; /* room for one */
} image_source;

static bool as_stored(const lob_volume *v)
{
    return v->type == LOB_U8 || v->type == LOB_U16;
}

/* Channels side by side; of types that a PNG does not have, as uint16. */
static const unsigned char *row_of(const image_source *image, int64_t y)
{
    const lob_volume *const v = image->volume;
    double value;
    if (!v) return image->rows + y * (int64_t)image->row_bytes;
    if (as_stored(v)) lob_voxels_mixed(image->row, v, y * v->dims.nx, v->dims.nx, 1);
    for (int64_t x = 0; !as_stored(v) && x < v->dims.nx; x++) {
        lob_values(&value, v->data, v->type, y * v->dims.nx + x, 1);
        ((uint16_t *)(void *)image->row)[x] = (uint16_t)value;
    }
    return image->row;
}

static bool write_rows(png_structp png, png_infop info, const image_source *image)
{
    if (setjmp(png_jmpbuf(png))) return false;
    png_set_user_limits(png, MAX_SIDE, MAX_SIDE);
    png_set_compression_level(png, image->level);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, image->filters);
    png_set_IHDR(png, info, image->width, image->height, image->depth, image->colour,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    const double x = 1000.0 / image->spacing_mm[0], y = 1000.0 / image->spacing_mm[1];
    if (x >= 1.0 && y >= 1.0 && x < 2e9 && y < 2e9)
        png_set_pHYs(png, info, (png_uint_32)lround(x), (png_uint_32)lround(y),
                     PNG_RESOLUTION_METER);
    png_write_info(png, info);
    if (image->depth == 16) png_set_swap(png);
    for (png_uint_32 row = 0; row < image->height; row++) png_write_row(png, row_of(image, row));
    png_write_end(png, NULL);
    return true;
}

/* The bytes of an image as a PNG, malloc'ed; NULL without memory. */
static char *encode(size_t *size, const image_source *image)
{
    char *bytes;
    session s = {.memory = lob_memory_stream(&bytes, size)};
    if (!s.memory) return NULL;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (info) png_set_write_fn(png, &s, write_bytes, flush_bytes);
    const bool whole = info && write_rows(png, info, image);
    png_destroy_write_struct(&png, &info);
    if (!lob_memory_stream_end(s.memory, &bytes, size)) return NULL;
    if (whole) return bytes;
    free(bytes);
    return NULL;
}

static lob_status write_image(const image_source *image, const char *path, bool force,
                              double *compress_s, lob_error *error)
{
    lob_output_part all;
    LOB_TRY(lob_output_check(path, force, error));
    const double start_s = lob_clock_s();
    char *const bytes = encode(&all.size, image);
    *compress_s += lob_clock_s() - start_s;
    if (!bytes) return lob_fail_file(error, LOB_ENOMEM, path, "out of memory");
    all.bytes = bytes;
    const lob_status st = lob_output_whole(path, force, &all, 1, error);
    free(bytes);
    return st;
}

/* The source of an RGB image; false: it has no sound sides. */
static bool rgb_source(image_source *image, const unsigned char *rgb, int64_t width, int64_t height)
{
    if (!rgb || width < 1 || height < 1 || width > MAX_SIDE || height > MAX_SIDE) return false;
    *image = (image_source){.width = (png_uint_32)width,
                            .height = (png_uint_32)height,
                            .colour = PNG_COLOR_TYPE_RGB,
                            .depth = 8,
                            .level = 2, /* a fifth of level 6's time, for a seventh more bytes, */
                            .filters = PNG_FILTER_UP, /* as voxels are larger than pixels */
                            .row_bytes = (size_t)width * 3,
                            .rows = rgb};
    return true;
}

lob_status lob_png_write_rgb(const char *path, const unsigned char *rgb, int64_t width,
                             int64_t height, bool force, double *compress_s, lob_error *error)
{
    image_source image;
    if (!rgb_source(&image, rgb, width, height))
        return lob_fail_file(error, LOB_EARG, path, "a PNG has sides of 1 to %d pixels", MAX_SIDE);
    return write_image(&image, path, force, compress_s, error);
}

lob_status lob_png_encode_rgb(unsigned char **png, size_t *size, const unsigned char *rgb,
                              int64_t width, int64_t height, lob_error *error)
{
    image_source image;
    *png = NULL;
    if (!rgb_source(&image, rgb, width, height))
        return lob_fail(error, LOB_EARG, "a PNG has sides of 1 to %d pixels", MAX_SIDE);
    image.level = 6; /* what is kept in a text is small, and to be kept so */
    *png = (unsigned char *)encode(size, &image);
    return *png ? LOB_OK : lob_fail(error, LOB_ENOMEM, "out of memory");
}

/* Are all voxels whole numbers of uint16? */
static bool fits(const lob_volume *v)
{
    double value;
    for (int64_t i = 0; !as_stored(v) && i < lob_voxels(v); i++) {
        lob_values(&value, v->data, v->type, i, 1);
        if (!(value >= 0.0 && value <= UINT16_MAX)) return false;
    }
    return true;
}

static lob_status png_holds(const lob_volume *v, const lob_location *where, lob_error *error)
{
    const char *path = where->path;
    if (v->dims.nz != 1)
        return lob_fail_file(error, LOB_EDATA, path,
                             "a PNG holds one slice, this volume has %lld; write .nii.gz, or see "
                             "`lobule preview`",
                             (long long)v->dims.nz);
    if (v->dims.nx > MAX_SIDE || v->dims.ny > MAX_SIDE)
        return lob_fail_file(error, LOB_EDATA, path, "a PNG has sides of at most %d pixels",
                             MAX_SIDE);
    if (v->channels != 1 && v->channels != 3)
        return lob_fail_file(error, LOB_EDATA, path,
                             "a PNG holds 1 or 3 channels, this volume has %d; write .nii.gz "
                             "instead",
                             v->channels);
    if (lob_is_scaled(v))
        return lob_fail_file(error, LOB_EDATA, path,
                             "a PNG holds no scale, and this volume's values are %g times what is "
                             "stored, plus %g; write .nii.gz instead",
                             v->slope, v->inter);
    if (!lob_type_of(v->type)->is_integer ||
        (v->channels == 3 && v->type != LOB_U8 && v->type != LOB_U16))
        return lob_fail_file(
            error, LOB_EDATA, path, "a PNG holds %s, this volume is %s; write .nii.gz instead",
            v->channels == 3 ? "colours of uint8 or uint16" : "whole numbers from 0 to 65535",
            lob_type_of(v->type)->name);
    return LOB_OK;
}

static lob_status png_write(const lob_volume *v, const lob_location *where,
                            const lob_write_options *options, lob_error *error)
{
    LOB_TRY(png_holds(v, where, error));
    const size_t bytes = v->type == LOB_U8 ? 1 : 2;
    const size_t row_bytes = (size_t)v->dims.nx * (size_t)v->channels * bytes;
    if (!fits(v))
        return lob_fail_file(error, LOB_EDATA, where->path,
                             "a PNG holds whole numbers from 0 to 65535, this volume is %s beyond "
                             "that; write .nii.gz instead",
                             lob_type_of(v->type)->name);
    unsigned char *const row = malloc(row_bytes);
    if (!row) return lob_fail_file(error, LOB_ENOMEM, where->path, "out of memory");
    image_source image = {
        .width = (png_uint_32)v->dims.nx,
        .height = (png_uint_32)v->dims.ny,
        .colour = v->channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY,
        .depth = (int)bytes * 8,
        .spacing_mm = {v->geometry.spacing_mm[0], v->geometry.spacing_mm[1]},
        .level = options->level,
        .filters = PNG_ALL_FILTERS,
        .row_bytes = row_bytes,
        .volume = v,
        .row = row,
    };
    const lob_status st =
        write_image(&image, where->file, options->force, options->compress_s, error);
    free(row);
    return st;
}

const char *lob_png_version(void)
{
    return png_get_libpng_ver(NULL);
}

const lob_format lob_format_png = {
    .name = "PNG",
    .suffixes = png_suffixes,
    .sniff = png_sniff,
    .read = png_read,
    .write = png_write,
    .holds = png_holds,
};
