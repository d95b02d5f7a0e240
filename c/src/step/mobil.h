/* Is a lane change worth it, and safe? The model MOBIL (Kesting, Treiber, Helbing 2007), as pure functions of
 * values. */
#ifndef DRV_MOBIL_H
#define DRV_MOBIL_H

#include <stdbool.h>

/* Parameters of a driver. */
typedef struct drv_mobil {
    float politeness;        /* weight of what the change costs its followers */
    float safe_braking_mps2; /* it imposes at most this deceleration on the new follower */
    float threshold_mps2;    /* gain below which it stays */
} drv_mobil;

/* The acceleration of a vehicle before a lane change and after it; 0 and 0 where there is no such vehicle. */
typedef struct drv_mobil_effect {
    float before_mps2, after_mps2;
} drv_mobil_effect;

static inline bool drv_mobil_is_safe(drv_mobil driver, drv_mobil_effect new_follower) {
    return new_follower.after_mps2 >= -driver.safe_braking_mps2;
}

/* Whether a vehicle changes to a lane that it prefers by `bias_mps2`. The followers are those behind it in the lane it
 * changes to, and in the one it leaves. */
static inline bool drv_mobil_changes(drv_mobil driver, drv_mobil_effect own, drv_mobil_effect new_follower,
                                     drv_mobil_effect old_follower, float bias_mps2) {
    const float of_others_mps2 = (new_follower.after_mps2 - new_follower.before_mps2) +
                                 (old_follower.after_mps2 - old_follower.before_mps2);
    const float gain_mps2 = own.after_mps2 - own.before_mps2 + driver.politeness * of_others_mps2 + bias_mps2;
    return drv_mobil_is_safe(driver, new_follower) && gain_mps2 >= driver.threshold_mps2;
}

#endif
