/*
 * Times of one volume that ranks share, threads with a GPU each (--ranks 0,1), beside the first of
 * these GPUs alone, with the CPU's bytes; with --huge of one that takes two. Arrays are on the
 * GPUs; a time is by the clock, from where all ranks begin to where the last is done. Medians after
 * two runs that are not counted. Also the rate of letters.
 */
#include "tests/check_backends/bench.h"
#include "tests/check_backends/check.h"

#include "kernels/components/components_stream.h"
#include "kernels/device/device.h"
#include "kernels/device/device_memory.h"
#include "kernels/growcut/growcut_slabs.h"
#include "volumes/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

typedef struct {
    int ranks, times;
    lob_context context[MOST]; /* of each rank, with a lob_device of its own */
    lob_volume image, seeds;
    int32_t labels;
    uint8_t *want, *got; /* labels: what they should be, what ranks made */
    int64_t letter;      /* bytes, */
    bool direct;         /* as lob_team has it */
    float ms[BENCH_MAX_TIMES];
    int64_t sent; /* bytes of all runs, by the rank that sent most */
    lob_status status;
    lob_error error;
} bench;

/* ---- ranks ---- */

static void close_ranks(bench *b)
{
    for (int r = 0; r < b->ranks; r++) lob_device_close(b->context[r].device);
}

/* Open the GPUs that a list names, one for each rank. */
static bool open_ranks(bench *b, const char *list, int threads)
{
    for (const char *at = list; *at && b->ranks < MOST; at += strcspn(at, ","), at += *at == ',') {
        char choice[32];
        lob_context *const context = &b->context[b->ranks];
        snprintf(choice, sizeof choice, "cuda:%d", atoi(at));
        *context = (lob_context){.threads = threads};
        if (lob_device_open(&context->device, choice, &b->error) != LOB_OK) return false;
        b->ranks++;
    }
    return b->ranks > 0;
}

/* A run of all ranks, whose time rank 0 notes; negative: it is not counted. */
static lob_status timed(lob_team *team, bench *b, int run, lob_status (*work)(lob_team *, void *),
                        void *user)
{
    lob_error error = {.text = ""};
    LOB_TRY(lob_team_agree(team, LOB_OK, &error));
    const double start_s = lob_clock_s();
    const lob_status st = lob_team_agree(team, work(team, user), &error);
    if (lob_team_rank(team) == 0 && run >= 0) b->ms[run] = (float)(1e3 * (lob_clock_s() - start_s));
    return st;
}

/* Median of what the ranks' threads have noted; 0 where they failed. */
static float run_ranks(bench *b, int ranks, lob_team_work *work, const char *name)
{
    b->sent = 0;
    b->error = (lob_error){.text = ""};
    b->status = lob_team_threads(ranks, work, b);
    if (b->status == LOB_OK && b->error.text[0] == '\0') return bench_median(b->ms, b->times);
    printf("%s by %d ranks: %s\n", name, ranks, b->error.text);
    return 0;
}

/* By the fewest ranks whose GPUs hold the volume, and by all; `want` has what the CPU made. */
static int compare(bench *b, const char *name, lob_team_work *work, int fewest, int64_t bytes)
{
    const int ranks[] = {fewest, b->ranks}, runs = fewest < b->ranks ? 2 : 1;
    const lob_dims d = b->image.dims;
    float first = 0;
    int failures = 0;
    for (int i = 0; i < runs; i++) {
        memset(b->got, 0xa5, (size_t)bytes);
        const float ms = run_ranks(b, ranks[i], work, name);
        if (i == 0) first = ms;
        const bool same = ms > 0 && memcmp(b->want, b->got, (size_t)bytes) == 0;
        printf("%s of %lldx%lldx%lld uint16 by %d ranks: %.2f ms, %.2f times; %.1f MB over seams a "
               "run; %s\n",
               name, (long long)d.nx, (long long)d.ny, (long long)d.nz, ranks[i], (double)ms,
               (double)(first / ms), (double)b->sent / (b->times + BENCH_WARM_UP) / 1e6,
               same ? "the CPU's bytes" : "DIFFERS");
        failures += !same;
    }
    return failures;
}

static void free_labels(bench *b)
{
    free(b->want);
    free(b->got);
    b->want = b->got = NULL;
}

