/* Numbers and texts of an HDF5 file that are small: those of attributes and of short data sets. */
#include "io/hdf5/hdf5_parts.h"

#include "io/length_units.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 64 << 10, MAX_STRINGS = 256 };

/* An attribute or a data set. */
typedef struct {
    hid_t id, type, space;
    bool is_attribute;
    hssize_t n; /* elements */
} values;

static values open_values(hid_t id, bool is_attribute)
{
    values v = {id, is_attribute ? H5Aget_type(id) : H5Dget_type(id),
                is_attribute ? H5Aget_space(id) : H5Dget_space(id), is_attribute, -1};
    v.n = H5Sget_simple_extent_npoints(v.space);
    return v;
}

static void close_values(const values *v)
{
    H5Sclose(v->space);
    H5Tclose(v->type);
}

static bool read_values(const values *v, hid_t memory, void *out)
{
    return (v->is_attribute ? H5Aread(v->id, memory, out)
                            : H5Dread(v->id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out)) >= 0;
}

static int numbers(double *out, int max, const values *v)
{
    const H5T_class_t kind = H5Tget_class(v->type);
    const bool ok = (kind == H5T_FLOAT || kind == H5T_INTEGER) && v->n >= 1 && v->n <= max &&
                    read_values(v, H5T_NATIVE_DOUBLE, out);
    return ok ? (int)v->n : -1;
}

int lob_hdf5_numbers(double *out, int max, hid_t set)
{
    const values v = open_values(set, false);
    const int n = numbers(out, max, &v);
    close_values(&v);
    return n;
}

static hid_t open_attribute(hid_t object, const char *name)
{
    return H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1;
}

int lob_hdf5_attribute(double *out, int max, hid_t object, const char *name)
{
    const hid_t attribute = open_attribute(object, name);
    if (attribute < 0) return -1;
    const values v = open_values(attribute, true);
    const int n = numbers(out, max, &v);
    close_values(&v);
    H5Aclose(attribute);
    return n;
}

/* Put a string at the end of a text of MAX_TEXT bytes; false when it does not fit. */
static bool append(char *text, size_t *used, const char *string, size_t bytes)
{
    const size_t n = strnlen(string, bytes);
    if (n >= MAX_TEXT - *used) return false;
    memcpy(text + *used, string, n);
    *used += n;
    text[*used] = '\0';
    return true;
}

/* Strings of a fixed size, or pointers to strings, one after another with a separator between. */
static bool join(char *text, const void *strings, const values *v, const char *separator)
{
    const bool variable = H5Tis_variable_str(v->type) > 0;
    const size_t bytes = H5Tget_size(v->type);
    size_t used = 0;
    for (hssize_t i = 0; i < v->n; i++) {
        const char *at = variable ? ((char *const *)strings)[i] : (const char *)strings + i * bytes;
        if (i > 0 && !append(text, &used, separator, strlen(separator))) return false;
        if (at && !append(text, &used, at, variable ? MAX_TEXT : bytes)) return false;
    }
    return true;
}

static char *texts(const values *v, const char *separator)
{
    const size_t bytes = H5Tget_size(v->type);
    if (H5Tget_class(v->type) != H5T_STRING || v->n < 1 || v->n > MAX_STRINGS || bytes == 0 ||
        bytes > MAX_TEXT / (size_t)v->n)
        return NULL;
    const bool variable = H5Tis_variable_str(v->type) > 0;
    void *strings = calloc((size_t)v->n, variable ? sizeof(char *) : bytes);
    char *text = calloc(MAX_TEXT, 1);
    bool ok = strings && text && read_values(v, v->type, strings);
    if (ok) {
        ok = join(text, strings, v, separator);
        if (variable) H5Dvlen_reclaim(v->type, v->space, H5P_DEFAULT, strings);
    }
    free(strings);
    if (ok) return text;
    free(text);
    return NULL;
}

char *lob_hdf5_text(hid_t object, const char *name, const char *separator)
{
    const hid_t attribute = open_attribute(object, name);
    if (attribute < 0) return NULL;
    const values v = open_values(attribute, true);
    char *text = texts(&v, separator);
    close_values(&v);
    H5Aclose(attribute);
    return text;
}

char *lob_hdf5_set_text(hid_t set)
{
    const values v = open_values(set, false);
    char *text = v.n == 1 ? texts(&v, "") : NULL;
    close_values(&v);
    return text;
}

double lob_hdf5_unit_mm(const char *unit, double otherwise_mm, const lob_hdf5_view *view,
                        const lob_hdf5_reading *in)
{
    const double mm = lob_length_unit_mm(unit);
    if (mm > 0.0) return mm;
    if (unit && *unit)
        lob_warn(in->info, "%s: '%.40s' is not known as a unit of length; %s are taken", view->path,
                 unit, otherwise_mm < 1.0 ? "micrometres" : "millimetres");
    return otherwise_mm;
}
