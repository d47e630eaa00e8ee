/* HDF5 files as other programs write them: axes, spacing, types and storage, made with HDF5 itself.
 */
#define H5_USE_110_API
#include <hdf5.h>

#include "io/io.h"

#include "tests/unit/cmocka_test.h"
#include "tests/unit/io_scratch.h"

/* A data set, and the volume that it should become. */
typedef struct {
    const char *what;
    const char *axes; /* in the file's order, what each should be taken for */
    hsize_t extent[5];
    const char *tags; /* for the attribute axistags: keys with their resolutions; NULL: none */
    const char *axis_units; /* attribute; NULL: none */
    int sizes;              /* numbers in element_size_um; 0: no attribute */
    double element_size_um[3];
    double spacing_mm[3]; /* wanted */
    int warnings;
} layout;

#define ONE     \
    {           \
        1, 1, 1 \
    }
#define UNITS "{\"z\": \"mm\", \"y\": \"nm\", \"x\": \"um\"}"

/* clang-format off */
static const layout layouts[] = {
    {"a flat image",                        "yx",    {7, 5},           NULL,             NULL,  0, {0},                 ONE,                       1},
    {"PlantSeg's raw",                      "zyx",   {5, 7, 11},       NULL,             NULL,  3, {0.5, 0.25, 0.125},  {0.000125, 0.00025, 0.0005}, 0},
    {"two sizes for a flat image",          "yx",    {7, 5},           NULL,             NULL,  2, {2000, 1000},        {1, 2, 1},                 0},
    {"sizes that are no sizes",             "zyx",   {5, 7, 11},       NULL,             NULL,  3, {0, 1, 1},           ONE,                       2},
    {"colour at the end",                   "zyxc",  {5, 7, 11, 3},    NULL,             NULL,  0, {0},                 ONE,                       1},
    {"channels first, as in PlantSeg",      "czyx",  {2, 5, 7, 11},    NULL,             NULL,  0, {0},                 ONE,                       1},
    {"time, since neither end is short",    "tzyx",  {6, 5, 7, 11},    NULL,             NULL,  0, {0},                 ONE,                       1},
    {"five axes, colour at the end",        "tzyxc", {2, 5, 7, 11, 3}, NULL,             NULL,  0, {0},                 ONE,                       1},
    {"five axes, channels second",          "tczyx", {2, 3, 5, 7, 11}, NULL,             NULL,  0, {0},                 ONE,                       1},
    {"tags, x slowest, in micrometres",     "xyz",   {11, 7, 5},       "x2 y3 z4",       NULL,  0, {0},                 {0.002, 0.003, 0.004},     0},
    {"tags with units",                     "zyx",   {5, 7, 11},       "z2 y300 x4",     UNITS, 0, {0},                 {0.004, 0.0003, 2},        0},
    {"tags with channels between",          "zycx",  {5, 7, 3, 11},    "z0 y0 c0 x0",    NULL,  0, {0},                 ONE,                       1},
    {"tags of a moving colour image",       "tyxc",  {3, 7, 11, 2},    "t1 y1000 x2000 c0", NULL, 0, {0},               {2, 1, 1},                 0},
    {"element_size_um wins over tags",      "zyx",   {5, 7, 11},       "z2 y2 x2",       NULL,  3, {1000, 1000, 1000},  ONE,                       0},
    {"tags for another rank",               "zyx",   {5, 7, 11},       "y2 x2",          NULL,  0, {0},                 ONE,                       2},
    {"an axis twice",                       "zyx",   {5, 7, 11},       "x2 y2 x2",       NULL,  0, {0},                 ONE,                       2},
    {"an axis that nobody knows",           "zyx",   {5, 7, 11},       "q2 y2 x2",       NULL,  0, {0},                 ONE,                       2},
    {"tags that are no JSON",               "zyx",   {5, 7, 11},       "",               NULL,  0, {0},                 ONE,                       2},
};
/* clang-format on */

