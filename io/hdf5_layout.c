/* What the axes, the type and the place in the world of an HDF5 data set are. */
#include "io/hdf5_parts.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lob_status fail_damaged(lob_error *error, const lob_location *where, const char *what)
{
    return lob_fail(error, LOB_EDATA, "%s: damaged HDF5 file: %s", where->path, what);
}

/* ---- types and sizes ---- */

/* The voxel type of a stored type, or LOB_TYPES. */
lob_type lob_hdf5_voxel_type(hid_t stored)
{
    static const lob_type integers[2][4] = {
        {LOB_U8, LOB_U16, LOB_U32, LOB_U64},
        {LOB_I8, LOB_I16, LOB_I32, LOB_I64}
    };
    const H5T_class_t kind = H5Tget_class(stored);
    if (kind == H5T_FLOAT) return H5Tget_size(stored) <= 4 ? LOB_F32 : LOB_F64;
    const hid_t base = kind == H5T_ENUM ? H5Tget_super(stored) : H5Tcopy(stored);
    const size_t bytes = H5Tget_size(base);
    const bool is_signed = H5Tget_sign(base) == H5T_SGN_2;
    const bool is_integer = H5Tget_class(base) == H5T_INTEGER;
    H5Tclose(base);
    if (!is_integer || bytes == 0 || bytes > 8) return LOB_TYPES;
    return integers[is_signed][bytes <= 1 ? 0 : bytes <= 2 ? 1 : bytes <= 4 ? 2 : 3];
}

static hid_t native_type(lob_type type, hid_t stored)
{
    /* An enumeration converts to an integer only by way of its own native form. */
    if (H5Tget_class(stored) == H5T_ENUM) return H5Tget_native_type(stored, H5T_DIR_ASCEND);
    switch (type) {
    case LOB_U8:
        return H5Tcopy(H5T_NATIVE_UINT8);
    case LOB_I8:
        return H5Tcopy(H5T_NATIVE_INT8);
    case LOB_U16:
        return H5Tcopy(H5T_NATIVE_UINT16);
    case LOB_I16:
        return H5Tcopy(H5T_NATIVE_INT16);
    case LOB_U32:
        return H5Tcopy(H5T_NATIVE_UINT32);
    case LOB_I32:
        return H5Tcopy(H5T_NATIVE_INT32);
    case LOB_U64:
        return H5Tcopy(H5T_NATIVE_UINT64);
    case LOB_I64:
        return H5Tcopy(H5T_NATIVE_INT64);
    case LOB_F32:
        return H5Tcopy(H5T_NATIVE_FLOAT);
    default:
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    }
}

static lob_status view_type(lob_hdf5_view *view, const lob_location *where, lob_error *error)
{
    const hid_t stored = H5Dget_type(view->set);
    if (stored < 0) return fail_damaged(error, where, "voxel type");
    view->type = lob_hdf5_voxel_type(stored);
    const bool compound = H5Tget_class(stored) == H5T_COMPOUND;
    if (view->type != LOB_TYPES) view->native = native_type(view->type, stored);
    const bool fits =
        view->type != LOB_TYPES && H5Tget_size(view->native) == lob_type_of(view->type)->bytes;
    H5Tclose(stored);
    if (fits) return LOB_OK;
    return lob_fail(
        error, LOB_EDATA, "%s: %s holds %s; integers and reals of up to 64 bits are read",
        where->path, view->path,
        compound ? "compound elements (complex numbers?)" : "elements that are no numbers");
}

