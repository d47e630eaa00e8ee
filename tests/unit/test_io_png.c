/* PNG written and read back, every kind that libpng writes, and files cut and changed anywhere. */
#include "io/io.h"
#include "io/png.h"

#include "tests/reference/put_number.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/io_scratch.h"
#include "tests/unit/volume_of.h"

#include <png.h>

enum { W = 7, H = 5 };

static lob_volume flat_volume(lob_type type, int channels)
{
    lob_volume v = noise_volume(type, (lob_dims){W, H, 1}, channels);
    v.geometry = lob_geometry_of_spacing((const double[3]){0.5, 0.25, 1.0});
    return v;
}

static lob_status write_png(const lob_volume *v, const char *path, lob_error *error)
{
    lob_write_options options = lob_write_defaults();
    options.force = true;
    return lob_write(v, path, &options, error);
}

static const struct {
    const char *what;
    lob_type type;
    int channels;
} kept[] = {
    {"grey bytes",   LOB_U8,  1},
    {"grey words",   LOB_U16, 1},
    {"colour bytes", LOB_U8,  3},
    {"colour words", LOB_U16, 3},
};

TEST(what_fits_comes_back)
{
    for (size_t i = 0; i < COUNT(kept); i++) {
        lob_volume v = flat_volume(kept[i].type, kept[i].channels);
        lob_file_info info = {0};
        assert_ok(write_png(&v, scratch("a.png"), NULL));
        lob_volume back = read_volume(scratch("a.png"), NULL, &info);
        assert_string_equal(info.format, "PNG");
        assert_int_equal(info.warnings, 0);
        assert_same_volume(kept[i].what, &v, &back);
        size_t one_size, two_size;
        unsigned char *one = slurp(scratch("a.png"), &one_size);
        assert_ok(write_png(&v, scratch("b.png"), NULL));
        unsigned char *two = slurp(scratch("b.png"), &two_size);
        assert_int_equal(one_size, two_size);
        assert_memory_equal(one, two, one_size);
        free(one);
        free(two);
        lob_volume_free(&back);
        lob_volume_free(&v);
    }
}

TEST(labels_of_wider_types_are_stored_in_16_bits)
{
    lob_volume v = flat_volume(LOB_I32, 1);
    for (int i = 0; i < W * H; i++) ((int32_t *)v.data)[i] = i * 1872;
    assert_ok(write_png(&v, scratch("l.png"), NULL));
    lob_volume back = read_volume(scratch("l.png"), NULL, NULL);
    assert_int_equal(back.type, LOB_U16);
    for (int i = 0; i < W * H; i++) assert_int_equal(((uint16_t *)back.data)[i], i * 1872);
    lob_volume_free(&back);
    lob_volume_free(&v);
}

static const struct {
    const char *what;
    lob_type type;
    int channels;
    int64_t nz;
    double slope, first;
    const char *says;
} refused[] = {
    {"two slices",             LOB_U8,  1, 2, 1, 0,     "one slice"      },
    {"two channels",           LOB_U8,  2, 1, 1, 0,     "1 or 3 channels"},
    {"real numbers",           LOB_F32, 1, 1, 1, 0,     "float32"        },
    {"scaled",                 LOB_U8,  1, 1, 2, 0,     "no scale"       },
    {"below 0",                LOB_I16, 1, 1, 1, -1,    "beyond"         },
    {"above 65535",            LOB_I32, 1, 1, 1, 65536, "beyond"         },
    {"colour of another type", LOB_I16, 3, 1, 1, 0,     "int16"          },
};

