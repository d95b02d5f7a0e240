/* Which acceleration keeps a vehicle on its path clear of the others? The lowest of those that the intelligent driver
 * model allows behind each vehicle ahead and before each one that crosses the path. Rule-based vehicles and
 * drv_lane_driver, which drives agents, share it. */
#ifndef DRV_FOLLOWING_H
#define DRV_FOLLOWING_H

#include "math/geometry.h"
#include "step/corridor.h"
#include "step/idm.h"

/* Lower desired speeds count as this one: a speed of 0 would divide by 0. */
static const float drv_min_desired_mps = 0.1f;
/* Deceleration beyond which a vehicle does not stop for one that crosses its path, since that may brake as well. */
static const float drv_yielding_mps2 = 4.0f;

/* A vehicle whose acceleration is planned. */
typedef struct drv_follower {
    drv_idm driver;
    float speed_mps, desired_mps, length_m;
    float acceleration_mps2; /* the lowest yet */
} drv_follower;

/* A vehicle on a free road. */
static inline drv_follower drv_follower_of(drv_idm driver, float speed_mps, float desired_mps, float length_m) {
    desired_mps = drv_larger(drv_min_desired_mps, desired_mps);
    const float free_mps2 = drv_idm_acceleration_mps2(driver, speed_mps, desired_mps, INFINITY, 0.0f);
    return (drv_follower){driver, speed_mps, desired_mps, length_m, free_mps2};
}

/* Lowers the acceleration to what keeps a gap to something ahead. */
static inline void drv_keep_gap(drv_follower *own, float gap_m, float lead_mps) {
    const float allowed_mps2 = drv_idm_acceleration_mps2(own->driver, own->speed_mps, own->desired_mps, gap_m,
                                                         own->speed_mps - lead_mps);
    own->acceleration_mps2 = drv_smaller(own->acceleration_mps2, allowed_mps2);
}

/* Lowers it further, so that a step of `dt_s` ends at no more than `allowed_mps`, as far as the brakes reach. */
static inline float drv_bounded_acceleration(const drv_follower *own, float allowed_mps, float dt_s) {
    const float lowest_mps2 = drv_smaller(own->acceleration_mps2, (allowed_mps - own->speed_mps) / dt_s);
    return drv_larger(lowest_mps2, -own->driver.hardest_braking_mps2);
}

/* Whether it can brake to a stop within a distance. */
static inline bool drv_can_stop(const drv_follower *own, float gap_m) {
    const float braking_mps2 = drv_smaller(drv_yielding_mps2, own->driver.hardest_braking_mps2);
    return own->speed_mps * own->speed_mps <= 2.0f * braking_mps2 * gap_m;
}

/* The distance before a zone from which on a vehicle decides whether there is room beyond the zone: that of
 * comfortable braking plus 2 m. Farther away, the vehicles ahead may still make room. */
static inline float drv_decides_m(const drv_follower *own) {
    return 2.0f + own->speed_mps * own->speed_mps / (2.0f * own->driver.braking_mps2);
}

/* Whether it waits for a vehicle that crosses its path: it can stop in front of it, and without stopping both would be
 * there at the same time. */
static inline bool drv_yields_to(const drv_follower *own, const drv_crossing *crossing) {
    const float arrive_s = drv_idm_travel_time_s(own->driver, own->speed_mps, INFINITY, crossing->gap_m);
    const float leave_s =
        drv_idm_travel_time_s(own->driver, own->speed_mps, INFINITY, crossing->gap_m + own->length_m);
    return drv_can_stop(own, crossing->gap_m) && arrive_s < crossing->leave_s && leave_s > crossing->arrive_s;
}

#endif
