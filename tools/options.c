/* The parser of option tables. */
#include "tools/options.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const lob_option_table *tables;
    size_t count;
    lob_error *error;
} parser;

static bool same_character(char a, char b)
{
    return (a == '_' ? '-' : a) == (b == '_' ? '-' : b);
}

/* Is name (its first length characters) the row's name? */
static bool is_named(const lob_option *row, const char *name, size_t length)
{
    if (row->operand || strlen(row->name) != length) return false;
    for (size_t i = 0; i < length; i++)
        if (!same_character(row->name[i], name[i])) return false;
    return true;
}

static const lob_option *find(const parser *p, const char *name, size_t length, char letter)
{
    for (size_t t = 0; t < p->count; t++)
        for (size_t i = 0; i < p->tables[t].count; i++) {
            const lob_option *row = &p->tables[t].rows[i];
            if (letter ? row->letter == letter : is_named(row, name, length)) return row;
        }
    return NULL;
}

/* The operand that comes after the first taken ones, or NULL. */
static const lob_option *find_operand(const parser *p, size_t taken)
{
    for (size_t t = 0; t < p->count; t++)
        for (size_t i = 0; i < p->tables[t].count; i++)
            if (p->tables[t].rows[i].operand &&
                (taken-- == 0 || p->tables[t].rows[i].kind == LOB_OPT_WORDS))
                return &p->tables[t].rows[i];
    return NULL;
}

int lob_word_distance(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    const size_t m = strlen(a), n = strlen(b);
    if (m > LONGEST || n > LONGEST) return LONGEST;

    int d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= m; i++) d[i][0] = (int)i;
    for (size_t j = 0; j <= n; j++) d[0][j] = (int)j;
    for (size_t i = 1; i <= m; i++)
        for (size_t j = 1; j <= n; j++) {
            int best = d[i - 1][j - 1] + !same_character(a[i - 1], b[j - 1]);
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[m][n];
}

const char *lob_nearest_option(const lob_option_table *tables, size_t count, const char *name)
{
    const char *nearest = NULL;
    int min = strlen(name) > 5 ? 3 : 2; /* one more than the edits that are forgiven */
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const lob_option *row = &tables[t].rows[i];
            const size_t length = strlen(name);
            if (row->operand) continue;
            int distance = lob_word_distance(row->name, name);
            /* The beginning of a name is as good a guess as a slip of one key. */
            if (length >= 3 && strncmp(row->name, name, length) == 0) distance = 1;
            if (distance < min) {
                min = distance;
                nearest = row->name;
            }
        }
    return nearest;
}

/* "--max-cost" or "IMAGE", for messages. */
static const char *dashes(const lob_option *row)
{
    return row->operand ? "" : "--";
}

static lob_status refuse(const parser *p, const lob_option *row, const char *value,
                         const char *what)
{
    return lob_fail(p->error, LOB_EARG, "%s%s: '%s' %s", dashes(row), row->name, value, what);
}

/* One number at the start of text; *end is where it stops. false when there is none. */
static bool scan_real(const char *text, double *value, char **end)
{
    if (*text == '\0' || *text == ' ' || (*text >= '\t' && *text <= '\r')) return false;
    *value = strtod(text, end);
    return *end != text && !isnan(*value);
}

static lob_status check_range(const parser *p, const lob_option *row, const char *text, double v)
{
    char what[128];
    if (row->above_low ? !(v > row->low) : !(v >= row->low))
        snprintf(what, sizeof what, "must be %s %.15g", row->above_low ? "above" : "at least",
                 row->low);
    else if (!(v <= row->high))
        snprintf(what, sizeof what, "must be at most %.15g", row->high);
    else
        return LOB_OK;
    return refuse(p, row, text, what);
}

/* The index of a word in "this|that|other", or -1. */
static int choice_index(const char *choices, const char *word)
{
    const size_t length = strlen(word);
    for (int index = 0;; index++) {
        const size_t n = strcspn(choices, "|");
        if (n == length && strncmp(choices, word, n) == 0) return index;
        if (choices[n] == '\0') return -1;
        choices += n + 1;
    }
}

static lob_status refuse_choice(const parser *p, const lob_option *row, const char *text)
{
    char what[256];
    snprintf(what, sizeof what, "is not one of %s", row->choices);
    return refuse(p, row, text, what);
}

static lob_status take_flag(const parser *p, const lob_option *row, const char *text)
{
    (void)p, (void)text;
    *(bool *)row->target = true;
    return LOB_OK;
}

