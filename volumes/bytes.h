/* Numbers of bytes: what a volume takes, and texts for messages. */
#ifndef LOB_BYTES_H
#define LOB_BYTES_H

#include "volumes/volume.h"

LOB_BEGIN_DECLS

/* Bytes of a volume's voxels, of all channels; -1 where they do not fit in 64 bits. */
int64_t lob_volume_bytes(const lob_volume *volume);

enum { LOB_BYTES_TEXT = 32 };

/* Write bytes >= 0 in the largest unit that gives a number from 1: "1.5 GiB", "12 bytes". Returns
 * text. */
const char *lob_bytes_text(char text[LOB_BYTES_TEXT], int64_t bytes);

/* The texts of two amounts side by side, with as many digits as tell them apart. */
void lob_bytes_texts(char text_a[LOB_BYTES_TEXT], int64_t a, char text_b[LOB_BYTES_TEXT],
                     int64_t b);

LOB_END_DECLS

#endif
