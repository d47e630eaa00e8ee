/* The smallest use of every room of the installed library: a volume, a file format, a backend. */
#include "io/io.h"
#include "kernels/backends.h"
#include "volumes/labels.h"
#include "volumes/version.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
    lob_error error = {.text = ""};
    lob_volume volume = lob_volume_empty();
    const lob_status st = lob_read(&volume, "no-such-file.nii", NULL, NULL, &error);
    if (st != LOB_ENOINPUT || lob_status_exit_code(st) != 66) {
        fprintf(stderr, "reading a missing file gave: %s: %s\n", lob_status_text(st), error.text);
        return 1;
    }
    if (strcmp(lob_backends[0]->name, "cpu") != 0 || !lob_backends[0]->growcut) return 1;
    if (lob_label_type(300) != LOB_I16) return 1;
    printf("%s\n", LOB_VERSION);
    return 0;
}
