/* `lobule cells` by several tasks, and how many of them would do. */
#include "kernels/cells/cells_slabs.h"

#include "tools/commands/cells/cells_work.h"
#include "tools/table/region_list.h"
#include "tools/text/text.h"

#include <math.h>

/* What --size says, for voxels of these sides. */
void lob_cells_take_size(lob_cells_work *set, const lob_volume *image)
{
    const lob_size *const size = &set->size;
    const double unit =
        size->voxels ? lob_least_spacing(image->dims, image->geometry.spacing_mm) : 1;
    set->options.size_mm = size->value * unit;
}

/* Bytes of a voxel that a task's work takes: most in the flood; of one around its planes; and of
 * the flood's queues and tables of labels. */
enum { WORKING = 32, AROUND = 8, TABLES = 2 << 20 };

/* Planes on each side that steps reach; a size that is not given is taken for a usual one. */
static int64_t reach_of(const lob_cells_work *set, const lob_volume *v)
{
    enum { USUAL = 20 }; /* voxels */
    const double size = set->options.size_mm;
    return lob_cells_reach(v, &set->options,
                           isfinite(size) ? size : USUAL * v->geometry.spacing_mm[2]);
}

/* Planes on both sides of a task's own, at most. */
static int64_t around(const lob_volume *v, int64_t reach)
{
    return 2 * reach < v->dims.nz ? 2 * reach : v->dims.nz;
}

/* What each task holds beside its planes: the same for any number of tasks, so that more of them
 * are of use. */
static int64_t beside(const lob_volume *v, int64_t reach)
{
    return TABLES + v->dims.nx * v->dims.ny * around(v, reach) * AROUND;
}

/* After LOB_ENOMEM of work that was thought to fit. */
static lob_status say_more(lob_session *s, lob_status st)
{
    if (st == LOB_ENOMEM)
        lob_error_add(&s->error,
                      "; more memory for each task would do, or a part of it (lobule crop)");
    return st;
}

static lob_status measure_slab(lob_session *s, lob_cells_work *set, const lob_slab *slab)
{
    const char *const path = set->files.image;
    lob_region_list list = {.needs = lob_region_columns_needs(LOB_CELLS_COLUMNS)};
    lob_region_stack stack;
    lob_fine_levels fine;
    set->table =
        (lob_region_table){.grid = &set->image, .image = &set->image, .columns = LOB_CELLS_COLUMNS};
    lob_session_compute(s, "measuring");
    lob_status st = lob_region_stack_make(s, &stack, &set->labels, true, set->files.out);
    if (st == LOB_OK)
        st = lob_region_list_of_team(s, &list, &fine, &stack, &slab->image, slab->z, path,
                                     set->files.out);
    lob_region_stack_free(s, &stack);
    if (st == LOB_OK && lob_team_rank(s->team) == 0)
        st = lob_region_list_fill(s, &set->table, &list, &fine, path);
    set->table.count = list.count;
    lob_region_list_free(s, &list);
    return lob_session_done(s, st, path, NULL);
}

static lob_status label_slab(lob_session *s, const lob_slab *slab, void *user)
{
    lob_cells_work *const set = user;
    const char *const path = set->files.image;
    const int64_t planes = set->image.dims.nz, before = lob_slabs_sent(s);
    const bool first = lob_team_rank(s->team) == 0;
    lob_session_compute(s, "measuring");
    lob_status st = lob_cells_choose_slabs(&set->plan, &slab->image, &set->options, planes, s->team,
                                           &s->context, &s->error);
    LOB_TRY(lob_session_done(s, say_more(s, st), path, NULL));
    lob_cells_report_plan(s, &set->plan);
    if (set->print)
        return first ? lob_cells_print_recipe(&set->plan, &set->files, &s->error) : LOB_OK;
    set->slabs.common_bytes =
        beside(&set->image, lob_cells_reach(&set->image, &set->options, set->plan.size_mm));
    LOB_TRY(lob_slabs_fit(s, &set->slabs, WORKING));
    lob_session_compute(s, "labelling");
    st = lob_cells_slabs(&set->labels, &set->stats, &slab->image, &set->plan, planes, s->team,
                         &s->context, &s->error);
    LOB_TRY(lob_session_done(s, say_more(s, st), path, NULL));
    LOB_TRY(lob_session_take(s, lob_volume_bytes(&set->labels), set->files.out));
    LOB_TRY(lob_team_reduce(s->team, &set->stats.working_bytes, 1, LOB_TEAM_MAX, &s->error));
    lob_cells_report(s, set);
    if (set->files.table) LOB_TRY(measure_slab(s, set, slab));
    LOB_TRY(lob_slabs_report_sent(s, before));
    if (set->files.table && first) LOB_TRY(lob_cells_write_table(s, set));
    return lob_slabs_write(s, &set->slabs, slab, &set->labels, set->files.out, true);
}