static lob_status view_extent(lob_hdf5_view *view, const lob_location *where, lob_error *error)
{
    const hid_t space = H5Dget_space(view->set);
    const bool simple = H5Sis_simple(space) > 0;
    const int rank = simple ? H5Sget_simple_extent_ndims(space) : -1;
    if (rank >= 2 && rank <= LOB_HDF5_MAX_AXES)
        H5Sget_simple_extent_dims(space, view->extent, NULL);
    H5Sclose(space);
    if (rank < 2 || rank > LOB_HDF5_MAX_AXES)
        return lob_fail(error, LOB_EDATA, "%s: %s has %d dimensions; a volume has 2 to %d",
                        where->path, view->path, rank < 0 ? 0 : rank, LOB_HDF5_MAX_AXES);
    view->rank = rank;
    for (int i = 0; i < rank; i++) {
        if (view->extent[i] == 0)
            return lob_fail(error, LOB_EDATA, "%s: %s is empty: one of its sides is 0", where->path,
                            view->path);
        if (view->extent[i] > INT32_MAX)
            return lob_fail(error, LOB_EDATA,
                            "%s: %s has a side of %llu voxels; at most 2^31 - 1 fit", where->path,
                            view->path, (unsigned long long)view->extent[i]);
    }
    return LOB_OK;
}

/*
 * Can what is stored be all that is declared? Deflate makes at most 1032 bytes of one. Chunks that
 * were never written cost nothing and are legal, hence an allowance.
 */
static lob_status view_bytes(lob_hdf5_view *view, int64_t file_bytes, const lob_location *where,
                             lob_error *error)
{
    enum { DEFLATE_MAX_RATIO = 1032, ALLOWANCE = 256 << 20 };
    int64_t declared = (int64_t)lob_type_of(view->type)->bytes;
    for (int i = 0; i < view->rank && declared >= 0; i++)
        declared = lob_product(declared, (int64_t)view->extent[i], 1, 1);
    const hsize_t stored = H5Dget_storage_size(view->set);
    view->stored_bytes = stored < (hsize_t)file_bytes ? (int64_t)stored : file_bytes;
    if (declared >= 0 && (declared - ALLOWANCE) / DEFLATE_MAX_RATIO <= view->stored_bytes)
        return LOB_OK;
    return lob_fail(
        error, LOB_EDATA,
        "%s: %s declares %lld bytes of voxels and stores %lld; a damaged or hostile file",
        where->path, view->path, declared < 0 ? (long long)INT64_MAX : (long long)declared,
        (long long)view->stored_bytes);
}

/* A chunk is unpacked whole, so it may be neither huge nor larger than the data set asks for. */
static lob_status view_chunks(const lob_hdf5_view *view, const lob_location *where,
                              lob_error *error)
{
    const hid_t plist = H5Dget_create_plist(view->set);
    hsize_t chunk[H5S_MAX_RANK] = {0};
    const bool chunked = H5Pget_layout(plist) == H5D_CHUNKED;
    const int rank = chunked ? H5Pget_chunk(plist, H5S_MAX_RANK, chunk) : 0;
    H5Pclose(plist);
    if (!chunked) return LOB_OK;
    if (rank != view->rank) return fail_damaged(error, where, "rank of the chunks");
    int64_t bytes = (int64_t)lob_type_of(view->type)->bytes;
    for (int i = 0; i < rank && bytes > 0; i++)
        bytes = chunk[i] > INT32_MAX ? -1 : lob_product(bytes, (int64_t)chunk[i], 1, 1);
    if (bytes > 0 && bytes <= INT32_MAX) return LOB_OK;
    return lob_fail(error, LOB_EDATA,
                    "%s: %s has chunks of more than 2 GiB; rewrite it with h5repack", where->path,
                    view->path);
}

/* ---- plain data sets ---- */

static const char role_letters[] = "xyzct"; /* by lob_axis */

/* Give dimensions their parts from one letter each; false when a letter is unknown or comes twice.
 */
static bool take_letters(lob_hdf5_view *view, const char *letters)
{
    int at[LOB_AXIS_ROLES] = {-1, -1, -1, -1, -1};
    for (int i = 0; i < view->rank; i++) {
        const char *role = letters[i] ? strchr(role_letters, letters[i]) : NULL;
        if (!role || at[role - role_letters] >= 0) return false;
        at[role - role_letters] = i;
    }
    if (at[LOB_AXIS_X] < 0 || at[LOB_AXIS_Y] < 0) return false;
    memcpy(view->at, at, sizeof at);
    return true;
}

