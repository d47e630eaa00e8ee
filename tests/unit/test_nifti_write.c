/* Writing NIfTI: what a converted scan and a label volume keep of their input, and new headers. */
#include "io/io.h"
#include "io/nifti/nifti.h"
#include "io/passing.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/io_scratch.h"
#include "tests/unit/nifti_made.h"
#include "tests/unit/volume_of.h"
#include "volumes/version.h"

#include <unistd.h>

static const lob_write_options plain = {.threads = 1, .level = 6, .force = true};

static lob_volume read_file(const char *path)
{
    return read_volume(path, NULL, NULL);
}

static const int codes[] = {2, 4, 8, 16, 64, 128, 256, 512, 768, 1024, 1280, 2304};

/* A file in host order with round extensions is rebuilt to the last byte. */
TEST(a_converted_file_is_the_same_file)
{
    static image_file file;
    for (size_t c = 0; c < COUNT(codes); c++)
        for (int version = 1; version <= 2; version++)
            for (int extended = 0; extended < 2; extended++)
                for (int kind = 0; kind < 3;
                     kind++) { /* one frame, a 4th dimension of 1, channels */
                    if (kind == 2 && lob_nifti_type_of(codes[c])->channels > 1) continue;
                    made m = make(version, false, codes[c], 5, 7, 3, 1, kind == 2 ? 3 : 1);
                    if (kind == 1) lob_nifti_put_int(m.header, LOB_NIFTI_dim, 0, 4);
                    if (extended) made_extend(&m, 48, 6);
                    if (extended) made_extend(&m, 16, 4);
                    lob_nifti_put_int(m.header, LOB_NIFTI_glmax, 0, 99);
                    lob_nifti_put_text(m.header, LOB_NIFTI_db_name, "kept");
                    made_file(&file, &m);
                    put_file(scratch("in.nii"), &file, false);
                    lob_volume v = read_file(scratch("in.nii"));
                    write_volume(&v, scratch("out.nii"), &plain);
                    size_t n = 0;
                    unsigned char *bytes = slurp(scratch("out.nii"), &n);
                    assert_int_equal(n, file.size);
                    for (size_t i = 0; i < n; i++)
                        if (bytes[i] != file.bytes[i])
                            fail_msg("datatype %d, NIfTI-%d: byte %zu is %d, was %d", codes[c],
                                     version, i, bytes[i], file.bytes[i]);
                    free(bytes);
                    lob_volume_free(&v);
                }
}

/* Every container holds the same voxels and header, and names the other half. */
TEST(containers)
{
    static const struct {
        const char *write, *read;
        int files;
    } cases[] = {
        {"a.nii",    "a.nii",    1},
        {"a.nii.gz", "a.nii.gz", 1},
        {"a.hdr",    "a.img",    2},
        {"a.img",    "a.hdr",    2},
        {"a.hdr.gz", "a.img.gz", 2},
        {"a.img.gz", "a.hdr.gz", 2},
        {"A.NII.GZ", "A.NII.GZ", 1},
    };
    for (int version = 1; version <= 2; version++) {
        made m = make(version, true, 4, 5, 7, 3, 1, 1);
        made_extend(&m, 32, 6);
        put_made(scratch("in.nii"), &m, false);
        lob_volume v = read_file(scratch("in.nii"));
        unlink(scratch("in.nii"));
        lob_write_options unforced = plain;
        unforced.force = false;
        for (size_t i = 0; i < COUNT(cases); i++) {
            lob_error error = {.text = ""};
            write_volume(&v, scratch(cases[i].write), &plain);
            assert_int_equal(scratch_files(), cases[i].files);
            lob_volume back = read_file(scratch(cases[i].read));
            assert_memory_equal(back.data, v.data, 210);
            assert_memory_equal(back.header.extensions, v.header.extensions, 36);

            /* both halves are kept without force */
            assert_int_equal(lob_check_output(scratch(cases[i].read), false, &error), LOB_EEXIST);
            assert_int_equal(lob_write(&v, scratch(cases[i].write), &unforced, &error), LOB_EEXIST);
            unlink(scratch(cases[i].write));
            if (cases[i].files == 2) {
                assert_int_equal(lob_check_output(scratch(cases[i].write), false, &error),
                                 LOB_EEXIST);
                assert_int_equal(lob_write(&v, scratch(cases[i].write), &unforced, &error),
                                 LOB_EEXIST);
                assert_int_equal(scratch_files(), 1);
            }
            scratch_clear(NULL);
            lob_volume_free(&back);
        }
        lob_volume_free(&v);
    }
}

