/* The steps of lobule filter: one row for each option. */
#include "tools/commands/filter/filter_steps.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

static lob_status refuse(lob_session *s, const char *name, const char *text, const char *what)
{
    return lob_fail(&s->error, LOB_EARG, "--%s: '%s' %s", name, text, what);
}

/* "2mm", or one length for each axis: "1,1,3mm", where the last one's unit counts for all that have
 * none. */
static lob_status take_lengths(lob_session *s, lob_typed_step *t, const char *text,
                               const char *usual_unit)
{
    const char *const last = strrchr(text, ',') ? strrchr(text, ',') + 1 : text;
    const char *const unit = last + strspn(last, "+-.0123456789eE");
    const char *at = text;
    int n = 0;
    for (; n < 3 && at; n++) {
        char part[64];
        const size_t length = strcspn(at, ",");
        const bool bare = strspn(at, "+-.0123456789eE") >= length;
        const lob_option row = OPT_LENGTH(t->name, &t->along[n], 0, 1e6, "");
        if (length + strlen(unit) + strlen(usual_unit) >= sizeof part)
            return refuse(s, t->name, text, "is not a length");
        snprintf(part, sizeof part, "%.*s%s", (int)length, at,
                 !bare   ? ""
                 : *unit ? unit
                         : usual_unit);
        LOB_TRY(lob_option_take(&row, part, &s->error));
        at = at[length] ? at + length + 1 : NULL;
    }
    if (at || n == 2) return refuse(s, t->name, text, "is not one length, nor one for each axis");
    if (n == 1) t->along[1] = t->along[2] = t->along[0];
    return LOB_OK;
}

static lob_status take_sigma(lob_session *s, lob_typed_step *t, const char *text)
{
    return take_lengths(s, t, text, "mm");
}

static lob_status take_radius(lob_session *s, lob_typed_step *t, const char *text)
{
    LOB_TRY(take_lengths(s, t, text, "vox"));
    for (int a = 0; a < 3; a++)
        if (t->along[a].voxels && t->along[a].value != floor(t->along[a].value))
            return refuse(s, t->name, text, "is no whole number of voxels");
    return LOB_OK;
}

static lob_status take_noise(lob_session *s, lob_typed_step *t, const char *text)
{
    if (strcmp(text, "auto") == 0) return LOB_OK;
    const lob_option row =
        OPT_REAL(t->name, &t->step.noise, "NOISE", 0, DBL_MAX, "", .above_low = true);
    return lob_option_take(&row, text, &s->error);
}

/* "LO,HI", or percentiles: "1%,99%". */
static lob_status take_window(lob_session *s, lob_typed_step *t, const char *text)
{
    char plain[128];
    size_t n = 0, signs = 0;
    for (const char *c = text; *c && n + 1 < sizeof plain; c++) {
        const bool sign = *c == '%' && (c[1] == ',' || c[1] == '\0');
        if (sign)
            signs++;
        else
            plain[n++] = *c;
    }
    plain[n] = '\0';
    double range[2] = {0, 0};
    t->step.percent = signs > 0;
    if (signs == 1) return refuse(s, t->name, text, "mixes a value with a percentile");
    const double low = signs ? 0 : -INFINITY, high = signs ? 100 : INFINITY;
    const lob_option row = OPT_PAIR(t->name, &range, low, high, "");
    const lob_status st = lob_option_take(&row, plain, &s->error);
    t->step.low = range[0];
    t->step.high = range[1];
    return st;
}

static lob_status take_amount(lob_session *s, lob_typed_step *t, const char *text)
{
    const lob_option row = OPT_REAL(t->name, &t->step.amount, "AMOUNT", 0, 1, "");
    return lob_option_take(&row, text, &s->error);
}

static lob_status take_scale(lob_session *s, lob_typed_step *t, const char *text)
{
    char *end;
    t->step.factor = strtod(text, &end);
    const bool factor = end != text && *end == ',';
    const char *const second = end + 1;
    if (factor) t->step.offset = strtod(second, &end);
    if (!factor || end == second || *end || !isfinite(t->step.factor) ||
        !isfinite(t->step.offset) || fabs(t->step.factor) > FLT_MAX ||
        fabs(t->step.offset) > FLT_MAX)
        return refuse(s, t->name, text, "is not two numbers A,B");
    return LOB_OK;
}

static lob_status take_type(lob_session *s, lob_typed_step *t, const char *text)
{
    t->step.type = lob_type_named(text);
    if (t->step.type == LOB_TYPES)
        return refuse(s, t->name, text, "is no voxel type: uint8, int16, ..., float32, float64");
    return LOB_OK;
}

/* ---- options ---- */

/* What a step's numbers along the axes are. */
typedef enum { NONE, SIGMA, RADIUS, SWITCH } extent;

static const struct {
    const char *name;
    lob_filter_kind kind;
    extent along;
    lob_status (*take)(lob_session *s, lob_typed_step *t, const char *text); /* NULL: no value */
} rows[] = {
    {"median",     LOB_FILTER_MEDIAN,     RADIUS, take_radius},
    {"gaussian",   LOB_FILTER_GAUSSIAN,   SIGMA,  take_sigma },
    {"box",        LOB_FILTER_BOX,        RADIUS, take_radius},
    {"denoise",    LOB_FILTER_DENOISE,    SWITCH, take_noise },
    {"gradient",   LOB_FILTER_GRADIENT,   SIGMA,  take_sigma },
    {"log",        LOB_FILTER_LAPLACIAN,  SIGMA,  take_sigma },
    {"window",     LOB_FILTER_CLAMP,      NONE,   take_window},
    {"scale",      LOB_FILTER_SCALE,      NONE,   take_scale },
    {"gray",       LOB_FILTER_GRAY,       NONE,   NULL       },
    {"desaturate", LOB_FILTER_DESATURATE, NONE,   take_amount},
    {"cast",       LOB_FILTER_CAST,       NONE,   take_type  },
};

