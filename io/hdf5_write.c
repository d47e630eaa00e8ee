/* Writing a volume in ITK's HDF5 layout, with the attributes that microscopy programs look for. */
#include "io/hdf5_parts.h"

#include "io/errno_text.h"
#include "io/sandbox.h"
#include "volumes/clock.h"
#include "volumes/version.h"

#include <cjson/cJSON.h>
#include <libdeflate.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_SIDE = 64, CHUNK_BYTES = 4 << 20 };

/* What the child needs to know, and what it works out. */
typedef struct {
    const lob_volume *volume;
    const lob_write_options *options;
    double *compress_s; /* of the outcome */
    lob_type type;      /* as stored: a scaled volume becomes real */
    bool scaled;
    int rank;
    hsize_t extent[4], chunk[4]; /* z, y, x and, for several channels, c */
} target;

static hid_t file_type(lob_type type)
{
    switch (type) {
    case LOB_U8:
        return H5T_NATIVE_UCHAR;
    case LOB_I8:
        return H5T_NATIVE_SCHAR;
    case LOB_U16:
        return H5T_NATIVE_USHORT;
    case LOB_I16:
        return H5T_NATIVE_SHORT;
    case LOB_U32:
        return H5T_NATIVE_UINT;
    case LOB_I32:
        return H5T_NATIVE_INT;
    case LOB_U64:
        return H5T_NATIVE_ULONG;
    case LOB_I64:
        return H5T_NATIVE_LONG;
    case LOB_F32:
        return H5T_NATIVE_FLOAT;
    default:
        return H5T_NATIVE_DOUBLE;
    }
}

/* ITK's names of component types, by lob_type. */
static const char *const itk_names[LOB_TYPES] = {
    [LOB_U8] = "UCHAR",  [LOB_I8] = "CHAR",   [LOB_U16] = "USHORT", [LOB_I16] = "SHORT",
    [LOB_U32] = "UINT",  [LOB_I32] = "INT",   [LOB_U64] = "ULONG",  [LOB_I64] = "LONG",
    [LOB_F32] = "FLOAT", [LOB_F64] = "DOUBLE"};

static void plan(target *t)
{
    const lob_volume *v = t->volume;
    t->scaled = v->slope != 1.0 || v->inter != 0.0;
    const bool small = lob_type_of(v->type)->bytes <= 2 || v->type == LOB_F32;
    t->type = !t->scaled ? v->type : small ? LOB_F32 : LOB_F64;
    t->rank = v->channels > 1 ? 4 : 3;
    const int64_t side[4] = {v->dims.nz, v->dims.ny, v->dims.nx, v->channels};
    hsize_t bytes = lob_type_of(t->type)->bytes;
    for (int i = 0; i < t->rank; i++) {
        t->extent[i] = (hsize_t)side[i];
        t->chunk[i] = i < 3 && side[i] > CHUNK_SIDE ? CHUNK_SIDE : (hsize_t)side[i];
        bytes *= t->chunk[i];
    }
    while (bytes > CHUNK_BYTES) { /* many channels or wide types: thinner chunks */
        int widest = 0;
        for (int i = 1; i < t->rank; i++)
            if (t->chunk[i] > t->chunk[widest]) widest = i;
        bytes /= t->chunk[widest];
        t->chunk[widest] = (t->chunk[widest] + 1) / 2;
        bytes *= t->chunk[widest];
    }
}

/* ---- small data sets and attributes ---- */

static hid_t creation_plist(void)
{
    const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(plist, false); /* the same volume gives the same bytes */
    return plist;
}

