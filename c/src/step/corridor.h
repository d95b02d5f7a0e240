/* Which vehicles are in the way of one that follows a path? Those whose boxes overlap the corridor along it. */
#ifndef DRV_CORRIDOR_H
#define DRV_CORRIDOR_H

#include "platform/isa.h"
#include "step/state.h"

/* The part of a path ahead of a vehicle, and how far to either side of it the vehicle needs space. */
typedef struct drv_corridor {
    const drv_paths *paths;
    drv_point centre;     /* of the vehicle */
    int32_t first, count; /* points of the paths, from the last one that is not ahead of the centre on */
    float left_m;         /* by which the corridor is to the left of the path */
    float shift_m;        /* by which points of the path itself were moved, at most */
    float first_m;        /* arc length from the centre to the first point, 0 or less */
    float length_m;       /* from the centre on */
    float half_width_m, half_length_m;
} drv_corridor;

/* How far the corners of a box that is grown by the half width of a corridor lie outside of the box's circle, at most:
 * sqrt(2), rounded up, times the half width. */
static inline float drv_corner_margin_m(const drv_corridor *corridor) { return 1.5f * corridor->half_width_m; }

/* A vehicle that crosses the path ahead. */
typedef struct drv_crossing {
    float gap_m;             /* along the path, from the front to where the other vehicle crosses */
    float arrive_s, leave_s; /* when the other vehicle is there, if it goes straight on at its speed */
} drv_crossing;

/* A vehicle ahead. */
typedef struct drv_lead {
    float gap_m;     /* along the path, from bumper to bumper; negative where they overlap */
    float speed_mps; /* along the path, at least 0 */
    float turn_cos;  /* cosine of the angle between its heading and the path */
} drv_lead;

/* How far a vehicle looks ahead. */
DRV_STEP_API float drv_look_ahead_m(float speed_mps);

/* The corridor along a path, ahead of a vehicle that is at its arc length `path_m`. */
DRV_STEP_API drv_corridor drv_corridor_of(const drv_world *world, const drv_paths *paths, int32_t path, float path_m,
                                          int32_t vehicle, float length_m);

/* How far a vehicle that follows no known path is forecast to drive straight on; 0 if it stands or reverses. */
DRV_STEP_API float drv_forecast_m(float speed_mps);

/* The longest forecast of the vehicles before `end`. */
DRV_STEP_API float drv_longest_forecast_m(const drv_world *world, int32_t end);

/* Writes the indices in `on_map` of the vehicles near a corridor, which is that of `vehicle`, or that may be there
 * after a forecast of at most `forecast_m`; returns their number. */
DRV_STEP_API int32_t drv_corridor_near(const drv_world *world, const drv_on_map *on_map, int32_t vehicle,
                                       const drv_corridor *corridor, float forecast_m, int32_t *near);

/* Writes to scratch->forecast, for each vehicle on the map, a circle that contains its box until the end of its
 * forecast. Rule-based vehicles, which follow known paths, have no forecast. */
DRV_STEP_API void drv_corridor_forecast(const drv_world *world, drv_scratch *scratch);

/* As drv_corridor_near, to scratch->near, but without vehicles that scratch->forecast shows to be outside of the
 * corridor. `forecast_m` is the longest forecast. */
DRV_STEP_API int32_t drv_corridor_candidates(const drv_world *world, drv_scratch *scratch, int32_t vehicle,
                                             const drv_corridor *corridor, float forecast_m);

/* Whether another vehicle is ahead in a corridor, and if so, where. */
DRV_STEP_API bool drv_corridor_lead(const drv_world *world, const drv_corridor *corridor, int32_t other,
                                    drv_lead *out);

/* Whether another vehicle, which is not ahead in a corridor, crosses it within the next seconds, and if so, where. */
DRV_STEP_API bool drv_corridor_crossing(const drv_world *world, const drv_corridor *corridor, int32_t other,
                                        drv_crossing *out);

#endif
