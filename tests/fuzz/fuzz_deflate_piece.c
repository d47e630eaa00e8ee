/* Fuzz target: a piece of a deflate stream. What is inflated from the first bit on must be what
 * zlib makes of it; what is found and inflated from any other bit on must stay in its bounds. */
#include "io/deflate_piece.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <zlib.h>

enum { ROOM = 1 << 12, MOST = 1 << 17 };

/* zlib's bytes, and how many; -1 where it finds damage. */
static long by_zlib(uint8_t *out, const uint8_t *bytes, size_t size)
{
    z_stream z = {.next_in = (uint8_t *)bytes, .avail_in = (unsigned)size, .next_out = out};
    z.avail_out = MOST;
    check(inflateInit2(&z, -15) == Z_OK);
    const int result = inflate(&z, Z_FINISH);
    const long n = result == Z_STREAM_END ? (long)z.total_out : -1;
    inflateEnd(&z);
    return n;
}

/* From the first bit on, with an empty window. */
static void compare(lob_piece *piece, const uint8_t *bytes, size_t size)
{
    static const unsigned char window[LOB_PIECE_WINDOW];
    uint8_t *const ours = malloc(MOST + ROOM), *const theirs = malloc(MOST);
    check(ours && theirs);
    lob_piece_begin(piece);
    if (lob_piece_inflate(piece, bytes, size, 0, UINT64_MAX, UINT64_MAX)) {
        const size_t n = piece->used - LOB_PIECE_WINDOW;
        const bool sound =
            n <= MOST && lob_piece_bytes(ours, piece->symbols + LOB_PIECE_WINDOW, n, window, 0);
        if (sound && piece->end_bit <= size * 8)
            check(by_zlib(theirs, bytes, size) == (long)n && memcmp(ours, theirs, n) == 0);
    }
    free(ours);
    free(theirs);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    lob_piece piece;
    check(lob_piece_make(&piece, ROOM, MOST));
    compare(&piece, bytes, size);
    const uint64_t end = (uint64_t)size * 8;
    for (uint64_t bit = 1; (bit = lob_piece_find(&piece, bytes, size, bit, end)) < end; bit++) {
        lob_piece_begin(&piece);
        lob_piece_inflate(&piece, bytes, size, bit, end / 2, end);
        check(piece.used <= piece.room + 1024);
    }
    lob_piece_free(&piece);
    return 0;
}

/* Text, noise and runs at several levels, in blocks of every type. */
size_t fuzz_seed(int number, uint8_t *bytes, size_t capacity)
{
    static const struct {
        int level, strategy;
        uint32_t noise; /* of 256 */
    } seeds[] = {
        {0, Z_DEFAULT_STRATEGY, 64 },
        {1, Z_DEFAULT_STRATEGY, 4  },
        {6, Z_DEFAULT_STRATEGY, 64 },
        {9, Z_DEFAULT_STRATEGY, 1  },
        {6, Z_FIXED,            16 },
        {6, Z_HUFFMAN_ONLY,     256},
    };
    if (number >= (int)(sizeof seeds / sizeof seeds[0])) return 0;
    uint8_t plain[6000];
    uint32_t random = (uint32_t)number + 1;
    for (size_t i = 0; i < sizeof plain; i++) {
        random = random * 1664525u + 1013904223u;
        plain[i] = (uint8_t)(i / 100 + (random >> 24) % seeds[number].noise);
    }
    z_stream z = {.next_in = plain, .avail_in = 3000, .next_out = bytes};
    z.avail_out = (unsigned)capacity;
    check(deflateInit2(&z, seeds[number].level, Z_DEFLATED, -15, 8, seeds[number].strategy) ==
          Z_OK);
    deflate(&z, Z_FULL_FLUSH); /* two blocks at least */
    z.avail_in = 3000;
    const bool whole = deflate(&z, Z_FINISH) == Z_STREAM_END;
    const size_t n = z.total_out;
    deflateEnd(&z);
    return whole ? n : 0;
}
