/* Differences of values as a list and in the report. */
#include "tools/commands/compare/compare_work.h"

#include <inttypes.h>
#include <math.h>

typedef struct {
    int64_t voxels, different, odd; /* odd: finite or the same infinity in one volume only */
    double largest, sum, squares;   /* over voxels finite in both */
    int64_t where;                  /* first voxel of the largest difference */
    int64_t compared;
} difference;

static void add_block(difference *d, const double *a, const double *b, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i]))) {
            d->compared += isfinite(a[i]) != 0;
            continue;
        }
        d->different++;
        if (!isfinite(a[i]) || !isfinite(b[i])) {
            d->odd++;
            continue;
        }
        const double apart = fabs(a[i] - b[i]);
        d->compared++;
        d->sum += apart;
        d->squares += apart * apart;
        if (apart > d->largest) {
            d->largest = apart;
            d->where = first + i;
        }
    }
    d->voxels += n;
}

static void print_values(const difference *d, double mean, double rms, const lob_volume *v)
{
    printf("voxels               %" PRId64 "\n", d->voxels);
    printf("different            %" PRId64 "\n", d->different);
    printf("finite in one only   %" PRId64 "\n", d->odd);
    printf("largest difference   %.9g", d->largest);
    if (d->largest > 0) {
        const int64_t at = d->where % lob_voxels(v);
        printf(" at voxel (%" PRId64 ", %" PRId64 ", %" PRId64 ")", at % v->dims.nx,
               at / v->dims.nx % v->dims.ny, at / v->dims.nx / v->dims.ny);
        if (v->channels > 1) printf(" of channel %" PRId64, d->where / lob_voxels(v));
    }
    printf("\nmean difference      %.9g\nroot mean square     %.9g\n%s\n", mean, rms,
           d->different ? "different" : "equal");
}

lob_status lob_compare_values(lob_session *s, lob_compare_work *w)
{
    const lob_volume *const a = &w->a, *const b = &w->b;
    enum { BLOCK = 4096 };
    if (a->channels != b->channels)
        return lob_fail(&s->error, LOB_EDATA, "%s has %d channels but %s has %d", w->a_path,
                        a->channels, w->b_path, b->channels);
    const int64_t n = lob_voxels(a) * a->channels;
    difference d = {0};
    for (int64_t first = 0; first < n; first += BLOCK) {
        double values[2][BLOCK];
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        lob_volume_values(values[0], a, first, count);
        lob_volume_values(values[1], b, first, count);
        add_block(&d, values[0], values[1], first, count);
    }
    /* Doubles do not tell 64-bit integers apart beyond 2^53. */
    const bool wide = a->type == b->type && (a->type == LOB_I64 || a->type == LOB_U64);
    if (wide && a->slope == b->slope && a->inter == b->inter) {
        d.different = 0;
        for (int64_t i = 0; i < n; i++)
            d.different += ((const uint64_t *)a->data)[i] != ((const uint64_t *)b->data)[i];
    }
    const double mean = d.compared ? d.sum / (double)d.compared : 0.0;
    const double rms = d.compared ? sqrt(d.squares / (double)d.compared) : 0.0;
    cJSON_AddBoolToObject(s->results, "equal", d.different == 0);
    LOB_JSON_NUMBERS(s->results, {"voxels", d.voxels}, {"different", d.different},
                     {"finite_in_one_only", d.odd}, {"largest_difference", d.largest},
                     {"mean_difference", mean}, {"root_mean_square", rms});
    lob_session_doing(s, "printing");
    if (!w->json) print_values(&d, mean, rms, a);
    return d.different && w->strict ? LOB_EDIFFER : LOB_OK;
}
