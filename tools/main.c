/* The program's door: finds the command and hands it the rest of the arguments. */
#include "tools/commands.h"
#include "volumes/version.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* The commands by task, as help lists them; the last row is empty. */
static const struct {
    const char *task;
    const lob_command *commands[8];
} groups[] = {
    {"Segment",      {&lob_command_growcut, &lob_command_components, &lob_command_supervoxels}},
    {"Measure",      {&lob_command_stats, &lob_command_compare}                               },
    {"Files",        {&lob_command_info, &lob_command_convert}                                },
    {"Look and try", {&lob_command_preview, &lob_command_phantom}                             },
    {NULL,           {NULL}                                                                   },
};

/* The command after this one in the table, or NULL; after NULL the first. */
static const lob_command *next(const lob_command *command)
{
    bool take = !command;
    for (size_t g = 0; groups[g].task; g++)
        for (const lob_command *const *c = groups[g].commands; *c; c++) {
            if (take) return *c;
            take = *c == command;
        }
    return NULL;
}

static const lob_command *find(const char *name)
{
    const lob_command *c = next(NULL);
    while (c && strcmp(c->name, name) != 0) c = next(c);
    return c;
}

/* Print the line that an unknown command deserves; returns the exit code. */
static int unknown(const char *name)
{
    const char *nearest = NULL;
    int min = 3;
    for (const lob_command *c = next(NULL); c; c = next(c)) {
        const int distance = lob_word_distance(c->name, name);
        if (distance < min) {
            min = distance;
            nearest = c->name;
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
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    fprintf(stderr, "lobule: standard output: %s\n", strerror(errno));
    return lob_status_exit_code(LOB_EIO);
}

static int help(void)
{
    printf("lobule %s: cut medical volumes into labelled regions\n\n"
           "Usage: lobule COMMAND [ARGUMENT...]\n",
           LOB_VERSION);
    for (size_t g = 0; groups[g].task; g++) {
        printf("\n%s:\n", groups[g].task);
        for (const lob_command *const *c = groups[g].commands; *c; c++)
            printf("  %-12s %s\n", (*c)->name, (*c)->summary);
    }
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
    if (argc < 2) {
        fputs("lobule: a command is missing; lobule --help lists them\n", stderr);
        return lob_status_exit_code(LOB_EARG);
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0) {
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
