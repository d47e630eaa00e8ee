/*
 * The commands of the program, a cmd_NAME.c each, and the table of them. A command has options,
 * check and work (lob_command); all else is done by who calls it: the program calls one, a recipe
 * its lines, a batch its scans.
 */
#ifndef LOB_COMMANDS_H
#define LOB_COMMANDS_H

#include "tools/inout/volumes.h"
#include "tools/options/manual.h"

extern const lob_command lob_command_appearance, lob_command_batch, lob_command_bids,
    lob_command_carry, lob_command_cells, lob_command_check, lob_command_compare,
    lob_command_components, lob_command_convert, lob_command_crop, lob_command_distance,
    lob_command_doctor, lob_command_filter, lob_command_fuse, lob_command_growcut, lob_command_info,
    lob_command_labels, lob_command_maxima, lob_command_merge, lob_command_phantom,
    lob_command_preview, lob_command_refine, lob_command_register, lob_command_repeat,
    lob_command_resample, lob_command_run, lob_command_seeds, lob_command_segment,
    lob_command_stats, lob_command_supervoxels, lob_command_threshold, lob_command_warp;

/* The commands of one task, and NULL. */
typedef struct {
    const char *task;
    const lob_command *commands[8];
} lob_command_group;

/* All of them, in the order in which help lists them; the last group's task is NULL. */
extern const lob_command_group lob_command_groups[];

/* The command after this one in the table, or NULL; after NULL the first. */
const lob_command *lob_next_command(const lob_command *command);

/* The command of this name, or NULL. */
const lob_command *lob_find_command(const char *name);

/* The name of the command that is closest to a misspelt one, or NULL when none is close. */
const char *lob_nearest_command(const char *name);

/* ---- calling one: call.c ---- */

/*
 * Parse, check, work, report. In a copy of a command's row, host says what it runs in.
 *
 *   argv  in  argc arguments after the command's name
 *
 * Prints the line that says what is wrong, unless there is a host to do it. Returns the exit code;
 * after SIGINT, SIGTERM or SIGHUP it lets the signal end the process instead.
 */
int lob_call(const lob_command *command, int argc, char **argv);

/*
 * The two ends of lob_call, for those who do the work themselves. Parse the arguments and make
 * everything ready: signals, report; outputs are checked (suffix, folder, not there yet, not an
 * input, not named twice).
 *
 * Returns false when the command is over: help or version was printed, or the line that says what
 * is wrong; s->exit_code is then the command's exit code and lob_call_end must not be called.
 */
bool lob_call_begin(lob_session *s, const lob_command *command, int argc, char **argv);

/*
 * Remove outputs that a failed command had already made, write the report, print the error line if
 * there is one, free the session. Returns the exit code, as lob_call does.
 */
int lob_call_end(lob_session *s, lob_status status);

/* ---- the options of a session: common_options.c ---- */

/* Make the command's settings, with the rows of its table. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_options_own(lob_session *s);

/* Add the rows that all commands have. */
void lob_options_common(lob_session *s);

/* Which arguments are no options; NULL: each may be one. */
const bool *lob_session_values(const lob_session *s);

/* What the arguments ask the command to print about itself, or NULL. They are looked at before any
 * value is parsed, so that the variables still hold the defaults. */
lob_manual_fn *lob_options_asked_for(const lob_session *s);
lob_status lob_options_print_about(lob_session *s, lob_manual_fn *print);

#endif
