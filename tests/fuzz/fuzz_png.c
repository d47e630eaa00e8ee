/* Fuzz target: the PNG reader on a file in memory. */
#include "tests/fuzz/fuzz.h"

#include "tests/fuzz/fuzz_volume.h"

#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_read(&lob_format_png, "fuzz.png", bytes, size, false, LOB_FRAME_UNSAID);
    fuzz_read(&lob_format_png, "fuzz.png", bytes, size, true, LOB_FRAME_UNSAID);
    return 0;
}

static size_t put_number(uint8_t *to, uint32_t number)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(number >> (24 - 8 * i));
    return 4;
}

static size_t put_chunk(uint8_t *to, const char *kind, const uint8_t *bytes, size_t n)
{
    put_number(to, (uint32_t)n);
    memcpy(to + 4, kind, 4);
    if (n > 0) memcpy(to + 8, bytes, n);
    put_number(to + 8 + n, (uint32_t)crc32(0, to + 4, (unsigned)n + 4));
    return n + 12;
}

/* Pictures of 5 x 4 pixels, of each kind that is read. */
static const struct {
    uint8_t depth, colour, bytes;
} seeds[] = {
    {8,  0, 1},
    {16, 0, 2},
    {8,  2, 3},
    {16, 2, 6},
    {8,  6, 4},
    {8,  4, 2},
    {1,  0, 1},
};

size_t fuzz_seed(int number, uint8_t *bytes, size_t capacity)
{
    enum { WIDTH = 5, HEIGHT = 4 };
    uint8_t head[13] = {0}, rows[HEIGHT * (1 + 6 * WIDTH)], packed[512];
    if (number >= (int)(sizeof seeds / sizeof seeds[0]) || capacity < 1024) return 0;
    const size_t row = seeds[number].depth == 1 ? 1 : (size_t)WIDTH * seeds[number].bytes;
    put_number(head, WIDTH);
    put_number(head + 4, HEIGHT);
    head[8] = seeds[number].depth;
    head[9] = seeds[number].colour;
    for (size_t y = 0; y < HEIGHT; y++) {
        rows[y * (row + 1)] = 0; /* no filter */
        for (size_t x = 0; x < row; x++) rows[y * (row + 1) + 1 + x] = (uint8_t)(37 * x + 11 * y);
    }
    const size_t n = fuzz_deflate(packed, sizeof packed, rows, HEIGHT * (row + 1), false);
    size_t size = 8;
    memcpy(bytes, "\x89PNG\r\n\x1a\n", 8);
    size += put_chunk(bytes + size, "IHDR", head, sizeof head);
    size += put_chunk(bytes + size, "IDAT", packed, n);
    return size + put_chunk(bytes + size, "IEND", NULL, 0);
}
