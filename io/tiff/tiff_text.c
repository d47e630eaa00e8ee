/* The text in a TIFF's first page: ImageJ's lines and OME-XML. */
#include "io/tiff/tiff_text.h"

#include "io/length_units.h"
#include "io/platform.h"
#include "io/xml.h"
#include "volumes/version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { VALUE = 64, LETTERS = 3 };

/* ---- units ---- */

/* mm of a unit; 0 for pixels and for what is not known, which is then kept for a warning. */
static double unit_mm(lob_tiff_text *out, const char *name)
{
    const double mm = lob_length_unit_mm(name);
    const bool pixels = strncasecmp(name, "pixel", 5) == 0 || !*name;
    if (!(mm > 0) && !pixels) snprintf(out->unknown_unit, sizeof out->unknown_unit, "%s", name);
    return mm;
}

double lob_tiff_text_unit_mm(const lob_geometry *geometry)
{
    return lob_shows_micrometres(geometry) ? 1e-3 : 1.0;
}

/* A length above 0; else 0. */
static double length_of(const char *text)
{
    const double value = fabs(strtod(text, NULL));
    return isfinite(value) ? value : 0.0;
}

/* A whole number from 0 to below 2^53; else -1. */
static int64_t count_of(const char *text)
{
    char *end;
    const double value = strtod(text, &end);
    return end != text && value >= 0 && value < 0x1p53 && value == floor(value) ? (int64_t)value
                                                                                : -1;
}

/* ---- ImageJ ---- */

/* The value of "key=value" on a line of its own; false: there is none. */
static bool line_value(char value[VALUE], const char *text, const char *key)
{
    const size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) != 0 || line[n] != '=') continue;
        const size_t length = strcspn(line + n + 1, "\r\n");
        if (length >= VALUE) return false;
        memcpy(value, line + n + 1, length);
        value[length] = '\0';
        return true;
    }
    return false;
}

static lob_status read_imagej(lob_tiff_text *out, const char *text, int64_t pages,
                              const lob_reading *r)
{
    const struct {
        const char *key;
        int64_t *count;
    } counts[] = {
        {"channels", &out->channels},
        {"slices",   &out->slices  },
        {"frames",   &out->frames  },
    };
    char value[VALUE];
    int64_t planes = pages;
    out->kind = LOB_TIFF_IMAGEJ;
    if (pages == 1 && line_value(value, text, "images")) planes = count_of(value);
    out->slices = 1;
    bool said = false;
    for (size_t i = 0; i < LETTERS; i++) {
        if (!line_value(value, text, counts[i].key)) continue;
        *counts[i].count = count_of(value);
        said = true;
    }
    if (!said) out->slices = planes;
    if (planes < 1 || lob_product(out->channels, out->slices, out->frames, 1) != planes)
        return LOB_FAIL(r, LOB_EDATA,
                        "ImageJ's lines tell of %lld channels, %lld slices and %lld frames, "
                        "but there are %lld planes; open it in Fiji and save it anew",
                        (long long)out->channels, (long long)out->slices, (long long)out->frames,
                        (long long)planes);
    if (line_value(value, text, "unit")) out->unit_mm = unit_mm(out, value);
    const double unit = out->unit_mm > 0 ? out->unit_mm : 1.0;
    out->micrometres = unit < 0.01;
    out->spacing_mm[2] = unit; /* ImageJ's own default */
    if (line_value(value, text, "spacing") && length_of(value) > 0)
        out->spacing_mm[2] = length_of(value) * unit;
    if (line_value(value, text, "cf") && count_of(value) == 0) { /* a straight line */
        if (line_value(value, text, "c0")) out->inter = strtod(value, NULL);
        if (line_value(value, text, "c1")) out->slope = strtod(value, NULL);
    }
    if (!isfinite(out->inter) || !isfinite(out->slope) || out->slope == 0.0) {
        out->slope = 1.0;
        out->inter = 0.0;
    }
    return LOB_OK;
}

