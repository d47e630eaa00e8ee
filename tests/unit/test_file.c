/* Files: outputs appear complete or not at all, and never in place of what should stay. */
#include "io/file.h"
#include "io/platform.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/io_scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void assert_content(const char *path, const char *want)
{
    size_t n = 0;
    unsigned char *bytes = slurp(path, &n);
    if (n != strlen(want) || memcmp(bytes, want, n) != 0)
        fail_msg("%s does not hold \"%s\"", path, want);
    free(bytes);
}

static void begin(lob_output *out, const char *path, bool force, const char *text)
{
    lob_error error = {.text = ""};
    if (lob_output_begin(out, path, force, &error) != LOB_OK ||
        lob_output_write(out, text, strlen(text), &error) != LOB_OK)
        fail_msg("%s", error.text);
}

TEST(the_folder_of_a_path)
{
    static const struct {
        const char *path;
        size_t length;
    } rows[] = {
        {"b",        0},
        {"a/b",      1},
        {"a/",       1},
        {"/b",       1},
        {"/",        1},
        {"/long/b",  5},
        {"../a/c/b", 6},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (lob_folder_length(rows[i].path) != rows[i].length)
            fail_msg("%s: %d", rows[i].path, (int)lob_folder_length(rows[i].path));
}

TEST(nothing_is_seen_before_commit)
{
    const char *path = scratch("a.nii");
    lob_output out;
    begin(&out, path, false, "new");
    assert_int_equal(access(path, F_OK), -1);
    assert_ok(lob_output_commit(&out, NULL));
    assert_content(path, "new");
    assert_int_equal(scratch_files(), 1);

    struct stat about;
    const mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0666 & ~mask);
}

TEST(the_file_can_be_opened_by_name)
{
    const char *path = scratch("a.h5");
    lob_output out;
    begin(&out, path, false, "");
    FILE *f = fopen(out.temporary, "w");
    assert_non_null(f);
    fputs("by name", f);
    fclose(f);
    assert_ok(lob_output_commit(&out, NULL));
    assert_content(path, "by name");
    assert_int_equal(scratch_files(), 1);
}

TEST(abort_leaves_nothing)
{
    lob_output out;
    begin(&out, scratch("a.nii"), false, "new");
    lob_output_abort(&out);
    assert_int_equal(scratch_files(), 0);
    lob_output_abort(&out); /* twice is fine */
}

TEST(an_old_file_stays_without_force)
{
    const char *path = scratch("a.nii");
    spill(path, "old", 3);
    lob_output out;
    lob_error error = {.text = ""};
    assert_int_equal(lob_output_check(path, false, &error), LOB_EEXIST);
    assert_int_equal(lob_output_begin(&out, path, false, &error), LOB_EEXIST);
    assert_int_equal(error.hint, LOB_HINT_REPLACE);
    lob_output_abort(&out);
    assert_content(path, "old");

    begin(&out, path, true, "new");
    assert_content(path, "old");
    assert_ok(lob_output_commit(&out, NULL));
    assert_content(path, "new");
    assert_int_equal(scratch_files(), 1);
}

TEST(a_file_that_appears_meanwhile_stays)
{
    const char *path = scratch("a.nii");
    lob_output out;
    lob_error error = {.text = ""};
    begin(&out, path, false, "new");
    spill(path, "theirs", 6);
    assert_int_equal(lob_output_commit(&out, &error), LOB_EEXIST);
    assert_string_equal(error.file, path);
    assert_content(path, "theirs");
    assert_int_equal(scratch_files(), 1);
}

/* Make an output that is not of the unnamed kind, as on file systems that lack it. */
static void begin_named(lob_output *out, const char *path, bool force, const char *text)
{
    begin(out, path, force, "");
    close(out->fd);
    free(out->temporary);
    out->temporary = strdup(scratch(".a.tmp"));
    out->unnamed = false;
    out->fd = open(out->temporary, O_RDWR | O_CREAT | O_EXCL, 0666);
    assert_ok(lob_output_write(out, text, strlen(text), NULL));
}

TEST(a_named_temporary_file_does_the_same)
{
    const char *path = scratch("a.nii");
    lob_output out;
    begin_named(&out, path, false, "new");
    assert_ok(lob_output_commit(&out, NULL));
    assert_content(path, "new");

    begin_named(&out, path, true, "newer");
    assert_ok(lob_output_commit(&out, NULL));
    assert_content(path, "newer");
    assert_int_equal(scratch_files(), 1);

    unlink(path);
    begin_named(&out, path, false, "new");
    spill(path, "theirs", 6);
    assert_int_equal(lob_output_commit(&out, NULL), LOB_EEXIST);
    assert_content(path, "theirs");
    assert_int_equal(scratch_files(), 1);

    begin_named(&out, path, true, "new");
    lob_output_abort(&out);
    assert_int_equal(scratch_files(), 1);
}

