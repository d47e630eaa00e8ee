/* What reading and writing by outside programs share. */
#include "io/dicom/dicom_run.h"

#include "io/dicom/outside_program.h"
#include "io/folder.h"
#include "io/format.h"
#include "io/platform.h"
#include "volumes/free.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const lob_dicom_program
    lob_dcm2niix =
        {"dcm2niix",
         "`apt install dcm2niix`, `pip install dcm2niix` or `conda install -c conda-forge "
         "dcm2niix` brings it"},
    lob_segimage2itkimage = {"segimage2itkimage", "`pip install dcmqi` brings it"},
    lob_itkimage2segimage = {"itkimage2segimage", "`pip install dcmqi` brings it"};

char *lob_dicom_links(const lob_scratch *scratch, const lob_dicom_series *series, const char *path,
                      lob_error *error)
{
    char *const folder = lob_scratch_folder(scratch, "in");
    bool made = folder != NULL;
    for (int64_t i = 0; i < series->file_count && made; i++) {
        char name[32];
        snprintf(name, sizeof name, "%08lld.dcm", (long long)i);
        made = lob_scratch_link(folder, name, series->files[i]);
    }
    if (made) return folder;
    lob_fail_file(error, LOB_ECREATE, path, "no temporary folder for its conversion: %s",
                  ERRNO_TEXT(errno));
    free(folder);
    return NULL;
}

void lob_program_heard(lob_program_end *end, const char *bytes, size_t n)
{
    const size_t room = sizeof end->text - 1, used = strlen(end->text);
    const size_t drop = used + n > room ? used + n - room : 0;
    memmove(end->text, end->text + drop, used - drop);
    memcpy(end->text + used - drop, bytes, n);
    end->text[used - drop + n] = '\0';
}

static bool says_error(const char *line, size_t n)
{
    static const char word[] = "error";
    for (size_t i = 0; i + sizeof word - 1 <= n; i++)
        if (strncasecmp(line + i, word, sizeof word - 1) == 0) return true;
    return false;
}

/* The last line that says something: the last with "error" in it, or else the last. */
static char *last_line(char *out, int size, const char *text)
{
    const char *last = NULL;
    size_t length = 0;
    bool is_error = false;
    for (const char *at = text; *at;) {
        at += strspn(at, " \t\r\n");
        const size_t n = strcspn(at, "\r\n");
        const bool is = says_error(at, n);
        if (n > 0 && (is || !is_error)) {
            last = at;
            length = n;
            is_error = is;
        }
        at += n;
    }
    snprintf(out, (size_t)size, "%.*s", (int)length, last ? last : "");
    return out;
}

/* Put the file that a link leads to in the place of the link's name, "../in/00000003.dcm". */
static void name_file(char *line, int size, const lob_dicom_series *series)
{
    char *const link = strstr(line, "../in"), rest[600], *end;
    const long long i = link && link[5] ? strtoll(link + sizeof "../in", &end, 10) : -1;
    if (i < 0 || i >= series->file_count || strncmp(end, ".dcm", 4) != 0) return;
    snprintf(rest, sizeof rest, "%s%s", series->files[i], end + 4);
    snprintf(link, (size_t)(size - (link - line)), "%s", rest);
}

/* What a program says, without the names of our folders. */
static lob_status tell_failure(const lob_dicom_run *run, const lob_program_end *end,
                               lob_error *error)
{
    char line[600];
    const char *const name = run->program->name;
    last_line(line, sizeof line / 2, end->text);
    name_file(line, sizeof line, run->series);
    switch (end->fate) {
    case LOB_PROGRAM_STOPPED:
        return lob_fail_file(error, LOB_ECANCEL, run->path, "cancelled");
    case LOB_PROGRAM_LATE:
        return lob_fail_file(error, LOB_EDATA, run->path, "%s takes too long over it", name);
    case LOB_PROGRAM_NONE:
        return lob_fail_file(error, LOB_EDATA, run->path, "%s cannot be run: %s", name,
                             line[0] ? line : "it does not start");
    case LOB_PROGRAM_CRASHED:
        return lob_fail_file(error, LOB_EDATA, run->path, "%s breaks down over it%s%s", name,
                             line[0] ? ": " : "", line);
    case LOB_PROGRAM_DONE:
        break;
    }
    return lob_fail_file(error, LOB_EDATA, run->path, "%s fails on it with exit code %d%s%s", name,
                         end->exit_code, line[0] ? ": " : "", line);
}

lob_status lob_dicom_run_it(char *text, const lob_dicom_run *run, lob_error *error)
{
    enum { SECONDS = 1800 };
    /* Compressed images grow, so much at the most: blank ones. */
    static const int64_t growth = 512, file_least = (int64_t)1 << 28,
                         memory_least = (int64_t)1 << 32;
    const char *words[LOB_DICOM_WORDS + 1] = {lob_program_find(run->program->name)};
    if (!words[0])
        return lob_fail_file_hint(error, LOB_EDATA, LOB_HINT_CONVERT, run->path,
                                  "is DICOM, for which %s is needed, and it is not installed; %s",
                                  run->program->name, run->program->advice);
    memcpy(words + 1, run->words, sizeof run->words);
    lob_program_end *const end = malloc(sizeof *end);
    lob_status st = LOB_OK;
    if (end) {
        const lob_program program = {.words = words,
                                     .folder = run->folder,
                                     .seconds = SECONDS,
                                     .file_bytes = file_least + growth * run->bytes,
                                     .memory = memory_least + 2 * growth * run->bytes,
                                     .stop = run->stop,
                                     .user = run->user};
        lob_program_run(end, &program);
        if (end->fate != LOB_PROGRAM_DONE || end->exit_code != 0)
            st = tell_failure(run, end, error);
        if (text) memcpy(text, end->text, sizeof end->text);
    } else {
        st = lob_fail_file(error, LOB_ENOMEM, run->path, "no memory");
    }
    LOB_FREE(end, (char *)words[0]);
    return st;
}

bool lob_dicom_found(char ***names, int64_t *count, const char *folder, const char *suffix)
{
    int64_t all, kept = 0;
    const bool whole = lob_folder_names(names, &all, folder);
    for (int64_t i = 0; i < all; i++)
        if (lob_has_suffix((*names)[i], suffix))
            (*names)[kept++] = (*names)[i];
        else
            free((*names)[i]);
    *count = kept;
    return whole;
}
