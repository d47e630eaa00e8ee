/* The values of options: from text into their variables, and back. */
#include "tools/options/options.h"

#include "io/platform.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static lob_status refuse(lob_error *error, const lob_option *row, const char *value,
                         const char *what)
{
    const char *const dashes = row->operand ? "" : "--";
    return lob_fail(error, LOB_EARG, "%s%s: '%s' %s", dashes, row->name, value, what);
}

/* One number at the start of text; *end is where it stops. false when there is none. */
static bool scan_real(const char *text, double *value, char **end)
{
    if (*text == '\0' || *text == ' ' || (*text >= '\t' && *text <= '\r')) return false;
    *value = strtod(text, end);
    return *end != text && !isnan(*value);
}

static lob_status check_range(lob_error *error, const lob_option *row, const char *text, double v)
{
    char what[128];
    if (row->above_low ? !(v > row->low) : !(v >= row->low))
        snprintf(what, sizeof what, "must be %s %.15g", row->above_low ? "above" : "at least",
                 row->low);
    else if (!(v <= row->high))
        snprintf(what, sizeof what, "must be at most %.15g", row->high);
    else
        return LOB_OK;
    return refuse(error, row, text, what);
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

static lob_status refuse_choice(lob_error *error, const lob_option *row, const char *text)
{
    char what[256];
    snprintf(what, sizeof what, "is not one of %s", row->choices);
    return refuse(error, row, text, what);
}

static lob_status take_flag(lob_error *error, const lob_option *row, const char *text)
{
    (void)error, (void)text;
    *(bool *)row->target = true;
    return LOB_OK;
}

static lob_status take_int(lob_error *error, const lob_option *row, const char *text)
{
    char *end;
    double unused;
    errno = 0;
    if (!scan_real(text, &unused, &end)) return refuse(error, row, text, "is not a number");
    const long long v = strtoll(text, &end, 10);
    if (end == text || *end != '\0') return refuse(error, row, text, "is not a whole number");
    if (row->choices && choice_index(row->choices, text) < 0)
        return refuse_choice(error, row, text);
    if (errno == ERANGE || v < INT32_MIN || v > INT32_MAX)
        return refuse(error, row, text, "is too large a number");
    LOB_TRY(check_range(error, row, text, (double)v));
    *(int *)row->target = (int)v;
    return LOB_OK;
}

static lob_status take_real(lob_error *error, const lob_option *row, const char *text)
{
    char *end;
    double v;
    if (!scan_real(text, &v, &end) || *end != '\0')
        return refuse(error, row, text, "is not a number");
    LOB_TRY(check_range(error, row, text, v));
    *(double *)row->target = v;
    return LOB_OK;
}

static lob_status take_text(lob_error *error, const lob_option *row, const char *text)
{
    if (*text == '\0') return refuse(error, row, text, "must not be empty");
    *(const char **)row->target = text;
    return LOB_OK;
}

static lob_status take_choice(lob_error *error, const lob_option *row, const char *text)
{
    const int index = choice_index(row->choices, text);
    if (index < 0) return refuse_choice(error, row, text);
    *(int *)row->target = index;
    return LOB_OK;
}

static int numbers_of(const lob_option *row)
{
    return row->kind == LOB_OPT_REAL ? 1 : row->kind == LOB_OPT_PAIR ? 2 : 3;
}

/* Numbers separated by commas */
static lob_status take_numbers(lob_error *error, const lob_option *row, const char *text)
{
    const int n = numbers_of(row);
    double v[3] = {0};
    const char *at = text;
    for (int i = 0; i < n; i++) {
        char *end;
        if (!scan_real(at, &v[i], &end) || *end != (i + 1 < n ? ',' : '\0')) {
            char what[64];
            snprintf(what, sizeof what, "is not %d numbers %s", n, row->unit);
            return refuse(error, row, text, what);
        }
        LOB_TRY(check_range(error, row, text, v[i]));
        at = end + 1;
    }
    memcpy(row->target, v, (size_t)n * sizeof v[0]);
    return LOB_OK;
}

static lob_status take_pair(lob_error *error, const lob_option *row, const char *text)
{
    double *const v = row->target;
    const double before[2] = {v[0], v[1]};
    const lob_status st = take_numbers(error, row, text);
    if (st != LOB_OK || v[0] <= v[1]) return st;
    memcpy(v, before, sizeof before);
    return refuse(error, row, text,
                  "has its numbers the wrong way round: write the lower one first");
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
static lob_status take_size(lob_error *error, const lob_option *row, const char *text)
{
    const size_t units = sizeof size_units / sizeof size_units[0];
    const bool extent = row->kind == LOB_OPT_EXTENT;
    char *end;
    lob_size size = {0};
    if (!scan_real(text, &size.value, &end))
        return refuse(error, row, text, extent ? "is not an extent" : "is not a length");
    const char *unit = *end ? end : extent ? "vox" : "mm";
    size.voxels = strcmp(unit, "vox") == 0;
    size_t i = 0;
    while (i < units && (size_units[i].extent != extent || strcmp(size_units[i].name, unit) != 0))
        i++;
    if (i == units && !size.voxels)
        return refuse(error, row, text,
                      extent ? "has an unknown unit: write 100vox, 50mm3, 5ml, 5cm3 or 5um3"
                             : "has an unknown unit: write 8mm, 5um or 20vox");
    if (!size.voxels) size.value = size.value * size_units[i].times / size_units[i].per;
    LOB_TRY(check_range(error, row, text, size.value));
    *(lob_size *)row->target = size;
    return LOB_OK;
}

static lob_status take_bytes(lob_error *error, const lob_option *row, const char *text)
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
    if (!scan_real(text, &v, &end)) return refuse(error, row, text, "is not a size");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].name) == 0) {
            const lob_status st = check_range(error, row, text, v * units[i].bytes);
            if (st == LOB_OK) *(int64_t *)row->target = (int64_t)(v * units[i].bytes);
            return st;
        }
    return refuse(error, row, text, "has an unknown unit: write 512MiB or 4GiB");
}

