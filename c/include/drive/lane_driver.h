/* How are agents driven by rule? */
#ifndef DRIVE_LANE_DRIVER_H
#define DRIVE_LANE_DRIVER_H

#ifndef DRV_BINDING
#include <stdint.h>
#endif

#include "drive/batch.h"
#include "drive/scene.h"
#include "drive/status.h"

/* The rule-based driver of the agents of a scene. */
typedef struct drv_lane_driver drv_lane_driver;

typedef struct drv_lane_driver_setup {
    drv_scene *scene;
    /* Path i is a polyline through points point_start[i] to point_start[i + 1], at least 2, no two neighbours at one
     * place. Past its end it goes straight on. */
    const int32_t *point_start; /* an entry per path, and one more */
    const float *x_m, *y_m;
    const float *speed_mps; /* desired speed on the way to each point, above 0 */
    float goal_mps;         /* highest speed within goal_reach_m of the end of the last path of an agent, and past it */
    float goal_reach_m;
    /* The paths of agent i are path_start[i] to path_start[i + 1], at least 1: it changes lanes from each to the next
     * one while its front is between change_from_m and change_to_m, arc lengths along the path. NULL: each agent has
     * one path. */
    const int32_t *path_start;
    const float *change_from_m, *change_to_m; /* an entry per path */
    drv_scene *lane_scene; /* the same scene with its lane graph, which tells the lanes that lights and signs apply to;
                              NULL: they apply to every path that crosses their lines, unless `scene` has it */
    int32_t overtakes; /* 1: agents pass slow vehicles on the oncoming lane, where the scene has a lane graph; else 0 */
} drv_lane_driver_setup;

/* Creates a driver, which retains the scene. */
drv_status drv_lane_driver_create(const drv_lane_driver_setup *setup, drv_lane_driver **out, char *message);
void drv_lane_driver_free(drv_lane_driver *driver); /* no-op on NULL */

/* Writes acceleration and wheel angle of every agent of some worlds, agents_per_world of each; 0 for those that do not
 * drive. `drivers` has the driver of each scene of the batch, created for that scene; NULL for scenes that none of
 * these worlds is in. A driver serves one call at a time. */
drv_status drv_batch_drive(drv_batch *batch, drv_worlds worlds, drv_lane_driver *const *drivers,
                           float *acceleration_mps2, float *steering_rad, char *message);

#endif
