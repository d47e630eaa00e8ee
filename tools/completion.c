/* Completion of the program's arguments by bash, zsh and fish. */
#include "tools/commands/commands.h"
#include "tools/program.h"

#include <string.h>

/* The names of all commands, separated by spaces. */
static void put_names(void)
{
    for (const lob_command *c = lob_next_command(NULL); c; c = lob_next_command(c))
        printf("%s%s", c->name, lob_next_command(c) ? " " : "");
}

/* Every command's own part; returns 0, or the exit code of one that could not print and said so. */
static int put_parts(const char *how)
{
    char ask[16], *arguments[] = {ask, NULL};
    for (const lob_command *c = lob_next_command(NULL); c; c = lob_next_command(c)) {
        snprintf(ask, sizeof ask, "%s", how);
        const int code = lob_call(c, 1, arguments);
        if (code != 0) return code;
    }
    return 0;
}

/* The names of recipes, which the user may add to at any time. */
#define LIST_RECIPES " run --list 2>/dev/null | sed -n 's/^\\([^ :]*\\):.*/\\1/p'"

static int put_bash(void)
{
    fputs("# bash completion of lobule, made by lobule --completion bash\n"
          "_lobule_recipes() { \"${COMP_WORDS[0]}\"" LIST_RECIPES "; }\n"
          "_lobule() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local command=${COMP_WORDS[1]} options= words= files= commands='",
          stdout);
    put_names();
    fputs("'\n"
          "    # --name=value comes as three words.\n"
          "    if [[ $current == \"=\" ]]; then\n"
          "        current=\n"
          "    elif [[ $option == \"=\" ]]; then\n"
          "        option=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    fi\n"
          "    ((COMP_CWORD > 1)) || command=\n"
          "    case $command in\n"
          "    '')\n"
          "        option=\n"
          "        options='--help --version'\n"
          "        words=\"$commands help\"\n"
          "        ;;\n"
          "    help)\n"
          "        option=\n"
          "        words=$commands\n"
          "        ;;\n",
          stdout);
    const int code = put_parts("--complete-bash");
    if (code != 0) return code;
    fputs("    esac\n"
          "    if [[ -z $option && $current == -* ]]; then\n"
          "        words=$options\n"
          "        files=\n"
          "    fi\n"
          "    mapfile -t COMPREPLY < <(\n"
          "        compgen -W \"$words\" -- \"$current\"\n"
          "        [[ -z $files ]] || compgen -f -- \"$current\"\n"
          "    )\n"
          "    [[ -z $files ]] || compopt -o filenames 2>/dev/null\n"
          "}\n"
          "complete -F _lobule lobule\n",
          stdout);
    return 0;
}

static int put_zsh(void)
{
    fputs("#compdef lobule\n"
          "# zsh completion of lobule, made by lobule --completion zsh\n"
          "_lobule_recipes() { compadd -- ${(f)\"$(lobule" LIST_RECIPES ")\"}; _files; }\n"
          "_lobule() {\n"
          "    local context state line\n"
          "    typeset -A opt_args\n"
          "    local -a commands\n"
          "    commands=(\n",
          stdout);
    for (const lob_command *c = lob_next_command(NULL); c; c = lob_next_command(c)) {
        printf("        '%s:", c->name);
        lob_put_quoted(stdout, c->summary, ":\\", "'\\''");
        fputs("'\n", stdout);
    }
    fputs("    )\n"
          "    _arguments -C '(- *)'{-h,--help}'[list the commands]' \\\n"
          "        '(- *)--version[print the version]' \\\n"
          "        '1:command:->command' '*::argument:->argument'\n"
          "    case $state in\n"
          "    command) _describe command commands ;;\n"
          "    argument)\n"
          "        case $words[1] in\n"
          "        help) _describe command commands ;;\n",
          stdout);
    const int code = put_parts("--complete-zsh");
    if (code != 0) return code;
    fputs(
        "        esac\n"
        "        ;;\n"
        "    esac\n"
        "}\n"
        "if [[ $funcstack[1] == _lobule ]]; then _lobule \"$@\"; else compdef _lobule lobule; fi\n",
        stdout);
    return 0;
}

static int put_fish(void)
{
    static const char first[] = "complete -c lobule -n __fish_use_subcommand -f";
    puts("# fish completion of lobule, made by lobule --completion fish\n"
         "function __lobule_recipes\n    lobule" LIST_RECIPES "\nend");
    printf("%s -s h -l help -d 'list the commands'\n"
           "%s -l version -d 'print the version'\n",
           first, first);
    for (const lob_command *c = lob_next_command(NULL); c; c = lob_next_command(c)) {
        printf("%s -a %s -d '", first, c->name);
        lob_put_quoted(stdout, c->summary, "\\", "\\'");
        fputs("'\n", stdout);
    }
    fputs("complete -c lobule -n '__fish_seen_subcommand_from help' -f -a '", stdout);
    put_names();
    fputs("'\n", stdout);
    return put_parts("--complete-fish");
}

int lob_print_completion(const char *shell)
{
    static const struct {
        const char *shell;
        int (*put)(void);
    } shells[] = {
        {"bash", put_bash},
        {"zsh",  put_zsh },
        {"fish", put_fish},
    };
    for (size_t i = 0; i < LOB_COUNT(shells); i++)
        if (strcmp(shells[i].shell, shell) == 0) return shells[i].put();
    return -1;
}
