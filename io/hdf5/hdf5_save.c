/* Writing a volume in ITK's HDF5 layout, with the attributes that microscopy programs look for. */
#include "io/hdf5/hdf5_parts.h"
#include "io/hdf5/sandbox_inside.h"
#include "volumes/version.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool write_numbers(hid_t group, const char *name, hid_t type, const void *values, int rank,
                          const hsize_t *extent)
{
    const hid_t set = lob_hdf5_write_set(group, name, type, values, rank, extent);
    return set >= 0 && H5Dclose(set) >= 0;
}

static bool write_geometry(hid_t group, const lob_hdf5_target *t)
{
    const lob_geometry *g = &t->geometry;
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
    origin[3] = t->start_s;
    spacing[3] = t->step_s;
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
    double um[3];
    for (int a = 0; a < 3; a++) um[a] = t->geometry.spacing_mm[2 - a] * 1e3;
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
    return lob_hdf5_write_attribute(set, "element_size_um", H5T_NATIVE_DOUBLE, 1, 3, um) &&
           lob_hdf5_write_text(set, "axistags", tags) &&
           lob_hdf5_write_text(set, "axis_units", "{\"z\": \"um\", \"y\": \"um\", \"x\": \"um\"}");
}

/* ---- what is carried ---- */

/* May the data set have this second name? It comes from a file. */
static bool is_free_name(const char *path)
{
    static const char *const ours[] = {"/ITKImage", "/ITKVersion", "/HDFVersion",
                                       ("/" LOB_HDF5_NIFTI_GROUP)};
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
    const bool labels = t->labels;
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
    if (t->strip_extensions) return ok;
    const cJSON *attributes = cJSON_GetObjectItemCaseSensitive(carried, "attributes");
    return ok && lob_hdf5_entries_write(set, attributes, true, labels);
}

/* The NIfTI header, a byte for a byte. */
static bool write_nifti(hid_t file, const unsigned char *nifti, int64_t nifti_bytes)
{
    if (!nifti) return true;
    const hsize_t n = (hsize_t)nifti_bytes;
    const hid_t group = create_group(file, LOB_HDF5_NIFTI_GROUP);
    if (group < 0) return false;
    const bool ok = write_numbers(group, LOB_HDF5_NIFTI_SET, H5T_NATIVE_UINT8, nifti, 1, &n);
    return H5Gclose(group) >= 0 && ok;
}

/* ---- voxels ---- */

/* Chunks as they come, packed. */
static lob_status write_chunks(hid_t set, const lob_hdf5_target *t)
{
    void *bytes = NULL;
    lob_status st = LOB_OK;
    for (int64_t k = 0; st == LOB_OK && k < t->chunks; k++) {
        lob_hdf5_packed chunk;
        hsize_t offset[LOB_HDF5_SIDES];
        lob_inside_receive(&chunk, sizeof chunk);
        void *const more = realloc(bytes, (size_t)chunk.bytes);
        if (more) bytes = more;
        if (!more) st = LOB_ENOMEM;
        if (st == LOB_OK) lob_inside_receive(bytes, (size_t)chunk.bytes);
        for (int i = 0; i < LOB_HDF5_SIDES; i++) offset[i] = chunk.offset[i];
        if (st == LOB_OK &&
            H5Dwrite_chunk(set, H5P_DEFAULT, 0, offset + t->first, (size_t)chunk.bytes, bytes) < 0)
            st = LOB_EIO;
    }
    free(bytes);
    return st;
}

static lob_status write_voxels(hid_t file, hid_t group, const cJSON *carried,
                               const lob_hdf5_target *t)
{
    hsize_t extent[LOB_HDF5_SIDES], chunk[LOB_HDF5_SIDES];
    for (int i = 0; i < LOB_HDF5_SIDES; i++) extent[i] = t->extent[i], chunk[i] = t->chunk[i];
    const hid_t space = H5Screate_simple(t->rank, extent + t->first, NULL),
                plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(plist, false); /* the same volume gives the same bytes */
    H5Pset_chunk(plist, t->rank, chunk + t->first);
    if (lob_type_of(t->type)->bytes > 1) H5Pset_shuffle(plist);
    H5Pset_deflate(plist, (unsigned)t->level);
    H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER); /* every chunk is written */
    const hid_t set = H5Dcreate(group, "VoxelData", lob_hdf5_native(t->type), space, H5P_DEFAULT,
                                plist, H5P_DEFAULT);
    lob_status st = set < 0 ? LOB_EIO : write_chunks(set, t);
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
    const bool ok = t->strip_extensions || lob_hdf5_entries_write(metadata, entries, false, false);
    return H5Gclose(metadata) >= 0 && ok;
}

/* In ITK's own choice of versions, which all read. */
static hid_t create_file(int *cause)
{
    const lob_hdf5_storage storage = {.fd = LOB_SANDBOX_FILE, .cause = cause};
    const hid_t plist = lob_hdf5_access(&storage);
    if (plist < 0) return -1;
    H5Pset_libver_bounds(plist, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18);
    return H5Fcreate("output", H5F_ACC_TRUNC, H5P_DEFAULT, plist);
}

static lob_status write_contents(hid_t file, const cJSON *carried, const unsigned char *nifti,
                                 int64_t nifti_bytes, const lob_hdf5_target *t)
{
    unsigned major, minor, release;
    char version[64];
    H5get_libversion(&major, &minor, &release);
    snprintf(version, sizeof version, "HDF5 library version: %u.%u.%u", major, minor, release);
    const hid_t image = create_group(file, "ITKImage");
    const hid_t group = image < 0 ? -1 : create_group(image, "0");
    lob_status st = LOB_EIO;
    if (group >= 0 &&
        lob_hdf5_write_string(file, "ITKVersion", "ITK's layout, written by Lobule " LOB_VERSION) &&
        lob_hdf5_write_string(file, "HDFVersion", version) && write_geometry(group, t) &&
        lob_hdf5_write_string(group, "VoxelType", itk_names[t->type]) &&
        write_metadata(group, carried, t) && write_nifti(file, nifti, nifti_bytes))
        st = write_voxels(file, group, carried, t);
    H5Gclose(group);
    H5Gclose(image);
    return st;
}

void lob_hdf5_save(const lob_hdf5_target *t, const char *carried, const unsigned char *nifti,
                   int64_t nifti_bytes)
{
    static lob_hdf5_outcome outcome = {.status = LOB_EIO};
    const hid_t file = create_file(&outcome.cause);
    if (file >= 0) {
        cJSON *const entries = carried ? cJSON_Parse(carried) : NULL;
        outcome.status = write_contents(file, entries, nifti, nifti_bytes, t);
        if (outcome.status == LOB_OK && H5Fclose(file) < 0) outcome.status = LOB_EIO;
    }
    lob_inside_send(&outcome, sizeof outcome);
}
