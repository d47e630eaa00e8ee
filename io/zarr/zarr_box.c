/* Pieces of a Zarr array: found in their files, unpacked in threads, put where they belong. */
#include "io/zarr/zarr_box.h"

#include "io/byte_order.h"
#include "io/platform.h"
#include "volumes/blocks.h"
#include "volumes/free.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)LOB_ZARR_DIMS <= (int)LOB_BLOCK_AXES, "a piece is a block");

/* Bytes that a piece may be packed to: what does not shrink grows by less. */
enum { GROWTH = 1 << 16, NAME = 160 };

typedef struct {
    const lob_zarr_array *array;
    const char *folder, *path;
    const int64_t *from, *size;            /* the box */
    int64_t first[LOB_ZARR_DIMS];          /* number of the box's first piece along each axis */
    int64_t pieces[LOB_ZARR_DIMS];         /* how many it meets */
    int64_t in_file[LOB_ZARR_DIMS];        /* pieces in a file along each axis */
    size_t word, piece_bytes, index_bytes; /* index_bytes: 0 without shards */
    unsigned char *out;
} reading;

/* What a thread has at hand: the file of the last piece, and memory. */
typedef struct {
    const reading *r;
    int64_t file[LOB_ZARR_DIMS]; /* the one that is open, or known not to be there; -1: none */
    int fd;
    int64_t file_bytes;
    unsigned char *index, *packed, *piece;
    size_t packed_room;
    char name[NAME];
    lob_error *error;
} hand;

/* Which place is the nth of so many along each axis, from the first on? */
static void find_nth(int64_t at[LOB_ZARR_DIMS], const int64_t first[LOB_ZARR_DIMS],
                     const int64_t count[LOB_ZARR_DIMS], int64_t nth)
{
    for (int d = LOB_ZARR_DIMS - 1; d >= 0; d--) {
        at[d] = first[d] + nth % count[d];
        nth /= count[d];
    }
}

/* The name of the file that holds these places, below the array's folder: "c/0/0/0". */
static void name_file(char name[NAME], const lob_zarr_array *array,
                      const int64_t file[LOB_ZARR_DIMS])
{
    size_t used = array->with_c ? (size_t)snprintf(name, NAME, "c") : 0;
    for (int d = 0; d < LOB_ZARR_DIMS; d++) {
        if (!array->present[d]) continue;
        const char between[2] = {used ? array->separator : '\0', '\0'};
        used += (size_t)snprintf(name + used, NAME - used, "%s%lld", between, (long long)file[d]);
    }
}

static lob_status damaged(const hand *h, const char *what)
{
    return lob_fail_file(h->error, LOB_EDATA, h->r->path, "damaged Zarr: %s in %s", what, h->name);
}

static lob_status read_at(const hand *h, unsigned char *out, size_t n, int64_t offset)
{
    for (size_t have = 0; have < n;) {
        const int64_t got = lob_fd_read_at(h->fd, out + have, n - have, offset + (int64_t)have);
        if (got < 0)
            return lob_fail_file(h->error, LOB_EIO, h->r->path, "%s cannot be read: %s", h->name,
                                 ERRNO_TEXT(errno));
        if (got == 0) return damaged(h, "the file is cut short");
        have += (size_t)got;
    }
    return LOB_OK;
}

static lob_status read_index(hand *h)
{
    const size_t sum = h->r->array->index_summed ? 4 : 0, n = h->r->index_bytes;
    unsigned char stored[4];
    if (n + sum > (uint64_t)h->file_bytes) return damaged(h, "there is no index");
    const int64_t at = h->r->array->index_first ? 0 : h->file_bytes - (int64_t)(n + sum);
    if (!h->index) h->index = malloc(n);
    if (!h->index) return lob_fail_file(h->error, LOB_ENOMEM, h->r->path, "no memory");
    LOB_TRY(read_at(h, h->index, n, at));
    if (!sum) return LOB_OK;
    LOB_TRY(read_at(h, stored, sizeof stored, at + (int64_t)n));
    return lob_little_number(stored, 4) == lob_crc32c(h->index, n)
               ? LOB_OK
               : damaged(h, "the index has another checksum");
}

/* Open the file that a piece is in, unless it is open; h->fd is -1 where it is not stored. */
static lob_status open_other(hand *h, const int64_t file[LOB_ZARR_DIMS])
{
    lob_about about;
    if (h->fd >= 0) lob_fd_close(h->fd);
    h->fd = -1;
    name_file(h->name, h->r->array, file);
    char *const path = lob_zarr_below(h->r->folder, h->name);
    if (!path) return lob_fail_file(h->error, LOB_ENOMEM, h->r->path, "no memory");
    h->fd = lob_open_to_read(path, true);
    const int why = errno;
    free(path);
    if (h->fd < 0)
        return why == ENOENT ? LOB_OK
                             : lob_fail_file(h->error, LOB_EIO, h->r->path,
                                             "%s cannot be opened: %s", h->name, ERRNO_TEXT(why));
    if (!lob_about_open(&about, h->fd) || !about.is_file) return damaged(h, "there is no file");
    h->file_bytes = about.bytes;
    return h->r->index_bytes ? read_index(h) : LOB_OK;
}

