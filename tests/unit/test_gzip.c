/* gzip: one member at any thread count, and every way a gz file can be damaged. */
#include "io/gzip.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/io_scratch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Bytes like those of a label volume: runs, with some noise. */
static unsigned char *sample(size_t n)
{
    unsigned char *bytes = malloc(n + 1);
    uint32_t random = 12345;
    for (size_t i = 0; bytes && i < n; i++) {
        random = random * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)((i >> 9) % 7 + (random >> 24 < 20 ? random >> 30 : 0));
    }
    return bytes;
}

/* At once by one thread, as a head and the rest by two, and by more in small pieces and a large
 * one; each piece is gone once it is put. */
static unsigned char *compress_to(const char *path, unsigned char *bytes, size_t n, int level,
                                  int threads, size_t *size)
{
    const size_t step = threads == 1 ? n : threads == 2 ? 352 : 100003;
    const size_t small = threads == 1 ? 0 : threads == 2 ? 352 : n / 4;
    lob_output out;
    lob_gzip_writer *w;
    double compress_s = 0;
    assert_ok(lob_output_begin(&out, path, true, NULL));
    assert_ok(lob_gzip_writer_begin(&w, &out, n, level, threads, &compress_s, NULL));
    for (size_t at = 0, some; at < n; at += some) {
        some = at < small && n - at > step ? step : n - at;
        if (threads == 3 && at >= small && some > 9000) some -= 9000;
        unsigned char *const piece = malloc(some);
        memcpy(piece, bytes + at, some);
        assert_ok(lob_gzip_writer_put(w, piece, some, NULL));
        memset(piece, 0xee, some);
        free(piece);
    }
    assert_int_equal(lob_gzip_writer_put(w, "x", 1, NULL), LOB_EINTERNAL);
    lob_gzip_writer_free(w);
    assert_ok(lob_output_commit(&out, NULL));
    return slurp(path, size);
}

/* Is it one member that zlib inflates to these bytes, with nothing after it? */
static int zlib_agrees(const unsigned char *gz, size_t size, const unsigned char *bytes, size_t n)
{
    unsigned char *back = malloc(n + 1);
    z_stream z = {.next_in = (unsigned char *)gz,
                  .avail_in = (unsigned)size,
                  .next_out = back,
                  .avail_out = (unsigned)n + 1};
    int ok = back && inflateInit2(&z, 15 + 16) == Z_OK;
    ok = ok && inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == n && z.avail_in == 0 &&
         memcmp(back, bytes, n) == 0;
    inflateEnd(&z);
    free(back);
    return ok;
}

TEST(one_member_at_any_thread_count)
{
    static const size_t sizes[] = {0,      1,      31,      32768,    262143,   262144,
                                   262145, 294912, 1000003, 16777216, 16777217, 24000000};
    static const int levels[] = {1, 6, 9, LOB_GZIP_BY_CONTENT, LOB_GZIP_LABELS};
    char path[1024], command[1200];
    snprintf(path, sizeof path, "%s", scratch("sample.gz"));
    snprintf(command, sizeof command, "gzip -t '%s'", path);
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (size_t l = 0; l < COUNT(levels); l++) {
            const size_t n = sizes[s];
            if (n > 2000000 && levels[l] != 1) continue; /* seconds each under sanitizers */
            unsigned char *bytes = sample(n), *first = NULL;
            size_t first_size = 0;
            for (int threads = 1; threads <= 3; threads++) {
                size_t size;
                unsigned char *gz = compress_to(path, bytes, n, levels[l], threads, &size);
                assert_non_null(gz);
                if (threads == 1) {
                    first = gz;
                    first_size = size;
                    if (!zlib_agrees(gz, size, bytes, n))
                        fail_msg("%zu bytes, level %d: zlib reads something else", n, levels[l]);
                    assert_int_equal(system(command), 0);
                    continue;
                }
                if (size != first_size || memcmp(gz, first, size) != 0)
                    fail_msg("%zu bytes, level %d: %d threads give other bytes", n, levels[l],
                             threads);
                free(gz);
            }
            unsigned char *back = malloc(n + 1);
            lob_gzip_rest rest;
            assert_ok(lob_gunzip(back, n, &rest, first, first_size, path, NULL));
            assert_memory_equal(back, bytes, n);
            assert_int_equal(rest.trailing, 0);
            assert_int_equal(rest.surplus, 0);
            free(back);
            free(first);
            free(bytes);
        }
}

