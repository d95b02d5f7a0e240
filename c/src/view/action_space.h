/* Which actions does a config offer, and which controls does each stand for? */
#ifndef DRV_ACTION_SPACE_H
#define DRV_ACTION_SPACE_H

#include "drive.h"

/* The values that an action sets, by dimension; 0 beyond the dimensions of the space. */
typedef struct drv_control {
    float value[DRV_ACTION_DIMENSIONS];
} drv_control;

/* The control that a share in [-1, 1] stands for. */
static inline float drv_control_of_share(const drv_action_dimension *dimension, float share) {
    return share * (share < 0.0f ? -dimension->low : dimension->high);
}

/* The share that stands for a control, limited to [-1, 1]. */
static inline float drv_share_of_control(const drv_action_dimension *dimension, float control) {
    const float share = control / (control < 0.0f ? -dimension->low : dimension->high);
    return share < -1.0f ? -1.0f : share > 1.0f ? 1.0f : share;
}

/* The bin nearest to a share in [-1, 1]. */
static inline int32_t drv_nearest_bin(float share, int32_t bins) {
    const float offset = share * (float)(bins / 2);
    return bins / 2 + (int32_t)(offset + (offset >= 0.0f ? 0.5f : -0.5f));
}

#endif
