/* What a command did, as JSON: inputs with checksums, options, device, results, times, memory. */
#include "io/file.h"
#include "tools/platform/process.h"
#include "tools/report/report.h"
#include "tools/session/host.h"
#include "tools/session/session.h"
#include "tools/text/text.h"
#include "volumes/version.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The name of the row that names this very path. */
static const char *role(const lob_session *s, const char *path)
{
    const lob_option *const row = lob_option_of_path(s->table, 2, path);
    return row ? row->name : s->extra_role;
}

static void describe(cJSON *file, const lob_volume *v)
{
    const double dims[3] = {(double)v->dims.nx, (double)v->dims.ny, (double)v->dims.nz};
    const int64_t channels = v->channels / lob_frames_held(v);
    char code[4];
    lob_orientation(code, &v->geometry);
    cJSON_AddStringToObject(file, "type", lob_type_of(v->type)->name);
    cJSON_AddItemToObject(file, "dims", cJSON_CreateDoubleArray(dims, 3));
    LOB_JSON_NUMBERS(file, {"channels", channels}, {"frames", v->frames});
    if (v->frame == LOB_FRAME_ALL)
        cJSON_AddStringToObject(file, "frame", "all");
    else
        cJSON_AddNumberToObject(file, "frame", (double)v->frame);
    cJSON_AddItemToObject(file, "spacing_mm", cJSON_CreateDoubleArray(v->geometry.spacing_mm, 3));
    cJSON_AddStringToObject(file, "orientation", v->geometry.unoriented ? "unknown" : code);
    if (lob_is_scaled(v)) LOB_JSON_NUMBERS(file, {"slope", v->slope}, {"inter", v->inter});
}

static cJSON *begin_entry(lob_session *s, const char *path, const char *name)
{
    cJSON *const file = cJSON_CreateObject();
    cJSON_AddStringToObject(file, "role", name ? name : role(s, path));
    cJSON_AddStringToObject(file, "path", path);
    return file;
}

/* Describe a file that was read. */
static void add_input(lob_session *s, const lob_volume *volume, const char *path,
                      const lob_file_info *info, const char *name)
{
    cJSON *const file = begin_entry(s, path, name);
    if (volume) {
        if (info->format) cJSON_AddStringToObject(file, "format", info->format);
        cJSON_AddNumberToObject(file, "bytes", (double)info->file_bytes);
        describe(file, volume);
        cJSON *const warnings = cJSON_AddArrayToObject(file, "warnings");
        for (int i = 0; i < info->warnings; i++)
            cJSON_AddItemToArray(warnings, cJSON_CreateString(info->warning[i]));
    }
    cJSON_AddItemToArray(s->inputs, file);
    lob_sums_belong(s, path, file);
}

/* Describe one that was written. */
static void add_output(lob_session *s, const lob_volume *volume, const char *path)
{
    cJSON *const file = begin_entry(s, path, NULL);
    if (volume) describe(file, volume);
    cJSON_AddItemToArray(s->outputs, file);
    lob_sums_belong(s, path, file);
}

/* ---- --provenance: how an output was made, in a few lines that it carries itself ---- */

/* A command line as it could be typed. */
static void print_command(lob_text *text, const lob_session *s)
{
    lob_text_print(text, "lobule %s", s->command->name);
    for (int i = 0; i < s->argc; i++) {
        char *const word = lob_shell_word(s->argv[i]);
        if (word) lob_text_print(text, " %s", word);
        text->failed = text->failed || !word;
        free(word);
    }
    lob_text_add(text, "\n", 1);
}

static void print_sum(void *text, const char *file, const char *sha256)
{
    lob_text_print(text, "input %s sha256 %s\n", file, sha256);
}

static void print_entry(lob_text *text, const cJSON *file)
{
    const char *const sum = lob_json_text(file, "sha256");
    if (sum) print_sum(text, lob_json_text(file, "path"), sum);
}

static char *text_of(lob_session *s)
{
    const lob_session *const run = s->host ? s->host->outer : NULL; /* of a recipe */
    const cJSON *const inputs = run ? run->inputs : NULL, *file;    /* of a pair both */
    lob_text text = {NULL};
    lob_text_print(&text, "lobule " LOB_VERSION "\n");
    if (run) print_command(&text, run);
    print_command(&text, s);
    cJSON_ArrayForEach(file, inputs) {
        print_entry(&text, file);
        print_entry(&text, cJSON_GetObjectItemCaseSensitive(file, "second_file"));
    }
    lob_sums_of_inputs(s, print_sum, &text);
    return lob_text_take(&text);
}

