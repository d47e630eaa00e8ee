/* Writing a volume in ITK's HDF5 layout, with the attributes that microscopy programs look for. */
#include "io/hdf5/hdf5_pack.h"

#include "io/hdf5/sandbox.h"
#include "io/nifti/nifti_header.h"
#include "io/platform.h"
#include "volumes/version.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        return H5T_NATIVE_UINT64;
    case LOB_I64:
        return H5T_NATIVE_INT64;
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

/* ---- small data sets and attributes ---- */

static hid_t create_group(hid_t parent, const char *name)
{
    return H5Gcreate(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
}

static hid_t creation_plist(void)
{
    const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(plist, false); /* the same volume gives the same bytes */
    return plist;
}

static bool write_numbers(hid_t group, const char *name, hid_t type, const void *values, int rank,
                          const hsize_t *extent)
{
    const hid_t set = lob_hdf5_write_set(group, name, type, values, rank, extent);
    return set >= 0 && H5Dclose(set) >= 0;
}

/* The start of the first frame and the time between frames, in seconds where they are known. */
static void frame_times(double *start, double *step, const lob_hdf5_target *t)
{
    *start = 0.0;
    *step = t->volume->frame_step_s > 0.0 ? t->volume->frame_step_s : 1.0;
    if (!t->nifti) return;
    const int64_t unit = lob_nifti_int(t->nifti, LOB_NIFTI_xyzt_units, 0) & 0x38;
    const double second = unit == 16 ? 1e-3 : unit == 24 ? 1e-6 : 1.0; /* ms, us */
    const double tr = lob_nifti_real(t->nifti, LOB_NIFTI_pixdim, 4) * second;
    const double offset = lob_nifti_real(t->nifti, LOB_NIFTI_toffset, 0) * second;
    if (!(t->volume->frame_step_s > 0.0) && isfinite(tr) && tr > 0.0) *step = tr;
    if (isfinite(offset)) *start = offset;
}

static bool write_geometry(hid_t group, const lob_hdf5_target *t)
{
    const lob_geometry *g = &t->volume->geometry;
    const hsize_t n = t->first == 0 ? 4 : 3, sides[2] = {n, n};
    uint64_t dimension[4];
    double origin[4], spacing[4], directions[16] = {0};
    for (hsize_t a = 0; a < n; a++) dimension[a] = t->extent[3 - a];
    for (int r = 0; r < 3; r++) {
        const double sign = r < 2 ? -1.0 : 1.0;   /* RAS to LPS */
        origin[r] = sign * g->affine[r][3] + 0.0; /* no negative zero */
        spacing[r] = g->spacing_mm[r];
        for (int a = 0; a < 3; a++)
            directions[(hsize_t)a * n + (hsize_t)r] =
                sign * g->affine[r][a] / g->spacing_mm[a] + 0.0;
    }
    frame_times(&origin[3], &spacing[3], t);
    if (n == 4) directions[15] = 1.0;
    return write_numbers(group, "Dimension", H5T_NATIVE_UINT64, dimension, 1, sides) &&
           write_numbers(group, "Directions", H5T_NATIVE_DOUBLE, directions, 2, sides) &&
           write_numbers(group, "Origin", H5T_NATIVE_DOUBLE, origin, 1, sides) &&
           write_numbers(group, "Spacing", H5T_NATIVE_DOUBLE, spacing, 1, sides);
}

/* Axes and spacing as ilastik, PlantSeg and Fiji look for them: in micrometres, slowest first. */
static bool write_attributes(hid_t set, const lob_hdf5_target *t)
{
    static const struct {
        char key;
        int flags; /* of vigra's axis types */
    } axes[LOB_HDF5_SIDES] = {
        {'t', 8},
        {'z', 2},
        {'y', 2},
        {'x', 2},
        {'c', 1}
    };
    const hsize_t three = 3;
    double um[3];
    for (int a = 0; a < 3; a++) um[a] = t->volume->geometry.spacing_mm[2 - a] * 1e3;
    char tags[768];
    size_t used = (size_t)snprintf(tags, sizeof tags, "{\"axes\": [");
    for (int i = t->first; i < t->first + t->rank; i++)
        used += (size_t)snprintf(
            tags + used, sizeof tags - used,
            "%s{\"key\": \"%c\", \"typeFlags\": %d, \"resolution\": %.17g, \"description\": "
            "\"\"}",
            i > t->first ? ", " : "", axes[i].key, axes[i].flags,
            i >= 1 && i <= 3 ? um[i - 1] : 0.0);
    snprintf(tags + used, sizeof tags - used, "]}");
    const hid_t space = H5Screate_simple(1, &three, NULL);
    const hid_t attribute =
        H5Acreate(set, "element_size_um", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
    const bool ok = attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_DOUBLE, um) >= 0;
    if (attribute >= 0) H5Aclose(attribute);
    H5Sclose(space);
    return ok && lob_hdf5_write_text(set, "axistags", tags) &&
           lob_hdf5_write_text(set, "axis_units", "{\"z\": \"um\", \"y\": \"um\", \"x\": \"um\"}");
}

/* ---- what is carried ---- */

/* The text that came with an HDF5 input, parsed; NULL: none, or it is not wanted. */
static cJSON *carried_text(const lob_hdf5_target *t)
{
    const lob_header *header = &t->volume->header;
    const bool has = header->format == lob_format_hdf5.name && header->bytes;
    return has ? cJSON_ParseWithLength((const char *)header->bytes, header->size) : NULL;
}

/* May the data set have this second name? It comes from a file. */
static bool is_free_name(const char *path)
{
    static const char *const ours[] = {"/ITKImage", "/ITKVersion", "/HDFVersion",
                                       "/" LOB_HDF5_NIFTI_GROUP};
    if (path[0] != '/' || !path[1] || strlen(path) >= LOB_HDF5_PATH - 8) return false;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (lob_hdf5_is_above(ours[i], path)) return false;
    for (const char *at = path; at; at = strchr(at + 1, '/')) {
        const size_t n = strcspn(at + 1, "/");
        if (n == 0 || (at[1] == '.' && n <= 2)) return false;
    }
    return true;
}

/*
 * The data set's second name and attributes, where the input was a plain data set. A name that
 * cannot be had is done without.
 */
static bool write_beside(hid_t file, hid_t set, const cJSON *carried, const lob_hdf5_target *t)
{
    const bool labels = t->options->labels;
    const char *from = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(carried, "beside"));
    if (!from) return true;
    char path[LOB_HDF5_PATH];
    const char *last = strrchr(from, '/');
    const int parent = last ? (int)(last - from) : 0;
    if (labels)
        snprintf(path, sizeof path, "%.*s/label", parent, from);
    else
        snprintf(path, sizeof path, "%s", from);
    bool ok = true;
    if (is_free_name(path)) {
        const hid_t plist = H5Pcreate(H5P_LINK_CREATE);
        H5Pset_create_intermediate_group(plist, 1);
        if (H5Lcreate_hard(set, ".", file, path, plist, H5P_DEFAULT) >= 0)
            ok = lob_hdf5_write_text(set, LOB_HDF5_BESIDE, path);
        H5Pclose(plist);
    }
    if (t->options->strip_extensions) return ok;
    const cJSON *attributes = cJSON_GetObjectItemCaseSensitive(carried, "attributes");
    return ok && lob_hdf5_attributes_write(set, attributes, labels);
}

