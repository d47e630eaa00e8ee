/* gzip inflated by several threads: the bytes of zlib, or false, whatever the file holds. */
#include "io/gunzip_threads.h"
#include "tests/unit/cmocka_test.h"

#include <zlib.h>

enum { BYTES = 5 << 20, HEAD = 352 };

static uint32_t random_state = 12345;

static uint32_t next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

/* Words like those of a scan: 12 bits, of which 6 are noise; and in the middle, matches from afar.
 */
static unsigned char *sample(size_t n)
{
    unsigned char *const bytes = malloc(n);
    assert_non_null(bytes);
    for (size_t i = 0; i + 1 < n; i += 2) {
        const uint32_t value = (uint32_t)(i >> 10) % 4096 + next_random() % 64;
        bytes[i] = (unsigned char)value;
        bytes[i + 1] = (unsigned char)(value >> 8);
    }
    for (size_t i = n / 2; i < n / 2 + n / 8; i += 4096)
        memcpy(bytes + i, bytes + i - 32000, 4000); /* almost a window back */
    return bytes;
}

/* A gzip file, with room after it. */
static unsigned char *pack(const unsigned char *bytes, size_t n, int level, int strategy,
                           size_t *size)
{
    const size_t room = n + n / 8 + 4096;
    unsigned char *const gz = malloc(room);
    z_stream z = {.next_in = (unsigned char *)bytes, .avail_in = (unsigned)n};
    assert_non_null(gz);
    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, strategy), Z_OK);
    z.next_out = gz;
    z.avail_out = (unsigned)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *size = z.total_out;
    deflateEnd(&z);
    return gz;
}

/* Inflate; false when that failed, and a failed test when other bytes came out. */
static bool inflates(const unsigned char *gz, size_t size, const unsigned char *bytes, size_t n,
                     int threads, size_t *trailing, const char *what)
{
    unsigned char *const out = malloc(n - HEAD), head[HEAD];
    assert_non_null(out);
    const bool done = lob_gunzip_threads(out, n - HEAD, head, HEAD, trailing, gz, size, threads);
    if (done && (memcmp(head, bytes, HEAD) != 0 || memcmp(out, bytes + HEAD, n - HEAD) != 0))
        fail_msg("%s: other bytes with %d threads", what, threads);
    free(out);
    return done;
}

TEST(the_same_bytes)
{
    static const struct {
        const char *what;
        int level, strategy;
        bool must; /* come to an end: where no thread finds a block to begin at, it need not */
    } rows[] = {
        {"level 1",                             1, Z_DEFAULT_STRATEGY, true },
        {"level 6",                             6, Z_DEFAULT_STRATEGY, true },
        {"codes without matches",               6, Z_HUFFMAN_ONLY,     true },
        {"matches of distance 1 alone",         6, Z_RLE,              true },
        {"no block with codes of its own",      6, Z_FIXED,            false},
        {"bytes as they are: no block to find", 0, Z_DEFAULT_STRATEGY, false},
    };
    unsigned char *const bytes = sample(BYTES);
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t size, trailing = 99;
        unsigned char *const gz = pack(bytes, BYTES, rows[i].level, rows[i].strategy, &size);
        for (int threads = 4; threads < 8; threads += 3) {
            const bool done = inflates(gz, size, bytes, BYTES, threads, &trailing, rows[i].what);
            if ((rows[i].must && !done) || (done && trailing != 0))
                fail_msg("%s: %d, %zu bytes after it", rows[i].what, done, trailing);
        }
        free(gz);
    }
    free(bytes);
}

TEST(what_is_left_to_others)
{
    unsigned char *const bytes = sample(BYTES);
    size_t size, trailing = 0;
    unsigned char *const gz = pack(bytes, BYTES, 1, Z_DEFAULT_STRATEGY, &size);
    assert_false(inflates(gz, size, bytes, BYTES, 1, &trailing, "one thread"));
    assert_false(inflates(gz, size, bytes, BYTES - 1, 4, &trailing, "too long"));
    memset(gz + size, 7, 100);
    assert_true(inflates(gz, size + 100, bytes, BYTES, 4, &trailing, "trailing bytes"));
    assert_int_equal(trailing, 100);
    memcpy(gz + size, gz, 20); /* the begin of a second member */
    assert_false(inflates(gz, size + 20, bytes, BYTES, 4, &trailing, "two members"));
    for (size_t cut = 1; cut < size; cut = cut * 3 + 1)
        assert_false(inflates(gz, size - cut, bytes, BYTES, 4, &trailing, "cut short"));
    free(gz);
    free(bytes);
}

