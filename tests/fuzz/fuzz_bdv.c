/* Fuzz target: what is taken from the XML beside a BigDataViewer file. */
#include "tests/fuzz/fuzz.h"

#include "io/hdf5/bdv_xml.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, bytes, size);
    text[size] = '\0';
    for (int setup = 0; setup < 2; setup++) {
        lob_bdv_place place;
        if (lob_bdv_read(&place, text, setup, 0) != LOB_OK) continue;
        for (int i = 0; i < 3; i++) {
            if (!isfinite(place.size[i])) abort();
            for (int k = 0; k < 4; k++)
                if (!isfinite(place.affine[i][k])) abort();
        }
        if (strlen(place.unit) >= sizeof place.unit) abort();
    }
    free(text);
    return 0;
}

static const char setups[] =
    "<SpimData><SequenceDescription><ViewSetups><ViewSetup><id>0</id><voxelSize><unit>um</unit>"
    "<size>0.25 0.5 2.0</size></voxelSize></ViewSetup></ViewSetups></SequenceDescription>"
    "</SpimData>";
static const char registrations[] =
    "<ViewRegistrations><ViewRegistration timepoint=\"0\" setup=\"1\"><ViewTransform type=\"a\">"
    "<affine>1 0 0 5 0 1 0 6 0 0 1 7</affine></ViewTransform><ViewTransform type=\"affine\">"
    "<affine>0 -1e2 0 0 200 0 0 0 0 0 4e2 0</affine></ViewTransform></ViewRegistration>"
    "</ViewRegistrations>";
static const char odd[] =
    "<ViewSetup/><ViewSetup ><id> 1 </id><voxelSize/></ViewSetup><id>nan</id>";

FUZZ_TEXTS(setups, registrations, odd)
