/* The XML file beside a BigDataViewer file, as far as it tells where voxels are. */
#include "io/hdf5/bdv_xml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *at, *end;
} span;

static const char *find(span in, const char *text)
{
    return in.at < in.end ? memmem(in.at, (size_t)(in.end - in.at), text, strlen(text)) : NULL;
}

/* Take the next element of a name out of rest: what stands in its tag, and what it holds. */
static bool next_element(span *rest, span *tag, span *content, const char *name)
{
    char open[48], close[48];
    const size_t length = strlen(name) + 1;
    snprintf(open, sizeof open, "<%s", name);
    snprintf(close, sizeof close, "</%s>", name);
    const char *at = find(*rest, open);
    while (at && at + length < rest->end && !strchr(" \t\r\n/>", at[length]))
        at = find((span){at + length, rest->end}, open);
    if (!at) return false;
    const char *tag_end = find((span){at, rest->end}, ">");
    if (!tag_end) return false;
    *tag = (span){at + length, tag_end};
    *content = (span){tag_end + 1, tag_end + 1};
    rest->at = tag_end + 1;
    if (tag_end[-1] == '/') return true;
    content->end = find(*rest, close);
    if (!content->end) return false;
    rest->at = content->end + strlen(close);
    return true;
}

/* The first element of a name. */
static bool element(span *content, span in, const char *name)
{
    span tag;
    return next_element(&in, &tag, content, name);
}

/* The number n of an attribute name="n" of a tag, -1 without one. */
static long attribute_number(span tag, const char *name)
{
    char text[48];
    snprintf(text, sizeof text, "%s=\"", name);
    const char *at = find(tag, text);
    return at ? strtol(at + strlen(text), NULL, 10) : -1;
}

/* n numbers with spaces between; false when they are fewer or not finite. */
static bool numbers(double *values, int n, span text)
{
    for (int i = 0; i < n; i++) {
        char *end;
        values[i] = strtod(text.at, &end);
        if (end == text.at || end > text.end || !isfinite(values[i])) return false;
        text.at = end;
    }
    return true;
}

static void read_setup(lob_bdv_place *place, span xml, int setup)
{
    span tag, content, part;
    while (next_element(&xml, &tag, &content, "ViewSetup")) {
        double id;
        if (!element(&part, content, "id") || !numbers(&id, 1, part) || id != setup) continue;
        if (!element(&content, content, "voxelSize")) return;
        double size[3];
        if (element(&part, content, "size") && numbers(size, 3, part))
            memcpy(place->size, size, sizeof size);
        if (element(&part, content, "unit"))
            snprintf(place->unit, sizeof place->unit, "%.*s", (int)(part.end - part.at), part.at);
        return;
    }
}

/* a = a * b, both with a last row of 0 0 0 1 */
static void multiply(double a[3][4], const double b[12])
{
    for (int r = 0; r < 3; r++) {
        double row[4];
        for (int c = 0; c < 4; c++)
            row[c] = a[r][0] * b[c] + a[r][1] * b[4 + c] + a[r][2] * b[8 + c];
        row[3] += a[r][3];
        memcpy(a[r], row, sizeof row);
    }
}

static void read_registration(lob_bdv_place *place, span xml, int setup, int time_point)
{
    span tag, content;
    while (next_element(&xml, &tag, &content, "ViewRegistration")) {
        if (attribute_number(tag, "setup") != setup ||
            attribute_number(tag, "timepoint") != time_point)
            continue;
        span transform, numbers_text;
        double product[3][4] = {
            {1, 0, 0, 0},
            {0, 1, 0, 0},
            {0, 0, 1, 0}
        };
        double one[12];
        int taken = 0;
        for (; next_element(&content, &tag, &transform, "ViewTransform"); taken++) {
            if (!element(&numbers_text, transform, "affine") || !numbers(one, 12, numbers_text))
                return;
            multiply(product, one);
        }
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 4; c++)
                if (!isfinite(product[r][c])) return;
        place->placed = taken > 0;
        memcpy(place->affine, product, sizeof product);
        return;
    }
}

void lob_bdv_read(lob_bdv_place *place, const char *xml, int setup, int time_point)
{
    const span all = {xml, xml + strlen(xml)};
    *place = (lob_bdv_place){.unit = ""};
    read_setup(place, all, setup);
    read_registration(place, all, setup, time_point);
}
