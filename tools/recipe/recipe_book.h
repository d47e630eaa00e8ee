/* Where recipes are: files, and folders of them that are searched by name. */
#ifndef LOB_RECIPE_BOOK_H
#define LOB_RECIPE_BOOK_H

#include "tools/recipe/recipe.h"

#include <stdio.h>

/*
 * Find a recipe: the file of this name if there is one, else NAME.recipe in the first folder that
 * has it. Folders are those of LOBULE_RECIPES, separated by colons, then lobule/recipes in
 * XDG_DATA_HOME (~/.local/share if it is not set), then the one that was installed with the
 * program.
 *
 *   path  out  malloc'ed; NULL on failure
 *
 * Returns LOB_OK, LOB_ENOINPUT or LOB_ENOMEM.
 */
lob_status lob_recipe_find(char **path, const char *name, lob_error *error);

/* The first of these folders that there is, malloc'ed; NULL where there is none. */
char *lob_recipe_folder(void);

/* Read a recipe and parse it. Returns what lob_recipe_parse does, LOB_ENOINPUT or LOB_EIO. */
lob_status lob_recipe_read(lob_recipe *out, const char *path, lob_error *error);

/* Print the recipes of all folders, each with its values and what it does; of several with one name
 * the first, which is the one that is found. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_recipe_list(FILE *to, lob_error *error);

#endif
