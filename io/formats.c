/* The table of volume formats, and what is the same for all of them. */
#include "io/format.h"
#include "io/nifti_pair.h"
#include "volumes/bytes.h"
#include "volumes/clock.h"

#include <ctype.h>
#include <libdeflate.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

lob_read_options lob_read_defaults(void)
{
    return (lob_read_options){.frame = LOB_FRAME_UNSAID, .threads = 1};
}

lob_write_options lob_write_defaults(void)
{
    return (lob_write_options){.threads = 1, .level = 6};
}

/* In the order in which they are asked about a file: NIfTI last, since its mark is the weakest. */
static const lob_format *const formats[] = {&lob_format_hdf5, &lob_format_png, &lob_format_nifti};

enum { FORMATS = sizeof formats / sizeof formats[0], PIECE = 16 << 20 };

/* ---- names ---- */

bool lob_has_suffix(const char *path, const char *suffix)
{
    const size_t length = strlen(path), end = strlen(suffix);
    return length > end && path[length - end - 1] != '/' &&
           strcasecmp(path + length - end, suffix) == 0;
}

static bool has_suffix_of(const lob_format *format, const char *path)
{
    for (const char *const *suffix = format->suffixes; *suffix; suffix++)
        if (lob_has_suffix(path, *suffix)) return true;
    return false;
}

static bool is_regular(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

lob_status lob_location_of(lob_location *out, const char *path)
{
    struct stat about;
    *out = (lob_location){path, strdup(path), NULL};
    if (!out->file) return LOB_ENOMEM;
    if (stat(path, &about) == 0) return LOB_OK;
    for (char *colon = strchr(out->file, ':'); colon; colon = strchr(colon + 1, ':')) {
        *colon = '\0';
        if (colon[1] && (is_regular(out->file) || has_suffix_of(&lob_format_hdf5, out->file))) {
            out->inside = path + (colon + 1 - out->file);
            break;
        }
        *colon = ':';
    }
    return LOB_OK;
}

void lob_location_free(lob_location *where)
{
    free(where->file);
    *where = (lob_location){0};
}

static const lob_format *format_of_name(const lob_location *where)
{
    for (int i = 0; i < FORMATS; i++)
        if (has_suffix_of(formats[i], where->file)) return formats[i];
    return NULL;
}

const lob_format *lob_format_of_name(const lob_location *where, lob_error *error)
{
    const lob_format *format = format_of_name(where);
    if (format) return format;
    char names[256] = "";
    for (int i = FORMATS - 1; i >= 0; i--)
        for (const char *const *suffix = formats[i]->suffixes; *suffix; suffix++) {
            const size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s", used ? " " : "", *suffix);
        }
    lob_fail(error, LOB_EARG, "%s: no volume format has this suffix; known are %s", where->path,
             names);
    return NULL;
}

lob_status lob_files_of(char *files[2], const char *path, bool reading)
{
    lob_location where;
    files[0] = files[1] = NULL;
    if (lob_location_of(&where, path) != LOB_OK) return LOB_ENOMEM;
    if (lob_pair_header(where.file) || lob_pair_image(where.file)) {
        const bool gz = lob_has_suffix(where.file, ".gz");
        files[1] = lob_pair_other(where.file, gz);
        if (files[1] && reading && access(files[1], F_OK) != 0) {
            free(files[1]);
            files[1] = lob_pair_other(where.file, !gz);
        }
        if (!files[1]) {
            lob_location_free(&where);
            return LOB_ENOMEM;
        }
    }
    files[0] = where.file;
    return LOB_OK;
}

void lob_files_free(char *files[2])
{
    free(files[0]);
    free(files[1]);
    files[0] = files[1] = NULL;
}

bool lob_is_volume_name(const char *path)
{
    lob_location where;
    const bool is = lob_location_of(&where, path) == LOB_OK && format_of_name(&where);
    lob_location_free(&where);
    return is;
}

/* ---- helpers of the formats ---- */

int64_t lob_memory_available(void)
{
    long long kib = 0;
    char line[128];
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lld", &kib) == 1) break;
    if (f) fclose(f);
    if (kib > 0) return (int64_t)kib * 1024;
    const long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (int64_t)pages * size : INT64_MAX;
}

lob_status lob_memory_allows(int64_t bytes, const char *path, const lob_read_options *options,
                             lob_error *error)
{
    const bool asked = options->max_memory > 0;
    const int64_t most = asked ? options->max_memory : lob_memory_available() / 10 * 9;
    if (bytes >= 0 && bytes <= most) return LOB_OK;
    if (bytes < 0)
        return lob_fail(error, LOB_ENOMEM, "%s: needs more memory than can be addressed", path);
    char need[LOB_BYTES_TEXT], have[LOB_BYTES_TEXT];
    return lob_fail(error, LOB_ENOMEM,
                    asked ? "%s: needs %s of memory, and --max-memory leaves %s for it"
                          : "%s: needs %s of memory, but %s are free; --max-memory overrides this",
                    path, lob_bytes_text(need, bytes), lob_bytes_text(have, most));
}

lob_status lob_choose_frame(int64_t *frame, int64_t frames, const char *path,
                            const lob_read_options *options, lob_error *error)
{
    *frame = options->frame < 0 ? 0 : options->frame;
    if (*frame >= frames)
        return lob_fail(error, LOB_EDATA, "%s: has no frame %lld; it has %lld, counted from 0",
                        path, (long long)*frame, (long long)frames);
    if (options->frame >= 0 || frames == 1 || options->header_only) return LOB_OK;
    return lob_fail(error, LOB_EDATA,
                    options->frame == LOB_FRAME_NONE
                        ? "%s: has %lld frames, and one is needed here; take one out with `lobule "
                          "convert --frame N`, N from 0 to %lld"
                        : "%s: has %lld frames; choose one with --frame N, N from 0 to %lld",
                    path, (long long)frames, (long long)frames - 1);
}

void *lob_voxel_memory(size_t bytes)
{
    const size_t page = (size_t)2 << 20;
    if (bytes < 4 * page) return malloc(bytes);
    void *memory = NULL;
    if (posix_memalign(&memory, page, bytes) != 0) return NULL;
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes / page * page, MADV_HUGEPAGE); /* advice: it may go unheard */
#endif
    return memory;
}

