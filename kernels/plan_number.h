/* Numbers of plans: what a whole job has chosen, as it can be written down in full. */
#ifndef LOB_PLAN_NUMBER_H
#define LOB_PLAN_NUMBER_H

#include "volumes/both.h"

/* The number that "%.9g" writes: the nearest with nine significant digits. */
double lob_plan_number(double number);

#endif
