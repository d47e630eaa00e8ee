/* The options of `lobule run`, for those who run recipes as it does. */
#ifndef LOB_CMD_RUN_H
#define LOB_CMD_RUN_H

#include "tools/session/session.h"

typedef struct {
    const char *recipe;
    lob_words given;
    bool list, dry_run;
    lob_option rows[4];
} lob_run_options;

/* lob_session_begin with these options, which must outlive the session. */
bool lob_run_begin(lob_session *s, lob_run_options *options, const lob_command *command, int argc,
                   char **argv);

#endif