static lob_status take_int(const parser *p, const lob_option *row, const char *text)
{
    char *end;
    double unused;
    errno = 0;
    if (!scan_real(text, &unused, &end)) return refuse(p, row, text, "is not a number");
    const long long v = strtoll(text, &end, 10);
    if (end == text || *end != '\0') return refuse(p, row, text, "is not a whole number");
    if (row->choices && choice_index(row->choices, text) < 0) return refuse_choice(p, row, text);
    if (errno == ERANGE || v < INT32_MIN || v > INT32_MAX)
        return refuse(p, row, text, "is too large a number");
    const lob_status st = check_range(p, row, text, (double)v);
    if (st == LOB_OK) *(int *)row->target = (int)v;
    return st;
}

static lob_status take_real(const parser *p, const lob_option *row, const char *text)
{
    char *end;
    double v;
    if (!scan_real(text, &v, &end) || *end != '\0') return refuse(p, row, text, "is not a number");
    const lob_status st = check_range(p, row, text, v);
    if (st == LOB_OK) *(double *)row->target = v;
    return st;
}

static lob_status take_text(const parser *p, const lob_option *row, const char *text)
{
    if (*text == '\0') return refuse(p, row, text, "must not be empty");
    *(const char **)row->target = text;
    return LOB_OK;
}

static lob_status take_choice(const parser *p, const lob_option *row, const char *text)
{
    const int index = choice_index(row->choices, text);
    if (index < 0) return refuse_choice(p, row, text);
    *(int *)row->target = index;
    return LOB_OK;
}

/* n numbers separated by commas */
static lob_status take_numbers(const parser *p, const lob_option *row, const char *text, int n)
{
    double v[3] = {0};
    const char *at = text;
    for (int i = 0; i < n; i++) {
        char *end;
        if (!scan_real(at, &v[i], &end) || *end != (i + 1 < n ? ',' : '\0')) {
            char what[64];
            snprintf(what, sizeof what, "is not %d numbers %s", n, row->unit);
            return refuse(p, row, text, what);
        }
        const lob_status st = check_range(p, row, text, v[i]);
        if (st != LOB_OK) return st;
        at = end + 1;
    }
    memcpy(row->target, v, (size_t)n * sizeof v[0]);
    return LOB_OK;
}

static lob_status take_pair(const parser *p, const lob_option *row, const char *text)
{
    double *const v = row->target;
    const double before[2] = {v[0], v[1]};
    const lob_status st = take_numbers(p, row, text, 2);
    if (st != LOB_OK || v[0] <= v[1]) return st;
    memcpy(v, before, sizeof before);
    return refuse(p, row, text, "has its numbers the wrong way round: write the lower one first");
}

static lob_status take_triple(const parser *p, const lob_option *row, const char *text)
{
    return take_numbers(p, row, text, 3);
}

/* Units of lengths and extents, micro in ASCII, as the micro sign and as the Greek letter. A value
 * times / per is in mm or mm3. */
static const struct {
    const char *name;
    bool extent;
    double times, per;
} size_units[] = {
    {"mm",         false, 1,   1  },
    {"um",         false, 1,   1e3},
    {"\xc2\xb5m",  false, 1,   1e3},
    {"\xce\xbcm",  false, 1,   1e3},
    {"mm3",        true,  1,   1  },
    {"cm3",        true,  1e3, 1  },
    {"ml",         true,  1e3, 1  },
    {"mL",         true,  1e3, 1  },
    {"um3",        true,  1,   1e9},
    {"\xc2\xb5m3", true,  1,   1e9},
    {"\xce\xbcm3", true,  1,   1e9},
};

/* A length, or an extent. */
static lob_status take_size(const parser *p, const lob_option *row, const char *text)
{
    const size_t units = sizeof size_units / sizeof size_units[0];
    const bool extent = row->kind == LOB_OPT_EXTENT;
    char *end;
    lob_size size = {0};
    if (!scan_real(text, &size.value, &end))
        return refuse(p, row, text, extent ? "is not an extent" : "is not a length");
    const char *unit = *end ? end : extent ? "vox" : "mm";
    size.voxels = strcmp(unit, "vox") == 0;
    size_t i = 0;
    while (i < units && (size_units[i].extent != extent || strcmp(size_units[i].name, unit) != 0))
        i++;
    if (i == units && !size.voxels)
        return refuse(p, row, text,
                      extent ? "has an unknown unit: write 100vox, 50mm3, 5ml, 5cm3 or 5um3"
                             : "has an unknown unit: write 8mm, 5um or 20vox");
    if (!size.voxels) size.value = size.value * size_units[i].times / size_units[i].per;
    const lob_status st = check_range(p, row, text, size.value);
    if (st == LOB_OK) *(lob_size *)row->target = size;
    return st;
}

