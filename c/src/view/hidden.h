/* Which hidden parameters vary under a config, and within which ranges? */
#ifndef DRV_HIDDEN_H
#define DRV_HIDDEN_H

#include <stdbool.h>

#include "drive.h"

/* Both ends are 0 where the parameter does not vary. */
typedef struct drv_hidden_range {
    float low, high;
} drv_hidden_range;

typedef struct drv_hidden_ranges {
    drv_hidden_range of[DRV_HIDDEN_COUNT];
} drv_hidden_ranges;

drv_hidden_ranges drv_hidden_ranges_of(const drv_config *config);

static inline bool drv_hidden_has_range(drv_hidden_range range) { return range.low != 0.0f || range.high != 0.0f; }

/* Whether agents have hidden values: a parameter varies, or observations reveal them. */
bool drv_hidden_is_on(const drv_config *config);

/* Whether hidden values may change a commanded wheel angle or curvature before the vehicle follows it. */
bool drv_hidden_commands_steering(const drv_config *config);

/* Checks that every range lies within the parameter's limits and that the vehicle model has the parameter. */
drv_status drv_hidden_check(const drv_config *config, char *message);

#endif