static bool write_numbers(hid_t group, const char *name, hid_t type, const void *values, int rank,
                          const hsize_t *extent)
{
    const hid_t space = H5Screate_simple(rank, extent, NULL), plist = creation_plist();
    const hid_t set = H5Dcreate(group, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    bool ok = set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    if (set >= 0) ok = H5Dclose(set) >= 0 && ok;
    H5Pclose(plist);
    H5Sclose(space);
    return ok;
}

static bool write_geometry(hid_t group, const lob_volume *v)
{
    const hsize_t three[2] = {3, 3};
    const uint64_t dimension[3] = {(uint64_t)v->dims.nx, (uint64_t)v->dims.ny,
                                   (uint64_t)v->dims.nz};
    double origin[3], directions[3][3];
    for (int r = 0; r < 3; r++) {
        const double sign = r < 2 ? -1.0 : 1.0;            /* RAS to LPS */
        origin[r] = sign * v->geometry.affine[r][3] + 0.0; /* no negative zero */
        for (int a = 0; a < 3; a++)
            directions[a][r] = sign * v->geometry.affine[r][a] / v->geometry.spacing_mm[a] + 0.0;
    }
    return write_numbers(group, "Dimension", H5T_NATIVE_ULONG, dimension, 1, three) &&
           write_numbers(group, "Directions", H5T_NATIVE_DOUBLE, directions, 2, three) &&
           write_numbers(group, "Origin", H5T_NATIVE_DOUBLE, origin, 1, three) &&
           write_numbers(group, "Spacing", H5T_NATIVE_DOUBLE, v->geometry.spacing_mm, 1, three);
}

static bool write_text_attribute(hid_t set, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    const hid_t attribute = H5Acreate(set, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    const bool ok = attribute >= 0 && H5Awrite(attribute, type, &text) >= 0;
    if (attribute >= 0) H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    return ok;
}

/* Spacing as ilastik, PlantSeg and Fiji look for it: in micrometres, slowest axis first. */
static bool write_attributes(hid_t set, const lob_volume *v)
{
    const hsize_t three = 3;
    double um[3];
    for (int a = 0; a < 3; a++) um[a] = v->geometry.spacing_mm[2 - a] * 1e3;
    char tags[512];
    size_t used = (size_t)snprintf(tags, sizeof tags, "{\"axes\": [");
    for (int i = 0; i < 3; i++)
        used += (size_t)snprintf(
            tags + used, sizeof tags - used,
            "%s{\"key\": \"%c\", \"typeFlags\": 2, \"resolution\": %.17g, \"description\": \"\"}",
            i ? ", " : "", "zyx"[i], um[i]);
    snprintf(tags + used, sizeof tags - used, "%s]}",
             v->channels > 1
                 ? ", {\"key\": \"c\", \"typeFlags\": 1, \"resolution\": 0, \"description\": \"\"}"
                 : "");
    const hid_t space = H5Screate_simple(1, &three, NULL);
    const hid_t attribute =
        H5Acreate(set, "element_size_um", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
    const bool ok = attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_DOUBLE, um) >= 0;
    if (attribute >= 0) H5Aclose(attribute);
    H5Sclose(space);
    return ok && write_text_attribute(set, "axistags", tags) &&
           write_text_attribute(set, "axis_units", "{\"z\": \"um\", \"y\": \"um\", \"x\": \"um\"}");
}

/* ---- voxels ---- */

/* A chunk on its way to the file. */
typedef struct {
    hsize_t offset[4];
    unsigned char *packed;
    size_t packed_bytes; /* 0: out of memory */
} chunk_job;

typedef struct {
    const target *target;
    chunk_job *jobs;
    size_t chunk_bytes, bound;
} pack_work;

/* One row of one channel into a chunk, scaled where the volume is, components side by side. */
static void take_row(unsigned char *out, const target *t, int64_t first, int64_t n, size_t step)
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
static void fill_chunk(unsigned char *out, const target *t, const hsize_t offset[4])
{
    const lob_volume *v = t->volume;
    const size_t bytes = lob_type_of(t->type)->bytes;
    const hsize_t channels = t->rank == 4 ? t->chunk[3] : 1, c0 = t->rank == 4 ? offset[3] : 0;
    for (hsize_t z = 0; z < t->chunk[0] && offset[0] + z < t->extent[0]; z++)
        for (hsize_t y = 0; y < t->chunk[1] && offset[1] + y < t->extent[1]; y++)
            for (hsize_t c = 0; c < channels && c0 + c < (hsize_t)v->channels; c++) {
                const hsize_t left = t->extent[2] - offset[2];
                const hsize_t plane = (c0 + c) * t->extent[0] + offset[0] + z;
                const hsize_t row = plane * t->extent[1] + offset[1] + y;
                take_row(out + (((z * t->chunk[1] + y) * t->chunk[2]) * channels + c) * bytes, t,
                         (int64_t)(row * t->extent[2] + offset[2]),
                         (int64_t)(left < t->chunk[2] ? left : t->chunk[2]), channels * bytes);
            }
}

static void shuffle(unsigned char *out, const unsigned char *in, size_t n, size_t bytes)
{
    const size_t count = n / bytes;
    for (size_t b = 0; b < bytes; b++)
        for (size_t i = 0; i < count; i++) out[b * count + i] = in[i * bytes + b];
}

static void pack_chunk(void *user, int64_t index)
{
    const pack_work *work = user;
    chunk_job *job = &work->jobs[index];
    const target *t = work->target;
    const size_t bytes = lob_type_of(t->type)->bytes;
    unsigned char *plain = calloc(work->chunk_bytes, 1), *shuffled = NULL;
    struct libdeflate_compressor *deflater = libdeflate_alloc_compressor(t->options->level);
    job->packed_bytes = 0;
    if (bytes > 1) shuffled = malloc(work->chunk_bytes);
    if (plain && deflater && (shuffled || bytes == 1)) {
        fill_chunk(plain, t, job->offset);
        if (shuffled) shuffle(shuffled, plain, work->chunk_bytes, bytes);
        job->packed_bytes = libdeflate_zlib_compress(deflater, shuffled ? shuffled : plain,
                                                     work->chunk_bytes, job->packed, work->bound);
    }
    libdeflate_free_compressor(deflater);
    free(shuffled);
    free(plain);
}

/* Chunks in the order of the file, compressed side by side, some for each thread at a time. */
static lob_status write_chunks(hid_t set, const target *t)
{
    const int threads = t->options->threads < 1    ? 1
                        : t->options->threads > 64 ? 64
                                                   : t->options->threads;
    const int64_t max_jobs = threads == 1 ? 1 : 4 * threads;
    pack_work work = {.target = t, .chunk_bytes = lob_type_of(t->type)->bytes};
    hsize_t grid[4] = {1, 1, 1, 1};
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) {
        grid[i] = (t->extent[i] - 1) / t->chunk[i] + 1;
        n *= (int64_t)grid[i];
        work.chunk_bytes *= t->chunk[i];
    }
    work.bound = libdeflate_zlib_compress_bound(NULL, work.chunk_bytes);
    work.jobs = calloc((size_t)max_jobs, sizeof *work.jobs);
    lob_status st = work.jobs ? LOB_OK : LOB_ENOMEM;
    for (int64_t k = 0; st == LOB_OK && k < max_jobs; k++) {
        work.jobs[k].packed = malloc(work.bound);
        if (!work.jobs[k].packed) st = LOB_ENOMEM;
    }
    for (int64_t first = 0; st == LOB_OK && first < n; first += max_jobs) {
        const int64_t count = n - first < max_jobs ? n - first : max_jobs;
        for (int64_t k = 0; k < count; k++) {
            hsize_t rest = (hsize_t)(first + k);
            for (int i = t->rank - 1; i >= 0; rest /= grid[i], i--)
                work.jobs[k].offset[i] = rest % grid[i] * t->chunk[i];
        }
        const double start_s = lob_clock_s();
        lob_sandbox_parallel(count, threads, pack_chunk, &work);
        *t->compress_s += lob_clock_s() - start_s;
        for (int64_t k = 0; st == LOB_OK && k < count; k++) {
            const chunk_job *job = &work.jobs[k];
            if (job->packed_bytes == 0)
                st = LOB_ENOMEM;
            else if (H5Dwrite_chunk(set, H5P_DEFAULT, 0, job->offset, job->packed_bytes,
                                    job->packed) < 0)
                st = LOB_EIO;
        }
    }
    return st; /* the process ends soon; its memory goes with it */
}

static lob_status write_voxels(hid_t group, const target *t)
{
    const hid_t space = H5Screate_simple(t->rank, t->extent, NULL), plist = creation_plist();
    H5Pset_chunk(plist, t->rank, t->chunk);
    if (lob_type_of(t->type)->bytes > 1) H5Pset_shuffle(plist);
    H5Pset_deflate(plist, (unsigned)t->options->level);
    H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER); /* every chunk is written */
    const hid_t set =
        H5Dcreate(group, "VoxelData", file_type(t->type), space, H5P_DEFAULT, plist, H5P_DEFAULT);
    lob_status st = set < 0 ? LOB_EIO : write_chunks(set, t);
    if (st == LOB_OK && !write_attributes(set, t->volume)) st = LOB_EIO;
    if (set >= 0 && H5Dclose(set) < 0 && st == LOB_OK) st = LOB_EIO;
    H5Pclose(plist);
    H5Sclose(space);
    return st;
}

