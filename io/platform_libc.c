/* What Windows' C library lacks of the functions that this project uses. */
#include "io/platform_libc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

char *strndup(const char *text, size_t n)
{
    const size_t length = strnlen(text, n);
    char *const copy = malloc(length + 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *stpcpy(char *to, const char *from)
{
    const size_t n = strlen(from);
    memcpy(to, from, n + 1);
    return to + n;
}

char *strsep(char **text, const char *marks)
{
    char *const part = *text;
    if (!part) return NULL;
    char *const end = part + strcspn(part, marks);
    *text = *end ? end + 1 : NULL;
    *end = '\0';
    return part;
}

int setenv(const char *name, const char *value, int replace)
{
    return !replace && getenv(name) ? 0 : _putenv_s(name, value);
}

/* One character of a name against "[...]"; at leads behind the bracket, and then behind its end. */
static bool in_brackets(const char **at, char c)
{
    const char *p = *at;
    const bool not = *p == '!' || *p == '^';
    bool in = false;
    if (not ) p++;
    for (const char *first = p; *p && (*p != ']' || p == first); p++) {
        const unsigned char low = (unsigned char)(*p == '\\' && p[1] ? *++p : *p);
        unsigned char high = low;
        if (p[1] == '-' && p[2] && p[2] != ']') high = (unsigned char)*(p += 2);
        if ((unsigned char)c >= low && (unsigned char)c <= high) in = true;
    }
    *at = *p ? p + 1 : p;
    return in != not ;
}

static bool matches(const char *pattern, const char *name)
{
    for (; *pattern; name++) {
        if (*pattern == '*') {
            while (*pattern == '*') pattern++;
            if (!*pattern) return true;
            for (; *name; name++)
                if (matches(pattern, name)) return true;
            return false;
        }
        if (!*name) return false;
        if (*pattern == '[' && pattern[1] && strchr(pattern + 2, ']')) {
            pattern++;
            if (!in_brackets(&pattern, *name)) return false;
            continue;
        }
        if (*pattern == '\\' && pattern[1]) {
            if (*++pattern != *name) return false;
        } else if (*pattern != '?' && *pattern != *name) {
            return false;
        }
        pattern++;
    }
    return !*name;
}

int fnmatch(const char *pattern, const char *name, int flags)
{
    const bool hidden = (flags & FNM_PERIOD) && name[0] == '.' && pattern[0] != '.';
    return !hidden && matches(pattern, name) ? 0 : 1;
}
