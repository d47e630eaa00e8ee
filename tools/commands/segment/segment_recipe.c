/* A plan as lines of a recipe. */
#include "tools/commands/segment/segment_recipe.h"

#include "tools/text/text.h"

#include <stdio.h>
#include <stdlib.h>

/* Files as a shell takes them. */
typedef struct {
    char *image, *seeds, *out, *strength;
} quoted;

/* What of strokes is learnt and grown from. */
static const char *starts(const lob_segment_plan *plan)
{
    return plan->areas ? "@starts" : plan->corrected ? "@usual" : "@seeds";
}

/* Make it of strokes; n ends the names of volumes. */
static void put_starts(const lob_segment_plan *plan, const char *n)
{
    const char *const from = plan->corrected ? "usual" : "seeds";
    if (plan->corrected)
        printf("lobule seeds @image --labels @seeds%s --corrections %c -o @usual%s\n", n,
               "xyz"[plan->axis], n);
    if (!plan->areas) return;
    const char across = "xyz"[plan->across];
    printf("lobule labels @%s%s -o @areas%s --open 2.83vox --slices %c\n", from, n, n, across);
    printf("lobule labels @%s%s -o @starts%s --erode 1vox --mask @areas%s --slices %c\n", from, n,
           n, n, across);
}

static bool has_median(const lob_segment_plan *plan)
{
    return plan->median[0] || plan->median[1] || plan->median[2];
}

static const char *norm(const lob_segment_plan *plan)
{
    return plan->sum ? "l1" : "linf";
}

/* Cut image and strokes to the box, and make the second view. */
static void put_box(const lob_segment_plan *plan, const quoted *q, int frame)
{
    const lob_segment_options *const o = &plan->options;
    printf("lobule convert %s @strokes --labels --like %s\n", q->seeds, q->image);
    printf("lobule crop %s -o @image --around @strokes --margin %.9g%s --share %.9g --ends %.9g",
           q->image, o->margin, o->margin_voxels ? "vox" : "mm", o->share, plan->ends);
    if (frame >= 0) printf(" --frame %d", frame);
    printf("\nlobule resample @strokes -o %s --like @image --labels --method nearest\n",
           plan->slips ? "@drawn" : "@seeds");
    if (plan->slips) printf("lobule labels @drawn -o @seeds --slips\n");
    put_starts(plan, "");
    if (has_median(plan))
        printf("lobule filter @image -o @median --median %d,%d,%d --edge nearest\n",
               plan->median[0], plan->median[1], plan->median[2]);
}

/* What is learnt from: the image and its median, or, where values grow too, the median alone. */
static void put_views(const lob_segment_plan *plan)
{
    printf("lobule appearance %s %s", plan->values && has_median(plan) ? "@median" : "@image",
           starts(plan));
}

static void put_far(const lob_segment_plan *plan)
{
    printf(" --far %.9g --far-least %.9g", plan->options.far, plan->far_mm);
}

/* The rest of this, from strokes nearby too, and of voxels that hold two tissues. */
static void put_local(const lob_segment_plan *plan)
{
    if (has_median(plan) && !plan->values) printf(" --view @median");
    if (plan->values) printf(" --values");
    if (plan->partial_volume > 0) printf(" --partial-volume %.9g", plan->partial_volume);
    if (plan->local > 0) printf(" --local %.9g --local-axis %c", plan->local, "xyz"[plan->across]);
}

/* Shares are grown in steps of 1/255. */
static void put_smoothing(const char *n, double sigma_mm)
{
    printf("lobule filter @shares%s_raw -o @shares%s ", n, n);
    if (sigma_mm > 0) printf("--gaussian %.9gmm --edge nearest ", sigma_mm);
    printf("--scale 255,0 --cast uint8\n");
}

/* What the first growth says of borders on drawn slices. */
static const char *outline(const lob_segment_plan *plan)
{
    return plan->completed ? "@outline" : "@first";
}

static bool is_coarse(const lob_segment_plan *plan)
{
    return plan->factor[0] * plan->factor[1] * plan->factor[2] > 1;
}

/* Of several structures one may be a wall around another. */
static const char *walls(const lob_segment_plan *plan)
{
    return plan->count > 2 ? " --walls" : "";
}

/* Over the image alone, for what may outvote the second growth. */
static void put_plain_growth(const lob_segment_plan *plan)
{
    const bool coarse = is_coarse(plan);
    if (!plan->outvote) return;
    printf("lobule growcut %s %s -o %s --rule distance --norm %s --trust-seeds\n",
           coarse ? "@image1" : "@image", coarse ? "@seeds1" : starts(plan),
           coarse ? "@plain1" : "@plain", norm(plan));
    if (coarse)
        printf("lobule resample @plain1 -o @plain --like @image --labels --method nearest\n");
}

