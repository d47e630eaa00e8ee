/* The list of libraries with their versions. */
#include "io/libraries.h"

#include <cjson/cJSON.h>
#include <libdeflate.h>
#include <zlib.h>

#ifndef LOBULE_HDF5
#define LOBULE_HDF5 "left out"
#endif

void lob_libraries(lob_library out[LOB_LIBRARIES])
{
    const lob_library all[LOB_LIBRARIES] = {
        {"c-blosc",    lob_blosc_version()      },
        {"cJSON",      cJSON_Version()          },
        {"HDF5",       LOBULE_HDF5              },
        {"expat",      lob_xml_version()        },
        {"libcrypto",  lob_sha256_version()     },
        {"libdeflate", LIBDEFLATE_VERSION_STRING},
        {"libpng",     lob_png_version()        },
        {"libtiff",    lob_tiff_version()       },
        {"zlib",       zlibVersion()            },
        {"zstd",       lob_zstd_version()       },
    };
    for (int i = 0; i < LOB_LIBRARIES; i++) out[i] = all[i];
}