/* "0", "0,1": which devices. Returns false for anything else. */
static bool take_device_numbers(lob_device_choice *device, const char *text)
{
    for (;; text++) {
        const size_t length = strspn(text, "0123456789");
        if (length == 0 || length > 4 || device->count == LOB_NAMED_DEVICES) return false;
        device->number[device->count++] = atoi(text);
        text += length;
        if (*text != ',') return *text == '\0';
    }
}

static lob_status take_device(lob_error *error, const lob_option *row, const char *text)
{
    lob_device_choice device = {.index = 0};
    const size_t n = strcspn(text, ":");
    const bool numbered = text[n] == ':';
    const bool known = (n == 4 && !numbered && strncmp(text, "auto", n) == 0) ||
                       (n == 3 && !numbered && strncmp(text, "cpu", n) == 0) ||
                       (n == 3 && !numbered && strncmp(text, "all", n) == 0) ||
                       (n == 4 && strncmp(text, "cuda", n) == 0);
    if (!known) return refuse(error, row, text, "is not one of auto, cpu, cuda, cuda:N");
    memcpy(device.backend, text, n);
    if (strcmp(text, "all") == 0 || strcmp(text, "cuda:all") == 0) {
        device.index = LOB_ALL_DEVICES;
    } else if (numbered) {
        if (!take_device_numbers(&device, text + n + 1))
            return refuse(error, row, text,
                          "has no device number after the colon: write cuda:0, or cuda:0,1");
        device.index = device.number[0];
    }
    *(lob_device_choice *)row->target = device;
    return LOB_OK;
}

static lob_status take_word(lob_error *error, const lob_option *row, const char *text)
{
    lob_words *const words = row->target;
    if (words->count == LOB_WORDS) return refuse(error, row, text, "is one too many");
    words->word[words->count++] = text;
    return LOB_OK;
}

static lob_status take_step(lob_error *error, const lob_option *row, const char *text)
{
    lob_steps *const steps = row->target;
    if (steps->count == LOB_STEPS)
        return lob_fail(error, LOB_EARG, "--%s: more than %d steps", row->name, LOB_STEPS);
    steps->step[steps->count++] = (lob_step){row->name, text};
    return LOB_OK;
}

/* Does its value name a file or a folder, or a value that may? */
static bool is_path(const lob_option *row)
{
    static const char *const units[] = {"FOLDER", "DIR", "FILE", "PATTERN"};
    bool named = false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        named = named || (row->unit && strcmp(row->unit, units[i]) == 0);
    return row->kind == LOB_OPT_INPUT || row->kind == LOB_OPT_OUTPUT ||
           row->kind == LOB_OPT_INPUTS || row->kind == LOB_OPT_WORDS ||
           (row->kind == LOB_OPT_TEXT && named);
}

