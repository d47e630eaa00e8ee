/* Names and places of files in BIDS. */
#include "tools/commands/bids/bids_path.h"

#include "io/platform.h"
#include "tools/text/text.h"

#include <string.h>

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

void lob_bids_label(char label[LOB_BIDS_LABEL], const char *name)
{
    size_t n = 0;
    for (; *name && *name != '.' && n + 1 < LOB_BIDS_LABEL; name++)
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", *name))
            label[n++] = *name;
    label[n] = '\0';
}

/* The last folder of a path whose name starts with sub-; NULL: none does. */
static const char *subject_in(const char *path)
{
    const char *found = NULL;
    for (const char *at = path, *slash; (slash = strchr(at, '/')); at = slash + 1)
        if (starts(at, "sub-")) found = at;
    return found;
}

char *lob_bids_root(const char *path)
{
    const char *const subject = subject_in(path);
    if (!subject) return NULL;
    if (subject == path) return strdup(".");
    const size_t n = (size_t)(subject - path);
    return strndup(path, n > 1 ? n - 1 : 1); /* "/" keeps its slash */
}

/* How long an entity such as sub-01 is at the beginning of a name. */
static int entity(const char *name, const char *key)
{
    return starts(name, key) ? (int)strcspn(name, "_.") : 0;
}

lob_status lob_bids_labels_path(char **path, const char *root, const char *image, const char *tool,
                                lob_error *error)
{
    const char *const name = lob_name_in_path(image);
    const int subject = entity(name, "sub-");
    *path = NULL;
    if (subject <= 4 || name[subject] != '_')
        return lob_fail(error, LOB_EARG,
                        "--bids: %s: names in BIDS begin with sub-LABEL_, as sub-01_T1w.nii.gz; "
                        "name the output *_dseg.nii.gz instead of a folder",
                        image);
    const char *const next = name + subject + 1;
    const int session = entity(next, "ses-");
    const size_t stem = strcspn(name, ".");
    size_t entities = stem; /* without the suffix */
    while (entities > 0 && name[entities - 1] != '_') entities--;

    /* the folder of the image, where that is one of a kind of data */
    const int dir = (int)(name - image) - 1;
    int kind = dir > 0 ? dir : 0;
    while (kind > 0 && image[kind - 1] != '/') kind--;
    const bool named = dir > kind && !starts(image + kind, "sub-") &&
                       !starts(image + kind, "ses-") && subject_in(image);
    *path = lob_printed("%s/%.*s/%.*s%s%.*s/%.*sdesc-%s_dseg.nii.gz", root, subject, name, session,
                        next, session ? "/" : "", named ? dir - kind : 4,
                        named ? image + kind : "anat", (int)entities, name, tool);
    return *path ? LOB_OK : lob_fail(error, LOB_ENOMEM, "out of memory");
}

/* Where the ending .nii or .nii.gz begins; NULL: there is none. */
static const char *ending_of(const char *path)
{
    static const char *const endings[] = {".nii", ".nii.gz"};
    const size_t n = strlen(path);
    for (int i = 0; i < 2; i++) {
        const size_t k = strlen(endings[i]);
        if (n > k && strcmp(path + n - k, endings[i]) == 0) return path + n - k;
    }
    return NULL;
}

bool lob_bids_is_dseg(const char *path)
{
    const char *const ending = ending_of(path);
    return ending && ending - path >= 5 && memcmp(ending - 5, "_dseg", 5) == 0;
}

char *lob_bids_beside(const char *path, const char *ending)
{
    const char *const end = ending_of(path);
    const int n = (int)(end ? end - path : (long)strlen(path));
    return lob_printed("%.*s%s", n, path, ending);
}
