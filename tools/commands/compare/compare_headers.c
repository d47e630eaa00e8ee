/* Comparing headers, before the voxels. */
#include "tools/commands/compare/compare_work.h"

#include <math.h>
#include <string.h>

/* The fields of two headers, side by side. */
typedef struct {
    lob_session *session;
    cJSON *first; /* name to value; NULL while the first header is read */
    cJSON *differ;
} header_walk;

static void note_first(void *user, const char *name, const char *value)
{
    header_walk *const w = user;
    cJSON_AddStringToObject(w->first, name, value);
}

static void match_second(void *user, const char *name, const char *value)
{
    header_walk *const w = user;
    const cJSON *const other = cJSON_GetObjectItemCaseSensitive(w->first, name);
    if (cJSON_IsString(other) && strcmp(other->valuestring, value) != 0) {
        cJSON_AddItemToArray(w->differ, cJSON_CreateString(name));
        lob_session_say(w->session, "header field %s: %s and %s", name, other->valuestring, value);
    }
}

void lob_compare_fields(lob_session *s, const lob_compare_work *work)
{
    const lob_volume *const a = &work->a, *const b = &work->b;
    if (!a->header.format || a->header.format != b->header.format) return;
    header_walk w = {s, cJSON_CreateObject(), cJSON_AddArrayToObject(s->results, "header_fields")};
    if (w.first && w.differ) {
        lob_header_fields(a, note_first, &w);
        lob_header_fields(b, match_second, &w);
    }
    cJSON_Delete(w.first);
}

void lob_compare_places(lob_session *s, const lob_compare_work *w)
{
    const lob_volume *const a = &w->a, *const b = &w->b;
    const double apart_mm = lob_corners_apart_mm(&a->geometry, &b->geometry, a->dims);
    cJSON_AddNumberToObject(s->results, "corners_apart_mm", apart_mm);
    const double *const mm = a->geometry.spacing_mm;
    if (apart_mm > 1e-3 * fmin(mm[0], fmin(mm[1], mm[2]))) /* less is rounding of headers */
        lob_session_note(s, "%s and %s: corners of the grids lie up to %.3g mm apart", w->set.a,
                         w->set.b, apart_mm);
}