static lob_status take_bytes(const parser *p, const lob_option *row, const char *text)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = {
        {"",    1     },
        {"B",   1     },
        {"K",   0x1p10},
        {"KiB", 0x1p10},
        {"kB",  1e3   },
        {"M",   0x1p20},
        {"MiB", 0x1p20},
        {"MB",  1e6   },
        {"G",   0x1p30},
        {"GiB", 0x1p30},
        {"GB",  1e9   },
        {"T",   0x1p40},
        {"TiB", 0x1p40},
        {"TB",  1e12  },
    };
    char *end;
    double v;
    if (!scan_real(text, &v, &end)) return refuse(p, row, text, "is not a size");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].name) == 0) {
            const lob_status st = check_range(p, row, text, v * units[i].bytes);
            if (st == LOB_OK) *(int64_t *)row->target = (int64_t)(v * units[i].bytes);
            return st;
        }
    return refuse(p, row, text, "has an unknown unit: write 512MiB or 4GiB");
}

static lob_status take_device(const parser *p, const lob_option *row, const char *text)
{
    lob_device_choice device = {.index = 0};
    const size_t n = strcspn(text, ":");
    const bool numbered = text[n] == ':';
    const bool known = (n == 4 && !numbered && strncmp(text, "auto", n) == 0) ||
                       (n == 3 && !numbered && strncmp(text, "cpu", n) == 0) ||
                       (n == 3 && !numbered && strncmp(text, "all", n) == 0) ||
                       (n == 4 && strncmp(text, "cuda", n) == 0);
    if (!known) return refuse(p, row, text, "is not one of auto, cpu, cuda, cuda:N");
    memcpy(device.backend, text, n);
    if (strcmp(text, "all") == 0 || strcmp(text, "cuda:all") == 0) {
        device.index = LOB_ALL_DEVICES;
    } else if (numbered) {
        const char *digits = text + n + 1;
        const size_t length = strspn(digits, "0123456789");
        if (length == 0 || length > 4 || digits[length] != '\0')
            return refuse(p, row, text, "has no device number after the colon: write cuda:0");
        device.index = atoi(digits);
    }
    *(lob_device_choice *)row->target = device;
    return LOB_OK;
}

static lob_status take_word(const parser *p, const lob_option *row, const char *text)
{
    lob_words *const words = row->target;
    if (words->count == LOB_WORDS) return refuse(p, row, text, "is one too many");
    words->word[words->count++] = text;
    return LOB_OK;
}

static lob_status take_step(const parser *p, const lob_option *row, const char *text)
{
    lob_steps *const steps = row->target;
    if (steps->count == LOB_STEPS)
        return lob_fail(p->error, LOB_EARG, "--%s: more than %d steps", row->name, LOB_STEPS);
    steps->step[steps->count++] = (lob_step){row->name, text};
    return LOB_OK;
}

static lob_status take(const parser *p, const lob_option *row, const char *text)
{
    static lob_status (*const takes[])(const parser *, const lob_option *, const char *) = {
        [LOB_OPT_FLAG] = take_flag,     [LOB_OPT_INT] = take_int,
        [LOB_OPT_REAL] = take_real,     [LOB_OPT_TEXT] = take_text,
        [LOB_OPT_INPUT] = take_text,    [LOB_OPT_OUTPUT] = take_text,
        [LOB_OPT_CHOICE] = take_choice, [LOB_OPT_PAIR] = take_pair,
        [LOB_OPT_TRIPLE] = take_triple, [LOB_OPT_LENGTH] = take_size,
        [LOB_OPT_EXTENT] = take_size,   [LOB_OPT_BYTES] = take_bytes,
        [LOB_OPT_DEVICE] = take_device, [LOB_OPT_WORDS] = take_word,
        [LOB_OPT_INPUTS] = take_word,   [LOB_OPT_STEP] = take_step,
    };
    return takes[row->kind](p, row, text);
}

lob_status lob_option_take(const lob_option *row, const char *text, lob_error *error)
{
    const parser p = {.error = error};
    return take(&p, row, text);
}

const char *lob_option_path(const lob_option *row, int k)
{
    const lob_words *const files = row->target;
    if (row->kind == LOB_OPT_INPUTS) return k < files->count ? files->word[k] : NULL;
    const bool one = row->kind == LOB_OPT_INPUT || row->kind == LOB_OPT_OUTPUT;
    return one && k == 0 ? *(const char *const *)row->target : NULL;
}

bool lob_option_reads(const lob_option *row)
{
    return row->kind == LOB_OPT_INPUT || row->kind == LOB_OPT_INPUTS;
}

