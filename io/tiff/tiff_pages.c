/*
 * The chain of a TIFF's pages. A file is not trusted to have the pages that it chains: they are
 * walked here first, so that neither cycles nor pages that overlap cost more than the file's size.
 */
#include "io/tiff/tiff_pages.h"

#include "volumes/lists.h"

#include <math.h>

/* Numbers of a file, in its byte order; 0 outside it. */
typedef struct {
    const lob_input *file;
    bool big_endian, wide; /* wide: BigTIFF */
} numbers;

static uint64_t number_at(const numbers *f, uint64_t at, int bytes)
{
    uint64_t value = 0;
    if (at > f->file->size || (uint64_t)bytes > f->file->size - at) return 0;
    for (int i = 0; i < bytes; i++) {
        const uint64_t byte = f->file->bytes[at + (uint64_t)i];
        value |= byte << 8 * (f->big_endian ? bytes - 1 - i : i);
    }
    return value;
}

/* Bytes of the values that the entries of a directory keep elsewhere. */
static double bytes_elsewhere(const numbers *f, uint64_t entries, uint64_t count)
{
    static const unsigned char size[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
    const int entry = f->wide ? 20 : 12, word = f->wide ? 8 : 4;
    double sum = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t type = number_at(f, entries + i * (uint64_t)entry + 2, 2);
        const double n = (double)number_at(f, entries + i * (uint64_t)entry + 4, word);
        const double bytes = type < sizeof size ? n * size[type] : 0.0;
        /* A count beyond the file is refused by libtiff, or cut. */
        if (bytes > word) sum += fmin(bytes, (double)f->file->size);
    }
    return sum;
}

/*
 * Follow the chain. Directories of a sound file do not overlap, so all of them together are no
 * larger than the file, nor can the chain be a cycle; and what they point to is read once or, where
 * pages share it, a few times.
 */
lob_status lob_tiff_list_pages(lob_tiff_pages *out, const lob_reading *r)
{
    enum { SHARED = 64 }; /* times that all of a file may be pointed to */
    const lob_input *const file = r->file;

    const numbers f = {file, file->bytes[0] == 'M',
                       file->bytes[file->bytes[0] == 'M' ? 3 : 2] == 43};
    const int head = f.wide ? 8 : 2, word = f.wide ? 8 : 4;
    const uint64_t entry = f.wide ? 20 : 12;
    uint64_t at = number_at(&f, f.wide ? 8 : 4, word), used = 0;
    double elsewhere = 0.0;
    while (at) {
        const uint64_t entries = number_at(&f, at, head);
        const uint64_t bytes = (uint64_t)head + entries * entry + (uint64_t)word;
        const bool inside =
            entries > 0 && entries < 65536 && at <= file->size && bytes <= file->size - at;
        if (!inside && out->count > 0 && entries == 0)
            return LOB_FAIL(r, LOB_EDATA, "cut short after page %lld", (long long)out->count);
        used += bytes;
        if (inside) elsewhere += bytes_elsewhere(&f, at + (uint64_t)head, entries);
        if (!inside || used > file->size || elsewhere > SHARED * (double)file->size)
            return LOB_FAIL(r, LOB_EDATA,
                            "damaged TIFF: the chain of its pages %s; copy it again from its "
                            "source",
                            inside ? "runs in a circle" : "leaves the file");
        if (!lob_grow(&out->page, out->count, sizeof *out->page))
            return LOB_FAIL(r, LOB_ENOMEM, "no memory for its pages");
        out->page[out->count] = (lob_tiff_page){at, out->count};
        out->count++;
        at = number_at(&f, at + bytes - (uint64_t)word, word);
    }
    if (out->count > 0) return LOB_OK;
    return LOB_FAIL(r, LOB_EDATA, "a TIFF without pages");
}
