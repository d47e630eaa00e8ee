/*
 * Writing OME-Zarr 0.5: shards of up to 512^3 voxels with chunks of 64^3, packed by zstd, and a
 * pyramid of levels. Planes come in their order; 64 of them are a row of chunks, which threads pack
 * and which goes to the ends of the shards' files. Chunks of zeros are not stored. The files are a
 * function of the volume alone.
 */
#include "io/byte_order.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/nifti/nifti_header.h"
#include "io/platform.h"
#include "io/zarr/ngff.h"
#include "io/zarr/zarr.h"
#include "io/zarr/zarr_coarser.h"
#include "io/zarr/zarr_codecs.h"
#include "io/zarr/zarr_image.h"
#include "io/zarr/zarr_place.h"
#include "volumes/bytes.h"
#include "volumes/clock.h"
#include "volumes/free.h"
#include "volumes/voxel_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 64,
    SHARD = 512,
    CHUNKS = SHARD / CHUNK, /* of a full shard along each axis */
    LEVELS = 12,
    TOP = 128,       /* a level whose sides are no longer has no coarser one */
    ENTRY = 16,      /* bytes of an index for each chunk: offset and size */
    USUAL = 3,       /* zstd's level */
    PIECE = 1 << 16, /* bytes of rows that are left untouched together while they are 0 */
    MAX_PATH = 4096
};

/* A level of the pyramid. */
typedef struct {
    lob_dims dims;
    int64_t step[3];      /* voxels of the volume, and those of the level before, per voxel */
    int halves[3];        /* 2 where the next level has half of the side, else 1 */
    int64_t across, down; /* shards along x and y */
    int64_t chunks[3];    /* of a shard along x, y and z: up to CHUNKS */
    unsigned char *rows;  /* up to CHUNK planes */
    bool any;             /* they may hold something but 0 */
    int64_t have, next_z, channel; /* planes in rows; the first one's place */
    /* of the row of shards that is being written, across * down: bytes in their files so far */
    uint64_t *bytes;
    unsigned char *index;
    size_t index_bytes; /* of each shard */
} level;

typedef struct {
    const lob_volume *volume;
    const char *path;
    lob_folder folder; /* with the levels "0", "1", ... and the metadata */
    char *labels;      /* folder of the label images that this is one of; NULL: it stands alone */
    bool means;        /* of voxels, on coarser levels; false: every second one, for labels */
    int packing, threads, count;
    double *compress_s;
    size_t word, filled; /* bytes of a voxel; in the rows of level 0 */
    bool *written;       /* of each PIECE of these: it may hold something but 0 */
    int64_t pieces;
    level levels[LEVELS];
} writing;

/* ---- files ---- */

static lob_status failed(const writing *w, lob_error *error)
{
    return lob_fail_file(error, LOB_EIO, w->path, "write failed: %s", ERRNO_TEXT(errno));
}

static lob_status no_memory(const writing *w, lob_error *error)
{
    return lob_fail_file(error, LOB_ENOMEM, w->path, "no memory to write it");
}

/* Make the folders of a file below the output's, as far as they are missing. */
static bool make_way(const writing *w, const char *name)
{
    char path[MAX_PATH];
    const size_t base = (size_t)snprintf(path, sizeof path, "%s/", w->folder.temporary);
    if (base + strlen(name) >= sizeof path) return errno = ENAMETOOLONG, false;
    memcpy(path + base, name, strlen(name) + 1);
    for (char *slash = path + base; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (lob_make_folder(path) != 0 && errno != EEXIST) return false;
        *slash = '/';
    }
    return true;
}

/* Add bytes to a file of the output, which is made if it is not there; the last ones bring it to
 * the disk. */
