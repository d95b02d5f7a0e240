/* Which hidden parameters does a vehicle model have? */
#ifndef DRIVE_HIDDEN_H
#define DRIVE_HIDDEN_H

#ifndef DRV_BINDING
#include <stdint.h>
#endif

#include "drive/config.h"

/* The hidden parameters, in the order of the state array `hidden` and of the features of an observation that reveals
 * them. */
typedef enum drv_hidden {
#define X(symbol, name, neutral, lowest, highest, meaning) DRV_HIDDEN_##symbol,
    DRV_HIDDEN(X)
#undef X
    DRV_HIDDEN_COUNT
} drv_hidden;

const char *drv_hidden_name(int32_t parameter); /* "" past the end */

/* The parameters that a vehicle model has: bit p for drv_hidden p. */
int32_t drv_hidden_parameters_of(int32_t dynamics);

/* The value of a parameter that does not vary. */
float drv_hidden_neutral(const drv_config *config, int32_t parameter);

#endif
