/* NIfTI with every allocation failing in turn: an error that says so, nothing lost, nothing left.
 */
#include "io/io.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/io_scratch.h"
#include "tests/unit/nifti_made.h"

#include <unistd.h>

/* A scan of four frames and two vectors in every container, and colours. */
static void put_scans(void)
{
    static image_file file;
    made m = make(1, true, 4, 5, 4, 3, 4, 2);
    made_extend(&m, 32, 6);
    put_made(scratch("a.nii"), &m, false);
    put_made(scratch("a.nii.gz"), &m, true);
    m = make(2, false, 4, 5, 4, 3, 4, 2);
    m.pair = true;
    made_finish(&m);
    made_header_file(&file, &m);
    spill(scratch("b.hdr"), file.bytes, file.size);
    file.size = 0;
    made_voxels(&file, &m);
    spill_gz(scratch("b.img.gz"), file.bytes, file.size);
    m = make(1, false, 128, 5, 4, 3, 4, 1);
    put_made(scratch("c.nii"), &m, false);
    m = make(1, true, 1536, 5, 4, 3, 4, 1);
    put_made(scratch("d.nii"), &m, false);
}

typedef struct {
    const char *name;
    int64_t max_memory;
} reading;

static lob_status read_once(void *user)
{
    const reading *r = user;
    const lob_read_options options = {.frame = 2, .max_memory = r->max_memory};
    lob_volume v;
    lob_error error = {.text = ""};
    const lob_status st = lob_read(&v, scratch(r->name), &options, NULL, &error);
    if (st != LOB_OK) {
        assert_null(v.data);
        assert_null(v.header.bytes);
        assert_true(error.text[0] != '\0');
    }
    lob_volume_free(&v);
    return st;
}

TEST(reading_survives)
{
    reading cases[] = {
        {"a.nii",    0  },
        {"a.nii.gz", 0  },
        {"a.nii.gz", 300}, /* one frame at a time */
        {"b.hdr",    0  },
        {"b.img.gz", 0  },
        {"c.nii",    0  },
        {"d.nii",    0  },
    };
    put_scans();
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_true(alloc_fail_sweep(cases[i].name, read_once, &cases[i]) > 2);
}

/* A float128 is narrowed piece by piece: never is more held than the result and a piece. */
TEST(wide_numbers_take_little_more_than_their_result)
{
    enum { SIDE = 128, DEPTH = 32, VOXELS = SIDE * SIDE * DEPTH };
    made m = make(1, false, 1536, 1, 1, 1, 1, 1);
    const int16_t sides[] = {SIDE, SIDE, DEPTH};
    unsigned char last[16];
    image_file file;
    memcpy(m.header + 42, sides, sizeof sides);
    made_finish(&m);
    made_header_file(&file, &m);
    const size_t bytes = file.size + (size_t)VOXELS * sizeof last;
    unsigned char *const whole = calloc(1, bytes);
    memcpy(whole, file.bytes, file.size);
    made_extended(last, -2.5);
    memcpy(whole + bytes - sizeof last, last, sizeof last);
    spill(scratch("wide.nii"), whole, bytes);
    free(whole);

    lob_volume v;
    alloc_fail_at(0);
    const int64_t before = alloc_fail_bytes();
    alloc_fail_peak_begin();
    v = read_volume(scratch("wide.nii"), NULL, NULL);
    assert_true(alloc_fail_peak() - before < VOXELS * 8 + (2 << 20));
    assert_true(((double *)v.data)[VOXELS - 1] == -2.5);
    assert_true(((double *)v.data)[VOXELS - 2] == 0);
    lob_volume_free(&v);
}

typedef struct {
    const char *name;
    const lob_volume *volume;
    int files;
} writing;

static lob_status write_once(void *user)
{
    const writing *w = user;
    lob_write_options options = lob_write_defaults();
    options.labels = w->volume->channels == 1;
    options.threads = 2;
    lob_error error = {.text = ""};
    const int before = scratch_files();
    const lob_status st = lob_write(w->volume, scratch(w->name), &options, &error);
    assert_int_equal(scratch_files(), before + (st == LOB_OK ? w->files : 0));
    if (st != LOB_OK) {
        if (!strstr(error.file, "out.")) fail_msg("%s: no file: %s", w->name, error.text);
        return st;
    }
    unlink(scratch(w->name));
    if (w->files == 2) unlink(scratch("out.img"));
    return st;
}

TEST(writing_survives)
{
    put_scans();
    lob_volume scan, labels, colours;
    const lob_read_options options = {.frame = 0};
    assert_ok(lob_read(&scan, scratch("a.nii"), &options, NULL, NULL));
    assert_ok(lob_volume_like(&labels, &scan, LOB_U8, 1));
    assert_ok(lob_read(&colours, scratch("c.nii"), &options, NULL, NULL));
    writing cases[] = {
        {"out.nii",    &labels,  1},
        {"out.nii.gz", &labels,  1},
        {"out.hdr",    &labels,  2},
        {"out.nii",    &colours, 1},
        {"out.nii.gz", &colours, 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_true(alloc_fail_sweep(cases[i].name, write_once, &cases[i]) > 2);
    lob_volume_free(&colours);
    lob_volume_free(&labels);
    lob_volume_free(&scan);
}
