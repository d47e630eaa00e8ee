/* Reading and writing Workbench's table of labels. */
#include "io/nifti/caret_labels.h"

#include "io/platform.h"
#include "io/xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

/* A number of an attribute from 0 to 1 as one from 0 to 255. */
static uint8_t colour_part(const lob_xml *label, const char *name, double otherwise)
{
    const char *const said = lob_xml_attribute(label, name);
    const double value = said ? strtod(said, NULL) : otherwise;
    return (uint8_t)(value > 0.0 ? value < 1.0 ? value * 255.0 + 0.5 : 255.0 : 0.0);
}

/* The number of a label; 0: it has none that a label may have. */
static int32_t key_of(const lob_xml *label)
{
    const char *const key = lob_xml_attribute(label, "Key");
    char *stop = NULL;
    const long long number = key ? strtoll(key, &stop, 10) : 0;
    return stop != key && *stop == '\0' && number >= 1 && number <= INT32_MAX ? (int32_t)number : 0;
}

static lob_status take_label(lob_label_names *out, const lob_xml *label)
{
    const lob_rgba colour = {colour_part(label, "Red", 0), colour_part(label, "Green", 0),
                             colour_part(label, "Blue", 0), colour_part(label, "Alpha", 1)};
    const int32_t key = key_of(label);
    const lob_status st = key == 0 ? LOB_OK
                                   : lob_label_names_add(out, key, label->text, &colour,
                                                         lob_xml_attribute(label, "Terminology"));
    return st == LOB_EARG ? LOB_OK : st; /* beyond a million */
}

lob_status lob_caret_labels_parse(lob_label_names *out, const char *text, size_t size)
{
    lob_xml *root;
    *out = (lob_label_names){0};
    lob_status st = lob_xml_parse(&root, text, size);
    if (st != LOB_OK) return st;
    const bool caret = strcmp(root->name, "CaretExtension") == 0;
    const lob_xml *const table = caret ? lob_xml_next(root, root, "LabelTable") : NULL;
    const lob_xml *label = table;
    while (st == LOB_OK && label && (label = lob_xml_next(label, table, "Label")))
        st = take_label(out, label);
    lob_xml_free(root);
    if (st == LOB_OK) st = lob_label_names_settle(out);
    if (st != LOB_OK) lob_label_names_free(out);
    return st;
}

/* ---- writing ---- */

/* Text as CDATA; "]]>" would end it, so that it goes over two. */
static void print_cdata(FILE *f, const char *text)
{
    fputs("<![CDATA[", f);
    for (const char *stop; (stop = strstr(text, "]]>")); text = stop + 2)
        fprintf(f, "%.*s]]]]><![CDATA[", (int)(stop - text), text);
    fprintf(f, "%s]]>", text);
}

static void print_label(FILE *f, const lob_label_name *row)
{
    const lob_rgba c = row->colour;
    fprintf(f,
            "         <Label Key=\"%d\" Red=\"%.6g\" Green=\"%.6g\" Blue=\"%.6g\" Alpha=\"%.6g\"",
            row->label, c.red / 255.0, c.green / 255.0, c.blue / 255.0, c.alpha / 255.0);
    if (row->terminology) {
        fputs(" Terminology=\"", f);
        lob_xml_print(f, row->terminology);
        fputc('"', f);
    }
    fputc('>', f);
    print_cdata(f, row->name);
    fputs("</Label>\n", f);
}

char *lob_caret_labels_print(const lob_label_names *names)
{
    char *text = NULL;
    size_t size;
    FILE *const f = lob_memory_stream(&text, &size);
    if (!f) return NULL;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<CaretExtension>\n"
          "   <VolumeInformation Index=\"0\">\n      <LabelTable>\n"
          "         <Label Key=\"0\" Red=\"0\" Green=\"0\" Blue=\"0\" Alpha=\"0\"><![CDATA[???]]>"
          "</Label>\n",
          f);
    for (int32_t i = 0; i < names->count; i++) print_label(f, &names->rows[i]);
    fputs("      </LabelTable>\n      <StudyMetaDataLinkSet></StudyMetaDataLinkSet>\n"
          "      <VolumeType><![CDATA[Label]]></VolumeType>\n   </VolumeInformation>\n"
          "</CaretExtension>\n",
          f);
    return lob_memory_stream_end(f, &text, &size) ? text : NULL;
}
