/* The voxels of an HDF5 output: brought into the file's order and values, packed in threads. */
#include "io/hdf5/hdf5_pack.h"

#include "io/hdf5/sandbox.h"
#include "volumes/clock.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

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
    *t = (lob_hdf5_target){.volume = v, .options = options};
    t->scaled = v->slope != 1.0 || v->inter != 0.0;
    t->type = !t->scaled ? v->type : fits_float(v) ? LOB_F32 : LOB_F64;
    t->first = frames > 1 ? 0 : 1;
    t->rank = (side[LOB_HDF5_SIDES - 1] > 1 ? LOB_HDF5_SIDES : LOB_HDF5_SIDES - 1) - t->first;
    hsize_t bytes = lob_type_of(t->type)->bytes;
    for (int i = 0; i < LOB_HDF5_SIDES; i++) {
        t->extent[i] = (hsize_t)side[i];
        const bool long_side = i >= 1 && i <= 3 && side[i] > CHUNK_SIDE;
        t->chunk[i] = i == 0 ? 1 : long_side ? CHUNK_SIDE : (hsize_t)side[i];
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
}

/* A chunk on its way to the file. */
typedef struct {
    hsize_t offset[LOB_HDF5_SIDES];
    unsigned char *packed;
    size_t packed_bytes; /* 0: out of memory */
} chunk_job;

typedef struct {
    const lob_hdf5_target *target;
    chunk_job *jobs;
    size_t chunk_bytes, bound;
    unsigned char *blank; /* a chunk of zeros, packed: most chunks of many label volumes; */
    size_t blank_bytes;   /* 0: there is none */
} pack_work;

/* One row of one channel into a chunk, scaled where the volume is, components side by side. */
static void take_row(unsigned char *out, const lob_hdf5_target *t, int64_t first, int64_t n,
                     size_t step)
{
    const lob_volume *v = t->volume;
    const size_t bytes = lob_type_of(t->type)->bytes;
    if (!t->scaled) {
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
static void fill_chunk(unsigned char *out, const lob_hdf5_target *t,
                       const hsize_t offset[LOB_HDF5_SIDES])
{
    const hsize_t *chunk = t->chunk, *extent = t->extent;
    const size_t bytes = lob_type_of(t->type)->bytes;
    const hsize_t left = extent[3] - offset[3], n = left < chunk[3] ? left : chunk[3];
    for (hsize_t z = 0; z < chunk[1] && offset[1] + z < extent[1]; z++)
        for (hsize_t y = 0; y < chunk[2] && offset[2] + y < extent[2]; y++)
            for (hsize_t c = 0; c < chunk[4] && offset[4] + c < extent[4]; c++) {
                const hsize_t frame = (offset[4] + c) * extent[0] + offset[0];
                const hsize_t row = (frame * extent[1] + offset[1] + z) * extent[2] + offset[2] + y;
                take_row(out + ((z * chunk[2] + y) * chunk[3] * chunk[4] + c) * bytes, t,
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

/* Pack a chunk of zeros once for all. */
static void pack_blank(pack_work *work)
{
    unsigned char *const plain = calloc(work->chunk_bytes, 1);
    struct libdeflate_compressor *const deflater =
        libdeflate_alloc_compressor(work->target->options->level);
    work->blank = malloc(work->bound);
    if (plain && deflater && work->blank)
        work->blank_bytes =
            libdeflate_zlib_compress(deflater, plain, work->chunk_bytes, work->blank, work->bound);
    libdeflate_free_compressor(deflater);
    free(plain);
}

static void pack_chunk(void *user, int64_t index)
{
    const pack_work *work = user;
    chunk_job *job = &work->jobs[index];
    const lob_hdf5_target *t = work->target;
    const size_t bytes = lob_type_of(t->type)->bytes;
    unsigned char *plain = calloc(work->chunk_bytes, 1), *shuffled = NULL;
    struct libdeflate_compressor *deflater = libdeflate_alloc_compressor(t->options->level);
    job->packed_bytes = 0;
    if (bytes > 1) shuffled = malloc(work->chunk_bytes);
    if (plain && deflater && (shuffled || bytes == 1)) {
        fill_chunk(plain, t, job->offset);
        if (work->blank_bytes > 0 && is_blank(plain, work->chunk_bytes)) {
            memcpy(job->packed, work->blank, work->blank_bytes);
            job->packed_bytes = work->blank_bytes;
        } else {
            if (shuffled) shuffle(shuffled, plain, work->chunk_bytes, bytes);
            job->packed_bytes = libdeflate_zlib_compress(
                deflater, shuffled ? shuffled : plain, work->chunk_bytes, job->packed, work->bound);
        }
    }
    libdeflate_free_compressor(deflater);
    free(shuffled);
    free(plain);
}

/* The place of a chunk by its number, in the order of the file. */
static void offset_of(hsize_t offset[LOB_HDF5_SIDES], const lob_hdf5_target *t, int64_t number)
{
    hsize_t rest = (hsize_t)number;
    for (int i = LOB_HDF5_SIDES - 1; i >= 0; i--) {
        const hsize_t grid = (t->extent[i] - 1) / t->chunk[i] + 1;
        offset[i] = rest % grid * t->chunk[i];
        rest /= grid;
    }
}

/* Chunks first to first + count: packed side by side, then written. */
static lob_status write_some(hid_t set, const lob_hdf5_target *t, pack_work *work, int64_t first,
                             int64_t count, int threads)
{
    for (int64_t k = 0; k < count; k++) offset_of(work->jobs[k].offset, t, first + k);
    const double start_s = lob_clock_s();
    lob_sandbox_parallel(count, threads, pack_chunk, work);
    *t->compress_s += lob_clock_s() - start_s;
    for (int64_t k = 0; k < count; k++) {
        const chunk_job *job = &work->jobs[k];
        if (job->packed_bytes == 0) return LOB_ENOMEM;
        if (H5Dwrite_chunk(set, H5P_DEFAULT, 0, job->offset + t->first, job->packed_bytes,
                           job->packed) < 0)
            return LOB_EIO;
    }
    return LOB_OK;
}

lob_status lob_hdf5_pack(hid_t set, const lob_hdf5_target *t)
{
    const int threads = t->options->threads < 1    ? 1
                        : t->options->threads > 64 ? 64
                                                   : t->options->threads;
    const int64_t max_jobs = threads == 1 ? 1 : 4 * threads;
    pack_work work = {.target = t, .chunk_bytes = lob_type_of(t->type)->bytes};
    int64_t n = 1;
    for (int i = 0; i < LOB_HDF5_SIDES; i++) {
        n *= (int64_t)((t->extent[i] - 1) / t->chunk[i] + 1);
        work.chunk_bytes *= t->chunk[i];
    }
    work.bound = libdeflate_zlib_compress_bound(NULL, work.chunk_bytes);
    work.jobs = calloc((size_t)max_jobs, sizeof *work.jobs);
    lob_status st = work.jobs ? LOB_OK : LOB_ENOMEM;
    if (n > 1) pack_blank(&work);
    for (int64_t k = 0; st == LOB_OK && k < max_jobs; k++) {
        work.jobs[k].packed = malloc(work.bound);
        if (!work.jobs[k].packed) st = LOB_ENOMEM;
    }
    for (int64_t first = 0; st == LOB_OK && first < n; first += max_jobs)
        st = write_some(set, t, &work, first, n - first < max_jobs ? n - first : max_jobs, threads);
    return st; /* the process ends soon; its memory goes with it */
}
