/* Reading NIfTI: every type, order, version and container; geometry; frames; what is refused. */
#include "tests/unit/cmocka_test.h"
#include "tests/unit/io_scratch.h"
#include "tests/unit/nifti_made.h"

#include <unistd.h>

/* Read m as one plain file. */
static lob_status read_made(lob_volume *out, made *m, lob_file_info *info, lob_error *error)
{
    const char *path = scratch("made.nii");
    put_made(path, m, false);
    return lob_read(out, path, NULL, info, error);
}

static void assert_values(const lob_volume *v, const lob_nifti_type *type, int64_t first, int64_t n,
                          const char *what)
{
    double got[4096];
    lob_values(got, v->data, v->type, 0, n);
    for (int64_t i = 0; i < n; i++)
        if (got[i] != made_value(type, first + i))
            fail_msg("%s: voxel %lld is %g, not %g", what, (long long)i, got[i],
                     made_value(type, first + i));
}

static const int codes[] = {2, 4, 8, 16, 64, 256, 512, 768, 1024, 1280, 1536};

TEST(every_type_order_version_and_container)
{
    static const struct {
        const char *name, *open; /* file with the header or all; name to read */
        const char *image;       /* NULL: single file */
        bool gz, image_gz;
    } containers[] = {
        {"a.nii",               "a.nii",               NULL,       false, false},
        {"a.nii.gz",            "a.nii.gz",            NULL,       true,  false},
        {"gz_inside.nii",       "gz_inside.nii",       NULL,       true,  false},
        {"plain_inside.nii.gz", "plain_inside.nii.gz", NULL,       false, false},
        {"b.hdr",               "b.hdr",               "b.img",    false, false},
        {"b.hdr",               "b.img",               "b.img",    false, false},
        {"c.hdr.gz",            "c.img.gz",            "c.img.gz", true,  true },
        {"d.hdr",               "d.hdr",               "d.img.gz", false, true },
        {"e.hdr.gz",            "e.img",               "e.img",    true,  false},
        {"F.HDR",               "F.IMG",               "F.IMG",    false, false},
    };
    static image_file header, image;
    for (size_t c = 0; c < COUNT(codes); c++)
        for (int version = 1; version <= 2; version++)
            for (int swapped = 0; swapped < 2; swapped++)
                for (size_t k = 0; k < COUNT(containers); k++) {
                    const lob_nifti_type *type = lob_nifti_type_of(codes[c]);
                    made m = make(version, swapped, codes[c], 5, 7, 3, 1, 1);
                    m.pair = containers[k].image != NULL;
                    if (k % 2) made_extend(&m, 32, 6);
                    made_finish(&m);
                    made_header_file(&header, &m);
                    image.size = 0;
                    made_voxels(m.pair ? &image : &header, &m);
                    put_file(scratch(containers[k].name), &header, containers[k].gz);
                    if (m.pair)
                        put_file(scratch(containers[k].image), &image, containers[k].image_gz);
                    char what[128];
                    snprintf(what, sizeof what, "%s, NIfTI-%d, %s, %s", type->name, version,
                             swapped ? "swapped" : "host order", containers[k].open);
                    lob_volume v;
                    lob_error error = {.text = ""};
                    lob_file_info info = {0};
                    if (lob_read(&v, scratch(containers[k].open), NULL, &info, &error) != LOB_OK ||
                        info.warnings || error.text[0] || info.file_bytes == 0 ||
                        strcmp(info.format, version == 2 ? "NIfTI-2" : "NIfTI-1") != 0)
                        fail_msg("%s: %s %s", what, info.warning[0], error.text);
                    assert_int_equal(v.type, type->type);
                    assert_int_equal(v.dims.nx, 5);
                    assert_int_equal(v.dims.ny, 7);
                    assert_int_equal(v.dims.nz, 3);
                    assert_values(&v, type, 0, 105, what);
                    assert_memory_equal(v.header.bytes, m.header, made_header_bytes(&m));
                    assert_int_equal(v.header.extensions_size, m.extension_bytes);
                    assert_memory_equal(v.header.extensions, m.extensions, m.extension_bytes);
                    lob_volume_free(&v);
                }
}

