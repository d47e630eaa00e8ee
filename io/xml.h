/*
 * XML as microscopes' and viewers' texts have it: elements in the order in which they begin, with
 * their attributes and text.
 *
 *     for (const lob_xml *setup = root; (setup = lob_xml_next(setup, root, "ViewSetup"));) ...
 *
 * No entity is expanded and nothing outside of the text is read. Prefixes of namespaces are left
 * out of elements' names.
 */
#ifndef LOB_XML_H
#define LOB_XML_H

#include "volumes/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* An element; all texts are UTF-8 without control characters. */
typedef struct {
    const char *name;
    const char *attributes; /* name, value, name, value, each with its NUL, then an empty one */
    const char *text;       /* what stands before the first element inside; never NULL */
    int64_t inside;         /* elements inside, which follow it; -1: its end is missing */
} lob_xml;

/*
 * Parse a text, up to its first NUL or to its size.
 *
 *   root  out  its outermost element, then those inside; the name is "" when there is none. After
 *              damage, it has what stands before; lob_xml_next skips elements without an end. To be
 *              freed by lob_xml_free; NULL on failure
 *
 * More than 100 elements in one another, and declarations in a document type, count as damage.
 * Takes memory and time in proportion to the text. Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_xml_parse(lob_xml **root, const char *text, size_t size);

void lob_xml_free(lob_xml *root);

/* The first element of a name behind `after`, which is `in` or inside of it, that lies in `in`;
 * NULL: there is none. */
const lob_xml *lob_xml_next(const lob_xml *after, const lob_xml *in, const char *name);

/* The value of an attribute; NULL: there is none. */
const char *lob_xml_attribute(const lob_xml *element, const char *name);

/* Print a text as a value or between tags. */
void lob_xml_print(FILE *to, const char *text);

#endif
