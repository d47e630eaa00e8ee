/* ITK's MetaData entries and other small texts of an HDF5 file. */
#include "io/hdf5_parts.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The limits that the head of io/hdf5.c states. */
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

/* A copy of one string that HDF5 has read, freed by HDF5 if it was of variable length. */
typedef struct {
    hid_t type;
    bool variable;
    size_t bytes;
} string_kind;

static bool string_kind_of(string_kind *kind, hid_t type, hid_t space)
{
    if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1) return false;
    *kind = (string_kind){type, H5Tis_variable_str(type) > 0, H5Tget_size(type)};
    return kind->variable || (kind->bytes > 0 && kind->bytes <= MAX_TEXT);
}

/* One string of a data set or an attribute, malloc'ed; NULL when it is none or too long. */
static char *read_string(hid_t object, bool is_attribute)
{
    char *text = NULL, *variable = NULL;
    const hid_t type = is_attribute ? H5Aget_type(object) : H5Dget_type(object);
    const hid_t space = is_attribute ? H5Aget_space(object) : H5Dget_space(object);
    string_kind kind;
    if (!string_kind_of(&kind, type, space)) goto out;
    void *target = &variable;
    if (!kind.variable) target = text = calloc(kind.bytes + 1, 1);
    if (!target) goto out;
    const herr_t result = is_attribute
                              ? H5Aread(object, type, target)
                              : H5Dread(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, target);
    if (result < 0) {
        free(text);
        text = NULL;
    } else if (kind.variable && variable) {
        if (strnlen(variable, MAX_TEXT) < MAX_TEXT) text = strdup(variable);
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, target);
    }
out:
    H5Sclose(space);
    H5Tclose(type);
    return text;
}

char *lob_hdf5_read_attribute_text(hid_t object, const char *name)
{
    if (H5Aexists(object, name) <= 0) return NULL;
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0) return NULL;
    char *text = read_string(attribute, true);
    H5Aclose(attribute);
    return text;
}

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

static void add_numbers(cJSON *entry, hid_t set)
{
    uint64_t values[MAX_ELEMENTS];
    const hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    const bool is_integer = H5Tget_class(type) == H5T_INTEGER;
    int k = 0;
    while (k < ENTRY_TYPES &&
           !(entry_types[k].kind == H5Tget_class(type) &&
             entry_types[k].bytes == H5Tget_size(type) &&
             (!is_integer || entry_types[k].is_signed == (H5Tget_sign(type) == H5T_SGN_2))))
        k++;
    if (k < ENTRY_TYPES && n >= 1 && n <= MAX_ELEMENTS &&
        H5Dread(set, entry_native(k), H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0) {
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

/* An entry as it is carried; NULL when it cannot be. */
static cJSON *entry_of(hid_t group, const char *name)
{
    static const lob_location nowhere = {.path = ""};
    const hid_t set = lob_hdf5_open_set(group, name, &nowhere, NULL);
    if (set < 0) return NULL;

    cJSON *entry = cJSON_CreateObject();
    cJSON_AddStringToObject(entry, "name", name);
    char *text = read_string(set, false);
    if (text) {
        cJSON_AddStringToObject(entry, "type", "string");
        cJSON_AddItemToArray(cJSON_AddArrayToObject(entry, "value"), cJSON_CreateString(text));
        free(text);
    } else {
        add_numbers(entry, set);
    }
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (H5Aexists(set, flags[i]) > 0) cJSON_AddStringToObject(entry, "flag", flags[i]);
    H5Dclose(set);
    if (cJSON_HasObjectItem(entry, "value")) return entry;
    cJSON_Delete(entry);
    return NULL;
}

/* A walk over the group. */
typedef struct {
    cJSON *array;
    size_t bytes; /* of text that the entries take so far */
    int taken, dropped;
} walk;

static herr_t read_entry(hid_t group, const char *name, const H5L_info_t *link, void *user)
{
    walk *w = user;
    cJSON *entry = NULL;
    if (link->type == H5L_TYPE_HARD && strlen(name) <= MAX_NAME && w->taken < MAX_ENTRIES)
        entry = entry_of(group, name);
    char *text = entry ? cJSON_PrintUnformatted(entry) : NULL;
    const size_t bytes = text ? strlen(text) + 1 : 0; /* and a comma */
    cJSON_free(text);
    if (bytes == 0 || bytes > LOB_HDF5_MAX_METADATA - w->bytes) {
        cJSON_Delete(entry);
        w->dropped += w->dropped < INT_MAX;
        return 0;
    }
    cJSON_AddItemToArray(w->array, entry);
    w->bytes += bytes;
    w->taken++;
    return 0;
}

int lob_hdf5_metadata_read(cJSON *array, hid_t group)
{
    walk w = {.array = array};
    H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, read_entry, &w);
    return w.dropped;
}

bool lob_hdf5_write_string(hid_t group, const char *name, const char *text)
{
    const hsize_t one = 1;
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &one, NULL);
    const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    bool ok = H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Pset_obj_track_times(plist, false) >= 0;
    const hid_t set =
        ok ? H5Dcreate(group, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT) : -1;
    ok = set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) >= 0;
    if (set >= 0) ok = H5Dclose(set) >= 0 && ok;
    H5Pclose(plist);
    H5Sclose(space);
    H5Tclose(type);
    return ok;
}

/* The text of element i of a value, "" when it is none. */
static const char *element(const cJSON *value, int i)
{
    const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(value, i));
    return text ? text : "";
}

static bool write_numbers(hid_t group, const char *name, int k, const cJSON *value,
                          const char *flag)
{
    uint64_t values[MAX_ELEMENTS] = {0};
    const int n = cJSON_GetArraySize(value);
    if (n < 1 || n > MAX_ELEMENTS) return true;
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
    const hsize_t count = (hsize_t)n, one = 1;
    const hid_t space = H5Screate_simple(1, &count, NULL),
                flag_space = H5Screate_simple(1, &one, NULL);
    const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(plist, false);
    const hid_t set =
        H5Dcreate(group, name, entry_native(k), space, H5P_DEFAULT, plist, H5P_DEFAULT);
    bool ok =
        set >= 0 && H5Dwrite(set, entry_native(k), H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    if (ok && flag) {
        const unsigned char yes = 1;
        const hid_t attribute =
            H5Acreate(set, flag, H5T_NATIVE_UINT8, flag_space, H5P_DEFAULT, H5P_DEFAULT);
        ok = attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_UINT8, &yes) >= 0;
        H5Aclose(attribute);
    }
    if (set >= 0) ok = H5Dclose(set) >= 0 && ok;
    H5Pclose(plist);
    H5Sclose(flag_space);
    H5Sclose(space);
    return ok;
}

bool lob_hdf5_metadata_write(hid_t group, const cJSON *array)
{
    bool ok = true;
    const cJSON *entry;
    cJSON_ArrayForEach(entry, array)
    {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "name"));
        const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "type"));
        const char *flag = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "flag"));
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(entry, "value");
        if (!name || !type || !name[0] || strchr(name, '/') || strcmp(name, ".") == 0) continue;
        if (strcmp(type, "string") == 0) {
            ok = ok && lob_hdf5_write_string(group, name, element(value, 0));
            continue;
        }
        for (int k = 0; k < ENTRY_TYPES; k++)
            if (strcmp(type, entry_types[k].name) == 0)
                ok = ok && write_numbers(group, name, k, value, flag);
    }
    return ok;
}