/* The first of two growths, on a coarser grid: shares are averaged, strokes are kept. */
static void put_coarse_growth(const lob_segment_plan *plan)
{
    const lob_segment_growth *const g = &plan->growth[0];
    const double *const mm = g->spacing_mm;
    printf("lobule resample @image -o @image1 --spacing %.9g,%.9g,%.9g\n", mm[0], mm[1], mm[2]);
    printf("lobule resample %s -o @seeds1 --like @image1 --labels --method strokes\n",
           starts(plan));
    put_views(plan);
    printf(" -o @shares1_fine --background %d --whole %.9g", plan->background, plan->options.whole);
    put_far(plan);
    put_local(plan);
    printf("\nlobule resample @shares1_fine -o @shares1_raw --like @image1\n");
    put_smoothing("1", g->blur_mm);
    printf("lobule growcut @shares1 @seeds1 -o @grown1 --rule distance --norm %s "
           "--trust-seeds\n",
           norm(plan));
    printf("lobule refine @grown1 @image1 @seeds1 -o @coarse --background %d --smooth %.9gmm "
           "--edge %.9g%s\n",
           plan->background, g->smooth_mm, g->edge, walls(plan));
    printf("lobule resample @coarse -o @first --like @image --labels --method nearest\n");
}

/* After the first growth: complete slices that are painted out. */
static void put_completed(const lob_segment_plan *plan)
{
    const char across = "xyz"[plan->axis];
    printf("lobule seeds @image --labels @seeds --complete @first --complete-axis %c "
           "--background %d -o @seeds2\n",
           across, plan->background);
    printf("lobule seeds @image --labels @first --labels @seeds2 -o @outline\n");
    put_starts(plan, "2");
}

/* One growth: shares, smoothed, grown, refined. */
static void put_growth(const lob_segment_plan *plan, bool second, const quoted *q)
{
    const lob_segment_options *const o = &plan->options;
    const lob_segment_growth *const g = &plan->growth[second];
    const bool last = second || plan->passes == 1;
    const char *const n = last ? "" : "1", *const result = last ? "@labels" : "@first";
    const char *const drawn = second && plan->completed ? "2" : "";
    const char *const from = !plan->areas ? starts(plan) : last ? "@from" : "@from1";

    put_views(plan);
    printf(" -o @shares%s_raw --background %d --whole %.9g", n, plan->background, o->whole);
    if (second)
        printf(" --outline %s --shape %.9g --shape-border %.9g", outline(plan), o->shape,
               g->shape_mm);
    put_far(plan);
    put_local(plan);
    printf("\n");
    put_smoothing(n, g->blur_mm);
    if (plan->areas)
        printf("lobule seeds @image --labels @starts%s --shares @shares%s --background %d -o %s\n",
               drawn, n, plan->background, from);
    printf("lobule growcut @shares%s %s -o @grown%s --rule distance --norm %s "
           "--trust-seeds%s\n",
           n, from, n, norm(plan), last && q->strength ? " --strength @strength" : "");
    if (plan->thick)
        printf("lobule growcut @shares%s %s -o @others%s --rule distance --norm %s "
               "--trust-seeds --slices %c\n",
               n, from, n, norm(plan), "xyz"[plan->axis]);
    printf("lobule refine @grown%s @image @seeds%s -o %s --background %d --smooth %.9gmm "
           "--edge %.9g%s",
           n, drawn, result, plan->background, g->smooth_mm, g->edge, walls(plan));
    if (second && plan->outvote) {
        printf(" --first %s --plain @plain", outline(plan));
        if (is_coarse(plan))
            printf(" --plain-step %d,%d,%d", plan->factor[0], plan->factor[1], plan->factor[2]);
    }
    if (plan->thick)
        printf(" --shares @shares%s --others @others%s --settle %.9g --settle-sigma %.9gmm", n, n,
               g->settle, g->settle_mm);
    if (plan->absent) printf(" --absent %c", "xyz"[plan->axis]);
    if (g->keep) printf(" --keep-volume");
    if (g->fade) printf(" --fade %c", "xyz"[plan->across]);
    printf("\n");
}

static void put_all(const lob_segment_plan *plan, const quoted *q, int frame)
{
    put_box(plan, q, frame);
    if (is_coarse(plan))
        put_coarse_growth(plan);
    else
        put_growth(plan, false, q);
    put_plain_growth(plan);
    if (plan->completed) put_completed(plan);
    if (plan->passes > 1) put_growth(plan, true, q);
    printf("lobule labels @labels -o @wanted --drop %d\n", plan->background);
    if (q->strength)
        printf("lobule resample @strength -o %s --like %s --method nearest\n", q->strength,
               q->image);
    printf("lobule resample @wanted -o %s --like %s --labels --method nearest\n", q->out, q->image);
}

lob_status lob_segment_print(const lob_segment_plan *plan, const lob_segment_files *files,
                             lob_error *error)
{
    const char *const names[] = {files->image, files->seeds, files->out, files->strength};
    quoted q = {NULL, NULL, NULL, NULL};
    char **const to[] = {&q.image, &q.seeds, &q.out, &q.strength};
    bool memory = true;
    for (size_t i = 0; i < LOB_COUNT(names); i++) {
        if (names[i]) *to[i] = lob_shell_word(names[i]);
        memory = memory && (*to[i] || !names[i]);
    }
    if (memory) put_all(plan, &q, files->frame);
    for (size_t i = 0; i < LOB_COUNT(to); i++) free(*to[i]);
    return memory ? LOB_OK : lob_fail(error, LOB_ENOMEM, "out of memory");
}
