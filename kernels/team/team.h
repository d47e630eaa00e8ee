/*
 * A team: ranks that work on one volume, each on a slab of its planes. A rank is a process under
 * MPI or a thread of one process; algorithms see their slab and ask the team, and never know which.
 *
 * All ranks call the functions below alike and in the same order, each in one thread. A rank that
 * fails calls lob_team_agree with its status where it gives up; the call that the others are in, or
 * make next, whichever it is, then ends with this status and this rank's error. So no rank waits
 * for one that has gone. From then on the team is over: each call returns that status at once.
 *
 * NULL is the team of a call that has the whole volume: one rank.
 */
#ifndef LOB_TEAM_H
#define LOB_TEAM_H

#include "kernels/budget.h"

#include <stdbool.h>
#include <stdint.h>

LOB_BEGIN_DECLS

/* Bytes that each rank brings to a call of all, and hears of each. */
enum { LOB_TEAM_MEETING = 152 };

/* What a rank sends to another and has from it; either may be 0 bytes. Both name the same sizes,
 * and arrays of both are in ordinary memory or on devices. */
typedef struct {
    int with; /* the other's rank */
    const void *send;
    int64_t send_bytes;
    void *receive;
    int64_t receive_bytes;
    lob_device *device; /* whose memory both arrays are in; NULL: ordinary memory */
} lob_letter;

/* How letters go; user is of the maker. At most one letter for each rank, none to the sender; it
 * returns when all have been received, and when those it sends may be written again: on devices
 * after lob_device_after_fetches. Returns LOB_OK or, where devices take part, what they did; in
 * ordinary memory letters do not fail. */
typedef lob_status lob_post(void *user, const lob_letter *letters, int count, lob_error *error);

typedef struct lob_team {
    int rank, size;
    lob_post *post;
    void *user;
    bool direct;            /* post takes letters on devices; else they go by ordinary memory */
    void *room;             /* for what all ranks bring to a call, and letters to each */
    int64_t sent, received; /* bytes of letters so far */
    lob_status over;        /* LOB_OK until a rank has failed */
    lob_error why;
} lob_team;

/*
 * Begin a team whose letters go by post; lob_team_free gives back what it holds. Returns LOB_OK or
 * LOB_ENOMEM; then there is nothing to free.
 */
lob_status lob_team_begin(lob_team *team, int rank, int size, lob_post *post, void *user);
void lob_team_free(lob_team *team);

/* 0 and 1 for NULL. */
int lob_team_rank(const lob_team *team);
int lob_team_size(const lob_team *team);

/* The planes first .. end - 1, of so many, of a rank: as equal as can be, in the order of ranks. */
void lob_team_planes(int64_t *first, int64_t *end, const lob_team *team, int rank, int64_t planes);

/*
 * The team of those ranks that have planes, of so many planes.
 *
 *   out  out  its ranks have their numbers in `all`, which it needs; nothing to free
 *
 * Returns whether this rank has any; if not, it stays out of what the others do, and *out is
 * not to be used.
 */
bool lob_team_narrow(lob_team *out, const lob_team *all, int64_t planes);

/*
 * Agree on an outcome: `mine` where all bring LOB_OK, else status and error of the lowest rank that
 * brings another. error may be NULL.
 */
lob_status lob_team_agree(lob_team *team, lob_status mine, lob_error *error);

/*
 * Everyone's bytes to everyone.
 *
 *   all    out  size * bytes, in the order of ranks
 *   mine   in   as many bytes for each rank, and few: they go through rank 0
 *
 * Returns LOB_OK, or what the team agreed on; also LOB_EINTERNAL where ranks do not do the same.
 * So do the functions below.
 */
lob_status lob_team_share(lob_team *team, void *all, const void *mine, int64_t bytes,
                          lob_error *error);

/* Rank 0's bytes to all, who ask for as many. */
lob_status lob_team_tell(void *data, int64_t bytes, lob_team *team, lob_error *error);

typedef enum { LOB_TEAM_SUM, LOB_TEAM_MIN, LOB_TEAM_MAX } lob_team_how;

/* Each of n values becomes the sum, least or largest of the ranks'. */
lob_status lob_team_reduce(lob_team *team, int64_t *values, int n, lob_team_how how,
                           lob_error *error);

/*
 * Everyone's bytes to rank 0, as many as each has.
 *
 *   all    out  in rank 0 malloc'ed, in the order of ranks; NULL in the others
 *   bytes  out  of all
 */
lob_status lob_team_collect(lob_team *team, void **all, int64_t *bytes, const void *mine,
                            int64_t own, lob_error *error);

/* Letters to any ranks. Each rank calls it, those without letters too. What a device is given next
 * comes after its letters; the host and other streams have to wait for it. */
lob_status lob_team_send(lob_team *team, const lob_letter *letters, int count, lob_error *error);

/* A letter to the rank before and one to that behind, where there are such; who they are with is
 * filled in. */
lob_status lob_team_beside(lob_team *team, lob_letter before, lob_letter behind, lob_error *error);

/* What a rank tells the one before it, [0], and the one behind it, [1], and what it hears. */
typedef struct {
    bool is_there;
    void *tells;
    void *hears;         /* room for what may come; NULL: it is allocated within */
    int64_t told, heard; /* items */
    lob_budget *budget;  /* this, for the caller to free, also after a failure */
} lob_team_news;

/*
 * Let all ranks tell each other their news.
 *
 *   news    in/out  what is told; what is heard
 *   each    in      bytes of an item
 *   any     out     whether a rank had something to tell
 *   device  in      whose memory the items are in; NULL: ordinary memory
 *
 * Returns LOB_OK, LOB_ENOMEM or as lob_team_send.
 */
lob_status lob_team_swap(lob_team_news news[2], int64_t each, bool *any, lob_team *team,
                         lob_device *device, lob_error *error);

/* The same as lob_team_send; but arrays of devices are under way, beside what these are given next,
 * until lob_device_after_fetches or lob_device_wait; perhaps also where it fails. */
lob_status lob_team_begin_send(lob_team *team, const lob_letter *letters, int count,
                               lob_error *error);

/* ---- threads ---- */

/*
 * A team of threads of this process, for one host, and for tests.
 *
 *   size  in  ranks, >= 1
 *   work  in  called once for each, in threads of their own
 *
 * Returns LOB_OK when all have ended, or LOB_ENOMEM without having called any.
 */
typedef void lob_team_work(lob_team *team, void *user);
lob_status lob_team_threads(int size, lob_team_work *work, void *user);

LOB_END_DECLS

#endif