TEST(what_does_not_fit_is_refused)
{
    const int files = scratch_files();
    for (size_t i = 0; i < COUNT(refused); i++) {
        lob_error error = {.text = ""};
        const lob_dims dims = {W, H, refused[i].nz};
        lob_volume v = zeros(refused[i].type, dims, refused[i].channels);
        v.slope = refused[i].slope;
        put_number(&v, 0, refused[i].first);
        const lob_status st = write_png(&v, scratch("no.png"), &error);
        if (st != LOB_EDATA || !strstr(error.text, refused[i].says))
            fail_msg("%s: %s", refused[i].what, error.text);

        /* Without the voxels it is known just as well, unless it is their values. */
        const bool by_value = strcmp(refused[i].says, "beyond") == 0;
        free(v.data);
        v.data = NULL;
        if (lob_check_volume(&v, scratch("no.png"), &error) != (by_value ? LOB_OK : LOB_EDATA) ||
            !strstr(error.text, refused[i].says))
            fail_msg("%s, by its kind: %s", refused[i].what, error.text);
        lob_volume_free(&v);
    }
    assert_int_equal(scratch_files(), files);
}

/* ---- images as libpng writes them ---- */

typedef struct {
    const char *what;
    int colour, depth, interlace;
    bool transparency;
    lob_type type;
    int channels, warnings;
} kind;

static const kind kinds[] = {
    {"1 bit",                 PNG_COLOR_TYPE_GRAY,       1,  PNG_INTERLACE_NONE,  false, LOB_U8,  1, 0},
    {"2 bits",                PNG_COLOR_TYPE_GRAY,       2,  PNG_INTERLACE_NONE,  false, LOB_U8,  1, 0},
    {"4 bits, interlaced",    PNG_COLOR_TYPE_GRAY,       4,  PNG_INTERLACE_ADAM7, false, LOB_U8,  1, 0},
    {"8 bits, interlaced",    PNG_COLOR_TYPE_GRAY,       8,  PNG_INTERLACE_ADAM7, false, LOB_U8,  1, 0},
    {"16 bits",               PNG_COLOR_TYPE_GRAY,       16, PNG_INTERLACE_NONE,  false, LOB_U16, 1, 0},
    {"grey and alpha",        PNG_COLOR_TYPE_GRAY_ALPHA, 8,  PNG_INTERLACE_NONE,  false, LOB_U8,  1, 1},
    {"wide grey and alpha",   PNG_COLOR_TYPE_GRAY_ALPHA, 16, PNG_INTERLACE_ADAM7, false, LOB_U16, 1,
     1                                                                                                },
    {"colour",                PNG_COLOR_TYPE_RGB,        8,  PNG_INTERLACE_ADAM7, false, LOB_U8,  3, 0},
    {"colour and alpha",      PNG_COLOR_TYPE_RGB_ALPHA,  8,  PNG_INTERLACE_NONE,  false, LOB_U8,  3, 1},
    {"wide colour and alpha", PNG_COLOR_TYPE_RGB_ALPHA,  16, PNG_INTERLACE_NONE,  false, LOB_U16, 3,
     1                                                                                                },
    {"palette",               PNG_COLOR_TYPE_PALETTE,    8,  PNG_INTERLACE_NONE,  false, LOB_U8,  3, 0},
    {"palette of 2 bits",     PNG_COLOR_TYPE_PALETTE,    2,  PNG_INTERLACE_NONE,  false, LOB_U8,  3, 0},
    {"palette with alpha",    PNG_COLOR_TYPE_PALETTE,    8,  PNG_INTERLACE_ADAM7, true,  LOB_U8,  3, 1},
};

static int samples_of(const kind *k)
{
    return (k->colour & PNG_COLOR_MASK_COLOR && k->colour != PNG_COLOR_TYPE_PALETTE ? 3 : 1) +
           (k->colour & PNG_COLOR_MASK_ALPHA ? 1 : 0);
}

/* The sample that stands at a place, in the depth of the file. */
static int sample(const kind *k, int x, int y, int c)
{
    const int max = (1 << k->depth) - 1;
    return (x * 5 + y * 11 + c * 37 + (k->depth == 16 ? x * 3001 : 0)) & max;
}

