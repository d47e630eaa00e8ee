/* HDF5 written and read back: voxels, channels, place in the world, the same bytes, full disks. */
#include "io/io.h"

#include "tests/reference/put_number.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/io_scratch.h"

#include <omp.h>
#include <signal.h>
#include <sys/resource.h>

static void write_or_fail(const lob_volume *v, const char *path, int threads)
{
    lob_write_options options = lob_write_defaults();
    options.force = true;
    options.threads = threads;
    write_volume(v, path, &options);
}

static lob_volume read_or_fail(const char *path, int threads)
{
    lob_read_options options = lob_read_defaults();
    lob_file_info info = {0};
    options.threads = threads;
    const lob_volume v = read_volume(path, &options, &info);
    assert_string_equal(info.format, "HDF5");
    assert_int_equal(info.warnings, 0);
    return v;
}

static const struct {
    const char *what;
    lob_dims dims;
    int channels;
} shapes[] = {
    {"one voxel",                   {1, 1, 1},    1 },
    {"prime sides",                 {5, 7, 11},   1 },
    {"a slice",                     {13, 17, 1},  1 },
    {"a row along z",               {1, 1, 131},  1 },
    {"sides just beyond a chunk",   {65, 66, 67}, 1 },
    {"colour",                      {5, 7, 11},   3 },
    {"two channels beyond a chunk", {67, 3, 70},  2 },
    {"many channels",               {3, 2, 5},    37},
};

TEST(every_type_and_shape_comes_back)
{
    for (int type = 0; type < LOB_TYPES; type++)
        for (size_t i = 0; i < COUNT(shapes); i++) {
            char what[128];
            snprintf(what, sizeof what, "%s of %s", shapes[i].what, lob_type_of(type)->name);
            lob_volume v = noise_volume(type, shapes[i].dims, shapes[i].channels);
            for (int threads = 1; threads <= 3; threads += 2) {
                write_or_fail(&v, scratch("a.h5"), threads);
                lob_volume back = read_or_fail(scratch("a.h5"), threads);
                assert_same_volume(what, &v, &back);
                lob_volume_free(&back);
            }
            lob_volume_free(&v);
        }
}

TEST(bytes_do_not_depend_on_threads_or_time)
{
    lob_volume v = noise_volume(LOB_U16, (lob_dims){130, 70, 90}, 2);
    size_t first_size, size;
    write_or_fail(&v, scratch("b.h5"), 1);
    unsigned char *first = slurp(scratch("b.h5"), &first_size);
    for (int threads = 1; threads <= 5; threads++) {
        write_or_fail(&v, scratch("b.hdf5"), threads);
        unsigned char *bytes = slurp(scratch("b.hdf5"), &size);
        assert_int_equal(size, first_size);
        assert_memory_equal(bytes, first, size);
        free(bytes);
    }
    free(first);
    lob_volume_free(&v);
}

TEST(a_scaled_volume_becomes_its_values)
{
    static const struct {
        lob_type stored, written;
    } rows[] = {
        {LOB_U8,  LOB_F32},
        {LOB_I16, LOB_F32},
        {LOB_I32, LOB_F64},
        {LOB_F64, LOB_F64}
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        lob_volume v = noise_volume(rows[i].stored, (lob_dims){5, 7, 11}, 2);
        v.slope = 0.5;
        v.inter = -3.0;
        write_or_fail(&v, scratch("s.h5"), 2);
        lob_volume back = read_or_fail(scratch("s.h5"), 2);
        assert_int_equal(back.type, rows[i].written);
        assert_true(back.slope == 1.0 && back.inter == 0.0);
        for (int64_t k = 0; k < lob_voxels(&v) * 2; k++) {
            const double is = number_at(&back, k);
            double want = 0.5 * number_at(&v, k) - 3.0;
            if (back.type == LOB_F32) want = (float)want;
            assert_memory_equal(&is, &want, isnan(want) ? 0 : sizeof is);
        }
        lob_volume_free(&back);
        lob_volume_free(&v);
    }
}

TEST(header_only_reads_no_voxels)
{
    lob_volume v = noise_volume(LOB_I16, (lob_dims){5, 7, 11}, 2);
    lob_read_options options = lob_read_defaults();
    options.header_only = true;
    options.max_memory = 1;
    write_or_fail(&v, scratch("h.h5"), 1);
    lob_volume back = read_volume(scratch("h.h5"), &options, NULL);
    assert_null(back.data);
    assert_int_equal(back.dims.nz, 11);
    assert_int_equal(back.channels, 2);
    lob_volume_free(&back);
    lob_volume_free(&v);
}

TEST(memory_is_asked_for_first)
{
    lob_volume v = noise_volume(LOB_I16, (lob_dims){5, 7, 11}, 1);
    lob_read_options options = lob_read_defaults();
    write_or_fail(&v, scratch("m.h5"), 1);
    options.max_memory = 5 * 7 * 11 * 2 - 1;
    assert_refused(scratch("m.h5"), &options, LOB_ENOMEM, "m.h5");
    options.max_memory++;
    lob_volume back = read_volume(scratch("m.h5"), &options, NULL);
    lob_volume_free(&back);
    lob_volume_free(&v);
}

/* A limit on the size of files stands for a full disk: it strikes at any write. */
TEST(a_full_disk_leaves_the_old_file)
{
    lob_volume v = noise_volume(LOB_U8, (lob_dims){100, 100, 20}, 1);
    lob_error error = {.text = ""};
    lob_write_options options = lob_write_defaults();
    options.force = true;
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    spill(scratch("full.h5"), "old", 3);
    const int files = scratch_files();
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t max = 0; max <= 150000; max += 30000) {
        limit = before;
        limit.rlim_cur = max;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        const lob_status st = lob_write(&v, scratch("full.h5"), &options, &error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(st, LOB_EIO);
        assert_non_null(strstr(error.text, "File too large"));
        assert_int_equal(scratch_files(), files);
        size_t size;
        unsigned char *bytes = slurp(scratch("full.h5"), &size);
        assert_int_equal(size, 3);
        free(bytes);
    }
    signal(SIGXFSZ, SIG_DFL);
    options.force = false;
    assert_int_equal(lob_write(&v, scratch("full.h5"), &options, &error), LOB_EEXIST);
    lob_volume_free(&v);
}

/* Several helpers are at work at once. */
TEST(many_threads_read_and_write_at_once)
{
    lob_volume v = noise_volume(LOB_U16, (lob_dims){65, 30, 70}, 1);
    int bad = 0;
#pragma omp parallel for num_threads(4) schedule(dynamic, 1) reduction(+ : bad)
    for (int i = 0; i < 24; i++) {
        char path[512], name[32];
        lob_volume back = lob_volume_empty();
        lob_write_options write = lob_write_defaults();
        lob_read_options read = lob_read_defaults();
        write.threads = read.threads = 2;
        write.force = true;
        snprintf(name, sizeof name, "p%d.h5", i);
#pragma omp critical
        snprintf(path, sizeof path, "%s", scratch(name));
        bad += lob_write(&v, path, &write, NULL) != LOB_OK;
        bad += lob_read(&back, path, &read, NULL, NULL) != LOB_OK;
        bad += !back.data || memcmp(back.data, v.data, (size_t)lob_voxels(&v) * 2) != 0;
        lob_volume_free(&back);
    }
    assert_int_equal(bad, 0);
    lob_volume_free(&v);
}
