/*
 * A volume that is worked on some planes at a time: where memory does not hold it, and where
 * several ranks have a part of it each. A command opens its image, says how far its work looks
 * around, and hands over its work, which is called for each slab of this rank and gives the bytes
 * that it would give on the whole volume.
 */
#ifndef LOB_SLABS_H
#define LOB_SLABS_H

#include "tools/inout/grid.h"

/* Say what tasks would do, and do nothing. */
#define OPT_PLAN(pointer)                                                                   \
    OPT_INT(                                                                                \
        "plan", pointer, "R", 1, 1 << 20,                                                   \
        "only say what each of R tasks of mpirun or srun, or parts on as many GPUs, would " \
        "read, hold and send, in bytes, and about how long on CPUs; no GPU is needed for that")

/* Some planes of the image, with what is read around them. */
typedef struct {
    int64_t z, planes;   /* of the volume: what the slab gives, */
    int64_t from;        /* and where image and mask begin, */
    lob_volume image;    /* which has all that is read, of one channel; not to be written */
    const uint8_t *mask; /* NULL: none */
    const void *labels;  /* of lob_slabs.labels; NULL: none */
} lob_slab;

typedef struct {
    const char *path;        /* of the image, */
    const char *mask;        /* and the mask; NULL: none */
    const char *labels_path; /* labels on the image's grid, as they are stored; NULL: none */
    int frame;               /* as in lob_read_options */
    int channel;             /* -1: the only one */
    int plan;                /* tasks of --plan; 0: the work is to be done */
    int64_t seam_bytes;      /* of a voxel beside a seam: what its two tasks send each other */
    double moved_bytes;      /* of a voxel: what goes to the task that has its column, and back */
    int64_t meetings;        /* of all tasks, about; 0: not known */
    int64_t common_bytes;    /* that each task holds beside its planes; at once alone */
    int64_t first_bytes;     /* that the first may hold too, where it is said how many would do */
    int64_t beside_bytes;    /* of a voxel of all files beside the image */
    bool at_once; /* a rank's planes are one slab, of all channels; LOB_ENOMEM where it does not fit
                   */

    lob_volume volume; /* the header of the channel, or channels; nothing to free */
    lob_volume labels; /* of the labels; likewise */
    int64_t planes;    /* that a slab gives at most */
    bool enough;       /* work may set it: the slabs that are left need not be looked at */

    /* private */
    lob_plane_input file, mask_file, labels_file;
    int64_t halo, align;   /* in planes */
    int64_t from, to;      /* planes at hand */
    unsigned char *window; /* these, */
    uint8_t *mask_window;
    unsigned char *labels_window;
    void *staged; /* planes as they are read */
    int64_t held; /* bytes that the session counts for these */
    int64_t inside;
    lob_volume made;
    lob_plane_output output;
} lob_slabs;

/*
 * Is an image to be worked on in slabs? Always with several ranks, and to plan; of one, where its
 * voxels, a mask's and what the work takes do not fit in memory, and it has one channel and frame.
 *
 *   voxel_bytes  in  that the work takes for a voxel, beside the image and the mask
 */
bool lob_slabs_serve(const lob_session *s, const lob_slabs *w, int64_t voxel_bytes);

/* Open image, mask and labels. Returns LOB_OK, what lob_session_open and lob_same_grid do, or
 * LOB_EDATA (there are other channels too). Whatever it returned, call lob_slabs_close in the end.
 */
lob_status lob_slabs_open(lob_session *s, lob_slabs *w);

/* Open another volume on the image's grid, to be read by who closes it. */
lob_status lob_slabs_open_beside(lob_session *s, lob_slabs *w, lob_plane_input *in,
                                 const char *path);

/*
 * Choose how many planes a slab gives. With --plan, print instead what each of so many tasks would
 * read, hold and send: then there is nothing more to do.
 *
 *   halo         in  planes on each side on which a voxel's result may depend
 *   align        in  what is read begins at a multiple of this
 *   voxel_bytes  in  that a voxel takes which is read, beside image, mask and labels
 *   sent_bytes   in  that a voxel of the result has; 0: only tables are sent
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_slabs_cut(lob_session *s, lob_slabs *w, int64_t halo, int64_t align,
                         int64_t voxel_bytes, int64_t sent_bytes);

/* Work at once may learn later how much it holds beside its planes: after that, does it still fit?
 * Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_slabs_fit(lob_session *s, const lob_slabs *w, int64_t voxel_bytes);

/*
 * Hand this rank's slabs to work, in rising order. It may be called again: what is at hand is not
 * read twice. Returns LOB_OK, what work or reading did, or LOB_EDATA (the mask is empty).
 */
typedef lob_status lob_slab_work(lob_session *s, const lob_slab *slab, void *user);
lob_status lob_slabs_each(lob_session *s, lob_slabs *w, lob_slab_work *work, void *user);

