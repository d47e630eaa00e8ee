/* What a session holds. Commands call the functions of session.h; the report reads it. */
#ifndef LOB_SESSION_STATE_H
#define LOB_SESSION_STATE_H

#include "io/io.h"
#include "io/planes.h"
#include "io/sha256.h"
#include "kernels/backends.h"
#include "kernels/context.h"
#include "kernels/device/device.h"
#include "tools/options/options.h"
#include "volumes/clock.h"

#include <cjson/cJSON.h>
#include <pthread.h>

#define LOB_COUNT(array) (sizeof(array) / sizeof(array)[0])

/* A line of a recipe: see tools/session/session_line.h. */
typedef struct lob_line lob_line;

/* A scan of a batch: see tools/session/session_part.h. */
typedef struct lob_part lob_part;

/* A GPU that a thread opens: see tools/session/session_device.h. */
typedef struct lob_opening lob_opening;

/* A command of the program: its row in the table of tools/commands/commands.c. */
typedef struct lob_command {
    const char *name;
    const char *summary;     /* one line without a full stop */
    const char *description; /* paragraphs for --help, separated by '\n' */
    const char *examples;    /* command lines separated by '\n' */
    bool compares;           /* it may end with LOB_EDIFFER */
    const char *result;      /* the number of its results that tells most, and */
    const char *result_text; /* the words before it: "voxels labelled"; or NULL */
    int (*run)(const struct lob_command *self, int argc, char **argv); /* returns the exit code */
    bool runs_others; /* it runs lines of a recipe, */
    bool nests;       /* and can stand in one itself */
    bool many;        /* it computes on several devices at once */
    lob_line *line;   /* in a copy of the row: the line of a recipe that it is run for, */
    lob_part *part;   /* or the scan of a batch */
} lob_command;

enum { LOB_SESSION_STAGES = 32, LOB_SESSION_SUMS = 32, LOB_SESSION_AHEAD = 4 };

/* An input that a thread reads before it is asked for: see tools/session/session_ahead.h. */
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

typedef struct lob_session {
    const lob_command *command;
    int argc;
    char **argv;               /* after the command's name */
    lob_option_table table[2]; /* the command's own rows, then the common ones */
    lob_option common[13];

    /* the common options */
    lob_device_choice device;
    int threads;
    int64_t max_memory; /* 0: no limit was given */
    bool force, skip_existing, quiet, verbose, provenance, bids;
    char *bids_path;         /* of labels that --bids has named; else NULL, */
    const char *bids_folder; /* in the folder that was typed, which points into argv */
    const char *report_path;
    bool help, version;

    const lob_backend *backend;       /* the CPU's until lob_session_device */
    bool device_wanted;               /* of a recipe: some of its lines compute on it, */
    lob_opening *opening;             /* a thread that opens it; NULL: none */
    bool device_chosen;               /* and it is open, or the CPU serves */
    bool device_is_lent;              /* it is the recipe's */
    lob_device_traffic start_traffic; /* of this thread when the session began */
    int64_t held;                     /* bytes that count against max_memory, */
    int64_t most_held;                /* and the most that they were */
    lob_context context; /* threads, what is left of the memory, device and progress; hand it to the
                            algorithms */
    lob_error error;     /* hand it to whatever can fail */
    int exit_code;       /* when lob_session_begin returned false */
    bool noted_shear;    /* of an output's axes, once for all of them */
    bool checked;        /* a line of a recipe whose check has come to the work */

    /* what the report is made of */
    cJSON *inputs, *outputs, *notes;
    cJSON *past_provenance; /* of `lobule repeat`: by the names of outputs, what --provenance put
                          into them then; NULL: a command that is no repetition */
    cJSON *results; /* a JSON object that the command fills; in the report it is "results" */
    char device_why[512];
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
} lob_session;

#endif
