/* Lines of the distance transform with costs that fit 32 bits. */
#define NARROW 1
#include "kernels/distance/distance_lines_tmpl.h"
