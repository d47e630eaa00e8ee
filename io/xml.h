/*
 * The little of XML that microscopes' and viewers' texts need: elements by name, attributes,
 * text. What is damaged is not found; nothing is read outside of the text.
 *
 *     lob_xml rest = lob_xml_of(bytes, size), tag, content;
 *     while (lob_xml_element(&tag, &content, &rest, "ViewSetup")) ...
 *
 * Names are looked for at any depth and with any prefix of a namespace. Comments, CDATA and
 * processing instructions hold no elements. An element ends at the first end tag of its name:
 * none of what we read nests in itself.
 */
#ifndef LOB_XML_H
#define LOB_XML_H

#include "volumes/both.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

LOB_BEGIN_DECLS

/* A part of a text: from `at` to before `end`. */
typedef struct {
    const char *at, *end;
} lob_xml;

/* A text, up to its first NUL or to its size. */
lob_xml lob_xml_of(const char *text, size_t size);

/*
 * The next start tag of a name.
 *
 *   tag   out    what stands between the name and '>'
 *   rest  inout  where to look; then what follows the tag
 */
bool lob_xml_tag(lob_xml *tag, lob_xml *rest, const char *name);

/*
 * The next element of a name; one without its end tag is none.
 *
 *   tag      out    as above; may be NULL
 *   content  out    what stands between its tags, with theirs
 *   rest     inout  where to look; then what follows the element
 */
bool lob_xml_element(lob_xml *tag, lob_xml *content, lob_xml *rest, const char *name);

/* The value of a tag's attribute, as it is written. */
bool lob_xml_attribute(lob_xml *value, lob_xml tag, const char *name);

/*
 * Copy a value or a text, references and CDATA undone, and end it by a NUL; numbers of characters
 * become UTF-8. Never longer than what is written.
 *
 * Returns false when it does not fit into size >= 1 bytes; then out has what does.
 */
bool lob_xml_text(char *out, size_t size, lob_xml from);

/* Print a text as a value or between tags. */
void lob_xml_print(FILE *to, const char *text);

LOB_END_DECLS

#endif
