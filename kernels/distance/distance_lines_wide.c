/* Lines of the distance transform with costs of up to 2^50, as doubles. */
#define NARROW 0
#include "kernels/distance/distance_lines_tmpl.h"
