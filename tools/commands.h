/* The commands of the program, one file each. */
#ifndef LOB_COMMANDS_H
#define LOB_COMMANDS_H

#include "tools/session.h"

extern const lob_command lob_command_compare;
extern const lob_command lob_command_components;
extern const lob_command lob_command_convert;
extern const lob_command lob_command_growcut;
extern const lob_command lob_command_info;
extern const lob_command lob_command_phantom;
extern const lob_command lob_command_preview;
extern const lob_command lob_command_stats;
extern const lob_command lob_command_supervoxels;

#endif
