/* An HDF5 data set as a volume, whatever its layout: type, sides, storage, place. */
#include "io/hdf5/hdf5_parts.h"

#include <stdio.h>
#include <string.h>

static lob_status fail_damaged(const lob_hdf5_reading *in, const char *what)
{
    return LOB_HDF5_BAD(in, "damaged HDF5 file: %s", what);
}

/* ---- types and sizes ---- */

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

hid_t lob_hdf5_native(lob_type type)
{
    const hid_t natives[LOB_TYPES] = {
        [LOB_U8] = H5T_NATIVE_UINT8,   [LOB_I8] = H5T_NATIVE_INT8,    [LOB_U16] = H5T_NATIVE_UINT16,
        [LOB_I16] = H5T_NATIVE_INT16,  [LOB_U32] = H5T_NATIVE_UINT32, [LOB_I32] = H5T_NATIVE_INT32,
        [LOB_U64] = H5T_NATIVE_UINT64, [LOB_I64] = H5T_NATIVE_INT64,  [LOB_F32] = H5T_NATIVE_FLOAT,
        [LOB_F64] = H5T_NATIVE_DOUBLE};
    return natives[type];
}

static lob_status view_type(lob_hdf5_view *view, const lob_hdf5_reading *in)
{
    const hid_t stored = H5Dget_type(view->set);
    if (stored < 0) return fail_damaged(in, "voxel type");
    view->type = view->stored = lob_hdf5_voxel_type(stored);
    const bool compound = H5Tget_class(stored) == H5T_COMPOUND;
    /* An enumeration converts to an integer only by way of its own native form. */
    if (view->type != LOB_TYPES)
        view->native = H5Tget_class(stored) == H5T_ENUM ? H5Tget_native_type(stored, H5T_DIR_ASCEND)
                                                        : H5Tcopy(lob_hdf5_native(view->type));
    const bool fits =
        view->type != LOB_TYPES && H5Tget_size(view->native) == lob_type_of(view->type)->bytes;
    H5Tclose(stored);
    if (fits) return LOB_OK;
    return lob_fail_file_hint(
        in->error, LOB_EDATA, LOB_HINT_CONVERT, in->where->path,
        "%s holds %s; integers and reals of up to 64 bits are read", view->path,
        compound ? "compound elements (complex numbers?)" : "elements that are no numbers");
}

static lob_status view_extent(lob_hdf5_view *view, const lob_hdf5_reading *in)
{
    const hid_t space = H5Dget_space(view->set);
    const bool simple = H5Sis_simple(space) > 0;
    const int rank = simple ? H5Sget_simple_extent_ndims(space) : -1;
    if (rank >= 2 && rank <= LOB_HDF5_MAX_AXES)
        H5Sget_simple_extent_dims(space, view->extent, NULL);
    H5Sclose(space);
    if (rank < 2 || rank > LOB_HDF5_MAX_AXES)
        return LOB_HDF5_BAD(in, "%s has %d dimensions; a volume has 2 to %d", view->path,
                            rank < 0 ? 0 : rank, LOB_HDF5_MAX_AXES);
    view->rank = rank;
    for (int i = 0; i < rank; i++) {
        if (view->extent[i] == 0)
            return LOB_HDF5_BAD(in, "%s is empty: one of its sides is 0", view->path);
        if (view->extent[i] > INT32_MAX)
            return LOB_HDF5_BAD(in, "%s has a side of %llu voxels; at most 2^31 - 1 fit",
                                view->path, (unsigned long long)view->extent[i]);
    }
    return LOB_OK;
}

/*
 * Can what is stored be all that is declared? Deflate makes at most 1032 bytes of one. Chunks that
 * were never written cost nothing and are legal, hence an allowance.
 */
static lob_status view_bytes(lob_hdf5_view *view, const lob_hdf5_reading *in)
{
    enum { DEFLATE_MAX_RATIO = 1032, ALLOWANCE = 256 << 20 };
    int64_t declared = (int64_t)lob_type_of(view->type)->bytes;
    for (int i = 0; i < view->rank && declared >= 0; i++)
        declared = lob_product(declared, (int64_t)view->extent[i], 1, 1);
    const hsize_t stored = H5Dget_storage_size(view->set);
    view->stored_bytes = stored < (hsize_t)in->file_bytes ? (int64_t)stored : in->file_bytes;
    if (declared >= 0 && (declared - ALLOWANCE) / DEFLATE_MAX_RATIO <= view->stored_bytes)
        return LOB_OK;
    return LOB_HDF5_BAD(
        in, "%s declares %lld bytes of voxels and stores %lld; a damaged or hostile file",
        view->path, declared < 0 ? (long long)INT64_MAX : (long long)declared,
        (long long)view->stored_bytes);
}

