/*
 * Writing TIFF. Strips of whole rows are compressed by deflate, many at a time in threads, and
 * handed to libtiff in their order, so the bytes do not depend on threads. BigTIFF where offsets of
 * 32 bits could fall short.
 */
#include "io/tiff/tiff_session.h"
#include "io/tiff/tiff_text.h"
#include "volumes/clock.h"
#include "volumes/free.h"
#include "volumes/labels.h"
#include "volumes/version.h"

#include <libdeflate.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { STRIP_BYTES = 1 << 18, BATCH = 8, MAX_PAGES = 1000000 }; /* BATCH: strips for each thread */

static bool is_ome(const lob_location *where)
{
    return lob_has_suffix(where->file, ".ome.tif") || lob_has_suffix(where->file, ".ome.tiff") ||
           lob_has_suffix(where->file, ".ome.btf");
}

lob_status lob_tiff_holds(const lob_volume *v, const lob_location *where, lob_error *error)
{
    LOB_TRY(lob_holds_no_scale(v, where, "TIFF", error));
    if (v->dims.nx > INT32_MAX || v->dims.ny > INT32_MAX || v->dims.nz > MAX_PAGES / v->channels)
        return lob_fail_file(error, LOB_EDATA, where->path,
                             "a TIFF has at most %d pages, and sides below 2^31", MAX_PAGES);
    if (is_ome(where) && !lob_tiff_text_type(v->type))
        return lob_fail_file(error, LOB_EDATA, where->path,
                             "OME knows no numbers of 64 bits but real ones; convert it to another "
                             "type, or name a .tif");
    return LOB_OK;
}

/* A volume being written. */
typedef struct {
    const lob_volume *volume;
    lob_type type; /* that is told: of the same bytes as the voxels' */
    bool ome;
    int64_t rows, strips; /* of a strip; of a page */
    size_t row_bytes;
    TIFF *tif;
} job;

/* Labels are never below 0. Told so, programs need not guess: Fiji shows int16 by an offset. */
static lob_type told_type(const lob_volume *v, bool labels)
{
    if (!labels || (v->type != LOB_I16 && v->type != LOB_I32)) return v->type;
    const int64_t n = lob_voxels(v) * v->channels;
    for (int64_t i = 0; i < n; i++)
        if (lob_label_at(v->data, v->type, i) < 0) return v->type;
    return v->type == LOB_I16 ? LOB_U16 : LOB_U32;
}

/* The fields of a page; the first one has the text, where that is not NULL. */
static bool begin_page(const job *w, const char *text)
{
    const lob_volume *const v = w->volume;
    const double *const mm = v->geometry.spacing_mm;
    const double unit = w->ome ? 10.0 : lob_tiff_text_unit_mm(&v->geometry);
    TIFF *const tif = w->tif;
    return TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, (uint32_t)v->dims.nx) &&
           TIFFSetField(tif, TIFFTAG_IMAGELENGTH, (uint32_t)v->dims.ny) &&
           TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, (int)(8 * lob_type_of(w->type)->bytes)) &&
           TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, 1) &&
           TIFFSetField(tif, TIFFTAG_SAMPLEFORMAT, (int)lob_tiff_format(w->type)) &&
           TIFFSetField(tif, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE) &&
           TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK) &&
           TIFFSetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) &&
           TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, (uint32_t)w->rows) &&
           TIFFSetField(tif, TIFFTAG_XRESOLUTION, unit / mm[0]) &&
           TIFFSetField(tif, TIFFTAG_YRESOLUTION, unit / mm[1]) &&
           TIFFSetField(tif, TIFFTAG_RESOLUTIONUNIT, w->ome ? RESUNIT_CENTIMETER : RESUNIT_NONE) &&
           (!text || (TIFFSetField(tif, TIFFTAG_IMAGEDESCRIPTION, text) &&
                      TIFFSetField(tif, TIFFTAG_SOFTWARE, "Lobule " LOB_VERSION)));
}

/* The voxels of strip number i of all; page number i / strips is a channel of a slice. */
static const unsigned char *strip_voxels(const job *w, int64_t i, size_t *bytes)
{
    const lob_volume *const v = w->volume;
    const int64_t page = i / w->strips, first = i % w->strips * w->rows;
    const int64_t c = page % v->channels, z = page / v->channels;
    const int64_t rows = v->dims.ny - first < w->rows ? v->dims.ny - first : w->rows;
    *bytes = (size_t)rows * w->row_bytes;
    return (const unsigned char *)v->data +
           (size_t)((c * v->dims.nz + z) * v->dims.ny + first) * w->row_bytes;
}

/* Memory for a batch of compressed strips. */
typedef struct {
    struct libdeflate_compressor **deflater; /* threads */
    unsigned char *bytes;                    /* count * room */
    size_t *size;                            /* count; 0: it failed */
    size_t room;
    int threads;
    int64_t count;
} strip_batch;

static void free_batch(strip_batch *b)
{
    for (int t = 0; b->deflater && t < b->threads; t++)
        if (b->deflater[t]) libdeflate_free_compressor(b->deflater[t]);
    LOB_FREE(b->deflater, b->bytes, b->size);
}

