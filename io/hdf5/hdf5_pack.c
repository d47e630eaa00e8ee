/* The voxels of an HDF5 output: brought into the file's order and values, packed in threads. */
#include "io/hdf5/hdf5_messages.h"
#include "io/hdf5/sandbox.h"
#include "volumes/blocks.h"
#include "volumes/clock.h"
#include "volumes/free.h"

#include <libdeflate.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHUNK_SIDE = 64, CHUNK_BYTES = 4 << 20 };

/* Does float32 hold every value that voxels of a small type can stand for? */
static bool fits_float(const lob_volume *v)
{
    const lob_type_info *type = lob_type_of(v->type);
    if (!type->is_integer || type->bytes > 2) return false;
    for (int stored = (int)type->lowest; stored <= (int)type->highest; stored++) {
        const double value = v->slope * stored + v->inter;
        if ((double)(float)value != value) return false;
    }
    return true;
}

void lob_hdf5_plan(lob_hdf5_target *t, const lob_volume *v, const lob_write_options *options)
{
    const int64_t frames = v->frame == LOB_FRAME_ALL ? v->frames : 1;
    const int64_t side[LOB_HDF5_SIDES] = {frames, v->dims.nz, v->dims.ny, v->dims.nx,
                                          v->channels / frames};
    *t = (lob_hdf5_target){.geometry = v->geometry,
                           .chunks = 1,
                           .level = options->level,
                           .labels = options->labels,
                           .strip_extensions = options->strip_extensions};
    t->type = !lob_is_scaled(v) ? v->type : fits_float(v) ? LOB_F32 : LOB_F64;
    t->first = frames > 1 ? 0 : 1;
    t->rank = (side[LOB_HDF5_SIDES - 1] > 1 ? LOB_HDF5_SIDES : LOB_HDF5_SIDES - 1) - t->first;
    uint64_t bytes = lob_type_of(t->type)->bytes;
    for (int i = 0; i < LOB_HDF5_SIDES; i++) {
        t->extent[i] = (uint64_t)side[i];
        const bool long_side = i >= 1 && i <= 3 && side[i] > CHUNK_SIDE;
        t->chunk[i] = i == 0 ? 1 : long_side ? CHUNK_SIDE : (uint64_t)side[i];
        bytes *= t->chunk[i];
    }
    while (bytes > CHUNK_BYTES) { /* many channels or wide types: thinner chunks */
        int widest = 1;
        for (int i = 2; i < LOB_HDF5_SIDES; i++)
            if (t->chunk[i] > t->chunk[widest]) widest = i;
        bytes /= t->chunk[widest];
        t->chunk[widest] = (t->chunk[widest] + 1) / 2;
        bytes *= t->chunk[widest];
    }
    for (int i = 0; i < LOB_HDF5_SIDES; i++)
        t->chunks *= (int64_t)((t->extent[i] - 1) / t->chunk[i] + 1);
}

/* A chunk on its way to the helper. */
typedef struct {
    lob_hdf5_packed about; /* of 0 bytes: not packed */
    unsigned char *packed;
} chunk_job;

/* Neighbouring chunks, packed side by side. */
typedef struct {
    chunk_job *jobs;
    int64_t first, count;
} chunk_batch;

/* What a thread packs with. */
typedef struct {
    struct libdeflate_compressor *deflater;
    z_stream runs;                   /* deflates long runs */
    unsigned char *plain, *shuffled; /* a chunk each; not shuffled: NULL */
} packer;

typedef struct {
    const lob_hdf5_target *target;
    const lob_volume *volume;
    size_t chunk_bytes, bound;
    packer *packers; /* one for each thread */
    int threads;
    unsigned char *blank; /* a chunk of zeros, packed: most chunks of many label volumes; */
    size_t blank_bytes;   /* 0: there is none */
} pack_work;

/* One row of one channel into a chunk, scaled where the volume is, components side by side. */
static void take_row(unsigned char *out, const lob_hdf5_target *t, const lob_volume *v,
                     int64_t first, int64_t n, size_t step)
{
    const size_t bytes = lob_type_of(t->type)->bytes;
    if (!lob_is_scaled(v)) {
        const unsigned char *in = (const unsigned char *)v->data + (size_t)first * bytes;
        lob_copy_strided(out, (int64_t)step, in, (int64_t)bytes, n, bytes);
        return;
    }
    double values[CHUNK_SIDE];
    lob_values(values, v->data, v->type, first, n);
    for (int64_t i = 0; i < n; i++, out += step) {
        const double value = v->slope * values[i] + v->inter;
        const float single = (float)value;
        memcpy(out, t->type == LOB_F32 ? (const void *)&single : (const void *)&value, bytes);
    }
}

