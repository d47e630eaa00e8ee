/* Choosing a backend; on the CPU, and on a GPU where there is one. */
#include "kernels/arrays.h"
#include "kernels/backends.h"
#include "kernels/device/device_memory.h"
#include "tests/unit/cmocka_test.h"

TEST(the_cpu_is_always_there)
{
    const lob_backend *backend;
    lob_context context;
    assert_ok(lob_backend_open(&backend, &context, "cpu", NULL));
    assert_ptr_equal(backend, lob_backends[0]);
    assert_ptr_equal(backend, lob_backend_named("cpu"));
    assert_null(lob_backend_named("opencl"));
    assert_null(context.device);
    assert_true(context.threads >= 1 && context.max_memory == 0 && !context.progress);
    lob_backend_close(&context);
}

TEST(a_name_of_none_is_refused)
{
    const lob_backend *backend;
    lob_context context;
    lob_error error = {.text = ""};
    assert_int_equal(lob_backend_open(&backend, &context, "opencl", &error), LOB_EDEVICE);
    assert_string_equal(error.text, "no backend is named opencl");
    assert_int_equal(error.hint, LOB_HINT_USE_CPU);
    assert_null(backend);
    lob_backend_close(&context);
}

/* With a GPU the best one is that, and has a device; without one it is the CPU, without a word. */
TEST(the_best_one_works)
{
    const lob_backend *backend;
    lob_context context;
    lob_error error = {.text = ""};
    assert_ok(lob_backend_open(&backend, &context, "best", &error));
    assert_string_equal(error.text, "");
    assert_string_equal(backend->name, context.device ? "cuda" : "cpu");
    lob_backend_close(&context);
    assert_null(context.device);
    lob_backend_close(&context);
}

TEST(a_block_has_what_is_free_within_its_share)
{
    static const struct {
        const char *what;
        int64_t limit, free_bytes, all, held, want;
    } cases[] = {
        {"without others all that is free, and what it holds", INT64_MAX, 30, 12, 5, 35},
        {"its part, though more is free",                      15,        30, 0,  0, 15},
        {"other blocks are of its part too",                   15,        30, 12, 5, 8 },
        {"no more than is free",                               15,        3,  4,  4, 7 },
        {"nothing is left but what it holds",                  15,        -9, 12, 5, 5 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const int64_t got =
            lob_device_block_room(cases[i].limit, cases[i].free_bytes, cases[i].all, cases[i].held);
        if (got != cases[i].want) fail_msg("%s: got %lld", cases[i].what, (long long)got);
    }
}

/* Two that share a GPU have half each of what was free, and say so. */
TEST(those_who_share_a_gpu_have_a_part_each)
{
    lob_device *two[2] = {NULL, NULL};
    if (lob_device_open(&two[0], "cuda:0", NULL) != LOB_OK) {
        print_message("there is no GPU: skipped\n");
        skip();
    }
    assert_ok(lob_device_open(&two[1], "cuda:0", NULL));
    const int64_t all = lob_device_free_bytes(two[0]);
    for (int i = 0; i < 2; i++) {
        lob_device_share(two[i], 2);
        assert_true(lob_device_free_bytes(two[i]) <= all / 2);
        assert_true(lob_device_free_bytes(two[i]) > all / 4);
    }
    for (int i = 0; i < 2; i++) lob_device_close(two[i]);
}

/* An array of the caller's, a copy of it where the best backend computes, and a copy of that. */
TEST(volumes_go_where_a_context_computes)
{
    static const double spacing_mm[3] = {1, 2, 3};
    int16_t voxels[2 * 3 * 5 * 7];
    const lob_backend *backend;
    lob_context context;
    lob_volume there, back;
    for (int i = 0; i < (int)COUNT(voxels); i++) voxels[i] = (int16_t)(i * 91 - 3000);
    lob_volume v = lob_volume_wrap(voxels, LOB_I16, (lob_dims){3, 5, 7}, 2, spacing_mm,
                                   (lob_place){LOB_PLACE_MEMORY, 0});
    assert_true(v.geometry.affine[1][1] == 2 && v.geometry.spacing_mm[2] == 3 && v.slope == 1);
    v.slope = 0.5;
    assert_ok(lob_backend_open(&backend, &context, "best", NULL));
    const lob_place place = lob_context_place(&context);
    assert_int_equal(place.kind, context.device ? LOB_PLACE_CUDA : LOB_PLACE_MEMORY);
    assert_ok(lob_volume_move(&there, &v, place, &context, NULL));
    assert_true(lob_place_same(there.place, place) && there.data != voxels);
    assert_ok(lob_volume_move(&back, &there, v.place, &context, NULL));
    assert_memory_equal(back.data, voxels, sizeof voxels);
    assert_true(back.slope == 0.5 && back.channels == 2 && back.dims.ny == 5);
    lob_volume_free(&there);
    lob_volume_free(&back);
    assert_ok(lob_volume_at(&there, &v, LOB_F64, 1, &context, NULL));
    assert_true(there.data && lob_place_same(there.place, place) && there.type == LOB_F64);
    lob_volume_free(&there);
    lob_volume_free(&v); /* leaves the array alone */
    assert_null(v.data);
    assert_int_equal(voxels[1], 91 - 3000);
    lob_backend_close(&context);
}

/* The CPU reads no array of a GPU, and no GPU that is not opened gets a volume. */
TEST(arrays_elsewhere_are_refused)
{
    static const double spacing_mm[3] = {1, 1, 1};
    const lob_place gpu = {LOB_PLACE_CUDA, 5};
    const lob_context context = {.threads = 1};
    const lob_distance_output out = {NULL, NULL};
    const lob_distance_input in = {
        .type = LOB_U8, .dims = {1, 1, 1},
             .spacing = {1, 1, 1},
             .place = gpu
    };
    const lob_distance_options options = lob_distance_defaults();
    const lob_volume v = lob_volume_wrap(NULL, LOB_U8, (lob_dims){1, 1, 1}, 1, spacing_mm, gpu);
    lob_error error = {.text = ""};
    lob_volume here;
    assert_int_equal(lob_backends[0]->distance(&out, &in, &options, &context, &error), LOB_EARG);
    assert_string_equal(error.text, "an array on a GPU was given to the CPU");
    assert_int_equal(lob_volume_move(&here, &v, (lob_place){0}, &context, &error), LOB_EDEVICE);
    assert_null(here.data);
}

TEST(what_is_not_there_is_refused)
{
    static const char *const choices[] = {"", "gpu", "cpu:0", "cud", "cuda:", "cuda:x", "cuda:999"};
    for (size_t i = 0; i < COUNT(choices); i++) {
        const lob_backend *backend = lob_backends[0];
        lob_context context;
        lob_error error = {.text = ""};
        if (lob_backend_open(&backend, &context, choices[i], &error) != LOB_EDEVICE)
            fail_msg("'%s' is no device", choices[i]);
        assert_null(backend);
        assert_string_not_equal(error.text, "");
        lob_backend_close(&context);
    }
}
