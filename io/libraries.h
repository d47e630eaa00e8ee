/* The libraries that files are read and written with, as they are in this process. */
#ifndef LOB_LIBRARIES_H
#define LOB_LIBRARIES_H

typedef struct {
    const char *name;
    const char *version; /* constant while the process lives */
} lob_library;

enum { LOB_LIBRARIES = 10 };

/* All of them, in alphabetical order. */
void lob_libraries(lob_library out[LOB_LIBRARIES]);

/* Versions of libraries that only certain files know; libcrypto's is that of its headers. */
const char *lob_blosc_version(void);
const char *lob_png_version(void);
const char *lob_sha256_version(void);
const char *lob_tiff_version(void);
const char *lob_xml_version(void);
const char *lob_zstd_version(void);

#endif
