/* What test_io_sandbox.c starts: a program that ends in the way its argument names. */
#include "io/hdf5/sandbox_inside.h"
#include "io/hdf5/sandbox_window.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 3000001 };

static void spins(void)
{
    lob_inside_limit(0, 1 << 30);
    for (volatile unsigned i = 0;; i++) {
    }
}

/* Counts in sevens from what it gets. */
static void sends_much(void)
{
    unsigned char first, *bytes = malloc(LONG);
    lob_inside_receive(&first, 1);
    for (size_t i = 0; bytes && i < LONG; i++) bytes[i] = (unsigned char)(i * 7 + first);
    lob_inside_send(bytes, LONG);
}

/* Sends, where no file may be opened, until it is stopped. */
static void sends_for_ever(void)
{
    unsigned char *const bytes = calloc(LONG, 1);
    lob_inside_shut();
    while (bytes) lob_inside_send(bytes, LONG);
}

/* Says that so many bytes lie in its window, by itself. */
static void lies(uint32_t length)
{
    if (write(1, &length, sizeof length) != sizeof length) lob_inside_give_up();
}

/* Takes half of the bytes that come, answers and ends. */
static void takes_half(void)
{
    unsigned char *bytes = malloc(LONG);
    lob_inside_receive(bytes, LONG / 2);
    lob_inside_send(bytes, 1);
}

static void tries_files(void)
{
    char found[3] = {0, 0, 0};
    found[0] = write(LOB_SANDBOX_FILE, "x", 1) == 1;
    found[1] = open("/dev/null", O_RDONLY) >= 0;
    lob_inside_shut();
    found[2] = open("/dev/null", O_RDONLY) >= 0;
    lob_inside_send(found, sizeof found);
}

static void count_one(void *user, int64_t i)
{
    atomic_fetch_add((atomic_int *)user + i, 1);
}

static void counts(void)
{
    static const struct {
        int64_t n;
        int threads;
    } asked[] = {
        {0,    4  },
        {1,    4  },
        {7,    1  },
        {1000, 3  },
        {1000, 200}
    };
    char fine = 1;
    for (size_t k = 0; k < sizeof asked / sizeof asked[0]; k++) {
        atomic_int seen[1000] = {0};
        lob_inside_parallel(asked[k].n, asked[k].threads, count_one, seen);
        for (int64_t i = 0; i < 1000; i++) fine &= seen[i] == (i < asked[k].n);
    }
    lob_inside_send(&fine, 1);
}

int main(int argc, char **argv)
{
    const char *const how = argc > 1 ? argv[1] : "";
    lob_inside_begin();
    if (strcmp(how, "aborts") == 0) abort();
    if (strcmp(how, "gives up") == 0) lob_inside_give_up();
    if (strcmp(how, "refuses") == 0) return LOB_SANDBOX_REFUSES;
    if (strcmp(how, "spins") == 0) spins();
    if (strcmp(how, "sleeps") == 0) sleep(100);
    if (strcmp(how, "is interrupted") == 0) raise(SIGTERM);
    if (strcmp(how, "sends much") == 0) sends_much();
    if (strcmp(how, "sends for ever") == 0) sends_for_ever();
    if (strcmp(how, "lies of too much") == 0) lies(LOB_WINDOW_PORTION + 1);
    if (strcmp(how, "lies of nothing") == 0) lies(0);
    if (strcmp(how, "takes half") == 0) takes_half();
    if (strcmp(how, "tries files") == 0) tries_files();
    if (strcmp(how, "counts") == 0) counts();
    lob_inside_end();
}