/* "z2 y300" as ilastik writes it; "" becomes something else entirely. */
static void tags_text(char *text, size_t size, const char *tags)
{
    size_t used = (size_t)snprintf(text, size, *tags ? "{\"axes\": [" : "{[");
    for (const char *at = tags; *at; at += strcspn(at, " "), at += strspn(at, " "))
        used += (size_t)snprintf(text + used, size - used,
                                 "%s{\"key\": \"%c\", \"typeFlags\": 2, \"resolution\": %d}",
                                 at == tags ? "" : ", ", *at, atoi(at + 1));
    if (*tags) snprintf(text + used, size - used, "]}");
}

static int rank_of(const layout *l)
{
    return (int)strlen(l->axes);
}

static void put_text(hid_t object, const char *name, const char *text, bool variable)
{
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, variable ? H5T_VARIABLE : strlen(text));
    const hid_t attribute = H5Acreate(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, type, variable ? (const void *)&text : text) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

/* Write n values as a data set /image of a new file. */
static hid_t put_set(hid_t file, const char *name, hid_t stored, hid_t memory, const void *values,
                     int rank, const hsize_t *extent, hid_t plist)
{
    const hid_t space = H5Screate_simple(rank, extent, NULL);
    const hid_t set = H5Dcreate(file, name, stored, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    assert_true(set >= 0);
    if (values) assert_true(H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Sclose(space);
    return set;
}

static hid_t new_file(const char *path)
{
    const hid_t plist = H5Pcreate(H5P_FILE_ACCESS); /* a format that has unfiltered edges */
    H5Pset_libver_bounds(plist, H5F_LIBVER_V110, H5F_LIBVER_V110);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, plist);
    assert_true(file >= 0);
    H5Pclose(plist);
    return file;
}

/* The number that stands at a place: no two are equal. */
static int place_number(const int64_t at[5])
{
    return (int)((((at[4] * 4 + at[3]) * 6 + at[2]) * 8 + at[1]) * 12 + at[0]);
}

static const char roles[] = "xyzct";

static void fill_by_place(int32_t *values, const layout *l, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t at[5] = {0}, rest = i;
        for (int d = rank_of(l) - 1; d >= 0; d--) {
            at[strchr(roles, l->axes[d]) - roles] = rest % (int64_t)l->extent[d];
            rest /= (int64_t)l->extent[d];
        }
        values[i] = place_number(at);
    }
}

static void check_places(const layout *l, const lob_volume *v)
{
    const int32_t *data = v->data;
    for (int64_t c = 0; c < v->channels; c++)
        for (int64_t z = 0; z < v->dims.nz; z++)
            for (int64_t y = 0; y < v->dims.ny; y++)
                for (int64_t x = 0; x < v->dims.nx; x++)
                    if (*data++ != place_number((const int64_t[5]){x, y, z, c, v->frame}))
                        fail_msg("%s: wrong voxel at %d %d %d channel %d", l->what, (int)x, (int)y,
                                 (int)z, (int)c);
}

static hid_t chunked(int rank, const hsize_t *extent)
{
    static const hsize_t sides[5] = {2, 3, 2, 4, 2};
    hsize_t chunk[5];
    for (int i = 0; i < rank; i++) chunk[i] = sides[i] < extent[i] ? sides[i] : extent[i];
    const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, rank, chunk);
    return plist;
}

