/*
 * The program lobule-hdf5, in which HDF5 is read and written: started by the library, which tells
 * it through a stream what to do and gets its answer there (hdf5_messages.h). One request, one
 * process.
 */
#include "io/hdf5/hdf5_parts.h"
#include "io/hdf5/sandbox_inside.h"
#include "io/platform.h"

#include <stdlib.h>
#include <string.h>

enum {
    PARSE_BYTES = 512 << 20, /* memory to find the data set */
};

/* What is asked for, with its texts; their memory goes with the process. */
typedef struct {
    lob_hdf5_request request;
    lob_location where;
    char *text[LOB_HDF5_TEXTS];
    hid_t file;
    int64_t file_bytes;
} task;

static void receive_task(task *t)
{
    lob_inside_receive(&t->request, sizeof t->request);
    for (int i = 0; i < LOB_HDF5_TEXTS; i++) {
        const int64_t n = t->request.bytes[i];
        if (n < 0) continue;
        t->text[i] = malloc((size_t)n + 1);
        if (!t->text[i]) lob_inside_give_up();
        lob_inside_receive(t->text[i], (size_t)n);
        t->text[i][n] = '\0';
    }
    /* The path is the file's, with what is inside after a colon. */
    const char *const path = t->text[LOB_HDF5_WHERE], *const inside = t->text[LOB_HDF5_INSIDE];
    const size_t rest = inside ? strlen(inside) + 1 : 0;
    t->where = (lob_location){.path = path, .inside = inside};
    t->where.file = path ? strndup(path, strlen(path) - rest) : NULL;
}

/*
 * Processor time to find the data set, in seconds. Damage can send HDF5 round a circle for ever;
 * what is sound takes less than a second for 16 MiB of small objects.
 */
static int parse_s(int64_t file_bytes)
{
    enum { LEAST_S = 1, MOST_S = 8, BYTES_PER_S = 4 << 20 };
    const int64_t s = LEAST_S + file_bytes / BYTES_PER_S;
    return s < MOST_S ? (int)s : MOST_S;
}

/* Open the input; from then on, whatever it says, no other file is opened. */
static void open_input(task *t)
{
    lob_about about;
    lob_hdf5_storage storage = {.fd = LOB_SANDBOX_FILE};
    if (!lob_about_open(&about, storage.fd)) lob_inside_give_up();
    storage.size = (size_t)about.bytes;
    storage.bytes = lob_map(storage.fd, storage.size);
    t->file_bytes = about.bytes;
    if (!storage.bytes) lob_inside_give_up();
    lob_inside_limit(parse_s(t->file_bytes), PARSE_BYTES);
    lob_inside_shut();
    const hid_t plist = lob_hdf5_access(&storage);
    t->file = plist < 0 ? -1 : H5Fopen("input", H5F_ACC_RDONLY, plist);
}

static void describe(lob_hdf5_reply *reply, const lob_hdf5_view *view, const task *t)
{
    const lob_read_options *const options = &t->request.options;
    reply->type = view->type;
    reply->dims = (lob_dims){lob_hdf5_side(view, LOB_AXIS_X), lob_hdf5_side(view, LOB_AXIS_Y),
                             lob_hdf5_side(view, LOB_AXIS_Z)};
    reply->channels = (int)lob_hdf5_side(view, LOB_AXIS_C);
    reply->frames = lob_hdf5_side(view, LOB_AXIS_T);
    reply->frame_step_s = view->frame_step_s;
    reply->slope = view->slope;
    reply->inter = view->inter;
    memcpy(reply->affine, view->geometry.affine, sizeof reply->affine);
    reply->unoriented = view->geometry.unoriented;
    reply->micrometres = view->geometry.micrometres;
    const bool all = options->frame == LOB_FRAME_ALL;
    lob_hdf5_portions(&reply->slab, &reply->batch, view, all);
    reply->status =
        lob_choose_frame(&reply->frame, reply->frames, t->where.path, options, &reply->error);
    if (all && reply->frames > 1) reply->frame = LOB_FRAME_ALL;
}

/* The layouts, in the order in which they look at a file. The last takes whatever data set there
 * is, or says what there is to choose from. */
