/* Extensions of NIfTI headers. */
#include "io/nifti/nifti_extensions.h"

#include "io/nifti/caret_labels.h"
#include "io/nifti/nifti_header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 8 }; /* bytes of an extension's size and code */

typedef struct {
    int32_t code;
    const unsigned char *bytes; /* size of them, after the size and code words */
    size_t size;
} extension;

/* The next extension of a header in host byte order; false after the last, or at what does not
 * parse. at: where it begins in header->extensions, 0 for the first; then where the next does. */
static bool next_extension(const lob_header *header, size_t *at, extension *out)
{
    int32_t size, code;
    const size_t all = header->extensions_size;
    if (*at == 0) *at = LOB_NIFTI_EXTENDER;
    if (all < LOB_NIFTI_EXTENDER || header->extensions[0] == 0 || all - *at < WORDS) return false;
    memcpy(&size, header->extensions + *at, sizeof size);
    memcpy(&code, header->extensions + *at + 4, sizeof code);
    if (size < WORDS || (size_t)size > all - *at) return false;
    *out = (extension){code, header->extensions + *at + WORDS, (size_t)size - WORDS};
    *at += (size_t)size;
    return true;
}

/* May it hold a table of labels? TotalSegmentator writes Workbench's under the code of nothing. */
static bool may_be_table(const extension *e)
{
    return e->code == LOB_NIFTI_CARET || e->code == 0;
}

void lob_nifti_list_extensions(const lob_header *header, lob_field_fn *field, void *user)
{
    extension e;
    size_t at = 0, from = LOB_NIFTI_EXTENDER;
    for (int nth = 1; next_extension(header, &at, &e); nth++, from = at) {
        char name[48], value[24];
        snprintf(name, sizeof name, "ext%d_code", nth);
        snprintf(value, sizeof value, "%d", e.code);
        field(user, name, value);
        snprintf(name, sizeof name, "ext%d_size", nth);
        snprintf(value, sizeof value, "%zu", at - from);
        field(user, name, value);
    }
}

lob_status lob_nifti_names(lob_label_names *out, const lob_header *header)
{
    extension e;
    size_t at = 0;
    *out = (lob_label_names){0};
    while (out->count == 0 && next_extension(header, &at, &e))
        if (may_be_table(&e)) LOB_TRY(lob_caret_labels_parse(out, (const char *)e.bytes, e.size));
    return LOB_OK;
}

/* ---- of an output ---- */

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool are_same(const lob_label_names *a, const lob_label_names *b)
{
    bool same = a->count == b->count;
    for (int32_t i = 0; same && i < a->count; i++) {
        const lob_label_name *const x = &a->rows[i], *const y = &b->rows[i];
        same = x->label == y->label && is_same_text(x->name, y->name) &&
               is_same_text(x->terminology, y->terminology) &&
               memcmp(&x->colour, &y->colour, sizeof x->colour) == 0;
    }
    return same;
}

static size_t padded(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* Put an extension of our own, a text with the 0 at its end. Returns where the next one goes. */
static unsigned char *put_text(unsigned char *to, int32_t code, const char *text)
{
    if (!text) return to;
    const size_t length = strlen(text) + 1;
    const int32_t size = (int32_t)padded(WORDS + length);
    memcpy(to, &size, sizeof size);
    memcpy(to + 4, &code, sizeof code);
    memcpy(to + WORDS, text, length);
    return to + size;
}

static size_t text_bytes(const char *text)
{
    return text ? padded(WORDS + strlen(text) + 1) : 0;
}

/* Put what the volume carries, without tables of labels when they are outdated. */
static unsigned char *put_carried(unsigned char *to, const lob_header *header, bool outdated)
{
    extension e;
    size_t from = LOB_NIFTI_EXTENDER, at = 0;
    while (outdated && next_extension(header, &at, &e)) {
        lob_label_names names = {0};
        if (may_be_table(&e)) lob_caret_labels_parse(&names, (const char *)e.bytes, e.size);
        const bool is_table = names.count > 0;
        lob_label_names_free(&names);
        if (!is_table) {
            memcpy(to, header->extensions + from, at - from);
            to += at - from;
        }
        from = at;
    }
    const size_t rest = header->extensions_size - from;
    memcpy(to, header->extensions + from, rest);
    return to + rest;
}

lob_status lob_nifti_extensions(unsigned char **bytes, size_t *size, const lob_volume *volume,
                                const lob_write_options *options)
{
    const lob_header *const header = &volume->header;
    const bool carries =
        header->format == lob_nifti_name && !options->strip_extensions &&
        header->extensions_size > LOB_NIFTI_EXTENDER; /* and so the extender is 1 */
    lob_label_names before = {0};
    char *table = NULL;
    *bytes = NULL;
    if (carries) LOB_TRY(lob_nifti_names(&before, header));
    /* what is no volume of labels has no names of its own, and keeps what it carries */
    const bool named = !options->strip_extensions && lob_type_of(volume->type)->is_integer;
    const bool outdated = named && !are_same(&before, &volume->names);
    lob_label_names_free(&before);
    if (outdated && volume->names.count > 0) {
        table = lob_caret_labels_print(&volume->names);
        if (!table) return LOB_ENOMEM;
    }
    const char *const comment = options->strip_extensions ? NULL : options->comment;
    const size_t most = text_bytes(comment) + text_bytes(table) +
                        (carries ? padded(header->extensions_size - LOB_NIFTI_EXTENDER) : 0);
    unsigned char *const all = calloc(LOB_NIFTI_EXTENDER + most, 1), *to = all;
    if (all) {
        if (carries) memcpy(all, header->extensions, LOB_NIFTI_EXTENDER);
        to = put_text(all + LOB_NIFTI_EXTENDER, LOB_NIFTI_CARET, table);
        to = put_text(to, LOB_NIFTI_COMMENT, comment);
        if (to > all + LOB_NIFTI_EXTENDER) all[0] = 1;
        if (carries) to = put_carried(to, header, outdated);
    }
    free(table);
    if (!all) return LOB_ENOMEM;
    *size = LOB_NIFTI_EXTENDER + padded((size_t)(to - all) - LOB_NIFTI_EXTENDER);
    *bytes = all;
    return LOB_OK;
}
