/* Commands and options in words, and the papers behind them: the tables of methods.c. */
#ifndef LOB_METHODS_WORDS_H
#define LOB_METHODS_WORDS_H

/* To which commands a row belongs: to all of a name; with an option, where it was given; with a
 * value too, where the option has that one. The last row of each table has no name. */
enum { LOB_TOLD_COMMAND, LOB_TOLD_OPTION, LOB_TOLD_VALUE, LOB_TOLD_CONDITIONS };

enum { LOB_TOLD_DECIDING = 4, LOB_TOLD_PAPERS = 6 };

/* A command in words, and the options that are told even where they were left out. Of several rows
 * that apply the first counts. */
typedef struct {
    const char *when[LOB_TOLD_CONDITIONS];
    const char *sentence; /* NULL: nothing that a paper has to tell */
    const char *deciding[LOB_TOLD_DECIDING];
} lob_told_command;
extern const lob_told_command lob_told_commands[];

/* An option in words, of which %s is the value; one that is in no table is told by its name. */
typedef struct {
    const char *option, *words;
} lob_told_option;
extern const lob_told_option lob_told_options[];
extern const char *const lob_untold_options[];

/* Which papers go with a command; all rows that apply count. */
typedef struct {
    const char *when[LOB_TOLD_CONDITIONS];
    const char *papers[LOB_TOLD_PAPERS];
} lob_told_papers;
extern const lob_told_papers lob_told_papers_of[];

#endif