TEST(special_numbers_survive)
{
    static const struct {
        unsigned char bytes[10];
        double want;
    } extended[] = {
        {{0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x7f}, INFINITY },
        {{0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0xff}, -INFINITY},
        {{0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0x7f}, NAN      },
        {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80},       -0.0     },
        {{0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f}, 1.0      },
        {{0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x7e}, INFINITY }, /* beyond float64 */
    };
    made m = make(1, false, 1536, COUNT(extended), 1, 1, 1, 1);
    for (size_t i = 0; i < COUNT(extended); i++) memcpy(m.voxels + 16 * i, extended[i].bytes, 10);
    lob_volume v;
    assert_ok(read_made(&v, &m, NULL, NULL));
    for (size_t i = 0; i < COUNT(extended); i++) {
        const double got = ((double *)v.data)[i];
        if (isnan(extended[i].want) ? !isnan(got)
                                    : memcmp(&got, &extended[i].want, sizeof got) != 0)
            fail_msg("row %zu: got %g", i, got);
    }
    lob_volume_free(&v);

    made f = make(1, true, 16, 3, 1, 1, 1, 1); /* niftilib's reader would turn these into 0 */
    const float odd[3] = {NAN, INFINITY, -INFINITY};
    memcpy(f.voxels, odd, sizeof odd);
    assert_ok(read_made(&v, &f, NULL, NULL));
    assert_memory_equal(v.data, odd, sizeof odd);
    lob_volume_free(&v);
}

TEST(colours_become_planes)
{
    for (int channels = 3; channels <= 4; channels++) {
        const int code = channels == 3 ? 128 : 2304;
        made m = make(1, true, code, 4, 3, 2, 1, 1);
        lob_nifti_put_real(m.header, LOB_NIFTI_scl_slope, 0, 3); /* does not apply to colours */
        lob_volume v;
        assert_ok(read_made(&v, &m, NULL, NULL));
        assert_int_equal(v.channels, channels);
        assert_int_equal(v.type, LOB_U8);
        assert_true(v.slope == 1);
        for (int c = 0; c < channels; c++)
            for (int i = 0; i < 24; i++)
                assert_int_equal(((uint8_t *)v.data)[c * 24 + i], m.voxels[i * channels + c]);
        lob_volume_free(&v);
    }
}

TEST(frames_and_channels)
{
    lob_volume v;
    for (int gz = 0; gz < 2; gz++)
        for (int vectors = 1; vectors <= 3; vectors += 2) {
            const lob_nifti_type *type = lob_nifti_type_of(4);
            made m = make(1, true, 4, 5, 3, 2, 4, vectors);
            const char *path = scratch("frames");
            put_made(path, &m, gz);
            assert_int_equal(assert_refused(path, NULL, LOB_EDATA, "4 frames"),
                             LOB_HINT_CHOOSE_FRAME);

            /* memory for all frames, and for one */
            for (int64_t memory = 0; memory <= 60 * vectors; memory += 60 * vectors)
                for (int64_t frame = 0; frame < 4; frame++) {
                    const lob_read_options o = {.frame = frame, .max_memory = memory};
                    lob_file_info info;
                    v = read_volume(path, &o, &info);
                    assert_int_equal(info.warnings, 0);
                    assert_int_equal(v.frames, 4);
                    assert_int_equal(v.frame, frame);
                    assert_int_equal(v.channels, vectors);
                    double got[90];
                    lob_values(got, v.data, v.type, 0, 30 * vectors);
                    for (int c = 0; c < vectors; c++)
                        for (int i = 0; i < 30; i++)
                            assert_true(got[c * 30 + i] ==
                                        made_value(type, (c * 4 + frame) * 30 + i));
                    lob_volume_free(&v);
                }
            const lob_read_options beyond = {.frame = 4},
                                   header = {.frame = -1, .header_only = true};
            assert_refused(path, &beyond, LOB_EDATA, "");
            v = read_volume(path, &header, NULL);
            assert_int_equal(v.frames, 4);
            assert_null(v.data);
            lob_volume_free(&v);
        }
    made one = make(1, false, 4, 5, 3, 2, 1, 3); /* the only frame needs no choosing */
    assert_ok(read_made(&v, &one, NULL, NULL));
    assert_int_equal(v.channels, 3);
    assert_values(&v, lob_nifti_type_of(4), 0, 90, "a vector volume");
    lob_volume_free(&v);
}

/* ---- geometry ---- */

