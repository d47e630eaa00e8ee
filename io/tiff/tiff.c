/*
 * TIFF and BigTIFF stacks as a row of the formats: ImageJ's, OME's and plain ones. tiff_pages.c
 * follows the chain of pages, tiff_session.c shows libtiff the file, tiff_text.c understands the
 * first page's text, tiff_write.c writes.
 */
#include "io/byte_order.h"
#include "io/tiff/tiff_pages.h"
#include "io/tiff/tiff_session.h"
#include "io/tiff/tiff_text.h"
#include "volumes/blocks.h"
#include "volumes/clock.h"
#include "volumes/free.h"
#include "volumes/reorient.h"
#include "volumes/voxel_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const suffixes[] = {".tif", ".tiff", ".btf", NULL};

/* ---- pages ---- */

/* What pages of a stack have in common, and how one is stored. */
typedef struct {
    uint32_t width, height;
    uint16_t bits, samples, format;
    uint16_t photometric, compression, planar, colours; /* colours: samples but alpha */
    uint16_t bit_order, orientation;
    bool tiled;
} page_layout;

static void read_layout(page_layout *out, TIFF *tif)
{
    uint16_t extras = 0, *extra = NULL;
    *out = (page_layout){.format = SAMPLEFORMAT_UINT, .photometric = PHOTOMETRIC_MINISBLACK};
    TIFFGetField(tif, TIFFTAG_IMAGEWIDTH, &out->width);
    TIFFGetField(tif, TIFFTAG_IMAGELENGTH, &out->height);
    TIFFGetFieldDefaulted(tif, TIFFTAG_BITSPERSAMPLE, &out->bits);
    TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLESPERPIXEL, &out->samples);
    TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLEFORMAT, &out->format);
    TIFFGetFieldDefaulted(tif, TIFFTAG_COMPRESSION, &out->compression);
    TIFFGetFieldDefaulted(tif, TIFFTAG_PLANARCONFIG, &out->planar);
    TIFFGetFieldDefaulted(tif, TIFFTAG_FILLORDER, &out->bit_order);
    TIFFGetFieldDefaulted(tif, TIFFTAG_ORIENTATION, &out->orientation);
    TIFFGetField(tif, TIFFTAG_PHOTOMETRIC, &out->photometric);
    if (out->format == SAMPLEFORMAT_VOID) out->format = SAMPLEFORMAT_UINT;
    if (out->samples == 1) out->planar = PLANARCONFIG_CONTIG;
    out->tiled = TIFFIsTiled(tif) != 0;
    out->colours = out->samples;
    TIFFGetField(tif, TIFFTAG_EXTRASAMPLES, &extras, &extra);
    for (int i = extras - 1; i >= 0 && extra[i] != EXTRASAMPLE_UNSPECIFIED; i--)
        if (out->colours > 1) out->colours--;
}

/* LOB_TYPES: no type that is read. */
static lob_type type_of(const page_layout *p)
{
    for (int type = 0; type < LOB_TYPES; type++)
        if (8 * lob_type_of((lob_type)type)->bytes == p->bits &&
            lob_tiff_format((lob_type)type) == p->format)
            return (lob_type)type;
    return LOB_TYPES;
}

/* The compressions that are read, and the most that one byte can become. */
static const struct {
    uint16_t code;
    int ratio;
} compressions[] = {
    {COMPRESSION_NONE,          1   },
    {COMPRESSION_PACKBITS,      64  }, /* two bytes, up to 128 */
    {COMPRESSION_LZW,           4096}, /* a code of 9 bits or more, up to 4096 */
    {COMPRESSION_ADOBE_DEFLATE, 1032},
    {COMPRESSION_DEFLATE,       1032},
};

/* 0: not read. */
static int ratio_of(uint16_t compression)
{
    for (size_t i = 0; i < sizeof compressions / sizeof compressions[0]; i++)
        if (compressions[i].code == compression) return compressions[i].ratio;
    return 0;
}