static lob_status open_file(hand *h, const int64_t file[LOB_ZARR_DIMS])
{
    if (memcmp(h->file, file, sizeof h->file) == 0) return LOB_OK;
    h->file[0] = -1; /* none, unless all goes well */
    LOB_TRY(open_other(h, file));
    memcpy(h->file, file, sizeof h->file);
    return LOB_OK;
}

/* Undo the chain of codecs: packed bytes, n of them, become a piece. */
static lob_status unpack(const hand *h, const unsigned char **piece, size_t n)
{
    const lob_zarr_array *const a = h->r->array;
    unsigned char *bytes = h->packed;
    for (int i = a->codecs - 1; i >= 0; i--) {
        if (a->chain[i] != LOB_ZARR_CRC32C) { /* those before it are sums, of four bytes each */
            const size_t room = h->r->piece_bytes + 4 * (size_t)i;
            if (!lob_zarr_unpack(a->chain[i], h->piece, room, bytes, n))
                return damaged(h, "a chunk does not unpack");
            bytes = h->piece;
            n = room;
            continue;
        }
        if (n < 4) return damaged(h, "a chunk is cut short");
        n -= 4;
        if (lob_little_number(bytes + n, 4) != lob_crc32c(bytes, n))
            return damaged(h, "a chunk has another checksum");
    }
    if (n != h->r->piece_bytes) return damaged(h, "a chunk has another size");
    if (a->swapped) lob_swap_words(bytes, n, h->r->word);
    *piece = bytes;
    return LOB_OK;
}

/* The bytes of a piece; NULL: it is not stored. */
static lob_status read_piece(hand *h, const unsigned char **piece, const int64_t at[LOB_ZARR_DIMS])
{
    const reading *const r = h->r;
    int64_t file[LOB_ZARR_DIMS], inside = 0;
    *piece = NULL;
    for (int d = 0; d < LOB_ZARR_DIMS; d++) {
        file[d] = at[d] / r->in_file[d];
        inside = inside * r->in_file[d] + at[d] % r->in_file[d];
    }
    LOB_TRY(open_file(h, file));
    if (h->fd < 0) return LOB_OK;
    uint64_t offset = 0, bytes = (uint64_t)h->file_bytes;
    if (r->index_bytes) {
        offset = lob_little_number(h->index + inside * LOB_ZARR_ENTRY, 8);
        bytes = lob_little_number(h->index + inside * LOB_ZARR_ENTRY + 8, 8);
        if (offset == UINT64_MAX && bytes == UINT64_MAX) return LOB_OK;
    }
    if (offset > (uint64_t)h->file_bytes || bytes > (uint64_t)h->file_bytes - offset)
        return damaged(h, "a chunk lies beyond the end");
    if (bytes > 2 * r->piece_bytes + GROWTH) return damaged(h, "a chunk is too large");
    if (bytes > h->packed_room) {
        free(h->packed);
        h->packed = malloc(bytes);
        h->packed_room = h->packed ? bytes : 0;
    }
    if (!h->piece) h->piece = malloc(r->piece_bytes + 4 * LOB_ZARR_CHAIN);
    if ((bytes && !h->packed) || !h->piece)
        return lob_fail_file(h->error, LOB_ENOMEM, r->path, "no memory to unpack it");
    LOB_TRY(read_at(h, h->packed, bytes, (int64_t)offset));
    return unpack(h, piece, bytes);
}

/* Copy what a piece has of the box; NULL: it is not stored. */
static void place(const reading *r, const unsigned char *piece, const int64_t at[LOB_ZARR_DIMS])
{
    lob_block box = {.data = r->out}, of_piece = {.data = (void *)piece};
    for (int d = 0; d < LOB_ZARR_DIMS; d++) {
        box.first[d] = r->from[d];
        box.size[d] = r->size[d];
        of_piece.first[d] = at[d] * r->array->piece[d];
        of_piece.size[d] = r->array->piece[d];
    }
    lob_block_copy(&box, &of_piece, LOB_ZARR_DIMS, r->word, r->array->fill);
}

static void release(hand *h)
{
    if (h->fd >= 0) lob_fd_close(h->fd);
    LOB_FREE(h->index, h->packed, h->piece);
}

