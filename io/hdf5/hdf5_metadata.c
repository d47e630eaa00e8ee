/* What of an HDF5 file goes to outputs: ITK's MetaData entries, and attributes of data sets. */
#include "io/hdf5/hdf5_parts.h"

#include <cjson/cJSON.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The limits that the head of io/hdf5/hdf5.c states. */
enum { MAX_ENTRIES = 1000, MAX_ELEMENTS = 64, MAX_TEXT = 64 << 10, MAX_NAME = 255 };

/* ITK tells types that HDF5 does not by an attribute that is true. */
static const char *const flags[] = {"isBool", "isLong", "isUnsignedLong", "isLongLong",
                                    "isUnsignedLongLong"};

static void number_text(char text[32], const void *values, lob_type type, int64_t i)
{
#define PRINT(id, ctype, name, integer, lowest, highest)                                        \
    case id: {                                                                                  \
        ctype value;                                                                            \
        memcpy(&value, (const unsigned char *)values + (size_t)i * sizeof value, sizeof value); \
        if (!(integer))                                                                         \
            snprintf(text, 32, "%.*g", sizeof value == 4 ? 9 : 17, (double)value);              \
        else if ((lowest) < 0)                                                                  \
            snprintf(text, 32, "%" PRId64, (int64_t)value);                                     \
        else                                                                                    \
            snprintf(text, 32, "%" PRIu64, (uint64_t)value);                                    \
    } break;
    LOB_TYPE_SWITCH(type, PRINT)
#undef PRINT
}

/* The type that a stored one is to the byte, as its numbers are carried; LOB_TYPES: there is none.
 */
static lob_type exact_type(hid_t stored)
{
    const lob_type type = lob_hdf5_voxel_type(stored);
    const bool is_enum = H5Tget_class(stored) == H5T_ENUM;
    return type < LOB_TYPES && !is_enum && H5Tget_size(stored) == lob_type_of(type)->bytes
               ? type
               : LOB_TYPES;
}

static void add_numbers(cJSON *entry, const lob_hdf5_values *v)
{
    uint64_t values[MAX_ELEMENTS];
    const lob_type type = exact_type(v->type);
    if (type == LOB_TYPES || v->n < 1 || v->n > MAX_ELEMENTS ||
        (v->is_attribute && H5Sget_simple_extent_ndims(v->space) > 1) ||
        !lob_hdf5_values_read(v, lob_hdf5_native(type), values))
        return;
    cJSON_AddStringToObject(entry, "type", lob_type_of(type)->name);
    cJSON *list = cJSON_AddArrayToObject(entry, "value");
    for (int64_t i = 0; i < v->n; i++) {
        char text[32];
        number_text(text, values, type, i);
        cJSON_AddItemToArray(list, cJSON_CreateString(text));
    }
}

/* An attribute of an object as it is carried, or where that is NULL a data set; NULL when it cannot
 * be. */
static cJSON *entry_of(hid_t object, const char *name, const char *attribute)
{
    cJSON *entry = cJSON_CreateObject();
    const lob_hdf5_values v = lob_hdf5_values_open(object, attribute);
    char *text = v.n == 1 ? lob_hdf5_text(object, attribute, "") : NULL;
    cJSON_AddStringToObject(entry, "name", name);
    if (text) {
        cJSON_AddStringToObject(entry, "type", "string");
        cJSON_AddItemToArray(cJSON_AddArrayToObject(entry, "value"), cJSON_CreateString(text));
    } else {
        add_numbers(entry, &v);
    }
    free(text);
    lob_hdf5_values_close(&v);
    if (cJSON_HasObjectItem(entry, "value")) return entry;
    cJSON_Delete(entry);
    return NULL;
}

