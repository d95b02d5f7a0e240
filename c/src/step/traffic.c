/* How do vehicles without an agent move? Log-replay vehicles follow their logs, scripted ones on a clock of their own
 * (scripts.c), rule-based vehicles their paths (rule_based.c), static vehicles stand still.
 *
 * drv_traffic_begin puts all vehicles at their start, those of agents too. */
#include <string.h>

#include "math/geometry.h"
#include "scene/scene_input.h"
#include "step/phases.h"
#include "step/rule_based.h"
#include "step/scripts.h"

/* Copies the values of a log where it is valid; a loop without a branch, which compilers vectorise. */
static void copy_valid(float *restrict to, const float *restrict log, const uint8_t *restrict valid, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        const float logged = log[i], kept = to[i];
        to[i] = valid[i] ? logged : kept;
    }
}

/* Moves the log-replay vehicles to a frame of their logs, counted from the start; a vehicle is absent where its log is
 * not valid. */
static void replay(drv_world *world, int32_t frame) {
    const drv_scene *scene = world->scene;
    const int32_t first = drv_scene_log_first(scene), count = scene->log_replay_count;
    if (frame >= scene->frame_count) {
        memset(world->present + first, 0, (size_t)count);
        return;
    }
    const int64_t at = (int64_t)frame * DRV_LOG_COLUMNS(scene);
    const uint8_t *valid = scene->log_valid + at;
    memcpy(world->present + first, valid, (size_t)count);
    copy_valid(world->x_m + first, scene->log_x_m + at, valid, count);
    copy_valid(world->y_m + first, scene->log_y_m + at, valid, count);
    copy_valid(world->heading_rad + first, scene->log_heading_rad + at, valid, count);
    copy_valid(world->cos_heading + first, scene->log_cos_heading + at, valid, count);
    copy_valid(world->sin_heading + first, scene->log_sin_heading + at, valid, count);
    copy_valid(world->speed_mps + first, scene->log_speed_mps + at, valid, count);
    if (scene->has_height) copy_valid(world->z_m + first, scene->log_z_m + at, valid, count);
}

/* Stores the poses before the step. */
static void store_previous(drv_world *world) {
    const size_t count = (size_t)world->scene->vehicle_count;
    memcpy(world->previous_x_m, world->x_m, count * sizeof *world->x_m);
    memcpy(world->previous_y_m, world->y_m, count * sizeof *world->y_m);
    memcpy(world->previous_heading_rad, world->heading_rad, count * sizeof *world->heading_rad);
    memcpy(world->previous_present, world->present, count * sizeof *world->present);
}

void drv_traffic_place(drv_world *world, int32_t vehicle, int32_t start) {
    const drv_scene *scene = world->scene;
    const bool exists = start >= 0;
    const float heading = exists ? scene->start_heading_rad[start] : 0.0f;
    const drv_point ahead = drv_direction(heading);
    world->x_m[vehicle] = exists ? scene->start_x_m[start] : 0.0f;
    world->y_m[vehicle] = exists ? scene->start_y_m[start] : 0.0f;
    world->heading_rad[vehicle] = heading;
    world->cos_heading[vehicle] = ahead.x;
    world->sin_heading[vehicle] = ahead.y;
    world->speed_mps[vehicle] = exists ? drv_start_speed_mps(scene, world->config, start) : 0.0f;
    world->steering_rad[vehicle] = world->acceleration_mps2[vehicle] = world->yaw_rate_radps[vehicle] = 0.0f;
    if (vehicle < world->sizes.height_vehicles)
        world->z_m[vehicle] = scene->has_height && exists ? scene->start_z_m[start] : 0.0f;
    if (vehicle < world->sizes.slip_agents) world->sideslip_rad[vehicle] = 0.0f;
}

void drv_traffic_begin(drv_world *world) {
    const drv_scene *scene = world->scene;
    for (int32_t vehicle = 0; vehicle < world->sizes.vehicles; vehicle++) {
        const bool exists = vehicle < scene->vehicle_count;
        drv_traffic_place(world, vehicle, exists ? vehicle : -1);
        world->present[vehicle] = exists;
        world->controller[vehicle] = exists ? scene->controller[vehicle] : DRV_CONTROLLER_NONE;
    }
    replay(world, 0);
    drv_scripts_begin(world);
    drv_rule_based_begin(world);
    store_previous(world);
}

void drv_traffic_plan(drv_world *world, drv_scratch *scratch) {
    const bool has_rule_based = world->scene->rule_based_count > 0, has_scripts = world->scene->script_count > 0;
    if (has_scripts) drv_scripts_advance(world);
    store_previous(world);
    if (has_rule_based) drv_rule_based_plan(world, scratch); /* from the poses before the step */
    replay(world, *world->clock_steps + 1);
    if (has_scripts) drv_scripts_place(world);
    if (has_rule_based) drv_rule_based_move(world);
}