/* A chunk is unpacked whole, so it may be neither huge nor larger than the data set asks for. */
static lob_status view_chunks(const lob_hdf5_view *view, const lob_hdf5_reading *in)
{
    const hid_t plist = H5Dget_create_plist(view->set);
    hsize_t chunk[H5S_MAX_RANK] = {0};
    const bool chunked = H5Pget_layout(plist) == H5D_CHUNKED;
    const int rank = chunked ? H5Pget_chunk(plist, H5S_MAX_RANK, chunk) : 0;
    H5Pclose(plist);
    if (!chunked) return LOB_OK;
    if (rank != view->rank) return fail_damaged(in, "rank of the chunks");
    int64_t bytes = (int64_t)lob_type_of(view->type)->bytes;
    for (int i = 0; i < rank && bytes > 0; i++)
        bytes = chunk[i] > INT32_MAX ? -1 : lob_product(bytes, (int64_t)chunk[i], 1, 1);
    if (bytes > 0 && bytes <= INT32_MAX) return LOB_OK;
    return LOB_HDF5_BAD(in, "%s has chunks of more than 2 GiB; rewrite it with h5repack",
                        view->path);
}

lob_status lob_hdf5_view_set(lob_hdf5_view *view, const char *path, const lob_hdf5_reading *in)
{
    *view = (lob_hdf5_view){
        .at = {-1, -1, -1, -1, -1},
          .slope = 1.0, .part_channels = 1, .part_frames = 1
    };
    snprintf(view->path, sizeof view->path, "%s", path);
    view->set = lob_hdf5_demand_set(in, path);
    lob_status st = view->set < 0 ? LOB_EDATA : view_type(view, in);
    if (st == LOB_OK) st = view_extent(view, in);
    if (st == LOB_OK) st = view_chunks(view, in);
    if (st == LOB_OK) st = view_bytes(view, in);
    return st;
}

/* ---- channels and frames in data sets of their own ---- */

static bool is_alike(const lob_hdf5_view *a, const lob_hdf5_view *b)
{
    return a->stored == b->stored && a->rank == b->rank &&
           memcmp(a->extent, b->extent, (size_t)a->rank * sizeof a->extent[0]) == 0;
}

static void close_set(lob_hdf5_view *view)
{
    if (view->native > 0) H5Tclose(view->native);
    if (view->set > 0) H5Dclose(view->set);
}

lob_status lob_hdf5_take_parts(lob_hdf5_view *view, char (*parts)[LOB_HDF5_PATH], int channels,
                               int frames, const lob_hdf5_reading *in)
{
    view->parts = parts;
    view->part_channels = channels;
    view->part_frames = frames;
    for (int i = 1; i < channels * frames; i++) {
        lob_hdf5_view other;
        LOB_TRY(lob_hdf5_view_set(&other, parts[i], in));
        if (!is_alike(view, &other))
            return LOB_HDF5_BAD(in, "%s and %s differ in type or shape; choose one of them",
                                parts[0], parts[i]);
        close_set(&other);
    }
    return LOB_OK;
}

bool lob_hdf5_turn_to(lob_hdf5_view *view, int channel, int64_t frame, const lob_hdf5_reading *in)
{
    if (!view->parts) return true;
    const char *path = view->parts[channel * view->part_frames + frame];
    if (strcmp(view->path, path) == 0) return true;
    lob_hdf5_view other;
    if (lob_hdf5_view_set(&other, path, in) != LOB_OK || H5Tequal(other.native, view->native) <= 0)
        return false;
    close_set(view);
    view->set = other.set;
    view->native = other.native;
    view->stored_bytes = other.stored_bytes;
    strcpy(view->path, path);
    return true;
}

/* ---- axes and place ---- */

bool lob_hdf5_take_letters(lob_hdf5_view *view, const char *letters)
{
    static const char role_letters[] = "xyzct"; /* by lob_axis */
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

void lob_hdf5_take_affine(lob_hdf5_view *view, const double affine[3][4],
                          const lob_hdf5_reading *in)
{
    view->geometry.unoriented = view->geometry.micrometres = false;
    if (lob_geometry_of_affine(&view->geometry, affine)) return;
    lob_warn(in->info, "%s: its spacing or directions make no sense; spacing taken as 1 mm",
             view->path);
    view->geometry = lob_geometry_of_spacing((const double[3]){1.0, 1.0, 1.0});
}

void lob_hdf5_take_lps(lob_hdf5_view *view, const double column[3][3], const double origin[3],
                       const lob_hdf5_reading *in)
{
    double affine[3][4];
    for (int r = 0; r < 3; r++) {
        const double sign = r < 2 ? -1.0 : 1.0; /* adding 0 leaves no negative zero */
        for (int a = 0; a < 3; a++) affine[r][a] = sign * column[a][r] + 0.0;
        affine[r][3] = sign * origin[r] + 0.0;
    }
    lob_hdf5_take_affine(view, (const double(*)[4])affine, in);
}

void lob_hdf5_take_box(lob_hdf5_view *view, const double spacing_mm[3], const double origin_mm[3],
                       bool micrometres, const lob_hdf5_reading *in)
{
    double affine[3][4] = {{0}};
    for (int a = 0; a < 3; a++) {
        affine[a][a] = spacing_mm[a];
        affine[a][3] = origin_mm[a] + 0.0;
    }
    lob_hdf5_take_affine(view, (const double(*)[4])affine, in);
    view->geometry.unoriented = true;
    view->geometry.micrometres = micrometres;
}
