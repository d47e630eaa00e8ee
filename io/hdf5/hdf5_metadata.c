/* What of an HDF5 file goes to outputs: ITK's MetaData entries, and attributes of data sets. */
#include "io/hdf5/hdf5_parts.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The limits that the head of io/hdf5/hdf5.c states. */
enum { MAX_ENTRIES = 1000, MAX_ELEMENTS = 64, MAX_TEXT = 64 << 10, MAX_NAME = 255 };

/* Element types of a numeric entry: as they are called in the header's text, and in memory. */
static const struct {
    const char *name;
    H5T_class_t kind;
    size_t bytes;
    bool is_signed;
} entry_types[] = {
    {"int8",    H5T_INTEGER, 1, true },
    {"uint8",   H5T_INTEGER, 1, false},
    {"int16",   H5T_INTEGER, 2, true },
    {"uint16",  H5T_INTEGER, 2, false},
    {"int32",   H5T_INTEGER, 4, true },
    {"uint32",  H5T_INTEGER, 4, false},
    {"int64",   H5T_INTEGER, 8, true },
    {"uint64",  H5T_INTEGER, 8, false},
    {"float32", H5T_FLOAT,   4, true },
    {"float64", H5T_FLOAT,   8, true },
};

enum { ENTRY_TYPES = sizeof entry_types / sizeof entry_types[0] };

static hid_t entry_native(int k)
{
    switch (entry_types[k].bytes) {
    case 1:
        return entry_types[k].is_signed ? H5T_NATIVE_INT8 : H5T_NATIVE_UINT8;
    case 2:
        return entry_types[k].is_signed ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16;
    case 4:
        if (entry_types[k].kind == H5T_FLOAT) return H5T_NATIVE_FLOAT;
        return entry_types[k].is_signed ? H5T_NATIVE_INT32 : H5T_NATIVE_UINT32;
    default:
        if (entry_types[k].kind == H5T_FLOAT) return H5T_NATIVE_DOUBLE;
        return entry_types[k].is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
    }
}

/* ITK tells types that HDF5 does not by an attribute that is true. */
static const char *const flags[] = {"isBool", "isLong", "isUnsignedLong", "isLongLong",
                                    "isUnsignedLongLong"};

static void number_text(char text[32], const void *values, int k, int i)
{
    const unsigned char *at = (const unsigned char *)values + (size_t)i * entry_types[k].bytes;
    double real = 0.0;
    float single = 0.0f;
    int64_t whole = 0;
    if (entry_types[k].kind == H5T_FLOAT) {
        if (entry_types[k].bytes == 4) {
            memcpy(&single, at, sizeof single);
            snprintf(text, 32, "%.9g", (double)single);
        } else {
            memcpy(&real, at, sizeof real);
            snprintf(text, 32, "%.17g", real);
        }
        return;
    }
    memcpy(&whole, at,
           entry_types[k].bytes); /* little-endian, as every machine that CUDA runs on */
    const int spare = 64 - 8 * (int)entry_types[k].bytes;
    if (entry_types[k].is_signed)
        snprintf(text, 32, "%" PRId64, (int64_t)((uint64_t)whole << spare) >> spare);
    else
        snprintf(text, 32, "%" PRIu64, (uint64_t)whole);
}

/* The row of entry_types for a stored type; ENTRY_TYPES: none. */
static int entry_type(hid_t type)
{
    const bool is_integer = H5Tget_class(type) == H5T_INTEGER;
    int k = 0;
    while (k < ENTRY_TYPES &&
           !(entry_types[k].kind == H5Tget_class(type) &&
             entry_types[k].bytes == H5Tget_size(type) &&
             (!is_integer || entry_types[k].is_signed == (H5Tget_sign(type) == H5T_SGN_2))))
        k++;
    return k;
}

