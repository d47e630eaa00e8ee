/* The series of DICOM in a folder: what they are, and which files belong to them. */
#include "io/dicom/dicom_series.h"

#include "io/file.h"
#include "io/folder.h"
#include "io/format.h"
#include "io/platform.h"
#include "volumes/free.h"
#include "volumes/lists.h"
#include "volumes/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFLATED "is deflated DICOM; `dcmconv +te OLD NEW` makes of each file one that can be read"

enum {
    DEPTH = 5,       /* folders below the one that is named */
    LOOKED_AT = 256, /* files, until a folder is taken for none of DICOM */
    MAX_SERIES = 4096
};

/* Its header, and whether it says that it is DICOM; false: it is none, or names no series. */
static bool read_header(lob_dicom_header *header, const char *path, int64_t *bytes, bool *says)
{
    lob_input file;
    *header = (lob_dicom_header){.number = -1};
    *says = false;
    if (lob_input_open(&file, path, NULL) != LOB_OK) return false;
    const bool is = lob_dicom_header_parse(header, file.bytes, file.size);
    *says = lob_dicom_header_is(file.bytes, file.size);
    *bytes = (int64_t)file.size;
    lob_input_close(&file);
    return is;
}

static lob_visit look(void *user, const char *path, const lob_about *about)
{
    (void)about;
    int *const left = user;
    lob_dicom_header header;
    int64_t bytes;
    bool says;
    if (read_header(&header, path, &bytes, &says) || says) return LOB_VISIT_ENOUGH;
    return --*left > 0 ? LOB_VISIT_ON : LOB_VISIT_FAILED;
}

bool lob_dicom_is_folder(const char *path)
{
    int left = LOOKED_AT;
    return lob_folder_walk(path, DEPTH, look, &left) == LOB_VISIT_ENOUGH;
}

/* ---- listing ---- */

typedef struct {
    lob_dicom_list *list;
    const char *only; /* the UID of a series; NULL: all */
    int (*stop)(void *user);
    void *user;
    lob_error *error;
    bool deflated;  /* some file is */
    char **damaged; /* files, malloc'ed, as these are */
    int damaged_count;
    lob_status status;
} lister;

static lob_visit fail(lister *l, lob_status status)
{
    l->status = status;
    return LOB_VISIT_FAILED;
}

/* The entry of a header's series, a new one if need be; NULL: no memory, or too many. */
static lob_dicom_series *series_of(lob_dicom_list *list, const lob_dicom_header *header)
{
    for (int i = list->count - 1; i >= 0; i--) /* files of a series mostly follow one another */
        if (strcmp(list->series[i].uid, header->series) == 0) return &list->series[i];
    if (list->count == MAX_SERIES) return NULL;
    if (!lob_grow(&list->series, list->count, sizeof *list->series)) return NULL;
    lob_dicom_series *const made = &list->series[list->count];
    *made = (lob_dicom_series){.number = header->number,
                               .rows = header->plane.rows,
                               .columns = header->plane.columns,
                               .is_segmentation = header->is_segmentation,
                               .description = lob_utf8_clean(header->description)};
    if (!made->description) return NULL;
    memcpy(made->uid, header->series, sizeof made->uid);
    memcpy(made->modality, header->modality, sizeof made->modality);
    memcpy(made->date, header->date, sizeof made->date);
    list->count++;
    return made;
}

static lob_status add_folder(lob_dicom_series *s, const char *path)
{
    char *const folder = lob_folder_of(path);
    if (folder && s->folder_count > 0 && strcmp(s->folders[s->folder_count - 1], folder) == 0) {
        free(folder);
        return LOB_OK;
    }
    if (!folder || !lob_grow(&s->folders, s->folder_count, sizeof *s->folders)) {
        free(folder);
        return LOB_ENOMEM;
    }
    s->folders[s->folder_count++] = folder;
    return LOB_OK;
}

static lob_status add_file(lob_dicom_list *list, const char *path, const lob_dicom_header *header,
                           int64_t bytes)
{
    lob_dicom_series *const s = series_of(list, header);
    if (!s) return list->count == MAX_SERIES ? LOB_EDATA : LOB_ENOMEM;
    if (!lob_grow(&s->files, s->file_count, sizeof *s->files) ||
        !lob_grow(&s->planes, s->file_count, sizeof *s->planes))
        return LOB_ENOMEM;
    LOB_TRY(add_folder(s, path));
    char *const real = lob_real_path(path);
    if (!real) return LOB_OK; /* it has gone meanwhile */
    s->planes[s->file_count] = header->plane;
    s->files[s->file_count++] = real;
    s->file_bytes += bytes;
    s->images += header->frames;
    return LOB_OK;
}

/* A file that is DICOM, by its name or by what it says, may be an end of a series, which nobody
 * would miss; not the directory of a disc. */
