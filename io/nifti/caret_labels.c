/* Reading and writing Workbench's table of labels. */
#include "io/nifti/caret_labels.h"

#include "io/xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

/* A text, malloc'ed; NULL without memory. */
static char *copy_of(lob_xml text)
{
    const size_t size = (size_t)(text.end - text.at) + 1;
    char *const copy = malloc(size);
    if (copy) lob_xml_text(copy, size, text);
    return copy;
}

/* A number of an attribute from 0 to 1 as one from 0 to 255. */
static uint8_t colour_part(lob_xml tag, const char *name, double otherwise)
{
    lob_xml raw;
    char text[64];
    const bool said = lob_xml_attribute(&raw, tag, name) && lob_xml_text(text, sizeof text, raw);
    const double value = said ? strtod(text, NULL) : otherwise;
    return (uint8_t)(value > 0.0 ? value < 1.0 ? value * 255.0 + 0.5 : 255.0 : 0.0);
}

/* The number of a label; 0: it has none that a label may have. */
static int32_t key_of(lob_xml tag)
{
    lob_xml raw;
    char text[64], *stop;
    if (!lob_xml_attribute(&raw, tag, "Key") || !lob_xml_text(text, sizeof text, raw)) return 0;
    const long long label = strtoll(text, &stop, 10);
    return stop != text && *stop == '\0' && label >= 1 && label <= INT32_MAX ? (int32_t)label : 0;
}

static lob_status take_label(lob_label_names *out, lob_xml tag, lob_xml content)
{
    const int32_t label = key_of(tag);
    if (label == 0) return LOB_OK;
    const lob_rgba colour = {colour_part(tag, "Red", 0), colour_part(tag, "Green", 0),
                             colour_part(tag, "Blue", 0), colour_part(tag, "Alpha", 1)};
    lob_xml raw;
    const bool coded = lob_xml_attribute(&raw, tag, "Terminology");
    char *const name = copy_of(content), *const codes = coded ? copy_of(raw) : NULL;
    lob_status st = LOB_ENOMEM;
    if (name && (codes || !coded)) st = lob_label_names_add(out, label, name, &colour, codes);
    free(name);
    free(codes);
    return st == LOB_EARG ? LOB_OK : st; /* beyond a million */
}

lob_status lob_caret_labels_parse(lob_label_names *out, const char *text, size_t size)
{
    lob_xml all = lob_xml_of(text, size), table = {NULL, NULL}, tag, content;
    lob_status st = LOB_OK;
    *out = (lob_label_names){0};
    if (!lob_xml_tag(&tag, &all, "CaretExtension") ||
        !lob_xml_element(NULL, &table, &all, "LabelTable"))
        return LOB_OK;
    while (st == LOB_OK && lob_xml_element(&tag, &content, &table, "Label"))
        st = take_label(out, tag, content);
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
    FILE *const f = open_memstream(&text, &size);
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
    const bool complete = !ferror(f);
    if (fclose(f) == 0 && complete) return text;
    free(text);
    return NULL;
}
