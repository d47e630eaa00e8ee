/* The outputs of a job's lines under other names. */
#ifndef LOB_MOVED_OUTPUTS_H
#define LOB_MOVED_OUTPUTS_H

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

#endif