static lob_status add_to(const writing *w, const char *name, const lob_output_part *parts,
                         int64_t count, bool last, lob_error *error)
{
    char *path;
    lob_output file = {.path = w->folder.path};
    if (!make_way(w, name)) return failed(w, error);
    if (asprintf(&path, "%s/%s", w->folder.temporary, name) < 0) return no_memory(w, error);
    file.fd = lob_open_to_add(path);
    free(path);
    if (file.fd < 0) return failed(w, error);
    lob_status st = LOB_OK;
    for (int64_t i = 0; st == LOB_OK && i < count; i++)
        st = lob_output_write(&file, parts[i].bytes, parts[i].size, error);
    if (st == LOB_OK && last) st = lob_output_flush(&file, error);
    return lob_fd_close(file.fd) != 0 && st == LOB_OK ? failed(w, error) : st;
}

/* ---- chunks ---- */

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t rows_bytes(const level *l, size_t word)
{
    return l->dims.nx * l->dims.ny * (l->dims.nz < CHUNK ? l->dims.nz : CHUNK) * (int64_t)word;
}

/* Copy a chunk out of the rows, padded with zeros; false: it is all zero. */
static bool cut_chunk(unsigned char *chunk, const level *l, size_t word, int64_t cx, int64_t cy)
{
    const int64_t x = cx * CHUNK, y = cy * CHUNK;
    const int64_t width = l->dims.nx - x < CHUNK ? l->dims.nx - x : CHUNK;
    const int64_t height = l->dims.ny - y < CHUNK ? l->dims.ny - y : CHUNK;
    const size_t row = (size_t)width * word, next = (size_t)l->dims.nx * word;
    bool any = false;
    for (int64_t z = 0; z < l->have; z++) {
        const unsigned char *from =
            l->rows + (size_t)((z * l->dims.ny + y) * l->dims.nx + x) * word;
        for (int64_t r = 0; r < height; r++, from += next) {
            if (!any && lob_all_zero(from, row)) continue;
            if (!any) memset(chunk, 0, CHUNK * CHUNK * CHUNK * word);
            any = true;
            memcpy(chunk + (size_t)((z * CHUNK + r) * CHUNK) * word, from, row);
        }
    }
    if (any && !lob_little_endian()) lob_swap_words(chunk, CHUNK * CHUNK * CHUNK * word, word);
    return any;
}

/* Pack a row of chunks; parts that hold nothing are zeros. false: no memory. */
static bool pack_row(lob_output_part *parts, const level *l, const writing *w)
{
    const int64_t across = ceil_div(l->dims.nx, CHUNK), n = across * ceil_div(l->dims.ny, CHUNK);
    const size_t bytes = CHUNK * CHUNK * CHUNK * w->word;
    bool ok = true;
#pragma omp parallel num_threads(n < w->threads ? (int)n : w->threads) reduction(&& : ok)
    {
        unsigned char *const chunk = malloc(bytes);
        ok = chunk != NULL;
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < n; i++) {
            if (!chunk || !cut_chunk(chunk, l, w->word, i % across, i / across)) continue;
            parts[i].bytes = lob_zarr_pack(&parts[i].size, chunk, bytes, w->packing);
            ok = ok && parts[i].bytes;
        }
        free(chunk);
    }
    return ok;
}

/* Name of a shard's file: along z it is that of the level's present planes. */
static void shard_name(char *name, size_t room, const level *l, int number, int64_t nth,
                       bool channels)
{
    char channel[24] = "";
    if (channels) snprintf(channel, sizeof channel, "%lld/", (long long)l->channel);
    snprintf(name, room, "%d/c/%s%lld/%lld/%lld", number, channel,
             (long long)(l->next_z / (l->chunks[2] * CHUNK)), (long long)(nth / l->across),
             (long long)(nth % l->across));
}