/* ---- GrowCut ---- */

/* A rank's arrays. */
typedef struct {
    bench *b;
    lob_volume image, seeds, labels; /* on its device */
    lob_growcut_slab slab;
} slab_arrays;

static lob_status grow(lob_team *team, void *user)
{
    slab_arrays *const a = user;
    bench *const b = a->b;
    lob_error error = {.text = ""};
    const lob_growcut_options options = lob_growcut_defaults();
    const lob_growcut_input in = {
        .image = &a->image, .seeds = &a->seeds, .labels = b->labels, .place = a->image.place};
    const lob_growcut_output out = {.labels = a->labels.data};
    const lob_status st = lob_growcut_slabs_cuda(&out, NULL, &in, &options, &a->slab,
                                                 &b->context[lob_team_rank(team)], &error);
    if (st != LOB_OK && lob_team_rank(team) == 0) b->error = error;
    return st;
}

/* A rank's planes from .. to - 1 on its device. */
static lob_status send_planes(lob_volume *out, const lob_volume *whole, int64_t from, int64_t to,
                              const lob_context *context, lob_error *error)
{
    lob_volume part = *whole;
    const int64_t plane = whole->dims.nx * whole->dims.ny;
    part.data = (char *)whole->data + from * plane * (int64_t)lob_type_of(whole->type)->bytes;
    part.dims.nz = to - from;
    return lob_volume_move(out, &part, lob_context_place(context), context, error);
}

static lob_status grow_in_turns(lob_team *team, slab_arrays *a, lob_error *error)
{
    bench *const b = a->b;
    const lob_context *const context = &b->context[team->rank];
    const lob_dims dims = b->image.dims;
    const int64_t plane = dims.nx * dims.ny;
    int64_t first, end;
    lob_team_planes(&first, &end, team, team->rank, dims.nz);
    const int64_t from = first > 0 ? first - 1 : 0, to = end < dims.nz ? end + 1 : dims.nz;
    a->slab = (lob_growcut_slab){team, first - from, end - from};
    LOB_TRY(send_planes(&a->image, &b->image, from, to, context, error));
    LOB_TRY(send_planes(&a->seeds, &b->seeds, from, to, context, error));
    LOB_TRY(lob_volume_at(&a->labels, &a->seeds, LOB_U8, 1, context, error));
    for (int i = -BENCH_WARM_UP; i < b->times; i++) LOB_TRY(timed(team, b, i, grow, a));
    return lob_device_download(context->device, b->got + first * plane,
                               (const uint8_t *)a->labels.data + a->slab.first * plane,
                               (end - first) * plane, error);
}

static void grow_as_rank(lob_team *team, void *user)
{
    slab_arrays a = {user, lob_volume_empty(), lob_volume_empty(), lob_volume_empty(), {0}};
    lob_error error = {.text = ""};
    const lob_status st = lob_team_agree(team, grow_in_turns(team, &a, &error), &error);
    if (team->rank == 0 && st != LOB_OK && a.b->error.text[0] == '\0') a.b->error = error;
    if (team->rank == 0) a.b->sent = team->sent;
    lob_volume_free(&a.image);
    lob_volume_free(&a.seeds);
    lob_volume_free(&a.labels);
}

static bool on_cpu(bench *b, int threads)
{
    const lob_growcut_options options = lob_growcut_defaults();
    const lob_growcut_input in = {.image = &b->image, .seeds = &b->seeds, .labels = b->labels};
    const lob_growcut_output out = {.labels = b->want};
    const lob_context cpu = {.threads = threads};
    const lob_status st = lob_growcut_cpu(&out, NULL, &in, &options, &cpu, &b->error);
    if (st != LOB_OK) printf("growcut on the CPU: %s\n", b->error.text);
    return st == LOB_OK;
}

