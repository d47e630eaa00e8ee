/* The program's door: finds the command and hands it the rest of the arguments. */
#include "tools/commands/commands.h"
#include "tools/platform/process.h"
#include "tools/program.h"
#include "tools/session/ranks.h"
#include "tools/session/session.h"
#include "volumes/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Print the line that an unknown command deserves; returns the exit code. */
static int unknown(const char *name)
{
    const char *const nearest = lob_nearest_command(name);
    lob_error error;
    const lob_status st =
        nearest
            ? lob_fail(&error, LOB_EARG, "unknown command '%s'; did you mean %s?", name, nearest)
            : lob_fail(&error, LOB_EARG, "unknown command '%s'; lobule --help lists them", name);
    if (lob_ranks_speak()) fprintf(stderr, "lobule: %s\n", error.text);
    return lob_ranks_refuse(lob_status_exit_code(st));
}

static int finish(void)
{
    lob_error error;
    const lob_status st = lob_stdout_end(&error);
    if (st != LOB_OK) fprintf(stderr, "lobule: %s\n", error.text);
    return lob_status_exit_code(st);
}

/* --help, --man, --man NAME, --completion SHELL and --version; returns the exit code. */
static int about(const char *option, const char *of)
{
    if (!lob_ranks_speak()) return 0;
    if (strcmp(option, "--version") == 0 || strcmp(option, "-V") == 0) {
        puts("lobule " LOB_VERSION);
    } else if (strcmp(option, "--man") == 0) {
        lob_print_program_man(stdout);
    } else if (strcmp(option, "--completion") == 0) {
        const int code = of ? lob_print_completion(of) : -1;
        if (code > 0) return code;
        if (code < 0) {
            fputs("lobule: --completion needs a shell: bash, zsh or fish\n", stderr);
            return lob_status_exit_code(LOB_EARG);
        }
    } else {
        lob_print_program_help(stdout);
    }
    return finish();
}

/* Let a command tell about itself: "--help", "--man". */
static int tell(const char *name, const char *how)
{
    char ask[16], *arguments[] = {ask, NULL};
    const lob_command *command = lob_find_command(name);
    snprintf(ask, sizeof ask, "%s", how);
    return command ? lob_call(command, 1, arguments) : unknown(name);
}

/*
 * Let threads sleep at a barrier after some microseconds. libgomp lets them spin for milliseconds,
 * so that where programs share cores (xargs -P, jobs on a node) each burns what the others need:
 * small volumes take ten times as long. It reads its environment once, before main: the program
 * starts again with it, and where that cannot be it goes on as it is.
 */
static void sleep_at_barriers(char **argv)
{
    static const char spins[] = "GOMP_SPINCOUNT";
    if (getenv(spins) || getenv("OMP_WAIT_POLICY")) return;
    if (setenv(spins, "1000", 1) == 0) lob_process_restart(argv);
}

int main(int argc, char **argv)
{
    if (!lob_process_begin(&argc, &argv)) return lob_status_exit_code(LOB_ENOMEM);
    if (argc < 2) {
        if (lob_ranks_speak())
            fputs("lobule: a command is missing; lobule --help lists them\n", stderr);
        return lob_ranks_refuse(lob_status_exit_code(LOB_EARG));
    }
    static const char *const abouts[] = {"--help", "-h",    "--version",
                                         "-V",     "--man", "--completion"};
    const char *name = argv[1], *of = argc > 2 ? argv[2] : NULL;
    if (strcmp(name, "help") == 0) return of ? tell(of, "--help") : about("--help", NULL);
    if (strcmp(name, "--man") == 0 && of) return tell(of, "--man");
    for (size_t i = 0; i < LOB_COUNT(abouts); i++)
        if (strcmp(name, abouts[i]) == 0) return about(name, of);

    const lob_command *command = lob_find_command(name);
    if (!command) return unknown(name);
    sleep_at_barriers(argv);
    const int code = lob_call(command, argc - 2, argv + 2);
    lob_ranks_end();
    return code;
}
