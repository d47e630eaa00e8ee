/* Volumes read and written by planes: the voxels of lob_read, the bytes of lob_write, its refusals.
 */
#include "io/passing.h"
#include "tests/reference/put_number.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/io_scratch.h"
#include "tests/unit/nifti_made.h"
#include "volumes/bytes.h"

#include <sys/statvfs.h>

/* What is free on any disk; 0: that is not known. */
static uint64_t free_bytes;

int disk_of(int fd, struct statvfs *disk) __asm__("fstatvfs"); /* in place of the system's */
int disk_of(int fd, struct statvfs *disk)
{
    *disk = (struct statvfs){.f_frsize = free_bytes > 0, .f_bavail = free_bytes};
    return 0;
}

static int64_t plane_bytes(const lob_volume *v)
{
    return v->dims.nx * v->dims.ny * (int64_t)lob_type_of(v->type)->bytes;
}

/* Planes z .. z + n - 1 are those of the whole volume. */
static void expect_planes(const char *what, lob_planes *planes, const lob_volume *whole, int64_t z,
                          int64_t n)
{
    const int64_t plane = plane_bytes(whole);
    const size_t bytes = (size_t)(n * plane);
    unsigned char *got = malloc((size_t)whole->channels * bytes);
    lob_error error = {.text = ""};
    if (lob_planes_get(planes, got, z, n, &error) != LOB_OK) fail_msg("%s: %s", what, error.text);
    for (int c = 0; c < whole->channels; c++)
        if (memcmp(got + (size_t)c * bytes,
                   (unsigned char *)whole->data + (c * whole->dims.nz + z) * plane, bytes) != 0)
            fail_msg("%s: planes %d to %d of channel %d differ", what, (int)z, (int)(z + n - 1), c);
    free(got);
}

/* A box, whose memory is 0 before, is that of the whole volume. */
static void expect_box(const char *what, lob_planes *planes, const lob_volume *whole, lob_box box)
{
    const lob_dims d = lob_box_dims(&box);
    const size_t voxel = lob_type_of(whole->type)->bytes, row = (size_t)d.nx * voxel;
    const int64_t rows = d.ny * d.nz * whole->channels;
    unsigned char *got = calloc((size_t)rows, row);
    lob_error error = {.text = ""};
    if (lob_planes_get_box(planes, got, &box, &error) != LOB_OK)
        fail_msg("%s: %s", what, error.text);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t y = box.first[1] + r % d.ny, z = box.first[2] + r / d.ny % d.nz;
        const int64_t plane = r / d.ny / d.nz * whole->dims.nz + z;
        const int64_t at = (plane * whole->dims.ny + y) * whole->dims.nx + box.first[0];
        if (memcmp(got + (size_t)r * row, (unsigned char *)whole->data + (size_t)at * voxel, row) !=
            0)
            fail_msg("%s: row %d of a box differs", what, (int)r);
    }
    free(got);
    box.size[1] = whole->dims.ny + 1 - box.first[1];
    assert_int_equal(lob_planes_get_box(planes, NULL, &box, &error), LOB_EARG);
}

/* The whole as a box, what is left when each side loses a voxel, and a corner. */
static void expect_boxes(const char *what, lob_planes *planes, const lob_volume *whole)
{
    lob_box all = lob_box_whole(whole->dims), inner = all, stored;
    lob_box corner = {
        .size = {1, 1, 1}
    };
    for (int a = 0; a < 3; a++) {
        inner.first[a] = all.size[a] > 2;
        inner.size[a] -= 2 * inner.first[a];
        corner.first[a] = all.size[a] - 1;
    }
    expect_box(what, planes, whole, all);
    expect_box(what, planes, whole, inner);
    expect_box(what, planes, whole, corner);
    assert_ok(lob_planes_stored(planes, &stored, NULL));
    assert_memory_equal(&stored, &all, sizeof all);
}