/* What an output of this name had before the repetition that this session belongs to. */
static const char *past_text(const lob_session *s, const char *path)
{
    while (!s->past_provenance && s->host && s->host->outer) s = s->host->outer;
    return lob_json_text(s->past_provenance, path);
}

/*
 * What --provenance puts into an output: the program's version; the command line, in a recipe that
 * of the recipe and the line; and each input read so far with its SHA-256. It says nothing of time,
 * place or device, so that the same command on the same files gives the same text. A repetition,
 * whose outputs have other names, takes the text that the report has.
 *
 *   text  out  malloc'ed; NULL where the output gets none
 *   path  in   of the output
 *
 * Returns LOB_OK or LOB_ENOMEM, with a message.
 */
static lob_status provenance_of(lob_session *s, char **text, const char *path)
{
    const char *const past = past_text(s, path);
    *text = NULL;
    if (!past && !s->provenance) return LOB_OK;
    *text = past ? strdup(past) : text_of(s);
    return *text ? LOB_OK : lob_session_no_memory(s, path);
}

/* Put the text, which may be NULL, into the report of the output that was written last. */
static void report_provenance(lob_session *s, const char *text)
{
    cJSON *const file = cJSON_GetArrayItem(s->outputs, cJSON_GetArraySize(s->outputs) - 1);
    if (text && file) cJSON_AddStringToObject(file, "provenance", text);
}

const lob_watcher lob_report_watcher = {.using = lob_sums_begin,
                                        .has_read = add_input,
                                        .written = add_output,
                                        .comment = provenance_of,
                                        .commented = report_provenance,
                                        .forget = lob_sums_drop};

/* The values of all steps of a row's name, in their order; true where it takes none. */
static cJSON *step_values(const lob_option *row)
{
    const lob_steps *const steps = row->target;
    cJSON *const values = cJSON_CreateArray();
    for (int i = 0; i < steps->count; i++)
        if (steps->step[i].name == row->name)
            cJSON_AddItemToArray(values, steps->step[i].text
                                             ? cJSON_CreateString(steps->step[i].text)
                                             : cJSON_CreateTrue());
    return values;
}

/* The row's value, typed; null where the variable stands for "not given". */
static cJSON *option_value(const lob_option *row)
{
    char text[4200]; /* a path and more */
    lob_option_text(text, sizeof text, row);
    if (row->kind == LOB_OPT_FLAG) return cJSON_CreateBool(*(const bool *)row->target);
    if (text[0] == '\0') return cJSON_CreateNull();
    if (row->kind == LOB_OPT_STEP) return step_values(row);
    switch (row->kind) {
    case LOB_OPT_INT:
        return cJSON_CreateNumber(*(const int *)row->target);
    case LOB_OPT_REAL:
        return cJSON_CreateNumber(*(const double *)row->target);
    case LOB_OPT_BYTES:
        return cJSON_CreateNumber((double)*(const int64_t *)row->target);
    case LOB_OPT_PAIR:
        return cJSON_CreateDoubleArray(row->target, 2);
    case LOB_OPT_TRIPLE:
        return cJSON_CreateDoubleArray(row->target, 3);
    case LOB_OPT_WORDS:
    case LOB_OPT_INPUTS: {
        const lob_words *const words = row->target;
        return cJSON_CreateStringArray(words->word, words->count);
    }
    default:
        return cJSON_CreateString(text);
    }
}

cJSON *lob_report_options(const lob_session *s)
{
    cJSON *options = cJSON_CreateObject();
    for (const lob_option *row = NULL; (row = lob_option_next(s->table, 2, row));) {
        char key[64];
        if (row->target == &s->help || row->target == &s->version) continue;
        snprintf(key, sizeof key, "%s", row->name);
        for (char *c = key; *c; c++)
            if (*c == '-') *c = '_';
        cJSON_AddItemToObject(options, key, option_value(row));
    }
    return options;
}

bool lob_report_wanted(const lob_session *s)
{
    while (!s->report_path && s->host && s->host->outer) s = s->host->outer;
    return s->report_path != NULL;
}

lob_seconds lob_session_seconds(const lob_session *s)
{
    const double total = lob_clock_s() - s->start_s;
    double staged = 0;
    for (int i = 0; i < s->stages; i++) staged += s->stage[i].seconds;
    return (lob_seconds){.other = total - staged, .total = total};
}