static cJSON *set_of(hid_t group, const char *name)
{
    static const lob_location nowhere = {.path = ""};
    static const lob_hdf5_reading quiet = {.where = &nowhere};
    const hid_t set = H5Oopen(group, name, H5P_DEFAULT);
    const bool is = H5Iget_type(set) == H5I_DATASET && lob_hdf5_guard(set, name, &quiet) == LOB_OK;
    cJSON *entry = is ? entry_of(set, name, NULL) : NULL;
    for (size_t i = 0; entry && i < sizeof flags / sizeof flags[0]; i++)
        if (H5Aexists(set, flags[i]) > 0) cJSON_AddStringToObject(entry, "flag", flags[i]);
    H5Oclose(set);
    return entry;
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
    take_entry(w, taken ? set_of(group, name) : NULL);
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
    take_entry(w, has_room(w, name) ? entry_of(object, name, name) : NULL);
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
static int parse_numbers(uint64_t values[MAX_ELEMENTS], lob_type type, const cJSON *value)
{
    const int n = cJSON_GetArraySize(value);
    if (n < 1 || n > MAX_ELEMENTS) return 0;
    for (int i = 0; i < n; i++) {
        const char *text = element(value, i);
#define PARSE(id, ctype, name, integer, lowest, highest)                                     \
    case id: {                                                                               \
        const ctype number = !(integer)     ? (ctype)strtod(text, NULL)                      \
                             : (lowest) < 0 ? (ctype)strtoll(text, NULL, 10)                 \
                                            : (ctype)strtoull(text, NULL, 10);               \
        memcpy((unsigned char *)values + (size_t)i * sizeof number, &number, sizeof number); \
    } break;
        LOB_TYPE_SWITCH(type, PARSE)
#undef PARSE
    }
    return n;
}

bool lob_hdf5_write_attribute(hid_t object, const char *name, hid_t type, int rank, hsize_t n,
                              const void *values)
{
    const hid_t space = rank ? H5Screate_simple(rank, &n, NULL) : H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = attribute >= 0 && H5Awrite(attribute, type, values) >= 0;
    if (attribute >= 0) ok = H5Aclose(attribute) >= 0 && ok;
    H5Sclose(space);
    return ok;
}

static bool write_numbers(hid_t group, const char *name, hid_t type, hsize_t n, const void *values,
                          const char *flag)
{
    const unsigned char yes = 1;
    const hid_t set = lob_hdf5_write_set(group, name, type, values, 1, &n);
    const bool ok =
        set >= 0 && (!flag || lob_hdf5_write_attribute(set, flag, H5T_NATIVE_UINT8, 1, 1, &yes));
    return set >= 0 && H5Dclose(set) >= 0 && ok;
}

bool lob_hdf5_write_text(hid_t object, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    const bool ok = lob_hdf5_write_attribute(object, name, type, 0, 1, &text);
    H5Tclose(type);
    return ok;
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

/* May an entry have this name, which comes from a file? */
static bool is_name(const char *name, bool attributes, bool labels)
{
    if (attributes) return !is_of_axes(name) && !(labels && is_of_values(name));
    return !strchr(name, '/') && strcmp(name, ".") != 0;
}

static bool write_entry(hid_t to, const cJSON *entry, bool attributes, bool labels)
{
    uint64_t values[MAX_ELEMENTS];
    const char *name = member(entry, "name"), *word = member(entry, "type");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(entry, "value");
    if (!name || !word || !name[0] || !is_name(name, attributes, labels)) return true;
    if (strcmp(word, "string") == 0)
        return (attributes ? lob_hdf5_write_text : lob_hdf5_write_string)(to, name,
                                                                          element(value, 0));
    const lob_type type = lob_type_named(word);
    const int n = type < LOB_TYPES ? parse_numbers(values, type, value) : 0;
    if (n == 0) return true;
    const hid_t native = lob_hdf5_native(type);
    return attributes ? lob_hdf5_write_attribute(to, name, native, n > 1, (hsize_t)n, values)
                      : write_numbers(to, name, native, (hsize_t)n, values, member(entry, "flag"));
}

bool lob_hdf5_entries_write(hid_t to, const cJSON *array, bool attributes, bool labels)
{
    bool ok = true;
    const cJSON *entry;
    cJSON_ArrayForEach(entry, array) ok = ok && write_entry(to, entry, attributes, labels);
    return ok;
}
