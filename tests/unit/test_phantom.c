/* Phantoms: the same bytes always, every label there, seeds inside their regions, what is refused.
 */
#include "kernels/phantom/phantom.h"

#include "kernels/phantom/phantom_random.h"
#include "tests/reference/put_number.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/progress_listener.h"
#include "volumes/labels.h"

enum { ANY = -1 };

static const struct {
    const char *what;
    lob_phantom_kind kind;
    lob_dims dims;
    double spacing_mm[3];
    lob_type type;
    int cells;
    bool variant; /* of the abdomen strokes that are drawn, of cells bright nuclei */
    uint64_t random_seed;
    int labels;    /* that must occur in truth; ANY: not said */
    uint64_t hash; /* of image, truth and seeds */
} cases[] = {
    ROW("a small abdomen", LOB_PHANTOM_ABDOMEN, {48, 40, 32}, {7.5, 6.5, 7}, LOB_I16, 1, false, 1,
        8, 0xca2fc800eb5ea01e),
    ROW("another patient, 8 bits", LOB_PHANTOM_ABDOMEN, {61, 53, 29}, {6, 5, 7}, LOB_U8, 1, false,
        2, 8, 0x2d260d1ef13ee4ad),
    ROW("one slice", LOB_PHANTOM_ABDOMEN, {101, 83, 1}, {3.5, 3.5, 5}, LOB_U16, 1, false, 3, 8,
        0x0e8bbc1dcda5dedf),
    ROW("drawn strokes", LOB_PHANTOM_ABDOMEN, {61, 53, 29}, {6, 5, 7}, LOB_I16, 1, true, 1, 8,
        0x3f040a374d962dbc),
    ROW("drawn strokes of one slice", LOB_PHANTOM_ABDOMEN, {101, 83, 1}, {3.5, 3.5, 5}, LOB_U16, 1,
        true, 3, 8, 0xfe0268a67a41af35),
    ROW("one voxel", LOB_PHANTOM_ABDOMEN, {1, 1, 1}, {1, 1, 1}, LOB_I16, 1, false, 1, 1,
        0xc295337e9438badc),
    ROW("a column", LOB_PHANTOM_ABDOMEN, {1, 1, 37}, {1, 1, 1}, LOB_I16, 1, false, 1, ANY,
        0xe345920ef8bfad66),
    ROW("membranes", LOB_PHANTOM_CELLS, {64, 53, 31}, {1, 1, 1}, LOB_U8, 20, false, 1, 21,
        0x3b96d40b007e2221),
    ROW("nuclei, 16 bits", LOB_PHANTOM_CELLS, {64, 53, 31}, {1, 1, 2}, LOB_U16, 20, true, 5, 21,
        0xf7a013663dea2f7b),
    ROW("flat cells", LOB_PHANTOM_CELLS, {97, 89, 1}, {1, 1, 1}, LOB_U8, 40, false, 1, 41,
        0x742aa5bc82d0ce58),
    ROW("more cells than bytes count", LOB_PHANTOM_CELLS, {211, 199, 1}, {1, 1, 1}, LOB_U8, 300,
        false, 1, 301, 0x8549512da58f62ba),
    ROW("one cell", LOB_PHANTOM_CELLS, {16, 16, 16}, {1, 1, 1}, LOB_U8, 1, false, 1, 2,
        0xf9979f11667d5589),
};

typedef struct {
    lob_volume image, truth, seeds;
} scan;

static lob_phantom_options options_of(size_t c)
{
    lob_phantom_options o = lob_phantom_defaults(cases[c].kind);
    o.dims = cases[c].dims;
    memcpy(o.spacing_mm, cases[c].spacing_mm, sizeof o.spacing_mm);
    o.type = cases[c].type;
    o.cells = cases[c].cells;
    o.nuclei = cases[c].variant;
    o.drawn = cases[c].variant && o.kind == LOB_PHANTOM_ABDOMEN;
    o.random_seed = cases[c].random_seed;
    o.stroke_gap = 16;
    return o;
}

