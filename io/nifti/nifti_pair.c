/* The names of .hdr/.img pairs. */
#include "io/nifti/nifti_pair.h"

#include <stdlib.h>
#include <string.h>

bool lob_pair_header(const char *path)
{
    return lob_has_suffix(path, ".hdr") || lob_has_suffix(path, ".hdr.gz");
}

bool lob_pair_image(const char *path)
{
    return lob_has_suffix(path, ".img") || lob_has_suffix(path, ".img.gz");
}

char *lob_pair_other(const char *path, bool gz)
{
    const size_t stem = strlen(path) - (lob_has_suffix(path, ".gz") ? 3 : 0);
    char *other = malloc(stem + 4);
    if (!other) return NULL;
    memcpy(other, path, stem);
    const bool image = lob_pair_image(path);
    for (int i = 0; i < 3; i++) {
        const char was = path[stem - 3 + (size_t)i], now = (image ? "hdr" : "img")[i];
        other[stem - 3 + (size_t)i] = was >= 'A' && was <= 'Z' ? (char)(now - 'a' + 'A') : now;
    }
    memcpy(other + stem, gz ? ".gz" : "", gz ? 4 : 1);
    return other;
}