static bool in_range(const lob_option *row, double v)
{
    return isfinite(v) && v <= row->high && (row->above_low ? v > row->low : v >= row->low);
}

static void flag_text(char *text, size_t size, const lob_option *row)
{
    if (*(const bool *)row->target) snprintf(text, size, "true");
}

static void int_text(char *text, size_t size, const lob_option *row)
{
    const int v = *(const int *)row->target;
    if (in_range(row, v)) snprintf(text, size, "%d", v);
}

static void text_text(char *text, size_t size, const lob_option *row)
{
    const char *const v = *(const char *const *)row->target;
    if (v) snprintf(text, size, "%s", v);
}

static void numbers_text(char *text, size_t size, const lob_option *row)
{
    const int n = numbers_of(row);
    const double *v = row->target;
    bool set = false;
    for (int i = 0; i < n; i++) set = set || in_range(row, v[i]);
    for (int i = 0; i < n && set; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%.15g", i ? "," : "", v[i]);
    }
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

static void size_text(char *text, size_t size, const lob_option *row)
{
    const lob_size *const length = row->target;
    const char *const mm = row->kind == LOB_OPT_EXTENT ? "mm3" : "mm";
    if (in_range(row, length->value))
        snprintf(text, size, "%.15g%s", length->value, length->voxels ? "vox" : mm);
}

static void words_text(char *text, size_t size, const lob_option *row)
{
    const lob_words *const words = row->target;
    for (int i = 0; i < words->count; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", i ? " " : "", words->word[i]);
    }
}

static void device_text(char *text, size_t size, const lob_option *row)
{
    const lob_device_choice *const device = row->target;
    if (device->count > 1 || device->index > 0)
        for (int k = 0; k < device->count; k++) {
            const size_t used = strlen(text);
            snprintf(text + used, size - used, "%s%s%d", k ? "," : device->backend, k ? "" : ":",
                     device->number[k]);
        }
    else if (device->index < 0 && strcmp(device->backend, "all") != 0)
        snprintf(text, size, "%s:all", device->backend);
    else
        snprintf(text, size, "%s", device->backend);
}

/* What a kind's value is made of, and the text that it is shown by. */
static const struct {
    lob_status (*take)(lob_error *error, const lob_option *row, const char *text);
    void (*text)(char *text, size_t size, const lob_option *row);
} kinds[] = {
    [LOB_OPT_FLAG] = {.take = take_flag,    .text = flag_text   },
    [LOB_OPT_INT] = {.take = take_int,     .text = int_text    },
    [LOB_OPT_REAL] = {.take = take_real,    .text = numbers_text},
    [LOB_OPT_TEXT] = {.take = take_text,    .text = text_text   },
    [LOB_OPT_INPUT] = {.take = take_text,    .text = text_text   },
    [LOB_OPT_OUTPUT] = {.take = take_text,    .text = text_text   },
    [LOB_OPT_CHOICE] = {.take = take_choice,  .text = choice_text },
    [LOB_OPT_PAIR] = {.take = take_pair,    .text = numbers_text},
    [LOB_OPT_TRIPLE] = {.take = take_numbers, .text = numbers_text},
    [LOB_OPT_LENGTH] = {.take = take_size,    .text = size_text   },
    [LOB_OPT_EXTENT] = {.take = take_size,    .text = size_text   },
    [LOB_OPT_BYTES] = {.take = take_bytes,   .text = bytes_text  },
    [LOB_OPT_DEVICE] = {.take = take_device,  .text = device_text },
    [LOB_OPT_WORDS] = {.take = take_word,    .text = words_text  },
    [LOB_OPT_INPUTS] = {.take = take_word,    .text = words_text  },
    [LOB_OPT_STEP] = {.take = take_step,    .text = steps_text  },
};

lob_status lob_option_take(const lob_option *row, const char *text, lob_error *error)
{
    if (is_path(row))
        lob_path_take((char *)text); /* in place: who renames an output looks for it there */
    return kinds[row->kind].take(error, row, text);
}

void lob_option_text(char *text, size_t size, const lob_option *row)
{
    assert(size > 0);
    text[0] = '\0';
    kinds[row->kind].text(text, size, row);
}
