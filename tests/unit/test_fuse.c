/* Votes of patches: threads, what wins, memory and cancelling, what is refused. tests/command/ has
 * a naive search to compare with. */
#include "kernels/fuse/fuse.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"

#include <stdlib.h>
#include <string.h>

enum { NX = 71, NY = 13, NZ = 11, N = NX * NY * NZ, ATLASES = 3 };

typedef struct {
    int16_t scan[N];
    float image[ATLASES][N];
    uint8_t label[ATLASES][N];
    lob_volume volume, images[ATLASES], labels[ATLASES];
    lob_fuse_atlas atlas[ATLASES];
    lob_fuse_input in;
    lob_context context;
} fuse_case;

static fuse_case *make_case(uint64_t state)
{
    const lob_dims d = {NX, NY, NZ};
    const double mm[3] = {1, 1, 1};
    fuse_case *const c = calloc(1, sizeof *c);
    assert_non_null(c);
    for (int i = 0; i < N; i++) c->scan[i] = (int16_t)(i % NX * 8 + random_below(&state, 60));
    c->volume = volume_of(c->scan, LOB_I16, d, mm);
    for (int a = 0; a < ATLASES; a++) {
        for (int i = 0; i < N; i++) {
            c->image[a][i] = (float)(c->scan[i] + random_below(&state, 40));
            if (random_chance(&state, 5)) c->image[a][i] = (float)NAN;
            c->label[a][i] = (uint8_t)(i % NX < 30 ? 0 : i % NX < 50 ? 4 : 9);
        }
        c->images[a] = volume_of(c->image[a], LOB_F32, d, mm);
        c->labels[a] = volume_of(c->label[a], LOB_U8, d, mm);
        c->atlas[a] = (lob_fuse_atlas){&c->images[a], &c->labels[a]};
    }
    c->in = (lob_fuse_input){&c->volume, c->atlas, ATLASES};
    c->context = (lob_context){.threads = 1};
    return c;
}

TEST(threads_change_nothing)
{
    fuse_case *const c = make_case(3);
    const lob_fuse_options options = lob_fuse_defaults();
    lob_fuse_output first, out;
    assert_ok(lob_fuse(&first, &c->in, &options, &c->context, NULL));
    assert_int_equal(first.set.count, 2);
    assert_int_equal(first.set.values[0], 4);
    assert_int_equal(first.set.values[1], 9);
    assert_true(first.set.voxels[0] > 0 && first.set.voxels[1] > 0);
    for (int threads = 2; threads <= 5; threads++) {
        c->context.threads = threads;
        assert_ok(lob_fuse(&out, &c->in, &options, &c->context, NULL));
        assert_memory_equal(out.labels.data, first.labels.data, N);
        assert_memory_equal(out.shares, first.shares, 2 * N * sizeof *out.shares);
        lob_fuse_output_free(&out);
    }
    lob_fuse_output_free(&first);
    free(c);
}

/* Two of three: half of an atlas's votes do not win, and of equal shares the smallest label does.
 */
TEST(majority)
{
    fuse_case *const c = make_case(4);
    lob_fuse_options options = lob_fuse_defaults();
    lob_fuse_output out;
    options.majority = true;
    for (int a = 0; a < ATLASES; a++) {
        memset(c->label[a], 0, N);
        c->label[a][0] = a == 0 ? 9 : 4;
        c->label[a][1] = a == 0 ? 0 : a == 1 ? 4 : 9;
        c->label[a][2] = a == 0 ? 4 : 0;
        c->label[a][N - 1] = 9;
        c->label[a][N - 2] = 4;
    }
    assert_ok(lob_fuse(&out, &c->in, &options, &c->context, NULL));
    const uint8_t *const labels = out.labels.data;
    assert_int_equal(labels[0], 4);
    assert_int_equal(labels[1], 0);
    assert_int_equal(labels[2], 0);
    assert_int_equal(labels[N - 1], 9);
    assert_int_equal(out.shares[0], LOB_FUSE_ONE * 2 / 3);
    assert_int_equal(out.shares[N - 1], 0);
    assert_int_equal(out.shares[2 * N - 1], LOB_FUSE_ONE);
    lob_fuse_output_free(&out);
    free(c);
}