typedef struct {
    lob_nifti_field field;
    int index;
    double value;
} edit;

#define MADE_MM     \
    {               \
        1.5, 2, 2.5 \
    }
#define F(name, index, value)          \
    {                                  \
        LOB_NIFTI_##name, index, value \
    }

/* Up to the first that is all 0: sizeof_hdr, which no row changes. */
static void apply(made *m, const edit *edits)
{
    for (; edits->field != LOB_NIFTI_sizeof_hdr; edits++)
        lob_nifti_put_real(m->header, edits->field, edits->index, edits->value);
}

TEST(geometry_comes_from_the_right_fields)
{
    static const struct {
        const char *what;
        edit edits[4];
        double origin_x;
        const char *warning; /* part of the first; NULL: none */
        double spacing[3];
    } cases[] = {
        ROW("the sform", {{0}}, -10.25, NULL, MADE_MM),
        ROW("the qform without an sform", {F(sform_code, 0, 0), F(qoffset_x, 0, 3)}, 3, NULL,
            MADE_MM),
        ROW("the voxel sizes alone", {F(sform_code, 0, 0), F(qform_code, 0, 0)}, 0, NULL, MADE_MM),
        ROW("metres", {F(xyzt_units, 0, 1)}, -10250, NULL, {1500, 2000, 2500}),
        ROW("micrometres", {F(xyzt_units, 0, 3)}, -.01025, NULL, {.0015, .002, .0025}),
        ROW("no unit is millimetres", {F(xyzt_units, 0, 0)}, -10.25, NULL, MADE_MM),
        ROW("negative pixdim counts as positive", {F(pixdim, 1, -1.5), F(sform_code, 0, 0)}, -10.25,
            NULL, MADE_MM),
        ROW("a qfac of 0 is no flip", {F(pixdim, 0, 0), F(sform_code, 0, 0)}, -10.25, NULL,
            MADE_MM),
        ROW("a flat sform falls back", {F(srow_z, 2, 0), F(qoffset_x, 0, 3)}, 3,
            "sform is no usable", MADE_MM),
        ROW("an sform that is not a number falls back", {F(srow_z, 2, NAN), F(qform_code, 0, 0)}, 0,
            "sform is no usable", MADE_MM),
        ROW("a qform that is not a number falls back", {F(sform_code, 0, 0), F(quatern_b, 0, NAN)},
            0, "qform is no usable", MADE_MM),
        ROW("the forms disagree", {F(qoffset_x, 0, 3)}, -10.25, "up to 13.2 mm apart", MADE_MM),
        ROW("the sizes disagree", {F(qform_code, 0, 0), F(pixdim, 2, 9)}, -10.25, "pixdim says",
            MADE_MM),
        ROW("no voxel size", {F(sform_code, 0, 0), F(qform_code, 0, 0), F(pixdim, 2, 0)}, 0,
            "no usable voxel size", {1.5, 1, 2.5}),
        ROW("infinite voxel size",
            {F(sform_code, 0, 0), F(qform_code, 0, 0), F(pixdim, 3, INFINITY)}, 0,
            "no usable voxel size", {1.5, 2, 1}),
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int version = 1; version <= 2; version++)
            for (int swapped = 0; swapped < 2; swapped++) {
                made m = make(version, swapped, 2, 4, 4, 4, 1, 1);
                apply(&m, cases[i].edits);
                lob_volume v;
                lob_file_info info;
                lob_error error = {.text = ""};
                if (read_made(&v, &m, &info, &error) != LOB_OK)
                    fail_msg("%s: %s", cases[i].what, error.text);
                for (int a = 0; a < 3; a++)
                    if (fabs(v.geometry.spacing_mm[a] - cases[i].spacing[a]) > 1e-9)
                        fail_msg("%s: axis %d is %g mm", cases[i].what, a,
                                 v.geometry.spacing_mm[a]);
                if (fabs(v.geometry.affine[0][3] - cases[i].origin_x) > 1e-9)
                    fail_msg("%s: origin %g", cases[i].what, v.geometry.affine[0][3]);
                const char *line = info.warnings ? info.warning[0] : NULL;
                if (cases[i].warning ? !line || !strstr(line, cases[i].warning) : line != NULL)
                    fail_msg("%s: warning %s", cases[i].what, line ? line : "missing");
                lob_volume_free(&v);
            }
    made m = make(1, false, 2, 4, 4, 4, 1, 1); /* the third axis of the qform turned over */
    lob_nifti_put_int(m.header, LOB_NIFTI_sform_code, 0, 0);
    lob_nifti_put_real(m.header, LOB_NIFTI_pixdim, 0, -1);
    lob_volume v;
    assert_ok(read_made(&v, &m, NULL, NULL));
    assert_true(v.geometry.affine[2][2] == -2.5);
    lob_volume_free(&v);
}

