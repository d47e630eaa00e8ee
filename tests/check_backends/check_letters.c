/*
 * Letters between three ranks, each with a device of its own, perhaps of one GPU. What arrives is
 * what the sender's device was given before it sent, however much lies ahead of that in its queue,
 * and what it is given next writes over it. Letters go from GPU to GPU, or by ordinary memory.
 */
#include "kernels/device/device_letters.h"
#include "kernels/team/team.h"
#include "tests/check_backends/check.h"
#include "tests/reference/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, POSTS = 2, ROOM = 1 << 20, HALF = POSTS * RANKS * ROOM };

/* What a rank's memory holds before a case, and where it sent from after it; letters hold others.
 */
enum { BEFORE = 0xee, AFTER = 0x11, FIRST = 0x20, VALUES = 0x80 };

typedef struct {
    const lob_context *context; /* of each rank */
    uint64_t first, n;
    int differ[RANKS];
    lob_status status;
    lob_error error;
} letters_run;

/* ---- a case ---- */

static int posts_of(uint64_t number)
{
    return number % 2 ? POSTS : 1;
}

static uint64_t letter_number(uint64_t number, int post, int from, int to)
{
    return ((number * POSTS + (uint64_t)post) * RANKS + (uint64_t)from) * RANKS + (uint64_t)to;
}

static unsigned char value_of(uint64_t number, int post, int from, int to)
{
    return (unsigned char)(FIRST + letter_number(number, post, from, to) % VALUES);
}

static int64_t bytes_of(uint64_t number, int post, int from, int to)
{
    uint64_t state = letter_number(number, post, from, to);
    return random_chance(&state, 20) ? 0 : 1 + random_below(&state, ROOM);
}

/* Everyone to everyone, twice in some cases before the first letters are waited for. */
static lob_status exchange(lob_team *team, uint64_t number, char *send, lob_device *device,
                           lob_error *error)
{
    lob_letter letters[POSTS][RANKS - 1];
    const int me = team->rank, posts = posts_of(number);
    team->direct = number % 3 > 0;
    for (uint64_t i = 0; i <= number % 4; i++)
        LOB_TRY(lob_device_fill(device, send, BEFORE, 2 * (int64_t)HALF, error));
    for (int post = 0; post < posts; post++)
        for (int away = 1; away < RANKS; away++) {
            const int with = (me + away) % RANKS;
            char *const at = send + (post * RANKS + with) * ROOM;
            const lob_letter letter = {.with = with,
                                       .send = at,
                                       .send_bytes = bytes_of(number, post, me, with),
                                       .receive = at + HALF,
                                       .receive_bytes = bytes_of(number, post, with, me),
                                       .device = device};
            letters[post][away - 1] = letter;
            LOB_TRY(lob_device_fill(device, at, value_of(number, post, me, with), letter.send_bytes,
                                    error));
        }
    if (posts == 1) return lob_team_send(team, letters[0], RANKS - 1, error);
    for (int post = 0; post < posts; post++)
        LOB_TRY(lob_team_begin_send(team, letters[post], RANKS - 1, error));
    return lob_device_after_fetches(device, error);
}

static bool holds(const uint8_t *bytes, int64_t n, uint8_t value)
{
    return n == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, (size_t)n - 1) == 0);
}

/* Did each letter arrive, and nothing beside it? */
static bool arrived(const uint8_t *got, uint64_t number, int me)
{
    for (int post = 0; post < POSTS; post++)
        for (int from = 0; from < RANKS; from++, got += ROOM) {
            const bool sent = post < posts_of(number) && from != me;
            const int64_t bytes = sent ? bytes_of(number, post, from, me) : 0;
            const uint8_t value = value_of(number, post, from, me);
            if (!holds(got, bytes, value) || !holds(got + bytes, ROOM - bytes, BEFORE))
                return false;
        }
    return true;
}

/* ---- all cases ---- */

static lob_status exchange_all(lob_team *team, letters_run *run, lob_error *error)
{
    const int me = team->rank;
    lob_device *const device = run->context[me].device;
    uint8_t *const got = malloc(HALF);
    void *memory = NULL;
    lob_status st = got ? lob_device_alloc(device, &memory, 2 * (int64_t)HALF, error) : LOB_ENOMEM;
    for (uint64_t i = run->first; st == LOB_OK && i < run->first + run->n; i++) {
        st = exchange(team, i, memory, device, error);
        if (st == LOB_OK) st = lob_device_fill(device, memory, AFTER, HALF, error);
        if (st == LOB_OK) st = lob_device_download(device, got, (char *)memory + HALF, HALF, error);
        if (st != LOB_OK || arrived(got, i, me)) continue;
        printf("letters: case %llu: those to rank %d differ\n", (unsigned long long)i, me);
        run->differ[me]++;
    }
    lob_device_free(device, memory);
    free(got);
    return st;
}

static void work(lob_team *team, void *user)
{
    letters_run *const run = user;
    lob_error error = {.text = ""};
    const lob_status st = lob_team_agree(team, exchange_all(team, run, &error), &error);
    if (team->rank > 0) return;
    run->status = st;
    run->error = error;
}

int check_letters_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                        uint64_t n)
{
    lob_context of[RANKS];
    letters_run run = {.context = of, .first = first, .n = n, .status = LOB_ENOMEM};
    int failures = 1;
    (void)backend;
    if (check_open_ranks(of, RANKS, context, &run.error) &&
        lob_team_threads(RANKS, work, &run) == LOB_OK && run.status == LOB_OK)
        failures = run.differ[0] + run.differ[1] + run.differ[2];
    check_close_ranks(of, RANKS);
    if (run.status != LOB_OK) printf("letters: %s\n", run.error.text);
    printf("letters: %llu cases, %d differ\n", (unsigned long long)n, failures);
    return failures;
}
