/* Printing JSON as lines for people. */
#include "tools/text/json_text.h"

#include "volumes/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lob_print_safely(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        const size_t n = lob_utf8_length(c);
        if (n > 1)
            fwrite(c, 1, n, stdout);
        else
            putchar(n == 0 || *c < ' ' || *c == 127 ? '?' : *c);
        c += n ? n : 1;
    }
}

static void print_key(const char *key, int indent, int width)
{
    const int length = (int)strnlen(key, 256);
    printf("%*s", indent, "");
    lob_print_safely(key);
    printf("%*s", width == 0 ? 0 : length < width ? width - length : 1, "");
}

/* The texts and numbers of an object in one line; numbers have their names, but for one that comes
 * first. */
static void print_row(const cJSON *object)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, object) {
        if (item != object->child) fputs("  ", stdout);
        if (cJSON_IsString(item)) lob_print_safely(item->valuestring);
        if (cJSON_IsNumber(item)) printf("%.10g", item->valuedouble);
        if (cJSON_IsNumber(item) && item != object->child) printf(" %s", item->string);
    }
}

/* The object as text: a line for each value, an array's numbers in one line, its objects a line
 * each, indented below a key. */
static void print_text(const cJSON *value, int indent)
{
    const cJSON *item;
    if (cJSON_IsString(value)) lob_print_safely(value->valuestring);
    if (cJSON_IsNumber(value)) printf("%.10g", value->valuedouble + 0.0); /* no -0 */
    if (cJSON_IsNull(value)) fputs("nan", stdout);
    if (cJSON_IsObject(value)) {
        cJSON_ArrayForEach(item, value) {
            if ((cJSON_IsObject(item) || cJSON_IsArray(item)) && !item->child) continue;
            const bool blank =
                cJSON_IsObject(item) || (cJSON_IsString(item) && !*item->valuestring);
            print_key(item->string, indent, blank ? 0 : 18 - indent);
            if (cJSON_IsObject(item)) putchar('\n');
            print_text(item, cJSON_IsObject(item) ? indent + 2 : 18);
            if (!cJSON_IsObject(item)) putchar('\n');
        }
    }
    if (cJSON_IsArray(value)) {
        cJSON_ArrayForEach(item, value) {
            const bool lines = !cJSON_IsNumber(item);
            if (item != value->child) printf(lines ? "\n%*s" : " %.*s", lines ? indent : 0, "");
            if (cJSON_IsObject(item))
                print_row(item);
            else
                print_text(item, indent);
        }
    }
}

char *lob_json_print(const cJSON *value)
{
    char *const printed = cJSON_Print(value);
    char *const text = printed ? malloc(6 * strlen(printed) + 1) : NULL;
    char *to = text;
    for (const unsigned char *c = (const unsigned char *)printed; text && *c;) {
        const size_t n = lob_utf8_length(c);
        if (n == 0) {
            to += sprintf(to, "\\udc%02x", *c++);
            continue;
        }
        memcpy(to, c, n);
        to += n;
        c += n;
    }
    if (text) *to = '\0';
    cJSON_free(printed);
    return text;
}

void lob_text_add_json(lob_text *text, const cJSON *value)
{
    char *const printed = value ? lob_json_print(value) : NULL;
    text->failed = text->failed || !printed;
    if (printed) lob_text_add(text, printed, strlen(printed));
    free(printed);
}

lob_status lob_json_put(const cJSON *object, bool json, lob_error *error)
{
    if (!json) {
        print_text(object, 0);
        return LOB_OK;
    }
    char *const text = lob_json_print(object);
    if (!text) return lob_fail(error, LOB_ENOMEM, "no memory for the JSON text");
    puts(text);
    free(text);
    return LOB_OK;
}

void lob_json_numbers(cJSON *object, const lob_number *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) cJSON_AddNumberToObject(object, rows[i].name, rows[i].value);
}

cJSON *lob_json_row(cJSON *array)
{
    cJSON *const row = cJSON_CreateObject();
    cJSON_AddItemToArray(array, row);
    return row;
}

void lob_json_integers(cJSON *object, const char *name, const int64_t values[3])
{
    cJSON *const array = cJSON_AddArrayToObject(object, name);
    for (int i = 0; i < 3; i++) cJSON_AddItemToArray(array, cJSON_CreateNumber((double)values[i]));
}

const char *lob_json_string(const cJSON *object, const char *name)
{
    const char *const text = lob_json_text(object, name);
    return text ? text : "";
}

double lob_json_result(const cJSON *line, const char *const *names)
{
    const cJSON *const results = cJSON_GetObjectItemCaseSensitive(line, "results");
    for (; *names; names++) {
        const cJSON *const found = cJSON_GetObjectItemCaseSensitive(results, *names);
        if (cJSON_IsNumber(found)) return found->valuedouble;
        if (cJSON_IsArray(found)) return cJSON_GetArraySize(found);
    }
    return -1;
}
