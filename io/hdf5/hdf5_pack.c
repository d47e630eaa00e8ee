/* The voxels of an HDF5 output: brought into the file's order and values, packed in threads. */
#include "io/hdf5/hdf5_messages.h"
#include "io/hdf5/sandbox.h"
#include "volumes/clock.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHUNK_SIDE = 64, CHUNK_BYTES = 4 << 20 };

static bool is_scaled(const lob_volume *v)
{
    return v->slope != 1.0 || v->inter != 0.0;
}

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
    t->type = !is_scaled(v) ? v->type : fits_float(v) ? LOB_F32 : LOB_F64;
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
    lob_hdf5_packed about; /* of 0 bytes: out of memory */
    unsigned char *packed;
} chunk_job;

typedef struct {
    const lob_hdf5_target *target;
    const lob_volume *volume;
    chunk_job *jobs;
    size_t chunk_bytes, bound;
    unsigned char *blank; /* a chunk of zeros, packed: most chunks of many label volumes; */
    size_t blank_bytes;   /* 0: there is none */
} pack_work;

/* One row of one channel into a chunk, scaled where the volume is, components side by side. */
static void take_row(unsigned char *out, const lob_hdf5_target *t, const lob_volume *v,
                     int64_t first, int64_t n, size_t step)
{
    const size_t bytes = lob_type_of(t->type)->bytes;
    if (!is_scaled(v)) {
        const unsigned char *in = (const unsigned char *)v->data + (size_t)first * bytes;
        if (step == bytes) {
            memcpy(out, in, (size_t)n * bytes);
            return;
        }
        for (int64_t i = 0; i < n; i++, out += step, in += bytes) memcpy(out, in, bytes);
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

static void shuffle(unsigned char *out, const unsigned char *in, size_t n, size_t bytes)
{
    const size_t count = n / bytes;
    for (size_t b = 0; b < bytes; b++)
        for (size_t i = 0; i < count; i++) out[b * count + i] = in[i * bytes + b];
}

static bool is_blank(const unsigned char *bytes, size_t n)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0;
}

/* Are seven bytes of eight like the one before them, as in runs of labels? */
static bool has_runs(const unsigned char *bytes, size_t n)
{
    size_t alike = 0;
    for (size_t i = 1; i < n; i++) alike += bytes[i] == bytes[i - 1];
    return alike >= n / 8 * 7;
}

/* Bytes that a chunk is packed to; 0 without memory. At level 1 zlib passes over long runs quickly,
 * where libdeflate takes each byte of them into its tables. */
static size_t deflate_chunk(const pack_work *work, unsigned char *out, const unsigned char *bytes)
{
    const int level = work->target->level;
    const size_t n = work->chunk_bytes;
    uLongf packed = (uLongf)work->bound;
    if (level == 1 && has_runs(bytes, n))
        return compress2(out, &packed, bytes, (uLong)n, level) == Z_OK ? (size_t)packed : 0;
    struct libdeflate_compressor *const deflater = libdeflate_alloc_compressor(level);
    const size_t made =
        deflater ? libdeflate_zlib_compress(deflater, bytes, n, out, work->bound) : 0;
    libdeflate_free_compressor(deflater);
    return made;
}

/* Pack a chunk of zeros once for all. */
static void pack_blank(pack_work *work)
{
    unsigned char *const plain = calloc(work->chunk_bytes, 1);
    work->blank = malloc(work->bound);
    if (plain && work->blank) work->blank_bytes = deflate_chunk(work, work->blank, plain);
    free(plain);
}

static void pack_chunk(const pack_work *work, chunk_job *job)
{
    const lob_hdf5_target *t = work->target;
    const size_t bytes = lob_type_of(t->type)->bytes;
    unsigned char *plain = calloc(work->chunk_bytes, 1), *shuffled = NULL;
    job->about.bytes = 0;
    if (bytes > 1) shuffled = malloc(work->chunk_bytes);
    if (plain && (shuffled || bytes == 1)) {
        fill_chunk(plain, t, work->volume, job->about.offset);
        if (work->blank_bytes > 0 && is_blank(plain, work->chunk_bytes)) {
            memcpy(job->packed, work->blank, work->blank_bytes);
            job->about.bytes = work->blank_bytes;
        } else {
            if (shuffled) shuffle(shuffled, plain, work->chunk_bytes, bytes);
            job->about.bytes = deflate_chunk(work, job->packed, shuffled ? shuffled : plain);
        }
    }
    free(shuffled);
    free(plain);
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

/* Chunks first to first + count, packed side by side; false: no memory for one. */
static bool pack_some(const pack_work *work, int64_t first, int64_t count, int threads)
{
    bool packed = true;
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(&& : packed)
    for (int64_t k = 0; k < count; k++) {
        chunk_job *const job = &work->jobs[k];
        offset_of(job->about.offset, work->target, first + k);
        pack_chunk(work, job);
        packed = packed && job->about.bytes > 0;
    }
    return packed;
}

static bool send_some(lob_sandbox *box, const pack_work *work, int64_t count)
{
    bool sent = true;
    for (int64_t k = 0; sent && k < count; k++) {
        const chunk_job *const job = &work->jobs[k];
        sent = lob_sandbox_send(box, &job->about, sizeof job->about) &&
               lob_sandbox_send(box, job->packed, (size_t)job->about.bytes);
    }
    return sent;
}

/* Room for what is packed side by side. */
static bool make_room(pack_work *work, int64_t max_jobs)
{
    const size_t bounds[] = {libdeflate_zlib_compress_bound(NULL, work->chunk_bytes),
                             compressBound((uLong)work->chunk_bytes)};
    work->bound = bounds[0] > bounds[1] ? bounds[0] : bounds[1];
    work->jobs = calloc((size_t)max_jobs, sizeof *work->jobs);
    if (!work->jobs) return false;
    if (work->target->chunks > 1) pack_blank(work);
    for (int64_t k = 0; k < max_jobs; k++)
        if (!(work->jobs[k].packed = malloc(work->bound))) return false;
    return true;
}

bool lob_hdf5_pack(lob_sandbox *box, const lob_hdf5_target *t, const lob_volume *volume,
                   const lob_write_options *options)
{
    const int threads = options->threads < 1 ? 1 : options->threads;
    const int64_t n = t->chunks, max_jobs = threads == 1 ? 1 : 4 * threads;
    pack_work work = {.target = t, .volume = volume, .chunk_bytes = lob_type_of(t->type)->bytes};
    for (int i = 0; i < LOB_HDF5_SIDES; i++) work.chunk_bytes *= t->chunk[i];
    bool ok = make_room(&work, max_jobs), taken = true;
    for (int64_t first = 0; ok && taken && first < n; first += max_jobs) {
        const int64_t count = n - first < max_jobs ? n - first : max_jobs;
        const double start_s = lob_clock_s();
        ok = pack_some(&work, first, count, threads);
        *options->compress_s += lob_clock_s() - start_s;
        taken = ok && send_some(box, &work, count);
    }
    for (int64_t k = 0; work.jobs && k < max_jobs; k++) free(work.jobs[k].packed);
    free(work.jobs);
    free(work.blank);
    return ok;
}
