/* The program's door: finds the command and hands it the rest of the arguments. */
#include "tools/commands.h"
#include "tools/stdout.h"
#include "volumes/version.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

static const lob_command *const commands[] = {
    &lob_command_growcut, &lob_command_components, &lob_command_supervoxels,
    &lob_command_stats,   &lob_command_info,       &lob_command_convert,
    &lob_command_compare, &lob_command_preview,    &lob_command_phantom,
};

static const lob_command *find(const char *name)
{
    for (size_t i = 0; i < LOB_COUNT(commands); i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

/* Print the line that an unknown command deserves; returns the exit code. */
static int unknown(const char *name)
{
    const char *nearest = NULL;
    int min = 3;
    for (size_t i = 0; i < LOB_COUNT(commands); i++) {
        const int distance = lob_word_distance(commands[i]->name, name);
        if (distance < min) {
            min = distance;
            nearest = commands[i]->name;
        }
    }
    lob_error error;
    const lob_status st =
        nearest
            ? lob_fail(&error, LOB_EARG, "unknown command '%s'; did you mean %s?", name, nearest)
            : lob_fail(&error, LOB_EARG, "unknown command '%s'; lobule --help lists them", name);
    fprintf(stderr, "lobule: %s\n", error.text);
    return lob_status_exit_code(st);
}

static int finish(void)
{
    lob_error error;
    const lob_status st = lob_stdout_end(&error);
    if (st != LOB_OK) fprintf(stderr, "lobule: %s\n", error.text);
    return lob_status_exit_code(st);
}

static int help(void)
{
    printf("lobule %s: cut medical volumes into labelled regions\n\n"
           "Usage: lobule COMMAND [ARGUMENT...]\n\nCommands:\n",
           LOB_VERSION);
    for (size_t i = 0; i < LOB_COUNT(commands); i++)
        printf("  %-12s %s\n", commands[i]->name, commands[i]->summary);
    printf("\nlobule help COMMAND, or lobule COMMAND --help, tells about a command.\n");
    return finish();
}

int main(int argc, char **argv)
{
    static const char *const ask_help[] = {"--help", "-h"};
#ifdef __GLIBC__
    /* What is freed leaves the process, and what grows is not copied: --max-memory is kept to. */
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an answer of write */
    if (argc < 2) {
        fputs("lobule: a command is missing; lobule --help lists them\n", stderr);
        return lob_status_exit_code(LOB_EARG);
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("lobule %s\n", LOB_VERSION);
        return finish();
    }
    const bool asks = strcmp(name, "help") == 0;
    for (size_t i = 0; i < LOB_COUNT(ask_help); i++)
        if (strcmp(name, ask_help[i]) == 0) return help();
    if (asks && argc < 3) return help();

    const lob_command *command = find(asks ? argv[2] : name);
    if (!command) return unknown(asks ? argv[2] : name);
    if (!asks) return command->run(command, argc - 2, argv + 2);
    char ask[] = "--help", *arguments[] = {ask, NULL};
    return command->run(command, 1, arguments);
}