/* A file, its pages and what the first of them says. */
typedef struct {
    const char *path;
    const lob_input *file;
    lob_tiff_pages pages;
    page_layout layout;
    int ratio; /* the largest of the pages' compressions */
    lob_tiff_text text;
    double unit_mm;       /* of the resolution; 0: not said */
    double resolution[2]; /* pixels per unit along x and y; 0: not said */
    uint64_t behind;      /* planes behind the only page: where the first of them is; 0: none are */
    bool swapped;
    lob_error *error;
} stack;

static lob_status damaged(const stack *t, const char *message)
{
    return LOB_FAIL(t, LOB_EDATA, "damaged TIFF (%s); copy it again from its source",
                    message[0] ? message : "a page cannot be read");
}

/* A session on the file, at its first page. */
static lob_status open_stack(TIFF **tif, lob_tiff_session *s, const stack *t)
{
    *s = (lob_tiff_session){.file = t->file};
    *tif = lob_tiff_open(s, "rmO", 8 * (uint64_t)t->file->size + (1 << 20));
    return *tif ? LOB_OK : damaged(t, s->message);
}

static lob_status check_layout(const stack *t)
{
    const page_layout *const p = &t->layout;
    const char *what = NULL;
    if (type_of(p) == LOB_TYPES)
        what = "numbers of a kind that is not read; save it with 8, 16 or 32 bits";
    else if (!ratio_of(p->compression))
        what = "a compression that is not read; save it with deflate, LZW or none";
    else if (p->bit_order != FILLORDER_MSB2LSB)
        what = "bits in reverse order; save it anew";
    else if (p->orientation > ORIENTATION_BOTLEFT)
        what = "rows that stand for columns (its field Orientation); turn it upright and save it";
    else if (p->photometric != PHOTOMETRIC_MINISBLACK && p->photometric != PHOTOMETRIC_MINISWHITE &&
             p->photometric != PHOTOMETRIC_RGB && p->photometric != PHOTOMETRIC_PALETTE)
        what = "colours of a kind that is not read; save it as grey or RGB";
    if (what)
        return lob_fail_file_hint(t->error, LOB_EDATA, LOB_HINT_CONVERT, t->path, "has %s", what);
    if (p->width < 1 || p->height < 1 || p->samples < 1 || p->width > INT32_MAX ||
        p->height > INT32_MAX)
        return damaged(t, "sides that are none");
    return LOB_OK;
}

/* libtiff would reverse bits in the file's own memory. */
static bool is_stored_well(const page_layout *p)
{
    return ratio_of(p->compression) && p->bit_order == FILLORDER_MSB2LSB;
}

static bool same_pixels(const page_layout *a, const page_layout *b)
{
    return a->width == b->width && a->height == b->height && a->bits == b->bits &&
           a->samples == b->samples && a->format == b->format && a->colours == b->colours &&
           a->orientation == b->orientation;
}

/* Keep the pages that hold the stack: not thumbnails and masks, which other pages go with. */
static lob_status keep_pages(stack *t, TIFF *tif, const lob_tiff_session *s)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < t->pages.count; i++) {
        page_layout layout;
        uint32_t kind = 0;
        if (!TIFFSetSubDirectory(tif, t->pages.page[i].offset)) return damaged(t, s->message);
        TIFFGetField(tif, TIFFTAG_SUBFILETYPE, &kind);
        if (kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) continue;
        read_layout(&layout, tif);
        if (kept == 0) t->layout = layout;
        if (!same_pixels(&layout, &t->layout) || !is_stored_well(&layout))
            return kept == 0
                       ? check_layout(t)
                       : LOB_FAIL(
                             t, LOB_EDATA,
                             "its pages differ in size, type or orientation from page %lld on; "
                             "save one image as a stack of its own",
                             (long long)i + 1);
        const int ratio = ratio_of(layout.compression);
        if (ratio > t->ratio) t->ratio = ratio;
        t->pages.page[kept++] = t->pages.page[i];
    }
    t->pages.count = kept;
    return kept > 0 ? LOB_OK : damaged(t, "it has no full page");
}