/* The NIfTI header, a byte for a byte. */
static bool write_nifti(hid_t file, const lob_hdf5_target *t)
{
    if (!t->nifti) return true;
    const hsize_t n = t->nifti_bytes;
    const hid_t group = create_group(file, LOB_HDF5_NIFTI_GROUP);
    if (group < 0) return false;
    const bool ok = write_numbers(group, LOB_HDF5_NIFTI_SET, H5T_NATIVE_UINT8, t->nifti, 1, &n);
    return H5Gclose(group) >= 0 && ok;
}

/* ---- voxels ---- */

static lob_status write_voxels(hid_t file, hid_t group, const cJSON *carried,
                               const lob_hdf5_target *t)
{
    const hid_t space = H5Screate_simple(t->rank, t->extent + t->first, NULL),
                plist = creation_plist();
    H5Pset_chunk(plist, t->rank, t->chunk + t->first);
    if (lob_type_of(t->type)->bytes > 1) H5Pset_shuffle(plist);
    H5Pset_deflate(plist, (unsigned)t->options->level);
    H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER); /* every chunk is written */
    const hid_t set =
        H5Dcreate(group, "VoxelData", file_type(t->type), space, H5P_DEFAULT, plist, H5P_DEFAULT);
    lob_status st = set < 0 ? LOB_EIO : lob_hdf5_pack(set, t);
    if (st == LOB_OK && !(write_attributes(set, t) && write_beside(file, set, carried, t)))
        st = LOB_EIO;
    if (set >= 0 && H5Dclose(set) < 0 && st == LOB_OK) st = LOB_EIO;
    H5Pclose(plist);
    H5Sclose(space);
    return st;
}

/* ---- the file ---- */

