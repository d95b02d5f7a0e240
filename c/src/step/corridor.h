/* Which vehicles are in the way of a rule-based vehicle? Those whose boxes overlap the corridor along its path. */
#ifndef DRV_CORRIDOR_H
#define DRV_CORRIDOR_H

#include "platform/isa.h"
#include "step/state.h"

/* The part of a path ahead of a vehicle, and how far to either side of it the vehicle needs space. */
typedef struct drv_corridor {
    drv_point centre;     /* of the vehicle */
    int32_t first, count; /* points of the scene's paths, from the last one that is not ahead of the centre on */
    float first_m;        /* arc length from the centre to the first point, 0 or less */
    float length_m;       /* from the centre on */
    float half_width_m, half_length_m;
} drv_corridor;

/* A vehicle ahead. */
typedef struct drv_lead {
    float gap_m;     /* along the path, from bumper to bumper; negative where they overlap */
    float speed_mps; /* along the path, at least 0 */
} drv_lead;

/* The corridor of a rule-based vehicle of speed `speed_mps`, at `path_m` of path number `path`. */
DRV_STEP_API drv_corridor drv_corridor_of(const drv_world *world, int32_t path, float path_m, float speed_mps);

/* Writes the indices in `on_map` of the vehicles near a corridor, which is that of `vehicle`; returns their number. */
DRV_STEP_API int32_t drv_corridor_near(const drv_world *world, const drv_on_map *on_map, int32_t vehicle,
                                       const drv_corridor *corridor, int32_t *near);

/* Whether another vehicle is ahead in a corridor, and if so, where. */
DRV_STEP_API bool drv_corridor_lead(const drv_world *world, const drv_corridor *corridor, int32_t other,
                                    drv_lead *out);

#endif