TEST(what_no_atlas_reaches_is_background)
{
    fuse_case *const c = make_case(5);
    const lob_fuse_options options = lob_fuse_defaults();
    lob_fuse_output out;
    for (int a = 0; a < ATLASES; a++)
        for (int i = 0; i < N; i++)
            if (i % NX >= 60) c->image[a][i] = (float)NAN;
    assert_ok(lob_fuse(&out, &c->in, &options, &c->context, NULL));
    assert_int_equal(out.unseen, (NX - 61) * NY * NZ); /* a search reaches one voxel further */
    assert_int_equal(((const uint8_t *)out.labels.data)[NX - 1], 0);
    lob_fuse_output_free(&out);
    free(c);
}

static int stop(void *user, double done)
{
    (void)done;
    return ++*(int *)user == 5;
}

TEST(memory_and_cancelling)
{
    fuse_case *const c = make_case(6);
    lob_fuse_options options = lob_fuse_defaults();
    lob_fuse_output out;
    lob_error error;
    int calls = 0;
    c->context.max_memory = 1 << 20;
    assert_int_equal(lob_fuse(&out, &c->in, &options, &c->context, &error), LOB_ENOMEM);
    c->context.max_memory = 0;
    options.majority = true;
    assert_ok(lob_fuse(&out, &c->in, &options, &c->context, &error));
    const int64_t output = N * (1 + 2 * (int64_t)sizeof *out.shares);
    const int64_t working = out.working_bytes;
    lob_fuse_output_free(&out);
    c->context.max_memory = working + output;
    assert_ok(lob_fuse(&out, &c->in, &options, &c->context, &error));
    assert_int_equal(out.working_bytes, working);
    lob_fuse_output_free(&out);
    c->context.max_memory--;
    assert_int_equal(lob_fuse(&out, &c->in, &options, &c->context, &error), LOB_ENOMEM);
    options.majority = false;
    c->context.max_memory = 0;
    c->context.progress = stop;
    c->context.user = &calls;
    assert_int_equal(lob_fuse(&out, &c->in, &options, &c->context, &error), LOB_ECANCEL);
    assert_null(out.shares);
    free(c);
}

/* Labels are what is stored, whatever a header says of their scale. */
TEST(labels_have_no_scale)
{
    fuse_case *const c = make_case(8);
    const lob_fuse_options options = lob_fuse_defaults();
    lob_fuse_output plain, scaled;
    assert_ok(lob_fuse(&plain, &c->in, &options, &c->context, NULL));
    c->labels[0].slope = 2;
    c->labels[1].inter = 1;
    assert_ok(lob_fuse(&scaled, &c->in, &options, &c->context, NULL));
    assert_int_equal(scaled.set.count, plain.set.count);
    assert_memory_equal(scaled.labels.data, plain.labels.data, N);
    assert_memory_equal(scaled.shares, plain.shares, 2 * N * sizeof *plain.shares);
    lob_fuse_output_free(&plain);
    lob_fuse_output_free(&scaled);
    free(c);
}

TEST(refused)
{
    fuse_case *const c = make_case(7);
    lob_fuse_options options = lob_fuse_defaults();
    lob_fuse_output out;
    lob_error error;
    options.patch = LOB_FUSE_MAX_PATCH + 1;
    assert_int_equal(lob_fuse(&out, &c->in, &options, &c->context, NULL), LOB_EARG);
    options = lob_fuse_defaults();
    c->in.count = 0;
    assert_int_equal(lob_fuse(&out, &c->in, &options, &c->context, NULL), LOB_EARG);
    c->in.count = ATLASES;
    c->labels[1].dims.nz--;
    assert_int_equal(lob_fuse(&out, &c->in, &options, &c->context, NULL), LOB_EDATA);
    c->labels[1].dims.nz++;
    for (int i = 0; i < N; i++) c->label[0][i] = (uint8_t)(i % 200);
    assert_int_equal(lob_fuse(&out, &c->in, &options, &c->context, NULL), LOB_EDATA);
    memset(c->scan, 0xff, sizeof c->scan); /* -1 */
    c->atlas[1].labels = &c->volume;
    c->atlas[0].labels = &c->labels[2];
    assert_int_equal(lob_fuse(&out, &c->in, &options, &c->context, &error), LOB_EDATA);
    assert_string_equal(error.file, "the labels of atlas 2");
    assert_non_null(strstr(error.text, "holds -1, below 0"));
    free(c);
}