TEST(a_failed_write_stays_failed)
{
    enum { BYTES = 17 << 20 };
    lob_output out;
    lob_gzip_writer *w;
    lob_error error = {.text = ""};
    double compress_s = 0;
    unsigned char *const bytes = sample(BYTES);
    const int full = open("/dev/full", O_WRONLY);
    assert_ok(lob_output_begin(&out, scratch("full.gz"), true, NULL));
    assert_ok(lob_gzip_writer_begin(&w, &out, 2 * BYTES, 1, 2, &compress_s, NULL));
    assert_true(dup2(full, out.fd) >= 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lob_gzip_writer_put(w, bytes, BYTES, &error), LOB_EIO);
    assert_non_null(strstr(error.text, "earlier"));
    lob_gzip_writer_free(w);
    lob_output_abort(&out);
    close(full);
    free(bytes);
}

/* Bytes that a level makes of n bytes. */
static size_t size_at(unsigned char *bytes, size_t n, int level)
{
    size_t size;
    free(compress_to(scratch("level.gz"), bytes, n, level, 2, &size));
    return size;
}

TEST(levels_follow_the_content)
{
    const size_t n = 600000;
    unsigned char *const noise = malloc(n), *const labels = calloc(n, 1),
                         *const colours = malloc(n);
    uint32_t random = 1;
    for (size_t i = 0; i < n; i++) {
        random = random * 1664525u + 1013904223u;
        noise[i] = (unsigned char)(random >> 28);
        if (i % 2 == 0) labels[i] = (unsigned char)(i / 7000 % 9); /* of int16 */
        colours[i] = (unsigned char)((i / 3 / 96 % 24 + 1) * (17 + i % 3 * 50));
    }
    assert_int_equal(size_at(noise, n, LOB_GZIP_BY_CONTENT), size_at(noise, n, 1));
    assert_int_equal(size_at(labels, n, LOB_GZIP_BY_CONTENT), size_at(labels, n, 6));
    assert_true(size_at(noise, n, 6) != size_at(noise, n, 1));
    assert_true(size_at(labels, n, 6) < size_at(labels, n, 1));
    assert_int_equal(size_at(labels, n, LOB_GZIP_LABELS), size_at(labels, n, 6));
    for (size_t i = 0; i < n; i++) labels[i] = (unsigned char)(i / 997 % 5); /* of uint8: runs */
    assert_true(size_at(labels, n, LOB_GZIP_LABELS) != size_at(labels, n, 6));
    assert_true(size_at(labels, n, LOB_GZIP_LABELS) < n / 200);
    free(noise);
    assert_int_equal(size_at(colours, n, LOB_GZIP_BY_CONTENT), size_at(colours, n, 6));
    assert_true(size_at(colours, n, 6) < size_at(colours, n, 1));
    free(labels);
    free(colours);
}

enum { N = 1000 };

/* Two members of N / 2 bytes each, or one of N. */
static unsigned char *small_file(unsigned char *bytes, int members, size_t *size)
{
    char path[1024];
    snprintf(path, sizeof path, "%s", scratch("small.gz"));
    unsigned char *all = malloc(4 * N);
    *size = 0;
    for (int i = 0; i < members; i++) {
        size_t n;
        const size_t part = (size_t)(N / members);
        unsigned char *gz = compress_to(path, bytes + (size_t)i * part, part, 6, 1, &n);
        memcpy(all + *size, gz, n);
        *size += n;
        free(gz);
    }
    return all;
}

static lob_status inflate_both_ways(unsigned char *out, size_t n, lob_gzip_rest *rest,
                                    const unsigned char *gz, size_t size, lob_error *error)
{
    lob_gzip_rest again;
    unsigned char *second = malloc(n + 1);
    lob_gzip_reader *const reader = lob_gzip_reader_new(gz, size, "f.gz");
    const lob_status st = lob_gunzip(out, n, rest, gz, size, "f.gz", error);
    lob_gzip_reader_get(reader, second, 0, n);
    assert_int_equal(lob_gzip_reader_end(reader, n, &again, NULL), st);
    lob_gzip_reader_free(reader);
    if (st == LOB_OK) {
        assert_memory_equal(out, second, n);
        assert_int_equal(again.surplus, rest->surplus);
        assert_int_equal(again.trailing, rest->trailing);
    }
    free(second);
    return st;
}