/* ---- OME ---- */

static int64_t count_attribute(const lob_xml *element, const char *name, int64_t missing)
{
    const char *const value = lob_xml_attribute(element, name);
    return value ? count_of(value) : missing;
}

/* Sides by letter, and the place of each letter in the order of pages. */
typedef struct {
    int64_t count[LETTERS]; /* of C, Z, T */
    int letter[LETTERS];    /* index into count: the fastest first */
    int samples;            /* channels of a page */
    int64_t unplaced;       /* planes for which no TiffData has been seen yet */
} plane_order;

static const char letters[LETTERS + 1] = "CZT";

static bool read_order(plane_order *order, const char *text)
{
    bool seen[LETTERS] = {false};
    if (strncmp(text, "XY", 2) != 0 || strlen(text) != 2 + LETTERS) return false;
    for (int i = 0; i < LETTERS; i++) {
        const char *const at = strchr(letters, text[2 + i]);
        if (!at || seen[at - letters]) return false;
        order->letter[i] = (int)(at - letters);
        seen[at - letters] = true;
    }
    return true;
}

/* The plane, channels fastest, at a place of the file's order, and back. */
static int64_t plane_at(const plane_order *order, int64_t place)
{
    int64_t index[LETTERS];
    for (int i = 0; i < LETTERS; i++) {
        index[order->letter[i]] = place % order->count[order->letter[i]];
        place /= order->count[order->letter[i]];
    }
    return index[0] + order->count[0] * (index[1] + order->count[1] * index[2]);
}

static int64_t place_of(const plane_order *order, const int64_t index[LETTERS])
{
    int64_t place = 0;
    for (int i = LETTERS - 1; i >= 0; i--)
        place = place * order->count[order->letter[i]] + index[order->letter[i]];
    return place;
}

static int compare_numbers(const void *number, const void *page)
{
    const int64_t a = *(const int64_t *)number, b = ((const lob_tiff_page *)page)->number;
    return (a > b) - (a < b);
}

/* The index in pages of a page of the file; their count where it is none of them. */
static int64_t index_of(int64_t number, const lob_tiff_pages *pages)
{
    const lob_tiff_page *const at =
        bsearch(&number, pages->page, (size_t)pages->count, sizeof *pages->page, compare_numbers);
    return at ? at - pages->page : pages->count;
}

/* Set the pages of one TiffData element. */
static lob_status place_pages(lob_tiff_text *out, plane_order *order, const lob_xml *tag,
                              const lob_tiff_pages *pages, const lob_reading *r)
{
    static const char *const first[LETTERS] = {"FirstC", "FirstZ", "FirstT"};
    const int64_t planes = out->channels * out->slices * out->frames;
    const int64_t named = count_attribute(tag, "IFD", -2);
    const int64_t from = named == -2 ? 0 : index_of(named, pages);
    int64_t index[LETTERS];
    bool sound = named != -1;
    for (int i = 0; i < LETTERS; i++) {
        index[i] = count_attribute(tag, first[i], 0);
        if (i == 0 && index[i] > 0) index[i] /= order->samples;
        sound = sound && index[i] >= 0 && index[i] < order->count[i];
    }
    if (!sound) return LOB_FAIL(r, LOB_EDATA, "its OME text places a page beyond its sizes");
    const int64_t place = place_of(order, index);
    int64_t count = count_attribute(tag, "PlaneCount", named == -2 ? planes - place : 1);
    if (count > planes - place) count = planes - place;
    order->unplaced -= count;
    if (order->unplaced < 0) return LOB_FAIL(r, LOB_EDATA, "its OME text places planes twice");
    for (int64_t i = 0; i < count && from + i < pages->count; i++)
        out->page[plane_at(order, place + i)] = from + i;
    return LOB_OK;
}