/* To read a box, or to look which of its pieces are there. */
static reading begin(const lob_zarr_array *array, const char *folder,
                     const int64_t from[LOB_ZARR_DIMS], const int64_t size[LOB_ZARR_DIMS],
                     const char *path)
{
    reading r = {.array = array,
                 .folder = folder,
                 .path = path,
                 .from = from,
                 .size = size,
                 .word = lob_type_of(array->type)->bytes};
    for (int d = 0; d < LOB_ZARR_DIMS; d++) {
        r.first[d] = from[d] / array->piece[d];
        r.pieces[d] = (from[d] + size[d] - 1) / array->piece[d] - r.first[d] + 1;
        r.in_file[d] = array->file[d] / array->piece[d];
    }
    r.piece_bytes = (size_t)lob_zarr_places(array->piece) * r.word;
    if (array->sharded) r.index_bytes = (size_t)lob_zarr_places(r.in_file) * LOB_ZARR_ENTRY;
    return r;
}

/* Numbers of the first and the last piece along each axis. */
typedef struct {
    int64_t low[LOB_ZARR_DIMS], high[LOB_ZARR_DIMS];
} range;

/* Widen the range by the pieces that are stored in the file that is open. */
static void find_stored(range *found, const hand *h)
{
    const reading *const r = h->r;
    const int64_t count = r->index_bytes ? lob_zarr_places(r->in_file) : 1;
    int64_t first[LOB_ZARR_DIMS];
    for (int d = 0; d < LOB_ZARR_DIMS; d++) first[d] = h->file[d] * r->in_file[d];
    for (int64_t i = 0; i < count; i++) {
        int64_t at[LOB_ZARR_DIMS];
        if (r->index_bytes && lob_little_number(h->index + i * LOB_ZARR_ENTRY, 8) == UINT64_MAX)
            continue;
        find_nth(at, first, r->in_file, i);
        for (int d = 0; d < LOB_ZARR_DIMS; d++) {
            if (at[d] < found->low[d]) found->low[d] = at[d];
            if (at[d] > found->high[d]) found->high[d] = at[d];
        }
    }
}

lob_status lob_zarr_narrow(int64_t from[LOB_ZARR_DIMS], int64_t size[LOB_ZARR_DIMS],
                           const lob_zarr_array *array, const char *folder,
                           const lob_read_options *options, const char *path, lob_error *error)
{
    const reading r = begin(array, folder, from, size, path);
    hand h = {.r = &r, .file = {-1}, .fd = -1, .error = error};
    int64_t first[LOB_ZARR_DIMS], files[LOB_ZARR_DIMS];
    range found;
    lob_status st = LOB_OK;
    if (!lob_all_zero(array->fill, r.word)) return LOB_OK;
    for (int d = 0; d < LOB_ZARR_DIMS; d++) {
        first[d] = r.first[d] / r.in_file[d];
        files[d] = (r.first[d] + r.pieces[d] - 1) / r.in_file[d] - first[d] + 1;
        found.low[d] = INT64_MAX;
        found.high[d] = -1;
    }
    for (int64_t i = 0; st == LOB_OK && i < lob_zarr_places(files); i++) {
        int64_t file[LOB_ZARR_DIMS];
        find_nth(file, first, files, i);
        const bool stops = options->stop && options->stop(options->user) != 0;
        st = stops ? lob_fail(error, LOB_ECANCEL, "cancelled") : open_file(&h, file);
        if (st == LOB_OK && h.fd >= 0) find_stored(&found, &h);
    }
    release(&h);
    for (int d = 0; st == LOB_OK && d < LOB_ZARR_DIMS; d++) {
        const int64_t low = found.low[d] == INT64_MAX ? 0 : found.low[d] * array->piece[d];
        const int64_t high = (found.high[d] + 1) * array->piece[d], end = from[d] + size[d];
        if (low > from[d]) from[d] = low;
        size[d] = (high < end ? high : end) - from[d];
        if (size[d] < 0) size[d] = 0;
    }
    return st;
}

lob_status lob_zarr_read_box(void *out, const lob_zarr_array *array, const char *folder,
                             const int64_t from[LOB_ZARR_DIMS], const int64_t size[LOB_ZARR_DIMS],
                             int threads, const char *path, lob_error *error)
{
    reading r = begin(array, folder, from, size, path);
    r.out = out;
    const int64_t count = lob_zarr_places(r.pieces);
    int64_t failed = count; /* the first piece that failed */
    lob_status st = LOB_OK;
#pragma omp parallel num_threads(count < threads ? (int)count : threads)
    {
        lob_error own;
        hand h = {.r = &r, .file = {-1}, .fd = -1, .error = &own};
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < count; i++) {
            int64_t at[LOB_ZARR_DIMS];
            const unsigned char *piece;
            int64_t first_failed;
#pragma omp atomic read
            first_failed = failed;
            if (i > first_failed) continue;
            find_nth(at, r.first, r.pieces, i);
            const lob_status here = read_piece(&h, &piece, at);
            if (here == LOB_OK) {
                if (piece || !lob_all_zero(array->fill, r.word)) place(&r, piece, at);
                continue;
            }
#pragma omp critical(lob_zarr)
            if (i < failed) {
#pragma omp atomic write
                failed = i;
                st = here;
                if (error) *error = own;
            }
        }
        release(&h);
    }
    return st;
}