bool lob_option_repeats(const lob_option *row)
{
    return row->kind == LOB_OPT_INPUTS || row->kind == LOB_OPT_STEP;
}

bool lob_option_has_value(const lob_option *row)
{
    return row->kind != LOB_OPT_FLAG && (row->kind != LOB_OPT_STEP || row->unit);
}

static lob_status unknown(const parser *p, const char *argument, const char *name, size_t length)
{
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), name);
    const char *nearest = lob_nearest_option(p->tables, p->count, word);
    const int shown = (int)(name - argument + (ptrdiff_t)length);
    if (nearest)
        return lob_fail(p->error, LOB_EARG, "unknown option %.*s; did you mean --%s?", shown,
                        argument, nearest);
    return lob_fail(p->error, LOB_EARG, "unknown option %.*s; --help lists the options", shown,
                    argument);
}

/* An option's value: what is joined to it, or (NULL) the next argument, which raises *used. */
static lob_status take_value(const parser *p, const lob_option *row, const char *joined,
                             const char *next, int *used)
{
    if (joined) return take(p, row, joined);
    if (!next || strncmp(next, "--", 2) == 0)
        return lob_fail(p->error, LOB_EARG, "--%s needs a value: --%s %s", row->name, row->name,
                        row->unit);
    ++*used;
    return take(p, row, next);
}

/* --name, --name=VALUE, or --name and the next argument. */
static lob_status take_long(const parser *p, const char *argument, const char *next, int *used)
{
    const char *name = argument + 2;
    const size_t length = strcspn(name, "=");
    const lob_option *row = find(p, name, length, '\0');
    if (!row) return unknown(p, argument, name, length);
    const char *joined = name[length] ? name + length + 1 : NULL;
    if (lob_option_has_value(row)) return take_value(p, row, joined, next, used);
    if (joined) return lob_fail(p->error, LOB_EARG, "--%s takes no value", row->name);
    return take(p, row, NULL);
}

/* -q, -qv, -oVALUE, -qoVALUE: flags, then perhaps an option that takes the rest as its value. */
static lob_status take_letters(const parser *p, const char *argument, const char *next, int *used)
{
    for (const char *at = argument + 1; *at; at++) {
        const lob_option *row = find(p, at, 1, *at);
        if (!row) return unknown(p, argument, at, 1);
        if (lob_option_has_value(row)) return take_value(p, row, at[1] ? at + 1 : NULL, next, used);
        const lob_status st = take(p, row, NULL);
        if (st != LOB_OK) return st;
    }
    return LOB_OK;
}

static bool is_given(const lob_option *row)
{
    char text[2];
    lob_option_text(text, sizeof text, row);
    return text[0] != '\0';
}

static lob_status check_required(const parser *p, size_t operands_taken)
{
    size_t operand = 0;
    for (size_t t = 0; t < p->count; t++)
        for (size_t i = 0; i < p->tables[t].count; i++) {
            const lob_option *row = &p->tables[t].rows[i];
            if (row->operand && operand++ < operands_taken) continue;
            if (!row->required || (!row->operand && is_given(row))) continue;
            if (row->operand)
                return lob_fail(p->error, LOB_EARG, "%s is missing; --help shows the usage",
                                row->name);
            return lob_fail(p->error, LOB_EARG, "--%s %s is missing; --help shows the usage",
                            row->name, row->unit);
        }
    return LOB_OK;
}

lob_status lob_parse(const lob_option_table *tables, size_t table_count, char *const *arguments,
                     int count, lob_error *error)
{
    const parser p = {tables, table_count, error};
    size_t operands = 0;
    bool only_operands = false;
    for (int i = 0; i < count; i++) {
        const char *argument = arguments[i];
        lob_status st;
        if (!only_operands && strcmp(argument, "--") == 0) {
            only_operands = true;
            continue;
        }
        if (!only_operands && argument[0] == '-' && argument[1] != '\0') {
            const char *next = i + 1 < count ? arguments[i + 1] : NULL;
            st = argument[1] == '-' ? take_long(&p, argument, next, &i)
                                    : take_letters(&p, argument, next, &i);
        } else {
            const lob_option *row = find_operand(&p, operands++);
            if (!row)
                return lob_fail(error, LOB_EARG,
                                "'%s' is one operand too many; --help shows the usage", argument);
            st = take(&p, row, argument);
        }
        if (st != LOB_OK) return st;
    }
    return check_required(&p, operands);
}

