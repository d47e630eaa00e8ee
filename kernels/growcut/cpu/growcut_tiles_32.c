/* The tile engine with 32-bit keys. */
#define KEY_BITS 32
#include "kernels/growcut/cpu/growcut_tiles_tmpl.h"