static void take_rank(lob_hdf5_view *view)
{
    const bool last = view->extent[view->rank - 1] <= 4, first = view->extent[0] <= 4;
    switch (view->rank) {
    case 2:
        take_letters(view, "yx");
        break;
    case 3:
        take_letters(view, "zyx");
        break;
    case 4:
        take_letters(view, last ? "zyxc" : first ? "czyx" : "tzyx");
        break;
    default:
        take_letters(view, last ? "tzyxc" : "tczyx");
    }
}

/* Millimetres in a unit; micrometres when there is none or it is not known. */
static double unit_mm(const char *unit)
{
    static const struct {
        const char *name;
        double mm;
    } units[] = {
        {"nm",         1e-6  },
        {"nanometer",  1e-6  },
        {"nanometre",  1e-6  },
        {"mm",         1.0   },
        {"millimeter", 1.0   },
        {"millimetre", 1.0   },
        {"cm",         10.0  },
        {"m",          1000.0},
    };
    for (size_t i = 0; unit && i < sizeof units / sizeof units[0]; i++)
        if (strcmp(unit, units[i].name) == 0) return units[i].mm;
    return 1e-3;
}

/* Axes, and spacing where the tags know it (left at 0 where not). False when there are no usable
 * tags. */
static bool take_axistags(lob_hdf5_view *view, double spacing_mm[3], lob_file_info *info)
{
    char *text = lob_hdf5_read_attribute_text(view->set, "axistags");
    if (!text) return false;
    char *units_text = lob_hdf5_read_attribute_text(view->set, "axis_units");
    cJSON *tags = cJSON_Parse(text), *units = units_text ? cJSON_Parse(units_text) : NULL;
    const cJSON *axes = cJSON_GetObjectItemCaseSensitive(tags, "axes");
    char letters[LOB_HDF5_MAX_AXES + 1] = "";
    double resolution[LOB_HDF5_MAX_AXES] = {0};
    bool ok = cJSON_GetArraySize(axes) == view->rank;
    for (int i = 0; ok && i < view->rank; i++) {
        const cJSON *axis = cJSON_GetArrayItem(axes, i);
        const char *key = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(axis, "key"));
        const cJSON *step = cJSON_GetObjectItemCaseSensitive(axis, "resolution");
        ok = key && key[0] && !key[1];
        if (!ok) break;
        letters[i] = key[0];
        if (cJSON_IsNumber(step))
            resolution[i] =
                step->valuedouble *
                unit_mm(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(units, key)));
    }
    ok = ok && take_letters(view, letters);
    for (int a = 0; ok && a < 3; a++)
        if (view->at[a] >= 0) spacing_mm[a] = resolution[view->at[a]];
    if (!ok)
        lob_warn(info, "%s: attribute axistags does not fit the data set; axes taken from its rank",
                 view->path);
    cJSON_Delete(units);
    cJSON_Delete(tags);
    free(units_text);
    free(text);
    return ok;
}

/* A numeric attribute of exactly n elements. */
static bool read_attribute_numbers(double *values, hid_t object, const char *name, int n)
{
    if (H5Aexists(object, name) <= 0) return false;
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    const hid_t space = H5Aget_space(attribute), type = H5Aget_type(attribute);
    const H5T_class_t kind = H5Tget_class(type);
    const bool ok = (kind == H5T_FLOAT || kind == H5T_INTEGER) &&
                    H5Sget_simple_extent_npoints(space) == n &&
                    H5Aread(attribute, H5T_NATIVE_DOUBLE, values) >= 0;
    H5Tclose(type);
    H5Sclose(space);
    H5Aclose(attribute);
    return ok;
}

static bool usable_spacing(double mm)
{
    return isfinite(mm) && mm > 0.0;
}

