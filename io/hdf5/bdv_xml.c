/* The XML file beside a BigDataViewer file, as far as it tells where voxels are. */
#include "io/hdf5/bdv_xml.h"

#include "io/xml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The content of the first element of a name. */
static bool element(lob_xml *content, lob_xml in, const char *name)
{
    return lob_xml_element(NULL, content, &in, name);
}

/* The number n of an attribute name="n" of a tag, -1 without one. */
static long attribute_number(lob_xml tag, const char *name)
{
    lob_xml value;
    return lob_xml_attribute(&value, tag, name) ? strtol(value.at, NULL, 10) : -1;
}

/* n numbers with spaces between; false when they are fewer or not finite. */
static bool numbers(double *values, int n, lob_xml text)
{
    for (int i = 0; i < n; i++) {
        char *end;
        values[i] = strtod(text.at, &end);
        if (end == text.at || end > text.end || !isfinite(values[i])) return false;
        text.at = end;
    }
    return true;
}

static void read_setup(lob_bdv_place *place, lob_xml xml, int setup)
{
    lob_xml tag, content, part;
    while (lob_xml_element(&tag, &content, &xml, "ViewSetup")) {
        double id;
        if (!element(&part, content, "id") || !numbers(&id, 1, part) || id != setup) continue;
        if (!element(&content, content, "voxelSize")) return;
        double size[3];
        if (element(&part, content, "size") && numbers(size, 3, part))
            memcpy(place->size, size, sizeof size);
        if (element(&part, content, "unit")) lob_xml_text(place->unit, sizeof place->unit, part);
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

static void read_registration(lob_bdv_place *place, lob_xml xml, int setup, int time_point)
{
    lob_xml tag, content;
    while (lob_xml_element(&tag, &content, &xml, "ViewRegistration")) {
        if (attribute_number(tag, "setup") != setup ||
            attribute_number(tag, "timepoint") != time_point)
            continue;
        lob_xml transform, numbers_text;
        double product[3][4] = {
            {1, 0, 0, 0},
            {0, 1, 0, 0},
            {0, 0, 1, 0}
        };
        double one[12];
        int taken = 0;
        for (; lob_xml_element(&tag, &transform, &content, "ViewTransform"); taken++) {
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
    const lob_xml all = {xml, xml + strlen(xml)};
    *place = (lob_bdv_place){.unit = ""};
    read_setup(place, all, setup);
    read_registration(place, all, setup, time_point);
}
