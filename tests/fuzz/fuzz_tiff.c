/* Fuzz target: the TIFF reader on a file in memory, its chain of pages and what their text says. */
#include "tests/fuzz/fuzz.h"

#include "tests/fuzz/fuzz_volume.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_read(&lob_format_tiff, "fuzz.tif", bytes, size, false, LOB_FRAME_UNSAID);
    fuzz_read(&lob_format_tiff, "fuzz.tif", bytes, size, false, 1);
    fuzz_read(&lob_format_tiff, "fuzz.tif", bytes, size, true, LOB_FRAME_UNSAID);
    return 0;
}

enum { NONE = 1, LZW = 5, DEFLATE = 8, WIDTH = 16, HEIGHT = 6 };

/* Pages of 16 x 6 pixels, in one strip each, or in one tile of 16 x 16. */
static const struct {
    const char *text;
    int pages, bits, format, samples, compression;
    bool tiled, wide; /* wide: BigTIFF */
} seeds[] = {
    {NULL,                                                                                   3, 16, 1, 1, NONE,    false, false},
    {"ImageJ=1.53t\nimages=4\nslices=2\nframes=2\nunit=micron\nspacing=0.5\nloop=false\n",   4, 8,  1,
     1,                                                                                                   LZW,     false, false},
    {"ImageJ=1.53t\nimages=3\nslices=3\ncf=0\nc0=-32768\nc1=1\nunit=\\u00B5m\nspacing=-2\n", 1, 16,
     1,                                                                                                1, NONE,    false, false},
    {"<?xml version=\"1.0\"?><OME><Image><Pixels SizeX=\"16\" SizeY=\"6\" SizeZ=\"2\" SizeC=\"1\" "
     "SizeT=\"2\" DimensionOrder=\"XYTZC\" PhysicalSizeX=\"0.5\" "
     "PhysicalSizeXUnit=\"mm\"><TiffData "
     "IFD=\"0\" FirstT=\"1\"/><TiffData IFD=\"1\" FirstZ=\"1\" PlaneCount=\"2\"/><TiffData IFD='3'>"
     "<UUID FileName=\"a\"/></TiffData></Pixels></Image></OME>",                        4, 32, 3, 1, DEFLATE, false, false},
    {NULL,                                                                                   2, 8,  1, 3, DEFLATE, true,  true },
    {NULL,                                                                                   1, 64, 3, 1, NONE,    true,  true },
};

typedef struct {
    uint8_t *bytes;
    size_t size, capacity;
    bool wide;
} builder;

static void put(builder *b, uint64_t value, int n)
{
    for (int i = 0; i < n && b->size < b->capacity; i++)
        b->bytes[b->size++] = (uint8_t)(value >> 8 * i);
}

static void put_entry(builder *b, unsigned tag, int type, uint64_t count, uint64_t value)
{
    put(b, tag, 2);
    put(b, (uint64_t)type, 2);
    put(b, count, b->wide ? 8 : 4);
    put(b, value, b->wide ? 8 : 4);
}

/* Codes of 9 bits, high bits first: clear, each byte by itself, end. At most 250 bytes. */
static size_t lzw(uint8_t *out, const uint8_t *bytes, size_t n)
{
    uint32_t window = 0;
    int filled = 0;
    size_t size = 0;
    for (size_t i = 0; i < n + 2; i++) {
        window = window << 9 | (i == 0 ? 256u : i <= n ? bytes[i - 1] : 257u);
        for (filled += 9; filled >= 8; filled -= 8) out[size++] = (uint8_t)(window >> (filled - 8));
    }
    if (filled) out[size++] = (uint8_t)(window << (8 - filled));
    return size;
}

static size_t put_voxels(builder *b, int number, int page)
{
    static uint8_t voxels[16 * 16 * 8];
    const int planes = number == 2 ? 3 : 1; /* more behind the only page */
    size_t n =
        (size_t)(WIDTH * (seeds[number].tiled ? 16 : HEIGHT) * seeds[number].samples * planes) *
        (size_t)(seeds[number].bits / 8);
    const size_t first = b->size;
    for (size_t i = 0; i < n; i++) voxels[i] = (uint8_t)((i + (size_t)page) % 7);
    if (b->size + 2 * n + 64 > b->capacity) return 0;
    if (seeds[number].compression == LZW)
        n = lzw(b->bytes + first, voxels, n);
    else if (seeds[number].compression == DEFLATE)
        n = fuzz_deflate(b->bytes + first, b->capacity - first, voxels, n, false);
    else
        memcpy(b->bytes + first, voxels, n);
    b->size += n;
    return n;
}

static void put_directory(builder *b, int number, uint64_t voxels, uint64_t bytes, uint64_t text,
                          uint64_t text_bytes)
{
    const bool tiled = seeds[number].tiled;
    const int word = b->wide ? 8 : 4;
    const unsigned entries = 10 + (text ? 1 : 0) + (tiled ? 1 : 0);
    put(b, entries, b->wide ? 8 : 2);
    put_entry(b, 256, 4, 1, WIDTH);
    put_entry(b, 257, 4, 1, HEIGHT);
    put_entry(b, 258, 3, 1, (uint64_t)seeds[number].bits);
    put_entry(b, 259, 3, 1, (uint64_t)seeds[number].compression);
    put_entry(b, 262, 3, 1, seeds[number].samples == 3 ? 2 : 1);
    if (text) put_entry(b, 270, 2, text_bytes, text);
    if (!tiled) put_entry(b, 273, word == 8 ? 16 : 4, 1, voxels);
    put_entry(b, 277, 3, 1, (uint64_t)seeds[number].samples);
    if (!tiled) put_entry(b, 278, 4, 1, HEIGHT);
    if (!tiled) put_entry(b, 279, 4, 1, bytes);
    if (tiled) {
        put_entry(b, 322, 4, 1, WIDTH);
        put_entry(b, 323, 4, 1, 16);
        put_entry(b, 324, word == 8 ? 16 : 4, 1, voxels);
        put_entry(b, 325, 4, 1, bytes);
    }
    put_entry(b, 339, 3, 1, (uint64_t)seeds[number].format);
}

size_t fuzz_seed(int number, uint8_t *bytes, size_t capacity)
{
    if (number >= (int)(sizeof seeds / sizeof seeds[0])) return 0;
    builder b = {.bytes = bytes, .capacity = capacity, .wide = seeds[number].wide};
    const char *const text = seeds[number].text;
    const size_t text_bytes = text ? strlen(text) + 1 : 0;
    put(&b, b.wide ? 0x2b4949 : 0x2a4949, 4);
    if (b.wide) put(&b, 8, 4);
    for (int page = 0; page < seeds[number].pages; page++) {
        /* The place of this directory: behind its text and voxels, which are not yet there. */
        const size_t link = b.size;
        put(&b, 0, b.wide ? 8 : 4);
        const uint64_t text_at = page == 0 && text ? b.size : 0;
        for (size_t i = 0; text_at && i < text_bytes; i++) put(&b, (uint8_t)text[i], 1);
        const uint64_t voxels = b.size, n = put_voxels(&b, number, page);
        if (b.size % 2) put(&b, 0, 1);
        builder place = {.bytes = bytes, .size = link, .capacity = capacity};
        put(&place, b.size, b.wide ? 8 : 4);
        put_directory(&b, number, voxels, n, text_at, text_bytes);
    }
    put(&b, 0, b.wide ? 8 : 4);
    return b.size < b.capacity ? b.size : 0;
}