static lob_status place_all_pages(lob_tiff_text *out, plane_order *order, const lob_xml *pixels,
                                  const lob_tiff_pages *pages, const lob_reading *r)
{
    const int64_t planes = order->unplaced = out->channels * out->slices * out->frames;
    const char *file = NULL;
    bool several = false;
    for (const lob_xml *uuid = pixels; (uuid = lob_xml_next(uuid, pixels, "UUID"));) {
        const char *const other = lob_xml_attribute(uuid, "FileName");
        several = several || (file && other && strcmp(file, other) != 0);
        if (other) file = other;
    }
    if (several || planes > pages->count)
        return LOB_FAIL(r, LOB_EDATA,
                        "its OME text tells of %lld planes%s, but it has %lld pages; save it "
                        "as one file with Bio-Formats",
                        (long long)planes, several ? " in several files" : "",
                        (long long)pages->count);
    out->page = malloc((size_t)planes * sizeof *out->page);
    if (!out->page) return LOB_FAIL(r, LOB_ENOMEM, "no memory for its pages");
    const lob_xml *tag = lob_xml_next(pixels, pixels, "TiffData");
    for (int64_t i = 0; i < planes; i++) out->page[plane_at(order, i)] = tag ? -1 : i;
    for (; tag; tag = lob_xml_next(tag, pixels, "TiffData"))
        LOB_TRY(place_pages(out, order, tag, pages, r));
    for (int64_t i = 0; i < planes; i++)
        if (out->page[i] < 0)
            return LOB_FAIL(r, LOB_EDATA, "its OME text gives no page for plane %lld of %lld",
                            (long long)i, (long long)planes);
    out->left_out = pages->count - planes;
    return LOB_OK;
}

static void read_physical_sizes(lob_tiff_text *out, const lob_xml *pixels)
{
    static const char *const names[3] = {"PhysicalSizeX", "PhysicalSizeY", "PhysicalSizeZ"};
    static const char *const unit_names[3] = {"PhysicalSizeXUnit", "PhysicalSizeYUnit",
                                              "PhysicalSizeZUnit"};
    for (int a = 0; a < 3; a++) {
        const char *const value = lob_xml_attribute(pixels, names[a]);
        const char *const unit = lob_xml_attribute(pixels, unit_names[a]);
        if (!value) continue;
        const double mm = unit ? unit_mm(out, unit) : 1e-3;
        out->spacing_mm[a] = length_of(value) * mm;
        if (a == 0) out->micrometres = mm > 0 && mm < 0.01;
    }
}

static lob_status read_ome(lob_tiff_text *out, const lob_xml *root, const lob_tiff_pages *pages,
                           int samples, const lob_reading *r)
{
    static const char *const sizes[LETTERS] = {"SizeC", "SizeZ", "SizeT"};
    const lob_xml *const pixels = lob_xml_next(root, root, "Pixels");
    plane_order order = {.samples = samples};
    out->kind = LOB_TIFF_OME;
    if (!pixels)
        return LOB_FAIL(r, LOB_EDATA,
                        "its OME text describes no pixels (they may be described in another "
                        "file, or it is cut short); save it as one file with Bio-Formats");
    const char *const said = lob_xml_attribute(pixels, "DimensionOrder");
    if (!said || !read_order(&order, said))
        return LOB_FAIL(r, LOB_EDATA, "its OME text has no order of dimensions");
    for (int i = 0; i < LETTERS; i++) order.count[i] = count_attribute(pixels, sizes[i], 1);
    if (order.count[0] > 0 && order.count[0] % samples == 0) order.count[0] /= samples;
    if (lob_product(order.count[0], order.count[1], order.count[2], 1) < 1)
        return LOB_FAIL(r, LOB_EDATA, "its OME text has sizes that are no sizes");
    out->channels = order.count[0];
    out->slices = order.count[1];
    out->frames = order.count[2];
    read_physical_sizes(out, pixels);
    return place_all_pages(out, &order, pixels, pages, r);
}

