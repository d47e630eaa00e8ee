/* Choosing a backend; on the CPU, and on a GPU where there is one. */
#include "kernels/backends.h"
#include "kernels/device/device.h"
#include "tests/unit/cmocka_test.h"

TEST(the_cpu_is_always_there)
{
    const lob_backend *backend;
    lob_context context;
    lob_error error = {.text = ""};
    assert_ok(lob_backend_open(&backend, &context, "cpu", &error));
    assert_ptr_equal(backend, lob_backends[0]);
    assert_ptr_equal(backend, lob_backend_named("cpu"));
    assert_null(lob_backend_named("opencl"));
    assert_null(context.device);
    assert_true(context.threads >= 1 && context.max_memory == 0 && !context.progress);
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
