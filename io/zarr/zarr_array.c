/* Reading nodes of a Zarr store, and taking the metadata of arrays apart. */
#include "io/zarr/zarr_array.h"

#include "io/byte_order.h"
#include "io/format.h"
#include "io/kinds.h"
#include "io/platform.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- nodes ---- */

char *lob_zarr_below(const char *folder, const char *name)
{
    char *path;
    while (*name == '/') name++;
    return asprintf(&path, *name ? "%s/%s" : "%s", folder, name) < 0 ? NULL : path;
}

static lob_status read_json(cJSON **out, const char *file, const char *path, lob_error *error)
{
    lob_input in;
    LOB_TRY(lob_input_open(&in, file, error));
    *out = in.size <= LOB_ZARR_MAX_TEXT ? cJSON_ParseWithLength((const char *)in.bytes, in.size)
                                        : NULL;
    lob_input_close(&in);
    if (cJSON_IsObject(*out)) return LOB_OK;
    cJSON_Delete(*out);
    *out = NULL;
    return lob_fail_file(error, LOB_EDATA, path, "damaged Zarr: its %s is no JSON object",
                         lob_name_in_path(file));
}

const char *lob_json_text(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* Version 2 keeps attributes in a file of their own. */
static lob_status read_attributes(lob_zarr_node *node, const char *folder, const char *path,
                                  lob_error *error)
{
    char *const file = lob_zarr_below(folder, ".zattrs");
    const bool there = file && lob_is_file(file);
    const lob_status st = there ? read_json(&node->own, file, path, error) : LOB_OK;
    node->ome = node->own;
    free(file);
    return st;
}

lob_status lob_zarr_node_read(lob_zarr_node *node, const char *folder, const char *path,
                              lob_error *error)
{
    *node = (lob_zarr_node){NULL};
    char *const file = lob_zarr_metadata_file(folder);
    if (!file)
        return lob_fail_file(error, LOB_ENOINPUT, path, "is no array or group of a Zarr store");
    const char *const name = lob_name_in_path(file);
    node->v2 = strcmp(name, "zarr.json") != 0;
    lob_status st = read_json(&node->meta, file, path, error);
    if (st == LOB_OK && node->v2) {
        node->is_array = strcmp(name, ".zarray") == 0;
        st = read_attributes(node, folder, path, error);
    } else if (st == LOB_OK) {
        const char *const type = lob_json_text(node->meta, "node_type");
        node->is_array = type && strcmp(type, "array") == 0;
        node->ome = cJSON_GetObjectItemCaseSensitive(
            cJSON_GetObjectItemCaseSensitive(node->meta, "attributes"), "ome");
    }
    free(file);
    if (st != LOB_OK) lob_zarr_node_free(node);
    return st;
}

void lob_zarr_node_free(lob_zarr_node *node)
{
    cJSON_Delete(node->meta);
    cJSON_Delete(node->own);
    *node = (lob_zarr_node){NULL};
}

/* ---- arrays ---- */

int64_t lob_zarr_places(const int64_t size[LOB_ZARR_DIMS])
{
    int64_t places = 1;
    for (int d = 0; d < LOB_ZARR_DIMS; d++)
        if (__builtin_mul_overflow(places, size[d], &places)) return -1;
    return places;
}

void lob_zarr_place_axes(lob_zarr_array *array, const int to[LOB_ZARR_DIMS])
{
    const lob_zarr_array was = *array;
    for (int d = 0; d < LOB_ZARR_DIMS; d++) {
        array->shape[d] = array->file[d] = array->piece[d] = 1;
        array->present[d] = false;
    }
    for (int d = LOB_ZARR_DIMS - array->dims; d < LOB_ZARR_DIMS; d++) {
        array->shape[to[d]] = was.shape[d];
        array->file[to[d]] = was.file[d];
        array->piece[to[d]] = was.piece[d];
        array->present[to[d]] = true;
    }
}

typedef struct {
    lob_zarr_array *array;
    const char *path;
    lob_error *error;
} parsing;

static lob_status damaged(const parsing *p, const char *what)
{
    return LOB_FAIL(p, LOB_EDATA, "damaged Zarr: %s", what);
}

static lob_status refuse(const parsing *p, const char *what, const char *value)
{
    return lob_fail_file_hint(p->error, LOB_EDATA, LOB_HINT_CONVERT, p->path,
                              "has %s '%s', which is not read; write it anew with zarr-python",
                              what, value ? value : "?");
}

/* A list of as many whole numbers as the array has axes; the axes that it lacks get 1. */
static lob_status read_sizes(int64_t out[LOB_ZARR_DIMS], const cJSON *list, const char *what,
                             const parsing *p)
{
    const int n = cJSON_GetArraySize(list), first = LOB_ZARR_DIMS - p->array->dims;
    const cJSON *item;
    int d = 0;
    for (; d < first; d++) out[d] = 1;
    if (!cJSON_IsArray(list) || n != p->array->dims) return damaged(p, what);
    cJSON_ArrayForEach(item, list) {
        const double number = item->valuedouble;
        if (!cJSON_IsNumber(item) || !(number >= 1 && number <= 0x1p53) || number != floor(number))
            return damaged(p, what);
        out[d++] = (int64_t)number;
    }
    return LOB_OK;
}

static lob_status read_shape(const cJSON *list, const parsing *p)
{
    const int n = cJSON_GetArraySize(list);
    p->array->dims = n;
    if (n < 1 || n > LOB_ZARR_DIMS)
        return LOB_FAIL(p, LOB_EDATA, "has %d axes; up to %d are read", n, LOB_ZARR_DIMS);
    for (int d = LOB_ZARR_DIMS - n; d < LOB_ZARR_DIMS; d++) p->array->present[d] = true;
    LOB_TRY(read_sizes(p->array->shape, list, "its shape is none", p));
    return lob_zarr_places(p->array->shape) > 0 ? LOB_OK : damaged(p, "its shape is too large");
}

/* A store keeps bool as uint8. */
static lob_type type_named(const char *name)
{
    return name && strcmp(name, "bool") == 0 ? LOB_U8 : lob_type_named(name ? name : "");
}

/* NumPy's: "<u2". */
static lob_status read_dtype(const char *dtype, const parsing *p)
{
    char name[32] = "";
    if (dtype && strlen(dtype) == 3 && strchr("<>|", dtype[0])) {
        const int bits = 8 * (dtype[2] - '0');
        const char *const kind = dtype[1] == 'u'   ? "uint"
                                 : dtype[1] == 'i' ? "int"
                                 : dtype[1] == 'f' ? "float"
                                                   : "";
        if (dtype[1] == 'b' && bits == 8)
            snprintf(name, sizeof name, "bool");
        else
            snprintf(name, sizeof name, "%s%d", kind, bits);
        p->array->swapped = dtype[0] != '|' && (dtype[0] == '<') != lob_little_endian();
    }
    p->array->type = type_named(name);
    return p->array->type < LOB_TYPES ? LOB_OK : refuse(p, "numbers of type", dtype);
}

/* A place of this value; whole numbers outside of the type are its nearest. */
static void put_fill(unsigned char fill[8], double value, lob_type type)
{
#define PUT(id, ctype, name, integer, lowest, highest)                                   \
    case id: {                                                                           \
        const ctype put = (integer) && !(value > (double)(lowest))    ? (ctype)(lowest)  \
                          : (integer) && !(value < (double)(highest)) ? (ctype)(highest) \
                                                                      : (ctype)value;    \
        memcpy(fill, &put, sizeof put);                                                  \
    } break;
    LOB_TYPE_SWITCH(type, PUT)
#undef PUT
}

/* Where it says nothing, version 2 promises nothing: 0. */
static lob_status read_fill(const cJSON *item, const parsing *p)
{
    const char *const text = cJSON_GetStringValue(item);
    const bool is_real = !lob_type_of(p->array->type)->is_integer;
    double value = 0;
    if (cJSON_IsNumber(item))
        value = item->valuedouble;
    else if (cJSON_IsTrue(item))
        value = 1;
    else if (text && is_real && strcmp(text, "NaN") == 0)
        value = (double)NAN;
    else if (text && is_real && strcmp(text, "Infinity") == 0)
        value = (double)INFINITY;
    else if (text && is_real && strcmp(text, "-Infinity") == 0)
        value = -(double)INFINITY;
    else if (item && !cJSON_IsNull(item) && !cJSON_IsFalse(item))
        return refuse(p, "a fill value", text);
    put_fill(p->array->fill, value, p->array->type);
    return LOB_OK;
}

static lob_status add_codec(const char *name, const parsing *p)
{
    lob_zarr_array *const a = p->array;
    const lob_zarr_codec codec = lob_zarr_codec_named(name ? name : "");
    if (codec == LOB_ZARR_CODECS) return refuse(p, "the codec", name);
    for (int i = 0; i < a->codecs && codec != LOB_ZARR_CRC32C; i++)
        if (a->chain[i] != LOB_ZARR_CRC32C) return refuse(p, "a second compressor", name);
    if (a->codecs == LOB_ZARR_CHAIN) return refuse(p, "one codec too many", name);
    a->chain[a->codecs++] = codec;
    return LOB_OK;
}

static lob_status read_v2(const cJSON *meta, const parsing *p)
{
    lob_zarr_array *const a = p->array;
    const cJSON *const compressor = cJSON_GetObjectItemCaseSensitive(meta, "compressor");
    const cJSON *const filters = cJSON_GetObjectItemCaseSensitive(meta, "filters");
    const char *const order = lob_json_text(meta, "order");
    const char *const separator = lob_json_text(meta, "dimension_separator");
    LOB_TRY(read_shape(cJSON_GetObjectItemCaseSensitive(meta, "shape"), p));
    LOB_TRY(read_sizes(a->file, cJSON_GetObjectItemCaseSensitive(meta, "chunks"),
                       "its chunks are none", p));
    memcpy(a->piece, a->file, sizeof a->piece);
    LOB_TRY(read_dtype(lob_json_text(meta, "dtype"), p));
    if (!order || strcmp(order, "C") != 0) return refuse(p, "its axes in order", order);
    if (cJSON_GetArraySize(filters) > 0)
        return refuse(p, "a filter", lob_json_text(filters->child, "id"));
    if (cJSON_IsObject(compressor)) LOB_TRY(add_codec(lob_json_text(compressor, "id"), p));
    a->separator = separator && *separator == '/' ? '/' : '.';
    return read_fill(cJSON_GetObjectItemCaseSensitive(meta, "fill_value"), p);
}

static const cJSON *configuration(const cJSON *item)
{
    return cJSON_GetObjectItemCaseSensitive(item, "configuration");
}

/* The codec "transpose" may stand there and change nothing. */
static bool keeps_order(const cJSON *codec)
{
    const cJSON *const order = cJSON_GetObjectItemCaseSensitive(configuration(codec), "order");
    int axis = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, order)
        if (!cJSON_IsNumber(item) || item->valuedouble != axis++) return false;
    return cJSON_IsArray(order);
}

