/* Inflating one gzip member by several threads: pieces are inflated apart, then joined in order. */
#include "io/gunzip_threads.h"

#include "io/byte_order.h"
#include "io/deflate_piece.h"
#include "io/gzip.h"
#include "volumes/free.h"

#include <libdeflate.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    LEAST_THREADS = 4, /* one thread alone is a third to a half as fast as libdeflate */
    LEAST_BYTES = 2 << 20,
    SEARCH_BYTES = 256 << 10,   /* of the stream: more than compressors put into a block */
    MOST_TRIES = 4,             /* at what looks like a block; a second one is hardly ever needed */
    PIECE_BYTES = 2 << 20,      /* of the stream, that a thread inflates at a time, */
    MOST_PIECE_BYTES = 32 << 20 /* and the most that it may turn out to be */
};

/* What is known where a piece ends. */
typedef struct {
    uint64_t bit; /* in the deflate stream, */
    uint64_t at;  /* and in the bytes that come out */
    unsigned char window[LOB_PIECE_WINDOW];
    size_t known; /* bytes at the end of window that are there */
    bool final;   /* the stream has ended */
} joint;

typedef struct {
    const unsigned char *in; /* the deflate stream, and what follows it */
    size_t size;
    size_t piece; /* bytes of in */
    int64_t pieces;
    unsigned char *out, *head;
    size_t n, skip;
    uint32_t *crc; /* of pieces */
    uint64_t *length;

    joint joint; /* of the pieces that have been joined; belongs to the thread whose turn it is */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t moved;
    int64_t next, joined; /* piece to be taken, and to be joined */
    bool over, failed;    /* the stream has ended */
} work;

static const uint64_t NOWHERE = UINT64_MAX; /* no bit of a stream */

/* Where a piece is searched for, as a bit. */
static uint64_t begin_of(const work *w, int64_t piece)
{
    return piece >= w->pieces ? UINT64_MAX : (uint64_t)piece * w->piece * 8;
}

static uint64_t give_up_at(const work *w, int64_t piece)
{
    return (uint64_t)(piece + 3) * w->piece * 8;
}

/* Inflate a piece from what looks like the first block in it on. Returns its first bit, or
 * NOWHERE when nothing there can be inflated. */
static uint64_t inflate_apart(const work *w, lob_piece *p, int64_t piece)
{
    const uint64_t begin = begin_of(w, piece), all = w->size * 8;
    const uint64_t end = begin + SEARCH_BYTES * 8 < all ? begin + SEARCH_BYTES * 8 : all;
    uint64_t bit = begin;
    for (int i = 0; i < MOST_TRIES; i++, bit++) {
        bit = lob_piece_find(p, w->in, w->size, bit, end);
        if (bit >= end) break;
        lob_piece_begin(p);
        if (lob_piece_inflate(p, w->in, w->size, bit, begin_of(w, piece + 1), give_up_at(w, piece)))
            return bit;
    }
    return NOWHERE;
}

/* Symbols of a piece into their place, part of which may be in head. */
static bool put(const work *w, const lob_piece *p, uint64_t at, const unsigned char *window,
                size_t known, uint32_t *crc)
{
    const uint16_t *from = p->symbols + LOB_PIECE_WINDOW;
    size_t n = p->used - LOB_PIECE_WINDOW;
    bool sound = true;
    *crc = 0;
    if (at < w->skip) {
        const size_t some = w->skip - at < n ? (size_t)(w->skip - at) : n;
        sound = lob_piece_bytes(w->head + at, from, some, window, known);
        *crc = libdeflate_crc32(*crc, w->head + at, some);
        from += some;
        at += some;
        n -= some;
    }
    /* a step at a time, so that the checksum reads what is still in the cache */
    for (size_t step; n > 0; n -= step, from += step, at += step) {
        step = n < (64 << 10) ? n : 64 << 10;
        unsigned char *const to = w->out + (at - w->skip);
        sound = lob_piece_bytes(to, from, step, window, known) && sound;
        *crc = libdeflate_crc32(*crc, to, step);
    }
    return sound;
}

/* The last bytes of window and piece become the window of the next one. */
static bool move_window(joint *j, const lob_piece *p)
{
    const size_t n = p->used - LOB_PIECE_WINDOW;
    unsigned char next[LOB_PIECE_WINDOW];
    const size_t fresh = n < LOB_PIECE_WINDOW ? n : LOB_PIECE_WINDOW;
    const size_t kept = LOB_PIECE_WINDOW - fresh;
    memcpy(next, j->window + fresh, kept);
    if (!lob_piece_bytes(next + kept, p->symbols + p->used - fresh, fresh, j->window, j->known))
        return false;
    memcpy(j->window, next, sizeof next);
    j->known = j->known + fresh < LOB_PIECE_WINDOW ? j->known + fresh : LOB_PIECE_WINDOW;
    return true;
}

/*
 * Join a piece to those before it, whose turn it is: inflate it again, from where they end, if it
 * began elsewhere. Leaves in before what was known at its begin.
 */
static bool join(work *w, lob_piece *p, int64_t piece, uint64_t begin, joint *before)
{
    joint *const j = &w->joint;
    *before = *j;
    if (j->final || j->bit >= begin_of(w, piece + 1)) { /* nothing of the stream is left to it */
        p->used = LOB_PIECE_WINDOW;
        return true;
    }
    if (begin != j->bit) {
        lob_piece_begin_after(p, j->window, j->known);
        if (!lob_piece_inflate(p, w->in, w->size, j->bit, begin_of(w, piece + 1),
                               give_up_at(w, piece)))
            return false;
    }
    const uint64_t length = p->used - LOB_PIECE_WINDOW;
    if (length > w->skip + w->n - j->at || !move_window(j, p)) return false;
    w->length[piece] = length;
    j->bit = p->end_bit;
    j->at += length;
    j->final = p->final;
    return true;
}

