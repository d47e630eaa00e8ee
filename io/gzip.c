/* gzip in memory: libdeflate for whole buffers, zlib for streams and for blocks that are joined. */
#include "io/gzip.h"

#include "volumes/clock.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    WINDOW = 32 << 10, /* deflate looks back this far */
    BLOCK = 256 << 10, /* bytes deflated apart; a join costs 5 */
    BATCH = 64,        /* blocks in memory at a time */
    HEAD = 10,         /* bytes of a gzip header without name */
    GZIP_WRAPPER = 16, /* added to zlib's window bits: gzip instead of zlib framing */
    RAW = -15,         /* zlib's window bits for deflate without framing */
    MEMORY = 8         /* zlib's default */
};

bool lob_is_gzip(const unsigned char *bytes, size_t size)
{
    return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

bool lob_gzip_justifies(uint64_t inflated, size_t compressed)
{
    return inflated / LOB_GZIP_MOST <= compressed;
}

/* ---- inflating as a stream ---- */

typedef struct {
    z_stream z;
    const unsigned char *end; /* of the file */
    bool open, done;
    size_t trailing;
    const char *damage; /* what is wrong, NULL while all is well */
} stream;

static bool stream_open(stream *s, const unsigned char *in, size_t size)
{
    *s = (stream){.end = in + size};
    s->z.next_in = (unsigned char *)in; /* zlib's pointer is not const, but only read through */
    s->open = inflateInit2(&s->z, 15 + GZIP_WRAPPER) == Z_OK;
    return s->open;
}

static void stream_close(stream *s)
{
    if (s->open) inflateEnd(&s->z);
    s->open = false;
}

/* At the end of a member: go on with the next, or note that none follows. */
static void next_member(stream *s)
{
    const size_t left = (size_t)(s->end - s->z.next_in);
    if (lob_is_gzip(s->z.next_in, left)) {
        inflateReset(&s->z);
        return;
    }
    s->trailing = left;
    s->done = true;
}

/* Inflate up to n bytes to out; fewer only at the end or at damage. */
static size_t stream_read(stream *s, unsigned char *out, size_t n)
{
    const size_t most = (size_t)1 << 30; /* zlib counts in 32 bits */
    size_t have = 0;
    while (have < n && !s->done && !s->damage) {
        const size_t left = (size_t)(s->end - s->z.next_in), room = n - have;
        s->z.avail_in = (unsigned)(left < most ? left : most);
        s->z.avail_out = (unsigned)(room < most ? room : most);
        const unsigned before = s->z.avail_out;
        s->z.next_out = out + have;
        const int result = inflate(&s->z, Z_NO_FLUSH);
        have += before - s->z.avail_out;
        if (result == Z_STREAM_END)
            next_member(s);
        else if (result == Z_BUF_ERROR ||
                 (result == Z_OK && s->z.next_in == s->end && s->z.avail_out > 0))
            s->damage = "is cut short";
        else if (result != Z_OK)
            s->damage = s->z.msg ? s->z.msg : "is not deflated data";
    }
    return have;
}

size_t lob_gunzip_head(void *out, size_t n, const unsigned char *in, size_t size)
{
    stream s;
    if (!stream_open(&s, in, size)) return 0;
    const size_t have = stream_read(&s, out, n);
    stream_close(&s);
    return have;
}

/* Read on to offset, throwing away what lies before it; false at the end or at damage. */
static bool skip_to(stream *s, uint64_t *at, uint64_t offset, unsigned char *scratch)
{
    while (*at < offset) {
        const uint64_t left = offset - *at;
        const size_t got = stream_read(s, scratch, left < BLOCK ? (size_t)left : BLOCK);
        *at += got;
        if (got == 0) return false;
    }
    return true;
}

lob_status lob_gunzip_parts(const lob_gzip_part *parts, int count, lob_gzip_rest *rest,
                            const unsigned char *in, size_t size, const char *path,
                            lob_error *error)
{
    *rest = (lob_gzip_rest){0};
    stream s = {0};
    unsigned char *scratch = malloc(BLOCK);
    lob_status st = LOB_OK;
    uint64_t at = 0, end = 0;
    if (!scratch || !stream_open(&s, in, size)) {
        st = lob_fail(error, LOB_ENOMEM, "%s: no memory to inflate it", path);
        goto out;
    }
    for (int i = 0; i < count; i++) {
        end = parts[i].offset + parts[i].size;
        if (!skip_to(&s, &at, parts[i].offset, scratch)) break;
        at += stream_read(&s, parts[i].out, parts[i].size);
    }
    const bool short_of = at < end;
    skip_to(&s, &at, UINT64_MAX, scratch); /* to the end, for the checksums */
    if (s.damage)
        st = lob_fail(
            error, LOB_EDATA,
            "%s: damaged: its gzip data %s after %llu bytes; copy it again from its source", path,
            s.damage, (unsigned long long)at);
    else if (short_of)
        st = lob_fail(
            error, LOB_EDATA,
            "%s: damaged: it holds %llu bytes, but its header asks for %llu; copy it again "
            "from its source",
            path, (unsigned long long)at,
            (unsigned long long)parts[count - 1].offset + parts[count - 1].size);
    *rest = (lob_gzip_rest){at > end ? at - end : 0, s.trailing};
out:
    stream_close(&s);
    free(scratch);
    return st;
}

/* ---- inflating at once ---- */

lob_status lob_gunzip(unsigned char *out, size_t n, lob_gzip_rest *rest, const unsigned char *in,
                      size_t size, const char *path, lob_error *error)
{
    *rest = (lob_gzip_rest){0};
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    if (!inflater) return lob_fail(error, LOB_ENOMEM, "%s: no memory to inflate it", path);
    enum libdeflate_result result = LIBDEFLATE_SUCCESS;
    size_t from = 0, have = 0;
    do {
        size_t used = 0, made = 0;
        result = libdeflate_gzip_decompress_ex(inflater, in + from, size - from, out + have,
                                               n - have, &used, &made);
        if (result != LIBDEFLATE_SUCCESS) break;
        from += used;
        have += made;
    } while (lob_is_gzip(in + from, size - from));
    libdeflate_free_decompressor(inflater);
    if (result == LIBDEFLATE_SUCCESS && have == n) {
        rest->trailing = size - from;
        return LOB_OK;
    }
    /* Too much, too little or damaged: zlib tells which, and where. */
    const lob_gzip_part whole = {0, n, out};
    return lob_gunzip_parts(&whole, 1, rest, in, size, path, error);
}

/* ---- deflating ---- */

typedef struct {
    unsigned char *bytes; /* bound bytes long */
    size_t size;
    uint32_t crc;
} block;

typedef struct {
    z_stream z;
    unsigned char *in; /* WINDOW + BLOCK bytes */
    bool open;
} worker;

/* Deflate block number i of a stream of size bytes; false when zlib fails. */
static bool deflate_block(worker *w, block *b, size_t bound, uint64_t i, lob_bytes_fn *bytes,
                          void *user, uint64_t size)
{
    const uint64_t start = i * BLOCK;
    const size_t n = size - start < BLOCK ? (size_t)(size - start) : BLOCK;
    const size_t dictionary = start < WINDOW ? (size_t)start : WINDOW;
    if (dictionary + n > 0) bytes(user, start - dictionary, dictionary + n, w->in);
    if (deflateReset(&w->z) != Z_OK) return false;
    if (dictionary > 0 && deflateSetDictionary(&w->z, w->in, (unsigned)dictionary) != Z_OK)
        return false;
    b->crc = libdeflate_crc32(0, w->in + dictionary, n);
    w->z.next_in = w->in + dictionary;
    w->z.avail_in = (unsigned)n;
    w->z.next_out = b->bytes;
    w->z.avail_out = (unsigned)bound;
    const bool last = start + n >= size;
    const int result = deflate(&w->z, last ? Z_FINISH : Z_SYNC_FLUSH);
    b->size = bound - w->z.avail_out;
    return w->z.avail_in == 0 && w->z.avail_out > 0 && result == (last ? Z_STREAM_END : Z_OK);
}

static void put32(unsigned char *out, uint32_t value)
{
    for (int i = 0; i < 4; i++) out[i] = (unsigned char)(value >> (8 * i));
}

static void free_all(worker *workers, int threads, block *blocks, int count)
{
    for (int i = 0; workers && i < threads; i++) {
        if (workers[i].open) deflateEnd(&workers[i].z);
        free(workers[i].in);
    }
    for (int i = 0; blocks && i < count; i++) free(blocks[i].bytes);
    free(workers);
    free(blocks);
}

/* What deflating needs, whatever the number of blocks. */
typedef struct {
    worker *workers;
    int threads;
    block *blocks; /* a batch: deflated at once, then written in order */
    size_t bound;
    lob_bytes_fn *bytes;
    void *user;
    uint64_t size;
    double *compress_s;
} deflater;

/* Deflate and write n blocks from number first on; crc goes on over them. */
static lob_status write_batch(lob_output *out, uint32_t *crc, const deflater *d, uint64_t first,
                              int n, lob_error *error)
{
    int failed = 0, next = 0;
    const double start_s = lob_clock_s();
#pragma omp parallel for num_threads(d->threads) schedule(static, 1) reduction(+ : failed)
    for (int t = 0; t < d->threads; t++)
        for (;;) {
            int i;
#pragma omp atomic capture
            i = next++;
            if (i >= n) break;
            failed += !deflate_block(&d->workers[t], &d->blocks[i], d->bound, first + (uint64_t)i,
                                     d->bytes, d->user, d->size);
        }
    *d->compress_s += lob_clock_s() - start_s;
    if (failed) return lob_fail(error, LOB_EINTERNAL, "%s: zlib failed to deflate", out->path);
    lob_status st = LOB_OK;
    for (int i = 0; st == LOB_OK && i < n; i++) {
        const uint64_t start = (first + (uint64_t)i) * BLOCK;
        const uint64_t length = d->size - start < BLOCK ? d->size - start : BLOCK;
        *crc = (uint32_t)crc32_combine(*crc, d->blocks[i].crc, (z_off_t)length);
        st = lob_output_write(out, d->blocks[i].bytes, d->blocks[i].size, error);
    }
    return st;
}

lob_status lob_gzip_write(lob_output *out, lob_bytes_fn *bytes, void *user, uint64_t size,
                          int level, int threads, double *compress_s, lob_error *error)
{
    const uint64_t blocks_in_all = size == 0 ? 1 : (size - 1) / BLOCK + 1;
    const int batch = blocks_in_all < BATCH ? (int)blocks_in_all : BATCH;
    if (threads > batch) threads = batch;
    if (threads < 1) threads = 1;
    lob_status st = LOB_ENOMEM;
    size_t bound = 0;
    worker *workers = calloc((size_t)threads, sizeof *workers);
    block *blocks = calloc((size_t)batch, sizeof *blocks);
    if (!workers || !blocks) goto out;
    for (int i = 0; i < threads; i++) {
        worker *w = &workers[i];
        w->in = malloc(WINDOW + BLOCK);
        w->open = w->in &&
                  deflateInit2(&w->z, level, Z_DEFLATED, RAW, MEMORY, Z_DEFAULT_STRATEGY) == Z_OK;
        if (!w->open) goto out;
    }
    bound = deflateBound(&workers[0].z, BLOCK) + 16; /* + the mark of a flush */
    for (int i = 0; i < batch; i++)
        if (!(blocks[i].bytes = malloc(bound))) goto out;

    /* magic, deflate, no flags, time 0, effort as gzip notes it, "unknown" system */
    const unsigned char head[HEAD] = {0x1f, 0x8b, 8,
                                      [8] = level == 9   ? 2
                                            : level == 1 ? 4
                                                         : 0,
                                      255};
    st = lob_output_write(out, head, HEAD, error);
    const deflater all = {workers, threads, blocks, bound, bytes, user, size, compress_s};
    uint32_t crc = 0;
    for (uint64_t first = 0; st == LOB_OK && first < blocks_in_all; first += (uint64_t)batch) {
        const uint64_t left = blocks_in_all - first;
        st = write_batch(out, &crc, &all, first, left < (uint64_t)batch ? (int)left : batch, error);
    }
    if (st == LOB_OK) {
        unsigned char tail[8];
        put32(tail, crc);
        put32(tail + 4, (uint32_t)size); /* modulo 2^32, as the format has it */
        st = lob_output_write(out, tail, sizeof tail, error);
    }
out:
    free_all(workers, threads, blocks, batch);
    if (st == LOB_ENOMEM) return lob_fail(error, st, "%s: no memory to compress it", out->path);
    return st;
}