static lob_visit without_series(lister *l, const char *path, const lob_dicom_header *header,
                                bool says)
{
    l->deflated = l->deflated || header->deflated;
    if (header->deflated || header->is_directory || !(says || lob_has_suffix(path, ".dcm")))
        return LOB_VISIT_ON;
    char *const copy = strdup(path);
    if (!copy || !lob_grow(&l->damaged, l->damaged_count, sizeof *l->damaged)) {
        free(copy);
        return fail(l, LOB_ENOMEM);
    }
    l->damaged[l->damaged_count++] = copy;
    return LOB_VISIT_ON;
}

static lob_status refuse_damaged(const char *path, lob_error *error)
{
    return lob_fail_file(error, LOB_EDATA, path,
                         "is empty, cut off or no DICOM, and its series may lack an image; copy it "
                         "again, or remove it");
}

static bool lies_beside(const lob_dicom_series *s, const char *folder)
{
    for (int i = 0; i < s->folder_count; i++)
        if (strcmp(s->folders[i], folder) == 0) return true;
    return false;
}

/* Tell the series whose files lie in its folder of a damaged file; where there are none, it may
 * belong to any. */
static lob_status tell_of_damaged(lister *l, const char *path)
{
    char *const folder = lob_folder_of(path);
    bool told = false, fits = folder != NULL;
    for (int i = 0; i < l->list->count && fits; i++) {
        lob_dicom_series *const s = &l->list->series[i];
        if (!lies_beside(s, folder)) continue;
        told = true;
        if (!s->damaged) s->damaged = strdup(path);
        fits = s->damaged != NULL;
    }
    free(folder);
    return !fits ? LOB_ENOMEM : told ? LOB_OK : refuse_damaged(path, l->error);
}

static lob_visit list_file(void *user, const char *path, const lob_about *about)
{
    lister *const l = user;
    lob_dicom_header header;
    int64_t bytes;
    bool says;
    (void)about;
    if (l->stop && l->stop(l->user)) return fail(l, LOB_ECANCEL);
    if (!read_header(&header, path, &bytes, &says)) return without_series(l, path, &header, says);
    if (header.plane.rows < 1 || header.plane.columns < 1) return LOB_VISIT_ON;
    if (l->only && strcmp(l->only, header.series) != 0) return LOB_VISIT_ON;
    const lob_status st = add_file(l->list, path, &header, bytes);
    return st == LOB_OK ? LOB_VISIT_ON : fail(l, st);
}

static int by_number(const void *a, const void *b)
{
    const lob_dicom_series *const x = a, *const y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return strcmp(x->uid, y->uid);
}

/* A file by itself, or the series around it. */
static lob_status list_around(lister *l, const char *path, lob_error *error)
{
    lob_dicom_header header;
    int64_t bytes;
    bool says;
    if (!read_header(&header, path, &bytes, &says))
        return lob_fail_file(error, LOB_EDATA, path, "%s",
                             header.deflated
                                 ? DEFLATED
                                 : "is DICOM that names no series; name the folder of its images");
    if (header.plane.rows < 1 || header.plane.columns < 1)
        return lob_fail_file(error, LOB_EDATA, path, "is a DICOM file without an image%s",
                             strcmp(header.modality, "RTSTRUCT") == 0
                                 ? "; of contours `plastimatch convert` makes labels"
                                 : "");
    if (header.frames > 1 || header.is_segmentation) {
        l->status = add_file(l->list, path, &header, bytes);
        return LOB_OK;
    }
    char *const folder = lob_folder_of(path);
    if (!folder) return lob_fail_file(error, LOB_ENOMEM, path, "no memory");
    l->only = header.series;
    if (lob_folder_walk(folder, 0, list_file, l) == LOB_VISIT_FAILED && l->status == LOB_OK)
        l->status = LOB_EIO;
    free(folder);
    return LOB_OK;
}

lob_status lob_dicom_list_of(lob_dicom_list *list, const char *path, int (*stop)(void *user),
                             void *user, lob_error *error)
{
    lister l = {.list = list, .stop = stop, .user = user, .error = error, .status = LOB_OK};
    lob_status st = LOB_OK;
    *list = (lob_dicom_list){.count = 0};
    if (lob_is_folder(path)) {
        if (lob_folder_walk(path, DEPTH, list_file, &l) == LOB_VISIT_FAILED && l.status == LOB_OK)
            l.status = LOB_EIO;
    } else {
        st = list_around(&l, path, error);
    }
    for (int i = 0; i < l.damaged_count; i++) {
        if (st == LOB_OK && l.status == LOB_OK) l.status = tell_of_damaged(&l, l.damaged[i]);
        free(l.damaged[i]);
    }
    free(l.damaged);
    if (l.status == LOB_EDATA) /* where it has room, a file has been named */
        st = list->count < MAX_SERIES
                 ? LOB_EDATA
                 : lob_fail_file(error, LOB_EDATA, path, "holds more than %d series of DICOM",
                                 MAX_SERIES);
    else if (l.status != LOB_OK)
        st = lob_fail_file(error, l.status, path, "%s", lob_status_text(l.status));
    else if (st == LOB_OK && list->count == 0)
        st = lob_fail_file(error, LOB_EDATA, path, "%s",
                           l.deflated ? DEFLATED : "is DICOM without an image");
    if (st != LOB_OK)
        lob_dicom_list_free(list);
    else
        qsort(list->series, (size_t)list->count, sizeof *list->series, by_number);
    return st;
}

