/* What a session holds. Commands call the functions of session.h; the report reads it. */
#ifndef LOB_SESSION_STATE_H
#define LOB_SESSION_STATE_H

#include "io/io.h"
#include "io/planes.h"
#include "io/sha256.h"
#include "kernels/backends.h"
#include "kernels/context.h"
#include "kernels/device/device.h"
#include "kernels/team/team.h"
#include "tools/options/options.h"
#include "volumes/clock.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <string.h>

#define LOB_COUNT(array) (sizeof(array) / sizeof(array)[0])

typedef struct lob_session lob_session;

/* What a command runs in, if not in the program: see tools/session/host.h. */
typedef struct lob_host lob_host;

/* Who looks on while a command works: see tools/session/watcher.h. */
typedef struct lob_watcher lob_watcher;
typedef struct lob_namer lob_namer;

/* A GPU that a thread opens: see tools/session/session_device.c. */
typedef struct lob_opening lob_opening;

enum { LOB_COMMAND_ROWS = 64 };

/* The option table of a command. */
typedef struct {
    lob_option row[LOB_COMMAND_ROWS];
    int count;
} lob_rows;

/* The end of a command's options: its rows, an array, become the table. */
#define LOB_ROWS(rows, array)                                                      \
    do {                                                                           \
        _Static_assert(LOB_COUNT(array) <= LOB_COMMAND_ROWS, "room for all rows"); \
        memcpy((rows)->row, array, sizeof(array));                                 \
        (rows)->count = LOB_COUNT(array);                                          \
    } while (0)

/*
 * A command of the program: its row in the table of tools/commands/commands.c. It is options, check
 * and work, which share settings; who calls it (tools/commands/commands.h) allocates these and does
 * all else: parsing, checking outputs, beginning to open the device, the report, the error's line.
 */
typedef struct lob_command {
    const char *name;
    const char *summary;     /* one line without a full stop */
    const char *description; /* paragraphs for --help, separated by '\n' */
    const char *examples;    /* command lines separated by '\n' */
    bool compares;           /* it may end with LOB_EDIFFER */
    bool registers;          /* it brings scans or labels from one scan to another */
    const char *result;      /* the number of its results that tells most; or NULL */
    const char *result_text; /* the words before it, where these are not its name; or NULL */

    size_t settings_bytes; /* all zero when options is called */
    /* Put defaults into the settings, and rows that lead to them into the table. */
    void (*options)(lob_rows *rows, void *settings);
    /* What options say of one another, and of names; reads nothing. May be NULL. */
    lob_status (*check)(lob_session *s, void *settings);
    /* Read, compute, write. */
    lob_status (*work)(lob_session *s, void *settings);
    /* Free what these have left in the settings, whatever they returned. May be NULL. */
    void (*release)(void *settings);
    /* What comes after the session, which ended with this exit code. Returns that of the command.
     * May be NULL. */
    int (*then)(void *settings, int exit_code);

    double voxel_ns;   /* it computes on the device; what a CPU thread takes for a voxel, with usual
                          options. 0: it does not, whatever the options are */
    bool runs_others;  /* it calls commands, or tests the machine, and cannot stand in a recipe */
    bool many;         /* it computes on several devices at once */
    bool shares;       /* several ranks can share its volume, */
    bool spreads;      /* and these can be GPUs of one machine; */
    const char *alone; /* else, what to do in one task instead; or NULL */
    bool refers;       /* its option --like may name the scan that a DICOM SEG refers to */
    const char *only_prints; /* the flag with which outputs are only named, so that they may exist;
                                --plan of those that share is one too */
    bool takes_line;         /* what stands behind "--" is a command line: lob_session.line */

    lob_host *host; /* in a copy of the row */
} lob_command;

/* In a command's row: the type of its settings, and what shares them. */
#define LOB_COMMAND_PARTS(settings, options_, check_, work_, release_)                       \
    .settings_bytes = sizeof(settings), .options = options_, .check = check_, .work = work_, \
    .release = release_

/* Who calls commands: see tools/commands/commands.h. Who called a recipe calls its lines. */
typedef struct {
    const lob_command *(*find)(const char *name);
    const char *(*nearest)(const char *name);
    int (*call)(const lob_command *command, int argc, char **argv);
    lob_status (*check)(const lob_command *command, int argc, char **argv);
} lob_caller;

enum { LOB_SESSION_STAGES = 32, LOB_SESSION_SUMS = 32, LOB_SESSION_AHEAD = 4 };

/* An input that a thread reads before it is asked for: see tools/inout/ahead.c. */
typedef struct lob_ahead lob_ahead;

