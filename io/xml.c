/* XML by expat, as a table of elements. */
#include "io/xml.h"

#include "io/libraries.h"
#include "volumes/free.h"
#include "volumes/lists.h"
#include "volumes/utf8.h"

#include <expat.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 100 };

typedef struct {
    XML_Parser parser;
    lob_xml *elements;
    int64_t count;
    int64_t open[DEPTH];
    int depth;
    char *at;     /* where the next character goes; only zeros follow */
    bool stopped; /* expat may still call once or twice */
    lob_status st;
} reading;

static void stop(reading *r, lob_status st)
{
    r->stopped = true;
    r->st = st;
    XML_StopParser(r->parser, XML_FALSE);
}

static const char *keep(reading *r, const char *text, size_t n)
{
    char *const kept = memcpy(r->at, text, n);
    r->at += n + 1;
    return kept;
}

static void XMLCALL on_start(void *user, const char *name, const char **attributes)
{
    reading *const r = user;
    if (r->stopped) return;
    if (r->depth == DEPTH) {
        stop(r, LOB_OK);
        return;
    }
    if (!lob_grow(&r->elements, r->count, sizeof *r->elements)) {
        stop(r, LOB_ENOMEM);
        return;
    }
    const char *const prefix = strrchr(name, ':');
    if (prefix) name = prefix + 1;
    if (r->count > 0) r->at++; /* behind the text of the one before */
    lob_xml *const element = &r->elements[r->count];
    element->inside = -1;
    element->name = keep(r, name, strlen(name));
    element->attributes = r->at;
    for (; *attributes; attributes++) keep(r, *attributes, strlen(*attributes));
    element->text = ++r->at;
    r->open[r->depth++] = r->count++;
}

static void XMLCALL on_end(void *user, const char *name)
{
    reading *const r = user;
    (void)name;
    if (r->stopped) return;
    const int64_t closed = r->open[--r->depth];
    r->elements[closed].inside = r->count - closed - 1;
}

static void XMLCALL on_text(void *user, const char *text, int n)
{
    reading *const r = user;
    if (r->stopped || r->depth == 0 || r->open[r->depth - 1] != r->count - 1) return;
    memcpy(r->at, text, (size_t)n);
    r->at += n;
}

static void XMLCALL on_doctype(void *user, const char *name, const char *system, const char *public,
                               int declares)
{
    (void)name, (void)system, (void)public;
    if (declares) stop(user, LOB_OK);
}

/* Parse a text of at most INT_MAX bytes. The first element has the room for all texts behind it. */
static lob_status parse(reading *r, const char *text, size_t size)
{
    r->parser = XML_ParserCreate("UTF-8");
    if (!r->parser) return LOB_ENOMEM;
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, on_start, on_end);
    XML_SetCharacterDataHandler(r->parser, on_text);
    XML_SetStartDoctypeDeclHandler(r->parser, on_doctype);
    if (XML_Parse(r->parser, text, (int)size, XML_TRUE) == XML_STATUS_ERROR &&
        XML_GetErrorCode(r->parser) == XML_ERROR_NO_MEMORY)
        r->st = LOB_ENOMEM;
    XML_ParserFree(r->parser);
    return r->st;
}

lob_status lob_xml_parse(lob_xml **root, const char *text, size_t size)
{
    *root = NULL;
    const char *const first = memchr(text, '<', strnlen(text, size));
    char *const copy = strndup(first ? first : "", first ? size - (size_t)(first - text) : 0);
    char *const clean = copy ? lob_utf8_clean(copy) : NULL;
    free(copy);
    if (!clean) return LOB_ENOMEM;
    const size_t length = strlen(clean);
    reading r = {.elements = malloc(sizeof *r.elements)};
    /* An element with both its tags, or "/>", keeps at most what is written of it, with all NULs;
     * one without an end a byte more. */
    char *const kept = r.at = calloc(length + DEPTH + 1, 1);
    r.st = r.elements && kept ? LOB_OK : LOB_ENOMEM;
    if (r.st == LOB_OK && length <= INT_MAX) r.st = parse(&r, clean, length);
    free(clean);
    if (r.st != LOB_OK) {
        LOB_FREE(r.elements, kept);
        return r.st;
    }
    if (r.count == 0) r.elements[0] = (lob_xml){kept, kept, kept, 0};
    if (r.count > 0 && r.elements[0].inside < 0) r.elements[0].inside = r.count - 1;
    *root = r.elements;
    return LOB_OK;
}

void lob_xml_free(lob_xml *root)
{
    if (root) free((void *)root->name); /* all texts */
    free(root);
}

const lob_xml *lob_xml_next(const lob_xml *after, const lob_xml *in, const char *name)
{
    for (const lob_xml *at = after + 1; at <= in + in->inside; at++)
        if (at->inside >= 0 && strcmp(at->name, name) == 0) return at;
    return NULL;
}

const char *lob_xml_attribute(const lob_xml *element, const char *name)
{
    for (const char *at = element->attributes; *at; at += strlen(at) + 1) {
        const bool found = strcmp(at, name) == 0;
        at += strlen(at) + 1;
        if (found) return at;
    }
    return NULL;
}

void lob_xml_print(FILE *to, const char *text)
{
    static const char signs[] = "&<>\"'", *const names[] = {"amp", "lt", "gt", "quot", "apos"};
    for (; *text; text++) {
        const char *const at = strchr(signs, *text);
        if (at)
            fprintf(to, "&%s;", names[at - signs]);
        else
            fputc(*text, to);
    }
}

const char *lob_xml_version(void)
{
    const char *const version = XML_ExpatVersion();
    return version + strcspn(version, "0123456789");
}
