/* libtiff's version: the one that was built with, since the library's own is a text of lines. */
#include "io/libraries.h"

#include <tiffio.h>

#define TEXT_OF(number)              #number
#define VERSION(major, minor, micro) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(micro)

const char *lob_tiff_version(void)
{
    return VERSION(TIFFLIB_MAJOR_VERSION, TIFFLIB_MINOR_VERSION, TIFFLIB_MICRO_VERSION);
}
