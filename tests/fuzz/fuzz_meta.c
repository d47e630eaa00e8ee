/* Fuzz target: the MetaImage reader on a file in memory. */
#include "tests/fuzz/fuzz.h"

#include "tests/fuzz/fuzz_volume.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_read(&lob_format_meta, "fuzz.mha", bytes, size, false, LOB_FRAME_UNSAID);
    fuzz_read(&lob_format_meta, "fuzz.mha", bytes, size, false, 1);
    fuzz_read(&lob_format_meta, "fuzz.mha", bytes, size, false, LOB_FRAME_ALL);
    fuzz_read(&lob_format_meta, "fuzz.mhd", bytes, size, true, LOB_FRAME_UNSAID);
    return 0;
}

static const fuzz_head seeds[] = {
    {"ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\n"
     "CompressedData = False\nTransformMatrix = 1 0 0 0 -1 0 0 0 1\nOffset = 1 2 -3.5\n"
     "CenterOfRotation = 0 0 0\nAnatomicalOrientation = RAI\nElementSpacing = 0.5 0.5 2\n"
     "DimSize = 5 4 3\nElementType = MET_SHORT\nElementDataFile = LOCAL\n",                   120, false},
    {"ObjectType = Image\r\nNDims = 4\r\nBinaryData = True\r\nElementByteOrderMSB = True\r\n"
     "CompressedData = True\r\nCompressedDataSize = 40\r\nDimSize = 5 4 3 2\r\n"
     "ElementNumberOfChannels = 2\r\nElementType = MET_FLOAT\r\nElementDataFile = LOCAL\r\n", 960, true },
    {"NDims = 2\nDimSize = 5 4\nOrientation = 0 1 -1 0\nPosition = 3 4\nElementSize = 2 2\n"
     "ElementType = MET_UCHAR\nHeaderSize = -1\nElementDataFile = voxels.raw\n",              0,   false},
};

size_t fuzz_seed(int number, uint8_t *bytes, size_t capacity)
{
    if (number >= (int)(sizeof seeds / sizeof seeds[0])) return 0;
    return fuzz_put_head(bytes, capacity, &seeds[number], false);
}
