/* Finding images in a dataset, and the manifest of them. */
#include "tools/commands/bids/bids_path.h"

#include "io/platform.h"
#include "tools/text/path.h"
#include "tools/text/text.h"

#include <stdlib.h>

/* Images that are found, and of which participants. */
typedef struct {
    const lob_bids_search *search;
    bool seen[LOB_WORDS + 1]; /* of participant, then of participants */
    int64_t count;
    lob_found paths;
    lob_text text;
} finder;

const char *lob_bids_bare(const char *label)
{
    return strncmp(label, "sub-", 4) == 0 ? label + 4 : label;
}

/* The i-th participant that was asked for; NULL: there are no more. */
static const char *asked_for(const lob_bids_search *search, int i)
{
    if (i == 0 || !search->participant) return search->participant;
    return i <= search->participants.count ? search->participants.word[i - 1] : NULL;
}

/* Is the image of a participant that was asked for? */
static bool is_wanted(finder *f, const char *name)
{
    bool wanted = !f->search->participant;
    const char *label;
    for (int i = 0; (label = asked_for(f->search, i)); i++) {
        label = lob_bids_bare(label);
        const size_t n = strlen(label);
        if (strncmp(name + 4, label, n) == 0 && name[4 + n] == '_') wanted = f->seen[i] = true;
    }
    return wanted;
}

static lob_status list_image(lob_session *s, finder *f, const char *image)
{
    const lob_bids_search *const search = f->search;
    const char *const name = lob_name_in_path(image);
    const size_t stem = strcspn(name, "."), root = strlen(search->dataset) + 1;
    size_t entities = stem;
    char *out;
    while (entities > 0 && name[entities - 1] != '_') entities--;
    if (!name[stem] && !lob_is_folder(image)) return LOB_OK;
    if (!is_wanted(f, name)) return LOB_OK;
    LOB_TRY(lob_bids_labels_path(&out, search->out, image, search->tool, &s->error));
    const struct {
        const char *text;
        size_t n;
    } cells[] = {
        {name,         stem                             },
        {image,        strlen(image)                    },
        {image + root, (size_t)(name - image) - 1 - root},
        {name,         entities > 0 ? entities - 1 : 0  },
        {out,          strlen(out)                      },
    };
    for (size_t i = 0; i < LOB_COUNT(cells); i++) {
        char *const cell = strndup(cells[i].text, cells[i].n);
        if (i) lob_text_add(&f->text, "\t", 1);
        if (cell) lob_text_add_cell(&f->text, cell, false);
        f->text.failed = f->text.failed || !cell;
        free(cell);
    }
    lob_text_add(&f->text, "\n", 1);
    free(out);
    f->count++;
    return LOB_OK;
}

/* dataset: as a pattern of itself alone. */
static lob_status find(lob_session *s, finder *f, const char *dataset)
{
    static const char *const places[] = {"sub-*/*/sub-*", "sub-*/ses-*/*/sub-*"};
    static const char *const endings[] = {".nii", ".nii.gz", ".ome.zarr",
                                          ""}; /* "": a folder of DICOM */
    const lob_bids_search *const search = f->search;
    for (size_t i = 0; i < LOB_COUNT(places) * LOB_COUNT(endings); i++) {
        char *const pattern = lob_printed("%s/%s_%s%s", dataset, places[i / LOB_COUNT(endings)],
                                          search->suffix, endings[i % LOB_COUNT(endings)]);
        if (!pattern) return lob_session_no_memory(s, search->dataset);
        lob_find_paths(&f->paths, pattern);
        free(pattern);
        if (f->paths.no_memory) return lob_session_no_memory(s, search->dataset);
        if (f->paths.refused)
            return lob_fail_file(&s->error, LOB_ENOINPUT, search->dataset,
                                 "a folder in it cannot be read; images could be missed");
    }
    return LOB_OK;
}

static lob_status list_images(lob_session *s, finder *f)
{
    const lob_bids_search *const search = f->search;
    const char *label;
    char *const dataset = lob_path_as_pattern(search->dataset);
    const lob_status found =
        dataset ? find(s, f, dataset) : lob_session_no_memory(s, search->dataset);
    free(dataset);
    LOB_TRY(found);
    lob_text_print(&f->text, "scan\timage\tfolder\tbids\tout\n");
    for (size_t i = 0; i < f->paths.count; i++) LOB_TRY(list_image(s, f, f->paths.paths[i]));
    for (int i = 0; (label = asked_for(search, i)); i++)
        if (!f->seen[i])
            return lob_fail_file(&s->error, LOB_ENOINPUT, search->dataset,
                                 "holds no image sub-%s_*%s.nii.gz", lob_bids_bare(label),
                                 search->suffix);
    if (f->count > 0) return LOB_OK;
    return lob_fail_file(&s->error, LOB_ENOINPUT, search->dataset, "holds no image sub-*_%s.nii.gz",
                         search->suffix);
}

lob_status lob_bids_manifest(lob_session *s, char **text, const lob_bids_search *search)
{
    finder f = {.search = search};
    const lob_status st = list_images(s, &f);
    lob_found_free(&f.paths);
    *text = lob_text_take(&f.text);
    if (st == LOB_OK && !*text) return lob_session_no_memory(s, search->dataset);
    if (st != LOB_OK) free(*text), *text = NULL;
    return st;
}