/* Add the row's chunks of one shard to its file, behind them its index when the row is its last. */
static lob_status put_shard(const writing *w, int number, int64_t nth, const lob_output_part *row,
                            bool last, lob_error *error)
{
    const level *const l = &w->levels[number];
    const int64_t across = ceil_div(l->dims.nx, CHUNK), down = ceil_div(l->dims.ny, CHUNK);
    const int64_t x0 = nth % l->across * l->chunks[0], y0 = nth / l->across * l->chunks[1];
    const int64_t z = l->next_z / CHUNK % l->chunks[2];
    unsigned char *const index = l->index + (size_t)nth * l->index_bytes;
    uint64_t *const bytes = &l->bytes[nth];
    lob_output_part parts[CHUNKS * CHUNKS + 2];
    unsigned char sum[4];
    char name[128];
    int64_t count = 0;
    for (int64_t y = 0; y < l->chunks[1] && y0 + y < down; y++)
        for (int64_t x = 0; x < l->chunks[0] && x0 + x < across; x++) {
            const lob_output_part *const part = &row[(y0 + y) * across + x0 + x];
            if (!part->bytes) continue;
            unsigned char *const entry =
                index + ENTRY * ((z * l->chunks[1] + y) * l->chunks[0] + x);
            lob_put_little_number(entry, *bytes, 8);
            lob_put_little_number(entry + 8, part->size, 8);
            *bytes += part->size;
            parts[count++] = *part;
        }
    last = last && *bytes > 0;
    if (last) {
        lob_put_little_number(sum, lob_crc32c(index, l->index_bytes), 4);
        parts[count++] = (lob_output_part){index, l->index_bytes};
        parts[count++] = (lob_output_part){sum, sizeof sum};
    }
    if (count == 0) return LOB_OK;
    shard_name(name, sizeof name, l, number, nth, w->volume->channels > 1);
    return add_to(w, name, parts, count, last, error);
}

static lob_status flush_row(writing *w, int number, lob_error *error);

/* Hand the rows to the next level, at whose end its own row goes out with them. */
static lob_status feed_next(writing *w, int number, bool end, lob_error *error)
{
    if (number + 1 == w->count) return LOB_OK;
    level *const l = &w->levels[number], *const next = l + 1;
    const int64_t planes = ceil_div(l->have, l->halves[2]);
    const lob_coarser how = {
        l->dims, l->have, {l->halves[0], l->halves[1], l->halves[2]},
          w->volume->type, w->means
    };
    const size_t before = (size_t)(next->have * next->dims.nx * next->dims.ny) * w->word;
    if (l->any) lob_coarser_planes(next->rows + before, l->rows, &how, w->threads);
    next->any = next->any || l->any;
    next->have += planes;
    return next->have == CHUNK || end ? flush_row(w, number + 1, error) : LOB_OK;
}

static void begin_shards(level *l)
{
    const size_t shards = (size_t)(l->across * l->down);
    memset(l->bytes, 0, shards * sizeof *l->bytes);
    memset(l->index, 0xff, shards * l->index_bytes);
}

/* Write the planes that a level has, a row of chunks or the channel's last. */
static lob_status flush_row(writing *w, int number, lob_error *error)
{
    level *const l = &w->levels[number];
    const bool end = l->next_z + l->have == l->dims.nz;
    const bool last = end || (l->next_z + l->have) % (l->chunks[2] * CHUNK) == 0;
    const int64_t n = ceil_div(l->dims.nx, CHUNK) * ceil_div(l->dims.ny, CHUNK);
    LOB_TRY(feed_next(w, number, end, error));
    lob_output_part *const row = calloc((size_t)n, sizeof *row);
    if (!row) return no_memory(w, error);
    const double start_s = lob_clock_s();
    lob_status st = !l->any || pack_row(row, l, w) ? LOB_OK : no_memory(w, error);
    *w->compress_s += lob_clock_s() - start_s;
    for (int64_t i = 0; st == LOB_OK && i < l->across * l->down; i++)
        st = put_shard(w, number, i, row, last, error);
    for (int64_t i = 0; i < n; i++) free((void *)row[i].bytes);
    free(row);
    if (l->any && number > 0) lob_clear(l->rows, (size_t)rows_bytes(l, w->word));
    l->any = false;
    l->next_z += l->have;
    l->have = 0;
    if (last) begin_shards(l);
    if (end) {
        l->next_z = 0;
        l->channel++;
    }
    return st;
}

