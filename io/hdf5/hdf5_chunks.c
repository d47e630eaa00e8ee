/* A block of an HDF5 data set: its chunks read raw and unpacked in threads, or HDF5 reads it. */
#include "io/hdf5/hdf5_parts.h"

#include "io/byte_order.h"
#include "io/hdf5/sandbox_inside.h"
#include "volumes/blocks.h"
#include "volumes/free.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILTERS = 4, CHECKSUM_BYTES = 4 };

/* How the chunks of a data set are packed. */
typedef struct {
    const lob_hdf5_view *view;
    const lob_hdf5_block *block;
    size_t bytes; /* of a number */
    hsize_t chunk[LOB_HDF5_MAX_AXES];
    size_t chunk_bytes;
    int filters; /* in the order in which they packed */
    H5Z_filter_t filter[MAX_FILTERS];
    bool swapped; /* numbers are in the other byte order */
    unsigned char fill[8];
} packing;

typedef struct {
    hsize_t offset[LOB_HDF5_MAX_AXES];
    unsigned char *packed; /* NULL: never written, so the fill value stands */
    size_t packed_bytes;
    uint32_t skipped; /* a bit for each filter that this chunk went without */
    bool bad;
} raw_chunk;

typedef struct {
    const packing *packing;
    raw_chunk *chunks;
} chunk_work;

bool lob_hdf5_chunk(hsize_t chunk[LOB_HDF5_MAX_AXES], const lob_hdf5_view *view)
{
    const hid_t plist = H5Dget_create_plist(view->set);
    const bool chunked = H5Pget_layout(plist) == H5D_CHUNKED &&
                         H5Pget_chunk(plist, LOB_HDF5_MAX_AXES, chunk) == view->rank;
    H5Pclose(plist);
    return chunked;
}

/* Are the stored numbers those in memory, or would be in the other byte order? */
static bool same_numbers(bool *swapped, const lob_hdf5_view *view)
{
    const hid_t stored = H5Dget_type(view->set), other = H5Tcopy(view->native);
    bool same = H5Tequal(stored, view->native) > 0;
    *swapped = !same && H5Tset_order(other, H5T_ORDER_BE) >= 0 && H5Tequal(stored, other) > 0;
    same = same || *swapped;
    H5Tclose(other);
    H5Tclose(stored);
    return same;
}

_Static_assert((int)LOB_HDF5_MAX_AXES <= (int)LOB_BLOCK_AXES, "a chunk is a block");

/*
 * Can we unpack the chunks? Those of shuffle, deflate (once, so that sizes are known) and
 * fletcher32. Files may leave chunks at the edges unfiltered without saying so in their masks.
 */
