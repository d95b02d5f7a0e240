/* Which actions does a config offer, and which controls does each stand for? */
#ifndef DRV_ACTION_SPACE_H
#define DRV_ACTION_SPACE_H

#include "drive.h"

/* Odd, so that the middle bin is exactly zero. */
enum { DRV_ACCELERATION_BINS = 7, DRV_STEERING_BINS = 13, DRV_ALL_BINS = DRV_ACCELERATION_BINS * DRV_STEERING_BINS };

_Static_assert((int)DRV_STEERING_BINS <= (int)DRV_ACTION_BIN_LIMIT &&
                   (int)DRV_ACCELERATION_BINS <= (int)DRV_ACTION_BIN_LIMIT,
               "drv_action_dimension holds every bin");

/* Share of the limit that a bin stands for: evenly spaced from -1 to 1. */
static inline float drv_bin_share(int32_t bin, int32_t bins) {
    const int32_t middle = bins / 2;
    return (float)(bin - middle) / (float)middle;
}

/* The bin nearest to a share in [-1, 1]. */
static inline int32_t drv_nearest_bin(float share, int32_t bins) {
    const float offset = share * (float)(bins / 2);
    return bins / 2 + (int32_t)(offset + (offset >= 0.0f ? 0.5f : -0.5f));
}

#endif