bool lob_asks_for(const lob_option_table *tables, size_t table_count, char *const *arguments,
                  int count, const char *name)
{
    const parser p = {tables, table_count, NULL};
    for (int i = 0; i < count && strcmp(arguments[i], "--") != 0; i++) {
        const char *a = arguments[i];
        if (a[0] != '-') continue;
        if (a[1] == '-') {
            if (strcmp(a + 2, name) == 0) return true;
            continue;
        }
        for (a++; *a; a++) {
            const lob_option *row = find(&p, a, 1, *a);
            if (!row || row->kind != LOB_OPT_FLAG) break;
            if (strcmp(row->name, name) == 0) return true;
        }
    }
    return false;
}

static bool in_range(const lob_option *row, double v)
{
    return isfinite(v) && v <= row->high && (row->above_low ? v > row->low : v >= row->low);
}

static void numbers_text(char *text, size_t size, const lob_option *row, int n)
{
    const double *v = row->target;
    bool set = false;
    for (int i = 0; i < n; i++) set = set || in_range(row, v[i]);
    if (!set) return;
    if (n == 2) snprintf(text, size, "%.15g,%.15g", v[0], v[1]);
    if (n == 3) snprintf(text, size, "%.15g,%.15g,%.15g", v[0], v[1], v[2]);
}

static void choice_text(char *text, size_t size, const lob_option *row)
{
    const int index = *(const int *)row->target;
    const char *word = row->choices;
    if (index < 0) return;
    for (int i = 0; i < index; i++) word += strcspn(word, "|") + 1;
    snprintf(text, size, "%.*s", (int)strcspn(word, "|"), word);
}

static void bytes_text(char *text, size_t size, const lob_option *row)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    int64_t v = *(const int64_t *)row->target;
    size_t unit = 0;
    if (!in_range(row, (double)v)) return;
    for (; unit < 4 && v % 1024 == 0; unit++) v /= 1024;
    snprintf(text, size, "%lld%s", (long long)v, units[unit]);
}

/* The values of the steps of this name, "1mm; 2mm". */
static void steps_text(char *text, size_t size, const lob_option *row)
{
    const lob_steps *const steps = row->target;
    for (int i = 0; i < steps->count; i++) {
        const size_t used = strlen(text);
        const lob_step *const step = &steps->step[i];
        if (step->name != row->name) continue;
        snprintf(text + used, size - used, "%s%s", used ? "; " : "",
                 step->text ? step->text : "true");
    }
}

void lob_option_text(char *text, size_t size, const lob_option *row)
{
    assert(size > 0);
    text[0] = '\0';
    switch (row->kind) {
    case LOB_OPT_FLAG:
        if (*(const bool *)row->target) snprintf(text, size, "true");
        break;
    case LOB_OPT_INT:
        if (in_range(row, *(const int *)row->target))
            snprintf(text, size, "%d", *(const int *)row->target);
        break;
    case LOB_OPT_REAL:
        if (in_range(row, *(const double *)row->target))
            snprintf(text, size, "%.15g", *(const double *)row->target);
        break;
    case LOB_OPT_TEXT:
    case LOB_OPT_INPUT:
    case LOB_OPT_OUTPUT:
        if (*(const char *const *)row->target)
            snprintf(text, size, "%s", *(const char *const *)row->target);
        break;
    case LOB_OPT_CHOICE:
        choice_text(text, size, row);
        break;
    case LOB_OPT_PAIR:
        numbers_text(text, size, row, 2);
        break;
    case LOB_OPT_TRIPLE:
        numbers_text(text, size, row, 3);
        break;
    case LOB_OPT_LENGTH:
    case LOB_OPT_EXTENT: {
        const lob_size *length = row->target;
        const char *mm = row->kind == LOB_OPT_EXTENT ? "mm3" : "mm";
        if (in_range(row, length->value))
            snprintf(text, size, "%.15g%s", length->value, length->voxels ? "vox" : mm);
        break;
    }
    case LOB_OPT_BYTES:
        bytes_text(text, size, row);
        break;
    case LOB_OPT_WORDS:
    case LOB_OPT_INPUTS: {
        const lob_words *const words = row->target;
        for (int i = 0; i < words->count; i++) {
            const size_t used = strlen(text);
            snprintf(text + used, size - used, "%s%s", i ? " " : "", words->word[i]);
        }
        break;
    }
    case LOB_OPT_STEP:
        steps_text(text, size, row);
        break;
    case LOB_OPT_DEVICE: {
        const lob_device_choice *device = row->target;
        if (device->index > 0)
            snprintf(text, size, "%s:%d", device->backend, device->index);
        else if (device->index < 0 && strcmp(device->backend, "all") != 0)
            snprintf(text, size, "%s:all", device->backend);
        else
            snprintf(text, size, "%s", device->backend);
        break;
    }
    }
}
