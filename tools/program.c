/* Help and man page of the program. */
#include "tools/program.h"

#include "tools/commands/commands.h"
#include "volumes/version.h"

static const char summary[] = "cut medical volumes into labelled regions";

void lob_print_program_help(FILE *to)
{
    fprintf(to, "lobule %s: %s\n\nUsage: lobule COMMAND [ARGUMENT...]\n", LOB_VERSION, summary);
    for (const lob_command_group *group = lob_command_groups; group->task; group++) {
        fprintf(to, "\n%s:\n", group->task);
        for (const lob_command *const *c = group->commands; *c; c++)
            fprintf(to, "  %-12s %s\n", (*c)->name, (*c)->summary);
    }
    fputs("\nlobule help COMMAND, or lobule COMMAND --help, tells about a command.\n", to);
}

void lob_print_program_man(FILE *to)
{
    lob_put_man_head(to, "lobule", summary);
    fputs(
        ".SH SYNOPSIS\n\\fBlobule\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n.br\n"
        "\\fBlobule help\\fR [\\fICOMMAND\\fR]\n.br\n\\fBlobule \\-\\-version\\fR\n"
        ".SH DESCRIPTION\n"
        "Lobule cuts medical volumes (CT, MRI, microscopy) into labelled regions: it grows seeds, "
        "numbers connected pieces, and cuts all of a scan into supervoxels. It reads and writes "
        "NIfTI, NRRD, MetaImage, HDF5, OME-Zarr, TIFF and PNG, and its label volumes keep the "
        "scan's "
        "header.\n.PP\n"
        "Each command has a page of its own, and \\fB\\-\\-help\\fR.\n",
        to);
    for (const lob_command_group *group = lob_command_groups; group->task; group++) {
        fprintf(to, ".SS %s\n", group->task);
        for (const lob_command *const *c = group->commands; *c; c++) {
            fprintf(to, ".TP\n.BR lobule\\-%s (1)\n", (*c)->name);
            lob_put_roff(to, (*c)->summary);
            fputc('\n', to);
        }
    }
    lob_put_man_exit_codes(to, true);
    fputs(".SH SEE ALSO\n", to);
    for (const lob_command *c = lob_next_command(NULL); c; c = lob_next_command(c))
        fprintf(to, ".BR lobule\\-%s (1)%s\n", c->name, lob_next_command(c) ? "," : "");
}