/* In pieces of every thickness, twice, and out of order. */
static void expect_read(const char *what, const char *path, int64_t frame)
{
    lob_volume whole, v;
    lob_planes *planes;
    lob_error error = {.text = ""};
    lob_file_info info, whole_info;
    lob_read_options options = lob_read_defaults();
    options.frame = frame;
    options.threads = 2;
    whole = read_volume(path, &options, &whole_info);
    if (lob_planes_open(&planes, &v, path, &options, &info, &error) != LOB_OK)
        fail_msg("%s: %s", what, error.text);
    assert_null(v.data);
    const int64_t nz = whole.dims.nz;
    for (int64_t n = 1; n <= nz; n++)
        for (int64_t z = 0; z < nz; z += n)
            expect_planes(what, planes, &whole, z, z + n <= nz ? n : nz - z);
    expect_planes(what, planes, &whole, nz - 1, 1);
    expect_planes(what, planes, &whole, 0, 1);
    expect_planes(what, planes, &whole, nz / 2, 1);
    expect_boxes(what, planes, &whole);
    unsigned char none;
    assert_int_equal(lob_planes_get(planes, &none, nz, 1, &error), LOB_EARG);
    assert_int_equal(lob_planes_get(planes, &none, 0, nz + 1, &error), LOB_EARG);
    assert_int_equal(lob_planes_get(planes, &none, -1, 1, &error), LOB_EARG);
    lob_planes_close(planes);

    if (lob_planes_of(&planes, &whole, 0, what, &error) != LOB_OK)
        fail_msg("%s: %s", what, error.text);
    for (int64_t z = nz - 1; z >= 0; z--) expect_planes(what, planes, &whole, z, 1);
    expect_planes(what, planes, &whole, 0, nz);
    expect_boxes(what, planes, &whole);
    assert_int_equal(lob_planes_get(planes, &none, nz, 1, &error), LOB_EARG);
    lob_planes_close(planes);

    assert_int_equal(info.file_bytes, whole_info.file_bytes);
    assert_string_equal(info.format, whole_info.format);
    assert_int_equal(info.warnings, whole_info.warnings);
    for (int i = 0; i < info.warnings; i++)
        assert_string_equal(info.warning[i], whole_info.warning[i]);
    /* The description is the same too, down to the header. */
    assert_int_equal(v.header.size, whole.header.size);
    assert_memory_equal(v.header.bytes, whole.header.bytes, v.header.size);
    assert_int_equal(v.frames, whole.frames);
    assert_int_equal(v.frame, whole.frame);
    v.data = whole.data;
    assert_same_volume(what, &v, &whole);
    v.data = NULL;
    lob_volume_free(&v);
    lob_volume_free(&whole);
}

TEST(nifti_of_every_type)
{
    static const int codes[] = {2, 4, 8, 16, 64, 128, 256, 512, 768, 1024, 1280, 1536, 2304};
    for (size_t c = 0; c < COUNT(codes); c++)
        for (int kind = 0; kind < 12; kind++) { /* version, byte order, one or more of the rest */
            const bool colours = lob_nifti_type_of(codes[c])->channels > 1;
            const int frames = kind / 4 == 1 ? 3 : 1, vectors = kind / 4 == 2 && !colours ? 2 : 1;
            char what[64];
            snprintf(what, sizeof what, "datatype %d, kind %d", codes[c], kind);
            made m = make(1 + kind % 2, kind / 2 % 2, codes[c], 3, 2, 5, frames, vectors);
            put_made(scratch("in.nii"), &m, false);
            put_made(scratch("in.nii.gz"), &m, true);
            for (int64_t frame = 0; frame < frames; frame++) {
                expect_read(what, scratch("in.nii"), frame);
                expect_read(what, scratch("in.nii.gz"), frame);
            }
        }
}

TEST(many_components_of_a_gzip_file)
{
    made m = make(1, false, 2, 3, 2, 2, 1, 100);
    put_made(scratch("in.nii.gz"), &m, true);
    expect_read("100 components", scratch("in.nii.gz"), 0);
}