static void make(scan *s, size_t c, int threads)
{
    const lob_phantom_options o = options_of(c);
    lob_error error = {.text = ""};
    if (lob_phantom(&s->image, &s->truth, &s->seeds, &o, THREADS(threads), &error) != LOB_OK)
        fail_msg("%s: %s", cases[c].what, error.text);
}

static void drop(scan *s)
{
    lob_volume_free(&s->image);
    lob_volume_free(&s->truth);
    lob_volume_free(&s->seeds);
}

/* FNV-1a over the voxels, the low byte of each first whatever the machine. */
static uint64_t hash_volume(uint64_t h, const lob_volume *v)
{
    const size_t bytes = lob_type_of(v->type)->bytes;
    for (int64_t i = 0; i < lob_voxels(v); i++) {
        const uint64_t value = (uint64_t)number_at(v, i);
        for (size_t b = 0; b < bytes; b++) h = (h ^ (value >> (8 * b) & 0xff)) * 0x100000001b3u;
    }
    return h;
}

static uint64_t hash_scan(const scan *s)
{
    return hash_volume(hash_volume(hash_volume(0xcbf29ce484222325u, &s->image), &s->truth),
                       &s->seeds);
}

TEST(same_bytes_for_ever)
{
    for (size_t c = 0; c < COUNT(cases); c++) {
        scan s;
        make(&s, c, 1);
        const uint64_t hash = hash_scan(&s);
        drop(&s);
        if (hash != cases[c].hash)
            fail_msg("%s: the bytes are not those that they have always been: 0x%016llx",
                     cases[c].what, (unsigned long long)hash);
        for (int threads = 2; threads <= 5; threads++) {
            make(&s, c, threads);
            if (hash_scan(&s) != hash)
                fail_msg("%s: other with %d threads", cases[c].what, threads);
            drop(&s);
        }
    }
}

TEST(labels_are_there_and_seeds_lie_in_them)
{
    for (size_t c = 0; c < COUNT(cases); c++) {
        scan s;
        make(&s, c, 2);
        const int64_t n = lob_voxels(&s.truth);
        assert_int_equal(s.truth.type, s.seeds.type);
        assert_int_equal(s.image.type, cases[c].type);
        for (int64_t i = 0; i < n; i++) {
            const double truth = number_at(&s.truth, i), seed = number_at(&s.seeds, i);
            if (truth < 1) fail_msg("%s: voxel %d has no label", cases[c].what, (int)i);
            if (seed != 0 && seed != truth)
                fail_msg("%s: the seed at voxel %d is wrong", cases[c].what, (int)i);
        }
        lob_label_set truth = {0}, seeds = {0};
        assert_ok(lob_labels_dense(&s.truth, &truth, "truth", NULL));
        assert_ok(lob_labels_dense(&s.seeds, &seeds, "seeds", NULL));
        if (cases[c].labels != ANY && truth.count != cases[c].labels)
            fail_msg("%s: %d labels", cases[c].what, (int)truth.count);
        assert_int_equal(seeds.count, truth.count); /* each label has a seed */
        int64_t seeded = 0;
        for (int32_t l = 0; l < truth.count; l++) {
            assert_int_equal(seeds.values[l], truth.values[l]);
            seeded += seeds.voxels[l];
        }
        if (n > 1000) assert_true(seeded * 3 < n); /* and there is work left to do */
        lob_label_set_free(&truth);
        lob_label_set_free(&seeds);
        drop(&s);
    }
}

TEST(outputs_are_independent)
{
    scan all;
    make(&all, 1, 2);
    const lob_phantom_options o = options_of(1);
    lob_volume alone;
    lob_volume *const whole[3] = {&all.image, &all.truth, &all.seeds};
    for (int i = 0; i < 3; i++) {
        assert_ok(lob_phantom(i == 0 ? &alone : NULL, i == 1 ? &alone : NULL,
                              i == 2 ? &alone : NULL, &o, THREADS(2), NULL));
        assert_true(hash_volume(0, &alone) == hash_volume(0, whole[i]));
        lob_volume_free(&alone);
    }
    drop(&all);
}

