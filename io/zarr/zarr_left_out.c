/* The place of OME-Zarr in a build without it: its stores are known, and refused with a reason. */
#include "io/libraries.h"
#include "io/zarr/zarr.h"

char *lob_zarr_store_file(const lob_location *where)
{
    (void)where;
    return NULL; /* so that it is told of as other kinds that are not read */
}

static const char *const suffixes[] = {".ome.zarr", ".zarr", NULL};

const lob_format lob_format_zarr = {.name = "OME-Zarr", .suffixes = suffixes};

const char *lob_blosc_version(void)
{
    return "left out";
}

const char *lob_zstd_version(void)
{
    return "left out";
}
