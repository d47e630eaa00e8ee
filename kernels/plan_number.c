/* Numbers of plans. */
#include "kernels/plan_number.h"

#include <stdio.h>
#include <stdlib.h>

double lob_plan_number(double number)
{
    char text[40];
    snprintf(text, sizeof text, "%.9g", number);
    return strtod(text, NULL);
}