TEST(liver_has_its_share)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        lob_phantom_options o = lob_phantom_defaults(LOB_PHANTOM_ABDOMEN);
        o.dims = (lob_dims){72, 52, 42};
        memcpy(o.spacing_mm, (double[]){5, 5, 5}, sizeof o.spacing_mm);
        o.noise = 0;
        o.random_seed = seed;
        lob_volume image, truth;
        assert_ok(lob_phantom(&image, &truth, NULL, &o, THREADS(2), NULL));
        int64_t body = 0, liver = 0;
        for (int64_t i = 0; i < lob_voxels(&image); i++) {
            const uint8_t label = ((const uint8_t *)truth.data)[i];
            body += ((const int16_t *)image.data)[i] > 60; /* lungs count, air does not */
            liver += label == LOB_ABDOMEN_LIVER || label == LOB_ABDOMEN_TUMOUR;
        }
        const double share = (double)liver / (double)body;
        if (!(share > 0.13 && share < 0.25)) fail_msg("%.3f of the body is liver", share);
        lob_volume_free(&image);
        lob_volume_free(&truth);
    }
}

TEST(noise_is_normal)
{
    const int n = 200000;
    double sum = 0, squares = 0;
    int beyond = 0;
    for (int i = 0; i < n; i++) {
        const double v = random_normal(12345, (uint64_t)i);
        sum += v;
        squares += v * v;
        beyond += v > 1.959964 || v < -1.959964;
    }
    assert_true(fabs(sum / n) < 0.01);
    assert_true(fabs(squares / n - 1.0) < 0.01);
    assert_true(abs(beyond - n / 20) < n / 200);
}

TEST(refuses)
{
    const struct {
        const char *what;
        lob_phantom_options o;
    } bad[] = {
        {"no such kind",                       {.kind = LOB_PHANTOMS}                    },
        {"an empty axis",                      {.dims = {4, 0, 4}}                       },
        {"more voxels than there are numbers", {.dims = {1 << 30, 1 << 30, 1 << 30}}     },
        {"no spacing",                         {.spacing_mm = {1, 0, 1}}                 },
        {"endless spacing",                    {.spacing_mm = {1, INFINITY, 1}}          },
        {"negative noise",                     {.noise = -1}                             },
        {"noise that is no number",            {.noise = NAN}                            },
        {"too much bias",                      {.bias = 2}                               },
        {"a real voxel type",                  {.type = LOB_F32}                         },
        {"no cells",                           {.cells = -1}                             },
        {"more cells than fit",                {.kind = LOB_PHANTOM_CELLS, .cells = 1000}},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        lob_phantom_options o = bad[i].o;
        if (o.dims.nx == 0) o.dims = (lob_dims){16, 16, 16};
        if (o.spacing_mm[0] == 0) memcpy(o.spacing_mm, (double[]){1, 1, 1}, sizeof o.spacing_mm);
        if (o.cells == 0) o.cells = 1;
        const lob_context context = {.threads = 1};
        lob_error error = {.text = ""};
        lob_volume image, truth;
        const lob_status st = lob_phantom(&image, &truth, NULL, &o, &context, &error);
        if (st != LOB_EARG || !error.text[0] || image.data || truth.data)
            fail_msg("%s: %s", bad[i].what, lob_status_text(st));
    }
    const lob_phantom_options o = options_of(0);
    progress_log stop = {.stop_at = 0};
    const lob_context context = {.threads = 2, .progress = listen, .user = &stop};
    lob_volume image;
    assert_int_equal(lob_phantom(&image, NULL, NULL, &o, &context, NULL), LOB_ECANCEL);
    assert_null(image.data);
}