/* The numbers of a data set or an attribute. */
static void add_numbers(cJSON *entry, hid_t object, bool is_attribute)
{
    uint64_t values[MAX_ELEMENTS];
    const hid_t type = is_attribute ? H5Aget_type(object) : H5Dget_type(object);
    const hid_t space = is_attribute ? H5Aget_space(object) : H5Dget_space(object);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    const int k = entry_type(type);
    bool ok = k < ENTRY_TYPES && n >= 1 && n <= MAX_ELEMENTS;
    if (ok && is_attribute)
        ok =
            H5Sget_simple_extent_ndims(space) <= 1 && H5Aread(object, entry_native(k), values) >= 0;
    else if (ok)
        ok = H5Dread(object, entry_native(k), H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    if (ok) {
        cJSON_AddStringToObject(entry, "type", entry_types[k].name);
        cJSON *list = cJSON_AddArrayToObject(entry, "value");
        for (int i = 0; i < (int)n; i++) {
            char text[32];
            number_text(text, values, k, i);
            cJSON_AddItemToArray(list, cJSON_CreateString(text));
        }
    }
    H5Sclose(space);
    H5Tclose(type);
}

/* An entry without a value. */
static cJSON *new_entry(const char *name)
{
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddStringToObject(entry, "name", name);
    return entry;
}

static void add_text(cJSON *entry, const char *text)
{
    cJSON_AddStringToObject(entry, "type", "string");
    cJSON_AddItemToArray(cJSON_AddArrayToObject(entry, "value"), cJSON_CreateString(text));
}

/* The entry if it has a value, else NULL. */
static cJSON *finish_entry(cJSON *entry)
{
    if (cJSON_HasObjectItem(entry, "value")) return entry;
    cJSON_Delete(entry);
    return NULL;
}

/* An entry as it is carried; NULL when it cannot be. */
static cJSON *entry_of(hid_t group, const char *name)
{
    static const lob_location nowhere = {.path = ""};
    const hid_t set = H5Oopen(group, name, H5P_DEFAULT);
    if (set < 0) return NULL;
    cJSON *entry = NULL;
    if (H5Iget_type(set) == H5I_DATASET && lob_hdf5_guard(set, name, &nowhere, NULL) == LOB_OK) {
        entry = new_entry(name);
        char *text = lob_hdf5_set_text(set);
        if (text)
            add_text(entry, text);
        else
            add_numbers(entry, set, false);
        free(text);
        for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
            if (H5Aexists(set, flags[i]) > 0) cJSON_AddStringToObject(entry, "flag", flags[i]);
        entry = finish_entry(entry);
    }
    H5Oclose(set);
    return entry;
}

/* The same of an attribute. */
static cJSON *attribute_of(hid_t object, const char *name)
{
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0) return NULL;
    cJSON *entry = new_entry(name);
    const hid_t space = H5Aget_space(attribute);
    char *text = H5Sget_simple_extent_npoints(space) == 1 ? lob_hdf5_text(object, name, "") : NULL;
    if (text)
        add_text(entry, text);
    else
        add_numbers(entry, attribute, true);
    free(text);
    H5Sclose(space);
    H5Aclose(attribute);
    return finish_entry(entry);
}

/* A walk over the group. */
typedef struct {
    cJSON *array;
    size_t bytes; /* of text that the entries take so far */
    int taken, dropped;
} walk;

/* Take an entry, or count it as dropped when it is NULL or too large. */
static void take_entry(walk *w, cJSON *entry)
{
    char *text = entry ? cJSON_PrintUnformatted(entry) : NULL;
    const size_t bytes = text ? strlen(text) + 1 : 0; /* and a comma */
    cJSON_free(text);
    if (bytes == 0 || bytes > LOB_HDF5_MAX_METADATA - w->bytes) {
        cJSON_Delete(entry);
        w->dropped += w->dropped < INT_MAX;
        return;
    }
    cJSON_AddItemToArray(w->array, entry);
    w->bytes += bytes;
    w->taken++;
}

static bool has_room(const walk *w, const char *name)
{
    return strlen(name) <= MAX_NAME && w->taken < MAX_ENTRIES;
}

static herr_t read_entry(hid_t group, const char *name, const H5L_info_t *link, void *user)
{
    walk *w = user;
    const bool taken = link->type == H5L_TYPE_HARD && has_room(w, name);
    take_entry(w, taken ? entry_of(group, name) : NULL);
    return 0;
}

int lob_hdf5_metadata_read(cJSON *array, hid_t group)
{
    walk w = {.array = array};
    H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, read_entry, &w);
    return w.dropped;
}