TEST(gz_bytes_do_not_depend_on_threads)
{
    lob_volume v = zeros(LOB_U8, (lob_dims){200, 150, 40}, 1);
    for (int i = 0; i < 200 * 150 * 40; i++)
        ((uint8_t *)v.data)[i] = (uint8_t)(i / 977 % 5 + i % 2);
    unsigned char *first = NULL;
    size_t first_size = 0;
    for (int threads = 1; threads <= 3; threads++) {
        lob_write_options o = plain;
        o.threads = threads;
        write_volume(&v, scratch("t.nii.gz"), &o);
        size_t n;
        unsigned char *bytes = slurp(scratch("t.nii.gz"), &n);
        if (!first) {
            first = bytes;
            first_size = n;
            continue;
        }
        assert_int_equal(n, first_size);
        assert_memory_equal(bytes, first, n);
        free(bytes);
    }
    free(first);
    lob_volume_free(&v);
}

/* ---- labels ---- */

static bool may_change(lob_nifti_field field)
{
#define LISTED(name, why) LOB_NIFTI_##name,
    static const lob_nifti_field listed[] = {LOB_NIFTI_LABEL_FIELDS(LISTED)};
#undef LISTED
    for (size_t i = 0; i < COUNT(listed); i++)
        if (listed[i] == field) return true;
    return false;
}

TEST(labels_change_listed_fields_only)
{
    for (int version = 1; version <= 2; version++)
        for (int swapped = 0; swapped < 2; swapped++)
            for (int kind = 0; kind < 3; kind++) { /* a scan, one of 4 frames, colours */
                made m = make(version, swapped, kind == 2 ? 128 : 4, 5, 7, 3, kind == 1 ? 4 : 1, 1);
                lob_nifti_put_real(m.header, LOB_NIFTI_scl_slope, 0, 2);
                lob_nifti_put_real(m.header, LOB_NIFTI_scl_inter, 0, -1024);
                lob_nifti_put_int(m.header, LOB_NIFTI_intent_code, 0, 3);
                lob_nifti_put_real(m.header, LOB_NIFTI_intent_p1, 0, 9);
                made_extend(&m, 48, 2);
                made_extend(&m, 32, 44);
                put_made(scratch("scan.nii"), &m, false);
                const lob_read_options o = {.frame = kind == 1 ? 2 : -1};
                lob_volume scan = read_volume(scratch("scan.nii"), &o, NULL), labels;
                assert_ok(lob_volume_like(&labels, &scan, LOB_I16, 1));
                ((int16_t *)labels.data)[50] = 300;
                lob_write_options w = plain;
                w.labels = true;
                write_volume(&labels, scratch("labels.nii.gz"), &w);

                lob_volume back = read_file(scratch("labels.nii.gz"));
                const unsigned char *h = back.header.bytes;
                assert_int_equal(back.header.size, scan.header.size);
                for (int f = 0; f < LOB_NIFTI_FIELDS; f++) {
                    const lob_nifti_place at = lob_nifti_place_of((lob_nifti_field)f, version);
                    if (!may_change((lob_nifti_field)f) &&
                        memcmp(h + at.offset, m.header + at.offset, at.bytes) != 0)
                        fail_msg("%s has changed", at.name);
                }
                assert_int_equal(lob_nifti_int(h, LOB_NIFTI_dim, 0), 3);
                assert_int_equal(lob_nifti_int(h, LOB_NIFTI_dim, 4), 1);
                assert_int_equal(lob_nifti_int(h, LOB_NIFTI_datatype, 0), 4);
                assert_true(lob_nifti_real(h, LOB_NIFTI_scl_slope, 0) == 1);
                assert_true(lob_nifti_real(h, LOB_NIFTI_scl_inter, 0) == 0);
                assert_true(lob_nifti_real(h, LOB_NIFTI_cal_max, 0) == 300);
                assert_true(lob_nifti_real(h, LOB_NIFTI_intent_p1, 0) == 0);
                assert_int_equal(lob_nifti_int(h, LOB_NIFTI_intent_code, 0), 1002);
                const lob_nifti_place text = lob_nifti_place_of(LOB_NIFTI_descrip, version);
                assert_string_equal((const char *)h + text.offset, "lobule " LOB_VERSION);
                assert_int_equal(back.header.extensions_size, m.extension_bytes);
                assert_memory_equal(back.header.extensions, m.extensions, m.extension_bytes);
                assert_memory_equal(back.data, labels.data, 210);

                w.strip_extensions = true;
                write_volume(&labels, scratch("bare.nii"), &w);
                lob_volume bare = read_file(scratch("bare.nii"));
                assert_int_equal(bare.header.extensions_size, 4);
                assert_int_equal(bare.header.extensions[0], 0);
                lob_volume_free(&bare);
                lob_volume_free(&back);
                lob_volume_free(&labels);
                lob_volume_free(&scan);
            }
}

