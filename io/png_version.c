/* libpng's version. */
#include "io/libraries.h"

#include <png.h>

const char *lob_png_version(void)
{
    return png_get_libpng_ver(NULL);
}
