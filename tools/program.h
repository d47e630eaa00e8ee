/* What the program tells about itself as a whole. */
#ifndef LOB_PROGRAM_H
#define LOB_PROGRAM_H

#include <stdio.h>

void lob_print_program_help(FILE *to);
void lob_print_program_man(FILE *to);

/* Print a script that completes the program's arguments to standard output, where the commands
 * print their parts of it. Returns 0; -1 when shell is none of "bash", "zsh" and "fish"; or the
 * exit code of a command that could not print its part and has said so. */
int lob_print_completion(const char *shell);

#endif
