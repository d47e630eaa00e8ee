/* Units of length as files of microscopes and scanners name them. */
#ifndef LOB_LENGTH_UNITS_H
#define LOB_LENGTH_UNITS_H

#include "volumes/both.h"

/*
 * Millimetres in a unit: a symbol, or a word in singular or plural and any case. 0 for what is no
 * unit of length, such as pixels, or not known; name may be NULL.
 */
double lob_length_unit_mm(const char *name);

#endif