static const lob_hdf5_layout *const layouts[] = {&lob_hdf5_itk,  &lob_hdf5_minc, &lob_hdf5_imaris,
                                                 &lob_hdf5_bdv,  &lob_hdf5_mrd,  &lob_hdf5_nexus,
                                                 &lob_hdf5_plain};

/* Find what is asked for and see it as a volume. */
static lob_status find(lob_hdf5_view *view, const lob_hdf5_layout **layout,
                       const lob_hdf5_reading *in)
{
    char asked[LOB_HDF5_PATH], path[LOB_HDF5_PATH] = "";
    lob_status st = lob_hdf5_asked(asked, in);
    const hid_t object = st == LOB_OK ? lob_hdf5_demand(in, asked) : -1;
    if (object < 0) return LOB_EDATA;
    H5Oclose(object);
    for (size_t i = 0; st == LOB_OK && !path[0] && i < sizeof layouts / sizeof layouts[0]; i++) {
        *layout = layouts[i];
        st = layouts[i]->find(path, asked, in);
    }
    return st == LOB_OK ? (*layout)->view(view, path, in) : st;
}

static void read_volume(const task *t)
{
    const lob_read_options *const options = &t->request.options;
    static lob_hdf5_reply reply = {.status = LOB_EDATA};
    const lob_hdf5_layout *layout = NULL;
    lob_hdf5_view view;
    char *header = NULL;
    unsigned char *nifti = NULL;
    const lob_hdf5_reading in = {
        t->file,        &t->where,       t->file_bytes, t->text[LOB_HDF5_XML],
        options->frame, options->spaced, &reply.info,   &reply.error};
    if (in.file < 0)
        lob_fail_file(&reply.error, LOB_EDATA, t->where.path,
                      "damaged HDF5 file: the HDF5 library cannot open it");
    else
        reply.status = find(&view, &layout, &in);
    if (reply.status == LOB_OK) describe(&reply, &view, t);
    if (reply.status == LOB_OK) {
        header = lob_hdf5_header_text(&view, layout, &in);
        reply.header_bytes = header ? (int64_t)strlen(header) : 0;
        if (layout == &lob_hdf5_itk) nifti = lob_hdf5_nifti(&reply.nifti_bytes, &in);
    }
    lob_inside_send(&reply, sizeof reply);
    if (reply.status != LOB_OK) return;
    lob_inside_send(header, (size_t)reply.header_bytes);
    lob_inside_send(nifti, (size_t)reply.nifti_bytes);
    if (!options->header_only) lob_hdf5_send_voxels(&view, reply.frame, options->threads, &in);
}

static void list_sets(const task *t)
{
    const lob_hdf5_reading in = {.file = t->file, .where = &t->where};
    static const lob_hdf5_found nothing;
    const lob_hdf5_found *all = &nothing;
    char path[LOB_HDF5_PATH];
    if (in.file >= 0 && lob_hdf5_asked(path, &in) == LOB_OK)
        all = lob_hdf5_collect(&in, path, lob_hdf5_is_volume);
    const int count = all->found < LOB_HDF5_MAX_SETS ? all->found : LOB_HDF5_MAX_SETS;
    lob_inside_send(&all->found, sizeof all->found);
    lob_inside_send(all->sets, (size_t)count * sizeof *all->sets);
}

int main(int argc, char **argv)
{
    static task t;
    char build[LOB_HDF5_BUILD];
    lob_hdf5_build(build);
    if (argc != 2 || strcmp(argv[1], build) != 0) return LOB_SANDBOX_REFUSES;
    lob_inside_begin();
    const int ready = LOB_HDF5_READY;
    lob_inside_send(&ready, sizeof ready);
    receive_task(&t);
    if (t.request.task != LOB_HDF5_WRITE) open_input(&t);
    switch (t.request.task) {
    case LOB_HDF5_READ:
        read_volume(&t);
        break;
    case LOB_HDF5_LIST:
        list_sets(&t);
        break;
    case LOB_HDF5_WRITE:
        lob_hdf5_save(&t.request.target, t.text[LOB_HDF5_CARRIED],
                      (unsigned char *)t.text[LOB_HDF5_NIFTI], t.request.bytes[LOB_HDF5_NIFTI]);
    }
    lob_inside_end();
}
