/* A program in a sandbox: what is sent arrives, and every way to end is told apart. */
#include "io/hdf5/sandbox.h"
#include "io/hdf5/sandbox_window.h"

#include "tests/unit/cmocka_test.h"
#include "tests/unit/io_scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void start_file(lob_sandbox *box, const char *how, int file)
{
    const char *const program = getenv("LOBULE_SANDBOX_PROGRAM");
    if (!program)
        fail_msg("LOBULE_SANDBOX_PROGRAM is to name tests/unit/sandbox_program: run ctest");
    if (!lob_sandbox_start(box, program, how, file)) fail_msg("%s: not started", program);
}

static void start(lob_sandbox *box, const char *how)
{
    start_file(box, how, -1);
}

static void on_term(int number)
{
    _exit(0);
}

static const struct {
    const char *how;
    int silence_s;
    lob_sandbox_end end;
} ends[] = {
    {"says nothing",   0, LOB_SANDBOX_DONE       },
    {"aborts",         0, LOB_SANDBOX_CRASHED    },
    {"gives up",       0, LOB_SANDBOX_CRASHED    },
    {"refuses",        0, LOB_SANDBOX_OTHER      },
    {"spins",          0, LOB_SANDBOX_TOO_LONG   },
    {"sleeps",         1, LOB_SANDBOX_TOO_LONG   },
    {"is interrupted", 0, LOB_SANDBOX_INTERRUPTED}, /* the handler of this process is not its own */
};

TEST(ends_are_told_apart)
{
    signal(SIGTERM, on_term);
    for (size_t i = 0; i < COUNT(ends); i++) {
        lob_sandbox box;
        char byte;
        start(&box, ends[i].how);
        assert_false(lob_sandbox_receive(&box, &byte, 1, ends[i].silence_s));
        const lob_sandbox_end end = lob_sandbox_finish(&box, NULL);
        if (end != ends[i].end)
            fail_msg("a program that %s: %d, not %d", ends[i].how, end, ends[i].end);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* reaped */
    }
    signal(SIGTERM, SIG_DFL);
}

TEST(a_program_that_is_not_there_is_not_started)
{
    lob_sandbox box;
    assert_false(lob_sandbox_start(&box, scratch("none"), "", -1));
    assert_string_equal(box.why, "No such file or directory");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

enum { LONG = 3000001 };

TEST(what_is_sent_arrives)
{
    const unsigned char first = 5;
    lob_sandbox box;
    unsigned char *bytes = malloc(LONG);
    start(&box, "sends much");
    assert_true(lob_sandbox_send(&box, &first, 1));
    assert_true(lob_sandbox_receive(&box, bytes, 1000, 60));
    assert_true(lob_sandbox_receive(&box, bytes + 1000, LONG - 1000, 60));
    for (size_t i = 0; i < LONG; i++) assert_int_equal(bytes[i], (unsigned char)(i * 7 + 5));
    assert_int_equal(lob_sandbox_finish(&box, NULL), LOB_SANDBOX_DONE);
    free(bytes);
}

/* No signal ends this process, and what was said before the end is heard. */
TEST(a_program_that_takes_no_more)
{
    lob_sandbox box;
    unsigned char *bytes = calloc(LONG, 1), answer = 1;
    start(&box, "takes half");
    int taken = 0; /* as many as the stream holds besides */
    while (taken < 100 && lob_sandbox_send(&box, bytes, LONG)) taken++;
    assert_true(taken < 100);
    assert_true(lob_sandbox_receive(&box, &answer, 1, 60));
    assert_int_equal(answer, 0);
    assert_int_equal(lob_sandbox_finish(&box, NULL), LOB_SANDBOX_DONE);
    free(bytes);
}

TEST(a_program_that_still_sends_is_stopped)
{
    lob_sandbox box;
    start(&box, "sends much");
    assert_true(lob_sandbox_send(&box, "", 1));
    assert_int_equal(lob_sandbox_finish(&box, NULL), LOB_SANDBOX_DONE);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

TEST(a_program_that_nobody_hears_ends)
{
    lob_sandbox box;
    char byte;
    int status;
    start(&box, "sends for ever");
    assert_true(lob_sandbox_receive(&box, &byte, 1, 60));
    close((int)box.stream);
    pid_t ended = 0;
    for (int i = 0; i < 6000 && ended == 0; i++) {
        ended = waitpid((pid_t)box.process, &status, WNOHANG);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    assert_int_equal(ended, (pid_t)box.process);
    assert_true(WIFEXITED(status) || WTERMSIG(status) == SIGPIPE);
    munmap(box.window, sizeof *box.window);
}

TEST(lengths_are_not_believed)
{
    static const char *const lies[] = {"lies of too much", "lies of nothing"};
    char bytes[8];
    for (int i = 0; i < 2; i++) {
        lob_sandbox box;
        start(&box, lies[i]);
        assert_non_null(box.window);
        assert_false(lob_sandbox_receive(&box, bytes, sizeof bytes, 60));
        assert_true(box.garbled);
        lob_sandbox_finish(&box, NULL);
    }
}

TEST(files_stay_shut)
{
    char found[3], byte = 0;
    const int fd = open(scratch("kept"), O_RDWR | O_CREAT, 0600);
    lob_sandbox box;
    start_file(&box, "tries files", fd);
    assert_true(lob_sandbox_receive(&box, found, sizeof found, 60));
    lob_sandbox_finish(&box, NULL);
    assert_true(found[0]);
    assert_true(found[1]);
    assert_false(found[2]);
    assert_int_equal(pread(fd, &byte, 1, 0), 1);
    close(fd);
}

TEST(every_index_is_met_once)
{
    lob_sandbox box;
    char fine = 0;
    start(&box, "counts");
    assert_true(lob_sandbox_receive(&box, &fine, 1, 60));
    lob_sandbox_finish(&box, NULL);
    assert_true(fine);
}