lob_status lob_tiff_text_read(lob_tiff_text *out, const char *text, const lob_tiff_pages *pages,
                              int samples, const lob_reading *r)
{
    *out = (lob_tiff_text){.channels = 1, .slices = pages->count, .frames = 1, .slope = 1.0};
    if (text && strncmp(text, "ImageJ=", 7) == 0) return read_imagej(out, text, pages->count, r);
    if (!text || text[0] != '<') return LOB_OK;
    lob_xml *root;
    lob_status st = lob_xml_parse(&root, text, strlen(text));
    if (st != LOB_OK) return LOB_FAIL(r, st, "no memory for its OME text");
    if (strcmp(root->name, "OME") == 0) st = read_ome(out, root, pages, samples, r);
    lob_xml_free(root);
    return st;
}

/* ---- making ---- */

const char *lob_tiff_text_type(lob_type type)
{
    const lob_type_info *const t = lob_type_of(type);
    if (!t->is_integer) return t->bytes == 4 ? "float" : "double";
    return t->bytes <= 4 ? t->name : NULL;
}

static void print_imagej(FILE *f, const lob_volume *v)
{
    const double unit = lob_tiff_text_unit_mm(&v->geometry);
    const long long planes = (long long)v->dims.nz * v->channels;
    fprintf(f, "ImageJ=1.11a\nimages=%lld\n", planes);
    if (v->channels > 1) fprintf(f, "channels=%d\n", v->channels);
    if (v->dims.nz > 1) fprintf(f, "slices=%lld\n", (long long)v->dims.nz);
    if (planes > 1)
        fprintf(f, "hyperstack=true\nmode=%s\n", v->channels > 1 ? "composite" : "grayscale");
    fprintf(f, "unit=%s\nspacing=%.15g\nloop=false\n", unit < 1 ? "micron" : "mm",
            v->geometry.spacing_mm[2] / unit);
}

static void print_ome(FILE *f, const lob_volume *v, lob_type type)
{
    const double unit = lob_tiff_text_unit_mm(&v->geometry);
    fprintf(f,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><OME "
            "xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\" "
            "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
            "xsi:schemaLocation=\"http://www.openmicroscopy.org/Schemas/OME/2016-06 "
            "http://www.openmicroscopy.org/Schemas/OME/2016-06/ome.xsd\" Creator=\"Lobule %s\">"
            "<Image ID=\"Image:0\"><Pixels ID=\"Pixels:0\" DimensionOrder=\"XYCZT\" Type=\"%s\" "
            "SizeX=\"%lld\" SizeY=\"%lld\" SizeC=\"%d\" SizeZ=\"%lld\" SizeT=\"1\"",
            LOB_VERSION, lob_tiff_text_type(type), (long long)v->dims.nx, (long long)v->dims.ny,
            v->channels, (long long)v->dims.nz);
    for (int a = 0; a < 3; a++) {
        fprintf(f, " PhysicalSize%c=\"%.15g\"", "XYZ"[a], v -> geometry.spacing_mm[a] / unit);
        if (unit == 1.0) fprintf(f, " PhysicalSize%cUnit=\"mm\"", "XYZ"[a]); /* else micrometres */
    }
    fputs(">", f);
    for (int c = 0; c < v->channels; c++)
        fprintf(f, "<Channel ID=\"Channel:0:%d\" SamplesPerPixel=\"1\"/>", c);
    fprintf(f, "<TiffData IFD=\"0\" PlaneCount=\"%lld\"/></Pixels></Image></OME>",
            (long long)v->dims.nz * v->channels);
}

char *lob_tiff_text_make(const lob_volume *volume, lob_type type, lob_tiff_kind kind)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const f = lob_memory_stream(&text, &size);
    if (!f) return NULL;
    if (kind == LOB_TIFF_OME)
        print_ome(f, volume, type);
    else
        print_imagej(f, volume);
    return lob_memory_stream_end(f, &text, &size) ? text : NULL;
}