void lob_warn(lob_file_info *info, const char *format, ...)
{
    const int most = info ? (int)(sizeof info->warning / sizeof info->warning[0]) : 0;
    if (!info || info->warnings >= most) return;
    char *line = info->warning[info->warnings++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof info->warning[0], format, arguments);
    va_end(arguments);
    for (char *c = line; *c; c++)
        if (iscntrl((unsigned char)*c)) *c = '?';
}

bool lob_outgrows_memory(const lob_input *file, const lob_read_options *options)
{
    const int64_t most = options->max_memory > 0 ? options->max_memory : lob_memory_available() / 2;
    return (int64_t)file->size > most;
}

void lob_info_add_file(lob_file_info *info, const lob_input *file, const lob_read_options *options)
{
    if (!info) return;
    const bool first = info->file_bytes == 0;
    info->file_bytes += (int64_t)file->size;
    if (options->header_only) return;
    const bool outgrows = lob_outgrows_memory(file, options);
    uint32_t crc = 0;
    for (size_t at = 0; at < file->size; at += PIECE) {
        const size_t left = file->size - at;
        crc = libdeflate_crc32(crc, file->bytes + at, left < PIECE ? left : PIECE);
        if (outgrows) lob_input_unload(file);
    }
    info->crc32 = first ? crc : (uint32_t)crc32_combine(info->crc32, crc, (z_off_t)file->size);
}

/* ---- the calls of io/io.h ---- */

static const lob_format *format_of_content(const lob_location *where, const lob_input *file)
{
    for (int i = 0; i < FORMATS; i++)
        if (formats[i]->sniff(where, file)) return formats[i];
    return NULL;
}