static extent extent_of(lob_filter_kind kind)
{
    for (size_t i = 0; i < LOB_COUNT(rows); i++)
        if (rows[i].kind == kind) return rows[i].along;
    return NONE;
}

lob_status lob_filter_chain_parse(lob_session *s, lob_filter_chain *chain)
{
    const lob_steps *const steps = &chain->given;
    if (steps->count == 0)
        return lob_fail(&s->error, LOB_EARG,
                        "no step is given; say what to do, as --median 1 or --gaussian 1mm");
    for (int i = 0; i < steps->count; i++) {
        const lob_step *const step = &steps->step[i];
        size_t k = 0;
        while (k < LOB_COUNT(rows) && strcmp(rows[k].name, step->name) != 0) k++;
        if (k == LOB_COUNT(rows))
            return lob_fail(&s->error, LOB_EINTERNAL, "--%s has no row", step->name);
        chain->typed[i] = (lob_typed_step){.name = step->name, .step = {.kind = rows[k].kind}};
        if (rows[k].take) LOB_TRY(rows[k].take(s, &chain->typed[i], step->text));
    }
    return LOB_OK;
}

/* ---- the image's voxels ---- */

/* Headers round spacings: this much of a voxel may be missing from a radius. */
static const double SPACING_SLACK = 1e-3;

void lob_filter_chain_fit(lob_filter_chain *chain, const lob_volume *image, int slice_axis)
{
    for (int i = 0; i < chain->given.count; i++) {
        const lob_typed_step *const typed = &chain->typed[i];
        const extent along = extent_of(typed->step.kind);
        chain->step[i] = typed->step;
        for (int a = 0; a < 3; a++) {
            const lob_size *const size = &typed->along[a];
            const double spacing = size->voxels ? 1.0 : image->geometry.spacing_mm[a];
            double voxels = along == SWITCH ? 1.0 : size->value / spacing;
            if (along == RADIUS) voxels = floor(voxels + SPACING_SLACK);
            if (along == NONE || a == slice_axis || lob_side(image->dims, a) == 1) voxels = 0;
            chain->step[i].along[a] = voxels;
        }
    }
}

void lob_filter_chain_report(cJSON *to, const lob_filter_chain *chain, const lob_filter_output *out)
{
    cJSON *const list = cJSON_AddArrayToObject(to, "steps");
    for (int i = 0; i < chain->given.count; i++) {
        const lob_filter_step *const step = &chain->step[i];
        const extent along = extent_of(step->kind);
        cJSON *const one = lob_json_row(list);
        cJSON_AddStringToObject(one, "step", chain->typed[i].name);
        if (along == SIGMA || along == RADIUS)
            cJSON_AddItemToObject(one, along == SIGMA ? "sigma_voxels" : "radius_voxels",
                                  cJSON_CreateDoubleArray(step->along, 3));
        if (along == SWITCH) cJSON_AddNumberToObject(one, "noise", out->noise[i]);
        if (step->kind == LOB_FILTER_CLAMP)
            cJSON_AddItemToObject(one, "window", cJSON_CreateDoubleArray(out->clamps[i], 2));
        if (step->kind == LOB_FILTER_SCALE) {
            LOB_JSON_NUMBERS(one, {"factor", step->factor}, {"offset", step->offset});
        }
        if (step->kind == LOB_FILTER_DESATURATE)
            cJSON_AddNumberToObject(one, "amount", step->amount);
        if (step->kind == LOB_FILTER_CAST)
            cJSON_AddStringToObject(one, "type", lob_type_of(step->type)->name);
    }
    LOB_JSON_NUMBERS(to, {"not_data_voxels", out->not_data}, {"working_bytes", out->working_bytes});
    if (out->stream.slabs == 0) return;
    cJSON *const stream = cJSON_AddObjectToObject(to, "stream");
    LOB_JSON_NUMBERS(stream, {"slabs", out->stream.slabs}, {"upload_s", out->stream.upload_s},
                     {"compute_s", out->stream.compute_s}, {"download_s", out->stream.download_s},
                     {"wall_s", out->stream.wall_s});
}

lob_status lob_filter_edge_parse(lob_session *s, lob_filter_options *options, const char *text)
{
    static const char *const names[] = {"renormalise", "nearest", "reflect", "mirror", "wrap"};
    static const char constant[] = "constant=";
    const size_t n = strlen(constant);
    for (size_t i = 0; i < LOB_COUNT(names); i++)
        if (strcmp(names[i], text) == 0) {
            options->edge = (lob_edge)i; /* in the order of lob_edge */
            return LOB_OK;
        }
    if (strncmp(text, constant, n) != 0)
        return refuse(s, "edge", text,
                      "is not one of renormalise, nearest, reflect, mirror, wrap, constant=V");
    options->edge = LOB_EDGE_CONSTANT;
    const lob_option row = OPT_REAL("edge", &options->edge_value, "V", -FLT_MAX, FLT_MAX, "");
    return lob_option_take(&row, text + n, &s->error);
}
