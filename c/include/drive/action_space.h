/* What are the actions of an agent under a config? */
#ifndef DRIVE_ACTION_SPACE_H
#define DRIVE_ACTION_SPACE_H

#ifndef DRV_BINDING
#include <stdint.h>
#endif

#include "drive/config.h"

enum {
    /* Numbers of a control: acceleration, steering. */
    DRV_ACTION_DIMENSIONS = 2,
    DRV_ACTION_BIN_LIMIT = 13
};

/* One number of a control. */
typedef struct drv_action_dimension {
    const char *name;
    const char *unit;
    float limit;  /* in `unit`: what 1 stands for */
    int32_t bins; /* of the discrete action types */
    float share[DRV_ACTION_BIN_LIMIT]; /* of each bin: the same control as a continuous action, a share of the limit */
} drv_action_dimension;

/* The actions of one agent. A discrete action is one index, acceleration_bin * bins of steering + steering_bin; a
 * multi-discrete action is the two bins; a continuous action is the two shares, each in [low, high]. */
typedef struct drv_action_space {
    int32_t type;  /* drv_action_type */
    int32_t width; /* numbers of an action */
    int32_t count; /* of discrete actions */
    float low, high;
    drv_action_dimension dimension[DRV_ACTION_DIMENSIONS];
} drv_action_space;

drv_action_space drv_action_space_of(const drv_config *config);

#endif