static bool is_big_endian(const cJSON *codec)
{
    const char *const endian = lob_json_text(configuration(codec), "endian");
    return endian && strcmp(endian, "big") == 0;
}

static lob_status read_codecs(const cJSON *list, const parsing *p);

/* The index of a shard: bytes, and a sum or none. */
static lob_status read_index_codecs(const cJSON *list, const parsing *p)
{
    const cJSON *codec;
    cJSON_ArrayForEach(codec, list) {
        const char *const name = lob_json_text(codec, "name");
        if (name && strcmp(name, "crc32c") == 0)
            p->array->index_summed = true;
        else if (!name || strcmp(name, "bytes") != 0 || is_big_endian(codec))
            return refuse(p, "an index by the codec", name);
    }
    return LOB_OK;
}

static lob_status read_sharding(const cJSON *how, const parsing *p)
{
    lob_zarr_array *const a = p->array;
    const char *const place = lob_json_text(how, "index_location");
    if (a->sharded) return refuse(p, "in shards the codec", "sharding_indexed");
    a->sharded = true;
    a->index_first = place && strcmp(place, "start") == 0;
    LOB_TRY(read_sizes(a->piece, cJSON_GetObjectItemCaseSensitive(how, "chunk_shape"),
                       "the chunks of its shards are none", p));
    for (int d = 0; d < LOB_ZARR_DIMS; d++)
        if (a->file[d] % a->piece[d] != 0) return damaged(p, "its shards hold parts of chunks");
    LOB_TRY(read_index_codecs(cJSON_GetObjectItemCaseSensitive(how, "index_codecs"), p));
    return read_codecs(cJSON_GetObjectItemCaseSensitive(how, "codecs"), p);
}