/* Lay copies of a volume side by side, so many along each axis. */
static bool repeat(lob_volume *v, const int copies[3])
{
    const lob_dims d = v->dims;
    const size_t row = (size_t)d.nx * lob_type_of(v->type)->bytes;
    const lob_dims all = {d.nx * copies[0], d.ny * copies[1], d.nz * copies[2]};
    char *const data = malloc(row * (size_t)copies[0] * (size_t)(all.ny * all.nz));
    if (!data) return false;
#pragma omp parallel for
    for (int64_t i = 0; i < all.ny * all.nz * copies[0]; i++) {
        const int64_t y = i / copies[0] % all.ny % d.ny, z = i / copies[0] / all.ny % d.nz;
        memcpy(data + (size_t)i * row, (const char *)v->data + (size_t)(y + z * d.ny) * row, row);
    }
    free(v->data);
    v->data = data;
    v->dims = all;
    return true;
}

/* A volume that one GPU does not hold is made of copies. */
static bool make_volume(bench *b, const bench_options *o)
{
    static const int copies[3] = {2, 2, 4};
    if (!bench_abdomen(&b->image, NULL, &b->seeds, o->dims, BENCH_NOISE_PERCENT, 1,
                       b->context->threads))
        return false;
    b->image.type = LOB_U16; /* of 12 bits */
    for (int64_t i = 0; i < lob_voxels(&b->seeds); i++)
        if (((uint8_t *)b->seeds.data)[i] > b->labels) b->labels = ((uint8_t *)b->seeds.data)[i];
    return !o->huge || (repeat(&b->image, copies) && repeat(&b->seeds, copies));
}

static int bench_grow(bench *b, bool huge)
{
    const int64_t voxels = lob_voxels(&b->image);
    b->want = malloc((size_t)voxels);
    b->got = malloc((size_t)voxels);
    const bool ready = b->want && b->got && on_cpu(b, b->context->threads);
    const int failures = ready ? compare(b, "growcut", grow_as_rank, huge ? 2 : 1, voxels) : 1;
    free_labels(b);
    return failures;
}

/* ---- components ---- */

typedef struct {
    bench *b;
    lob_volume image; /* on the rank's device */
    int64_t first;    /* plane */
    const lob_context *context;
    bool last; /* run, whose labels are compared */
} component_arrays;

static lob_status read_planes(void *user, lob_components_input *slab, int64_t z, int64_t planes,
                              lob_error *error)
{
    component_arrays *const a = user;
    (void)z;
    (void)planes; /* all that the rank has */
    (void)error;
    *slab = (lob_components_input){.image = &a->image, .place = a->image.place};
    return LOB_OK;
}

static lob_status write_planes(void *user, const void *labels, lob_type type, int64_t z,
                               int64_t planes, lob_error *error)
{
    const component_arrays *const a = user;
    const int64_t plane = a->image.dims.nx * a->image.dims.ny * (int64_t)lob_type_of(type)->bytes;
    if (!a->last) return LOB_OK;
    return lob_device_download(a->context->device, a->b->got + z * plane, labels, planes * plane,
                               error);
}

static lob_components_options bright_ones(void)
{
    lob_components_options options = lob_components_defaults();
    options.ranged = true;
    options.range[0] = 300;
    options.range[1] = INFINITY;
    options.type = LOB_I32;
    return options;
}

static lob_status label(lob_team *team, void *user)
{
    component_arrays *const a = user;
    bench *const b = a->b;
    const lob_context *const context = &b->context[team->rank];
    const lob_dims dims = b->image.dims;
    const lob_components_stream stream = {
        .read = read_planes, .write = write_planes, .user = a, .team = team};
    const lob_components_options options = bright_ones();
    lob_components_output out;
    lob_error error = {.text = ""};
    const lob_status st = lob_components_streamed(&out, &stream, dims, dims.nz, &options,
                                                  lob_components_cuda, context, &error);
    if (team->rank == 0 && st != LOB_OK) b->error = error;
    lob_components_output_free(&out);
    return st;
}

static lob_status label_in_turns(lob_team *team, component_arrays *a, lob_error *error)
{
    bench *const b = a->b;
    int64_t end;
    lob_team_planes(&a->first, &end, team, team->rank, b->image.dims.nz);
    a->context = &b->context[team->rank];
    LOB_TRY(send_planes(&a->image, &b->image, a->first, end, a->context, error));
    for (int i = -BENCH_WARM_UP; i < b->times; i++) LOB_TRY(timed(team, b, i, label, a));
    a->last = true; /* not timed */
    return label(team, a);
}