/* The voxels of a chunk in the file's order; what lies beyond the volume stays 0. */
static void fill_chunk(unsigned char *out, const lob_hdf5_target *t, const lob_volume *v,
                       const uint64_t offset[LOB_HDF5_SIDES])
{
    const uint64_t *chunk = t->chunk, *extent = t->extent;
    const size_t bytes = lob_type_of(t->type)->bytes;
    const uint64_t left = extent[3] - offset[3], n = left < chunk[3] ? left : chunk[3];
    for (uint64_t z = 0; z < chunk[1] && offset[1] + z < extent[1]; z++)
        for (uint64_t y = 0; y < chunk[2] && offset[2] + y < extent[2]; y++)
            for (uint64_t c = 0; c < chunk[4] && offset[4] + c < extent[4]; c++) {
                const uint64_t frame = (offset[4] + c) * extent[0] + offset[0];
                const uint64_t row =
                    (frame * extent[1] + offset[1] + z) * extent[2] + offset[2] + y;
                take_row(out + ((z * chunk[2] + y) * chunk[3] * chunk[4] + c) * bytes, t, v,
                         (int64_t)(row * extent[3] + offset[3]), (int64_t)n, chunk[4] * bytes);
            }
}

static void shuffle_of(unsigned char *out, const unsigned char *in, size_t count, size_t bytes)
{
    for (size_t b = 0; b < bytes; b++) {
#pragma omp simd
        for (size_t i = 0; i < count; i++) out[b * count + i] = in[i * bytes + b];
    }
}

static void shuffle(unsigned char *out, const unsigned char *in, size_t n, size_t bytes)
{
    if (bytes == 2)
        shuffle_of(out, in, n / 2, 2);
    else if (bytes == 4)
        shuffle_of(out, in, n / 4, 4);
    else
        shuffle_of(out, in, n / bytes, bytes);
}

/* Are seven bytes of eight like the one before them, as in runs of labels? */
static bool has_runs(const unsigned char *bytes, size_t n)
{
    enum { TOGETHER = 64 };
    size_t alike = 0;
    for (size_t first = 1; first < n; first += TOGETHER) {
        const size_t end = n - first < TOGETHER ? n : first + TOGETHER;
        if (memcmp(bytes + first, bytes + first - 1, end - first) == 0)
            alike += end - first;
        else
            for (size_t i = first; i < end; i++) alike += bytes[i] == bytes[i - 1];
    }
    return alike >= n / 8 * 7;
}

/* Bytes that a chunk is packed to; 0: it cannot be. At level 1 zlib passes over long runs quickly,
 * where libdeflate takes each byte of them into its tables. */
static size_t deflate_chunk(const pack_work *work, packer *with, unsigned char *out,
                            unsigned char *bytes)
{
    const size_t n = work->chunk_bytes;
    if (work->target->level != 1 || !has_runs(bytes, n))
        return libdeflate_zlib_compress(with->deflater, bytes, n, out, work->bound);
    z_stream *const runs = &with->runs;
    deflateReset(runs);
    runs->next_in = bytes;
    runs->avail_in = (uInt)n;
    runs->next_out = out;
    runs->avail_out = (uInt)work->bound;
    return deflate(runs, Z_FINISH) == Z_STREAM_END ? runs->total_out : 0;
}

/* False: no memory. */
static bool open_packers(pack_work *work)
{
    const bool shuffles = lob_type_of(work->target->type)->bytes > 1;
    work->packers = calloc((size_t)work->threads, sizeof *work->packers);
    bool ok = work->packers;
    for (int i = 0; ok && i < work->threads; i++) {
        packer *const p = &work->packers[i];
        p->deflater = libdeflate_alloc_compressor(work->target->level);
        p->plain = malloc(work->chunk_bytes);
        p->shuffled = shuffles ? malloc(work->chunk_bytes) : NULL;
        ok = p->deflater && p->plain && (p->shuffled || !shuffles) &&
             (work->target->level != 1 || deflateInit(&p->runs, 1) == Z_OK);
    }
    return ok;
}

static void close_packers(pack_work *work)
{
    for (int i = 0; work->packers && i < work->threads; i++) {
        packer *const p = &work->packers[i];
        libdeflate_free_compressor(p->deflater);
        deflateEnd(&p->runs);
        LOB_FREE(p->plain, p->shuffled);
    }
    free(work->packers);
}

/* Pack a chunk of zeros once for all; where there is no memory, each is packed. */
static void pack_blank(pack_work *work)
{
    work->blank = malloc(work->bound);
    if (!work->blank) return;
    memset(work->packers->plain, 0, work->chunk_bytes);
    work->blank_bytes = deflate_chunk(work, work->packers, work->blank, work->packers->plain);
}