/* All frames are no volume of planes; a file that has one is read. */
TEST(all_frames_are_one_too_many)
{
    static const char *const files[] = {"t.nii", "t.nii.gz", "t.nrrd", "t.h5"};
    const lob_read_options all = {.frame = LOB_FRAME_ALL, .threads = 1};
    for (size_t i = 0; i < 2 * COUNT(files); i++) {
        const char *const path = scratch(files[i / 2]);
        const bool several = i % 2;
        lob_volume v = noise_volume(LOB_I16, (lob_dims){5, 4, 3}, several ? 2 : 1), out;
        lob_planes *planes;
        lob_error error = {.text = ""};
        const lob_write_options over = {.force = true, .threads = 1};
        v.frames = several ? 2 : 1;
        v.frame = several ? LOB_FRAME_ALL : 0;
        write_volume(&v, path, &over);
        assert_int_equal(lob_planes_open(&planes, &out, path, &all, NULL, &error),
                         several ? LOB_EDATA : LOB_OK);
        if (several)
            assert_int_equal(error.hint, LOB_HINT_CHOOSE_FRAME);
        else
            expect_boxes(files[i / 2], planes, &v);
        lob_planes_close(planes);
        lob_volume_free(&out);
        lob_volume_free(&v);
    }
}

/* More than is mixed, or taken apart, at a time. */
TEST(colours_of_many_pieces)
{
    static const char *const files[] = {"c.nii", "c.nii.gz", "c.nrrd"};
    lob_volume v = noise_volume(LOB_U8, (lob_dims){1291, 1009, 9}, 3);
    const lob_write_options options = {.threads = 2, .level = 1};
    const lob_read_options by_two = {.threads = 2};
    for (size_t i = 0; i < COUNT(files); i++) {
        write_volume(&v, scratch(files[i]), &options);
        lob_volume back = read_volume(scratch(files[i]), &by_two, NULL);
        assert_int_equal(back.channels, v.channels);
        assert_memory_equal(back.data, v.data, (size_t)lob_volume_bytes(&v));
        lob_volume_free(&back);
    }
    lob_volume_free(&v);
}

static const char *const names[] = {"a.nii", "a.nii.gz", "a.hdr", "a.img.gz", "a.h5"};

/* Whole volumes are tried, since a disk may compress what it holds; planes are work that waits. */
TEST(a_disk_that_is_nearly_full)
{
    lob_volume v = noise_volume(LOB_U8, (lob_dims){11, 7, 5}, 1);
    for (size_t i = 0; i < COUNT(names); i++) {
        const bool fits = strcmp(names[i], "a.nii.gz") == 0 || strcmp(names[i], "a.img.gz") == 0;
        const lob_write_options options = {.force = true, .threads = 1, .level = 1};
        lob_plane_writer *writer;
        lob_error error = {.text = ""};
        free_bytes = 100;
        write_volume(&v, scratch(names[i]), &options);
        const int files = scratch_files();
        const lob_status st =
            lob_plane_writer_begin(&writer, &v, 9, scratch(names[i]), &options, &error);
        free_bytes = 0;
        assert_int_equal(st, fits ? LOB_OK : LOB_EIO);
        if (!fits) assert_non_null(strstr(error.text, "on the disk"));
        lob_plane_writer_abort(writer);
        assert_int_equal(scratch_files(), files);
    }
    lob_volume_free(&v);
}

TEST(every_format)
{
    for (size_t i = 0; i < COUNT(names); i++)
        for (int channels = 1; channels <= 3; channels += 2) {
            lob_volume v =
                noise_volume(channels == 1 ? LOB_F32 : LOB_U8, (lob_dims){37, 21, 70}, channels);
            const lob_write_options options = {.force = true, .threads = 2, .level = 1};
            write_volume(&v, scratch(names[i]), &options);
            expect_read(names[i], scratch(names[i]), -1);
            lob_volume_free(&v);
        }
    lob_volume v = noise_volume(LOB_U16, (lob_dims){9, 7, 1}, 3);
    write_volume(&v, scratch("a.png"), NULL);
    expect_read("a.png", scratch("a.png"), -1);
    lob_volume_free(&v);
}

/* Labels, and channels one after the other, of several blocks of gzip, put in pieces of different
 * thickness; some planes are 0, and need not be there. */