TEST(labels_are_whole_and_of_one_channel)
{
    const lob_dims dims = {3, 3, 3};
    lob_volume real = zeros(LOB_F32, dims, 1), colour = zeros(LOB_U8, dims, 3);
    lob_write_options w = plain;
    w.labels = true;
    const char *path = scratch("refused.nii");
    assert_int_equal(lob_write(&real, path, &w, NULL), LOB_EDATA);
    assert_int_equal(lob_write(&colour, path, &w, NULL), LOB_EDATA);
    lob_volume_free(&real);
    lob_volume_free(&colour);
    assert_int_equal(access(path, F_OK), -1);
}

/* ---- other outputs ---- */

TEST(odd_extensions_survive)
{
    made m = make(1, false, 4, 5, 4, 3, 1, 1);
    made_extend(&m, 20, 6); /* no multiple of 16: padded in the output */
    put_made(scratch("odd.nii"), &m, false);
    lob_volume v = read_file(scratch("odd.nii"));
    write_volume(&v, scratch("odd.nii"), &plain);
    lob_volume back = read_file(scratch("odd.nii"));
    assert_memory_equal(back.header.extensions, m.extensions, m.extension_bytes);
    assert_int_equal(lob_nifti_int(back.header.bytes, LOB_NIFTI_vox_offset, 0), 352 + 32);
    assert_memory_equal(back.data, v.data, 120);
    lob_volume_free(&back);
    lob_volume_free(&v);
}

TEST(fields_follow_what_changed)
{
    made m = make(1, false, 4, 5, 4, 3, 1, 3);
    lob_nifti_put_int(m.header, LOB_NIFTI_intent_code, 0, 1006);
    lob_nifti_put_real(m.header, LOB_NIFTI_scl_slope, 0, 2);
    put_made(scratch("v.nii"), &m, false);
    lob_volume v = read_file(scratch("v.nii")), one, back;
    assert_ok(lob_volume_like(&one, &v, LOB_F32, 1));
    write_volume(&one, scratch("one.nii"), &plain);
    back = read_file(scratch("one.nii"));
    const unsigned char *h = back.header.bytes;
    assert_int_equal(lob_nifti_int(h, LOB_NIFTI_dim, 0), 3);
    assert_int_equal(lob_nifti_int(h, LOB_NIFTI_datatype, 0), 16);
    assert_int_equal(lob_nifti_int(h, LOB_NIFTI_bitpix, 0), 32);
    assert_int_equal(lob_nifti_int(h, LOB_NIFTI_intent_code, 0), 0);
    assert_true(lob_nifti_real(h, LOB_NIFTI_cal_max, 0) == 0);
    assert_true(lob_nifti_real(h, LOB_NIFTI_scl_slope, 0) == 1);
    assert_true(lob_nifti_real(h, LOB_NIFTI_toffset, 0) == 0.125);
    lob_volume_free(&back);

    one.dims.nz = 2; /* another grid: the volume's own geometry counts */
    one.geometry = lob_geometry_of_spacing((const double[3]){4, 5, 6});
    write_volume(&one, scratch("cut.nii"), &plain);
    back = read_file(scratch("cut.nii"));
    assert_true(back.geometry.spacing_mm[2] == 6);
    assert_int_equal(lob_nifti_int(back.header.bytes, LOB_NIFTI_sform_code, 0), 1);
    lob_volume_free(&back);

    one.dims.nz = v.dims.nz; /* as many voxels elsewhere are another grid too */
    one.geometry = v.geometry;
    one.geometry.affine[1][3] += 10;
    write_volume(&one, scratch("moved.nii"), &plain);
    back = read_file(scratch("moved.nii"));
    assert_true(fabs(back.geometry.affine[1][3] - one.geometry.affine[1][3]) < 1e-4);
    lob_volume_free(&back);
    lob_volume_free(&one);
    lob_volume_free(&v);
}