static void label_as_rank(lob_team *team, void *user)
{
    component_arrays a = {.b = user, .image = lob_volume_empty()};
    lob_error error = {.text = ""};
    const lob_status st = lob_team_agree(team, label_in_turns(team, &a, &error), &error);
    if (team->rank == 0 && st != LOB_OK && a.b->error.text[0] == '\0') a.b->error = error;
    if (team->rank == 0) a.b->sent = team->sent;
    lob_volume_free(&a.image);
}

static int bench_label(bench *b)
{
    const int64_t bytes = lob_voxels(&b->image) * (int64_t)sizeof(int32_t);
    const lob_components_input in = {.image = &b->image};
    const lob_components_options options = bright_ones();
    const lob_context cpu = {.threads = b->context->threads};
    lob_components_output out;
    if (lob_components_cpu(&out, &in, &options, &cpu, &b->error) != LOB_OK) return 1;
    b->want = out.labels;
    b->got = malloc((size_t)bytes);
    const int failures = b->got ? compare(b, "components", label_as_rank, 1, bytes) : 1;
    free_labels(b);
    return failures;
}

/* ---- supervoxels ---- */

typedef struct {
    bench *b;
    lob_volume image, labels; /* on the rank's device */
} cut_arrays;

static lob_supervoxels_options small_ones(void)
{
    lob_supervoxels_options options = lob_supervoxels_defaults();
    options.size_mm = 8; /* of voxels of 1 mm */
    return options;
}

static lob_status cut(lob_team *team, void *user)
{
    cut_arrays *const a = user;
    bench *const b = a->b;
    lob_error error = {.text = ""};
    const lob_supervoxels_options options = small_ones();
    const lob_supervoxels_input in = {.image = &a->image, .place = a->image.place};
    const lob_status st =
        lob_supervoxels_slabs_cuda(a->labels.data, NULL, &in, &options, b->image.dims.nz, team,
                                   &b->context[team->rank], &error);
    if (st != LOB_OK && team->rank == 0) b->error = error;
    return st;
}

static lob_status cut_in_turns(lob_team *team, cut_arrays *a, lob_error *error)
{
    bench *const b = a->b;
    const lob_context *const context = &b->context[team->rank];
    const int64_t plane = b->image.dims.nx * b->image.dims.ny * (int64_t)sizeof(int32_t);
    int64_t first, end;
    lob_team_planes(&first, &end, team, team->rank, b->image.dims.nz);
    LOB_TRY(send_planes(&a->image, &b->image, first, end, context, error));
    LOB_TRY(lob_volume_at(&a->labels, &a->image, LOB_I32, 1, context, error));
    for (int i = -BENCH_WARM_UP; i < b->times; i++) LOB_TRY(timed(team, b, i, cut, a));
    return lob_device_download(context->device, b->got + first * plane, a->labels.data,
                               (end - first) * plane, error);
}

static void cut_as_rank(lob_team *team, void *user)
{
    cut_arrays a = {user, lob_volume_empty(), lob_volume_empty()};
    lob_error error = {.text = ""};
    const lob_status st = lob_team_agree(team, cut_in_turns(team, &a, &error), &error);
    if (team->rank == 0 && st != LOB_OK && a.b->error.text[0] == '\0') a.b->error = error;
    if (team->rank == 0) a.b->sent = team->sent;
    lob_volume_free(&a.image);
    lob_volume_free(&a.labels);
}

static int bench_cut(bench *b)
{
    for (int a = 0; a < 3; a++) b->image.geometry.spacing_mm[a] = 1;
    const int64_t bytes = lob_voxels(&b->image) * (int64_t)sizeof(int32_t);
    const lob_supervoxels_input in = {.image = &b->image};
    const lob_supervoxels_options options = small_ones();
    const lob_context cpu = {.threads = b->context->threads};
    b->want = malloc((size_t)bytes);
    b->got = malloc((size_t)bytes);
    int failures = 1;
    if (b->want && b->got &&
        lob_supervoxels_cpu((int32_t *)b->want, NULL, &in, &options, &cpu, &b->error) == LOB_OK)
        failures = compare(b, "supervoxels", cut_as_rank, 1, bytes);
    free_labels(b);
    return failures;
}

/* ---- letters ---- */

typedef struct {
    bench *b;
    void *mine, *theirs; /* blocks of the rank's device */
    uint8_t *got;
} parcel;