TEST(the_bytes_of_lob_write)
{
    static const struct {
        lob_type type;
        int channels;
    } kinds[] = {
        {LOB_U8,  1},
        {LOB_I16, 1},
        {LOB_I32, 1},
        {LOB_U8,  2},
    };
    for (size_t i = 0; i < COUNT(names); i++)
        for (size_t t = 0; t < COUNT(kinds); t++) {
            const int channels = kinds[t].channels;
            lob_volume v = noise_volume(kinds[t].type, (lob_dims){131, 127, 67}, channels);
            const int64_t blank = 9, blanks = 22; /* the first one, and how many */
            int64_t largest = 0;
            memset((unsigned char *)v.data + blank * plane_bytes(&v), 0,
                   (size_t)(blanks * plane_bytes(&v)));
            for (int64_t k = 0; k < lob_voxels(&v); k++) {
                const double value = number_at(&v, k);
                largest = value > (double)largest ? (int64_t)value : largest;
            }
            lob_write_options options = {
                .force = true, .labels = channels == 1, .threads = 3, .level = 6};
            lob_error error = {.text = ""};
            write_volume(&v, scratch(names[i]), &options);
            size_t want_bytes, got_bytes;
            unsigned char *want = slurp(scratch(names[i]), &want_bytes);
            const int files = scratch_files();

            lob_volume empty = v;
            empty.data = NULL;
            lob_plane_writer *writer;
            options.threads = 1 + (int)t;
            lob_status st = lob_plane_writer_begin(&writer, &empty, largest, scratch(names[i]),
                                                   &options, &error);
            const int64_t planes = v.dims.nz * channels;
            for (int64_t z = 0, n = 1; st == LOB_OK && z < planes; z += n, n = n * 2) {
                if (n > planes - z) n = planes - z;
                const bool is_blank = z >= blank && z + n <= blank + blanks;
                unsigned char *const put = (unsigned char *)v.data + z * plane_bytes(&v);
                st = lob_plane_writer_put(writer, is_blank ? NULL : put, n, &error);
            }
            if (st == LOB_OK) st = lob_plane_writer_commit(writer, &error);
            if (st != LOB_OK) fail_msg("%s: %s", names[i], error.text);
            unsigned char *got = slurp(scratch(names[i]), &got_bytes);
            assert_int_equal(got_bytes, want_bytes);
            assert_memory_equal(got, want, want_bytes);
            assert_int_equal(scratch_files(), files);
            free(got);
            free(want);
            lob_volume_free(&v);
        }
}

static int stop_at_once(void *user)
{
    (void)user;
    return 1;
}

TEST(what_a_box_takes_and_that_looking_for_it_can_be_stopped)
{
    static const lob_box_reading want[] = {LOB_BOX_ALONE,     LOB_BOX_OF_PLANES, LOB_BOX_OF_PLANES,
                                           LOB_BOX_ALONE,     LOB_BOX_OF_ALL,    LOB_BOX_OF_ALL,
                                           LOB_BOX_OF_PLANES, LOB_BOX_OF_PLANES};
    static const char *const of[] = {"b.nii",  "b.nii.gz", "b.h5",  "b.ome.zarr",
                                     "b.nrrd", "b.tif",    "c.hdr", "d.img.gz"};
    lob_volume v = noise_volume(LOB_U8, (lob_dims){9, 8, 7}, 1), out;
    const lob_read_options options = {.threads = 1, .stop = stop_at_once};
    for (size_t i = 0; i < COUNT(of); i++) {
        lob_planes *planes;
        lob_box box;
        write_volume(&v, scratch(of[i]), NULL);
        assert_int_equal(lob_box_reading_of(scratch(of[i])), want[i]);
        assert_ok(lob_planes_open(&planes, &out, scratch(of[i]), &options, NULL, NULL));
        assert_int_equal(lob_planes_stored(planes, &box, NULL),
                         strstr(of[i], "zarr") ? LOB_ECANCEL : LOB_OK);
        lob_planes_close(planes);
        lob_volume_free(&out);
    }
    assert_int_equal(lob_box_reading_of(scratch("none.nii")), LOB_BOX_OF_ALL);
    lob_volume_free(&v);
}