lob_status lob_format_open(const lob_format **format, lob_location *where, lob_input *file,
                           const char *path, lob_error *error)
{
    *format = NULL;
    *file = (lob_input){0};
    lob_status st = lob_location_of(where, path);
    if (st != LOB_OK) return lob_fail(error, st, "%s: no memory", path);
    st = lob_input_open(file, where->file, error);
    if (st != LOB_OK) return st;
    *format = format_of_content(where, file);
    if (*format) return LOB_OK;
    return lob_fail(error, LOB_EDATA, "%s: is %s", path,
                    file->size ? "no volume file: it is not NIfTI, HDF5 or PNG" : "empty");
}

lob_status lob_read(lob_volume *out, const char *path, const lob_read_options *options,
                    lob_file_info *info, lob_error *error)
{
    const lob_read_options defaults = lob_read_defaults();
    *out = lob_volume_empty();
    if (info) *info = (lob_file_info){0};
    if (!options) options = &defaults;
    const double start_s = lob_clock_s();
    const lob_format *format;
    lob_location where;
    lob_input file;
    lob_status st = lob_format_open(&format, &where, &file, path, error);
    if (st == LOB_OK) st = format->read(out, &where, &file, options, info, error);
    if (st != LOB_OK) lob_volume_free(out);
    lob_input_close(&file);
    lob_location_free(&where);
    if (info) info->read_s = lob_clock_s() - start_s - info->inflate_s;
    return st;
}

lob_write_options lob_sane_write_options(const lob_write_options *options, double *compress_s)
{
    const lob_write_options defaults = lob_write_defaults();
    lob_write_options chosen = options ? *options : defaults;
    if (chosen.level < 1 || chosen.level > 9) chosen.level = defaults.level;
    if (chosen.threads < 1) chosen.threads = 1;
    if (!chosen.compress_s) chosen.compress_s = compress_s;
    return chosen;
}

/* The format that a path to be written asks for, and where it leads: the caller's to free, unless
 * this fails. */
static lob_status format_to_write(const lob_format **format, lob_location *where, const char *path,
                                  lob_error *error)
{
    const lob_status st = lob_location_of(where, path);
    if (st != LOB_OK) return lob_fail(error, st, "%s: no memory", path);
    *format = lob_format_of_name(where, error);
    if (*format) return LOB_OK;
    lob_location_free(where);
    return LOB_EARG;
}

lob_status lob_write(const lob_volume *volume, const char *path, const lob_write_options *options,
                     lob_error *error)
{
    double compress_s = 0; /* for nobody, if nobody asks */
    const lob_write_options chosen = lob_sane_write_options(options, &compress_s);
    const int64_t voxels = lob_dims_voxels(volume->dims);
    if (!volume->data || volume->channels < 1 || (unsigned)volume->type >= LOB_TYPES ||
        lob_product(voxels, volume->channels, 16, 1) < 0)
        return lob_fail(error, LOB_EARG, "%s: there is no volume to write", path);

    const lob_format *format;
    lob_location where;
    lob_status st = format_to_write(&format, &where, path, error);
    if (st != LOB_OK) return st;
    st = format->write(volume, &where, &chosen, error);
    lob_location_free(&where);
    return st;
}

lob_status lob_check_output(const char *path, bool force, lob_error *error)
{
    const lob_format *format;
    lob_location where;
    lob_status st = format_to_write(&format, &where, path, error);
    if (st != LOB_OK) return st;
    st = format->check ? format->check(&where, force, error)
                       : lob_output_check(where.file, force, error);
    lob_location_free(&where);
    return st;
}

lob_status lob_check_volume(const lob_volume *volume, const char *path, lob_error *error)
{
    const lob_format *format;
    lob_location where;
    lob_status st = format_to_write(&format, &where, path, error);
    if (st != LOB_OK) return st;
    if (format->holds) st = format->holds(volume, &where, error);
    lob_location_free(&where);
    return st;
}

void lob_header_fields(const lob_volume *volume, lob_field_fn *field, void *user)
{
    for (int i = 0; volume->header.format && i < FORMATS; i++)
        if (strcmp(formats[i]->name, volume->header.format) == 0 && formats[i]->fields)
            formats[i]->fields(&volume->header, field, user);
}
