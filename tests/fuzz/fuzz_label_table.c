/*
 * Fuzz target: the files that name labels. The first byte chooses the kind; what was read, written
 * as another kind and read again, names the same labels.
 */
#include "tests/fuzz/fuzz.h"

#include "io/label_table.h"

#include <stdlib.h>

static const char *const names[] = {"a.ctbl", "a.csv", "a.label", "a.lut", "a.tsv", "a.txt"};

enum { NAMES = sizeof names / sizeof names[0], CSV = 1, TABS = 4 };

/* A text whose quotes and blanks any kind can tell. */
static bool is_plain(const char *text)
{
    return !strpbrk(text, "\"_ '");
}

static void check_again(const lob_label_names *read, const char *name, bool exact)
{
    char *text;
    size_t size;
    lob_label_names again;
    if (lob_label_table_print(&text, &size, read, name, NULL) != LOB_OK) __builtin_trap();
    if (lob_label_table_parse(&again, text, size, name, NULL) != LOB_OK) __builtin_trap();
    if (again.count != read->count) __builtin_trap();
    for (int32_t i = 0; i < read->count; i++) {
        const lob_label_name *a = &read->rows[i], *b = &again.rows[i];
        const bool same_colour = a->colour.red == b->colour.red &&
                                 a->colour.green == b->colour.green &&
                                 a->colour.blue == b->colour.blue;
        if (a->label != b->label || !same_colour) __builtin_trap();
        if (is_plain(a->name) && !is_same_text(a->name, b->name)) __builtin_trap();
        if (exact && a->colour.alpha != b->colour.alpha) __builtin_trap();
        if (exact && !is_same_text(a->name, b->name)) __builtin_trap();
    }
    lob_label_names_free(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    lob_label_names read;
    lob_error error = {.text = ""};
    if (size == 0) return 0;
    const lob_status st = lob_label_table_parse(&read, (const char *)bytes + 1, size - 1,
                                                names[bytes[0] % NAMES], &error);
    if ((st == LOB_OK) != !error.text[0]) __builtin_trap(); /* every refusal says why */
    for (int i = 0; i < NAMES && st == LOB_OK; i++) check_again(&read, names[i], i == CSV);
    lob_label_names_free(&read);
    return 0;
}

FUZZ_TEXTS(
    "0# Color table file\n1 left_lobe 221 130 101 255\n2 _ 0 0 0\n",
    "1LabelValue,Name,Color_R,Color_G,Color_B,Color_A,Category_CodingScheme,"
    "Category_CodeValue,Category_CodeMeaning\r\n7,\"a, \"\"b\"\"\",1,2,3,255,SCT,1,Organ\r\n",
    "2################\n# ITK-SnAP Label Description File\n    0 0 0 0 0 0 0 \"Clear Label\"\n"
    "    1   255    0    0        0.5  1  1    \"Label 1\"\n",
    "3#No. Label Name:   R   G   B   A\n\n0   Unknown 0 0 0 0\n17  Left-Hippocampus 220 216 20 "
    "0\n",
    "4index\tname\tabbreviation\tcolor\tmapping\n1\tGray Matter\tGM\t#ff53bb\t1\n2\tn\t\tn/a\n",
    "4LabelValue\tName\tColor_R\tColor_G\tColor_B\n3\tx\t1\t2\t3\n",
    "5\xef\xbb\xbf# ITK-SnAP Label Description File\n3 1 2 3 1 1 1 \"K\xf6rper\"\n")