static void put_kind(const kind *k, const char *path)
{
    FILE *f = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_init_io(png, f);
    png_set_IHDR(png, info, W, H, k->depth, k->colour, k->interlace, 0, 0);
    if (k->colour == PNG_COLOR_TYPE_PALETTE) {
        png_color palette[256];
        for (int i = 0; i < 256; i++)
            palette[i] = (png_color){(png_byte)i, (png_byte)(255 - i), (png_byte)(i * 3)};
        png_set_PLTE(png, info, palette, 1 << k->depth);
        if (k->transparency) png_set_tRNS(png, info, (png_const_bytep) "\x10\x80", 2, NULL);
    }
    png_set_text(png, info,
                 &(png_text){.compression = PNG_TEXT_COMPRESSION_NONE,
                             .key = (png_charp) "Comment",
                             .text = (png_charp) "ignored"},
                 1);
    png_write_info(png, info);
    const int samples = samples_of(k);
    unsigned char rows[H][W * 8] = {{0}};
    png_bytep pointers[H];
    for (int y = 0; y < H; y++) {
        for (int i = 0; i < W * samples; i++) {
            const int value = sample(k, i / samples, y, i % samples);
            if (k->depth == 16) {
                rows[y][2 * i] = (unsigned char)(value >> 8);
                rows[y][2 * i + 1] = (unsigned char)value;
            } else {
                rows[y][i * k->depth / 8] |=
                    (unsigned char)(value << (8 - k->depth - i * k->depth % 8));
            }
        }
        pointers[y] = rows[y];
    }
    png_write_image(png, pointers);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    fclose(f);
}

static int wanted(const kind *k, int x, int y, int c)
{
    const int value = sample(k, x, y, k->colour == PNG_COLOR_TYPE_PALETTE ? 0 : c);
    if (k->colour == PNG_COLOR_TYPE_PALETTE)
        return (c == 0 ? value : c == 1 ? 255 - value : value * 3) & 255;
    return k->depth < 8 ? value * 255 / ((1 << k->depth) - 1) : value;
}

TEST(every_kind_is_read)
{
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const kind *k = &kinds[i];
        lob_file_info info = {0};
        put_kind(k, scratch(k->what));
        lob_volume v = read_volume(scratch(k->what), NULL, &info);
        if (v.type != k->type || v.channels != k->channels || info.warnings != k->warnings)
            fail_msg("%s: %s, %d channels, %d warnings", k->what, lob_type_of(v.type)->name,
                     v.channels, info.warnings);
        assert_true(v.dims.nx == W && v.dims.ny == H && v.dims.nz == 1);
        assert_true(v.geometry.spacing_mm[0] == 1.0 && v.geometry.spacing_mm[1] == 1.0);
        for (int64_t at = 0; at < lob_voxels(&v) * v.channels; at++) {
            const double value = number_at(&v, at);
            const int want = wanted(k, (int)(at % W), (int)(at / W % H), (int)(at / W / H));
            if (value != want)
                fail_msg("%s: voxel %d is %g, not %d", k->what, (int)at, value, want);
        }
        lob_volume_free(&v);
    }
}

/* Rows of colours come one at a time, but those of several passes. */
TEST(memory_is_for_the_image_and_a_row)
{
    for (size_t i = 0; i < COUNT(kinds); i++) {
        lob_read_options options = lob_read_defaults();
        lob_volume v;
        const kind *const k = &kinds[i];
        const int64_t row = W * k->channels * (int64_t)lob_type_of(k->type)->bytes;
        const int64_t rows = k->channels == 1 ? 0 : k->interlace == PNG_INTERLACE_NONE ? 1 : H;
        put_kind(k, scratch(k->what));
        options.max_memory = row * (H + rows);
        if (lob_read(&v, scratch(k->what), &options, NULL, NULL) != LOB_OK)
            fail_msg("%s is not read", k->what);
        lob_volume_free(&v);
        options.max_memory--;
        assert_int_equal(lob_read(&v, scratch(k->what), &options, NULL, NULL), LOB_ENOMEM);
    }
}

