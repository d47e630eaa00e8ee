/* What the files of `lobule repeat` share. */
#ifndef LOB_REPETITION_H
#define LOB_REPETITION_H

#include "tools/commands/repeat/moved_outputs.h"
#include "tools/commands/repeat/past_report.h"
#include "tools/recipe/recipe_job.h"

typedef struct {
    const char *report, *scan, *from, *out;
    bool methods, dry_run, any_version;
} lob_repeat_settings;

/* What is done again. */
typedef struct {
    lob_repeat_settings set; /* first */
    lob_past_report past;
    char *name;  /* of the report's file */
    char *lines; /* that were done then, */
    char *moved; /* and as they are done now */
    lob_recipe recipe;
    lob_recipe_job job; /* of one of these */
    char *folder;       /* for the outputs, from the root on */
    bool was_made;      /* the folder is ours */
    lob_moves moves;    /* outputs and their new names */
} lob_repetition;

/* Do all inputs have the SHA-256 that the report says? */
lob_status lob_repeat_check_inputs(lob_session *s, const lob_repetition *r);

/* The new name of an output; NULL: it has none. */
const lob_moved *lob_repeat_moved(const lob_repetition *r, const char *path);

/* Say of each output whether it is the same. Returns LOB_OK, LOB_EDIFFER or LOB_ENOMEM. */
lob_status lob_repeat_compare(lob_session *s, const lob_repetition *r);

#endif