static void check_layout(const layout *l, hid_t plist, bool variable)
{
    int64_t n = 1;
    for (int i = 0; i < rank_of(l); i++) n *= (int64_t)l->extent[i];
    int32_t *values = malloc((size_t)n * sizeof *values);
    fill_by_place(values, l, n);
    const hid_t file = new_file(scratch("layout.h5"));
    const hid_t set = put_set(file, "image", H5T_NATIVE_INT32, H5T_NATIVE_INT32, values, rank_of(l),
                              l->extent, plist);
    char tags[1024];
    if (l->tags) {
        tags_text(tags, sizeof tags, l->tags);
        put_text(set, "axistags", tags, variable);
    }
    if (l->axis_units) put_text(set, "axis_units", l->axis_units, variable);
    if (l->sizes) {
        const hsize_t count = (hsize_t)l->sizes;
        const hid_t space = H5Screate_simple(1, &count, NULL);
        const hid_t attribute =
            H5Acreate(set, "element_size_um", H5T_IEEE_F32BE, space, H5P_DEFAULT, H5P_DEFAULT);
        H5Awrite(attribute, H5T_NATIVE_DOUBLE, l->element_size_um);
        H5Aclose(attribute);
        H5Sclose(space);
    }
    H5Dclose(set);
    H5Fclose(file);
    free(values);

    const char *t = strchr(l->axes, 't');
    const int64_t frames = t ? (int64_t)l->extent[t - l->axes] : 1;
    for (int64_t frame = 0; frame < frames; frame++) {
        lob_volume v = lob_volume_empty();
        lob_error error = {.text = ""};
        lob_file_info info = {0};
        lob_read_options options = lob_read_defaults();
        if (frames > 1) {
            assert_int_equal(lob_read(&v, scratch("layout.h5"), &options, &info, &error),
                             LOB_EDATA);
            assert_int_equal(error.hint, LOB_HINT_CHOOSE_FRAME);
            info = (lob_file_info){0};
            options.frame = frame;
        }
        options.threads = 2;
        if (lob_read(&v, scratch("layout.h5"), &options, &info, &error) != LOB_OK)
            fail_msg("%s: %s", l->what, error.text);
        for (int i = 0; i < rank_of(l); i++) {
            const int64_t sides[] = {v.dims.nx, v.dims.ny, v.dims.nz, v.channels, v.frames};
            if (sides[strchr(roles, l->axes[i]) - roles] != (int64_t)l->extent[i])
                fail_msg("%s: wrong side %c", l->what, l->axes[i]);
        }
        check_places(l, &v);
        for (int a = 0; a < 3; a++)
            if (!(fabs(v.geometry.spacing_mm[a] / l->spacing_mm[a] - 1) < 1e-6))
                fail_msg("%s: spacing %g", l->what, v.geometry.spacing_mm[a]);
        if (info.warnings != l->warnings)
            fail_msg("%s: %d warnings, first: %s", l->what, info.warnings, info.warning[0]);
        lob_volume_free(&v);
        options.frame = frames;
        assert_int_equal(lob_read(&v, scratch("layout.h5"), &options, NULL, &error), LOB_EDATA);
    }
}

TEST(axes_and_spacing)
{
    for (size_t i = 0; i < COUNT(layouts); i++) {
        const hid_t plist = chunked(rank_of(&layouts[i]), layouts[i].extent);
        check_layout(&layouts[i], H5P_DEFAULT, true);
        check_layout(&layouts[i], plist, false);
        H5Pset_shuffle(plist);
        H5Pset_deflate(plist, 4);
        check_layout(&layouts[i], plist, true);
        H5Pclose(plist);
    }
}

/* Ways to store one and the same volume; all must read alike. */
enum {
    COMPACT,
    CONTIGUOUS,
    CHUNKED,
    SHUFFLED,
    DEFLATED,
    BOTH,
    REVERSED,
    CHECKED,
    ALL_THREE,
    EDGES,
    NBIT,
    SCALED
};

static const char *const storage_names[] = {"compact",
                                            "contiguous",
                                            "chunked",
                                            "shuffled",
                                            "deflated",
                                            "shuffled and deflated",
                                            "deflated and shuffled",
                                            "with checksums",
                                            "shuffled, deflated, with checksums",
                                            "deflated but at the edges",
                                            "n-bit",
                                            "scale-offset"};