TEST(damage_is_never_taken_for_data)
{
    unsigned char *const bytes = sample(BYTES);
    size_t size, trailing;
    unsigned char *const gz = pack(bytes, BYTES, 6, Z_DEFAULT_STRATEGY, &size);
    for (int i = 0; i < CASES(24); i++) {
        const size_t at = i < 10   ? 10 + (size_t)i
                          : i < 14 ? size - 8 + 2 * (size_t)(i - 10)
                                   : 10 + next_random() * 97 % (size - 10);
        const unsigned char kept = gz[at];
        gz[at] ^= (unsigned char)(1 << next_random() % 8);
        if (inflates(gz, size, bytes, BYTES, 4, &trailing, "damaged"))
            fail_msg("byte %zu of %zu is other, and nobody noticed", at, size);
        gz[at] = kept;
    }
    free(gz);
    free(bytes);
}

/* The first bytes of a block whose code ends a block by 13 ones in a row, and by nothing shorter.
 */
static void begin_block(unsigned char *out, size_t n)
{
    unsigned char text[1 << 13], packed[4096];
    size_t used = 0;
    for (int i = 0; i < 13; i++)
        for (int k = 0; k < 1 << (12 - i); k++) text[used++] = (unsigned char)(11 * i);
    z_stream z = {.next_in = text, .avail_in = (unsigned)used, .next_out = packed};
    z.avail_out = sizeof packed;
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_HUFFMAN_ONLY), Z_OK);
    assert_int_equal(deflate(&z, Z_FULL_FLUSH), Z_OK);
    assert_true(z.total_out > n);
    deflateEnd(&z);
    memcpy(out, packed, n);
}

/*
 * Stored bytes in which a block seems to begin every 100 of them, from each of which a megabyte can
 * be inflated before it proves to be none: who tries all of them takes minutes.
 */
TEST(many_blocks_that_are_none)
{
    enum { STORED = 0x5555, BLOCKS = 240 };
    const size_t n = (size_t)STORED * BLOCKS;
    unsigned char block[100], *const bytes = malloc(n), *const gz = malloc(n + 5 * BLOCKS + 18);
    size_t trailing, size = 10;
    assert_true(bytes && gz);
    begin_block(block, sizeof block);
    for (size_t i = 0; i < n; i++) bytes[i] = i % 2000000 < 1000000 ? block[i % 100] : 0x55;
    for (size_t i = 0; i + 64 < n; i += 1000000) memset(bytes + i, 0xff, 64);
    memcpy(gz, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    for (int k = 0; k < BLOCKS; k++, size += STORED) {
        const unsigned char head[] = {k + 1 == BLOCKS, 0x55, 0x55, 0xaa, 0xaa};
        memcpy(gz + size, head, 5);
        size += 5;
        memcpy(gz + size, bytes + (size_t)k * STORED, STORED);
    }
    const uint32_t end[] = {(uint32_t)crc32(0, bytes, (unsigned)n), (uint32_t)n};
    for (int k = 0; k < 8; k++) gz[size++] = (unsigned char)(end[k / 4] >> (8 * (k % 4)));
    inflates(gz, size, bytes, n, 4, &trailing, "blocks that are none"); /* true or false */
    free(gz);
    free(bytes);
}

/* Pieces that begin where a block seems to, but does not: whole files of gzip inside of gzip. */
TEST(a_stream_inside_a_stream)
{
    size_t inner_size, size, trailing;
    unsigned char *const bytes = sample(BYTES);
    unsigned char *const inner = pack(bytes, BYTES, 6, Z_DEFAULT_STRATEGY, &inner_size);
    const size_t n = 2 * inner_size;
    unsigned char *const twice = malloc(n);
    assert_non_null(twice);
    for (size_t i = 0; i < n; i++) twice[i] = inner[i % inner_size];
    unsigned char *const gz = pack(twice, n, 0, Z_DEFAULT_STRATEGY, &size);
    inflates(gz, size, twice, n, 4, &trailing, "gzip in stored blocks"); /* true or false */
    free(gz);
    free(twice);
    free(inner);
    free(bytes);
}