static lob_status plain_view(lob_hdf5_view *view, const lob_location *where, lob_file_info *info,
                             lob_error *error)
{
    double spacing_mm[3] = {0.0, 0.0, 0.0};
    if (!take_axistags(view, spacing_mm, info)) take_rank(view);
    if (view->at[LOB_AXIS_X] < 0)
        return lob_fail(error, LOB_EDATA, "%s: cannot tell the axes of %s", where->path,
                        view->path);

    /* Two-dimensional data sets come with two sizes or with three. */
    double um[3];
    const int sizes = read_attribute_numbers(um, view->set, "element_size_um", 3)   ? 3
                      : read_attribute_numbers(um, view->set, "element_size_um", 2) ? 2
                                                                                    : 0;
    bool good = sizes > 0;
    for (int i = 0; i < sizes; i++) good = good && usable_spacing(um[i]);
    if (sizes && !good) lob_warn(info, "%s: attribute element_size_um is not usable", view->path);
    for (int a = 0; good && a < sizes; a++) spacing_mm[a] = um[sizes - 1 - a] * 1e-3;

    bool known = true;
    for (int a = 0; a < 3; a++) {
        if (usable_spacing(spacing_mm[a])) continue;
        known = known && view->at[a] < 0;
        spacing_mm[a] = 1.0;
    }
    if (!known)
        lob_warn(info,
                 "%s: has no element_size_um and no resolution in axistags; spacing taken as 1 mm",
                 view->path);
    view->geometry = lob_geometry_of_spacing(spacing_mm);
    view->geometry.unoriented = true;
    view->geometry.micrometres = sizes > 0 && good;
    return LOB_OK;
}

/* ---- ITK's layout ---- */

/* A data set of exactly n numbers. */
static lob_status read_numbers(double *values, hid_t group, const char *name, int n,
                               const lob_location *where, lob_error *error)
{
    const hid_t set = lob_hdf5_open_set(group, name, where, error);
    if (set < 0) return LOB_EDATA;
    const hid_t space = H5Dget_space(set), type = H5Dget_type(set);
    const H5T_class_t kind = H5Tget_class(type);
    const bool ok = (kind == H5T_FLOAT || kind == H5T_INTEGER) &&
                    H5Sget_simple_extent_npoints(space) == n &&
                    H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    H5Tclose(type);
    H5Sclose(space);
    H5Dclose(set);
    if (ok) return LOB_OK;
    return lob_fail(error, LOB_EDATA, "%s: %s of the ITK image is not %d numbers", where->path,
                    name, n);
}

static int count_numbers(hid_t group, const char *name, const lob_location *where, lob_error *error)
{
    const hid_t set = lob_hdf5_open_set(group, name, where, error);
    if (set < 0) return -1;
    const hid_t space = H5Dget_space(set);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    H5Dclose(set);
    return n >= 0 && n <= LOB_HDF5_MAX_AXES ? (int)n : 0;
}

static lob_status itk_axes(lob_hdf5_view *view, int n, const double *dimension,
                           const lob_location *where, lob_error *error)
{
    static const char *const letters[] = {"yx", "zyx", "tzyx"};
    char tagged[LOB_HDF5_MAX_AXES + 1];
    snprintf(tagged, sizeof tagged, "%s%s", letters[n - 2], view->rank == n + 1 ? "c" : "");
    bool ok = (view->rank == n || view->rank == n + 1) && take_letters(view, tagged);
    for (int i = 0; ok && i < n; i++) ok = dimension[i] == (double)view->extent[n - 1 - i];
    if (ok) return LOB_OK;
    return lob_fail(error, LOB_EDATA, "%s: Dimension and VoxelData of the ITK image do not agree",
                    where->path);
}

