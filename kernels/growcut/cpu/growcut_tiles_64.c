/* The tile engine with 64-bit keys, for costs or label counts that 32 bits do not hold. */
#define KEY_BITS 64
#include "kernels/growcut/cpu/growcut_tiles_tmpl.h"
