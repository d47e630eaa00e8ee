/* Fuzz target: the elements of DICOM that tell of a file's series. */
#include "tests/fuzz/fuzz.h"

#include "io/dicom/dicom_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    lob_dicom_header header;
    const bool is = lob_dicom_header_parse(&header, bytes, size);
    check(is == (header.series[0] != '\0'));
    check(memchr(header.series, '\0', sizeof header.series) &&
          memchr(header.description, '\0', sizeof header.description) &&
          memchr(header.modality, '\0', sizeof header.modality));
    check(header.number >= -1 && header.frames >= 1 && header.plane.rows >= 0 &&
          header.plane.columns >= 0);
    return 0;
}

/* Elements from group 8 on, as they follow one another in each of the ways to write them. */
#define EXPLICIT                                                                             \
    "\x08\0\x16\0UI\x06\0"                                                                   \
    "1.2.3\0\x08\0\x60\0CS\x02\0CT\x08\0\x3E\x10LO\x06\0head  "                              \
    "\x08\0\x40\x11SQ\0\0\xFF\xFF\xFF\xFF\xFE\xFF\0\xE0\xFF\xFF\xFF\xFF\x08\0\x50\x11UI\x02" \
    "\0\x31\0\xFE\xFF\x0D\xE0\0\0\0\0\xFE\xFF\xDD\xE0\0\0\0\0"                               \
    "\x20\0\x0E\0UI\x06\0\x31.2.9\0\x20\0\x11\0IS\x02\0\x33 \x28\0\x08\0IS\x02\0\x31\x32"    \
    "\x28\0\x10\0US\x02\0\x40\0\x28\0\x11\0US\x02\0\x20\0"
#define IMPLICIT                                                                         \
    "\x08\0\x60\0\x02\0\0\0MR\x08\0\x40\x11\xFF\xFF\xFF\xFF\xFE\xFF\0\xE0\x04\0\0\0abcd" \
    "\xFE\xFF\xDD\xE0\0\0\0\0\x20\0\x0E\0\x04\0\0\0\x31.2\0\x28\0\x10\0\x02\0\0\0\x40\0"
#define BIG        \
    "\0\x08\0\x60" \
    "CS\0\x02MR\0\x20\0\x0EUI\0\x04\x31.2\0\0\x28\0\x10US\0\x02\0\x40"
#define OWN(n, uid) "\x02\0\x10\0UI" n "\0" uid

#define SEED(whole, text)             \
    {                                 \
        whole, text, sizeof(text) - 1 \
    }
static const struct {
    bool whole; /* behind 128 bytes and the mark */
    const char *text;
    size_t size;
} seeds[] = {
    SEED(true, OWN("\x14", "1.2.840.10008.1.2.1\0") EXPLICIT),
    SEED(true, OWN("\x12", "1.2.840.10008.1.2\0") IMPLICIT),
    SEED(true, OWN("\x14", "1.2.840.10008.1.2.2\0") BIG),
    SEED(false, IMPLICIT),
    SEED(false, EXPLICIT),
};

size_t fuzz_seed(int number, uint8_t *bytes, size_t capacity)
{
    enum { PREAMBLE = 128 };
    if (number >= (int)(sizeof seeds / sizeof seeds[0])) return 0;
    const size_t before = seeds[number].whole ? PREAMBLE + 4 : 0, n = seeds[number].size;
    if (before + n > capacity) return 0;
    memset(bytes, 0, before);
    if (before) memcpy(bytes + PREAMBLE, "DICM", 4);
    memcpy(bytes + before, seeds[number].text, n);
    return before + n;
}
