/* What is kept of the text that another program prints. */
#include "io/dicom/outside_program.h"

#include <string.h>

void lob_program_heard(lob_program_end *end, const char *bytes, size_t n)
{
    const size_t room = sizeof end->text - 1, used = strlen(end->text);
    const size_t drop = used + n > room ? used + n - room : 0;
    memmove(end->text, end->text + drop, used - drop);
    memcpy(end->text + used - drop, bytes, n);
    end->text[used - drop + n] = '\0';
}