static void read_resolution(stack *t, TIFF *tif)
{
    float x = 0, y = 0;
    uint16_t unit = RESUNIT_INCH;
    TIFFGetField(tif, TIFFTAG_XRESOLUTION, &x);
    TIFFGetField(tif, TIFFTAG_YRESOLUTION, &y);
    TIFFGetFieldDefaulted(tif, TIFFTAG_RESOLUTIONUNIT, &unit);
    if (!(x > 0 && y > 0 && isfinite(x) && isfinite(y))) return;
    t->resolution[0] = (double)x;
    t->resolution[1] = (double)y;
    t->unit_mm = unit == RESUNIT_INCH ? 25.4 : unit == RESUNIT_CENTIMETER ? 10 : 0;
}

/*
 * The bytes that planes take, one behind the other, against those of the file: what is compressed
 * cannot grow by more than its method's ratio.
 */
static lob_status justify(const stack *t)
{
    const page_layout *const p = &t->layout;
    const int64_t planes = t->text.channels * t->text.slices * t->text.frames;
    const int64_t row = lob_product(p->width, p->samples, p->bits / 8, 1);
    const int64_t bytes = lob_product(row, p->height, planes, 1);
    if (bytes >= 0 && (uint64_t)bytes / (uint64_t)t->ratio <= t->file->size) return LOB_OK;
    return LOB_FAIL(t, LOB_EDATA,
                    "cut short or damaged: it asks for %lld planes of %u x %u pixels, more than "
                    "a file of %zu bytes can hold",
                    (long long)planes, p->width, p->height, t->file->size);
}

/* ImageJ writes one page where planes follow one another behind its voxels. */
static lob_status find_planes_behind(stack *t, TIFF *tif)
{
    const page_layout *const p = &t->layout;
    const int64_t planes = t->text.channels * t->text.slices * t->text.frames;
    if (t->text.kind != LOB_TIFF_IMAGEJ || planes == t->pages.count) return LOB_OK;
    if (p->compression != COMPRESSION_NONE || p->tiled || p->samples != 1)
        return damaged(t, "it lacks pages");
    t->behind = TIFFGetStrileOffset(tif, 0);
    t->swapped = TIFFIsByteSwapped(tif) != 0;
    const uint64_t bytes =
        (uint64_t)p->width * p->height * (uint64_t)(p->bits / 8) * (uint64_t)planes;
    if (t->behind > 0 && t->behind <= t->file->size && bytes <= t->file->size - t->behind)
        return LOB_OK;
    return damaged(t, "it is cut short");
}

/* Everything but voxels. */
static lob_status read_head(stack *t, const lob_reading *r)
{
    lob_tiff_session s;
    TIFF *tif;
    char *text = NULL;
    LOB_TRY(lob_tiff_list_pages(&t->pages, r));
    LOB_TRY(open_stack(&tif, &s, t));
    lob_status st = keep_pages(t, tif, &s);
    if (st == LOB_OK) st = check_layout(t);
    if (st == LOB_OK && !TIFFSetSubDirectory(tif, t->pages.page[0].offset))
        st = damaged(t, s.message);
    if (st == LOB_OK) {
        TIFFGetField(tif, TIFFTAG_IMAGEDESCRIPTION, &text);
        read_resolution(t, tif);
        st = lob_tiff_text_read(&t->text, text, &t->pages, t->layout.samples, r);
    }
    if (st == LOB_OK) st = justify(t);
    if (st == LOB_OK) st = find_planes_behind(t, tif);
    TIFFClose(tif);
    return st;
}

