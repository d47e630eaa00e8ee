/* The XML file beside a BigDataViewer file, as far as it tells where voxels are. */
#include "io/hdf5/bdv_xml.h"

#include "io/text_rows.h"
#include "io/xml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The number n of an attribute name="n", -1 without one. */
static long attribute_number(const lob_xml *element, const char *name)
{
    const char *const value = lob_xml_attribute(element, name);
    return value ? strtol(value, NULL, 10) : -1;
}

/* The n numbers, with spaces between, in the first element of a name; false when there is none, or
 * they are fewer or not finite. */
static bool numbers(double *values, int n, const lob_xml *in, const char *name)
{
    const lob_xml *const element = lob_xml_next(in, in, name);
    return element && lob_text_numbers(values, n, element->text);
}

static void read_setup(lob_bdv_place *place, const lob_xml *root, int setup)
{
    for (const lob_xml *at = root; (at = lob_xml_next(at, root, "ViewSetup"));) {
        double id, size[3];
        if (!numbers(&id, 1, at, "id") || id != setup) continue;
        const lob_xml *const voxel = lob_xml_next(at, at, "voxelSize");
        if (!voxel) return;
        if (numbers(size, 3, voxel, "size")) memcpy(place->size, size, sizeof size);
        const lob_xml *const unit = lob_xml_next(voxel, voxel, "unit");
        if (unit) snprintf(place->unit, sizeof place->unit, "%s", unit->text);
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

static void read_registration(lob_bdv_place *place, const lob_xml *root, int setup, int time_point)
{
    for (const lob_xml *at = root; (at = lob_xml_next(at, root, "ViewRegistration"));) {
        if (attribute_number(at, "setup") != setup ||
            attribute_number(at, "timepoint") != time_point)
            continue;
        double product[3][4] = {
            {1, 0, 0, 0},
            {0, 1, 0, 0},
            {0, 0, 1, 0}
        };
        double one[12];
        int taken = 0;
        for (const lob_xml *step = at; (step = lob_xml_next(step, at, "ViewTransform")); taken++) {
            if (!numbers(one, 12, step, "affine")) return;
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

lob_status lob_bdv_read(lob_bdv_place *place, const char *xml, int setup, int time_point)
{
    lob_xml *root;
    *place = (lob_bdv_place){.unit = ""};
    LOB_TRY(lob_xml_parse(&root, xml, strlen(xml)));
    read_setup(place, root, setup);
    read_registration(place, root, setup, time_point);
    lob_xml_free(root);
    return LOB_OK;
}