/*
 * For those who ask for slabs, and do not have them handed over: hold so many planes, without those
 * around, in place of what was held, and read some. An output that is not complete is removed.
 *
 *   planes  in  0: hold none
 *   z, n    in  the n planes from z on
 *
 * lob_slabs_hold returns LOB_OK or LOB_ENOMEM, lob_slabs_read what reading does.
 */
lob_status lob_slabs_hold(lob_session *s, lob_slabs *w, int64_t planes);
lob_status lob_slabs_read(lob_session *s, lob_slabs *w, lob_slab *slab, int64_t z, int64_t n);

/* LOB_EDATA where no voxel that was read by any rank lies in the mask. */
lob_status lob_slabs_check_mask(lob_session *s, lob_slabs *w);

/* Bytes that a voxel at hand takes, of image, mask and labels, as it is read too. */
int64_t lob_slabs_voxel_bytes(const lob_slabs *w);

/*
 * Begin an output of one channel on the image's grid, which work then puts slab by slab.
 *
 *   made  in  as lob_session_planes_begin takes it; copied
 */
lob_status lob_slabs_begin(lob_session *s, lob_slabs *w, const lob_volume *made, int64_t largest,
                           const char *path, lob_write_options options);

/* Voxels of the slab's own planes, without those around. */
lob_status lob_slabs_put(lob_session *s, lob_slabs *w, const lob_slab *slab, const void *voxels);

/* Write an output of one slab of each rank, with the halo that the slab has; NULL: none. labels: it
 * holds them, in one channel. Without several tasks the slab is the whole volume, and it is
 * lob_session_write. */
lob_status lob_slabs_write(lob_session *s, lob_slabs *w, const lob_slab *slab, lob_volume *volume,
                           const char *path, bool labels);

/* The most voxels that a slab reads. */
int64_t lob_slabs_voxels(const lob_slabs *w);

/*
 * After LOB_ENOMEM of one task that needs all planes at once, on the CPU: add to the error how many
 * would do.
 *
 *   halo, voxel_bytes  in  as for lob_slabs_cut; voxel_bytes has mask and labels too
 *   beside             in  bytes that a task holds beside its planes, the first at most
 */
void lob_slabs_suggest(lob_session *s, const char *path, int64_t halo, int64_t voxel_bytes,
                       int64_t beside);

/* That number; 0: it is not known, or none would do. */
int64_t lob_slabs_tasks(const lob_session *s, const char *path, int64_t halo, int64_t voxel_bytes,
                        int64_t beside);

/* What this rank has sent so far; and report what all ranks have since then. */
int64_t lob_slabs_sent(const lob_session *s);
lob_status lob_slabs_report_sent(lob_session *s, int64_t before);

/* Complete the output. */
lob_status lob_slabs_commit(lob_session *s, lob_slabs *w);

/* Close and free; an output that is not complete is removed. What the caller has set, and sizes and
 * type of volume and labels, may be read afterwards. Returns st, of the work. */
lob_status lob_slabs_close(lob_session *s, lob_slabs *w, lob_status st);

/* A volume in one piece, as a slab of itself. */
static inline lob_slab lob_slab_whole(const lob_volume *image)
{
    return (lob_slab){.planes = image->dims.nz, .image = *image};
}

/* Voxels of a slab before its own planes, and of these. */
static inline int64_t lob_slab_before(const lob_slab *slab)
{
    return (slab->z - slab->from) * slab->image.dims.nx * slab->image.dims.ny;
}

/* The own planes of the first channel of a volume that has the slab's. */
static inline lob_volume lob_slab_own(const lob_slab *slab, const lob_volume *v)
{
    lob_volume own = *v;
    own.channels = 1;
    own.dims.nz = slab->planes;
    own.data = (char *)v->data + lob_slab_before(slab) * (int64_t)lob_type_of(v->type)->bytes;
    return own;
}

static inline int64_t lob_slab_voxels(const lob_slab *slab)
{
    return slab->planes * slab->image.dims.nx * slab->image.dims.ny;
}

/*
 * A volume of one channel over a copy of voxels, without header and names.
 *
 *   like  in  as they are stored
 *   dims  in  of the copy
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_slab_copy(lob_session *s, lob_volume *out, const lob_volume *like,
                         const void *voxels, lob_dims dims, const char *path);

/*
 * Renumber a slab's labels to those of all ranks, 1..count in the order of the labels, in
 * lob_label_type(count). All ranks call it alike.
 *
 *   labels  in/out  as for lob_labels_dense
 *   all     out     the labels of all ranks; their voxels are not counted
 *
 * Returns what lob_labels_dense does, and what the team does.
 */
lob_status lob_slab_labels(lob_session *s, lob_volume *labels, lob_label_set *all,
                           const char *path);

#endif