static void pack_chunk(const pack_work *work, packer *with, chunk_job *job)
{
    const lob_hdf5_target *t = work->target;
    memset(with->plain, 0, work->chunk_bytes);
    fill_chunk(with->plain, t, work->volume, job->about.offset);
    if (work->blank_bytes > 0 && lob_all_zero(with->plain, work->chunk_bytes)) {
        memcpy(job->packed, work->blank, work->blank_bytes);
        job->about.bytes = work->blank_bytes;
        return;
    }
    if (with->shuffled)
        shuffle(with->shuffled, with->plain, work->chunk_bytes, lob_type_of(t->type)->bytes);
    job->about.bytes =
        deflate_chunk(work, with, job->packed, with->shuffled ? with->shuffled : with->plain);
}

/* The place of a chunk by its number, in the order of the file. */
static void offset_of(uint64_t offset[LOB_HDF5_SIDES], const lob_hdf5_target *t, int64_t number)
{
    uint64_t rest = (uint64_t)number;
    for (int i = LOB_HDF5_SIDES - 1; i >= 0; i--) {
        const uint64_t grid = (t->extent[i] - 1) / t->chunk[i] + 1;
        offset[i] = rest % grid * t->chunk[i];
        rest /= grid;
    }
}

static bool send_batch(lob_sandbox *box, const chunk_batch *batch)
{
    bool sent = true;
    for (int64_t k = 0; sent && k < batch->count; k++) {
        const chunk_job *const job = &batch->jobs[k];
        sent = lob_sandbox_send(box, &job->about, sizeof job->about) &&
               lob_sandbox_send(box, job->packed, (size_t)job->about.bytes);
    }
    return sent;
}

/* Pack a batch's chunks side by side, while one thread sends the batch before. False: one cannot
 * be packed. */
static bool pack_batch(const pack_work *work, chunk_batch *batch, lob_sandbox *box,
                       const chunk_batch *before, bool *sent)
{
    bool packed = true;
#pragma omp parallel num_threads(work->threads) reduction(&& : packed)
    {
#pragma omp single nowait
        *sent = send_batch(box, before);
#pragma omp for schedule(dynamic)
        for (int64_t k = 0; k < batch->count; k++) {
            chunk_job *const job = &batch->jobs[k];
            offset_of(job->about.offset, work->target, batch->first + k);
            pack_chunk(work, &work->packers[omp_get_thread_num()], job);
            packed = packed && job->about.bytes > 0;
        }
    }
    return packed;
}

bool lob_hdf5_pack(lob_sandbox *box, const lob_hdf5_target *t, const lob_volume *volume,
                   const lob_write_options *options)
{
    pack_work work = {.target = t,
                      .volume = volume,
                      .chunk_bytes = lob_type_of(t->type)->bytes,
                      .threads = options->threads < 1 ? 1 : options->threads};
    if (work.threads > t->chunks) work.threads = (int)t->chunks;
    const int64_t most = work.threads == 1 ? 1 : 4 * work.threads;
    for (int i = 0; i < LOB_HDF5_SIDES; i++) work.chunk_bytes *= t->chunk[i];
    work.bound = libdeflate_zlib_compress_bound(NULL, work.chunk_bytes);
    if (work.bound < compressBound((uLong)work.chunk_bytes))
        work.bound = compressBound((uLong)work.chunk_bytes);
    chunk_job *const jobs = calloc(2 * (size_t)most, sizeof *jobs);
    unsigned char *const packed = malloc(2 * (size_t)most * work.bound);
    chunk_batch batches[2] = {{jobs}, {jobs ? jobs + most : NULL}};
    bool ok = jobs && packed && open_packers(&work), sent = true;
    for (int64_t k = 0; ok && k < 2 * most; k++) jobs[k].packed = packed + (size_t)k * work.bound;
    if (ok && t->chunks > 1) pack_blank(&work);
    int turn = 0;
    for (int64_t first = 0; ok && sent && first < t->chunks; first += most, turn = !turn) {
        chunk_batch *const batch = &batches[turn];
        const double start_s = lob_clock_s();
        batch->first = first;
        batch->count = t->chunks - first < most ? t->chunks - first : most;
        ok = pack_batch(&work, batch, box, &batches[!turn], &sent);
        *options->compress_s += lob_clock_s() - start_s;
    }
    if (ok && sent) send_batch(box, &batches[!turn]);
    LOB_FREE(jobs, packed);
    close_packers(&work);
    free(work.blank);
    return ok;
}