TEST(a_link_is_followed)
{
    const char *target = scratch("target.nii"), *link_path = scratch("link.nii");
    spill(target, "old", 3);
    assert_int_equal(symlink(target, link_path), 0);
    lob_output out;
    assert_int_equal(lob_output_begin(&out, link_path, false, NULL), LOB_EEXIST);
    begin(&out, link_path, true, "new");
    assert_ok(lob_output_commit(&out, NULL));
    assert_content(target, "new");
    struct stat about;
    assert_int_equal(lstat(link_path, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_true(lob_same_file(target, link_path));
    assert_false(lob_same_file(target, scratch("none")));
}

TEST(impossible_places_are_refused)
{
    static const struct {
        const char *path, *says;
    } cases[] = {
        {"/dev/full",           "not a regular file"    },
        {"/dev/null",           "not a regular file"    },
        {"/",                   "not the name of a file"},
        {"/nowhere/at/all.nii", "does not exist"        },
        {"/dev/null/a.nii",     "annot be created"      },
        {"/tmp",                "is a folder"           },
        {"/proc/a.nii",         "annot be created"      },
        {"",                    "not the name of a file"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lob_output out;
        lob_error error = {.text = ""};
        if (lob_output_begin(&out, cases[i].path, true, &error) != LOB_ECREATE ||
            !strstr(error.text, cases[i].says))
            fail_msg("%s: %s", cases[i].path, error.text);
        lob_output_abort(&out);
    }
}

TEST(a_folder_without_permission_is_refused)
{
    if (geteuid() == 0) {
        print_message("the superuser may write everywhere: skipped\n");
        skip();
    }
    char locked[1024];
    snprintf(locked, sizeof locked, "%s", scratch("locked"));
    assert_int_equal(mkdir(locked, 0500), 0);
    lob_output out;
    lob_error error = {.text = ""};
    char path[1100];
    snprintf(path, sizeof path, "%s/a.nii", locked);
    assert_int_equal(lob_output_begin(&out, path, false, &error), LOB_ECREATE);
    assert_non_null(strstr(error.text, "Permission"));
    rmdir(locked);
}

/* In a child, because a limit that was lowered cannot be raised again. */
TEST(a_size_limit_is_an_error_and_no_death)
{
    const char *path = scratch("a.nii");
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {1000, 1000};
        lob_output out;
        lob_error error = {.text = ""};
        char bytes[4096] = "";
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
        if (lob_output_begin(&out, path, false, &error) != LOB_OK) _exit(3);
        const lob_status st = lob_output_write(&out, bytes, sizeof bytes, &error);
        lob_output_abort(&out);
        _exit(st == LOB_EIO && strcmp(error.file, path) == 0 ? 0 : 4);
    }
    int how = -1;
    waitpid(child, &how, 0);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
    assert_int_equal(scratch_files(), 0);
}

TEST(a_killed_program_leaves_nothing)
{
    const char *path = scratch("a.nii");
    const pid_t child = fork();
    if (child == 0) {
        lob_output out;
        if (lob_output_begin(&out, path, false, NULL) != LOB_OK) _exit(3);
        lob_output_write(&out, "half", 4, NULL);
        kill(getpid(), SIGKILL);
    }
    int how = -1;
    waitpid(child, &how, 0);
    assert_true(WIFSIGNALED(how));
    assert_int_equal(access(path, F_OK), -1);
    if (scratch_files() > 0) /* a hidden name, where files without one cannot be had */
        print_message("this file system has no unnamed files\n");
}

/* A hidden file as a program that was killed so long ago leaves it. */
static const char *leave(const char *name, int seconds)
{
    const char *const path = scratch(name);
    const struct timespec then[2] = {
        {time(NULL) - seconds, 0},
        {time(NULL) - seconds, 0}
    };
    spill(path, "half", 4);
    assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
    return path;
}

TEST(what_a_killed_program_left_is_removed_later)
{
    static const struct {
        const char *what;
        int seconds;
        bool locked;
        int files;
    } cases[] = {
        {"an old one goes",                       7200, false, 1},
        {"a young one may be at work",            60,   false, 2},
        {"so may an old one that somebody locks", 7200, true,  2},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lob_output out;
        spill(scratch("a.nii"), "old", 3);
        const int lock = open(leave(".a.nii.0.tmp", cases[i].seconds), O_RDONLY);
        if (cases[i].locked) assert_int_equal(flock(lock, LOCK_EX), 0);
        begin(&out, scratch("a.nii"), true, "new");
        assert_ok(lob_output_commit(&out, NULL));
        assert_content(scratch("a.nii"), "new");
        if (scratch_files() != cases[i].files) fail_msg("%s: %d", cases[i].what, scratch_files());
        close(lock);
        scratch_clear(NULL);
    }
}

TEST(a_temporary_file_that_another_one_took_is_not_placed)
{
    const char *path = scratch("a.nii");
    lob_output out;
    lob_error error = {.text = ""};
    begin_named(&out, path, false, "mine");
    unlink(out.temporary);
    spill(out.temporary, "theirs", 6);
    assert_int_equal(lob_output_commit(&out, &error), LOB_EIO);
    assert_string_equal(error.file, path);
    assert_int_equal(access(path, F_OK), -1);
}

TEST(pairs_appear_together)
{
    const char *header = scratch("a.hdr"), *image = scratch("a.img");
    lob_output h, i;
    begin(&h, header, false, "header");
    begin(&i, image, false, "image");
    assert_ok(lob_output_commit_pair(&h, &i, NULL));
    assert_content(header, "header");
    assert_content(image, "image");

    scratch_clear(NULL);
    begin(&h, header, false, "header");
    begin(&i, image, false, "image");
    spill(image, "theirs", 6);
    assert_int_equal(lob_output_commit_pair(&h, &i, NULL), LOB_EEXIST);
    assert_content(image, "theirs");
    assert_int_equal(scratch_files(), 1);

    begin(&h, header, true, "new header");
    begin(&i, image, true, "new image");
    assert_ok(lob_output_commit_pair(&h, &i, NULL));
    assert_content(header, "new header");
    assert_content(image, "new image");
    assert_int_equal(scratch_files(), 2);
}

/* With force too: a header that was not there before does not stay when its image cannot be placed.
 */
TEST(half_a_pair_is_taken_back)
{
    const char *header = scratch("a.hdr"), *image = scratch("a.img");
    lob_output h, i;
    begin(&h, header, true, "header");
    begin(&i, image, true, "image");
    assert_int_equal(mkdir(image, 0700), 0);
    assert_int_equal(lob_output_commit_pair(&h, &i, NULL), LOB_ECREATE);
    assert_int_equal(access(header, F_OK), -1);
    assert_int_equal(rmdir(image), 0);
    assert_int_equal(scratch_files(), 0);
}

TEST(files_that_are_one)
{
    const char *here = scratch("new.nii");
    char *around = malloc(strlen(here) + 16);
    assert_non_null(around);
    sprintf(around, "%.*s/./new.nii", (int)(strrchr(here, '/') - here), here);
    assert_true(lob_same_file(here, around)); /* neither is there yet */
    spill(here, "1", 1);
    assert_true(lob_same_file(here, around));
    assert_false(lob_same_file(here, scratch("other.nii")));
    free(around);
}

TEST(inputs)
{
    lob_input in;
    lob_error error = {.text = ""};
    const char *path = scratch("a");
    assert_int_equal(lob_input_open(&in, path, &error), LOB_ENOINPUT);
    assert_string_equal(error.file, path);
    assert_int_equal(lob_input_open(&in, "/", &error), LOB_ENOINPUT);
    assert_int_equal(lob_input_open(&in, "/dev/zero", &error), LOB_ENOINPUT);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(lob_input_open(&in, path, &error), LOB_ENOINPUT); /* and does not wait */
    unlink(path);

    static const size_t sizes[] = {0, 1, 65535, 65536, 200000};
    for (size_t s = 0; s < COUNT(sizes); s++) {
        unsigned char *bytes = malloc(sizes[s] + 1);
        for (size_t i = 0; i < sizes[s]; i++) bytes[i] = (unsigned char)(i * 7);
        spill(path, bytes, sizes[s]);
        assert_ok(lob_input_open(&in, path, &error));
        assert_int_equal(in.size, sizes[s]);
        assert_non_null(in.bytes);
        assert_memory_equal(in.bytes, bytes, sizes[s]);
        lob_input_close(&in);
        free(bytes);
    }
}
