/* What do the vehicles do that nobody learns? Experts replay their logs, statics stand. */
#include <string.h>

#include "geometry.h"
#include "phases.h"

/* Puts the experts where their logs have them `frame` frames after the start; gone where a log is not valid. */
static void replay(drv_world *world, int32_t frame) {
    const drv_scene *scene = world->scene;
    for (int32_t expert = 0; expert < scene->expert_count; expert++) {
        int32_t vehicle = scene->row_count + expert;
        int64_t at = (int64_t)frame * scene->expert_count + expert;
        bool on_map = frame < scene->frame_count && scene->log_valid[at];
        world->present[vehicle] = on_map;
        if (!on_map) continue;
        world->x_m[vehicle] = scene->log_x_m[at];
        world->y_m[vehicle] = scene->log_y_m[at];
        world->heading_rad[vehicle] = scene->log_heading_rad[at];
        world->cos_heading[vehicle] = scene->log_cos_heading[at];
        world->sin_heading[vehicle] = scene->log_sin_heading[at];
        world->speed_mps[vehicle] = scene->log_speed_mps[at];
    }
}

static void remember(drv_world *world) {
    const size_t count = (size_t)world->scene->vehicle_count;
    memcpy(world->before_x_m, world->x_m, count * sizeof *world->x_m);
    memcpy(world->before_y_m, world->y_m, count * sizeof *world->y_m);
    memcpy(world->before_heading_rad, world->heading_rad, count * sizeof *world->heading_rad);
    memcpy(world->before_present, world->present, count * sizeof *world->present);
}

void drv_traffic_begin(drv_world *world) {
    const drv_scene *scene = world->scene;
    for (int32_t vehicle = 0; vehicle < world->sizes.vehicles; vehicle++) {
        bool exists = vehicle < scene->vehicle_count;
        float heading = exists ? scene->start_heading_rad[vehicle] : 0.0f;
        drv_point ahead = drv_direction(heading);
        world->x_m[vehicle] = exists ? scene->start_x_m[vehicle] : 0.0f;
        world->y_m[vehicle] = exists ? scene->start_y_m[vehicle] : 0.0f;
        world->heading_rad[vehicle] = heading;
        world->cos_heading[vehicle] = ahead.x;
        world->sin_heading[vehicle] = ahead.y;
        world->speed_mps[vehicle] = exists ? scene->start_speed_mps[vehicle] : 0.0f;
        world->present[vehicle] = exists;
    }
    replay(world, 0);
    remember(world);
}

void drv_traffic_plan(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    remember(world);
    replay(world, *world->clock_steps + 1);
}