static bool plan(packing *p)
{
    const hid_t plist = H5Dget_create_plist(p->view->set);
    unsigned options = 0;
    p->filters = H5Pget_nfilters(plist);
    bool ok = lob_hdf5_chunk(p->chunk, p->view) && same_numbers(&p->swapped, p->view) &&
              p->filters >= 0 && p->filters <= MAX_FILTERS &&
              H5Pget_chunk_opts(plist, &options) >= 0 && options == 0;
    int deflates = 0;
    for (int i = 0; ok && i < p->filters; i++) {
        unsigned flags, config;
        size_t values = 0;
        p->filter[i] = H5Pget_filter2(plist, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
        deflates += p->filter[i] == H5Z_FILTER_DEFLATE;
        ok = p->filter[i] == H5Z_FILTER_SHUFFLE || p->filter[i] == H5Z_FILTER_FLETCHER32 ||
             (p->filter[i] == H5Z_FILTER_DEFLATE && deflates == 1);
    }
    p->chunk_bytes = p->bytes;
    for (int i = 0; ok && i < p->view->rank; i++) p->chunk_bytes *= (size_t)p->chunk[i];
    H5Pclose(plist);
    return ok;
}

static bool read_by_library(const lob_hdf5_view *view, const lob_hdf5_block *block)
{
    const hid_t file = H5Dget_space(view->set);
    const hid_t memory = H5Screate_simple(view->rank, block->count, NULL);
    const bool ok =
        H5Sselect_hyperslab(file, H5S_SELECT_SET, block->start, NULL, block->count, NULL) >= 0 &&
        H5Dread(view->set, view->native, memory, file, H5P_DEFAULT, block->buffer) >= 0;
    H5Sclose(memory);
    H5Sclose(file);
    return ok;
}

/* ---- filters, undone ---- */

/* Written for each size of numbers, so that compilers turn it into vectors. */
static inline void unshuffle_of(unsigned char *restrict out, const unsigned char *restrict in,
                                size_t count, size_t bytes)
{
    for (size_t i = 0; i < count; i++) {
#ifndef __clang__ /* which makes vectors of it only without */
#pragma GCC unroll 8
#endif
        for (size_t b = 0; b < bytes; b++) out[i * bytes + b] = in[b * count + i];
    }
}

static void unshuffle(unsigned char *out, const unsigned char *in, size_t n, size_t bytes)
{
    const size_t count = n / bytes;
    if (bytes == 2)
        unshuffle_of(out, in, count, 2);
    else if (bytes == 4)
        unshuffle_of(out, in, count, 4);
    else
        unshuffle_of(out, in, count, 8);
    memcpy(out + count * bytes, in + count * bytes, n - count * bytes);
}

/* Fletcher's checksum of big-endian 16-bit words, modulo 65535, as HDF5 computes it. */
static uint32_t fletcher32(const unsigned char *bytes, size_t n)
{
    enum { WORDS = 360 }; /* as many as fit before the second sum overflows */
    uint32_t sum1 = 0, sum2 = 0;
    for (size_t words = n / 2; words > 0;) {
        const size_t some = words < WORDS ? words : WORDS;
        for (size_t i = 0; i < some; i++, bytes += 2) {
            sum1 += (uint32_t)bytes[0] << 8 | bytes[1];
            sum2 += sum1;
        }
        sum1 = (sum1 & 0xffff) + (sum1 >> 16);
        sum2 = (sum2 & 0xffff) + (sum2 >> 16);
        words -= some;
    }
    if (n % 2) {
        sum1 += (uint32_t)bytes[0] << 8;
        sum2 += sum1;
        sum1 = (sum1 & 0xffff) + (sum1 >> 16);
        sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    }
    sum1 = (sum1 & 0xffff) + (sum1 >> 16);
    sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    return sum2 << 16 | sum1;
}

/* The checksum behind n bytes; early releases of HDF5 wrote the bytes of its halves swapped. */
static bool is_sound(const unsigned char *bytes, size_t n)
{
    const uint64_t stored = lob_little_number(bytes + n, 4);
    const uint32_t sum = fletcher32(bytes, n);
    return stored == sum || stored == ((sum & 0x00ff00ff) << 8 | (sum & 0xff00ff00) >> 8);
}

static bool inflate(unsigned char *out, size_t *n, size_t room, const unsigned char *in)
{
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    const bool ok = inflater && libdeflate_zlib_decompress(inflater, in, *n, out, room, n) ==
                                    LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(inflater);
    return ok;
}

/*
 * Undo the filters, the last first. `room` has two buffers of chunk_bytes and the checksums that
 * deflate may have packed. Returns the numbers, in the chunk's own memory or in one of the two;
 * NULL when they are damaged.
 */
static unsigned char *unpack(const packing *p, raw_chunk *chunk, unsigned char *room[2])
{
    const size_t most = p->chunk_bytes + MAX_FILTERS * CHECKSUM_BYTES;
    unsigned char *at = chunk->packed;
    size_t n = chunk->packed_bytes;
    for (int i = p->filters - 1; i >= 0; i--) {
        if (chunk->skipped >> i & 1) continue;
        unsigned char *out = at == room[0] ? room[1] : room[0];
        switch (p->filter[i]) {
        case H5Z_FILTER_FLETCHER32:
            if (n < CHECKSUM_BYTES || !is_sound(at, n - CHECKSUM_BYTES)) return NULL;
            n -= CHECKSUM_BYTES;
            break;
        case H5Z_FILTER_DEFLATE:
            if (!inflate(out, &n, most, at)) return NULL;
            at = out;
            break;
        default:
            if (p->bytes == 1) break;
            if (n > most) return NULL;
            unshuffle(out, at, n, p->bytes);
            at = out;
        }
    }
    return n == p->chunk_bytes ? at : NULL;
}

/* ---- chunks ---- */

/* Copy the part of a chunk that lies in the block; in NULL stands for the fill value. */
static void place(const packing *p, const raw_chunk *chunk, unsigned char *in)
{
    lob_block block = {.data = p->block->buffer}, of_chunk = {.data = in};
    for (int i = 0; i < p->view->rank; i++) {
        block.first[i] = (int64_t)p->block->start[i];
        block.size[i] = (int64_t)p->block->count[i];
        of_chunk.first[i] = (int64_t)chunk->offset[i];
        of_chunk.size[i] = (int64_t)p->chunk[i];
    }
    lob_block_copy(&block, &of_chunk, p->view->rank, p->bytes, p->fill);
}

static void unpack_chunk(void *user, int64_t index)
{
    const chunk_work *work = user;
    const packing *p = work->packing;
    raw_chunk *chunk = &work->chunks[index];
    if (!chunk->packed) {
        place(p, chunk, NULL);
        return;
    }
    const size_t most = p->chunk_bytes + MAX_FILTERS * CHECKSUM_BYTES;
    unsigned char *room[2] = {NULL, NULL};
    bool ok = true;
    for (int i = 0; ok && i < 2 && i < p->filters; i++) ok = (room[i] = malloc(most)) != NULL;
    if (ok && p->filters == 1) room[1] = room[0];
    unsigned char *numbers = ok ? unpack(p, chunk, room) : NULL;
    if (numbers && p->swapped) lob_swap_words(numbers, p->chunk_bytes, p->bytes);
    if (numbers) place(p, chunk, numbers);
    chunk->bad = !numbers;
    if (room[1] != room[0]) free(room[1]);
    LOB_FREE(room[0], chunk->packed);
    chunk->packed = NULL;
}

static bool load_chunk(raw_chunk *chunk, const lob_hdf5_view *view)
{
    hsize_t stored = 0;
    if (H5Dget_chunk_storage_size(view->set, chunk->offset, &stored) < 0 || stored == 0)
        return true; /* never written */
    if (stored > (hsize_t)view->stored_bytes) return false;
    chunk->packed = malloc(stored);
    chunk->packed_bytes = stored;
    return chunk->packed && H5Dread_chunk(view->set, H5P_DEFAULT, chunk->offset, &chunk->skipped,
                                          chunk->packed) >= 0;
}

static bool read_fill_value(packing *p)
{
    H5D_fill_value_t defined;
    const hid_t plist = H5Dget_create_plist(p->view->set);
    bool ok = H5Pfill_value_defined(plist, &defined) >= 0;
    if (ok && defined != H5D_FILL_VALUE_UNDEFINED)
        ok = H5Pget_fill_value(plist, p->view->native, p->fill) >= 0;
    H5Pclose(plist);
    return ok;
}

/* Read the chunks that the block touches one after another, and unpack them side by side. */
static bool read_by_chunks(packing *p, int64_t n, const hsize_t first[], const hsize_t grid[],
                           int threads)
{
    if (!read_fill_value(p)) return false;
    chunk_work work = {.packing = p, .chunks = calloc((size_t)n, sizeof *work.chunks)};
    bool ok = work.chunks != NULL;
    for (int64_t k = 0; ok && k < n; k++) {
        int64_t rest = k;
        for (int i = p->view->rank - 1; i >= 0; i--) {
            work.chunks[k].offset[i] = (first[i] + (hsize_t)rest % grid[i]) * p->chunk[i];
            rest /= (int64_t)grid[i];
        }
        ok = load_chunk(&work.chunks[k], p->view);
    }
    if (ok) lob_inside_parallel(n, threads, unpack_chunk, &work);
    for (int64_t k = 0; ok && k < n; k++) ok = !work.chunks[k].bad;
    free(work.chunks);
    return ok;
}

bool lob_hdf5_read_block(const lob_hdf5_view *view, const lob_hdf5_block *block, int threads)
{
    packing p = {.view = view, .block = block, .bytes = lob_type_of(view->stored)->bytes};
    if (!plan(&p)) return read_by_library(view, block);
    hsize_t first[LOB_HDF5_MAX_AXES], grid[LOB_HDF5_MAX_AXES];
    int64_t n = 1;
    for (int i = 0; i < view->rank; i++) {
        first[i] = block->start[i] / p.chunk[i];
        grid[i] = (block->start[i] + block->count[i] - 1) / p.chunk[i] + 1 - first[i];
        n = lob_product(n, (int64_t)grid[i], 1, 1);
    }
    if (n < 0 || n > LOB_HDF5_MAX_CHUNKS) return read_by_library(view, block);
    return read_by_chunks(&p, n, first, grid, threads);
}
