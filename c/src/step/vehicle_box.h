/* Which box does a vehicle cover at its current pose? */
#ifndef DRV_VEHICLE_BOX_H
#define DRV_VEHICLE_BOX_H

#include "math/geometry.h"
#include "step/state.h"

static inline drv_box drv_vehicle_box(const drv_world *world, int32_t vehicle) {
    return (drv_box){{world->x_m[vehicle], world->y_m[vehicle]},
                     {world->cos_heading[vehicle], world->sin_heading[vehicle]},
                     0.5f * world->scene->length_m[vehicle],
                     0.5f * world->scene->width_m[vehicle]};
}

#endif
