/* OME-NGFF read from JSON and made. */
#include "io/zarr/ngff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cJSON *image_of(const cJSON *ome)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(ome, "multiscales"), 0);
}

bool lob_ngff_is_image(const cJSON *ome)
{
    return cJSON_IsObject(image_of(ome));
}

static lob_status damaged(const char *path, const char *what, lob_error *error)
{
    return lob_fail_file(error, LOB_EDATA, path, "damaged OME-Zarr: %s", what);
}

/* The first letter of an axis' name, if it is one that is read. Version 0.3 has names alone. */
static lob_status read_axes(lob_ngff *out, const cJSON *axes, const char *path, lob_error *error)
{
    static const char known[] = "tczyx";
    out->dims = cJSON_GetArraySize(axes);
    if (out->dims < 2 || out->dims > LOB_ZARR_DIMS) return damaged(path, "its axes", error);
    int d = LOB_ZARR_DIMS - out->dims;
    const char *from = known;
    const cJSON *axis;
    cJSON_ArrayForEach(axis, axes) {
        const char *name =
            cJSON_IsObject(axis) ? lob_json_text(axis, "name") : cJSON_GetStringValue(axis);
        const char *const at = name && name[0] && !name[1] ? strchr(from, name[0]) : NULL;
        if (!at)
            return lob_fail_file_hint(error, LOB_EDATA, LOB_HINT_CONVERT, path,
                                      "has axes in another order than t, c, z, y, x, or an axis "
                                      "'%s'; write it anew with ome-zarr-py",
                                      name ? name : "?");
        out->axes[d] = *at;
        out->unit[d++] = lob_json_text(axis, "unit");
        from = at + 1;
    }
    return LOB_OK;
}

/* Multiply or add the numbers of one transformation; those that are none change nothing. */
static bool apply(const cJSON *transform, double scale[LOB_ZARR_DIMS], double shift[LOB_ZARR_DIMS],
                  int dims)
{
    const char *const type = lob_json_text(transform, "type");
    if (type && strcmp(type, "identity") == 0) return true;
    const bool scales = type && strcmp(type, "scale") == 0;
    if (!scales && (!type || strcmp(type, "translation") != 0)) return false;
    const cJSON *const list = cJSON_GetObjectItemCaseSensitive(transform, type);
    if (cJSON_GetArraySize(list) != dims) return false;
    int d = LOB_ZARR_DIMS - dims;
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        const double number = item->valuedouble;
        if (!cJSON_IsNumber(item) || !isfinite(number) || (scales && number == 0)) return false;
        if (scales) scale[d] *= number;
        shift[d] = scales ? shift[d] * number : shift[d] + number;
        d++;
    }
    return true;
}

/* Those of a level come first, then those of all. */
static lob_status read_transforms(double scale[LOB_ZARR_DIMS], double shift[LOB_ZARR_DIMS],
                                  const cJSON *level, const cJSON *image, int dims,
                                  const char *path, lob_error *error)
{
    const cJSON *const of[] = {level, image}, *transform;
    for (int d = 0; d < LOB_ZARR_DIMS; d++) {
        scale[d] = 1;
        shift[d] = 0;
    }
    for (int i = 0; i < 2; i++)
        cJSON_ArrayForEach(transform,
                           cJSON_GetObjectItemCaseSensitive(of[i], "coordinateTransformations")) {
            if (!apply(transform, scale, shift, dims))
                return damaged(path, "a coordinate transformation that is no scale or translation",
                               error);
        }
    return LOB_OK;
}

