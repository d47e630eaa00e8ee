/* The table of commands. */
#include "tools/commands/commands.h"

#include <string.h>

const lob_command_group lob_command_groups[] = {
    {"Strokes to masks",
     {&lob_command_segment, &lob_command_seeds, &lob_command_appearance, &lob_command_refine}               },
    {"Cells",            {&lob_command_cells, &lob_command_merge, &lob_command_maxima}                      },
    {"Regions",
     {&lob_command_growcut, &lob_command_components, &lob_command_supervoxels,
      &lob_command_threshold}                                                                               },
    {"Images",
     {&lob_command_filter, &lob_command_crop, &lob_command_resample, &lob_command_distance}                 },
    {"Labels",           {&lob_command_labels, &lob_command_stats, &lob_command_compare}                    },
    {"Cohorts",          {&lob_command_carry, &lob_command_fuse, &lob_command_register, &lob_command_warp}  },
    {"Many scans",       {&lob_command_run, &lob_command_batch, &lob_command_bids, &lob_command_repeat}     },
    {"Files",            {&lob_command_info, &lob_command_check, &lob_command_convert, &lob_command_preview}},
    {"To try",           {&lob_command_phantom, &lob_command_doctor}                                        },
    {NULL,               {NULL}                                                                             },
};

const lob_command *lob_next_command(const lob_command *command)
{
    bool take = !command;
    for (const lob_command_group *group = lob_command_groups; group->task; group++)
        for (const lob_command *const *c = group->commands; *c; c++) {
            if (take) return *c;
            take = *c == command;
        }
    return NULL;
}

const lob_command *lob_find_command(const char *name)
{
    const lob_command *c = lob_next_command(NULL);
    while (c && strcmp(c->name, name) != 0) c = lob_next_command(c);
    return c;
}

const char *lob_nearest_command(const char *name)
{
    const char *nearest = NULL;
    int min = 3;
    for (const lob_command *c = lob_next_command(NULL); c; c = lob_next_command(c)) {
        const int distance = lob_word_distance(c->name, name);
        if (distance < min) {
            min = distance;
            nearest = c->name;
        }
    }
    return nearest;
}