/* What a rank sends in a run. */
static uint8_t value_of(int rank, int run)
{
    return (uint8_t)(2 * (run + BENCH_WARM_UP) + rank);
}

static lob_status swap_parcels(lob_team *team, void *user)
{
    const parcel *const p = user;
    const bench *const b = p->b;
    const lob_letter letter = {.with = 1 - team->rank,
                               .send = p->mine,
                               .send_bytes = b->letter,
                               .receive = p->theirs,
                               .receive_bytes = b->letter,
                               .device = b->context[team->rank].device};
    LOB_TRY(lob_team_send(team, &letter, 1, NULL));
    return lob_device_wait(letter.device, NULL);
}

static lob_status swap_in_turns(lob_team *team, parcel *p)
{
    bench *const b = p->b;
    lob_device *const device = b->context[team->rank].device;
    const size_t bytes = (size_t)b->letter;
    LOB_TRY(lob_device_block_take(device, LOB_DEVICE_TABLES, &p->mine, b->letter, NULL));
    LOB_TRY(lob_device_block_take(device, LOB_DEVICE_LISTS, &p->theirs, b->letter, NULL));
    for (int i = -BENCH_WARM_UP; i < b->times; i++) {
        LOB_TRY(lob_device_fill(device, p->mine, value_of(team->rank, i), b->letter, NULL));
        LOB_TRY(lob_device_wait(device, NULL));
        LOB_TRY(timed(team, b, i, swap_parcels, p));
    }
    p->got = malloc(bytes);
    if (!p->got) return LOB_ENOMEM;
    LOB_TRY(lob_device_download(device, p->got, p->theirs, b->letter, NULL));
    const bool same = p->got[0] == value_of(1 - team->rank, b->times - 1) &&
                      memcmp(p->got, p->got + 1, bytes - 1) == 0;
    return same ? LOB_OK : LOB_EINTERNAL;
}

static void swap_as_rank(lob_team *team, void *user)
{
    parcel p = {.b = user};
    lob_error error = {.text = ""};
    team->direct = p.b->direct;
    const lob_status st = lob_team_agree(team, swap_in_turns(team, &p), &error);
    free(p.got);
    if (st != LOB_OK && team->rank == 0) lob_fail(&p.b->error, st, "%s", lob_status_text(st));
}

/* Two ranks send each other as much at the same time. */
static int bench_letters(bench *b)
{
    for (b->letter = 1 << 10; b->letter <= 256 << 20; b->letter <<= 6)
        for (int how = 1; how >= 0; how--) {
            b->direct = how == 1;
            const float ms = run_ranks(b, 2, swap_as_rank, "letters");
            printf("letters of %lld KiB %s: %.3f ms, %.2f GB/s each way\n",
                   (long long)(b->letter >> 10), how ? "from GPU to GPU" : "by ordinary memory",
                   (double)ms, (double)b->letter / ((double)ms * 1e-3) / 1e9);
            if (ms == 0) return 1;
        }
    return 0;
}

static bool is_wanted(const bench_options *o, const char *name)
{
    return !o->only || strstr(o->only, name);
}

static int bench_volume(bench *b, const bench_options *o)
{
    int failures = is_wanted(o, "growcut") ? bench_grow(b, o->huge) : 0;
    if (is_wanted(o, "components") && !o->huge) failures += bench_label(b);
    if (is_wanted(o, "supervoxels") && !o->huge) failures += bench_cut(b);
    return failures;
}

int bench_ranks(const bench_options *o, int threads)
{
    bench b = {.times = o->times, .image = lob_volume_empty(), .seeds = lob_volume_empty()};
    int failures = 1;
    if (o->huge && !strchr(o->ranks, ','))
        printf("--huge takes two ranks or more\n");
    else if (open_ranks(&b, o->ranks, threads))
        failures = (b.ranks > 1 && is_wanted(o, "letters") ? bench_letters(&b) : 0) +
                   (make_volume(&b, o) ? bench_volume(&b, o) : 1);
    else
        printf("%s: %s\n", o->ranks, b.error.text);
    lob_volume_free(&b.image);
    lob_volume_free(&b.seeds);
    close_ranks(&b);
    return failures;
}
