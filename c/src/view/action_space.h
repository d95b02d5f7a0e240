/* Which actions does a config offer, and which controls does each stand for? */
#ifndef DRV_ACTION_SPACE_H
#define DRV_ACTION_SPACE_H

#include <stdbool.h>

#include "drive.h"

/* The control that a share in [-1, 1] stands for. */
static inline float drv_control_of_share(const drv_action_dimension *dimension, float share) {
    return share * (share < 0.0f ? -dimension->low : dimension->high);
}

/* The share that stands for a control, limited to [-1, 1]. */
static inline float drv_share_of_control(const drv_action_dimension *dimension, float control) {
    const float share = control / (control < 0.0f ? -dimension->low : dimension->high);
    return share < -1.0f ? -1.0f : share > 1.0f ? 1.0f : share;
}

/* The bin nearest to a share in [-1, 1]; of two as near, the one farther from 0. */
static inline int32_t drv_nearest_bin(const drv_action_dimension *dimension, float share) {
    const int32_t middle = dimension->bins / 2;
    if (dimension->bins % 2 == 1) { /* evenly spaced */
        const float offset = share * (float)middle;
        return middle + (int32_t)(offset + (offset >= 0.0f ? 0.5f : -0.5f));
    }
    int32_t nearest = 0;
    float least = 2.0f;
    for (int32_t bin = 0; bin < dimension->bins; bin++) {
        const float apart = share - dimension->share[bin];
        const float distance = apart < 0.0f ? -apart : apart;
        const bool nearer = share < 0.0f ? distance < least : distance <= least;
        nearest = nearer ? bin : nearest;
        least = nearer ? distance : least;
    }
    return nearest;
}

#endif