/* Where neither text nor resolution say how large a voxel is, it has 1 mm. */
static void find_geometry(lob_volume *out, const stack *t, const lob_reading *r)
{
    lob_file_info *const info = r->info;
    const lob_tiff_text *const text = &t->text;
    double mm[3] = {text->spacing_mm[0], text->spacing_mm[1], text->spacing_mm[2]};
    const double unit = text->unit_mm > 0 ? text->unit_mm : t->unit_mm;
    bool told = mm[0] > 0 || unit > 0;
    for (int a = 0; a < 2; a++) {
        if (mm[a] > 0) continue;
        const double pixel = t->resolution[a] > 0 ? 1.0 / t->resolution[a] : 1.0;
        mm[a] = unit > 0 ? pixel * unit : text->kind == LOB_TIFF_IMAGEJ ? pixel : 1.0;
    }
    if (!(mm[2] > 0)) mm[2] = mm[0]; /* plain pages: nothing tells how far apart they are */
    for (int a = 0; a < 3; a++)
        if (!(mm[a] > 1e-12 && mm[a] < 1e12)) {
            mm[0] = mm[1] = mm[2] = 1.0;
            told = false;
        }
    out->geometry = lob_geometry_of_spacing(mm);
    out->geometry.unoriented = true;
    out->geometry.micrometres = text->micrometres && told;
    const char *const taken = mm[0] == 1.0 && mm[1] == 1.0 && mm[2] == 1.0
                                  ? "1 mm is taken"
                                  : "its numbers are taken for mm";
    if (text->left_out > 0)
        lob_warn(info, "%s: its first image has %lld planes; its other %lld pages are left out",
                 t->path, (long long)(t->pages.count - text->left_out), (long long)text->left_out);
    if (r->options->spaced) return;
    if (text->unknown_unit[0])
        lob_warn(info, "%s: '%s' is not known as a unit of length; %s", t->path, text->unknown_unit,
                 told ? "what else it says of its voxels is taken" : taken);
    else if (!told)
        lob_warn(info, "%s: does not say how large its voxels are; %s", t->path, taken);
    else if (text->kind == LOB_TIFF_PLAIN && t->pages.count > 1)
        lob_warn(info, "%s: does not say how far apart its pages are; %.6g mm is taken, as along x",
                 t->path, mm[2]);
}

/* ---- voxels ---- */

/* The planes that the samples of one page go to. */
typedef struct {
    unsigned char *first; /* of sample 0 */
    size_t step;          /* bytes to the next sample's */
} page_target;

/* Copy rows of a block, whose pixels hold `samples` numbers, to the planes from (x, y) on. */
static void spread_block(const page_target *to, const unsigned char *block, const page_layout *p,
                         int first_sample, int samples, uint32_t x, uint32_t y,
                         uint32_t block_width, uint32_t rows)
{
    const size_t word = p->bits / 8;
    const uint32_t width = p->width - x < block_width ? p->width - x : block_width;
    for (int k = 0; k < samples && first_sample + k < p->colours; k++)
        for (uint32_t r = 0; r < rows; r++) {
            unsigned char *out = to->first + (size_t)(first_sample + k) * to->step +
                                 ((size_t)(y + r) * p->width + x) * word;
            const unsigned char *in =
                block + ((size_t)r * block_width * (size_t)samples + (size_t)k) * word;
            lob_copy_strided(out, (int64_t)word, in, (int64_t)word * samples, width, word);
        }
}

/* How a page is cut: strips are blocks as wide as the page. */
typedef struct {
    uint32_t width, height, across, down, planes;
    int samples; /* in a block */
    tmsize_t bytes;
} page_blocks;

static lob_status cut_page(page_blocks *b, const stack *t, TIFF *tif, const page_layout *p)
{
    *b = (page_blocks){.width = p->width, .height = p->height};
    if (p->tiled) {
        TIFFGetField(tif, TIFFTAG_TILEWIDTH, &b->width);
        TIFFGetField(tif, TIFFTAG_TILELENGTH, &b->height);
    } else {
        TIFFGetFieldDefaulted(tif, TIFFTAG_ROWSPERSTRIP, &b->height);
        if (b->height > p->height) b->height = p->height;
    }
    if (b->width < 1 || b->height < 1) return damaged(t, "blocks without pixels");
    const bool apart = p->planar == PLANARCONFIG_SEPARATE;
    b->samples = apart ? 1 : p->samples;
    b->planes = apart ? p->samples : 1;
    b->across = (p->width - 1) / b->width + 1;
    b->down = (p->height - 1) / b->height + 1;
    b->bytes = lob_product(b->width, b->height, b->samples, p->bits / 8);
    if (b->bytes < 0 || (uint64_t)b->bytes / (uint64_t)ratio_of(p->compression) > t->file->size ||
        b->bytes != (p->tiled ? TIFFTileSize(tif) : TIFFStripSize(tif)))
        return damaged(t, "blocks larger than the file can hold");
    return LOB_OK;
}

/*
 * Decode one block into memory. Its bytes are found here and handed to libtiff's decoder: where the
 * library reads strips by itself, damaged ones make it write beyond its buffer (4.5.0). How long a
 * plain block is, its size says.
 */