lob_status lob_ngff_read(lob_ngff *out, const cJSON *ome, const char *dataset, const char *path,
                         lob_error *error)
{
    const cJSON *const image = image_of(ome), *level;
    const cJSON *const levels = cJSON_GetObjectItemCaseSensitive(image, "datasets");
    const cJSON *const axes = cJSON_GetObjectItemCaseSensitive(image, "axes");
    *out = (lob_ngff){NULL};
    if (!axes) /* before version 0.3 there are five, without units */
        out->dims = LOB_ZARR_DIMS, memcpy(out->axes, "tczyx", LOB_ZARR_DIMS);
    else
        LOB_TRY(read_axes(out, axes, path, error));
    cJSON_ArrayForEach(level, levels) {
        const char *const name = lob_json_text(level, "path");
        if (!name || name[0] == '/' || strstr(name, ".."))
            return damaged(path, "a level's path", error);
        if (level == levels->child)
            LOB_TRY(
                read_transforms(out->scale_0, out->shift_0, level, image, out->dims, path, error));
        if (dataset && strcmp(dataset, name) != 0) continue;
        LOB_TRY(read_transforms(out->scale, out->shift, level, image, out->dims, path, error));
        out->is_first = level == levels->child;
        out->dataset = strdup(name);
        return out->dataset ? LOB_OK : lob_fail_file(error, LOB_ENOMEM, path, "no memory");
    }
    return dataset ? lob_fail_file(error, LOB_ENOINPUT, path, "has no such level")
                   : damaged(path, "it has no levels", error);
}

void lob_ngff_free(lob_ngff *ngff)
{
    free(ngff->dataset);
    *ngff = (lob_ngff){NULL};
}

/* ---- labels ---- */

static int32_t label_of(const cJSON *row)
{
    const cJSON *const label = cJSON_GetObjectItemCaseSensitive(row, "label-value");
    const double value = label ? label->valuedouble : 0;
    return cJSON_IsNumber(label) && value >= 1 && value <= INT32_MAX && value == floor(value)
               ? (int32_t)value
               : 0;
}

static lob_rgba rgba_of(const cJSON *list)
{
    uint8_t channel[4] = {0, 0, 0, 255};
    for (int i = 0; i < 4 && i < cJSON_GetArraySize(list); i++) {
        const double value = cJSON_GetArrayItem(list, i)->valuedouble;
        channel[i] = (uint8_t)(value > 0 ? value < 255 ? value : 255 : 0);
    }
    return (lob_rgba){channel[0], channel[1], channel[2], channel[3]};
}

lob_status lob_ngff_names(lob_label_names *out, const cJSON *ome)
{
    const cJSON *const about = cJSON_GetObjectItemCaseSensitive(ome, "image-label"), *row;
    int32_t rows = 0;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(about, "properties")) {
        const char *const name = lob_json_text(row, "name");
        if (!name || label_of(row) < 1 || rows++ >= LOB_LABEL_NAMES_MAX) continue;
        LOB_TRY(lob_label_names_add(out, label_of(row), name, NULL, NULL));
    }
    LOB_TRY(lob_label_names_settle(out));
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(about, "colors")) {
        const cJSON *const rgba = cJSON_GetObjectItemCaseSensitive(row, "rgba");
        const lob_label_name *const named = lob_label_names_find(out, label_of(row));
        if (named && cJSON_GetArraySize(rgba) >= 3)
            out->rows[named - out->rows].colour = rgba_of(rgba);
    }
    return LOB_OK;
}

/* ---- making ---- */

/* Add an object to an array or an object, name NULL in an array; NULL without memory. */
static cJSON *add(cJSON *to, const char *name, cJSON *item)
{
    const bool added =
        item && (name ? cJSON_AddItemToObject(to, name, item) : cJSON_AddItemToArray(to, item));
    if (added) return item;
    cJSON_Delete(item);
    return NULL;
}

static bool add_axes(cJSON *image, const lob_volume *volume, bool channels)
{
    const char *const unit = volume->geometry.micrometres ? "micrometer" : "millimeter";
    cJSON *const axes = add(image, "axes", cJSON_CreateArray());
    bool ok = axes;
    for (int d = channels ? 0 : 1; ok && d < 4; d++) {
        const char name[2] = {"czyx"[d], '\0'};
        cJSON *const axis = add(axes, NULL, cJSON_CreateObject());
        ok = axis && cJSON_AddStringToObject(axis, "name", name) &&
             cJSON_AddStringToObject(axis, "type", d == 0 ? "channel" : "space") &&
             (d == 0 || cJSON_AddStringToObject(axis, "unit", unit));
    }
    return ok;
}

