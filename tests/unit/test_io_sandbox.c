/* The child process: what it sends arrives, and every way to end is told apart. */
#include "io/hdf5/sandbox.h"

#include "tests/unit/cmocka_test.h"
#include "tests/unit/io_scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static void silent(int out, void *user) {}

static void aborts(int out, void *user)
{
    signal(SIGABRT, SIG_DFL);
    abort();
}

static void exits(int out, void *user)
{
    _exit(1);
}

static void spins(int out, void *user)
{
    lob_sandbox_limit(0, 1 << 30);
    for (volatile unsigned i = 0;; i++) {
    }
}

static void sleeps(int out, void *user)
{
    sleep(100);
}

static void interrupted(int out, void *user)
{
    raise(SIGTERM); /* the parent's handler is not run here */
}

static void on_term(int number)
{
    _exit(0);
}

static const struct {
    const char *what;
    lob_sandbox_fn *fn;
    int silence_s;
    lob_sandbox_end end;
} ends[] = {
    {"returns without a word", silent,      0, LOB_SANDBOX_DONE       },
    {"aborts",                 aborts,      0, LOB_SANDBOX_CRASHED    },
    {"exits with a failure",   exits,       0, LOB_SANDBOX_CRASHED    },
    {"runs for ever",          spins,       0, LOB_SANDBOX_TOO_LONG   },
    {"sleeps for ever",        sleeps,      1, LOB_SANDBOX_TOO_LONG   },
    {"is interrupted",         interrupted, 0, LOB_SANDBOX_INTERRUPTED},
};

TEST(ends_are_told_apart)
{
    signal(SIGTERM, on_term);
    for (size_t i = 0; i < COUNT(ends); i++) {
        lob_sandbox box;
        char byte;
        assert_true(lob_sandbox_start(&box, ends[i].fn, NULL, -1));
        assert_false(lob_sandbox_receive(&box, &byte, 1, ends[i].silence_s));
        const lob_sandbox_end end = lob_sandbox_finish(&box, NULL);
        if (end != ends[i].end)
            fail_msg("a child that %s: %d, not %d", ends[i].what, end, ends[i].end);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* reaped */
    }
    signal(SIGTERM, SIG_DFL);
}

enum { LONG = 3000001 };

static void sends_much(int out, void *user)
{
    unsigned char *bytes = malloc(LONG);
    for (size_t i = 0; bytes && i < LONG; i++) bytes[i] = (unsigned char)(i * 7 + *(int *)user);
    lob_sandbox_send(out, bytes, LONG);
}

TEST(what_is_sent_arrives)
{
    int start = 5;
    lob_sandbox box;
    unsigned char *bytes = malloc(LONG);
    assert_true(lob_sandbox_start(&box, sends_much, &start, -1));
    assert_true(lob_sandbox_receive(&box, bytes, 1000, 60));
    assert_true(lob_sandbox_receive(&box, bytes + 1000, LONG - 1000, 60));
    for (size_t i = 0; i < LONG; i++) assert_int_equal(bytes[i], (unsigned char)(i * 7 + 5));
    assert_int_equal(lob_sandbox_finish(&box, NULL), LOB_SANDBOX_DONE);
    free(bytes);
}

TEST(a_child_that_still_sends_is_stopped)
{
    int start = 0;
    lob_sandbox box;
    assert_true(lob_sandbox_start(&box, sends_much, &start, -1));
    assert_int_equal(lob_sandbox_finish(&box, NULL), LOB_SANDBOX_DONE);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void tries_files(int out, void *user)
{
    char found[3] = {0, 0, 0};
    found[0] = write(LOB_SANDBOX_KEPT, "x", 1) == 1;
    lob_sandbox_files(false);
    found[1] = open("/dev/null", O_RDONLY) >= 0;
    lob_sandbox_files(true);
    found[2] = open("/dev/null", O_RDONLY) >= 0;
    lob_sandbox_send(out, found, sizeof found);
}

TEST(files_stay_shut)
{
    char found[3], byte = 0;
    const int fd = open(scratch("kept"), O_RDWR | O_CREAT, 0600);
    lob_sandbox box;
    assert_true(lob_sandbox_start(&box, tries_files, NULL, fd));
    assert_true(lob_sandbox_receive(&box, found, sizeof found, 60));
    lob_sandbox_finish(&box, NULL);
    assert_true(found[0]);
    assert_false(found[1]);
    assert_true(found[2]);
    assert_int_equal(pread(fd, &byte, 1, 0), 1);
    close(fd);
}

typedef struct {
    int64_t n;
    int threads;
} count_request;

static void count_one(void *user, int64_t i)
{
    atomic_fetch_add((atomic_int *)user + i, 1);
}

static void counts(int out, void *user)
{
    const count_request *asked = user;
    static atomic_int seen[1000];
    char fine = 1;
    lob_sandbox_parallel(asked->n, asked->threads, count_one, seen);
    for (int64_t i = 0; i < 1000; i++) fine &= seen[i] == (i < asked->n);
    lob_sandbox_send(out, &fine, 1);
}

TEST(every_index_is_met_once)
{
    static const count_request asked[] = {
        {0,    4  },
        {1,    4  },
        {7,    1  },
        {1000, 3  },
        {1000, 200}
    };
    for (size_t i = 0; i < COUNT(asked); i++) {
        lob_sandbox box;
        char fine = 0;
        assert_true(lob_sandbox_start(&box, counts, (void *)&asked[i], -1));
        assert_true(lob_sandbox_receive(&box, &fine, 1, 60));
        lob_sandbox_finish(&box, NULL);
        assert_true(fine);
    }
}
