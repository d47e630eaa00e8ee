/*
 * The commands of the program, a cmd_NAME.c each, and the table of them. A command has options,
 * check and work (lob_command); all else is done by who calls it: the program calls one, a recipe
 * its lines, a batch its scans.
 */
#ifndef LOB_COMMANDS_H
#define LOB_COMMANDS_H

#include "tools/inout/volumes.h"

extern const lob_command lob_command_appearance;
extern const lob_command lob_command_batch;
extern const lob_command lob_command_bids;
extern const lob_command lob_command_carry;
extern const lob_command lob_command_cells;
extern const lob_command lob_command_check;
extern const lob_command lob_command_compare;
extern const lob_command lob_command_components;
extern const lob_command lob_command_convert;
extern const lob_command lob_command_crop;
extern const lob_command lob_command_doctor;
extern const lob_command lob_command_filter;
extern const lob_command lob_command_distance;
extern const lob_command lob_command_fuse;
extern const lob_command lob_command_growcut;
extern const lob_command lob_command_info;
extern const lob_command lob_command_labels;
extern const lob_command lob_command_maxima;
extern const lob_command lob_command_merge;
extern const lob_command lob_command_phantom;
extern const lob_command lob_command_preview;
extern const lob_command lob_command_refine;
extern const lob_command lob_command_register;
extern const lob_command lob_command_repeat;
extern const lob_command lob_command_resample;
extern const lob_command lob_command_run;
extern const lob_command lob_command_segment;
extern const lob_command lob_command_seeds;
extern const lob_command lob_command_stats;
extern const lob_command lob_command_supervoxels;
extern const lob_command lob_command_threshold;
extern const lob_command lob_command_warp;

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

/* Parse and check alone: what its options and the names of its files say. Reads nothing. */
lob_status lob_call_check(const lob_command *command, int argc, char **argv);

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

#endif