/* ---- metadata ---- */

static lob_status put_json(const writing *w, const char *name, cJSON *json, lob_error *error)
{
    char *const text = json ? cJSON_Print(json) : NULL;
    const lob_output_part part = {text, text ? strlen(text) : 0};
    const lob_status st = text ? add_to(w, name, &part, 1, true, error) : no_memory(w, error);
    cJSON_free(text);
    cJSON_Delete(json);
    return st;
}

/* The metadata of an array; the parts that differ come as text. */
static lob_status put_array(const writing *w, const char *name, const char *shape, const char *file,
                            const char *type, const char *codecs, const char *names,
                            lob_error *error)
{
    char *text = NULL;
    if (asprintf(&text,
                 "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [%s], "
                 "\"data_type\": \"%s\", \"chunk_grid\": {\"name\": \"regular\", "
                 "\"configuration\": {\"chunk_shape\": [%s]}}, \"chunk_key_encoding\": "
                 "{\"name\": \"default\", \"configuration\": {\"separator\": \"/\"}}, "
                 "\"fill_value\": 0, \"codecs\": [%s], \"attributes\": {}%s}\n",
                 shape, type, file, codecs, names) < 0)
        return no_memory(w, error);
    const lob_output_part part = {text, strlen(text)};
    const lob_status st = add_to(w, name, &part, 1, true, error);
    free(text);
    return st;
}

static lob_status put_level(const writing *w, int number, lob_error *error)
{
    static const char bytes[] =
        "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}";
    const level *const l = &w->levels[number];
    const bool channels = w->volume->channels > 1;
    char name[64], shape[128], file[128], codecs[1024];
    const char *const one = channels ? "1, " : "";
    char c[24] = "";
    if (channels) snprintf(c, sizeof c, "%d, ", w->volume->channels);
    snprintf(name, sizeof name, "%d/zarr.json", number);
    snprintf(shape, sizeof shape, "%s%lld, %lld, %lld", c, (long long)l->dims.nz,
             (long long)l->dims.ny, (long long)l->dims.nx);
    snprintf(file, sizeof file, "%s%lld, %lld, %lld", one, (long long)l->chunks[2] * CHUNK,
             (long long)l->chunks[1] * CHUNK, (long long)l->chunks[0] * CHUNK);
    snprintf(
        codecs, sizeof codecs,
        "{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [%s%d, %d, %d], "
        "\"codecs\": [%s, {\"name\": \"zstd\", \"configuration\": {\"level\": %d, "
        "\"checksum\": false}}], \"index_codecs\": [%s, {\"name\": \"crc32c\"}], "
        "\"index_location\": \"end\"}}",
        one, CHUNK, CHUNK, CHUNK, bytes, w->packing, bytes);
    return put_array(w, name, shape, file, lob_type_of(w->volume->type)->name, codecs,
                     channels ? ", \"dimension_names\": [\"c\", \"z\", \"y\", \"x\"]"
                              : ", \"dimension_names\": [\"z\", \"y\", \"x\"]",
                     error);
}

/* NIfTI-Zarr 1.0: the header that a .nii of this volume has, with its extensions. */
static lob_status put_header(const writing *w, int64_t largest, const lob_write_options *options,
                             lob_error *error)
{
    const lob_nifti_type *type;
    size_t n;
    char shape[32];
    unsigned char *const head = lob_nifti_make_head(&n, &type, w->volume, largest, false, options);
    if (!head) return no_memory(w, error);
    snprintf(shape, sizeof shape, "%zu", n);
    const lob_output_part part = {head, n};
    lob_status st =
        put_array(w, "nifti/zarr.json", shape, shape, "uint8", "{\"name\": \"bytes\"}", "", error);
    if (st == LOB_OK) st = add_to(w, "nifti/c/0", &part, 1, true, error);
    free(head);
    return st;
}