/* ITK's entries, which came with an HDF5 input, or none. */
static bool write_metadata(hid_t group, const cJSON *carried, const lob_hdf5_target *t)
{
    const hid_t metadata = create_group(group, "MetaData");
    if (metadata < 0) return false;
    const cJSON *entries = cJSON_GetObjectItemCaseSensitive(carried, "metadata");
    const bool ok = t->options->strip_extensions || lob_hdf5_metadata_write(metadata, entries);
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

static lob_status write_contents(hid_t file, const lob_hdf5_target *t)
{
    unsigned major, minor, release;
    char version[64];
    H5get_libversion(&major, &minor, &release);
    snprintf(version, sizeof version, "HDF5 library version: %u.%u.%u", major, minor, release);
    cJSON *carried = carried_text(t);
    const hid_t image = create_group(file, "ITKImage");
    const hid_t group = image < 0 ? -1 : create_group(image, "0");
    lob_status st = LOB_EIO;
    if (group >= 0 &&
        lob_hdf5_write_string(file, "ITKVersion", "ITK's layout, written by Lobule " LOB_VERSION) &&
        lob_hdf5_write_string(file, "HDFVersion", version) && write_geometry(group, t) &&
        lob_hdf5_write_string(group, "VoxelType", itk_names[t->type]) &&
        write_metadata(group, carried, t) && write_nifti(file, t))
        st = write_voxels(file, group, carried, t);
    H5Gclose(group);
    H5Gclose(image);
    cJSON_Delete(carried);
    return st;
}

typedef struct {
    lob_status status;
    int cause; /* errno */
    double compress_s;
} outcome;

static void write_child(int out, void *user)
{
    lob_hdf5_target *t = user; /* this process's own */
    outcome result = {.status = LOB_EIO};
    t->compress_s = &result.compress_s;
    const hid_t file = create_file(&result.cause);
    if (file >= 0) {
        result.status = write_contents(file, t);
        if (result.status == LOB_OK && H5Fclose(file) < 0) result.status = LOB_EIO;
    }
    lob_sandbox_send(out, &result, sizeof result);
}

/* The header that a .nii of the stored volume would have, where the input brought one. */
static void make_nifti(lob_hdf5_target *t)
{
    if (!t->volume->header.format || strcmp(t->volume->header.format, lob_nifti_name) != 0) return;
    lob_volume stored = *t->volume;
    const lob_nifti_type *type;
    int64_t largest = 0;
    stored.type = t->type;
    stored.slope = 1.0;
    stored.inter = 0.0;
    const bool labels =
        t->options->labels &&
        lob_nifti_largest(&largest, t->volume, t->options->threads, "", NULL) == LOB_OK;
    lob_write_options options = *t->options;
    options.labels = labels;
    t->nifti = lob_nifti_make_head(&t->nifti_bytes, &type, &stored, largest, false, &options);
    if (t->nifti_bytes <= LOB_HDF5_MAX_NIFTI) return;
    free(t->nifti);
    t->nifti = NULL;
}

lob_status lob_hdf5_write(const lob_volume *volume, const lob_location *where,
                          const lob_write_options *options, lob_error *error)
{
    if (where->inside)
        return lob_fail_file(error, LOB_EARG, where->path,
                             "an HDF5 output is a file of its own; leave out :%s", where->inside);
    lob_output output;
    lob_status st = lob_output_begin(&output, where->file, options->force, error);
    if (st != LOB_OK) return st;

    lob_hdf5_target t;
    lob_hdf5_plan(&t, volume, options);
    make_nifti(&t);
    outcome result = {.status = LOB_EINTERNAL};
    lob_sandbox box;
    if (!lob_sandbox_start(&box, write_child, &t, output.fd)) {
        st = lob_fail_file(error, LOB_ENOMEM, where->path,
                           "the system gives no process to write HDF5 in");
    } else if (lob_sandbox_receive(&box, &result, sizeof result, 0)) {
        lob_sandbox_finish(&box, NULL);
        st = result.status;
        *options->compress_s += result.compress_s;
        if (st == LOB_ENOMEM) lob_fail_file(error, st, where->path, "out of memory");
        if (st == LOB_EIO)
            lob_fail_file(error, st, where->path, "write failed: %s",
                          result.cause ? ERRNO_TEXT(result.cause) : "HDF5 could not write");
    } else {
        const lob_sandbox_end end = lob_sandbox_finish(&box, NULL);
        st = end == LOB_SANDBOX_INTERRUPTED ? LOB_ECANCEL
             : end == LOB_SANDBOX_KILLED    ? LOB_ENOMEM
                                            : LOB_EINTERNAL;
        lob_fail_file(error, st, where->path, "the HDF5 writer ended early: %s",
                      lob_status_text(st));
    }
    free(t.nifti);
    return lob_output_end(&output, st, error);
}