lob_status lob_cells_by_slabs(lob_session *s, lob_cells_work *set)
{
    /* Bytes of a voxel at a seam in the flood, and of one around a task's planes. */
    enum { LABEL = 4, FLOOD = 32, GIVEN = 10, ESTIMATED = 18, MEETINGS = 200 };
    const lob_cells_files *const files = &set->files;
    lob_slabs *const slabs = &set->slabs;
    s->spaced = !isnan(files->stated.spacing[0]);
    slabs->path = files->image;
    slabs->frame = files->frame;
    slabs->channel = files->channel;
    LOB_TRY(lob_slabs_open(s, slabs));
    LOB_TRY(lob_grid_is_chosen(s, &slabs->volume, slabs->path));
    if (lob_grid_is_stated(&files->stated))
        slabs->volume.header = (lob_header){.bytes = NULL}; /* it stays the file's */
    lob_grid_state(&slabs->volume, &files->stated);
    set->image = slabs->volume;
    set->image.data = NULL;
    lob_cells_take_size(set, &set->image);
    LOB_TRY(lob_session_check(s, &set->image, LOB_I32, 1, files->out));
    const int64_t reach = reach_of(set, &set->image);
    slabs->seam_bytes =
        FLOOD + around(&set->image, reach) * (isfinite(set->options.size_mm) ? GIVEN : ESTIMATED);
    slabs->moved_bytes = 2 * sizeof(float) + 1;
    slabs->meetings = MEETINGS;
    slabs->common_bytes = beside(&set->image, reach);
    LOB_TRY(lob_slabs_cut(s, slabs, 0, 1, WORKING, LABEL));
    return slabs->plan > 0 ? LOB_OK : lob_slabs_each(s, slabs, label_slab, set);
}

/* After LOB_ENOMEM: add to the error what would do. */
void lob_cells_suggest(lob_session *s, lob_cells_work *set)
{
    /* Bytes that suffice for a voxel, beside the image's, and for any number of them, but where
     * noise has a seed every few voxels: then the flood's queue is longer. */
    enum { EACH = 36, ALL = 4 << 20 };
    const char *const path = set->files.image;
    lob_volume image;
    char need[LOB_BYTES_TEXT];
    if (s->host || s->context.device || !lob_session_peek(s, &image, path)) return;
    image.header = (lob_header){.bytes = NULL}; /* not ours */
    lob_grid_state(&image, &set->files.stated);
    lob_cells_take_size(set, &image);
    const int64_t each = EACH + image.channels * (int64_t)lob_type_of(image.type)->bytes;
    const int64_t most = lob_product(lob_voxels(&image), each, 1, 1);
    const double room = (double)(lob_session_left(s) + s->held - ALL);
    lob_error_add(&s->error, "; %s would do", lob_bytes_text(need, most + ALL));
    if (room > 8.0 * (double)each)
        lob_error_add(&s->error, ", or a part of %.0f voxels a side (lobule crop)",
                      floor(cbrt(room / (double)each)));
    const int64_t tasks =
        lob_slabs_tasks(s, path, 0, WORKING, beside(&image, reach_of(set, &image)));
    if (tasks > 0 && !set->walls)
        lob_error_add(&s->error, ", or %lld tasks of mpirun or srun", (long long)tasks);
}