TEST(members_and_what_follows)
{
    unsigned char *bytes = sample(N), out[N];
    for (int members = 1; members <= 2; members++) {
        size_t size;
        lob_gzip_rest rest;
        unsigned char *gz = small_file(bytes, members, &size);
        assert_ok(inflate_both_ways(out, N, &rest, gz, size, NULL));
        assert_memory_equal(out, bytes, N);

        memset(gz + size, 0, 100); /* tapes pad with zeros */
        assert_ok(inflate_both_ways(out, N, &rest, gz, size + 100, NULL));
        assert_int_equal(rest.trailing, 100);

        assert_ok(inflate_both_ways(out, N - 10, &rest, gz, size, NULL));
        assert_int_equal(rest.surplus, 10);
        assert_memory_equal(out, bytes, N - 10);
        free(gz);
    }
    free(bytes);
}

TEST(parts_are_where_they_were_asked_for)
{
    unsigned char *bytes = sample(N), out[30];
    size_t size;
    unsigned char *gz = small_file(bytes, 2, &size);
    lob_gzip_rest rest;
    lob_gzip_reader *const reader = lob_gzip_reader_new(gz, size, "f.gz");
    assert_true(lob_gzip_reader_get(reader, out + 25, 900, 5));
    assert_true(lob_gzip_reader_get(reader, out, 5, 10)); /* back */
    assert_true(lob_gzip_reader_get(reader, out + 10, 490, 15));
    assert_ok(lob_gzip_reader_end(reader, 905, &rest, NULL));
    lob_gzip_reader_free(reader);
    assert_memory_equal(out, bytes + 5, 10);
    assert_memory_equal(out + 10, bytes + 490, 15);
    assert_memory_equal(out + 25, bytes + 900, 5);
    assert_int_equal(rest.surplus, N - 905);
    free(gz);
    free(bytes);
}

TEST(damage_is_found)
{
    unsigned char *bytes = sample(N), out[N + 1];
    size_t size;
    unsigned char *gz = small_file(bytes, 1, &size);
    lob_gzip_rest rest;
    for (size_t cut = 0; cut < size; cut++) { /* the last 8 leave every byte, but no trailer */
        lob_error error = {.text = ""};
        unsigned char *exact = malloc(cut + 1);
        memcpy(exact, gz, cut);
        if (inflate_both_ways(out, N, &rest, exact, cut, &error) != LOB_EDATA)
            fail_msg("cut after %zu of %zu bytes: accepted", cut, size);
        assert_string_equal(error.file, "f.gz");
        free(exact);
    }
    for (size_t i = size - 8; i < size; i++) {
        lob_error error = {.text = ""};
        gz[i] ^= 0x10;
        if (inflate_both_ways(out, N, &rest, gz, size, &error) != LOB_EDATA)
            fail_msg("wrong %s: accepted", i < size - 4 ? "checksum" : "length");
        assert_non_null(strstr(error.text, "damaged"));
        gz[i] ^= 0x10;
    }
    assert_int_equal(inflate_both_ways(out, N + 1, &rest, gz, size, NULL), LOB_EDATA);
    free(gz);

    gz = small_file(bytes, 2, &size);
    gz[size - 5] ^= 1; /* the second member's, past the bytes asked for */
    assert_int_equal(inflate_both_ways(out, N / 2, &rest, gz, size, NULL), LOB_EDATA);
    free(gz);
    free(bytes);
}

TEST(a_bomb_is_not_justified)
{
    assert_true(lob_gzip_justifies(1000 * 1000, 1000));
    assert_false(lob_gzip_justifies(1040 * 1000 + 2000, 1000));
    assert_false(lob_gzip_justifies(UINT64_MAX, 1 << 30));
    /* the most that deflate can do stays justified */
    const size_t n = 4 << 20;
    unsigned char *zeros = calloc(n, 1);
    uLongf size = compressBound(n);
    unsigned char *z = malloc(size);
    assert_int_equal(compress2(z, &size, zeros, n, 9), Z_OK);
    assert_true(lob_gzip_justifies(n, size));
    free(z);
    free(zeros);
}

TEST(the_head_needs_no_end)
{
    unsigned char *bytes = sample(N), head[20];
    size_t size;
    unsigned char *gz = small_file(bytes, 1, &size);
    assert_int_equal(lob_gunzip_head(head, sizeof head, gz, size - 9), sizeof head);
    assert_memory_equal(head, bytes, sizeof head);
    assert_int_equal(lob_gunzip_head(head, sizeof head, gz, 5), 0);
    assert_int_equal(lob_gunzip_head(head, sizeof head, gz, 0), 0);
    free(gz);
    free(bytes);
}
