/* Fuzz target: names of labels in an extension of NIfTI; what was read and written again says the
 * same. */
#include "tests/fuzz/fuzz.h"

#include "io/nifti/caret_labels.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    lob_label_names read, again;
    check(lob_caret_labels_parse(&read, (const char *)bytes, size) == LOB_OK);
    char *const text = lob_caret_labels_print(&read);
    check(text && lob_caret_labels_parse(&again, text, strlen(text)) == LOB_OK);
    check(read.count == again.count);
    for (int32_t i = 0; i < read.count; i++) {
        const lob_label_name *const a = &read.rows[i], *const b = &again.rows[i];
        check(a->label == b->label && memcmp(&a->colour, &b->colour, sizeof a->colour) == 0);
        check(is_same_text(a->name, b->name) && is_same_text(a->terminology, b->terminology));
    }
    free(text);
    lob_label_names_free(&read);
    lob_label_names_free(&again);
    return 0;
}

FUZZ_TEXTS(
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<CaretExtension>\n   <Date></Date>\n"
    "<VolumeInformation Index=\"0\"><LabelTable>\n"
    "<Label Key=\"0\" Red=\"0\" Green=\"0\" Blue=\"0\" Alpha=\"0\"><![CDATA[???]]></Label>\n"
    "<Label Key=\"7\" Red=\"0.5\" Green=\"1\" Blue=\"0.25\" Alpha=\"1\"><![CDATA[left <lobe>]]>"
    "</Label></LabelTable><VolumeType><![CDATA[Label]]></VolumeType></VolumeInformation>"
    "</CaretExtension>",
    "<CaretExtension><LabelTable><Label Key='3' Terminology='a~S^1^b&amp;&quot;~^^'>x &lt; y"
    "]]&gt;</Label><Label Key=\"-1\">no</Label></LabelTable></CaretExtension>",
    "<CaretExtension><LabelTable><Label Key='3'>a&lt;/Label> &lt;/LabelTable></Label>"
    "<Label Key='4'>b</Label></LabelTable></CaretExtension>")