TEST(a_new_header_tells_the_geometry)
{
    const double affine[3][4] = {
        {0,    -0.5, 0,  10 },
        {0.25, 0,    0,  -20},
        {0,    0,    -3, 30 }
    };
    static const struct {
        lob_type type;
        int channels, datatype, rank;
    } cases[] = {
        {LOB_U8,  1, 2,    3},
        {LOB_I16, 1, 4,    3},
        {LOB_F64, 1, 64,   3},
        {LOB_U8,  3, 128,  3},
        {LOB_U8,  4, 2304, 3},
        {LOB_F32, 3, 16,   5},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lob_volume like = lob_volume_empty(), v;
        like.dims = (lob_dims){4, 3, 2};
        assert_true(lob_geometry_of_affine(&like.geometry, affine));
        assert_ok(lob_volume_like(&v, &like, cases[i].type, cases[i].channels));
        memset(v.data, 1, 24 * lob_type_of(v.type)->bytes);
        v.slope = cases[i].channels == 1 ? 2 : 1;
        write_volume(&v, scratch("new.nii"), &plain);
        lob_volume back = read_file(scratch("new.nii"));
        const unsigned char *h = back.header.bytes;
        assert_int_equal(back.header.size, LOB_NIFTI1_BYTES);
        assert_int_equal(back.type, v.type);
        assert_int_equal(back.channels, v.channels);
        assert_true(back.slope == v.slope);
        assert_int_equal(lob_nifti_int(h, LOB_NIFTI_datatype, 0), cases[i].datatype);
        assert_int_equal(lob_nifti_int(h, LOB_NIFTI_dim, 0), cases[i].rank);
        assert_int_equal(lob_nifti_int(h, LOB_NIFTI_sform_code, 0), 1);
        assert_memory_equal(back.data, v.data,
                            24 * lob_type_of(v.type)->bytes * (size_t)v.channels);
        assert_memory_equal(back.geometry.affine, affine, sizeof affine);

        /* the qform says the same */
        v.header.format = lob_nifti_name;
        v.header.size = back.header.size;
        v.header.bytes = malloc(back.header.size);
        memcpy(v.header.bytes, h, back.header.size);
        lob_nifti_put_int(v.header.bytes, LOB_NIFTI_sform_code, 0, 0);
        lob_volume_free(&back);
        write_volume(&v, scratch("q.nii"), &plain);
        back = read_file(scratch("q.nii"));
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 4; c++)
                assert_true(fabs(back.geometry.affine[r][c] - affine[r][c]) < 1e-5);
        lob_volume_free(&back);
        lob_volume_free(&v);
    }
}

TEST(long_sides_need_nifti_2)
{
    lob_volume v = zeros(LOB_U8, (lob_dims){40000, 2, 1}, 1);
    ((uint8_t *)v.data)[79999] = 7;
    write_volume(&v, scratch("long.nii"), &plain);
    lob_volume back = read_file(scratch("long.nii"));
    assert_int_equal(back.header.size, LOB_NIFTI2_BYTES);
    assert_int_equal(back.dims.nx, 40000);
    assert_memory_equal(back.data, v.data, 80000);
    lob_volume_free(&back);

    made m = make(1, false, 2, 5, 4, 3, 1, 1); /* a carried NIfTI-1 header is widened */
    put_made(scratch("v.nii"), &m, false);
    lob_volume carrier = read_file(scratch("v.nii"));
    v.header = carrier.header;
    write_volume(&v, scratch("long.nii"), &plain);
    back = read_file(scratch("long.nii"));
    assert_int_equal(back.header.size, LOB_NIFTI2_BYTES);
    assert_string_equal((const char *)back.header.bytes + 240, "made for a test");
    assert_true(lob_nifti_real(back.header.bytes, LOB_NIFTI_toffset, 0) == 0.125);
    assert_int_equal(lob_nifti_int(back.header.bytes, LOB_NIFTI_dim_info, 0), 57);
    lob_volume_free(&back);
    v.header = (lob_header){0};
    lob_volume_free(&carrier);
    lob_volume_free(&v);
}

/* ---- names and listing ---- */

TEST(names)
{
    lob_error error = {.text = ""};
    assert_true(lob_is_volume_name("a.nii"));
    assert_true(lob_is_volume_name("folder.d/A.NII.GZ"));
    assert_true(lob_is_volume_name("a.h5:/label"));
    assert_false(lob_is_volume_name("a.gz"));
    assert_false(lob_is_volume_name(".nii"));
    assert_false(lob_is_volume_name("folder/.nii"));
    assert_false(lob_is_volume_name("a.txt"));
    assert_int_equal(lob_check_output(scratch("a.txt"), false, &error), LOB_EARG);
    assert_non_null(strstr(error.text, ".nii.gz"));
    assert_int_equal(lob_check_output(scratch("none/a.nii"), false, &error), LOB_ECREATE);
    assert_ok(lob_check_output(scratch("a.nii"), false, &error));
}