/* The files of a path, opened for their checksums. */
typedef struct {
    const char *path; /* as the option has it */
    char *files[2];   /* as lob_files_of names them */
    lob_sha256 *of[2];
    cJSON *file;      /* the entry of inputs or outputs that they belong to; NULL: none yet */
    pthread_t thread; /* computes them, */
    bool running;     /* if this is true, */
    int stop;         /* until this is not 0 */
    bool ended;       /* text has been filled in; of is NULL */
    char text[2][LOB_SHA256_TEXT];
} lob_session_sum;

/* The files of an output. */
typedef struct {
    char *files[2]; /* as lob_files_of names them */
    char *path;     /* as its entry of the report has it; malloc'ed, as these are */
    bool is_new;    /* nothing was under these names before */
} lob_session_output;

struct lob_session {
    const lob_command *command;
    lob_host *host; /* NULL: the session has the process for itself */
    const lob_caller *caller;
    const lob_watcher *watcher;
    const lob_namer *namer;
    int argc;
    char **argv; /* after the command's name */
    char **line; /* of lob_command.takes_line: the words behind "--"; NULL: none */
    int line_count;
    lob_option_table table[2]; /* the command's own rows, then the common ones */
    lob_rows own;
    lob_option common[14];
    void *settings; /* of the command; malloc'ed */

    /* the common options */
    lob_device_choice device;
    int threads;
    int64_t max_memory; /* 0: no limit was given */
    bool force, skip_existing, quiet, verbose, provenance;
    const char *report_path;
    const char *series; /* of DICOM; NULL: none was named */
    bool help, version;
    bool spaced;      /* the command is told how large voxels are */
    bool only_prints; /* such a flag is given */

    const lob_backend *backend; /* the CPU's until lob_session_device */
    bool device_wanted;         /* of a recipe: some of its lines compute on it, */
    lob_opening *opening;       /* a thread that opens it; NULL: none */
    bool device_chosen;         /* and it is open, or the CPU serves */
    bool device_is_lent;        /* it is the recipe's */
    double cpu_s;               /* estimate of what was left to the CPU, of a recipe's lines too */
    lob_device_traffic start_traffic; /* of this thread when the session began */
    int64_t held, most_held;          /* bytes, of max_memory */
    lob_context context; /* threads, what is left of the memory, device and progress; hand it to the
                            algorithms */
    lob_converted *converted; /* what DICOM has become; of a recipe's lines, its own has it */
    lob_team *ranks;          /* that work on this command; NULL: this process is alone */
    lob_team *team;    /* those of them that have planes of the volume; NULL: not known yet, */
    lob_team narrowed; /* where they are */
    bool idle;         /* this one has none, and waits for the others to end */
    lob_error error;   /* hand it to whatever can fail */
    char failure[LOB_ERROR_LINE + 256]; /* once it has failed: the error's line with what to try */
    lob_status status;                  /* when lob_call_begin returned false, */
    int exit_code;                      /* and that of the command */
    /* Set before reading: inputs may be read again after lob_session_forget, so that a volume in
     * memory that nobody else reads is copied, not handed over. */
    bool reads_again;
    bool noted_shear;         /* of an output's axes, once for all of them */
    bool extra;               /* the option of lob_namer is given, */
    char *renamed;            /* and an output has this name, malloc'ed, NULL: none has, */
    const char *renamed_from; /* for what was typed, which points into argv; */
    const char *extra_role;   /* in reports, of files that no row names */

    /* what the report is made of */
    cJSON *inputs, *outputs, *notes;
    cJSON *past_provenance; /* of `lobule repeat`: by the names of outputs, what --provenance put
                          into them then; NULL: a command that is no repetition */
    cJSON *results; /* a JSON object that the command fills; in the report it is "results" */
    char device_why[LOB_ERROR_LINE];
    char started[32];
    double start_s;
    struct {
        const char *name;
        double seconds;
    } stage[LOB_SESSION_STAGES];
    int stages;
    double compute_s;            /* when lob_session_compute was called, */
    lob_device_traffic traffic;  /* and what this thread had copied then */
    lob_session_output *written; /* in the order of outputs, without volumes in memory */
    int outputs_written;
    lob_session_sum sum[LOB_SESSION_SUMS]; /* only with --report */
    int sums;
    lob_ahead *ahead[LOB_SESSION_AHEAD]; /* NULL: a free place */

    /* the progress bar */
    const char *doing;
    bool bar, bar_shown;
    bool tags; /* progress goes to standard output, as 3D Slicer reads it */
    double bar_time_s;
};

#endif
