/* Fuzz target: files of points, of each kind; what is accepted is finite and within its ranges. */
#include "tests/fuzz/fuzz.h"

#include "tools/table/point_file.h"

#include <math.h>

static void check_points(const lob_points *all)
{
    if (all->count < 1 || all->count > LOB_POINTS_MAX) __builtin_trap();
    for (int64_t i = 0; i < all->count; i++) {
        const lob_point *const p = &all->points[i];
        for (int a = 0; a < 3; a++)
            if (!isfinite(p->at[a])) __builtin_trap();
        if (p->label < 0) __builtin_trap();
        if (!isnan(p->radius_mm) && !(p->radius_mm >= 0 && p->radius_mm <= LOB_POINT_RADIUS_MAX))
            __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const names[] = {"a.mrk.json", "a.fcsv", "a.tsv", "a.csv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        lob_points all;
        lob_error error = {.text = ""};
        if (lob_points_parse(&all, (const char *)bytes, size, names[i], &error) == LOB_OK)
            check_points(&all);
        else if (!error.text[0] || all.points || all.count) /* every refusal says why */
            __builtin_trap();
        lob_points_free(&all);
    }
    return 0;
}

FUZZ_TEXTS("{\"markups\": [{\"type\": \"Fiducial\", \"coordinateSystem\": \"LPS\", "
           "\"coordinateUnits\": \"mm\", \"controlPoints\": [{\"id\": \"1\", \"label\": \"F-1\", "
           "\"position\": [1.5, -2e1, 3], \"positionStatus\": \"defined\"}, {\"label\": \"2\", "
           "\"position\": [0, 0, 0]}]}]}",
           "# Markups fiducial file version = 4.11\n# CoordinateSystem = LPS\n"
           "vtkMRMLMarkupsFiducialNode_0,1.5,-2,3,0,0,0,1,1,1,0,F-1,,vtkMRMLScalarVolumeNode1\n"
           "1,4,5,6,0,0,0,1,1,1,0,2,,\n",
           "x\ty\tz\tlabel\tradius\r\n1\t-2.5\t3e0\t2\t4\r\n\r\n0\t0\t0\t1\t0\r\n",
           "\xef\xbb\xbfi,j,k\n1,2,3\n4,5,6", "label,x,y,z,x_mm,y_mm,z_mm\n1,2,3,4,5,6,7\n")