static lob_status itk_view(lob_hdf5_view *view, hid_t group, const lob_location *where,
                           lob_file_info *info, lob_error *error)
{
    enum { MAX_COUNT = 4 };
    double dimension[MAX_COUNT], origin[MAX_COUNT], spacing[MAX_COUNT],
        directions[MAX_COUNT * MAX_COUNT];
    const int n = count_numbers(group, "Dimension", where, error);
    if (n < 0) return LOB_EDATA;
    if (n < 2 || n > MAX_COUNT)
        return lob_fail(error, LOB_EDATA, "%s: the ITK image has %d dimensions; 2 to %d are read",
                        where->path, n, MAX_COUNT);
    lob_status st = read_numbers(dimension, group, "Dimension", n, where, error);
    if (st == LOB_OK) st = read_numbers(origin, group, "Origin", n, where, error);
    if (st == LOB_OK) st = read_numbers(spacing, group, "Spacing", n, where, error);
    if (st == LOB_OK) st = read_numbers(directions, group, "Directions", n * n, where, error);
    if (st == LOB_OK) st = itk_axes(view, n, dimension, where, error);
    if (st != LOB_OK) return st;

    /* LPS to RAS: the world's x and y change sign. A flat image stands on the third axis. Adding 0
     * leaves no negative zero. */
    double affine[3][4] = {{0}};
    const int space = n < 3 ? n : 3;
    for (int r = 0; r < space; r++) {
        const double sign = r < 2 ? -1.0 : 1.0;
        for (int a = 0; a < space; a++)
            affine[r][a] = sign * directions[a * n + r] * spacing[a] + 0.0;
        affine[r][3] = sign * origin[r] + 0.0;
    }
    if (n == 2) affine[2][2] = 1.0;
    if (!lob_geometry_of_affine(&view->geometry, (const double(*)[4])affine)) {
        lob_warn(info,
                 "%s: Spacing or Directions of the ITK image make no sense; spacing taken as 1 mm",
                 view->path);
        view->geometry = lob_geometry_of_spacing((const double[3]){1.0, 1.0, 1.0});
    }
    return LOB_OK;
}

/* ---- both ---- */

lob_status lob_hdf5_view_of(lob_hdf5_view *view, hid_t object, const char *path, int64_t file_bytes,
                            const lob_location *where, lob_file_info *info, lob_error *error)
{
    *view = (lob_hdf5_view){
        .set = -1, .at = {-1, -1, -1, -1, -1}
    };
    const bool itk = H5Iget_type(object) == H5I_GROUP;
    snprintf(view->path, sizeof view->path, "%s%s", path, itk ? "/VoxelData" : "");
    view->set = itk ? lob_hdf5_open_set(object, "VoxelData", where, error) : object;
    if (view->set < 0) return LOB_EDATA;

    lob_status st = lob_hdf5_guard(view->set, view->path, where, error);
    if (st == LOB_OK) st = view_type(view, where, error);
    if (st == LOB_OK) st = view_extent(view, where, error);
    if (st == LOB_OK) st = view_chunks(view, where, error);
    if (st == LOB_OK) st = view_bytes(view, file_bytes, where, error);
    if (st != LOB_OK) return st;
    return itk ? itk_view(view, object, where, info, error) : plain_view(view, where, info, error);
}

char *lob_hdf5_header_text(hid_t object, const lob_hdf5_view *view, lob_file_info *info)
{
    int dropped = 0;
    const bool itk = H5Iget_type(object) == H5I_GROUP;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "layout", itk ? "ITK" : "plain");
    cJSON_AddStringToObject(root, "dataset", view->path);
    if (itk && lob_hdf5_has(object, "MetaData")) {
        cJSON *entries = cJSON_AddArrayToObject(root, "metadata");
        const hid_t group = H5Gopen(object, "MetaData", H5P_DEFAULT);
        if (entries && group >= 0) dropped = lob_hdf5_metadata_read(entries, group);
        H5Gclose(group);
    }
    if (dropped > 0)
        lob_warn(info,
                 "%s: %d of its metadata entries are left out: too large, too many or of another "
                 "kind than ITK's",
                 view->path, dropped);
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return text;
}
