/* The table of backends. */
#include "kernels/backends.h"

static const lob_backend cpu = {.name = "cpu", .growcut = lob_growcut_cpu};

const lob_backend *const lob_backends[] = {&cpu, NULL};