/* A word as it was typed, or, where it names an output that was renamed, with the new name; a file
 * that a recipe's value names, as it could be typed. */
static cJSON *argument(const lob_session *s, const char *word)
{
    const char *const folder = s->renamed_from;
    const bool renamed = folder && folder >= word && folder <= word + strlen(word);
    const bool dashed = word[0] == '-' && word[1] && lob_option_of_path(s->table, 2, word);
    if (!renamed && !dashed) return cJSON_CreateString(word);
    char *const named = renamed ? lob_printed("%.*s%s", (int)(folder - word), word, s->renamed)
                                : lob_printed("./%s", word);
    cJSON *const text = named ? cJSON_CreateString(named) : NULL;
    free(named);
    return text;
}

/* Of the first task, whose report it is. */
static void add_ranks(cJSON *report, const lob_team *team)
{
    if (lob_team_size(team) == 1) return;
    cJSON *const ranks = cJSON_AddObjectToObject(report, "ranks");
    LOB_JSON_NUMBERS(ranks, {"tasks_at_work", team->size}, {"bytes_sent", team->sent},
                     {"bytes_received", team->received});
}

static cJSON *report_object(lob_session *s, lob_status outcome, const char *message)
{
    cJSON *report = cJSON_CreateObject();
    cJSON_AddStringToObject(report, "tool", "lobule");
    cJSON_AddStringToObject(report, "version", LOB_VERSION);
    cJSON_AddStringToObject(report, "command", s->command->name);
    cJSON *arguments = cJSON_AddArrayToObject(report, "arguments");
    for (int i = 0; i < s->argc; i++) cJSON_AddItemToArray(arguments, argument(s, s->argv[i]));
    char folder[PATH_MAX]; /* where relative names begin */
    if (lob_working_folder(folder, sizeof folder))
        cJSON_AddStringToObject(report, "folder", folder);
    cJSON_AddStringToObject(report, "started", s->started);

    cJSON *end = cJSON_AddObjectToObject(report, "outcome");
    cJSON_AddStringToObject(end, "status", lob_status_text(outcome));
    cJSON_AddNumberToObject(end, "exit_code", lob_status_exit_code(outcome));
    cJSON_AddStringToObject(end, "message", message);

    cJSON_AddItemReferenceToObject(report, "inputs", s->inputs);
    cJSON_AddItemReferenceToObject(report, "outputs", s->outputs);
    cJSON_AddItemToObject(report, "options", lob_report_options(s));

    cJSON *device = cJSON_AddObjectToObject(report, "device");
    cJSON_AddStringToObject(device, "backend", s->backend->name);
    if (s->context.device) {
        cJSON_AddStringToObject(device, "name", lob_device_name(s->context.device));
        cJSON_AddNumberToObject(device, "number", lob_device_number(s->context.device));
        const lob_device_traffic before = s->start_traffic, now = lob_device_traffic_here();
        LOB_JSON_NUMBERS(device, {"upload_bytes", now.upload_bytes - before.upload_bytes},
                         {"download_bytes", now.download_bytes - before.download_bytes});
    }
    cJSON_AddStringToObject(device, "why", s->device_why);
    cJSON_AddNumberToObject(device, "threads", s->context.threads);

    cJSON_AddItemReferenceToObject(report, "results", s->results);
    cJSON_AddItemReferenceToObject(report, "notes", s->notes);

    cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
    for (int i = 0; i < s->stages; i++)
        cJSON_AddNumberToObject(seconds, s->stage[i].name, s->stage[i].seconds);
    const lob_seconds whole = lob_session_seconds(s);
    LOB_JSON_NUMBERS(seconds, {"other", whole.other}, {"total", whole.total});
    cJSON_AddNumberToObject(report, "peak_memory_bytes", lob_process_peak_bytes());
    add_ranks(report, s->team);
    return report;
}

cJSON *lob_report_make(lob_session *s, lob_status outcome, const char *message)
{
    if (outcome == LOB_ECANCEL) lob_sums_drop(s);
    lob_sums_end(s);
    return report_object(s, outcome, message);
}

lob_status lob_report_write(lob_session *s, const cJSON *report, lob_error *error)
{
    if (!s->report_path) return LOB_OK;
    lob_text text = {NULL};
    lob_text_add_json(&text, report);
    lob_text_add(&text, "\n", 1);
    return lob_text_save(&text, s->report_path, true, error);
}
