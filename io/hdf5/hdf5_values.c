/* Numbers and texts of an HDF5 file that are small: those of attributes and of short data sets. */
#include "io/hdf5/hdf5_parts.h"

#include "io/length_units.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 64 << 10, MAX_STRINGS = 256 };

lob_hdf5_values lob_hdf5_values_open(hid_t object, const char *attribute)
{
    if (!attribute) {
        const hid_t space = H5Dget_space(object);
        return (lob_hdf5_values){object, H5Dget_type(object), space, false,
                                 H5Sget_simple_extent_npoints(space)};
    }
    if (H5Aexists(object, attribute) <= 0) return (lob_hdf5_values){-1, -1, -1, true, -1};
    const hid_t id = H5Aopen(object, attribute, H5P_DEFAULT), space = H5Aget_space(id);
    return (lob_hdf5_values){id, H5Aget_type(id), space, true, H5Sget_simple_extent_npoints(space)};
}

void lob_hdf5_values_close(const lob_hdf5_values *v)
{
    H5Sclose(v->space);
    H5Tclose(v->type);
    if (v->is_attribute) H5Aclose(v->id);
}

bool lob_hdf5_values_read(const lob_hdf5_values *v, hid_t memory, void *out)
{
    return (v->is_attribute ? H5Aread(v->id, memory, out)
                            : H5Dread(v->id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out)) >= 0;
}

int lob_hdf5_numbers(double *out, int max, hid_t object, const char *attribute)
{
    const lob_hdf5_values v = lob_hdf5_values_open(object, attribute);
    const H5T_class_t kind = H5Tget_class(v.type);
    const bool ok = (kind == H5T_FLOAT || kind == H5T_INTEGER) && v.n >= 1 && v.n <= max &&
                    lob_hdf5_values_read(&v, H5T_NATIVE_DOUBLE, out);
    lob_hdf5_values_close(&v);
    return ok ? (int)v.n : -1;
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
static bool join(char *text, const void *strings, const lob_hdf5_values *v, const char *separator)
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

static char *texts(const lob_hdf5_values *v, const char *separator)
{
    const size_t bytes = H5Tget_size(v->type);
    if (H5Tget_class(v->type) != H5T_STRING || v->n < 1 || v->n > MAX_STRINGS || bytes == 0 ||
        bytes > MAX_TEXT / (size_t)v->n)
        return NULL;
    const bool variable = H5Tis_variable_str(v->type) > 0;
    void *strings = calloc((size_t)v->n, variable ? sizeof(char *) : bytes);
    char *text = calloc(MAX_TEXT, 1);
    bool ok = strings && text && lob_hdf5_values_read(v, v->type, strings);
    if (ok) {
        ok = join(text, strings, v, separator);
        if (variable) H5Dvlen_reclaim(v->type, v->space, H5P_DEFAULT, strings);
    }
    free(strings);
    if (ok) return text;
    free(text);
    return NULL;
}

char *lob_hdf5_text(hid_t object, const char *attribute, const char *separator)
{
    const lob_hdf5_values v = lob_hdf5_values_open(object, attribute);
    char *text = texts(&v, separator);
    lob_hdf5_values_close(&v);
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