/* Cut at every byte: only the loss of what follows the image could pass, and it does not either. */
TEST(files_cut_anywhere_are_refused)
{
    for (size_t i = 0; i < COUNT(kinds); i++) {
        size_t size;
        put_kind(&kinds[i], scratch("whole.png"));
        unsigned char *bytes = slurp(scratch("whole.png"), &size);
        for (size_t n = 0; n < size; n++) {
            spill(scratch("cut.png"), bytes, n);
            assert_refused(scratch("cut.png"), NULL, LOB_EDATA, "cut.png");
        }
        free(bytes);
    }
}

TEST(files_changed_anywhere_do_no_harm)
{
    for (size_t i = 0; i < COUNT(kinds); i++) {
        size_t size;
        put_kind(&kinds[i], scratch("whole.png"));
        unsigned char *bytes = slurp(scratch("whole.png"), &size);
        for (size_t n = 8; n < size; n++) {
            const unsigned char was = bytes[n];
            bytes[n] ^= (unsigned char)(1 + n * 29 % 255);
            lob_volume v = lob_volume_empty();
            spill(scratch("hurt.png"), bytes, size);
            const lob_status st = lob_read(&v, scratch("hurt.png"), NULL, NULL, NULL);
            assert_true(st == LOB_OK || st == LOB_EDATA);
            lob_volume_free(&v);
            bytes[n] = was;
        }
        free(bytes);
    }
}

/* A header may claim any size; memory follows what the file can hold. */
TEST(a_header_alone_gets_no_memory)
{
    size_t size;
    put_kind(&kinds[4], scratch("whole.png"));
    unsigned char *bytes = slurp(scratch("whole.png"), &size);
    bytes[17] = 15; /* 983047 x 983045 of 16 bits */
    bytes[21] = 15;
    png_uint_32 crc = (png_uint_32)0xffffffff;
    for (int i = 12; i < 29; i++)
        for (int b = 0; b < 8; b++)
            crc = (crc >> 1) ^ (((crc ^ (bytes[i] >> b)) & 1) ? 0xedb88320u : 0);
    crc = ~crc;
    for (int i = 0; i < 4; i++) bytes[29 + i] = (unsigned char)(crc >> (24 - 8 * i));
    spill(scratch("bomb.png"), bytes, size);
    free(bytes);
    assert_refused(scratch("bomb.png"), NULL, LOB_EDATA, "more pixels");
    lob_read_options options = lob_read_defaults();
    options.max_memory = W * H * 2 - 1;
    assert_refused(scratch("whole.png"), &options, LOB_ENOMEM, "");
    options.header_only = true;
    lob_volume v = read_volume(scratch("whole.png"), &options, NULL);
    assert_null(v.data);
    lob_volume_free(&v);
}

TEST(previews_are_written_by_name)
{
    unsigned char rgb[3 * W * H];
    for (size_t i = 0; i < sizeof rgb; i++) rgb[i] = (unsigned char)(i * 7);
    lob_error error = {.text = ""};
    double spent = 0;
    assert_ok(lob_png_write_rgb(scratch("p.png"), rgb, W, H, false, &spent, &error));
    assert_int_equal(lob_png_write_rgb(scratch("p.png"), rgb, W, H, false, &spent, &error),
                     LOB_EEXIST);
    assert_ok(lob_png_write_rgb(scratch("p.png"), rgb, W, H, true, &spent, &error));
    assert_int_equal(lob_png_write_rgb(scratch("q.png"), rgb, 0, H, true, &spent, &error),
                     LOB_EARG);
    assert_int_equal(lob_png_write_rgb(scratch("none/q.png"), rgb, W, H, true, &spent, &error),
                     LOB_ECREATE);
    assert_true(spent > 0);
    lob_volume v = read_volume(scratch("p.png"), NULL, NULL);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < W * H; i++)
            assert_int_equal(((unsigned char *)v.data)[c * W * H + i], rgb[i * 3 + c]);
    lob_volume_free(&v);
}
