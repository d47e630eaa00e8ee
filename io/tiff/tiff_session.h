/* A file as libtiff sees it. Only io/tiff* knows that library; nothing that it says is printed. */
#ifndef LOB_TIFF_SESSION_H
#define LOB_TIFF_SESSION_H

#include "io/format.h"

#include <tiffio.h>

/* Where bytes come from or go to, and libtiff's first message. */
typedef struct {
    char message[200];
    const lob_input *file; /* to read; NULL: output is written */
    uint64_t at;           /* the next byte to read */
    lob_output *output;
    lob_status status; /* of the output */
    lob_error *error;  /* of the output */
} lob_tiff_session;

/*
 * Open it, to be closed by TIFFClose before the session goes.
 *
 *   mode  in  as for TIFFOpen
 *   most  in  bytes that libtiff may allocate at a time; 0: any
 *
 * Returns NULL on failure, with a message.
 */
TIFF *lob_tiff_open(lob_tiff_session *s, const char *mode, uint64_t most);

/* tiff_write.c: lob_format.write and .holds. One page for each channel and slice, channels
 * fastest. */
lob_status lob_tiff_write(const lob_volume *volume, const lob_location *where,
                          const lob_write_options *options, lob_error *error);
lob_status lob_tiff_holds(const lob_volume *volume, const lob_location *where, lob_error *error);

/* libtiff's name for numbers of this type. */
static inline uint16_t lob_tiff_format(lob_type type)
{
    const lob_type_info *const t = lob_type_of(type);
    return !t->is_integer  ? SAMPLEFORMAT_IEEEFP
           : t->lowest < 0 ? SAMPLEFORMAT_INT
                           : SAMPLEFORMAT_UINT;
}

#endif