static lob_status put_metadata(const writing *w, int64_t largest, const lob_write_options *options,
                               lob_error *error)
{
    int64_t steps[LEVELS][3];
    for (int i = 0; i < w->count; i++) {
        memcpy(steps[i], w->levels[i].step, sizeof steps[i]);
        LOB_TRY(put_level(w, i, error));
    }
    LOB_TRY(put_header(w, largest, options, error));
    cJSON *const attributes =
        lob_ngff_make(w->volume, (const int64_t(*)[3])steps, w->count,
                      lob_name_in_path(w->folder.path), !w->means, w->labels ? "../../" : NULL);
    return put_json(w, "zarr.json", lob_zarr_make_group(attributes), error);
}

/* ---- the row's functions ---- */

static void free_level(level *l)
{
    LOB_FREE(l->bytes, l->index, l->rows);
}

static void discard(void *state)
{
    writing *const w = state;
    for (int i = 0; i < w->count; i++) free_level(&w->levels[i]);
    free(w->written);
    lob_folder_abort(&w->folder);
    if (w->labels) lob_remove_folder(w->labels); /* unless there are others */
    free(w->labels);
    free(w);
}

/* Memory for a level, whose dims and step are set. */
static bool prepare_level(level *l, size_t word)
{
    const int64_t sides[3] = {l->dims.nx, l->dims.ny, l->dims.nz};
    for (int a = 0; a < 3; a++) {
        const int64_t chunks = ceil_div(sides[a], CHUNK);
        l->chunks[a] = chunks < CHUNKS ? chunks : CHUNKS;
    }
    l->across = ceil_div(sides[0], l->chunks[0] * CHUNK);
    l->down = ceil_div(sides[1], l->chunks[1] * CHUNK);
    l->rows = calloc(1, (size_t)rows_bytes(l, word));
    l->index_bytes = (size_t)(ENTRY * l->chunks[0] * l->chunks[1] * l->chunks[2]);
    l->bytes = malloc((size_t)(l->across * l->down) * sizeof *l->bytes);
    l->index = malloc((size_t)(l->across * l->down) * l->index_bytes);
    const bool ok = l->rows && l->bytes && l->index;
    if (ok) begin_shards(l);
    return ok;
}

/*
 * The next level halves the axes along which voxels are less than twice as large as along the
 * finest, so that they come nearer to cubes. false: it would be no smaller, or is small enough.
 */
static bool plan_next(level *next, level *l, const double spacing_mm[3])
{
    const int64_t sides[3] = {l->dims.nx, l->dims.ny, l->dims.nz};
    int64_t longest = 1, half[3];
    double finest = 0;
    for (int a = 0; a < 3; a++) {
        const double mm = spacing_mm[a] * (double)l->step[a];
        if (sides[a] > longest) longest = sides[a];
        if (sides[a] > 1 && (finest == 0 || mm < finest)) finest = mm;
    }
    for (int a = 0; a < 3; a++) {
        l->halves[a] = sides[a] > 1 && spacing_mm[a] * (double)l->step[a] < 2 * finest ? 2 : 1;
        next->step[a] = l->step[a] * l->halves[a];
        half[a] = ceil_div(sides[a], l->halves[a]);
    }
    next->dims = (lob_dims){half[0], half[1], half[2]};
    return longest > TOP;
}

static lob_status prepare(writing *w, lob_error *error)
{
    level *l = w->levels;
    l->dims = w->volume->dims;
    l->step[0] = l->step[1] = l->step[2] = 1;
    w->count = 1;
    w->pieces = rows_bytes(l, w->word) / PIECE + 1;
    w->written = calloc((size_t)w->pieces, sizeof *w->written);
    if (!w->written) return no_memory(w, error);
    while (prepare_level(l, w->word)) {
        if (w->count == LEVELS || !plan_next(l + 1, l, w->volume->geometry.spacing_mm))
            return LOB_OK;
        l++;
        w->count++;
    }
    return no_memory(w, error);
}

