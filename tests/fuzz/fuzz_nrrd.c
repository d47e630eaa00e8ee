/* Fuzz target: the NRRD reader on a file in memory, and what it takes for segments. */
#include "tests/fuzz/fuzz.h"

#include "tests/fuzz/fuzz_volume.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_read(&lob_format_nrrd, "fuzz.seg.nrrd", bytes, size, false, LOB_FRAME_UNSAID);
    fuzz_read(&lob_format_nrrd, "fuzz.nrrd", bytes, size, false, 1);
    fuzz_read(&lob_format_nrrd, "fuzz.nrrd", bytes, size, false, LOB_FRAME_ALL);
    fuzz_read(&lob_format_nrrd, "fuzz.nhdr", bytes, size, true, LOB_FRAME_UNSAID);
    return 0;
}

static const fuzz_head seeds[] = {
    {"NRRD0004\n# a comment\ntype: short\ndimension: 3\nspace: left-posterior-superior\n"
     "sizes: 5 4 3\nspace directions: (0.5,0,0) (0,-0.5,0) (0.1,0,2)\n"
     "kinds: domain domain domain\nendian: little\nencoding: raw\nspace origin: (1,2,-3)\n"
     "modality:=CT\nescaped:=two\\nlines \\\\ one\n\n",                         120, false},
    {"NRRD0005\ntype: float\ndimension: 4\nsizes: 2 5 4 3\nspacings: nan 1 1 2.5\n"
     "kinds: vector domain domain domain\nendian: big\nencoding: gzip\n\n",     480, true },
    {"NRRD0004\ntype: uchar\ndimension: 4\nspace: RAST\nsizes: 5 4 3 2\nspace dimension: 3\n"
     "space directions: (1,0,0) (0,1,0) (0,0,1) none\nkinds: space space space time\n"
     "byte skip: -1\nline skip: 0\nencoding: raw\n\n",                          120, false},
    {"NRRD0004\ntype: unsigned char\ndimension: 3\nspace: left-posterior-superior\n"
     "sizes: 5 4 3\nspace directions: (1,0,0) (0,1,0) (0,0,1)\nkinds: domain domain domain\n"
     "encoding: gzip\nspace origin: (0,0,0)\nSegment0_Color:=0.5 1 0.25\nSegment0_ID:=S_1\n"
     "Segment0_LabelValue:=5\nSegment0_Layer:=0\nSegment0_Name:=left lobe\n"
     "Segment0_Tags:=TerminologyEntry:a~S^1^b~S^2^c~^^~~^^~^^|x:y|\nSegment1_ID:=S_2\n"
     "Segment1_LabelValue:=2\nSegment1_Name:=\n\n",                             60,  true },
    {"NRRD0004\ntype: unsigned char\ndimension: 4\nspace: left-posterior-superior\n"
     "sizes: 2 5 4 3\nspace directions: none (1,0,0) (0,1,0) (0,0,1)\n"
     "kinds: list domain domain domain\nencoding: raw\nSegment0_ID:=a\nSegment0_LabelValue:=1\n"
     "Segment0_Layer:=0\nSegment1_ID:=b\nSegment1_LabelValue:=2\nSegment1_Layer:=0\n"
     "Segment2_ID:=c\nSegment2_LabelValue:=1\nSegment2_Layer:=1\n\n",           120, false},
    {"NRRD0004\ntype: short\ndimension: 5\nspace: left-posterior-superior-time\n"
     "sizes: 2 5 4 3 2\nspace directions: none (1,0,0,0) (0,1,0,0) (0,0,1,0) (0,0,0,2.5)\n"
     "kinds: vector domain domain domain time\nendian: little\nencoding: gzip\n"
     "space origin: (0,0,0,0)\n\n",                                             480, true },
    {"NRRD0005\ntype: uchar\ndimension: 4\nspace dimension: 3\nsizes: 2 5 4 3\n"
     "space directions: none (1,0,0) (0,1,0) (0,0,1)\nkinds: list domain domain domain\n"
     "encoding: raw\naxis 0 index type:=numeric\naxis 0 index values:=0 1\n\n", 120, false},
    {"NRRD0002\ntype: double\ndimension: 2\nsizes: 5 4\nendian: little\nencoding: raw\n"
     "data file: voxels.raw\n",                                                 0,   false},
};

size_t fuzz_seed(int number, uint8_t *bytes, size_t capacity)
{
    if (number >= (int)(sizeof seeds / sizeof seeds[0])) return 0;
    return fuzz_put_head(bytes, capacity, &seeds[number], true);
}