void lob_dicom_list_free(lob_dicom_list *list)
{
    for (int i = 0; i < list->count; i++) {
        for (int64_t f = 0; f < list->series[i].file_count; f++) free(list->series[i].files[f]);
        for (int f = 0; f < list->series[i].folder_count; f++) free(list->series[i].folders[f]);
        LOB_FREE(list->series[i].files, list->series[i].planes, list->series[i].description,
                 list->series[i].folders, list->series[i].damaged);
    }
    free(list->series);
    *list = (lob_dicom_list){.count = 0};
}

/* ---- choosing ---- */

/* "2 'arterial phase' (CT, 300 images of 512 x 512)", and its UID where the number says too little.
 */
static void describe(lob_error *error, const lob_dicom_series *s, bool by_uid)
{
    if (by_uid || s->number < 0)
        lob_error_add(error, "%s", s->uid);
    else
        lob_error_add(error, "%lld", (long long)s->number);
    lob_error_add(error, " '%.40s' (%s, %lld images of %d x %d)", s->description, s->modality,
                  (long long)s->images, s->columns, s->rows);
}

static bool shares_number(const lob_dicom_list *list, const lob_dicom_series *s)
{
    int count = 0;
    for (int i = 0; i < list->count; i++) count += list->series[i].number == s->number;
    return count > 1;
}

/* An error's text is long enough for some ten of them. */
static lob_status list_them(const lob_dicom_list *list, const char *path, lob_error *error,
                            const char *what)
{
    enum { MOST = 10 };
    lob_fail_file_hint(error, LOB_EDATA, LOB_HINT_CHOOSE_SERIES, path,
                       "%s%d series of DICOM: ", what, list->count);
    for (int i = 0; i < list->count && i < MOST; i++) {
        if (i) lob_error_add(error, ", ");
        describe(error, &list->series[i], shares_number(list, &list->series[i]));
    }
    if (list->count > MOST) lob_error_add(error, " and %d more", list->count - MOST);
    return LOB_EDATA;
}

/* Does a text, n bytes of it, name the series? */
static bool is_named(const lob_dicom_series *s, const char *text, size_t n)
{
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)s->number);
    return (strlen(s->uid) == n && memcmp(s->uid, text, n) == 0) ||
           (s->number >= 0 && strlen(number) == n && memcmp(number, text, n) == 0);
}

static lob_status choose_only(const lob_dicom_series **series, const lob_dicom_list *list,
                              const char *path, lob_error *error)
{
    int images = 0, last = 0;
    for (int i = 0; i < list->count; i++) {
        if (list->series[i].is_segmentation) continue;
        images++;
        last = i;
    }
    *series = &list->series[last];
    if (images == 1 || list->count == 1) return LOB_OK;
    return list_them(list, path, error, "holds ");
}

static lob_status choose(const lob_dicom_series **series, int *volume, const lob_dicom_list *list,
                         const char *wanted, const char *path, lob_error *error)
{
    *volume = 0;
    if (!wanted) return choose_only(series, list, path, error);
    const size_t n = strcspn(wanted, ":");
    int found = 0;
    for (int i = 0; i < list->count; i++) {
        if (!is_named(&list->series[i], wanted, n)) continue;
        *series = &list->series[i];
        found++;
    }
    if (wanted[n]) {
        char *end;
        const long k = strtol(wanted + n + 1, &end, 10);
        if (end == wanted + n + 1 || *end || k < 1 || k > 999)
            return lob_fail_file(error, LOB_EARG, path,
                                 "'%s' names no series: a number or UID, and perhaps :K for the "
                                 "K-th of the volumes that it makes",
                                 wanted);
        *volume = (int)k;
    }
    if (found == 1) return LOB_OK;
    char what[200];
    const int shown = (int)(n < 80 ? n : 80);
    if (found)
        snprintf(what, sizeof what, "holds %d series %.*s, so that a UID is needed, among ", found,
                 shown, wanted);
    else
        snprintf(what, sizeof what, "holds no series %.*s, but ", shown, wanted);
    return list_them(list, path, error, what);
}

lob_status lob_dicom_choose(const lob_dicom_series **series, int *volume,
                            const lob_dicom_list *list, const char *wanted, const char *path,
                            lob_error *error)
{
    LOB_TRY(choose(series, volume, list, wanted, path, error));
    return (*series)->damaged ? refuse_damaged((*series)->damaged, error) : LOB_OK;
}