/* Give back rows that are mostly 0 for fresh ones, which take memory only where they are written.
 */
static lob_status renew_rows(writing *w, lob_error *error)
{
    level *const l = w->levels;
    int64_t written = 0;
    for (int64_t i = 0; i < w->pieces; i++) written += w->written[i];
    if (2 * written > w->pieces) return LOB_OK;
    free(l->rows);
    l->rows = calloc(1, (size_t)rows_bytes(l, w->word));
    memset(w->written, 0, (size_t)w->pieces * sizeof *w->written);
    return l->rows ? LOB_OK : no_memory(w, error);
}

/* Copy to the rows, or zeros, for which from is NULL; not what is 0 where they are still. */
static void fill_rows(writing *w, const unsigned char *from, size_t n)
{
    while (n > 0) {
        bool *const written = &w->written[w->filled / PIECE];
        const size_t room = PIECE - w->filled % PIECE, some = n < room ? n : room;
        *written = *written || (from && !lob_all_zero(from, some));
        w->levels[0].any = w->levels[0].any || *written;
        if (*written && from)
            memcpy(w->levels[0].rows + w->filled, from, some);
        else if (*written)
            memset(w->levels[0].rows + w->filled, 0, some);
        w->filled += some;
        if (from) from += some;
        n -= some;
    }
}

static lob_status put(void *state, const void *bytes, size_t n, lob_error *error)
{
    writing *const w = state;
    level *const l = w->levels;
    const unsigned char *from = bytes;
    const size_t plane = (size_t)(l->dims.nx * l->dims.ny) * w->word;
    while (n > 0) {
        const int64_t left = l->dims.nz - l->next_z, wanted = left < CHUNK ? left : CHUNK;
        const size_t room = (size_t)wanted * plane - w->filled, some = n < room ? n : room;
        fill_rows(w, from, some);
        if (from) from += some;
        n -= some;
        if (w->filled < (size_t)wanted * plane) break;
        l->have = wanted;
        w->filled = 0;
        LOB_TRY(flush_row(w, 0, error));
        LOB_TRY(renew_rows(w, error));
    }
    return LOB_OK;
}

static lob_status commit(void *state, lob_error *error)
{
    writing *const w = state;
    lob_status st = lob_folder_commit(&w->folder, error);
    if (st == LOB_OK && w->labels) st = lob_zarr_list_labels(w->labels, w->path, error);
    discard(w);
    return st;
}

lob_status lob_zarr_begin_planes(lob_plane_sink *sink, const lob_volume *volume, int64_t largest,
                                 const lob_location *where, const lob_write_options *options,
                                 lob_error *error)
{
    LOB_TRY(lob_zarr_check(where, options->force, error));
    writing *const w = calloc(1, sizeof *w);
    char *const path = lob_zarr_node_folder(where);
    if (!w || !path) {
        LOB_FREE(w, path);
        return lob_fail_file(error, LOB_ENOMEM, where->path, "no memory to write it");
    }
    const bool labels = options->labels || volume->names.count > 0;
    *w = (writing){.volume = volume,
                   .path = where->path,
                   .folder = {.lock = -1},
                   .labels = lob_zarr_labels_folder(where),
                   .means = !labels,
                   .packing = options->level,
                   .threads = options->threads,
                   .compress_s = options->compress_s,
                   .word = lob_type_of(volume->type)->bytes};
    lob_status st = LOB_OK;
    if (w->labels && lob_make_folder(w->labels) != 0 && errno != EEXIST) st = failed(w, error);
    if (st == LOB_OK) st = lob_folder_begin(&w->folder, path, options->force, error);
    if (st == LOB_OK) st = prepare(w, error);
    if (st == LOB_OK) st = put_metadata(w, largest, options, error);
    free(path);
    if (st == LOB_OK)
        *sink = (lob_plane_sink){
            .state = w, .put = put, .takes_zeros = true, .commit = commit, .discard = discard};
    else
        discard(w);
    return st;
}
