/* lobule bids: a BIDS App, which is a batch over the images of a dataset. */
#include "io/file.h"
#include "io/platform.h"
#include "tools/commands/bids/bids_path.h"
#include "tools/commands/commands.h"
#include "tools/text/path.h"
#include "tools/text/text.h"
#include "volumes/free.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    lob_bids_search search;
    int level, jobs;
    const char *recipe;
    bool resume, fail_fast;
    char *const *line; /* lob_session.line, without the word lobule */
    int line_count;
    bool out_is_new;             /* there was no OUT */
    char *log, *manifest, *text; /* names, and what goes into the manifest */
    lob_arguments batch;
} settings;

enum { PARTICIPANT, GROUP };

/* ---- the batch ---- */

static lob_status check(lob_session *s, void *user)
{
    settings *const set = user;
    set->line = s->line;
    set->line_count = s->line_count;
    if (set->line_count > 1 && strcmp(set->line[0], "lobule") == 0) set->line++, set->line_count--;
    if (set->search.participants.count > 0 && !set->search.participant)
        return lob_fail(&s->error, LOB_EARG, "'%s' is one word too many",
                        set->search.participants.word[0]);
    if (!lob_is_folder(set->search.dataset))
        return lob_fail_file(&s->error, LOB_ENOINPUT, set->search.dataset, "is no folder");
    if (set->level == GROUP) return LOB_OK;
    if (set->line ? set->recipe || set->line_count == 0 : !set->recipe)
        return lob_fail(&s->error, LOB_EARG,
                        "what is to be done? Give --recipe FILE, or one command behind --, as in: "
                        "lobule bids raw out participant -- threshold {image} -o {out} --otsu 2");
    return LOB_OK;
}

/* The words of `lobule batch` for a manifest. */
static void put_together(lob_session *s, settings *set)
{
    lob_arguments *const c = &set->batch;
    char text[4200]; /* a path and more */
    /* no name is an option of the batch */
    if (!set->line) lob_arguments_add(c, "%s%s", set->recipe[0] == '-' ? "./" : "", set->recipe);
    lob_arguments_add(c, "%s%s", set->manifest[0] == '-' ? "./" : "", set->manifest);
    lob_arguments_add(c, "--log=%s", set->log);
    lob_arguments_add(c, "--out=%s", set->search.out); /* whose folders it makes */
    if (set->resume) lob_arguments_add(c, "--resume");
    if (set->fail_fast) lob_arguments_add(c, "--fail-fast");
    if (set->jobs > 0) lob_arguments_add(c, "--jobs=%d", set->jobs);
    for (size_t i = 0; i < s->table[1].count; i++) { /* the common options */
        const lob_option *const row = &s->table[1].rows[i];
        const bool flag = row->kind == LOB_OPT_FLAG;
        const char *value = flag ? "" : text;
        lob_option_text(text, sizeof text, row);
        if (row->kind == LOB_OPT_TEXT) value = *(const char *const *)row->target; /* any length */
        if (text[0]) lob_arguments_add(c, "--%s%s%s", row->name, flag ? "" : "=", value);
    }
    if (!set->line) return;
    lob_arguments_add(c, "--");
    for (int i = 0; i < set->line_count; i++) lob_arguments_add(c, "%s", set->line[i]);
    lob_arguments_add(c, "--bids");
}

/* Has a batch of all participants been begun? */
static bool has_batch(const settings *set)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/code/%s/status.tsv", set->search.out, set->search.tool);
    return lob_is_there(path);
}

/* Where the batch's log and manifest go. One participant alone has a log of its own, so that jobs
 * of a cluster can each take one; to resume is to go on with the batch of all where there is one.
 */
static lob_status name_places(lob_session *s, settings *set)
{
    const bool alone = set->search.participant && set->search.participants.count == 0 &&
                       !(set->resume && has_batch(set));
    set->log =
        lob_printed("%s/code/%s%s%s", set->search.out, set->search.tool, alone ? "_sub-" : "",
                    alone ? lob_bids_bare(set->search.participant) : "");
    set->manifest = set->log ? lob_printed("%s.tsv", set->log) : NULL;
    return set->manifest ? LOB_OK : lob_session_no_memory(s, set->search.out);
}

