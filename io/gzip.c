/* gzip in memory: libdeflate for whole buffers, zlib for streams and for blocks that are joined. */
#include "io/gzip.h"

#include "io/byte_order.h"
#include "volumes/clock.h"
#include "volumes/free.h"

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
    return inflated / LOB_GZIP_MAX_RATIO <= compressed;
}

bool lob_gzip_ends_at(uint64_t inflated, const unsigned char *in, size_t size)
{
    return size >= 18 && /* head and tail alone */
           lob_little_number(in + size - 4, 4) == (uint32_t)inflated;
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

/* What a message of zlib means; its others are about garbled bits. */
static const char *damage_of(const char *message)
{
    static const char *const meanings[][2] = {
        {"incorrect data check",   "do not match their checksum"},
        {"incorrect length check", "do not match their length"  },
        {"incorrect header check", "have no sound header"       },
    };
    for (size_t i = 0; message && i < sizeof meanings / sizeof meanings[0]; i++)
        if (strcmp(message, meanings[i][0]) == 0) return meanings[i][1];
    return "are garbled";
}

/* Inflate up to n bytes to out; fewer only at the end or at damage. */
static size_t stream_read(stream *s, unsigned char *out, size_t n)
{
    const size_t max_step = (size_t)1 << 30; /* zlib counts in 32 bits */
    size_t have = 0;
    while (have < n && !s->done && !s->damage) {
        const size_t left = (size_t)(s->end - s->z.next_in), wanted = n - have;
        s->z.avail_in = (unsigned)(left < max_step ? left : max_step);
        s->z.avail_out = (unsigned)(wanted < max_step ? wanted : max_step);
        const unsigned before = s->z.avail_out;
        s->z.next_out = out + have;
        const int result = inflate(&s->z, Z_NO_FLUSH);
        have += before - s->z.avail_out;
        if (result == Z_STREAM_END)
            next_member(s);
        else if (result == Z_BUF_ERROR ||
                 (result == Z_OK && s->z.next_in == s->end && s->z.avail_out > 0))
            s->damage = "are cut short";
        else if (result != Z_OK)
            s->damage = damage_of(s->z.msg);
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

struct lob_gzip_reader {
    stream s;
    const unsigned char *in;
    size_t size;
    const char *path;
    uint64_t at; /* inflated so far */
    unsigned char scratch[BLOCK];
};

lob_gzip_reader *lob_gzip_reader_new(const unsigned char *in, size_t size, const char *path)
{
    lob_gzip_reader *r = malloc(sizeof *r);
    if (!r) return NULL;
    r->in = in;
    r->size = size;
    r->path = path;
    r->at = 0;
    if (stream_open(&r->s, in, size)) return r;
    free(r);
    return NULL;
}

void lob_gzip_reader_free(lob_gzip_reader *r)
{
    if (!r) return;
    stream_close(&r->s);
    free(r);
}

/* Read on to offset, throwing away what lies before it; false at the end or at damage. */
static bool skip_to(lob_gzip_reader *r, uint64_t offset)
{
    while (r->at < offset) {
        const uint64_t left = offset - r->at;
        const size_t got = stream_read(&r->s, r->scratch, left < BLOCK ? (size_t)left : BLOCK);
        r->at += got;
        if (got == 0) return false;
    }
    return true;
}

bool lob_gzip_reader_get(lob_gzip_reader *r, unsigned char *out, uint64_t offset, size_t n)
{
    if (offset < r->at) {
        stream_close(&r->s);
        r->at = 0;
        if (!stream_open(&r->s, r->in, r->size)) r->s.damage = "cannot be read again";
    }
    if (!skip_to(r, offset)) return false;
    const size_t got = stream_read(&r->s, out, n);
    r->at += got;
    return got == n;
}

lob_status lob_gzip_reader_end(lob_gzip_reader *r, uint64_t wanted, lob_gzip_rest *rest,
                               lob_error *error)
{
    skip_to(r, UINT64_MAX); /* for the checksums */
    const bool short_of = r->at < wanted;
    *rest = (lob_gzip_rest){r->at > wanted ? r->at - wanted : 0, r->s.trailing};
    if (r->s.damage)
        return lob_fail_file(error, LOB_EDATA, r->path,
                             "damaged: its gzip data %s after %llu inflated bytes; copy it again "
                             "from its source",
                             r->s.damage, (unsigned long long)r->at);
    if (short_of)
        return lob_fail_file(
            error, LOB_EDATA, r->path,
            "damaged: it holds %llu bytes, but its header asks for %llu; copy it again "
            "from its source",
            (unsigned long long)r->at, (unsigned long long)wanted);
    return LOB_OK;
}

/* ---- inflating at once ---- */

lob_status lob_gunzip(unsigned char *out, size_t n, lob_gzip_rest *rest, const unsigned char *in,
                      size_t size, const char *path, lob_error *error)
{
    *rest = (lob_gzip_rest){0};
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    if (!inflater) return lob_fail_file(error, LOB_ENOMEM, path, "no memory to inflate it");
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
    lob_gzip_reader *r = lob_gzip_reader_new(in, size, path);
    if (!r) return lob_fail_file(error, LOB_ENOMEM, path, "no memory to inflate it");
    lob_gzip_reader_get(r, out, 0, n);
    const lob_status st = lob_gzip_reader_end(r, n, rest, error);
    lob_gzip_reader_free(r);
    return st;
}

/* ---- deflating ---- */

typedef struct {
    const unsigned char *in;
    size_t n;             /* BLOCK, but for the stream's last */
    unsigned char *bytes; /* bound bytes long */
    size_t size;
    uint32_t crc;
} block;

typedef struct {
    z_stream z[2];
    int streams; /* so many of z are open: two where content chooses between them */
    bool (*second)(const unsigned char *bytes, size_t n); /* it takes the second */
} worker;

static bool open_stream(worker *w, int level, int strategy)
{
    if (deflateInit2(&w->z[w->streams], level, Z_DEFLATED, RAW, MEMORY, strategy) != Z_OK)
        return false;
    w->streams++;
    return true;
}

/* Are so many bytes of a thousand what they were `apart` bytes before? */
static bool repeats_after(const unsigned char *bytes, size_t n, size_t apart, size_t thousandths)
{
    enum { STEP = 128 }; /* compilers make vectors of a loop whose length they know */
    size_t alike = 0, i = apart;
    if (n <= apart) return true;
    for (; i + STEP <= n; i += STEP) {
        unsigned char here = 0;
        for (size_t k = 0; k < STEP; k++)
            here = (unsigned char)(here + (bytes[i + k] == bytes[i + k - apart]));
        alike += here;
    }
    for (; i < n; i++) alike += bytes[i] == bytes[i - apart];
    return 1000 * alike >= thousandths * (n - apart);
}

/* Not what 8 bytes before, which hold voxels of 1, 2, 4 and 8 bytes, or 24, of colours, say again.
 */
static bool is_noise(const unsigned char *bytes, size_t n)
{
    return !repeats_after(bytes, n, 8, 750) && !repeats_after(bytes, n, 24, 750);
}

/* All but six bytes of a thousand go on as the byte before: runs say nearly all that there is. */
static bool is_runs(const unsigned char *bytes, size_t n)
{
    return repeats_after(bytes, n, 1, 994);
}

static bool open_worker(worker *w, int level)
{
    enum { SMALL_LEVEL = 6, FAST_LEVEL = 1 };
    const bool labels = level == LOB_GZIP_LABELS, by_content = level == LOB_GZIP_BY_CONTENT;
    w->second = labels ? is_runs : is_noise;
    if (!open_stream(w, labels || by_content ? SMALL_LEVEL : level, Z_DEFAULT_STRATEGY))
        return false;
    if (labels) return open_stream(w, SMALL_LEVEL, Z_RLE);
    return !by_content || open_stream(w, FAST_LEVEL, Z_DEFAULT_STRATEGY);
}

/* Deflate a block behind the `known` bytes of its dictionary; false when zlib fails. */
static bool deflate_block(worker *w, block *b, size_t bound, const unsigned char *dictionary,
                          size_t known, bool last)
{
    z_stream *const z = &w->z[w->streams > 1 && w->second(b->in, b->n)];
    if (deflateReset(z) != Z_OK) return false;
    if (known > 0 && deflateSetDictionary(z, dictionary, (unsigned)known) != Z_OK) return false;
    b->crc = libdeflate_crc32(0, b->in, b->n);
    z->next_in = (unsigned char *)b->in; /* only read through */
    z->avail_in = (unsigned)b->n;
    z->next_out = b->bytes;
    z->avail_out = (unsigned)bound;
    const int result = deflate(z, last ? Z_FINISH : Z_SYNC_FLUSH);
    b->size = bound - z->avail_out;
    return z->avail_in == 0 && z->avail_out > 0 && result == (last ? Z_STREAM_END : Z_OK);
}

/* A stream on its way: blocks are deflated a batch at a time, then written in order. */
struct lob_gzip_writer {
    lob_output *out;
    worker *workers;
    int threads, batch;
    block *blocks; /* batch */
    int count;     /* of them whose bytes are there, */
    size_t have;   /* and how many bytes there are of the next one */
    size_t bound;
    uint64_t size, done; /* bytes of the stream, those that are written */
    bool failed;         /* a batch could not be written: no more are */
    uint32_t crc;
    double *compress_s;
    unsigned char *buffer; /* a batch of blocks that came in pieces */
    unsigned char before[WINDOW];
};

void lob_gzip_writer_free(lob_gzip_writer *w)
{
    if (!w) return;
    for (int i = 0; w->workers && i < w->threads; i++)
        while (w->workers[i].streams > 0) deflateEnd(&w->workers[i].z[--w->workers[i].streams]);
    for (int i = 0; w->blocks && i < w->batch; i++) free(w->blocks[i].bytes);
    LOB_FREE(w->workers, w->blocks, w->buffer, w);
}

static bool deflate_next(lob_gzip_writer *w, worker *by, int i)
{
    block *const b = &w->blocks[i];
    const unsigned char *const before = i > 0 ? b[-1].in + BLOCK - WINDOW : w->before;
    const bool last = w->done + (uint64_t)i * BLOCK + b->n == w->size;
    return deflate_block(by, b, w->bound, before, i > 0 || w->done > 0 ? WINDOW : 0, last);
}

/* Deflate and write the blocks that are there. */
static lob_status write_batch(lob_gzip_writer *w, lob_error *error)
{
    int failed = 0, next = 0;
    const double start_s = lob_clock_s();
#pragma omp parallel for num_threads(w->threads) schedule(static, 1) reduction(+ : failed)
    for (int t = 0; t < w->threads; t++)
        for (;;) {
            int i;
#pragma omp atomic capture
            i = next++;
            if (i >= w->count) break;
            failed += !deflate_next(w, &w->workers[t], i);
        }
    *w->compress_s += lob_clock_s() - start_s;
    if (failed) return lob_fail_file(error, LOB_EINTERNAL, w->out->path, "zlib failed to deflate");
    for (int i = 0; i < w->count; i++) {
        const block *const b = &w->blocks[i];
        w->crc = (uint32_t)crc32_combine(w->crc, b->crc, (z_off_t)b->n);
        w->done += b->n;
        LOB_TRY(lob_output_write(w->out, b->bytes, b->size, error));
    }
    const block *const last = &w->blocks[w->count - 1];
    w->count = 0;
    if (w->done < w->size) {
        memcpy(w->before, last->in + BLOCK - WINDOW, WINDOW);
        return LOB_OK;
    }
    unsigned char tail[8];
    lob_put_little_number(tail, w->crc, 4);
    lob_put_little_number(tail + 4, w->size, 4); /* modulo 2^32, as the format has it */
    return lob_output_write(w->out, tail, sizeof tail, error);
}

/* All that deflating needs; NULL when there is no memory. */
static lob_gzip_writer *make_writer(lob_output *out, uint64_t size, int level, int threads,
                                    double *compress_s)
{
    lob_gzip_writer *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    const uint64_t blocks = size == 0 ? 1 : (size - 1) / BLOCK + 1;
    w->out = out;
    w->size = size;
    w->compress_s = compress_s;
    w->batch = blocks < BATCH ? (int)blocks : BATCH;
    w->threads = threads > w->batch ? w->batch : threads < 1 ? 1 : threads;
    w->workers = calloc((size_t)w->threads, sizeof *w->workers);
    w->blocks = calloc((size_t)w->batch, sizeof *w->blocks);
    w->buffer = malloc((size_t)w->batch * BLOCK);
    if (!w->workers || !w->blocks || !w->buffer) goto failed;
    for (int i = 0; i < w->threads; i++)
        if (!open_worker(&w->workers[i], level)) goto failed;
    for (int i = 0; i < w->workers[0].streams; i++) {
        const size_t bound = deflateBound(&w->workers[0].z[i], BLOCK) + 16; /* a flush's mark */
        if (bound > w->bound) w->bound = bound;
    }
    for (int i = 0; i < w->batch; i++)
        if (!(w->blocks[i].bytes = malloc(w->bound))) goto failed;
    return w;
failed:
    lob_gzip_writer_free(w);
    return NULL;
}

lob_status lob_gzip_writer_begin(lob_gzip_writer **writer, lob_output *out, uint64_t size,
                                 int level, int threads, double *compress_s, lob_error *error)
{
    /* Magic, deflate, no flags, time 0, effort as gzip notes it, "unknown" system. */
    const unsigned char head[HEAD] = {0x1f, 0x8b, 8,
                                      [8] = level == 9   ? 2
                                            : level == 1 ? 4
                                                         : 0,
                                      255};
    lob_gzip_writer *w = *writer = make_writer(out, size, level, threads, compress_s);
    if (!w) return lob_fail_file(error, LOB_ENOMEM, out->path, "no memory to compress it");
    lob_status st = lob_output_write(out, head, HEAD, error);
    if (st == LOB_OK && size == 0) {
        w->blocks[w->count++].in = w->buffer;
        st = write_batch(w, error);
    }
    if (st == LOB_OK) return st;
    lob_gzip_writer_free(w);
    *writer = NULL;
    return st;
}

lob_status lob_gzip_writer_put(lob_gzip_writer *w, const void *bytes, size_t n, lob_error *error)
{
    const unsigned char *from = bytes;
    if (w->failed) return lob_fail_file(error, LOB_EIO, w->out->path, "an earlier write failed");
    while (n > 0) {
        const uint64_t left = w->size - w->done - (uint64_t)w->count * BLOCK;
        block *const b = &w->blocks[w->count];
        b->n = left < BLOCK ? (size_t)left : BLOCK;
        const size_t wanted = b->n - w->have, some = n < wanted ? n : wanted;
        if (some == 0)
            return lob_fail_file(error, LOB_EINTERNAL, w->out->path, "more bytes than announced");
        /* Whole blocks are not copied where these bytes fill the batch or end the stream. */
        const bool in_place =
            n == left - w->have || n + w->have >= (size_t)(w->batch - w->count) * BLOCK;
        b->in = in_place && some == b->n ? from : w->buffer + (size_t)w->count * BLOCK;
        if (b->in != from) memcpy((unsigned char *)b->in + w->have, from, some);
        from += some;
        n -= some;
        w->have = some < wanted ? w->have + some : 0;
        if (w->have > 0) break;
        w->count++;
        if (w->count < w->batch && left > b->n) continue;
        const lob_status st = write_batch(w, error);
        w->failed = st != LOB_OK;
        if (w->failed) return st;
    }
    return LOB_OK;
}

lob_status lob_gzip_write(lob_output *out, const void *bytes, size_t size, int level, int threads,
                          double *compress_s, lob_error *error)
{
    lob_gzip_writer *w;
    LOB_TRY(lob_gzip_writer_begin(&w, out, size, level, threads, compress_s, error));
    const lob_status st = lob_gzip_writer_put(w, bytes, size, error);
    lob_gzip_writer_free(w);
    return st;
}
