/* The voxels of an HDF5 data set, unpacked in threads and sent slab by slab. */
#include "io/hdf5_parts.h"

#include "io/sandbox.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SLAB_BYTES = 16 << 20, /* aim for a slab; chunks of many slices make it larger */
    SLOWEST_BYTES_PER_S = 4 << 20,
    MAX_CHUNKS = 1 << 17,    /* of a slab: lists of crumbs outgrow the data */
    THREAD_BYTES = 160 << 20 /* address space of a thread: stack and its part of the heap */
};

/* How a slab lies in the data set and in memory. */
typedef struct {
    const lob_hdf5_view *view;
    size_t bytes; /* of a voxel */
    int rank;
    hsize_t chunk[LOB_HDF5_MAX_AXES];
    hsize_t start[LOB_HDF5_MAX_AXES], count[LOB_HDF5_MAX_AXES]; /* of the slab at hand */
    unsigned char *buffer;                                      /* the slab in the file's order */
    bool direct; /* chunks are read raw and unpacked here; else HDF5 does it */
    bool shuffled, deflated;
    int shuffle_at, deflate_at; /* places in the pipeline, for a chunk's filter mask */
} slab_reader;

static bool is_chunked(const lob_hdf5_view *view, hsize_t chunk[LOB_HDF5_MAX_AXES])
{
    const hid_t plist = H5Dget_create_plist(view->set);
    const bool chunked = H5Pget_layout(plist) == H5D_CHUNKED &&
                         H5Pget_chunk(plist, LOB_HDF5_MAX_AXES, chunk) == view->rank;
    H5Pclose(plist);
    return chunked;
}

static int64_t slice_bytes(const lob_hdf5_view *view)
{
    return lob_product((int64_t)lob_type_of(view->type)->bytes, lob_hdf5_side(view, LOB_AXIS_X),
                       lob_hdf5_side(view, LOB_AXIS_Y), lob_hdf5_side(view, LOB_AXIS_C));
}

int64_t lob_hdf5_slab(const lob_hdf5_view *view)
{
    hsize_t chunk[LOB_HDF5_MAX_AXES];
    const int z = view->at[LOB_AXIS_Z];
    const int64_t nz = lob_hdf5_side(view, LOB_AXIS_Z);
    int64_t layer = 1, in_layer = 1; /* slices of a layer of chunks, and chunks in it */
    if (z >= 0 && is_chunked(view, chunk)) {
        layer = (int64_t)chunk[z];
        for (int i = 0; i < view->rank; i++)
            if (i != z && i != view->at[LOB_AXIS_T])
                in_layer *= (int64_t)((view->extent[i] - 1) / chunk[i] + 1);
    }
    int64_t layers = SLAB_BYTES / slice_bytes(view) / layer;
    if (layers > MAX_CHUNKS / in_layer) layers = MAX_CHUNKS / in_layer;
    const int64_t slab = layer * (layers > 1 ? layers : 1);
    return slab < nz ? slab : nz;
}