static bool alloc_batch(strip_batch *b, const job *w, const lob_write_options *options)
{
    const size_t most = (size_t)w->rows * w->row_bytes;
    b->threads = options->threads;
    b->count = (int64_t)b->threads * BATCH;
    b->deflater = calloc((size_t)b->threads, sizeof(struct libdeflate_compressor *));
    b->size = calloc((size_t)b->count, sizeof *b->size);
    bool whole = b->deflater && b->size;
    for (int t = 0; whole && t < b->threads; t++)
        whole = (b->deflater[t] = libdeflate_alloc_compressor(options->level)) != NULL;
    if (!whole) return false;
    b->room = libdeflate_zlib_compress_bound(b->deflater[0], most);
    b->bytes = malloc((size_t)b->count * b->room);
    return b->bytes != NULL;
}

/* Compress n strips from number `first` on. */
static void compress_strips(strip_batch *b, const job *w, int64_t first, int64_t n)
{
#pragma omp parallel for num_threads(b->threads) schedule(dynamic, 1)
    for (int64_t i = 0; i < n; i++) {
        size_t bytes;
        const unsigned char *const voxels = strip_voxels(w, first + i, &bytes);
        b->size[i] = libdeflate_zlib_compress(b->deflater[omp_get_thread_num()], voxels, bytes,
                                              b->bytes + (size_t)i * b->room, b->room);
    }
}

static bool put_strips(const job *w, const strip_batch *b, int64_t first, int64_t n,
                       const char *text)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t strip = (first + i) % w->strips;
        if (strip == 0 && !begin_page(w, first + i == 0 ? text : NULL)) return false;
        if (b->size[i] == 0 ||
            TIFFWriteRawStrip(w->tif, (uint32_t)strip, b->bytes + (size_t)i * b->room,
                              (tmsize_t)b->size[i]) < 0)
            return false;
        if (strip == w->strips - 1 && !TIFFWriteDirectory(w->tif)) return false;
    }
    return true;
}

static bool put_pages(const job *w, strip_batch *b, const char *text, double *compress_s)
{
    const int64_t all = w->strips * w->volume->dims.nz * w->volume->channels;
    for (int64_t first = 0; first < all; first += b->count) {
        const int64_t n = all - first < b->count ? all - first : b->count;
        const double start_s = lob_clock_s();
        compress_strips(b, w, first, n);
        *compress_s += lob_clock_s() - start_s;
        if (!put_strips(w, b, first, n, text)) return false;
    }
    return true;
}

static job plan(const lob_volume *v, const lob_location *where, const lob_write_options *options)
{
    job w = {.volume = v, .type = told_type(v, options->labels), .ome = is_ome(where)};
    w.row_bytes = (size_t)v->dims.nx * lob_type_of(v->type)->bytes;
    w.rows = w.row_bytes < STRIP_BYTES ? (int64_t)(STRIP_BYTES / w.row_bytes) : 1;
    if (w.rows > v->dims.ny) w.rows = v->dims.ny;
    w.strips = (v->dims.ny - 1) / w.rows + 1;
    return w;
}

/* Could a file of 32-bit offsets hold it? Deflate adds a little to what it cannot compress. */
static bool is_large(const job *w)
{
    const double pages = (double)w->volume->dims.nz * w->volume->channels;
    const double strips = pages * (double)w->strips;
    const double voxels = pages * (double)w->volume->dims.ny * (double)w->row_bytes;
    return voxels * 1.001 + strips * 32 + pages * 1024 > 4e9;
}

lob_status lob_tiff_write(const lob_volume *volume, const lob_location *where,
                          const lob_write_options *options, lob_error *error)
{
    lob_output output;
    LOB_TRY(lob_tiff_holds(volume, where, error));
    job w = plan(volume, where, options);
    strip_batch batch = {0};
    char *const text = lob_tiff_text_make(volume, w.type, w.ome ? LOB_TIFF_OME : LOB_TIFF_IMAGEJ);
    lob_status st = lob_output_begin(&output, where->file, options->force, error);
    if (st == LOB_OK && (!text || !alloc_batch(&batch, &w, options))) {
        st = lob_fail_file(error, LOB_ENOMEM, where->path, "no memory to write it");
    } else if (st == LOB_OK) {
        lob_tiff_session s = {.output = &output, .error = error};
        const bool wide = is_large(&w) || lob_has_suffix(where->file, ".btf");
        w.tif = lob_tiff_open(&s, wide ? "w8" : "w", 0);
        const bool whole = w.tif && put_pages(&w, &batch, text, options->compress_s);
        if (w.tif) TIFFClose(w.tif);
        if (!whole || s.status != LOB_OK || s.message[0])
            st = s.status != LOB_OK
                     ? s.status
                     : lob_fail_file(error, LOB_EIO, where->path, "libtiff: %s", s.message);
    }
    free_batch(&batch);
    free(text);
    return lob_output_end(&output, st, error);
}
