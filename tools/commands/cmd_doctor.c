/* lobule doctor: what this machine offers, and whether everything computes what it should here. */
#include "io/libraries.h"
#include "io/platform.h"
#include "tools/commands/commands.h"
#include "tools/commands/doctor_cases.h"
#include "tools/platform/process.h"
#include "tools/recipe/recipe.h"
#include "tools/session/ranks.h"
#include "volumes/version.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What is found out. */
typedef struct {
    lob_session *s;
    cJSON *about;
    cJSON *backends;   /* an object of about */
    int failed, tried; /* cases */
    char first[256];   /* the first that failed */
} doctor;

/* ---- the machine ---- */

/* Of several tasks: which GPU does each take, of those that it sees? */
static lob_status describe_gpus(lob_session *s, cJSON *ranks)
{
    const int size = lob_team_size(s->ranks), mine = lob_session_gpu(s);
    if (size == 1) return LOB_OK;
    int *const all = malloc((size_t)size * sizeof *all);
    if (!all) return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    const lob_status st = lob_team_share(s->ranks, all, &mine, sizeof mine, &s->error);
    cJSON *const gpus = cJSON_AddObjectToObject(ranks, "gpus");
    for (int r = 0; st == LOB_OK && r < size; r++) {
        char task[16];
        snprintf(task, sizeof task, "%d", r);
        if (all[r] < 0) cJSON_AddStringToObject(gpus, task, "none");
        if (all[r] >= 0) cJSON_AddNumberToObject(gpus, task, all[r]);
    }
    free(all);
    return st;
}

static lob_status describe_ranks(lob_session *s, cJSON *about)
{
    char path[4096], why[512];
    const char *const launcher = lob_ranks_launcher();
    cJSON *const ranks = cJSON_AddObjectToObject(about, "ranks");
    cJSON_AddStringToObject(ranks, "launcher", launcher ? launcher : "none");
    LOB_JSON_NUMBERS(ranks, {"tasks", lob_team_size(s->ranks)}, {"tasks_here", lob_ranks_here()});
    cJSON *const plugins = cJSON_AddObjectToObject(ranks, "plugins");
    for (int k = 0; lob_ranks_plugin(k, path, sizeof path, why, sizeof why); k++)
        if (path[0]) cJSON_AddStringToObject(plugins, path, why[0] ? why : "ok");
    return describe_gpus(s, ranks);
}

/* ---- self-tests ---- */

static lob_status make_patient(doctor *d, lob_doctor_patient *p, const lob_context *context)
{
    lob_phantom_options o = lob_phantom_defaults(LOB_PHANTOM_ABDOMEN);
    const double spacing_mm[3] = {9, 9, 13};
    o.dims = (lob_dims){LOB_DOCTOR_NX, LOB_DOCTOR_NY, LOB_DOCTOR_NZ};
    memcpy(o.spacing_mm, spacing_mm, sizeof spacing_mm);
    return lob_phantom(&p->image, &p->truth, &p->seeds, &o, context, &d->s->error);
}

/* Run all cases on a backend, and describe it. */
static lob_status try_backend(doctor *d, cJSON *entry, const lob_backend *backend,
                              const lob_context *context)
{
    lob_doctor_patient patient = {.backend = backend, .context = context};
    LOB_TRY(make_patient(d, &patient, context));
    lob_status st = LOB_OK;
    cJSON *const tests = cJSON_AddObjectToObject(entry, "self_test");
    int passed = 0, cases = 0;
    for (const lob_doctor_case *c = lob_doctor_cases; c->name && st == LOB_OK; c++) {
        lob_error error = {.text = ""};
        uint64_t found;
        char text[1100] = "ok";
        const lob_status tried = lob_doctor_try(&found, c, &patient, &error);
        const bool ok = tried == LOB_OK && found == c->hash;
        if (tried != LOB_OK)
            snprintf(text, sizeof text, "failed: %s", error.text);
        else if (!ok)
            snprintf(text, sizeof text, "wrong: %016" PRIx64 " instead of %016" PRIx64, found,
                     c->hash);
        if (!ok && d->failed++ == 0)
            snprintf(d->first, sizeof d->first, "%s on %s", c->name, backend->name);
        cJSON_AddStringToObject(tests, c->name, text);
        passed += ok;
        cases++;
        st = lob_session_cancelled(d->s);
    }
    d->tried += cases;
    LOB_JSON_NUMBERS(entry, {"passed", passed}, {"cases", cases});
    LOB_VOLUMES_FREE(&patient.image, &patient.truth, &patient.seeds);
    return st;
}

static lob_status try_cpu(doctor *d)
{
    lob_context context = d->s->context;
    context.device = NULL;
    cJSON *const entry = cJSON_AddObjectToObject(d->backends, "cpu");
    cJSON_AddNumberToObject(entry, "threads", context.threads);
    return try_backend(d, entry, lob_backends[0], &context);
}