/* The raw path is for chunks in the machine's own type, at most shuffled and then deflated. */
static void plan(slab_reader *reader)
{
    const lob_hdf5_view *view = reader->view;
    const hid_t plist = H5Dget_create_plist(view->set), type = H5Dget_type(view->set);
    const int filters = H5Pget_nfilters(plist);
    reader->direct = is_chunked(view, reader->chunk) && H5Tequal(type, view->native) > 0 &&
                     filters >= 0 && filters <= 2;
    for (int i = 0; reader->direct && i < filters; i++) {
        unsigned flags, config;
        size_t values = 0;
        const H5Z_filter_t id =
            H5Pget_filter2(plist, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
        if (id == H5Z_FILTER_SHUFFLE && !reader->shuffled && !reader->deflated) {
            reader->shuffled = true;
            reader->shuffle_at = i;
        } else if (id == H5Z_FILTER_DEFLATE && !reader->deflated) {
            reader->deflated = true;
            reader->deflate_at = i;
        } else {
            reader->direct = false;
        }
    }
    H5Tclose(type);
    H5Pclose(plist);
}

static bool read_by_library(const slab_reader *reader)
{
    const hid_t file = H5Dget_space(reader->view->set);
    const hid_t memory = H5Screate_simple(reader->rank, reader->count, NULL);
    const bool ok =
        H5Sselect_hyperslab(file, H5S_SELECT_SET, reader->start, NULL, reader->count, NULL) >= 0 &&
        H5Dread(reader->view->set, reader->view->native, memory, file, H5P_DEFAULT,
                reader->buffer) >= 0;
    H5Sclose(memory);
    H5Sclose(file);
    return ok;
}

/* ---- chunks read raw ---- */

typedef struct {
    hsize_t offset[LOB_HDF5_MAX_AXES];
    unsigned char *packed; /* NULL: never written, so the fill value stands */
    size_t packed_bytes;
    uint32_t skipped; /* a bit for each filter that this chunk went without */
    bool bad;
} raw_chunk;

typedef struct {
    const slab_reader *reader;
    raw_chunk *chunks;
    size_t chunk_bytes;
    unsigned char fill[8];
} chunk_work;

static void unshuffle(unsigned char *out, const unsigned char *in, size_t n, size_t bytes)
{
    const size_t count = n / bytes;
    for (size_t b = 0; b < bytes; b++)
        for (size_t i = 0; i < count; i++) out[i * bytes + b] = in[b * count + i];
    memcpy(out + count * bytes, in + count * bytes, n - count * bytes);
}

/* Copy the part of a chunk that lies in the slab, row by row; in NULL stands for the fill value. */
static void place(const chunk_work *work, const raw_chunk *chunk, const unsigned char *in)
{
    const slab_reader *r = work->reader;
    const int rank = r->rank, last = rank - 1;
    hsize_t low[LOB_HDF5_MAX_AXES], high[LOB_HDF5_MAX_AXES], at[LOB_HDF5_MAX_AXES];
    for (int i = 0; i < rank; i++) {
        const hsize_t end = r->start[i] + r->count[i], chunk_end = chunk->offset[i] + r->chunk[i];
        low[i] = chunk->offset[i] > r->start[i] ? chunk->offset[i] : r->start[i];
        high[i] = chunk_end < end ? chunk_end : end;
        at[i] = low[i];
    }
    const size_t row = (size_t)(high[last] - low[last]);
    for (;;) {
        size_t from = 0, to = 0;
        for (int i = 0; i < rank; i++) {
            from = from * r->chunk[i] + (size_t)(at[i] - chunk->offset[i]);
            to = to * r->count[i] + (size_t)(at[i] - r->start[i]);
        }
        unsigned char *out = r->buffer + to * r->bytes;
        if (in)
            memcpy(out, in + from * r->bytes, row * r->bytes);
        else
            for (size_t k = 0; k < row; k++) memcpy(out + k * r->bytes, work->fill, r->bytes);
        int i = last - 1;
        while (i >= 0 && ++at[i] == high[i]) at[i] = low[i], i--;
        if (i < 0) return;
    }
}

static void unpack_chunk(void *user, int64_t index)
{
    const chunk_work *work = user;
    raw_chunk *chunk = &work->chunks[index];
    const slab_reader *r = work->reader;
    if (!chunk->packed) {
        place(work, chunk, NULL);
        return;
    }
    const bool deflated = r->deflated && !(chunk->skipped >> r->deflate_at & 1);
    const bool shuffled = r->shuffled && r->bytes > 1 && !(chunk->skipped >> r->shuffle_at & 1);
    unsigned char *plain = NULL, *ordered = NULL;
    const unsigned char *bytes = chunk->packed;
    chunk->bad = !deflated && chunk->packed_bytes != work->chunk_bytes;
    if (!chunk->bad && deflated) {
        struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
        plain = malloc(work->chunk_bytes);
        bytes = plain;
        chunk->bad = !inflater || !plain ||
                     libdeflate_zlib_decompress(inflater, chunk->packed, chunk->packed_bytes, plain,
                                                work->chunk_bytes, NULL) != LIBDEFLATE_SUCCESS;
        libdeflate_free_decompressor(inflater);
    }
    if (!chunk->bad && shuffled) {
        ordered = malloc(work->chunk_bytes);
        chunk->bad = !ordered;
        if (ordered) unshuffle(ordered, bytes, work->chunk_bytes, r->bytes);
        bytes = ordered;
    }
    if (!chunk->bad) place(work, chunk, bytes);
    free(ordered);
    free(plain);
    free(chunk->packed);
    chunk->packed = NULL;
}

static bool load_chunk(raw_chunk *chunk, const slab_reader *reader)
{
    hsize_t stored = 0;
    if (H5Dget_chunk_storage_size(reader->view->set, chunk->offset, &stored) < 0 || stored == 0)
        return true; /* never written */
    if (stored > (hsize_t)reader->view->stored_bytes) return false;
    chunk->packed = malloc(stored);
    chunk->packed_bytes = stored;
    return chunk->packed && H5Dread_chunk(reader->view->set, H5P_DEFAULT, chunk->offset,
                                          &chunk->skipped, chunk->packed) >= 0;
}

static bool read_fill_value(const slab_reader *reader, unsigned char fill[8])
{
    H5D_fill_value_t defined;
    const hid_t plist = H5Dget_create_plist(reader->view->set);
    bool ok = H5Pfill_value_defined(plist, &defined) >= 0;
    if (ok && defined != H5D_FILL_VALUE_UNDEFINED)
        ok = H5Pget_fill_value(plist, reader->view->native, fill) >= 0;
    H5Pclose(plist);
    return ok;
}

/* Read the chunks that the slab touches one after another, and unpack them side by side. */
static bool read_by_chunks(const slab_reader *reader, int threads)
{
    chunk_work work = {.reader = reader, .chunk_bytes = reader->bytes};
    hsize_t first[LOB_HDF5_MAX_AXES], grid[LOB_HDF5_MAX_AXES];
    int64_t n = 1;
    for (int i = 0; i < reader->rank; i++) {
        const hsize_t end = reader->start[i] + reader->count[i];
        first[i] = reader->start[i] / reader->chunk[i];
        grid[i] = (end - 1) / reader->chunk[i] + 1 - first[i];
        n = lob_product(n, (int64_t)grid[i], 1, 1);
        work.chunk_bytes *= (size_t)reader->chunk[i];
    }
    if (n < 0 || n > MAX_CHUNKS) return read_by_library(reader);
    if (!read_fill_value(reader, work.fill)) return false;
    work.chunks = calloc((size_t)n, sizeof *work.chunks);
    bool ok = work.chunks != NULL;
    for (int64_t k = 0; ok && k < n; k++) {
        int64_t rest = k;
        for (int i = reader->rank - 1; i >= 0; i--) {
            work.chunks[k].offset[i] = (first[i] + (hsize_t)rest % grid[i]) * reader->chunk[i];
            rest /= (int64_t)grid[i];
        }
        ok = load_chunk(&work.chunks[k], reader);
    }
    if (ok) lob_sandbox_parallel(n, threads, unpack_chunk, &work);
    for (int64_t k = 0; ok && k < n; k++) ok = !work.chunks[k].bad;
    free(work.chunks);
    return ok;
}

/* ---- from the file's order to ours ---- */

/* out[i] = in[i * step] for voxels of one size */
static void gather(unsigned char *out, const unsigned char *in, int64_t n, int64_t step,
                   size_t bytes)
{
#define GATHER(type)                \
    for (int64_t i = 0; i < n; i++) \
    memcpy(out + i * (int64_t)sizeof(type), in + i * step * (int64_t)sizeof(type), sizeof(type))
    switch (bytes) {
    case 1:
        GATHER(uint8_t);
        break;
    case 2:
        GATHER(uint16_t);
        break;
    case 4:
        GATHER(uint32_t);
        break;
    default:
        GATHER(uint64_t);
    }
#undef GATHER
}

typedef struct {
    const slab_reader *reader;
    unsigned char *out;
    int64_t side[4], step[4]; /* x, y, z, c: of the slab, and between neighbours in the buffer */
} reorder_work;

/* One plane of one channel. */
static void reorder_plane(void *user, int64_t index)
{
    const reorder_work *w = user;
    const size_t bytes = w->reader->bytes;
    const int64_t z = index % w->side[2], c = index / w->side[2];
    for (int64_t y = 0; y < w->side[1]; y++)
        gather(w->out + (size_t)((index * w->side[1] + y) * w->side[0]) * bytes,
               w->reader->buffer +
                   (size_t)(y * w->step[1] + z * w->step[2] + c * w->step[3]) * bytes,
               w->side[0], w->step[0], bytes);
}

/* The steps between neighbours in the buffer; true when it already lies as we want it. */
static bool buffer_steps(reorder_work *w)
{
    const slab_reader *r = w->reader;
    int64_t step[LOB_HDF5_MAX_AXES], whole = 1, natural = 1;
    for (int i = r->rank - 1; i >= 0; i--) {
        step[i] = whole;
        whole *= (int64_t)r->count[i];
    }
    bool same = true;
    for (int a = LOB_AXIS_X; a <= LOB_AXIS_C; a++) {
        const int at = r->view->at[a];
        w->side[a] = at < 0 ? 1 : (int64_t)r->count[at];
        w->step[a] = at < 0 ? 0 : step[at];
        same = same && (w->side[a] == 1 || w->step[a] == natural);
        natural *= w->side[a];
    }
    return same;
}

static void limit_for(const slab_reader *reader, int64_t slab, int threads)
{
    int64_t chunk = (int64_t)reader->bytes;
    for (int i = 0; reader->chunk[0] && i < reader->rank; i++) chunk *= (int64_t)reader->chunk[i];
    lob_sandbox_limit(10 + (int)((slab + chunk) / SLOWEST_BYTES_PER_S),
                      (512 << 20) + 3 * slab + reader->view->stored_bytes +
                          (2 * chunk + THREAD_BYTES) * threads);
}

void lob_hdf5_send_voxels(const lob_hdf5_view *view, int64_t frame, int threads, int out)
{
    const int64_t nz = lob_hdf5_side(view, LOB_AXIS_Z), slab = lob_hdf5_slab(view);
    const int64_t slab_bytes = slice_bytes(view) * slab;
    slab_reader reader = {
        .view = view, .bytes = lob_type_of(view->type)->bytes, .rank = view->rank};
    plan(&reader);
    for (int i = 0; i < view->rank; i++) reader.count[i] = view->extent[i];
    if (view->at[LOB_AXIS_T] >= 0) {
        reader.start[view->at[LOB_AXIS_T]] = (hsize_t)frame;
        reader.count[view->at[LOB_AXIS_T]] = 1;
    }
    limit_for(&reader, slab_bytes, threads);
    reader.buffer = malloc((size_t)slab_bytes);
    unsigned char *ordered = NULL;
    if (!reader.buffer) _exit(1);

    for (int64_t z = 0; z < nz; z += slab) {
        const int64_t depth = z + slab < nz ? slab : nz - z;
        if (view->at[LOB_AXIS_Z] >= 0) {
            reader.start[view->at[LOB_AXIS_Z]] = (hsize_t)z;
            reader.count[view->at[LOB_AXIS_Z]] = (hsize_t)depth;
        }
        limit_for(&reader, slab_bytes, threads);
        if (!(reader.direct ? read_by_chunks(&reader, threads) : read_by_library(&reader)))
            _exit(1);
        reorder_work work = {.reader = &reader};
        const unsigned char *ready = reader.buffer;
        if (!buffer_steps(&work)) {
            if (!ordered) ordered = malloc((size_t)slab_bytes);
            if (!ordered) _exit(1);
            work.out = ordered;
            lob_sandbox_parallel(work.side[2] * work.side[3], threads, reorder_plane, &work);
            ready = ordered;
        }
        lob_sandbox_send(out, ready, (size_t)(slice_bytes(view) * depth));
    }
}
