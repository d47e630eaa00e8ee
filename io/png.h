/*
 * PNG: flat images, read as volumes of one slice and written from them.
 *
 * Reading. Grey of 1 to 16 bits, colour and palette images; fewer than 8 bits are spread over
 * 0..255, a palette becomes the colours it stands for. Colour gives three channels, uint8 or
 * uint16. An alpha channel is left out, with a warning. Row 0 of the image is y = 0. Spacing comes
 * from the pHYs chunk, else it is 1 mm. No gamma or colour profile is applied.
 *
 * Writing. One slice; one channel of whole numbers in 0..65535 (uint8 as 8 bits, other integers as
 * 16), or three channels of uint8 or uint16 as red, green, blue. Everything else is LOB_EDATA.
 */
#ifndef LOB_PNG_H
#define LOB_PNG_H

#include "io/format.h"

/* Does this name ask for a PNG? */
bool lob_is_png_name(const char *path);

/*
 * Write an RGB image.
 *
 *   path    in  ends in anything; the file is a PNG
 *   rgb     in  3 * width * height bytes, row after row, red first
 *   width, height  in  in pixels, each in [1, 10^6]
 *   force   in  replace an existing file
 *   compress_s  out  the wall time that compressing took is added; never NULL
 *
 * The same image gives the same bytes. Returns LOB_OK, LOB_EARG, LOB_EEXIST, LOB_ECREATE, LOB_EIO
 * or LOB_ENOMEM; on error there is no new file.
 */
lob_status lob_png_write_rgb(const char *path, const unsigned char *rgb, int64_t width,
                             int64_t height, bool force, double *compress_s, lob_error *error);

/*
 * The bytes of such a PNG in memory.
 *
 *   png   out  for free(); NULL on failure
 *   size  out  of it
 *
 * Returns LOB_OK, LOB_EARG or LOB_ENOMEM.
 */
lob_status lob_png_encode_rgb(unsigned char **png, size_t *size, const unsigned char *rgb,
                              int64_t width, int64_t height, lob_error *error);

#endif