static hid_t storage_plist(int how, const hsize_t extent[3])
{
    if (how == COMPACT || how == CONTIGUOUS) {
        const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_layout(plist, how == COMPACT ? H5D_COMPACT : H5D_CONTIGUOUS);
        return plist;
    }
    const hid_t plist = chunked(3, extent);
    if (how == REVERSED) H5Pset_deflate(plist, 1);
    if (how == SHUFFLED || how == BOTH || how == REVERSED || how == ALL_THREE)
        H5Pset_shuffle(plist);
    if (how == DEFLATED || how == BOTH || how == ALL_THREE || how == EDGES)
        H5Pset_deflate(plist, 9);
    if (how == CHECKED || how == ALL_THREE) H5Pset_fletcher32(plist);
    if (how == EDGES) H5Pset_chunk_opts(plist, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    if (how == NBIT) H5Pset_nbit(plist);
    if (how == SCALED) H5Pset_scaleoffset(plist, H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
    return plist;
}

TEST(storage_makes_no_difference)
{
    const hsize_t extent[3] = {11, 7, 5};
    lob_volume v = noise_volume(LOB_I16, (lob_dims){5, 7, 11}, 1);
    v.geometry = lob_geometry_of_spacing((const double[3]){1, 1, 1});
    for (int how = COMPACT; how <= SCALED; how++)
        for (int order = 0; order < 2; order++) {
            const hid_t plist = storage_plist(how, extent),
                        file = new_file(scratch(storage_names[how]));
            H5Dclose(put_set(file, "x", order ? H5T_STD_I16BE : H5T_STD_I16LE, H5T_NATIVE_INT16,
                             v.data, 3, extent, plist));
            H5Fclose(file);
            H5Pclose(plist);
            lob_volume back = read_volume(scratch(storage_names[how]), NULL, NULL);
            assert_same_volume(storage_names[how], &v, &back);
            lob_volume_free(&back);
        }
    lob_volume_free(&v);
}

TEST(chunks_never_written_hold_the_fill_value)
{
    const hsize_t extent[3] = {5, 7, 11}, start[3] = {2, 3, 4}, count[3] = {1, 1, 1};
    const int16_t fill = -321, one = 1234;
    const hid_t plist = chunked(3, extent), file = new_file(scratch("fill.h5"));
    H5Pset_fill_value(plist, H5T_NATIVE_INT16, &fill);
    H5Pset_deflate(plist, 1);
    const hid_t set = put_set(file, "x", H5T_NATIVE_INT16, 0, NULL, 3, extent, plist);
    const hid_t space = H5Dget_space(set), memory = H5Screate(H5S_SCALAR);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    assert_true(H5Dwrite(set, H5T_NATIVE_INT16, memory, space, H5P_DEFAULT, &one) >= 0);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(file);
    H5Pclose(plist);
    lob_volume v = read_volume(scratch("fill.h5"), NULL, NULL);
    for (int64_t i = 0; i < 5 * 7 * 11; i++)
        assert_int_equal(((int16_t *)v.data)[i], i == (2 * 7 + 3) * 11 + 4 ? one : fill);
    lob_volume_free(&v);
}

/* Stored type, and the type that it should be read as. */
TEST(odd_types_become_ours)
{
    const hsize_t extent[2] = {2, 3};
    const int8_t yes_no[6] = {0, 1, 1, 0, 1, 0};
    const double numbers[6] = {0, 1, 1, 0, 1, 0};

    hid_t half = H5Tcopy(H5T_IEEE_F32LE); /* numpy's float16 */
    H5Tset_fields(half, 15, 10, 5, 0, 10);
    H5Tset_size(half, 2);
    H5Tset_ebias(half, 15);
    hid_t three_bytes = H5Tcopy(H5T_STD_U32BE);
    H5Tset_precision(three_bytes, 24);
    H5Tset_size(three_bytes, 3);
    hid_t boolean = H5Tenum_create(H5T_NATIVE_INT8); /* h5py's bool */
    H5Tenum_insert(boolean, "FALSE", &(int8_t){0});
    H5Tenum_insert(boolean, "TRUE", &(int8_t){1});
    const struct {
        const char *what;
        hid_t stored;
        lob_type type;
    } rows[] = {
        {"half precision",     half,               LOB_F32},
        {"big-endian double",  H5T_IEEE_F64BE,     LOB_F64},
        {"long double",        H5T_NATIVE_LDOUBLE, LOB_F64},
        {"three bytes",        three_bytes,        LOB_U32},
        {"h5py's bool",        boolean,            LOB_I8 },
        {"big-endian 64 bits", H5T_STD_U64BE,      LOB_U64},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const bool is_enum = H5Tget_class(rows[i].stored) == H5T_ENUM;
        const hid_t file = new_file(scratch(rows[i].what));
        H5Dclose(put_set(file, "x", rows[i].stored, is_enum ? rows[i].stored : H5T_NATIVE_DOUBLE,
                         is_enum ? (const void *)yes_no : numbers, 2, extent, H5P_DEFAULT));
        H5Fclose(file);
        lob_volume v = read_volume(scratch(rows[i].what), NULL, NULL);
        if (v.type != rows[i].type)
            fail_msg("%s: read as %s", rows[i].what, lob_type_of(v.type)->name);
        double values[6];
        lob_values(values, v.data, v.type, 0, 6);
        assert_memory_equal(values, numbers, sizeof values);
        lob_volume_free(&v);
    }
    H5Tclose(boolean);
    H5Tclose(three_bytes);
    H5Tclose(half);
}

/* Which data set a path selects; NULL: an error that holds `says`. */
static const struct {
    const char *inside;
    int64_t nx; /* tells the data sets apart; 0: refused */
    const char *says;
} choices[] = {
    {"",            0, "holds 3 data sets: /deep/down (4 x 6 x 8), /raw (4 x 6 x 9), /seg (4 x 6 x 10)"},
    {":/raw",       9, NULL                                                                            },
    {":raw",        9, NULL                                                                            },
    {":/deep/down", 8, NULL                                                                            },
    {":/deep",      8, NULL                                                                            },
    {":/deep/",     8, NULL                                                                            },
    {":/",          0, "holds 3 data sets"                                                             },
    {":/nothing",   0, "holds nothing named nothing"                                                   },
    {":/raw/more",  0, "holds nothing named more"                                                      },
    {":/empty",     0, "holds no data set of numbers"                                                  },
    {":/list",      0, "has 1 dimensions"                                                              },
};

TEST(one_data_set_is_chosen_or_all_are_listed)
{
    const hid_t file = new_file(scratch("several.h5"));
    const hid_t deep = H5Gcreate(file, "deep", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate(file, "empty", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Lcreate_hard(file, "deep", deep, "self", H5P_DEFAULT, H5P_DEFAULT); /* circles */
    H5Lcreate_hard(file, "/", file, "root", H5P_DEFAULT, H5P_DEFAULT);
    const hid_t type = H5T_NATIVE_UINT8;
    H5Dclose(put_set(file, "raw", type, 0, NULL, 3, (const hsize_t[]){4, 6, 9}, H5P_DEFAULT));
    H5Dclose(put_set(file, "seg", type, 0, NULL, 3, (const hsize_t[]){4, 6, 10}, H5P_DEFAULT));
    H5Dclose(put_set(file, "list", type, 0, NULL, 1, (const hsize_t[]){4}, H5P_DEFAULT));
    H5Dclose(put_set(deep, "down", type, 0, NULL, 3, (const hsize_t[]){4, 6, 8}, H5P_DEFAULT));
    H5Gclose(deep);
    H5Fclose(file);
    for (size_t i = 0; i < COUNT(choices); i++) {
        char path[600];
        lob_volume v = lob_volume_empty();
        lob_error error = {.text = ""};
        snprintf(path, sizeof path, "%s%s", scratch("several.h5"), choices[i].inside);
        const lob_status st = lob_read(&v, path, NULL, NULL, &error);
        if (st != (choices[i].says ? LOB_EDATA : LOB_OK) ||
            (choices[i].says && !strstr(error.text, choices[i].says)) || v.dims.nx != choices[i].nx)
            fail_msg("%s: %s, nx %d", path, error.text, (int)v.dims.nx);
        lob_volume_free(&v);
    }
}

TEST(the_only_solid_data_set_is_preferred)
{
    const hid_t file = new_file(scratch("solid.h5")), type = H5T_NATIVE_UINT8;
    H5Dclose(put_set(file, "a", type, 0, NULL, 2, (const hsize_t[]){4, 6}, H5P_DEFAULT));
    H5Dclose(put_set(file, "b", type, 0, NULL, 3, (const hsize_t[]){4, 6, 9}, H5P_DEFAULT));
    H5Dclose(put_set(file, "c", type, 0, NULL, 2, (const hsize_t[]){4, 6}, H5P_DEFAULT));
    H5Fclose(file);
    lob_volume v = read_volume(scratch("solid.h5"), NULL, NULL);
    assert_int_equal(v.dims.nx, 9);
    lob_volume_free(&v);
}

/* ---- ITK's layout ---- */

static void put_doubles(hid_t group, const char *name, int rank, hsize_t a, hsize_t b,
                        const double *values)
{
    const hsize_t extent[2] = {a, b};
    H5Dclose(put_set(group, name, H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, values, rank, extent,
                     H5P_DEFAULT));
}

/* An ITK image of n dimensions with sides 4, 3, 2, 5 and c components (0: none). */
static void put_itk(const char *path, int n, hsize_t components, const char *leave_out)
{
    static const double origin[4] = {10, 20, 30, 0}, spacing[4] = {0.5, 0.75, 2, 1};
    /* axis 0 runs along +y of LPS, axis 1 along -x, axis 2 along +z */
    static const double d2[4] = {0, 1, -1, 0}, d3[9] = {0, 1, 0, -1, 0, 0, 0, 0, 1},
                        d4[16] = {0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    const uint64_t sides[4] = {4, 3, 2, 5};
    hsize_t extent[5], count = (hsize_t)n;
    int rank = n;
    for (int i = 0; i < n; i++) extent[i] = sides[n - 1 - i];
    if (components) extent[rank++] = components;
    float values[4 * 3 * 2 * 5 * 3];
    for (size_t i = 0; i < COUNT(values); i++) values[i] = (float)i;

    const hid_t file = new_file(path);
    const hid_t image = H5Gcreate(file, "ITKImage", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t group = H5Gcreate(image, "0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(put_set(group, "Dimension", H5T_NATIVE_UINT64, H5T_NATIVE_UINT64, sides, 1, &count,
                     H5P_DEFAULT));
    put_doubles(group, "Origin", 1, count, 0, origin);
    put_doubles(group, "Spacing", 1, count, 0, spacing);
    put_doubles(group, "Directions", 2, count, count, n == 2 ? d2 : n == 3 ? d3 : d4);
    H5Dclose(put_set(group, "VoxelData", H5T_NATIVE_FLOAT, H5T_NATIVE_FLOAT, values, rank, extent,
                     H5P_DEFAULT));
    if (leave_out) H5Ldelete(group, leave_out, H5P_DEFAULT);
    H5Gclose(group);
    H5Gclose(image);
    H5Fclose(file);
}

TEST(itk_images_lie_where_itk_says)
{
    static const struct {
        int n;
        hsize_t components;
        int64_t nz, frames;
        int channels;
    } rows[] = {
        {3, 0, 2, 1, 1},
        {3, 3, 2, 1, 3},
        {2, 0, 1, 1, 1},
        {2, 2, 1, 1, 2},
        {4, 0, 2, 5, 1}
    };
    static const char *const insides[] = {"", ":/ITKImage/0", ":/ITKImage/0/VoxelData",
                                          ":/ITKImage"};
    /* LPS to RAS: x and y change sign; columns are the axes */
    static const double wanted[3][4] = {
        {0,    0.75, 0, -10},
        {-0.5, 0,    0, -20},
        {0,    0,    2, 30 }
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t k = 0; k < COUNT(insides); k++) {
            char path[600];
            lob_read_options options = lob_read_defaults();
            put_itk(scratch("itk.h5"), rows[i].n, rows[i].components, NULL);
            snprintf(path, sizeof path, "%s%s", scratch("itk.h5"), insides[k]);
            if (rows[i].frames > 1) options.frame = 3;
            if (k == 3) { /* a group above is searched like any other */
                lob_volume found;
                lob_read(&found, path, &options, NULL, NULL);
                lob_volume_free(&found);
                continue;
            }
            lob_volume v = read_volume(path, &options, NULL);
            assert_int_equal(v.dims.nx, 4);
            assert_int_equal(v.dims.ny, 3);
            assert_int_equal(v.dims.nz, rows[i].nz);
            assert_int_equal(v.channels, rows[i].channels);
            assert_int_equal(v.frames, rows[i].frames);
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 4; c++) {
                    double want = wanted[r][c];
                    if (rows[i].n == 2 && r == 2) want = c == 2 ? 1 : 0;
                    if (fabs(v.geometry.affine[r][c] - want) > 1e-12)
                        fail_msg("%d dimensions: affine[%d][%d] is %g", rows[i].n, r, c,
                                 v.geometry.affine[r][c]);
                }
            const int64_t n = lob_voxels(&v);
            for (int64_t c = 0; c < v.channels; c++)
                for (int64_t j = 0; j < n; j++)
                    assert_true(((float *)v.data)[c * n + j] ==
                                (float)((v.frame * n + j) * v.channels + c));
            lob_volume_free(&v);
        }
}

TEST(itk_images_with_parts_missing_are_refused)
{
    static const char *const parts[] = {"Origin", "Spacing", "Directions"};
    for (size_t i = 0; i < COUNT(parts); i++) {
        put_itk(scratch("part.h5"), 3, 0, parts[i]);
        assert_refused(scratch("part.h5"), NULL, LOB_EDATA, parts[i]);
    }
}

static void collect(void *user, const char *name, const char *value)
{
    char *text = user;
    const size_t used = strlen(text);
    snprintf(text + used, 1024 - used, "%s=%s;", name, value);
}

TEST(metadata_goes_from_file_to_file)
{
    put_itk(scratch("meta.h5"), 3, 0, NULL);
    const hid_t file = H5Fopen(scratch("meta.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t group =
        H5Gcreate(file, "/ITKImage/0/MetaData", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t one = 1;
    const double real = 0.1;
    const int64_t whole = INT64_MIN;
    const uint8_t yes = 1;
    const double four[4] = {1, 2.5, -3, 1e300};
    put_doubles(group, "four", 1, 4, 0, four);
    put_doubles(group, "real", 1, 1, 0, &real);
    H5Dclose(
        put_set(group, "whole", H5T_STD_I64BE, H5T_NATIVE_INT64, &whole, 1, &one, H5P_DEFAULT));
    const hid_t flag =
        put_set(group, "flag", H5T_NATIVE_UINT8, H5T_NATIVE_UINT8, &yes, 1, &one, H5P_DEFAULT);
    put_text(flag, "isBool", "1", false);
    H5Dclose(flag);
    const char *text = "M\xc3\xbcller; \"quoted\"\n";
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Dclose(put_set(group, "0008|0060", type, type, &text, 1, &one, H5P_DEFAULT));
    H5Tclose(type);
    H5Gclose(group);
    H5Fclose(file);

    static const char *const names[] = {"meta.h5", "kept.h5", "stripped.h5"};
    char texts[3][1024] = {"", "", ""}, *before = texts[0];
    for (int i = 0; i < 3; i++) {
        lob_volume v = read_volume(scratch(names[i]), NULL, NULL);
        lob_header_fields(&v, collect, texts[i]);
        lob_write_options options = lob_write_defaults();
        options.strip_extensions = i == 1;
        if (i < 2) write_volume(&v, scratch(names[i + 1]), &options);
        lob_volume_free(&v);
    }
    assert_string_equal(before, texts[1]);
    assert_non_null(strstr(before, "0008|0060=M\xc3\xbcller; \"quoted\"\n;"));
    assert_non_null(strstr(before, "whole=-9223372036854775808;"));
    assert_non_null(strstr(before, "real=0.10000000000000001;"));
    assert_non_null(strstr(before, "1.0000000000000001e+300"));
    assert_null(strstr(texts[2], "real"));
}