/* Wait for the turn of a piece; false when it will not come. */
static bool wait_for_turn(work *w, int64_t piece)
{
    pthread_mutex_lock(&w->lock);
    while (!w->failed && w->joined < piece) pthread_cond_wait(&w->moved, &w->lock);
    const bool failed = w->failed;
    pthread_mutex_unlock(&w->lock);
    return !failed;
}

static void end_turn(work *w, bool sound)
{
    pthread_mutex_lock(&w->lock);
    w->joined++;
    w->failed = w->failed || !sound;
    w->over = w->joint.final;
    pthread_cond_broadcast(&w->moved);
    pthread_mutex_unlock(&w->lock);
}

/* A mark that stands for nothing has come to light after the turn of its piece. */
static void fail(work *w)
{
    pthread_mutex_lock(&w->lock);
    w->failed = true;
    pthread_cond_broadcast(&w->moved);
    pthread_mutex_unlock(&w->lock);
}

static int64_t take_piece(work *w)
{
    pthread_mutex_lock(&w->lock);
    const bool over = w->failed || w->over || w->next >= w->pieces;
    const int64_t piece = over ? -1 : w->next++;
    pthread_mutex_unlock(&w->lock);
    return piece;
}

static void inflate_pieces(work *w)
{
    lob_piece p;
    joint *const before = malloc(sizeof *before);
    const bool made = lob_piece_make(&p, PIECE_BYTES, MOST_PIECE_BYTES) && before;
    for (int64_t piece; (piece = take_piece(w)) >= 0;) {
        uint64_t begin = 0;
        if (made && piece > 0) begin = inflate_apart(w, &p, piece);
        if (piece == 0) begin = NOWHERE; /* its window is known, and empty */
        if (!wait_for_turn(w, piece)) break;
        const bool sound = made && join(w, &p, piece, begin, before);
        end_turn(w, sound);
        if (!sound) break;
        if (!put(w, &p, before->at, before->window, before->known, &w->crc[piece])) {
            fail(w);
        }
    }
    lob_piece_free(&p);
    free(before);
}

/* Bytes of the header of a gzip member (RFC 1952); 0 when it is none or does not end. */
static size_t header_bytes(const unsigned char *in, size_t size)
{
    enum { CRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16 };
    size_t at = 10;
    if (size < 18 || !lob_is_gzip(in, size) || in[2] != 8 || in[3] > 31) return 0;
    if (in[3] & EXTRA) {
        if (size < 12) return 0;
        at += 2 + lob_little_number(in + 10, 2);
    }
    for (int text = 0; text < 2; text++) {
        if (!(in[3] & (text == 0 ? NAME : COMMENT))) continue;
        while (at < size && in[at]) at++;
        at++;
    }
    if (in[3] & CRC) at += 2;
    return at + 8 <= size ? at : 0;
}

/* Do the checksums of the pieces make that of the file, and is nothing else to be inflated? */
static bool is_whole(const work *w, size_t *trailing)
{
    const joint *const j = &w->joint;
    const size_t end = (size_t)((j->bit + 7) / 8);
    if (w->failed || !j->final || j->at != w->skip + w->n || end + 8 > w->size) return false;
    uint32_t crc = 0;
    for (int64_t i = 0; i < w->pieces; i++)
        if (w->length[i] > 0) crc = (uint32_t)crc32_combine(crc, w->crc[i], (z_off_t)w->length[i]);
    *trailing = w->size - end - 8;
    return crc == lob_little_number(w->in + end, 4) &&
           (uint32_t)j->at == lob_little_number(w->in + end + 4, 4) &&
           !lob_is_gzip(w->in + end + 8, *trailing);
}

/* Bytes of the file that make PIECE_BYTES of the stream on average. */
static size_t piece_size(size_t size, size_t out_size)
{
    const double share = (double)size / (double)out_size;
    const size_t bytes = (size_t)(PIECE_BYTES * (share < 1 ? share : 1));
    return bytes < (16 << 10) ? 16 << 10 : bytes;
}

bool lob_gunzip_is_long(size_t size, int threads)
{
    return threads >= LEAST_THREADS && size >= LEAST_BYTES;
}

bool lob_gunzip_threads(unsigned char *out, size_t n, unsigned char *head, size_t skip,
                        size_t *trailing, const unsigned char *in, size_t size, int threads)
{
    const size_t header = header_bytes(in, size);
    if (!lob_gunzip_is_long(size, threads) || header == 0 || n > SIZE_MAX - skip) return false;
    work w = {.in = in + header,
              .size = size - header,
              .out = out,
              .head = head,
              .n = n,
              .skip = skip,
              .lock = PTHREAD_MUTEX_INITIALIZER,
              .moved = PTHREAD_COND_INITIALIZER};
    w.piece = piece_size(w.size, n + skip);
    w.pieces = (int64_t)((w.size + w.piece - 1) / w.piece);
    w.crc = calloc((size_t)w.pieces, sizeof *w.crc);
    w.length = calloc((size_t)w.pieces, sizeof *w.length);
    bool whole = false;
    if (w.crc && w.length) {
#pragma omp parallel num_threads(threads)
        inflate_pieces(&w);
        whole = is_whole(&w, trailing);
    }
    LOB_FREE(w.crc, w.length);
    return whole;
}