/* ---- the file ---- */

static hid_t create_group(hid_t parent, const char *name)
{
    return H5Gcreate(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
}

/* The entries that came with an HDF5 input, or none. */
static bool write_metadata(hid_t group, const target *t)
{
    const lob_header *header = &t->volume->header;
    const hid_t metadata = create_group(group, "MetaData");
    if (metadata < 0) return false;
    bool ok = true;
    if (header->format == lob_format_hdf5.name && header->bytes && !t->options->strip_extensions) {
        cJSON *root = cJSON_ParseWithLength((const char *)header->bytes, header->size);
        ok = lob_hdf5_metadata_write(metadata, cJSON_GetObjectItemCaseSensitive(root, "metadata"));
        cJSON_Delete(root);
    }
    return H5Gclose(metadata) >= 0 && ok;
}

/* In ITK's own choice of versions, which all read. */
static hid_t create_file(int *cause)
{
    const lob_hdf5_storage storage = {.fd = LOB_SANDBOX_KEPT, .cause = cause};
    const hid_t plist = lob_hdf5_access(&storage);
    if (plist < 0) return -1;
    H5Pset_libver_bounds(plist, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18);
    return H5Fcreate("output", H5F_ACC_TRUNC, H5P_DEFAULT, plist);
}

static lob_status write_contents(hid_t file, const target *t)
{
    unsigned major, minor, release;
    char version[64];
    H5get_libversion(&major, &minor, &release);
    snprintf(version, sizeof version, "HDF5 library version: %u.%u.%u", major, minor, release);
    const hid_t image = create_group(file, "ITKImage");
    const hid_t group = image < 0 ? -1 : create_group(image, "0");
    if (group < 0 ||
        !lob_hdf5_write_string(file, "ITKVersion",
                               "ITK's layout, written by Lobule " LOB_VERSION) ||
        !lob_hdf5_write_string(file, "HDFVersion", version) || !write_geometry(group, t->volume) ||
        !lob_hdf5_write_string(group, "VoxelType", itk_names[t->type]) || !write_metadata(group, t))
        return LOB_EIO;
    const lob_status st = write_voxels(group, t);
    H5Gclose(group);
    H5Gclose(image);
    return st;
}

typedef struct {
    lob_status status;
    int cause; /* errno */
    double compress_s;
} outcome;

static void write_child(int out, void *user)
{
    target *t = user; /* this process's own */
    outcome result = {.status = LOB_EIO};
    t->compress_s = &result.compress_s;
    const hid_t file = create_file(&result.cause);
    if (file >= 0) {
        result.status = write_contents(file, t);
        if (result.status == LOB_OK && H5Fclose(file) < 0) result.status = LOB_EIO;
    }
    lob_sandbox_send(out, &result, sizeof result);
}

lob_status lob_hdf5_write(const lob_volume *volume, const lob_location *where,
                          const lob_write_options *options, lob_error *error)
{
    if (where->inside)
        return lob_fail(error, LOB_EARG, "%s: an HDF5 output is a file of its own; leave out :%s",
                        where->path, where->inside);
    lob_output output;
    lob_status st = lob_output_begin(&output, where->file, options->force, error);
    if (st != LOB_OK) return st;

    target t = {.volume = volume, .options = options};
    plan(&t);
    outcome result = {.status = LOB_EINTERNAL};
    lob_sandbox box;
    if (!lob_sandbox_start(&box, write_child, &t, output.fd)) {
        st = lob_fail(error, LOB_ENOMEM, "%s: the system gives no process to write HDF5 in",
                      where->path);
    } else if (lob_sandbox_receive(&box, &result, sizeof result, 0)) {
        lob_sandbox_finish(&box, NULL);
        st = result.status;
        *options->compress_s += result.compress_s;
        if (st == LOB_ENOMEM) lob_fail(error, st, "%s: out of memory", where->path);
        if (st == LOB_EIO)
            lob_fail(error, st, "%s: write failed: %s", where->path,
                     result.cause ? ERRNO_TEXT(result.cause) : "HDF5 could not write");
    } else {
        const lob_sandbox_end end = lob_sandbox_finish(&box, NULL);
        st = end == LOB_SANDBOX_INTERRUPTED ? LOB_ECANCEL
             : end == LOB_SANDBOX_KILLED    ? LOB_ENOMEM
                                            : LOB_EINTERNAL;
        lob_fail(error, st, "%s: the HDF5 writer ended early: %s", where->path,
                 lob_status_text(st));
    }
    return lob_output_end(&output, st, error);
}
