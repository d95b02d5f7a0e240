/* Where does the log of a vehicle have it? Of log-replay and rule-based vehicles, which have one. */
#ifndef DRV_LOG_POSE_H
#define DRV_LOG_POSE_H

#include "scene/scene_input.h"
#include "step/state.h"

/* The entry of a vehicle's log at a frame; -1 where it is not on the map then. */
static inline int64_t drv_log_entry(const drv_scene *scene, int32_t vehicle, int32_t frame) {
    if (frame < 0 || frame >= scene->frame_count) return -1;
    const int64_t at = (int64_t)frame * DRV_LOG_COLUMNS(scene) + vehicle - drv_scene_log_first(scene);
    return scene->log_valid[at] ? at : -1;
}

/* Puts a vehicle where an entry of its log has it. */
static inline void drv_put_on_log(drv_world *world, int32_t vehicle, int64_t entry) {
    const drv_scene *scene = world->scene;
    world->x_m[vehicle] = scene->log_x_m[entry];
    world->y_m[vehicle] = scene->log_y_m[entry];
    world->heading_rad[vehicle] = scene->log_heading_rad[entry];
    world->cos_heading[vehicle] = scene->log_cos_heading[entry];
    world->sin_heading[vehicle] = scene->log_sin_heading[entry];
    world->speed_mps[vehicle] = scene->log_speed_mps[entry];
    if (scene->has_height) world->z_m[vehicle] = scene->log_z_m[entry];
}

#endif