static lob_status read_codecs(const cJSON *list, const parsing *p)
{
    const cJSON *codec;
    if (!cJSON_IsArray(list)) return damaged(p, "it has no codecs");
    cJSON_ArrayForEach(codec, list) {
        const char *const name = lob_json_text(codec, "name");
        if (name && strcmp(name, "transpose") == 0 && keeps_order(codec)) continue;
        if (name && strcmp(name, "bytes") == 0)
            p->array->swapped = is_big_endian(codec) == lob_little_endian();
        else if (name && strcmp(name, "sharding_indexed") == 0 && cJSON_GetArraySize(list) == 1)
            return read_sharding(configuration(codec), p);
        else
            LOB_TRY(add_codec(name, p));
    }
    return LOB_OK;
}

static void read_names(const cJSON *list, lob_zarr_array *a)
{
    int d = LOB_ZARR_DIMS - a->dims;
    if (cJSON_GetArraySize(list) != a->dims) return;
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        const char *const name = cJSON_GetStringValue(item);
        a->names[d++] = name && name[0] && !name[1] ? name[0] : 0;
    }
}

static lob_status read_v3(const cJSON *meta, const parsing *p)
{
    lob_zarr_array *const a = p->array;
    const cJSON *const grid = cJSON_GetObjectItemCaseSensitive(meta, "chunk_grid");
    const cJSON *const key = cJSON_GetObjectItemCaseSensitive(meta, "chunk_key_encoding");
    const char *const grid_name = lob_json_text(grid, "name"), *const type =
                                                                   lob_json_text(meta, "data_type");
    const char *const key_name = lob_json_text(key, "name"), *const separator = lob_json_text(
                                                                 configuration(key), "separator");
    LOB_TRY(read_shape(cJSON_GetObjectItemCaseSensitive(meta, "shape"), p));
    if (!grid_name || strcmp(grid_name, "regular") != 0) return refuse(p, "the grid", grid_name);
    LOB_TRY(read_sizes(a->file,
                       cJSON_GetObjectItemCaseSensitive(configuration(grid), "chunk_shape"),
                       "its chunks are none", p));
    memcpy(a->piece, a->file, sizeof a->piece);
    a->type = type_named(type);
    if (a->type == LOB_TYPES) return refuse(p, "numbers of type", type);
    a->with_c = !key_name || strcmp(key_name, "default") == 0;
    if (!a->with_c && strcmp(key_name, "v2") != 0) return refuse(p, "names of kind", key_name);
    a->separator = separator ? *separator : a->with_c ? '/' : '.';
    LOB_TRY(read_codecs(cJSON_GetObjectItemCaseSensitive(meta, "codecs"), p));
    read_names(cJSON_GetObjectItemCaseSensitive(meta, "dimension_names"), a);
    return read_fill(cJSON_GetObjectItemCaseSensitive(meta, "fill_value"), p);
}

lob_status lob_zarr_array_of(lob_zarr_array *out, const lob_zarr_node *node, const char *path,
                             lob_error *error)
{
    *out = (lob_zarr_array){.type = LOB_U8};
    const parsing p = {out, path, error};
    LOB_TRY(node->v2 ? read_v2(node->meta, &p) : read_v3(node->meta, &p));
    const int64_t bytes = (int64_t)lob_type_of(out->type)->bytes;
    const int64_t piece = lob_zarr_places(out->piece), file = lob_zarr_places(out->file);
    if (piece < 1 || piece > INT32_MAX / bytes || file < 1 ||
        file / piece > INT32_MAX / LOB_ZARR_ENTRY)
        return damaged(&p, "its chunks are too large");
    return LOB_OK;
}
