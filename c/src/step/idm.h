/* Which acceleration keeps a gap to the vehicle ahead? The intelligent driver model (Treiber, Hennecke, Helbing 2000),
 * as pure functions of values. */
#ifndef DRV_IDM_H
#define DRV_IDM_H

#include "math/geometry.h"

/* Parameters of a driver. The exponent of the free-road term is 4. */
typedef struct drv_idm {
    float min_gap_m;            /* bumper to bumper, at rest */
    float headway_s;            /* time gap that a moving vehicle keeps in addition */
    float acceleration_mps2;    /* on a free road from rest */
    float braking_mps2;         /* comfortable deceleration */
    float hardest_braking_mps2; /* bound of the deceleration */
} drv_idm;

/* The formula replaces smaller gaps, and the negative ones of vehicles that overlap, by this one, so that its result is
 * finite. */
static const float drv_idm_gap_floor_m = 0.1f;

/* The acceleration of the model, without bounds: of a vehicle of speed `speed_mps`, which would drive `desired_mps`
 * (above 0) on a free road, with a vehicle `gap_m` ahead that is slower by `closing_mps`. INFINITY as the gap: there is
 * none. The desired gap is at least min_gap_m, also behind a faster vehicle. */
static inline float drv_idm_unbounded_mps2(drv_idm driver, float speed_mps, float desired_mps, float gap_m,
                                           float closing_mps) {
    const float root = sqrtf(driver.acceleration_mps2 * driver.braking_mps2);
    const float dynamic_m = speed_mps * driver.headway_s + 0.5f * speed_mps * closing_mps / root;
    const float desired_gap_m = driver.min_gap_m + drv_larger(0.0f, dynamic_m);
    const float share = speed_mps / desired_mps, gap_share = desired_gap_m / drv_larger(gap_m, drv_idm_gap_floor_m);
    const float share2 = share * share;
    return driver.acceleration_mps2 * (1.0f - share2 * share2 - gap_share * gap_share);
}

/* The same, at most acceleration_mps2 and at least -hardest_braking_mps2. */
static inline float drv_idm_acceleration_mps2(drv_idm driver, float speed_mps, float desired_mps, float gap_m,
                                              float closing_mps) {
    return drv_clip(drv_idm_unbounded_mps2(driver, speed_mps, desired_mps, gap_m, closing_mps),
                    -driver.hardest_braking_mps2, driver.acceleration_mps2);
}

/* The speed after a step; braking ends at rest. */
static inline float drv_idm_next_speed_mps(float speed_mps, float acceleration_mps2, float dt_s) {
    return drv_larger(0.0f, speed_mps + acceleration_mps2 * dt_s);
}

/* The time in which a vehicle drives a distance: at full acceleration up to `top_mps`, or to its own speed where that
 * is higher, then at that speed. INFINITY as the top speed: it never stops accelerating. */
static inline float drv_idm_travel_time_s(drv_idm driver, float speed_mps, float top_mps, float distance_m) {
    const float top = drv_larger(speed_mps, top_mps), twice_mps2 = 2.0f * driver.acceleration_mps2;
    const float rise_m = (top * top - speed_mps * speed_mps) / twice_mps2; /* until it has the top speed */
    const float rising_m = drv_smaller(drv_larger(0.0f, distance_m), rise_m);
    const float root = sqrtf(speed_mps * speed_mps + twice_mps2 * rising_m);
    return (root - speed_mps) / driver.acceleration_mps2 + drv_larger(0.0f, distance_m - rise_m) / top;
}

#endif