TEST(scaling)
{
    static const struct {
        double slope, inter, want_slope, want_inter;
    } cases[] = {
        {2,        5,   2,    5 },
        {0,        5,   1,    0 },
        {NAN,      NAN, 1,    0 },
        {INFINITY, 1,   1,    0 },
        {-0.5,     -1,  -0.5, -1},
        {1,        0,   1,    0 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        made m = make(2, true, 4, 3, 3, 3, 1, 1);
        lob_nifti_put_real(m.header, LOB_NIFTI_scl_slope, 0, cases[i].slope);
        lob_nifti_put_real(m.header, LOB_NIFTI_scl_inter, 0, cases[i].inter);
        lob_volume v;
        assert_ok(read_made(&v, &m, NULL, NULL));
        assert_true(v.slope == cases[i].want_slope && v.inter == cases[i].want_inter);
        assert_values(&v, lob_nifti_type_of(4), 0, 27, "stored numbers stay");
        lob_volume_free(&v);
    }
}

/* ---- what is refused ---- */

TEST(bad_headers)
{
    static const struct {
        const char *what;
        edit edits[4];
        int only; /* 1, 2: a NIfTI version; 0: both */
        const char *says;
    } cases[] = {
        {"dim[0] of 200",              {F(dim, 0, 200)},                                0, "dim[0] is 200"      },
        {"dim[0] of -5000",            {F(dim, 0, -5000)},                              0, "dim[0] is -5000"    },
        {"dim[0] of 0",                {F(dim, 0, 0)},                                  0, "dim[0] is 0"        },
        {"dim[0] of 8",                {F(dim, 0, 8)},                                  0, "dim[0] is 8"        },
        {"a side of 0",                {F(dim, 2, 0)},                                  0, "dim[2] is 0"        },
        {"a negative side",            {F(dim, 3, -1)},                                 0, "dim[3] is -1"       },
        {"no frames",                  {F(dim, 0, 4), F(dim, 4, 0)},                    0, "dim[4] is 0"        },
        {"six dimensions",             {F(dim, 0, 6), F(dim, 6, 2)},                    0, "at most 5"          },
        {"a product that wraps to 64",
         {F(dim, 1, 0x1p62 + 1024), F(dim, 2, 4), F(dim, 3, 1)},
         2,                                                                                "impossible"         },
        {"a product past 64 bits",     {F(dim, 1, 0x1p40), F(dim, 2, 0x1p40)},          2, "impossible"         },
        {"sides beyond the file",      {F(dim, 1, 32767)},                              0, "cut short"          },
        {"many channels",              {F(dim, 0, 5), F(dim, 4, 1), F(dim, 5, 0x1p40)}, 2, "dim[5]"             },
        {"an unknown datatype",        {F(datatype, 0, 3)},                             0, "no datatype 3"      },
        {"a negative datatype",        {F(datatype, 0, -16)},                           0, "no datatype -16"    },
        {"bits",                       {F(datatype, 0, 1), F(bitpix, 0, 1)},            0, "one-bit"            },
        {"complex",                    {F(datatype, 0, 32)},                            0, "complex64"          },
        {"complex, longer",            {F(datatype, 0, 1792)},                          0, "complex128"         },
        {"bitpix of another type",     {F(bitpix, 0, 32)},                              0, "bitpix says 32"     },
        {"vox_offset not a number",    {F(vox_offset, 0, NAN)},                         1, "vox_offset is nan"  },
        {"vox_offset infinite",        {F(vox_offset, 0, INFINITY)},                    1, "vox_offset is inf"  },
        {"vox_offset of 1e30",         {F(vox_offset, 0, 1e30)},                        1, "vox_offset is 1e+30"},
        {"vox_offset of 352.5",        {F(vox_offset, 0, 352.5)},                       1, "vox_offset is 352.5"},
        {"vox_offset negative",        {F(vox_offset, 0, -16)},                         0, "vox_offset is -16"  },
        {"vox_offset beyond the file", {F(vox_offset, 0, 1e6)},                         0, "cut short"          },
        {"vox_offset near 2^63",       {F(vox_offset, 0, 0x1.fp61)},                    0, "cut short"          },
        {"scl_inter not a number",     {F(scl_slope, 0, 2), F(scl_inter, 0, NAN)},      0, "scl_inter"          },
        {"CIFTI",                      {F(intent_code, 0, 3006)},                       0, "CIFTI"              },
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int version = 1; version <= 2; version++)
            for (int swapped = 0; swapped < 2; swapped++) {
                if (cases[i].only && cases[i].only != version) continue;
                made m = make(version, swapped, 4, 5, 4, 3, 1, 1);
                apply(&m, cases[i].edits);
                lob_volume v;
                lob_error error = {.text = ""};
                const lob_status st = read_made(&v, &m, NULL, &error);
                if (st != LOB_EDATA || !strstr(error.text, cases[i].says) ||
                    strcmp(error.file, scratch("made.nii")) != 0)
                    fail_msg("%s: %s: %s", cases[i].what, lob_status_text(st), error.text);
                assert_null(v.data);
                assert_null(v.header.bytes);
            }
}

TEST(bad_starts)
{
    static const struct {
        const char *what, *bytes;
        size_t n;
        const char *says;
    } cases[] = {
        {"nothing",               "",                               0,  "not NIfTI"              },
        {"three bytes",           "abc",                            3,  "not NIfTI"              },
        {"text",                  "hello, world, this is no image", 30, "not NIfTI"              },
        {"the text form",         "<nifti_image",                   12, "text form"              },
        {"four bytes of NIfTI-1", "\x5c\x01\0\0",                   4,  "cut short in its header"},
        {"four bytes of NIfTI-2", "\0\0\x02\x1c",                   4,  "cut short in its header"},
        {"gzip and nothing else", "\x1f\x8b",                       2,  "not NIfTI"              },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *path = scratch("made.nii");
        spill(path, cases[i].bytes, cases[i].n);
        lob_volume v;
        lob_error error = {.text = ""};
        const lob_status st = lob_read(&v, path, NULL, NULL, &error);
        if (st != LOB_EDATA || !strstr(error.text, cases[i].says))
            fail_msg("%s: %s: %s", cases[i].what, lob_status_text(st), error.text);
    }

    static image_file file;
    lob_volume v;
    lob_error error = {.text = ""};
    const char *path = scratch("made.nii");
    made m = make(1, false, 4, 5, 4, 3, 1, 1);
    made_file(&file, &m);
    memset(file.bytes + 344, 0, 4);
    put_file(path, &file, false);
    assert_refused(path, NULL, LOB_EDATA, "ANALYZE");

    m = make(2, false, 4, 5, 4, 3, 1, 1);
    made_file(&file, &m);
    file.bytes[8] = '\n'; /* "\r\n" became "\n" */
    put_file(path, &file, false);
    assert_refused(path, NULL, LOB_EDATA, "text mode");

    m = make(1, false, 4, 5, 4, 3, 1, 1);
    m.pair = true;
    put_made(path, &m, false);
    assert_refused(path, NULL, LOB_EDATA, ".img");
    put_made(scratch("alone.hdr"), &m, false);
    assert_refused(scratch("alone.hdr"), NULL, LOB_ENOINPUT, "alone.img");
    put_file(scratch("lone.img"), &(image_file){{0}, 100}, false);
    assert_refused(scratch("lone.img"), NULL, LOB_ENOINPUT, "lone.hdr");
    assert_int_equal(lob_read(&v, scratch("none.nii"), NULL, NULL, &error), LOB_ENOINPUT);
}

TEST(odd_extensions)
{
    static const struct {
        const char *what;
        int32_t says; /* esize in the file */
        const char *warning;
    } cases[] = {
        {"a sound one",           32,        NULL                      },
        {"no multiple of 16",     20,        "multiple of 16"          },
        {"longer than the space", 48,        "claims 48 bytes where 32"},
        {"shorter than itself",   4,         "claims 4 bytes"          },
        {"negative",              -16,       "claims -16 bytes"        },
        {"huge",                  INT32_MAX, "claims 2147483647 bytes" },
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int swapped = 0; swapped < 2; swapped++) {
            made m = make(1, swapped, 4, 5, 4, 3, 1, 1);
            made_extend(&m, 32, 44);
            memcpy(m.extensions + 4, &cases[i].says, 4);
            if (cases[i].says == 20) memset(m.extensions + 24, 0, 12);
            lob_volume v;
            lob_file_info info;
            assert_ok(read_made(&v, &m, &info, NULL));
            assert_int_equal(v.header.extensions_size, 36);
            const char *line = info.warnings ? info.warning[0] : NULL;
            if (cases[i].warning ? !line || !strstr(line, cases[i].warning) : line != NULL)
                fail_msg("%s: warning %s", cases[i].what, line ? line : "missing");
            lob_volume_free(&v);
        }
}

TEST(a_file_cut_anywhere_is_refused)
{
    static image_file file;
    for (int version = 1; version <= 2; version++)
        for (int gz = 0; gz < 2; gz++) {
            made m = make(version, true, 4, 5, 4, 3, 1, 1);
            made_extend(&m, 16, 6);
            made_extend(&m, 32, 4);
            made_file(&file, &m);
            const char *path = scratch("cut.nii");
            put_file(path, &file, gz);
            size_t n = 0;
            unsigned char *bytes = slurp(path, &n);
            for (size_t cut = 0; cut < n; cut++) {
                lob_volume v;
                lob_error error = {.text = ""};
                spill(path, bytes, cut);
                const lob_status st = lob_read(&v, path, NULL, NULL, &error);
                if (st != LOB_EDATA || strcmp(error.file, path) != 0)
                    fail_msg("cut after %zu of %zu bytes: %s: %s", cut, n, lob_status_text(st),
                             error.text);
                const lob_read_options header = {.frame = -1, .header_only = true};
                lob_read(&v, path, &header, NULL, NULL); /* either answer, but no crash */
                lob_volume_free(&v);
            }
            free(bytes);
        }
}

TEST(bombs_and_limits)
{
    static image_file file;
    for (int gz = 0; gz < 2; gz++) { /* 54 TB declared by a few hundred bytes */
        made m = make(1, false, 4, 5, 4, 3, 1, 1);
        for (int i = 1; i <= 3; i++) lob_nifti_put_int(m.header, LOB_NIFTI_dim, i, 30000);
        put_made(scratch("bomb.nii"), &m, gz);
        assert_refused(scratch("bomb.nii"), NULL, LOB_EDATA, gz ? "compressed" : "cut short");
    }
    made m = make(1, false, 4, 5, 4, 3, 1, 1);
    made_file(&file, &m);
    for (int gz = 0; gz < 2; gz++) {
        put_file(scratch("a.nii"), &file, gz);
        lob_read_options o = {.frame = -1, .max_memory = 119};
        assert_int_equal(assert_refused(scratch("a.nii"), &o, LOB_ENOMEM, ""),
                         LOB_HINT_RAISE_MEMORY);
        o.max_memory = 120;
        lob_volume v = read_volume(scratch("a.nii"), &o, NULL);
        lob_volume_free(&v);
    }
    made vast = make(2, false, 4, 5, 4, 3, 1, 1); /* extensions of 1 GiB in a sparse file */
    vast.extensions[0] = 1;
    lob_nifti_put_int(vast.header, LOB_NIFTI_vox_offset, 0, 1 << 30);
    put_made(scratch("vast.nii"), &vast, false);
    assert_int_equal(truncate(scratch("vast.nii"), ((off_t)1 << 30) + 120), 0);
    assert_refused(scratch("vast.nii"), NULL, LOB_EDATA, "64 MiB");
}

TEST(what_follows_is_a_warning)
{
    static image_file file;
    for (int gz = 0; gz < 2; gz++) {
        made m = make(1, false, 4, 5, 4, 3, 1, 1);
        made_file(&file, &m);
        memset(file.bytes + file.size, 'x', 7);
        file.size += 7;
        put_file(scratch("more.nii"), &file, gz);
        lob_file_info info;
        lob_volume v = read_volume(scratch("more.nii"), NULL, &info);
        assert_int_equal(info.warnings, 1);
        assert_non_null(strstr(info.warning[0], "7 bytes after the voxels"));
        lob_volume_free(&v);
    }
}
