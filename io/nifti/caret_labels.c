/* Reading and writing Workbench's table of labels. */
#include "io/nifti/caret_labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static const struct {
    const char *name;
    char sign;
} entities[] = {
    {"&amp;",  '&' },
    {"&lt;",   '<' },
    {"&gt;",   '>' },
    {"&quot;", '"' },
    {"&apos;", '\''},
};

static const char opened[] = "<![CDATA[", closed[] = "]]>";

/* The first of these tags that is none of a CDATA's letters; NULL: there is none. */
static const char *find_tag(const char *from, const char *tag)
{
    const char *hit = strstr(from, tag);
    for (const char *at = from; hit;) {
        const char *const cdata = strstr(at, opened);
        if (!cdata || cdata > hit) return hit;
        at = strstr(cdata, closed);
        if (!at) return NULL;
        if (hit < at) hit = strstr(at, tag);
    }
    return NULL;
}

/* Copy a text of XML up to end, entities and CDATA undone; NULL without memory. */
static char *plain_text(const char *from, const char *end)
{
    char *const text = malloc((size_t)(end - from) + 1), *to = text;
    bool raw = false;
    while (text && from < end) {
        const size_t left = (size_t)(end - from);
        if (!raw && left >= sizeof opened - 1 && memcmp(from, opened, sizeof opened - 1) == 0) {
            raw = true;
            from += sizeof opened - 1;
            continue;
        }
        if (raw && left >= sizeof closed - 1 && memcmp(from, closed, sizeof closed - 1) == 0) {
            raw = false;
            from += sizeof closed - 1;
            continue;
        }
        size_t taken = 1;
        *to = *from;
        for (size_t i = 0; !raw && i < sizeof entities / sizeof entities[0]; i++) {
            const size_t n = strlen(entities[i].name);
            if (left < n || memcmp(from, entities[i].name, n) != 0) continue;
            *to = entities[i].sign;
            taken = n;
        }
        to++;
        from += taken;
    }
    if (text) *to = '\0';
    return text;
}

/* The value of an attribute of the tag that ends at end, malloc'ed; NULL: it has none, or there is
 * no memory. */
static char *attribute(const char *tag, const char *end, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = tag; at + n + 2 < end; at++) {
        if (at[-1] != ' ' || strncmp(at, name, n) != 0 || at[n] != '=') continue;
        const char quote = at[n + 1], *const from = at + n + 2;
        if (quote != '"' && quote != '\'') continue;
        const char *const stop = memchr(from, quote, (size_t)(end - from));
        return stop ? plain_text(from, stop) : NULL;
    }
    return NULL;
}

/* A number of an attribute from 0 to 1 as one from 0 to 255. */
static uint8_t colour_part(const char *tag, const char *end, const char *name, double otherwise)
{
    char *const text = attribute(tag, end, name);
    const double value = text ? strtod(text, NULL) : otherwise;
    free(text);
    return (uint8_t)(value > 0.0 ? value < 1.0 ? value * 255.0 + 0.5 : 255.0 : 0.0);
}

/* A label, whose tag ends at gap and whose name ends at end. */
static lob_status take_label(lob_label_names *out, const char *tag, const char *gap,
                             const char *end)
{
    char *const key = attribute(tag, gap, "Key");
    char *stop = key;
    const long long label = key ? strtoll(key, &stop, 10) : 0;
    const bool sound = key && stop != key && *stop == '\0' && label >= 1 && label <= INT32_MAX;
    free(key);
    if (!sound) return LOB_OK;
    const lob_rgba colour = {colour_part(tag, gap, "Red", 0), colour_part(tag, gap, "Green", 0),
                             colour_part(tag, gap, "Blue", 0), colour_part(tag, gap, "Alpha", 1)};
    char *const name = plain_text(gap + 1, end);
    char *const codes = attribute(tag, gap, "Terminology");
    lob_status st = LOB_ENOMEM;
    if (name) st = lob_label_names_add(out, (int32_t)label, name, &colour, codes);
    free(name);
    free(codes);
    return st == LOB_EARG ? LOB_OK : st; /* beyond a million */
}

lob_status lob_caret_labels_parse(lob_label_names *out, const char *text, size_t size)
{
    static const char root[] = "<CaretExtension", table[] = "<LabelTable", last[] = "</LabelTable>",
                      label[] = "<Label ", after[] = "</Label>";
    *out = (lob_label_names){0};
    char *const copy = strndup(text, size); /* up to the 0 that ends it, or to its padding */
    if (!copy) return LOB_ENOMEM;
    const char *const begin = strstr(copy, root);
    const char *at = begin ? find_tag(begin, table) : NULL;
    const char *const end = at ? find_tag(at, last) : NULL;
    lob_status st = LOB_OK;
    while (st == LOB_OK && end && (at = find_tag(at, label)) && at < end) {
        const char *const gap = strchr(at, '>');
        const char *const close = gap ? find_tag(gap, after) : NULL;
        if (!close || close > end) break;
        st = take_label(out, at + sizeof label - 1, gap, close);
        at = close;
    }
    if (st == LOB_OK) st = lob_label_names_settle(out);
    if (st != LOB_OK) lob_label_names_free(out);
    free(copy);
    return st;
}

/* ---- writing ---- */

/* Text as the value of an attribute. */
static void print_attribute(FILE *f, const char *text)
{
    for (; *text; text++) {
        const char *entity = NULL;
        for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++)
            if (entities[i].sign == *text) entity = entities[i].name;
        if (entity)
            fputs(entity, f);
        else
            fputc(*text, f);
    }
}

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
        print_attribute(f, row->terminology);
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
