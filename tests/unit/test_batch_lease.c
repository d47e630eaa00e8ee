/* Leases of devices: one holder at a time, and none after the holder is gone. */
#include "tests/unit/cmocka_test.h"
#include "tools/batch/batch.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[32];

static void begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/lobule_lease_XXXXXX");
    assert_non_null(mkdtemp(folder));
    setenv("LOBULE_LEASES", folder, 1);
}

static void end(void)
{
    static const char *const names[] = {"a", "b", "c"};
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/lobule-gpu-%s.lock", folder, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* The status of another process that takes a lease and ends with it. */
static lob_status taken_elsewhere(const char *identity)
{
    const pid_t pid = fork();
    if (pid == 0) {
        int lease;
        _exit((int)lob_lease_take(&lease, identity, NULL));
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return (lob_status)WEXITSTATUS(status);
}

TEST(one_holder)
{
    int lease = -1, second = -1, other = -1;
    lob_error error = {.text = ""};
    begin();
    assert_int_equal(lob_lease_take(&lease, "gpu-a", &error), LOB_OK);
    assert_true(lease >= 0);
    assert_int_equal(taken_elsewhere("gpu-a"), LOB_EBUSY);
    assert_int_equal(lob_lease_take(&second, "gpu-a", &error), LOB_EBUSY);
    assert_int_equal(second, -1);
    assert_non_null(strstr(error.text, "lobule-gpu-a.lock"));
    assert_int_equal(lob_lease_take(&other, "gpu-b", &error), LOB_OK);
    close(other);
    close(lease);
    assert_int_equal(taken_elsewhere("gpu-a"), LOB_OK); /* and that process is gone */
    assert_int_equal(lob_lease_take(&lease, "gpu-a", &error), LOB_OK);
    close(lease);
    end();
}

/* Whatever the first holder's umask is, others must be able to open the lock and wait for it. */
TEST(lock_can_be_read_by_all)
{
    int lease;
    struct stat about;
    char path[128];
    begin();
    const mode_t before = umask(0077);
    assert_int_equal(lob_lease_take(&lease, "gpu-c", NULL), LOB_OK);
    umask(before);
    snprintf(path, sizeof path, "%s/lobule-gpu-c.lock", folder);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0644);
    close(lease);
    end();
}

TEST(no_folder)
{
    int lease;
    lob_error error = {.text = ""};
    setenv("LOBULE_LEASES", "/nowhere/at/all", 1);
    assert_int_equal(lob_lease_take(&lease, "gpu-a", &error), LOB_EIO);
    assert_non_null(strstr(error.text, "LOBULE_LEASES"));
}