static bool add_transform(cJSON *list, const char *type, const double *numbers, int n)
{
    cJSON *const transform = add(list, NULL, cJSON_CreateObject());
    return transform && cJSON_AddStringToObject(transform, "type", type) &&
           add(transform, type, cJSON_CreateDoubleArray(numbers, n));
}

/* A place can be told by a shift alone where the axes run along those of the world. */
static bool is_upright(const lob_geometry *g)
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            if (r == c ? !(g->affine[r][c] > 0) : g->affine[r][c] != 0) return false;
    return true;
}

static bool add_level(cJSON *datasets, const lob_volume *volume, const int64_t step[3], int number,
                      bool channels, bool labels)
{
    const lob_geometry *const g = &volume->geometry;
    const double unit = g->micrometres ? 1000 : 1;
    const bool upright = is_upright(g);
    double scale[4] = {1}, shift[4] = {0};
    char name[16];
    for (int a = 0; a < 3; a++) {
        const double mm = g->spacing_mm[a];
        const double middle = labels ? 0 : ((double)step[a] - 1) / 2 * mm;
        scale[3 - a] = mm * (double)step[a] * unit;
        shift[3 - a] = ((upright ? g->affine[a][3] : 0) + middle) * unit;
    }
    snprintf(name, sizeof name, "%d", number);
    const int first = channels ? 0 : 1;
    cJSON *const dataset = add(datasets, NULL, cJSON_CreateObject());
    cJSON *const list =
        dataset ? add(dataset, "coordinateTransformations", cJSON_CreateArray()) : NULL;
    return list && cJSON_AddStringToObject(dataset, "path", name) &&
           add_transform(list, "scale", scale + first, 4 - first) &&
           add_transform(list, "translation", shift + first, 4 - first);
}

static bool add_names(cJSON *ome, const lob_label_names *names, const char *source)
{
    cJSON *const about = add(ome, "image-label", cJSON_CreateObject());
    bool ok = about && cJSON_AddStringToObject(about, "version", "0.5");
    cJSON *const colours = names->count ? add(about, "colors", cJSON_CreateArray()) : NULL;
    cJSON *const properties = names->count ? add(about, "properties", cJSON_CreateArray()) : NULL;
    for (int32_t i = 0; ok && i < names->count; i++) {
        const lob_label_name *const n = &names->rows[i];
        const int rgba[4] = {n->colour.red, n->colour.green, n->colour.blue, n->colour.alpha};
        cJSON *const colour = add(colours, NULL, cJSON_CreateObject());
        cJSON *const property = add(properties, NULL, cJSON_CreateObject());
        ok = colour && property && cJSON_AddNumberToObject(colour, "label-value", n->label) &&
             add(colour, "rgba", cJSON_CreateIntArray(rgba, 4)) &&
             cJSON_AddNumberToObject(property, "label-value", n->label) &&
             cJSON_AddStringToObject(property, "name", n->name);
    }
    if (!source) return ok;
    cJSON *const from = ok ? add(about, "source", cJSON_CreateObject()) : NULL;
    return from && cJSON_AddStringToObject(from, "image", source);
}

cJSON *lob_ngff_make(const lob_volume *volume, const int64_t (*steps)[3], int count,
                     const char *name, bool labels, const char *source)
{
    const bool channels = volume->channels > 1;
    cJSON *const attributes = cJSON_CreateObject();
    cJSON *const ome = attributes ? add(attributes, "ome", cJSON_CreateObject()) : NULL;
    cJSON *const images = ome ? add(ome, "multiscales", cJSON_CreateArray()) : NULL;
    cJSON *const image = images ? add(images, NULL, cJSON_CreateObject()) : NULL;
    bool ok = image && cJSON_AddStringToObject(ome, "version", "0.5") &&
              cJSON_AddStringToObject(image, "name", name) && add_axes(image, volume, channels);
    cJSON *const datasets = ok ? add(image, "datasets", cJSON_CreateArray()) : NULL;
    ok = datasets;
    for (int i = 0; ok && i < count; i++)
        ok = add_level(datasets, volume, steps[i], i, channels, labels);
    if (ok && labels) ok = add_names(ome, &volume->names, source);
    if (ok) return attributes;
    cJSON_Delete(attributes);
    return NULL;
}