/* Attributes that speak of axes and spacing, which the writer says in its own words. */
static bool is_of_axes(const char *name)
{
    static const char *const names[] = {
        "axistags",       "axis_units",     "element_size_um", LOB_HDF5_BESIDE, "DIMENSION_LABELS",
        "DIMENSION_LIST", "REFERENCE_LIST", "CLASS",           "NAME"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static herr_t read_attribute(hid_t object, const char *name, const H5A_info_t *info, void *user)
{
    walk *w = user;
    (void)info;
    if (is_of_axes(name)) return 0;
    take_entry(w, has_room(w, name) ? attribute_of(object, name) : NULL);
    return 0;
}

int lob_hdf5_attributes_read(cJSON *array, hid_t set)
{
    walk w = {.array = array};
    H5Aiterate(set, H5_INDEX_NAME, H5_ITER_INC, NULL, read_attribute, &w);
    return w.dropped;
}

/* ---- writing ---- */

hid_t lob_hdf5_write_set(hid_t group, const char *name, hid_t type, const void *values, int rank,
                         const hsize_t *extent)
{
    const hid_t space = H5Screate_simple(rank, extent, NULL);
    const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(plist, false); /* the same volume gives the same bytes */
    hid_t set = H5Dcreate(group, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    if (set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
        H5Dclose(set);
        set = -1;
    }
    H5Pclose(plist);
    H5Sclose(space);
    return set;
}

bool lob_hdf5_write_string(hid_t group, const char *name, const char *text)
{
    const hsize_t one = 1;
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    const hid_t set = lob_hdf5_write_set(group, name, type, &text, 1, &one);
    H5Tclose(type);
    return set >= 0 && H5Dclose(set) >= 0;
}

/* The text of element i of a value, "" when it is none. */
static const char *element(const cJSON *value, int i)
{
    const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(value, i));
    return text ? text : "";
}

/* The numbers of an entry in its own type; how many. */
static int parse_numbers(uint64_t values[MAX_ELEMENTS], int k, const cJSON *value)
{
    const int n = cJSON_GetArraySize(value);
    if (n < 1 || n > MAX_ELEMENTS) return 0;
    memset(values, 0, MAX_ELEMENTS * sizeof *values);
    for (int i = 0; i < n; i++) {
        unsigned char *at = (unsigned char *)values + (size_t)i * entry_types[k].bytes;
        const char *text = element(value, i);
        const double real = strtod(text, NULL);
        const float single = (float)real;
        const uint64_t whole =
            entry_types[k].is_signed ? (uint64_t)strtoll(text, NULL, 10) : strtoull(text, NULL, 10);
        const void *from = entry_types[k].kind != H5T_FLOAT ? (const void *)&whole
                           : entry_types[k].bytes == 4      ? (const void *)&single
                                                            : (const void *)&real;
        memcpy(at, from, entry_types[k].bytes);
    }
    return n;
}

/* An attribute of these values; of one, it is a scalar. */
static bool write_attribute(hid_t object, const char *name, hid_t type, hsize_t n,
                            const void *values)
{
    const hid_t space = n == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, NULL);
    const hid_t attribute = H5Acreate(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = attribute >= 0 && H5Awrite(attribute, type, values) >= 0;
    if (attribute >= 0) ok = H5Aclose(attribute) >= 0 && ok;
    H5Sclose(space);
    return ok;
}

static bool write_numbers(hid_t group, const char *name, int k, const cJSON *value,
                          const char *flag)
{
    uint64_t values[MAX_ELEMENTS];
    const hsize_t count = (hsize_t)parse_numbers(values, k, value), one = 1;
    if (count == 0) return true;
    const hid_t set = lob_hdf5_write_set(group, name, entry_native(k), values, 1, &count);
    bool ok = set >= 0;
    if (ok && flag) {
        const unsigned char yes = 1;
        const hid_t space = H5Screate_simple(1, &one, NULL);
        const hid_t attribute =
            H5Acreate(set, flag, H5T_NATIVE_UINT8, space, H5P_DEFAULT, H5P_DEFAULT);
        ok = attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_UINT8, &yes) >= 0;
        H5Aclose(attribute);
        H5Sclose(space);
    }
    return set >= 0 && H5Dclose(set) >= 0 && ok;
}

bool lob_hdf5_write_text(hid_t object, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    const bool ok = write_attribute(object, name, type, 1, &text);
    H5Tclose(type);
    return ok;
}

/* The row of entry_types of this name; ENTRY_TYPES: none. */
static int type_named(const char *name)
{
    int k = 0;
    while (k < ENTRY_TYPES && strcmp(name, entry_types[k].name) != 0) k++;
    return k;
}

static const char *member(const cJSON *entry, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, name));
}

/* Attributes of a scan that make no sense of its labels: how its grey values are shown. */
static bool is_of_values(const char *name)
{
    return strcmp(name, "drange") == 0 || strcmp(name, "display_mode") == 0;
}

bool lob_hdf5_attributes_write(hid_t set, const cJSON *array, bool labels)
{
    bool ok = true;
    const cJSON *entry;
    cJSON_ArrayForEach(entry, array)
    {
        uint64_t values[MAX_ELEMENTS];
        const char *name = member(entry, "name"), *type = member(entry, "type");
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(entry, "value");
        if (!name || !type || !name[0] || is_of_axes(name) || (labels && is_of_values(name)))
            continue;
        if (strcmp(type, "string") == 0) {
            ok = ok && lob_hdf5_write_text(set, name, element(value, 0));
            continue;
        }
        const int k = type_named(type);
        const int n = k < ENTRY_TYPES ? parse_numbers(values, k, value) : 0;
        if (n > 0) ok = ok && write_attribute(set, name, entry_native(k), (hsize_t)n, values);
    }
    return ok;
}

bool lob_hdf5_metadata_write(hid_t group, const cJSON *array)
{
    bool ok = true;
    const cJSON *entry;
    cJSON_ArrayForEach(entry, array)
    {
        const char *name = member(entry, "name"), *type = member(entry, "type");
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(entry, "value");
        if (!name || !type || !name[0] || strchr(name, '/') || strcmp(name, ".") == 0) continue;
        if (strcmp(type, "string") == 0) {
            ok = ok && lob_hdf5_write_string(group, name, element(value, 0));
            continue;
        }
        const int k = type_named(type);
        if (k < ENTRY_TYPES) ok = ok && write_numbers(group, name, k, value, member(entry, "flag"));
    }
    return ok;
}
