/* Which controls keep agents on their paths and clear of each other? A function of the state of their world. */
#ifndef DRV_LANE_DRIVER_H
#define DRV_LANE_DRIVER_H

#include "platform/isa.h"
#include "step/corridor.h"
#include "step/following.h"
#include "step/state.h"

/* Points of a path that a driver considers ahead of an agent: 62 m, the stopping distance at 17 m/s. */
enum { DRV_WINDOW_POINTS = 32 };

_Static_assert((DRV_WINDOW_POINTS - 1) * DRV_PATH_PITCH_M < DRV_PATH_RUN_OUT_M, "a path is longer than a window");

/* One agent in the step that is planned. */
typedef struct drv_driven {
    float ahead_m; /* of the agent, along its window from the first point */
    float top_mps; /* the speed of the path there */
    drv_corridor corridor;
    float middle_x_m, middle_y_m, half_x_m, half_y_m; /* the rectangle around the points of the corridor */
    drv_follower follower;
} drv_driven;

struct drv_lane_driver {
    drv_scene *scene;
    drv_paths paths; /* of the agents; in a block of their own */
    /* Scratch memory of a call. */
    drv_paths window;   /* DRV_WINDOW_POINTS of the path of each agent, moved to pass what stands there */
    drv_driven *driven; /* one per agent */
    int32_t *near, *standing; /* indices in on_map, and vehicles; as many as vehicles */
};

/* Writes the controls of the agents of a world, which is in the driver's scene. */
DRV_STEP_API void drv_lane_driver_drive(const drv_world *world, drv_scratch *scratch, drv_lane_driver *driver,
                                        float *acceleration_mps2, float *steering_rad);

#endif
