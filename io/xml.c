/* The little of XML that we read. */
#include "io/xml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char spaces[] = " \t\r\n";

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

/* What holds no elements, by how it opens and closes. */
static const struct {
    const char *open, *close;
} opaque[] = {
    {"<!--",      "-->"},
    {"<![CDATA[", "]]>"},
    {"<?",        "?>" },
};

enum { CDATA = 1 };

lob_xml lob_xml_of(const char *text, size_t size)
{
    return (lob_xml){text, text + strnlen(text, size)};
}

static size_t left(lob_xml text)
{
    return (size_t)(text.end - text.at);
}

static bool begins(lob_xml text, const char *with)
{
    const size_t n = strlen(with);
    return left(text) >= n && memcmp(text.at, with, n) == 0;
}

/* How many characters from the first on are, or are not, among some. */
static size_t stretch(lob_xml text, const char *among, bool are)
{
    size_t n = 0;
    while (n < left(text) && text.at[n] && (strchr(among, text.at[n]) != NULL) == are) n++;
    return n;
}

/* Go to the next '<' that opens a tag. */
static bool next_tag(lob_xml *text)
{
    while (text->at < text->end) {
        text->at = memchr(text->at, '<', left(*text));
        if (!text->at) break;
        size_t i = 0;
        while (i < sizeof opaque / sizeof opaque[0] && !begins(*text, opaque[i].open)) i++;
        if (i == sizeof opaque / sizeof opaque[0]) return true;
        text->at += strlen(opaque[i].open);
        text->at = memmem(text->at, left(*text), opaque[i].close, strlen(opaque[i].close));
        if (!text->at) break;
    }
    text->at = text->end;
    return false;
}

/* Does this name stand here, after any prefix? Then go behind it. */
static bool take_name(lob_xml *text, const char *name)
{
    lob_xml word = *text;
    const size_t prefix = stretch(word, ":<>/ \t\r\n", false);
    if (prefix < left(word) && word.at[prefix] == ':') word.at += prefix + 1;
    if (!begins(word, name)) return false;
    word.at += strlen(name);
    if (word.at == word.end || !strchr("/> \t\r\n", *word.at)) return false;
    *text = word;
    return true;
}

/* The '>' that ends a tag: none inside of quotes. */
static const char *tag_end(lob_xml text)
{
    for (; text.at < text.end && *text.at != '>'; text.at++) {
        if (*text.at != '"' && *text.at != '\'') continue;
        const char *const close = memchr(text.at + 1, *text.at, left(text) - 1);
        if (!close) return NULL;
        text.at = close;
    }
    return text.at < text.end ? text.at : NULL;
}

bool lob_xml_tag(lob_xml *tag, lob_xml *rest, const char *name)
{
    for (lob_xml at = *rest; next_tag(&at);) {
        at.at++;
        if (!take_name(&at, name)) continue;
        const char *const end = tag_end(at);
        if (!end) return false;
        *tag = (lob_xml){at.at, end};
        rest->at = end + 1;
        return true;
    }
    return false;
}

bool lob_xml_element(lob_xml *tag, lob_xml *content, lob_xml *rest, const char *name)
{
    lob_xml at = *rest, start;
    if (!lob_xml_tag(&start, &at, name)) return false;
    if (tag) *tag = start;
    *content = (lob_xml){at.at, at.at};
    bool closed = start.at < start.end && start.end[-1] == '/';
    while (!closed && next_tag(&at)) {
        content->end = at.at++;
        if (!begins(at, "/")) continue;
        at.at++;
        closed = take_name(&at, name);
        if (closed) at.at += stretch(at, ">", false) + 1;
    }
    if (!closed) return false;
    rest->at = at.at < at.end ? at.at : at.end;
    return true;
}

bool lob_xml_attribute(lob_xml *value, lob_xml tag, const char *name)
{
    while (tag.at < tag.end) {
        tag.at += stretch(tag, spaces, true);
        const lob_xml word = {tag.at, tag.at + stretch(tag, "=\"' \t\r\n", false)};
        tag.at = word.end;
        tag.at += stretch(tag, spaces, true);
        if (!begins(tag, "=")) {
            if (tag.at == word.at) tag.at++; /* what is no name */
            continue;
        }
        tag.at++;
        tag.at += stretch(tag, spaces, true);
        if (!begins(tag, "\"") && !begins(tag, "'")) continue;
        const char quote = *tag.at++;
        const char *const close = memchr(tag.at, quote, left(tag));
        if (!close) return false;
        *value = (lob_xml){tag.at, close};
        if (left(word) == strlen(name) && begins(word, name)) return true;
        tag.at = close + 1;
    }
    return false;
}

/* ---- text ---- */

/* A character's number as UTF-8 in at most 4 bytes; 0: it is no character. */
static size_t utf8(char out[4], unsigned long number)
{
    const bool surrogate = number >= 0xd800 && number < 0xe000;
    if (number == 0 || surrogate || number > 0x10ffff) return 0;
    if (number < 0x80) {
        out[0] = (char)number;
        return 1;
    }
    const size_t n = number < 0x800 ? 2 : number < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, number >>= 6) out[i] = (char)(0x80 | (number & 0x3f));
    out[0] = (char)(first[n] | number);
    return n;
}

/* A reference as what it stands for, and how much of the text it takes; 0: it is none. */
static size_t undo_reference(char out[4], size_t *written, lob_xml from)
{
    for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++) {
        if (!begins(from, entities[i].name)) continue;
        out[0] = entities[i].sign;
        *written = 1;
        return strlen(entities[i].name);
    }
    if (!begins(from, "&#")) return 0;
    const char *const close = memchr(from.at, ';', left(from) < 16 ? left(from) : 16);
    const bool hex = left(from) > 2 && from.at[2] == 'x';
    const char *const digits = from.at + (hex ? 3 : 2);
    const lob_xml number = {digits, close};
    if (!close || digits >= close ||
        stretch(number, hex ? "0123456789abcdefABCDEF" : "0123456789", true) != left(number))
        return 0;
    const size_t n = utf8(out, strtoul(digits, NULL, hex ? 16 : 10)); /* ends at the ';' */
    if (n == 0) return 0;
    *written = n;
    return (size_t)(close + 1 - from.at);
}

bool lob_xml_text(char *out, size_t size, lob_xml from)
{
    size_t n = 0;
    bool raw = false;
    while (from.at < from.end) {
        const char *const mark = raw ? opaque[CDATA].close : opaque[CDATA].open;
        if (begins(from, mark)) {
            raw = !raw;
            from.at += strlen(mark);
            continue;
        }
        char letters[4] = {*from.at};
        size_t written = 1;
        const size_t taken = raw ? 0 : undo_reference(letters, &written, from);
        if (n + written >= size) break;
        memcpy(out + n, letters, written);
        n += written;
        from.at += taken ? taken : 1;
    }
    out[n] = '\0';
    return from.at >= from.end;
}

void lob_xml_print(FILE *to, const char *text)
{
    for (; *text; text++) {
        const char *entity = NULL;
        for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++)
            if (entities[i].sign == *text) entity = entities[i].name;
        if (entity)
            fputs(entity, to);
        else
            fputc(*text, to);
    }
}
