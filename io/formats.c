/* The table of volume formats, and the calls of io/io.h that choose a row of it. */
#include "io/formats.h"

#include "io/gzip.h"
#include "io/kinds.h"
#include "io/nifti/nifti_files.h"
#include "io/nifti/nifti_header.h"
#include "io/planes.h"
#include "io/platform.h"
#include "io/zarr/zarr.h"
#include "volumes/bytes.h"
#include "volumes/clock.h"
#include "volumes/free.h"
#include "volumes/voxel_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

lob_read_options lob_read_defaults(void)
{
    return (lob_read_options){.frame = LOB_FRAME_UNSAID, .threads = 1};
}

lob_write_options lob_write_defaults(void)
{
    return (lob_write_options){.threads = 1};
}

/* The order in which they look at a file: NIfTI last, because its signature is the weakest. */
static const lob_format *const formats[] = {&lob_format_zarr,  &lob_format_hdf5, &lob_format_png,
                                            &lob_format_nrrd,  &lob_format_meta, &lob_format_tiff,
                                            &lob_format_dicom, &lob_format_nifti};

enum { FORMATS = sizeof formats / sizeof formats[0] };

/* ---- names ---- */

static bool has_suffix_of(const lob_format *format, const char *path)
{
    for (const char *const *suffix = format->suffixes; *suffix; suffix++)
        if (lob_has_suffix(path, *suffix)) return true;
    return false;
}

