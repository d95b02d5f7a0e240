/* What are the actions of an agent under a config? */
#ifndef DRIVE_ACTION_SPACE_H
#define DRIVE_ACTION_SPACE_H

#ifndef DRV_BINDING
#include <stdint.h>
#endif

#include "drive/config.h"

enum {
    /* Limit on the numbers of a control, which is what an action stands for, such as an acceleration and a wheel
     * angle. */
    DRV_ACTION_DIMENSIONS = 4,
    /* Limit on the bins of one number. */
    DRV_ACTION_BIN_LIMIT = 13
};

/* One number of a control. */
typedef struct drv_action_dimension {
    const char *name;
    const char *unit;
    float low, high; /* in `unit`: what -1 and 1 stand for; 0 stands for 0 */
    int32_t bins;    /* of the discrete action types; 0 without them */
    float share[DRV_ACTION_BIN_LIMIT]; /* of each bin: the same control as a continuous action, from -1 to 1 */
    float value[DRV_ACTION_BIN_LIMIT]; /* of each bin, in `unit` */
} drv_action_dimension;

/* The actions of one agent. A multi-discrete action is one bin for each dimension; a discrete action is one index, that
 * of the bins in row-major order; a continuous action is one share for each dimension, from `low` to `high`. */
typedef struct drv_action_space {
    int32_t type;       /* drv_action_type */
    int32_t dimensions; /* numbers of a control */
    int32_t width;      /* numbers of an action */
    int32_t count;      /* of discrete actions; 0 where a dimension has no bins */
    float low, high;    /* of every share: -1 and 1 */
    drv_action_dimension dimension[DRV_ACTION_DIMENSIONS];
} drv_action_space;

drv_action_space drv_action_space_of(const drv_config *config);

/* The number of flags of an action mask: one per discrete action, or one per bin of each dimension. */
int32_t drv_action_mask_size(const drv_action_space *space);

/* Whether the discrete actions of a model can have a mask: their first number is an acceleration. */
int32_t drv_action_mask_is_offered(int32_t dynamics);

/* The action types that a model offers: bit t for drv_action_type t. */
int32_t drv_action_types_of(int32_t dynamics);

#endif
