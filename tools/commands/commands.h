/* The commands of the program, one file each, and the table of them. */
#ifndef LOB_COMMANDS_H
#define LOB_COMMANDS_H

#include "tools/commands/call.h"
#include "tools/inout/volumes.h"

extern const lob_command lob_command_appearance;
extern const lob_command lob_command_batch;
extern const lob_command lob_command_bids;
extern const lob_command lob_command_cells;
extern const lob_command lob_command_check;
extern const lob_command lob_command_compare;
extern const lob_command lob_command_components;
extern const lob_command lob_command_convert;
extern const lob_command lob_command_crop;
extern const lob_command lob_command_doctor;
extern const lob_command lob_command_filter;
extern const lob_command lob_command_distance;
extern const lob_command lob_command_growcut;
extern const lob_command lob_command_info;
extern const lob_command lob_command_labels;
extern const lob_command lob_command_maxima;
extern const lob_command lob_command_merge;
extern const lob_command lob_command_phantom;
extern const lob_command lob_command_preview;
extern const lob_command lob_command_refine;
extern const lob_command lob_command_repeat;
extern const lob_command lob_command_resample;
extern const lob_command lob_command_run;
extern const lob_command lob_command_segment;
extern const lob_command lob_command_seeds;
extern const lob_command lob_command_stats;
extern const lob_command lob_command_supervoxels;
extern const lob_command lob_command_threshold;

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

#endif