/* Split STORE.zarr/array behind the store's name. */
static bool split_store(lob_location *out)
{
    for (char *slash = strchr(out->file, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (has_suffix_of(&lob_format_zarr, out->file) &&
            (!lob_is_folder(out->file) || lob_folder_is_zarr(out->file))) {
            out->inside = out->path + (slash + 1 - out->file);
            while (*out->inside == '/') out->inside++;
            if (!*out->inside) out->inside = NULL;
            return true;
        }
        *slash = '/';
    }
    return false;
}

lob_status lob_location_of(lob_location *out, const char *path)
{
    lob_about about;
    *out = (lob_location){.path = path, .file = strdup(path), .made.scratch.lock = -1};
    if (!out->file) return LOB_ENOMEM;
    if (!lob_is_file(path) && split_store(out)) return LOB_OK;
    if (lob_about_path(&about, path)) return LOB_OK;
    for (char *colon = strchr(out->file, ':'); colon; colon = strchr(colon + 1, ':')) {
        *colon = '\0';
        if (colon[1] && (lob_is_file(out->file) || has_suffix_of(&lob_format_hdf5, out->file) ||
                         has_suffix_of(&lob_format_zarr, out->file))) {
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
    lob_dicom_made_free(&where->made);
    *where = (lob_location){.made.scratch.lock = -1};
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
    if (format && format->read_only && lob_has_suffix(where->file, format->read_only)) {
        lob_fail_file(error, LOB_EARG, where->path,
                      "files of this suffix are read, not written; name a %s", format->suffixes[0]);
        return NULL;
    }
    if (format) return format;
    if (strcmp(where->path, "-") == 0) {
        lob_output_check(where->path, false, error); /* it says so */
        return NULL;
    }
    char names[256] = "";
    for (int i = FORMATS - 1; i >= 0; i--)
        for (const char *const *suffix = formats[i]->suffixes; *suffix; suffix++) {
            if (*suffix == formats[i]->read_only || formats[i] == &lob_format_dicom)
                continue; /* a SEG refers to a scan, which most commands cannot name */
            const size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s", used ? " " : "", *suffix);
        }
    lob_fail_file(error, LOB_EARG, where->path,
                  "no volume is written with this suffix; known are %s", names);
    return NULL;
}

lob_status lob_files_of(char *files[2], const char *path, bool reading)
{
    lob_location where;
    files[0] = files[1] = NULL;
    lob_status st = lob_location_of(&where, path);
    const lob_format *format = st == LOB_OK ? format_of_name(&where) : NULL;
    if (format && format->second_file) st = format->second_file(&files[1], where.file, reading);
    if (st == LOB_OK && format == &lob_format_zarr && where.inside) { /* a folder of its own */
        char *const store = where.file;
        if (asprintf(&where.file, "%s/%s", store, where.inside) < 0) {
            where.file = NULL;
            st = LOB_ENOMEM;
        }
        free(store);
    }
    if (st == LOB_OK)
        files[0] = where.file;
    else
        lob_location_free(&where);
    return st;
}

void lob_files_free(char *files[2])
{
    LOB_FREE(files[0], files[1]);
    files[0] = files[1] = NULL;
}

bool lob_keeps_names(const char *path)
{
    lob_location where;
    const lob_format *const format =
        lob_location_of(&where, path) == LOB_OK ? format_of_name(&where) : NULL;
    const bool keeps =
        format && format->keeps_names && lob_has_suffix(where.file, format->keeps_names);
    lob_location_free(&where);
    return keeps;
}

bool lob_refers_to_scan(const char *path)
{
    return lob_has_suffix(path, lob_format_dicom.suffixes[0]);
}

bool lob_is_volume_name(const char *path)
{
    lob_location where;
    const bool is = lob_location_of(&where, path) == LOB_OK && format_of_name(&where);
    lob_location_free(&where);
    return is;
}

/* ---- reading ---- */

static const lob_format *format_of_content(const lob_location *where, const lob_input *file)
{
    for (int i = 0; i < FORMATS; i++)
        if (formats[i]->sniff && formats[i]->sniff(where, file)) return formats[i];
    return NULL;
}

/* DICOM becomes a file of another format. */
static lob_status convert_dicom(const lob_format **format, lob_location *where, lob_input *file,
                                const lob_read_options *options, lob_error *error)
{
    lob_input_close(file);
    LOB_TRY(lob_dicom_convert(&where->made, where->path, options, error));
    char *const made = strdup(where->made.file);
    if (!made) return lob_fail_file(error, LOB_ENOMEM, where->path, "no memory");
    free(where->file);
    where->file = made;
    LOB_TRY(lob_input_open(file, where->file, error));
    *format = format_of_content(where, file);
    return *format ? LOB_OK
                   : lob_fail_file(error, LOB_EDATA, where->path, "is DICOM that makes no volume");
}

lob_status lob_format_name_made(lob_volume *volume, const lob_location *where, lob_file_info *info)
{
    if (!where->made.file) return LOB_OK;
    if (info) info->format = where->made.is_segmentation ? "DICOM SEG" : "DICOM";
    if (info) info->file_bytes = where->made.bytes;
    if (where->made.overlapping > 0)
        lob_warn(info,
                 "%s: its segments overlap (voxels: %lld); the segment that comes first counts",
                 where->path, (long long)where->made.overlapping);
    if (!where->made.is_segmentation && volume->geometry.unoriented)
        lob_warn(info,
                 "%s: its images do not say where they lie, so that sides and the order of slices "
                 "are not known",
                 where->path);
    if (where->made.names.count == 0) return LOB_OK;
    lob_label_names_free(&volume->names);
    return lob_label_names_copy(&volume->names, &where->made.names);
}

static lob_status open_format(const lob_format **format, lob_location *where, lob_input *file,
                              const char *path, const lob_read_options *options, lob_error *error)
{
    const lob_status st = lob_location_of(where, path);
    if (st != LOB_OK) return lob_fail_file(error, st, path, "no memory");
    char *const store = lob_zarr_store_file(where);
    if (store) {
        *format = &lob_format_zarr;
        const lob_status opened = lob_input_open(file, store, error);
        free(store);
        return opened;
    }
    const lob_kind *kind = lob_kind_of_folder(where->file);
    if (lob_kind_is_dicom(kind)) return convert_dicom(format, where, file, options, error);
    if (kind && where->inside)
        return lob_fail_file(error, LOB_ENOINPUT, path, "is no array or group of the store");
    if (kind) return lob_fail_file(error, LOB_ENOINPUT, path, "is %s; %s", kind->is, kind->advice);
    LOB_TRY(lob_input_open(file, where->file, error));
    *format = format_of_content(where, file);
    if (*format) return LOB_OK;
    kind = lob_kind_of_file(where->file, file);
    if (lob_kind_is_dicom(kind)) return convert_dicom(format, where, file, options, error);
    if (kind)
        return lob_fail_file_hint(error, LOB_EDATA, LOB_HINT_CONVERT, path,
                                  "is %s, which is not read; %s", kind->is, kind->advice);
    *format = format_of_name(where); /* so that reading can say what is wrong with it */
    if (*format == &lob_format_nifti) return LOB_OK;
    *format = NULL;
    return lob_fail_file(
        error, LOB_EDATA, path, "is %s",
        file->size
            ? "no volume file: it is not NIfTI, NRRD, MetaImage, HDF5, OME-Zarr, TIFF, PNG or DICOM"
            : "empty");
}

lob_box_reading lob_box_reading_of(const char *path)
{
    lob_location where;
    lob_input file = {0};
    lob_box_reading how = LOB_BOX_OF_ALL;
    if (lob_location_of(&where, path) != LOB_OK) return how;
    char *const store = lob_zarr_store_file(&where);
    if (store) {
        how = LOB_BOX_ALONE;
    } else if (lob_input_open(&file, where.file, NULL) == LOB_OK) {
        const lob_format *const format = format_of_content(&where, &file);
        const bool has_voxels = format == &lob_format_nifti && !lob_pair_header(where.file) &&
                                !lob_pair_image(where.file);
        if (format && format->open_planes)
            how = has_voxels && !lob_is_gzip(file.bytes, file.size) ? LOB_BOX_ALONE
                                                                    : LOB_BOX_OF_PLANES;
    }
    free(store);
    lob_input_close(&file);
    lob_location_free(&where);
    return how;
}

lob_status lob_opened_begin(lob_opened *o, const char *path, const lob_read_options *options,
                            lob_file_info *info, lob_error *error)
{
    *o = (lob_opened){.options = options ? *options : lob_read_defaults()};
    o->reading = (lob_reading){&o->where, path, &o->file, &o->options, info, error};
    if (o->options.threads < 1) o->options.threads = 1;
    LOB_TRY(open_format(&o->format, &o->where, &o->file, path, &o->options, error));
    if (info) info->format = o->format->name;
    if (o->options.frame == LOB_FRAME_ALL && !o->format->all_frames)
        o->options.frame = LOB_FRAME_UNSAID;
    return LOB_OK;
}

void lob_opened_end(lob_opened *o)
{
    lob_input_close(&o->file);
    lob_location_free(&o->where);
}

/* A volume out of all its planes. */
static lob_status read_by_planes(lob_volume *out, const lob_opened *o)
{
    const lob_reading *const r = &o->reading;
    lob_plane_source source;
    LOB_TRY(o->format->open_planes(&source, out, r));
    const lob_box all = lob_box_whole(out->dims);
    const bool voxels = !r->options->header_only;
    lob_status st = voxels ? lob_memory_allows(lob_volume_bytes(out), r) : LOB_OK;
    if (st == LOB_OK && voxels) {
        out->data =
            (source.get_box ? lob_voxel_memory_zero : lob_voxel_memory)(lob_volume_bytes(out));
        st = !out->data       ? LOB_FAIL(r, LOB_ENOMEM, "out of memory")
             : source.get_box ? source.get_box(source.state, out->data, &all, r->error)
                              : source.get(source.state, out->data, 0, out->dims.nz, r->error);
    }
    source.close(source.state);
    return st;
}

lob_status lob_opened_read(lob_volume *out, const lob_opened *o)
{
    if (o->format->read) return o->format->read(out, &o->reading);
    if (o->format->open_planes) return read_by_planes(out, o);
    return LOB_FAIL(&o->reading, LOB_EDATA,
                    "this build of Lobule has no %s; convert it to .nii.gz on another",
                    o->format->name);
}

lob_status lob_read(lob_volume *out, const char *path, const lob_read_options *options,
                    lob_file_info *info, lob_error *error)
{
    lob_opened o;
    *out = lob_volume_empty();
    if (info) *info = (lob_file_info){0};
    const double start_s = lob_clock_s();
    lob_status st = lob_opened_begin(&o, path, options, info, error);
    if (st == LOB_OK) st = lob_opened_read(out, &o);
    if (st == LOB_OK) st = lob_format_name_made(out, &o.where, info);
    if (st != LOB_OK) lob_volume_free(out);
    lob_opened_end(&o);
    if (info) info->read_s = lob_clock_s() - start_s - info->inflate_s;
    return st;
}

lob_status lob_list(lob_data_set **sets, int *count, int *more, const char *path, lob_error *error)
{
    lob_opened o;
    *sets = NULL;
    *count = *more = 0;
    lob_status st = lob_opened_begin(&o, path, NULL, NULL, error);
    if (st == LOB_OK)
        st = o.format->list ? o.format->list(sets, count, more, &o.reading)
                            : LOB_FAIL(&o.reading, LOB_EDATA, "holds one volume");
    lob_opened_end(&o);
    return st;
}

/* ---- writing ---- */

lob_write_options lob_sane_write_options(const lob_write_options *options, const lob_format *format,
                                         double *compress_s)
{
    enum { USUAL_LEVEL = 6 };
    const lob_write_options defaults = lob_write_defaults();
    lob_write_options chosen = options ? *options : defaults;
    if (chosen.level < 1 || chosen.level > 9)
        chosen.level = format && format->level ? format->level : USUAL_LEVEL;
    if (chosen.level == LOB_GZIP_BY_CONTENT && chosen.labels) chosen.level = LOB_GZIP_LABELS;
    if (chosen.threads < 1) chosen.threads = 1;
    if (!chosen.compress_s) chosen.compress_s = compress_s;
    return chosen;
}

/* The format that the name of an output stands for, and its location, which the caller frees unless
 * this fails. */
static lob_status format_to_write(const lob_format **format, lob_location *where, const char *path,
                                  lob_error *error)
{
    const lob_status st = lob_location_of(where, path);
    if (st != LOB_OK) return lob_fail_file(error, st, path, "no memory");
    *format = lob_format_of_name(where, error);
    if (*format) return LOB_OK;
    lob_location_free(where);
    return LOB_EARG;
}

static lob_status check_frames(const lob_volume *volume, const lob_format *format, const char *path,
                               lob_error *error)
{
    if (volume->frame != LOB_FRAME_ALL || volume->frames == 1 || format->all_frames) return LOB_OK;
    return lob_fail_file_hint(error, LOB_EDATA, LOB_HINT_CHOOSE_FRAME, path,
                              "%s holds one frame, not %lld frames", format->name,
                              (long long)volume->frames);
}

lob_status lob_check_writable(const lob_volume *volume, bool voxels, const char *path,
                              lob_error *error)
{
    const int64_t n = lob_product(lob_dims_voxels(volume->dims), volume->channels, 16, 1);
    if ((volume->data || !voxels) && (unsigned)volume->type < LOB_TYPES && n > 0) return LOB_OK;
    return lob_fail_file(error, LOB_EARG, path, "there is no volume to write");
}

lob_status lob_format_write(const lob_format *format, const lob_volume *volume,
                            const lob_location *where, const lob_write_options *options,
                            lob_error *error)
{
    lob_plane_sink to;
    int64_t largest = 0;
    if (format->write) return format->write(volume, where, options, error);
    if (!format->begin_planes)
        return lob_fail_file(error, LOB_EARG, where->path,
                             "this build of Lobule has no %s; name a .nii.gz", format->name);
    if (options->labels)
        LOB_TRY(lob_nifti_largest(&largest, volume, options->threads, where->path, error));
    LOB_TRY(format->begin_planes(&to, volume, largest, where, options, error));
    const lob_status st = to.put(to.state, volume->data, (size_t)lob_volume_bytes(volume), error);
    if (st == LOB_OK) return to.commit(to.state, error);
    to.discard(to.state);
    return st;
}

lob_status lob_write(const lob_volume *volume, const char *path, const lob_write_options *options,
                     lob_error *error)
{
    double compress_s = 0; /* where the caller does not want it */
    const lob_format *format;
    lob_location where;
    LOB_TRY(lob_check_writable(volume, true, path, error));
    LOB_TRY(format_to_write(&format, &where, path, error));
    const lob_write_options chosen = lob_sane_write_options(options, format, &compress_s);
    lob_status st = check_frames(volume, format, path, error);
    if (st == LOB_OK) st = lob_format_write(format, volume, &where, &chosen, error);
    lob_location_free(&where);
    return st;
}

/* The file may be made, and the second one where there are two. */
static lob_status check_files(const lob_format *format, const lob_location *where, bool force,
                              lob_error *error)
{
    char *second = NULL;
    LOB_TRY(lob_output_check(where->file, force, error));
    if (!format->second_file) return LOB_OK;
    if (format->second_file(&second, where->file, false) != LOB_OK)
        return lob_fail_file(error, LOB_ENOMEM, where->path, "no memory");
    const lob_status st = second ? lob_output_check(second, force, error) : LOB_OK;
    free(second);
    return st;
}

lob_status lob_check_output(const char *path, bool force, lob_error *error)
{
    const lob_format *format;
    lob_location where;
    LOB_TRY(format_to_write(&format, &where, path, error));
    const lob_status st = format->check ? format->check(&where, force, error)
                                        : check_files(format, &where, force, error);
    lob_location_free(&where);
    return st;
}

lob_status lob_check_volume(const lob_volume *volume, const char *path, lob_error *error)
{
    const lob_format *format;
    lob_location where;
    LOB_TRY(format_to_write(&format, &where, path, error));
    lob_status st = check_frames(volume, format, path, error);
    if (st == LOB_OK && format->holds) st = format->holds(volume, &where, error);
    lob_location_free(&where);
    return st;
}

void lob_header_fields(const lob_volume *volume, lob_field_fn *field, void *user)
{
    for (int i = 0; volume->header.format && i < FORMATS; i++)
        if (strcmp(formats[i]->name, volume->header.format) == 0 && formats[i]->fields)
            formats[i]->fields(&volume->header, field, user);
}