static lob_status decode_block(unsigned char *memory, tmsize_t wanted, uint32_t number,
                               const stack *t, TIFF *tif, const lob_tiff_session *s,
                               const page_layout *p)
{
    const uint64_t from = TIFFGetStrileOffset(tif, number);
    const uint64_t bytes =
        p->compression == COMPRESSION_NONE ? (uint64_t)wanted : TIFFGetStrileByteCount(tif, number);
    if (from < 8 || from > t->file->size || bytes < 1 || bytes > t->file->size - from)
        return damaged(t, "a block of voxels lies beyond its end");
    void *const in = (void *)(uintptr_t)(t->file->bytes + from); /* see is_stored_well */
    return TIFFReadFromUserBuffer(tif, number, in, (tmsize_t)bytes, memory, wanted)
               ? LOB_OK
               : damaged(t, s->message);
}

static lob_status decode_blocks(const page_target *to, const stack *t, TIFF *tif,
                                const lob_tiff_session *s, const page_layout *p,
                                const page_blocks *b, unsigned char *memory)
{
    for (uint32_t plane = 0; plane < b->planes && plane < p->colours; plane++)
        for (uint32_t y = 0; y < b->down; y++)
            for (uint32_t x = 0; x < b->across; x++) {
                const uint32_t number = (plane * b->down + y) * b->across + x;
                const uint32_t left = p->height - y * b->height;
                const uint32_t rows = left < b->height ? left : b->height;
                const tmsize_t wanted = p->tiled ? b->bytes : b->bytes / b->height * rows;
                LOB_TRY(decode_block(memory, wanted, number, t, tif, s, p));
                spread_block(to, memory, p, (int)plane, b->samples, x * b->width, y * b->height,
                             b->width, rows);
            }
    return LOB_OK;
}

static lob_status read_page(const page_target *to, const stack *t, TIFF *tif, lob_tiff_session *s,
                            int64_t page)
{
    page_layout p;
    page_blocks b;
    s->message[0] = '\0';
    if (!TIFFSetSubDirectory(tif, t->pages.page[page].offset)) return damaged(t, s->message);
    read_layout(&p, tif);
    LOB_TRY(cut_page(&b, t, tif, &p));
    unsigned char *const memory = malloc((size_t)b.bytes);
    if (!memory) return LOB_FAIL(t, LOB_ENOMEM, "no memory for its blocks");
    const lob_status st = decode_blocks(to, t, tif, s, &p, &b, memory);
    free(memory);
    return st;
}

/* Plane number i of the frame: slice i / channels of channel i % channels. */
static lob_status read_plane(const lob_volume *out, const stack *t, TIFF *tif, lob_tiff_session *s,
                             int64_t i)
{
    const lob_tiff_text *const text = &t->text;
    const int64_t c = i % text->channels, z = i / text->channels;
    const int64_t planes = text->channels * text->slices, plane = out->frame * planes + i;
    const size_t bytes = (size_t)(out->dims.nx * out->dims.ny) * lob_type_of(out->type)->bytes;
    const page_target to = {(unsigned char *)out->data +
                                (size_t)(c * t->layout.colours * out->dims.nz + z) * bytes,
                            (size_t)out->dims.nz * bytes};
    if (t->behind) {
        memcpy(to.first, t->file->bytes + t->behind + (uint64_t)plane * bytes, bytes);
        if (t->swapped) lob_swap_words(to.first, bytes, lob_type_of(out->type)->bytes);
    } else {
        LOB_TRY(read_page(&to, t, tif, s, text->page ? text->page[plane] : plane));
    }
    return LOB_OK;
}

/* Every thread has a session of its own; of several failures that of the first plane is told. */
static lob_status read_planes(const lob_volume *out, const stack *t, int threads)
{
    const int64_t planes = t->text.channels * t->text.slices;
    int64_t bad = planes;
    lob_status st = LOB_OK;
#pragma omp parallel num_threads(threads)
    {
        lob_error why = {.text = ""};
        stack mine = *t;
        lob_tiff_session s;
        TIFF *tif;
        mine.error = &why;
        lob_status own = open_stack(&tif, &s, &mine);
#pragma omp for schedule(dynamic, 1)
        for (int64_t i = 0; i < planes; i++) {
            if (tif) own = read_plane(out, &mine, tif, &s, i);
            if (own != LOB_OK) {
#pragma omp critical(lob_tiff)
                if (i < bad) {
                    bad = i;
                    st = own;
                    if (t->error) *t->error = why;
                }
            }
        }
        if (tif) TIFFClose(tif);
    }
    return st;
}