TEST(half_a_volume_leaves_nothing)
{
    for (size_t i = 0; i < COUNT(names); i++)
        for (int commit = 0; commit < 2; commit++) {
            lob_volume v = noise_volume(LOB_U8, (lob_dims){11, 7, 5}, 1);
            lob_plane_writer *writer;
            lob_error error = {.text = ""};
            const int files = scratch_files();
            assert_ok(lob_plane_writer_begin(&writer, &v, 9, scratch(names[i]), NULL, &error));
            assert_ok(lob_plane_writer_put(writer, v.data, 3, &error));
            assert_int_equal(lob_plane_writer_put(writer, v.data, 3, &error), LOB_EINTERNAL);
            if (commit)
                assert_int_equal(lob_plane_writer_commit(writer, &error), LOB_EINTERNAL);
            else
                lob_plane_writer_abort(writer);
            assert_int_equal(scratch_files(), files);
            lob_volume_free(&v);
        }
    lob_plane_writer_abort(NULL);
    lob_planes_close(NULL);
}

/* What lob_read refuses is refused, at the latest with the last plane, by the same line. */
TEST(what_is_refused)
{
    lob_volume v = noise_volume(LOB_U16, (lob_dims){31, 29, 17}, 1);
    write_volume(&v, scratch("good.nii.gz"), NULL);
    write_volume(&v, scratch("good.nii"), NULL);
    write_volume(&v, scratch("good.h5"), NULL);
    static const char *const sources[] = {"good.nii.gz", "good.nii", "good.h5"};
    unsigned char *out = malloc((size_t)(v.dims.nz * plane_bytes(&v)));
    for (size_t i = 0; i < COUNT(sources); i++) {
        size_t n;
        unsigned char *bytes = slurp(scratch(sources[i]), &n);
        for (int kind = 0; kind < 40; kind++) { /* cut short, or one byte changed */
            const size_t at = (size_t)(kind / 2) * n / 20;
            const unsigned char before = bytes[at];
            if (kind % 2) bytes[at] ^= 0x55;
            spill(scratch("bad"), bytes, kind % 2 ? n : at);
            bytes[at] = before;

            lob_volume whole, by_planes;
            lob_planes *planes;
            lob_error want = {.text = ""}, got = {.text = ""};
            const lob_status st = lob_read(&whole, scratch("bad"), NULL, NULL, &want);
            lob_status same =
                lob_planes_open(&planes, &by_planes, scratch("bad"), NULL, NULL, &got);
            for (int64_t z = 0; same == LOB_OK && z < by_planes.dims.nz; z++)
                same = lob_planes_get(planes, out, z, 1, &got);
            if (same != st || strcmp(want.text, got.text) != 0)
                fail_msg("%s, kind %d: '%s' and '%s'", sources[i], kind, want.text, got.text);
            lob_planes_close(planes);
            lob_volume_free(&by_planes);
            lob_volume_free(&whole);
        }
        free(bytes);
    }
    free(out);
    lob_volume_free(&v);
}

/* Planes that are gathered in memory are the volume; those that are missing are an error. */
TEST(gathered)
{
    made m = make(1, false, 4, 5, 4, 7, 1, 1);
    put_made(scratch("in.nii"), &m, false);
    lob_volume v = read_volume(scratch("in.nii"), NULL, NULL);
    for (int64_t n = 1; n <= 8; n++) {
        lob_plane_writer *writer;
        lob_error error = {.text = ""};
        void *data;
        const bool whole = n < 8; /* else the last plane is left out */
        if (lob_plane_writer_gather(&writer, &data, &v, "v", &error) != LOB_OK)
            fail_msg("%s", error.text);
        for (int64_t z = 0; z < (whole ? 7 : 6); z += n) {
            const int64_t some = z + n <= 7 ? n : whole ? 7 - z : 6 - z;
            assert_int_equal(
                lob_plane_writer_put(writer, (char *)v.data + z * plane_bytes(&v), some, &error),
                LOB_OK);
        }
        assert_int_equal(lob_plane_writer_commit(writer, &error), whole ? LOB_OK : LOB_EINTERNAL);
        if (whole) assert_memory_equal(data, v.data, 7 * plane_bytes(&v));
        free(data);
    }
    lob_volume_free(&v);
}