typedef struct {
    char text[8192];
    int count;
} listing;

static void list_field(void *user, const char *name, const char *value)
{
    listing *l = user;
    const size_t used = strlen(l->text);
    snprintf(l->text + used, sizeof l->text - used, "%s=%s\n", name, value);
    l->count++;
}

TEST(fields_are_listed_in_order)
{
    for (int version = 1; version <= 2; version++) {
        made m = make(version, true, 4, 5, 7, 3, 1, 1);
        made_extend(&m, 32, 44);
        made_extend(&m, 16, 6);
        lob_nifti_put_text(m.header, LOB_NIFTI_descrip, "a\nb");
        lob_nifti_put_real(m.header, LOB_NIFTI_cal_max, 0, 0.1f);
        put_made(scratch("l.nii"), &m, false);
        lob_volume v = read_file(scratch("l.nii"));
        listing l = {"", 0};
        lob_header_fields(&v, list_field, &l);
        static const char *const want[] = {
            "\nsform_code=4\n", "\ndim=3 5 7 3 1 1 1 1\n", "\ndescrip=a?b\n", "\ncal_max=0.1000000",
            "ext1_code=44\next1_size=32\next2_code=6\next2_size=16\n"};
        for (size_t i = 0; i < COUNT(want); i++)
            if (!strstr(l.text, want[i]))
                fail_msg("NIfTI-%d: no %s in %s", version, want[i], l.text);
        assert_int_equal(strncmp(l.text, "sizeof_hdr=", 11), 0);
        assert_int_equal(l.count, (version == 1 ? 43 : 37) + 4);
        lob_volume_free(&v);
    }
}

static void assert_same_file(const char *what, const lob_volume *a, const lob_volume *b)
{
    assert_same_volume(what, a, b);
    if (a->frames != b->frames || a->frame != b->frame) fail_msg("%s: other frames", what);
    if (a->header.size != b->header.size ||
        memcmp(a->header.bytes, b->header.bytes, a->header.size) != 0)
        fail_msg("%s: another header", what);
    if (a->header.extensions_size != b->header.extensions_size ||
        memcmp(a->header.extensions, b->header.extensions, a->header.extensions_size) != 0)
        fail_msg("%s: other extensions", what);
}

/* A volume that is passed on is the one that would be read from a file. */
TEST(passed_on)
{
    for (size_t c = 0; c < COUNT(codes); c++)
        for (int way = 0; way < 16; way++) {
            const int version = 1 + way % 2;
            const bool labels = way & 2, strip = way & 4, no_header = way & 8;
            char what[80];
            snprintf(what, sizeof what, "datatype %d, way %d", codes[c], way);
            made m = make(version, c % 2 == 1, codes[c], 5, 4, 3, 1, 1);
            if (way & 1) made_extend(&m, 32, 6);
            put_made(scratch("in.nii"), &m, false);
            lob_volume v = read_file(scratch("in.nii")), passed;
            lob_error error = {.text = ""};
            lob_write_options options = plain;
            options.labels = labels && v.channels == 1 && lob_type_of(v.type)->is_integer;
            options.strip_extensions = strip;
            if (no_header) v.header.format = NULL;
            write_volume(&v, scratch("out.nii"), &options);
            lob_volume again = read_file(scratch("out.nii"));
            const void *const voxels = v.data;
            if (lob_pass(&passed, &v, "v", &options, &error) != LOB_OK)
                fail_msg("%s: %s", what, error.text);
            assert_ptr_equal(passed.data, voxels);
            assert_null(v.data);
            assert_same_file(what, &passed, &again);
            lob_volume_free(&v);
            lob_volume_free(&again);
            lob_volume_free(&passed);
            scratch_clear(NULL);
        }
}

TEST(not_passed_on)
{
    lob_error error = {.text = ""};
    lob_write_options options = plain;
    lob_volume passed, v = lob_volume_empty();
    assert_int_equal(lob_pass(&passed, &v, "v", &options, &error), LOB_EARG);
    made m = make(1, false, 16, 5, 4, 3, 1, 1);
    put_made(scratch("in.nii"), &m, false);
    v = read_file(scratch("in.nii"));
    options.labels = true; /* of real values */
    assert_int_equal(lob_pass(&passed, &v, "v", &options, &error), LOB_EDATA);
    assert_non_null(v.data);
    assert_null(passed.data);
    lob_volume_free(&v);
    scratch_clear(NULL);
}
