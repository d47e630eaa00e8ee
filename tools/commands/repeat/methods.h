/* What a report says was done, as a paragraph for a paper. */
#ifndef LOB_METHODS_H
#define LOB_METHODS_H

#include "tools/commands/repeat/past_report.h"

/* Print to standard output: the program and its version; a sentence for each command with the
 * options that were given and those that decide; the references of the algorithms used. */
void lob_methods_print(const lob_past_report *report);

#endif