/* Write the manifest of the images into the output's folder for what makes it. */
static lob_status plan(lob_session *s, void *user)
{
    settings *const set = user;
    const lob_bids_search *const search = &set->search;
    char path[2 * PATH_MAX];
    if (set->level == GROUP) {
        lob_session_note(s,
                         "group: there is nothing to do at this level; regions.tsv of all "
                         "participants is in code/NAME of %s",
                         search->out);
        return LOB_OK;
    }
    /* a folder that is no dataset yet is taken, but other BIDS Apps refuse it */
    snprintf(path, sizeof path, "%s/dataset_description.json", search->dataset);
    if (!lob_is_there(path))
        lob_session_note(s, "%s: has no dataset_description.json, which a BIDS dataset has",
                         search->dataset);
    set->out_is_new = !lob_is_there(search->out);
    const char *const from = set->line ? set->line[0] : set->recipe;
    lob_bids_label(set->search.tool, lob_name_in_path(from));
    if (!set->search.tool[0])
        return lob_fail_file(&s->error, LOB_EARG, from,
                             "outputs take the letters and digits of its name, and it has none");
    LOB_TRY(lob_bids_manifest(s, &set->text, search));
    LOB_TRY(name_places(s, set));
    if (!lob_make_folders(set->manifest))
        return lob_fail_file(&s->error, LOB_ECREATE, set->manifest, "its folder cannot be made");
    const lob_output_part part = {set->text, strlen(set->text)};
    LOB_TRY(lob_output_whole(set->manifest, true, &part, 1, &s->error));
    put_together(s, set);
    s->report_path = NULL; /* the batch writes it */
    return set->batch.failed ? LOB_ENOMEM : LOB_OK;
}

/* Leave no OUT, where there was none, when the batch was refused before its first scan. */
static void clean_up(const settings *set)
{
    char folder[2 * PATH_MAX];
    if (lob_is_there(set->log)) return;
    lob_remove_file(set->manifest);
    if (!set->out_is_new) return;
    snprintf(folder, sizeof folder, "%s/code", set->search.out);
    lob_remove_folder(folder);
    lob_remove_folder(set->search.out);
}

static int do_batch(void *user, int exit_code)
{
    settings *const set = user;
    if (exit_code == 0 && set->level != GROUP) {
        exit_code = lob_call(&lob_command_batch, set->batch.count, set->batch.word);
        clean_up(set);
    }
    lob_arguments_free(&set->batch);
    LOB_FREE(set->manifest, set->log, set->text);
    return exit_code;
}

static void options(lob_rows *to, void *user)
{
    settings *const set = user;
    set->search.suffix = "T1w";
    const lob_option rows[] = {
        OPT_TEXT("BIDS_DIR", &set->search.dataset, "FOLDER", "the dataset", .operand = true,
                 .required = true),
        OPT_TEXT("OUT", &set->search.out, "FOLDER",
                 "the dataset of derivatives, which is made where it is not", .operand = true,
                 .required = true),
        OPERAND_CHOICE("LEVEL", &set->level, "participant|group", "level of the analysis",
                       .required = true),
        OPT_TEXT("recipe", &set->recipe, "FILE",
                 "recipe, or the name of one that is installed; its lines have {image}, {out}, "
                 "{folder}, {bids} and {scan}, and --bids in a line writes the files beside its "
                 "labels",
                 .content = LOB_FILE_RECIPE),
        OPT_TEXT("participant-label", &set->search.participant, "LABEL",
                 "only this participant, with or without sub-, and those that follow"),
        OPT_TEXT(
            "suffix", &set->search.suffix, "SUFFIX",
            "images that are taken: sub-*_SUFFIX.nii.gz or .ome.zarr, or such folders of DICOM"),
        OPT_FLAG("resume", &set->resume,
                 "go on: skip what is done and has not changed since, as lobule batch does"),
        OPT_FLAG("fail-fast", &set->fail_fast, "begin no scan once one has failed"),
        OPT_INT("jobs", &set->jobs, "N", 1, 4096, "scans at a time"),
        OPERAND_WORDS("LABEL", &set->search.participants, "more labels after --participant-label"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_bids = {
    .name = "bids",
    .summary = "run a command over a BIDS dataset, as a BIDS App",
    .description =
        "Finds the images of a dataset in the Brain Imaging Data Structure and does `lobule batch` "
        "with them: a recipe, or the command behind --, to which --bids is added. Labels go to OUT "
        "as sub-LABEL/ses-LABEL/anat/sub-LABEL_ses-LABEL_desc-NAME_dseg.nii.gz, NAME being that of "
        "the command or the recipe, with a .json of sources and parameters and a .tsv of labels "
        "beside them; OUT gets a dataset_description.json.\n"
        "The manifest of the images is OUT/code/NAME.tsv, and the status table, reports and page "
        "of the batch are in OUT/code/NAME; of one participant alone NAME_sub-LABEL, so that "
        "several can be done at the same time. --resume goes on after an interruption. Strokes and "
        "other inputs can lie in a dataset of their own, and the line then names them with "
        "{folder} and {bids}: strokes/{folder}/{bids}_desc-strokes_dseg.nii.gz.\n"
        "At the level group there is nothing to do.\n"
        "The exit code is that of `lobule batch`; 66 where there is no image, or none of a "
        "participant that is named.",
    .examples =
        "lobule bids raw derivatives/lobule participant -- threshold {image} -o {out} --otsu 2\n"
        "lobule bids raw derivatives/lobule participant --participant-label 01 02 -- segment "
        "{image} strokes/{folder}/{bids}_desc-strokes_dseg.nii.gz -o {out}",
    .settings_bytes = sizeof(settings),
    .options = options,
    .check = check,
    .work = plan,
    .then = do_batch,
    .takes_line = true,
    .runs_others = true,
    .many = true,
};
