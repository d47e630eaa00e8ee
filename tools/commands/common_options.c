/* The options of a session: the command's own, those that all have, and those that only print. */
#include "tools/commands/commands.h"

#include "tools/session/host.h"
#include "tools/session/ranks.h"
#include "tools/session/session.h"
#include "tools/session/watcher.h"
#include "volumes/version.h"

#include <stdlib.h>

const bool *lob_session_values(const lob_session *s)
{
    return s->host ? s->host->values : NULL;
}

lob_status lob_options_own(lob_session *s)
{
    const lob_command *const c = s->command;
    int end = 0;
    while (c->takes_line && end < s->argc && strcmp(s->argv[end], "--") != 0) end++;
    if (c->takes_line && end < s->argc) {
        s->line = s->argv + end + 1;
        s->line_count = s->argc - end - 1;
        s->argc = end;
    }
    s->settings = calloc(1, c->settings_bytes + 1);
    if (!s->settings) return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    c->options(&s->own, s->settings);
    s->table[0] = (lob_option_table){"Options", s->own.row, (size_t)s->own.count};
    const char *const flags[] = {c->only_prints, c->shares ? "plan" : NULL};
    for (size_t k = 0; k < LOB_COUNT(flags); k++)
        s->only_prints =
            s->only_prints || (flags[k] && lob_asks_for(s->table, 1, s->argv, lob_session_values(s),
                                                        s->argc, flags[k]));
    if (s->only_prints)
        for (int i = 0; i < s->own.count; i++)
            if (s->own.row[i].kind == LOB_OPT_OUTPUT) s->own.row[i].kind = LOB_OPT_TEXT;
    return LOB_OK;
}

void lob_options_common(lob_session *s)
{
    const lob_option rows[] = {
        OPT_DEVICE("device", &s->device,
                   s->command->spreads ? "where to compute; cuda:all or cuda:0,1: a part of the "
                                         "volume on each of these GPUs"
                                       : "where to compute"),
        OPT_INT("threads", &s->threads, "N", 1, LOB_THREADS_MOST,
                "CPU threads; left out: all cores that this process may use"),
        OPT_BYTES("max-memory", &s->max_memory,
                  "memory that volumes and work may take, as 4GiB; left out: what is free"),
        OPT_TEXT(
            "series", &s->series, "N|UID",
            "which series to take of a folder of DICOM that holds several: its number or UID; N:K "
            "takes the K-th of several volumes that it makes"),
        OPT_FLAG("force", &s->force, "replace outputs that exist"),
        OPT_FLAG("skip-existing", &s->skip_existing,
                 "do nothing and end with 0 if the outputs exist"),
        OPT_FLAG("quiet", &s->quiet, "say nothing but errors", .letter = 'q'),
        OPT_FLAG("verbose", &s->verbose, "say what is done and how long it takes", .letter = 'v'),
        OPT_OUTPUT(
            "report", &s->report_path, LOB_FILE_OTHER,
            "write what was done as JSON: inputs, options, results, times; an older report is "
            "replaced"),
        OPT_FLAG("provenance", &s->provenance,
                 "write into NIfTI outputs how they were made: version, command line, inputs with "
                 "SHA-256"),
        OPT_FLAG("help", &s->help, "print this help", .letter = 'h'),
        OPT_FLAG("version", &s->version, "print the version", .letter = 'V'),
    };
    _Static_assert(LOB_COUNT(rows) < LOB_COUNT(s->common), "room for the common options");
    memcpy(s->common, rows, sizeof rows);
    const size_t count = LOB_COUNT(rows) + s->namer->option(&s->common[LOB_COUNT(rows)], s);
    s->table[1] = (lob_option_table){"Common options", s->common, count};
}

static void print_version(FILE *to, const lob_manual *manual)
{
    (void)manual;
    fputs("lobule " LOB_VERSION "\n", to);
}

/* What a command can print about itself, by the option that asks for it: that of the common ones,
 * those by which the build makes man pages and completion, and those of 3D Slicer and Boutiques. */
static const struct {
    const char *ask;
    lob_manual_fn *print;
} about[] = {
    {"help",          lob_print_help     },
    {"version",       print_version      },
    {"man",           lob_print_man      },
    {"xml",           lob_print_xml      },
    {"boutiques",     lob_print_boutiques},
    {"complete-bash", lob_print_bash     },
    {"complete-zsh",  lob_print_zsh      },
    {"complete-fish", lob_print_fish     },
};

lob_manual_fn *lob_options_asked_for(const lob_session *s)
{
    for (size_t i = 0; i < LOB_COUNT(about); i++)
        if (lob_asks_for(s->table, 2, s->argv, lob_session_values(s), s->argc, about[i].ask))
            return about[i].print;
    return NULL;
}

lob_status lob_options_print_about(lob_session *s, lob_manual_fn *print)
{
    const lob_command *c = s->command;
    const lob_manual manual = {c->name,  c->summary, c->description, c->examples,
                               s->table, 2,          c->compares,    c->registers};
    if (lob_ranks_speak()) print(stdout, &manual);
    return lob_stdout_end(&s->error);
}