/* A GPU that has been opened. */
static lob_status try_gpu(doctor *d, const lob_backend *backend, lob_device *device)
{
    const double mib = 1024.0 * 1024.0;
    lob_context context = d->s->context;
    context.device = device;
    char name[24];
    snprintf(name, sizeof name, "%s:%d", backend->name, lob_device_number(device));
    cJSON *const entry = cJSON_AddObjectToObject(d->backends, name);
    cJSON_AddStringToObject(entry, "device", lob_device_name(device));
    LOB_JSON_NUMBERS(
        entry, {"compute_capability", lob_device_capability(device) / 10.0},
        {"memory_mib", (double)(int64_t)((double)lob_device_total_bytes(device) / mib)},
        {"memory_free_mib", (double)(int64_t)((double)lob_device_free_bytes(device) / mib)});
    return try_backend(d, entry, backend, &context);
}

/* The GPU asked for, or all that open; where there is none, why. */
static lob_status try_gpus(doctor *d)
{
    const bool any = strcmp(d->s->device.backend, "auto") == 0;
    const int own = lob_session_gpu(d->s);
    const lob_backend *const backend = lob_backends[1];
    lob_status st = LOB_OK;
    for (int n = any || own < 0 ? 0 : own; st == LOB_OK; n++) {
        lob_device *device = NULL;
        lob_error why = {.text = ""};
        char choice[24];
        snprintf(choice, sizeof choice, "cuda:%d", n);
        const lob_status opened = lob_device_open(&device, choice, &why);
        if (opened == LOB_OK) st = try_gpu(d, backend, device);
        lob_device_close(device);
        if (opened != LOB_OK && !any) {
            d->s->error = why;
            d->s->error.hint = LOB_HINT_NONE; /* no other device was asked for */
            return opened;
        }
        if (opened != LOB_OK && n == 0) cJSON_AddStringToObject(d->about, "no_gpu", why.text);
        if (!any || (opened != LOB_OK && opened != LOB_EBUSY)) return st;
    }
    return st;
}

/* ---- the command ---- */

static lob_status examine(doctor *d)
{
    const char *const asked = d->s->device.backend;
    const bool cpu = strcmp(asked, "cpu") == 0, any = strcmp(asked, "auto") == 0;
    cJSON_AddStringToObject(d->about, "version", LOB_VERSION);
    LOB_JSON_NUMBERS(d->about, {"processors", lob_process_cores()},
                     {"threads", d->s->context.threads}, {"memory_mib", lob_memory_in_all() >> 20},
                     {"memory_free_mib", lob_memory_free() >> 20});
    cJSON *const libraries = cJSON_AddObjectToObject(d->about, "libraries");
    lob_library all[LOB_LIBRARIES];
    lob_libraries(all);
    for (int i = 0; i < LOB_LIBRARIES; i++)
        cJSON_AddStringToObject(libraries, all[i].name, all[i].version);
    LOB_TRY(describe_ranks(d->s, d->about));
    char *const folder = lob_recipe_folder();
    cJSON_AddStringToObject(d->about, "recipes", folder ? folder : "none are installed");
    free(folder);
    d->backends = cJSON_AddObjectToObject(d->about, "backends");
    lob_session_compute(d->s, "testing");
    LOB_TRY(cpu || any ? try_cpu(d) : LOB_OK);
    if (!cpu) LOB_TRY(try_gpus(d));
    lob_session_computed(d->s);
    return LOB_OK;
}

typedef struct {
    bool json;
} settings;

static lob_status visit(lob_session *s, void *user)
{
    const settings *const set = user;
    doctor d = {.s = s, .about = cJSON_CreateObject()};
    lob_status st = examine(&d);
    if (st == LOB_OK && lob_team_rank(s->ranks) == 0)
        st = lob_json_put(d.about, set->json, &s->error);
    LOB_JSON_NUMBERS(s->results, {"cases", d.tried}, {"failed", d.failed});
    cJSON_Delete(d.about);
    LOB_TRY(st);
    if (d.failed == 0) return LOB_OK;
    return lob_fail(&s->error, LOB_EINTERNAL,
                    "%d of %d self-tests give wrong results here, the first is: %s; use another "
                    "--device, and report this machine with what lobule doctor --json prints",
                    d.failed, d.tried, d.first);
}

static void options(lob_rows *to, void *user)
{
    settings *const set = user;
    const lob_option rows[] = {
        OPT_FLAG("json", &set->json, "print JSON instead of text"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_doctor = {
    .name = "doctor",
    .summary = "test algorithms on this machine's processors and GPUs",
    .description =
        "Prints version, threads, memory, libraries, plugins for MPI, the folder of recipes and "
        "the GPUs that there are, and runs on a small phantom each algorithm that CPUs and GPUs "
        "have in common, but registration and fusion: the results must have the bytes that they "
        "have everywhere. It takes a second or so. Under mpirun or srun every task does so, and "
        "says how many they are.\n"
        "Ends with 70 where a result is wrong, and with 69 where --device names a GPU that is not "
        "available; a machine without one is in order.",
    .examples = "lobule doctor\nlobule doctor --device cuda --json",
    .result = "cases",
    .result_text = "self-tests passed",
    LOB_COMMAND_PARTS(settings, options, NULL, visit, NULL),
    .runs_others = true,
    .shares = true,
};
