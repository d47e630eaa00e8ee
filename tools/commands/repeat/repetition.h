/* What the files of `lobule repeat` share. */
#ifndef LOB_REPETITION_H
#define LOB_REPETITION_H

#include "tools/commands/repeat/past_report.h"
#include "tools/recipe/recipe_job.h"

/* An output, and the name that it gets instead. */
typedef struct {
    char *from; /* as it was typed */
    char *to;   /* absolute */
    bool is_volume;
} lob_moved;

typedef struct {
    lob_moved *files;
    int count;
    char **words; /* of the job's lines, that have new names */
    int word_count;
} lob_moves;

/*
 * Give every output file of a job's lines its last name in another folder, and an input that a line
 * before makes likewise. Where two outputs would meet, the later one goes to a folder of its own
 * there: FOLDER/2/labels.nii.gz. Volumes in memory and standard output stay as they are.
 *
 *   moves   out  overwritten, so it must hold nothing; to be freed whatever is returned, and not
 *                before the job's last use
 *   job     in   made, neither checked nor run; its lines' commands are parsed
 *   folder  in   absolute
 *
 * Returns LOB_OK, LOB_EDATA (arguments that a command does not take, or a file that is both) or
 * LOB_ENOMEM, with the text in job->run->error.
 */
lob_status lob_outputs_move(lob_moves *moves, lob_recipe_job *job, const char *folder);

void lob_moves_free(lob_moves *moves);

/* Make the folders that the new names need. Returns LOB_OK, LOB_ECREATE or LOB_ENOMEM. */
lob_status lob_moves_make_folders(const lob_moves *moves, lob_error *error);

/* Remove those folders, which must be empty. */
void lob_moves_remove_folders(const lob_moves *moves);

typedef struct {
    const char *report, *scan, *from, *out;
    bool methods, dry_run, any_version;

    lob_past_report past;
    char *name;        /* of the report's file */
    lob_recipe recipe; /* what was done then */
    lob_recipe_job job;
    char *folder;    /* for the outputs, from the root on */
    bool was_made;   /* the folder is ours */
    lob_moves moves; /* outputs and their new names */
} lob_repetition;

/* Do all inputs have the SHA-256 that the report says? */
lob_status lob_repeat_check_inputs(lob_session *s, const lob_repetition *r);

/* The new name of an output; NULL: it has none. */
const lob_moved *lob_repeat_moved(const lob_repetition *r, const char *path);

/* Say of each output whether it is the same. Returns LOB_OK, LOB_EDIFFER or LOB_ENOMEM. */
lob_status lob_repeat_compare(lob_session *s, const lob_repetition *r);

#endif