/* Bring pages whose first pixel is not the top left one, as check_layout lets pass, upright. */
static lob_status turn_upright(lob_volume *out, uint16_t orientation, const lob_reading *r)
{
    const bool right = orientation == ORIENTATION_TOPRIGHT || orientation == ORIENTATION_BOTRIGHT;
    const lob_turn turn = {
        {0,     1,                                   2    },
        {right, orientation >= ORIENTATION_BOTRIGHT, false}
    };
    const lob_geometry geometry = out->geometry;
    if (lob_volume_reorient(out, &turn) != LOB_OK)
        return LOB_FAIL(r, LOB_ENOMEM, "no memory for its voxels");
    out->geometry = geometry;
    return LOB_OK;
}

static lob_status read_volume(lob_volume *out, stack *t, const lob_reading *r)
{
    const page_layout *const p = &t->layout;
    LOB_TRY(read_head(t, r));
    out->type = type_of(p);
    out->dims = (lob_dims){p->width, p->height, t->text.slices};
    const int64_t channels = lob_product(t->text.channels, p->colours, 1, 1);
    if (channels > INT32_MAX) return LOB_FAIL(r, LOB_EDATA, "claims too many channels");
    out->channels = (int)channels;
    out->frames = t->text.frames;
    out->slope = t->text.slope;
    out->inter = t->text.inter;
    find_geometry(out, t, r);
    if (p->colours < p->samples) lob_warn(r->info, "%s: the alpha channel is left out", r->path);
    if (r->options->header_only) return LOB_OK;
    LOB_TRY(lob_choose_frame(&out->frame, out->frames, r->path, r->options, r->error));
    const int64_t word = (int64_t)lob_type_of(out->type)->bytes;
    const int64_t bytes = lob_product(lob_dims_voxels(out->dims), out->channels, word, 1);
    const bool turned = p->orientation > ORIENTATION_TOPLEFT;
    LOB_TRY(lob_memory_allows(lob_product(bytes, turned ? 2 : 1, 1, 1), r));
    out->data = lob_voxel_memory(bytes);
    if (!out->data) return LOB_FAIL(r, LOB_ENOMEM, "no memory for its voxels");
    const int64_t planes = t->text.channels * t->text.slices;
    const int64_t threads = r->options->threads < planes ? r->options->threads : planes;
    LOB_TRY(read_planes(out, t, threads > 1 ? (int)threads : 1));
    return turned ? turn_upright(out, p->orientation, r) : LOB_OK;
}

static lob_status read_tiff(lob_volume *out, const lob_reading *r)
{
    const double start_s = lob_clock_s();
    stack t = {.path = r->path, .file = r->file, .error = r->error};
    lob_info_add_file(r->info, r->file);
    const lob_status st = read_volume(out, &t, r);
    if (r->info) {
        static const char *const names[] = {"TIFF", "ImageJ TIFF", "OME-TIFF"};
        r->info->format = names[t.text.kind];
        r->info->inflate_s += lob_clock_s() - start_s;
    }
    LOB_FREE(t.text.page, t.pages.page);
    return st;
}

/* The voxels of an Analyze pair may look like anything. */
static bool sniff(const lob_location *where, const lob_input *file)
{
    static const char *const signatures[] = {"II*\0", "MM\0*", "II+\0", "MM\0+"};
    if (file->size < 8 || lob_has_suffix(where->file, ".img")) return false;
    for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++)
        if (memcmp(file->bytes, signatures[i], 4) == 0) return true;
    return false;
}

const lob_format lob_format_tiff = {
    .name = "TIFF",
    .suffixes = suffixes,
    .sniff = sniff,
    .read = read_tiff,
    .write = lob_tiff_write,
    .holds = lob_tiff_holds,
};
