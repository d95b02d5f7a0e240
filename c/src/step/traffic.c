/* What do the vehicles do that nobody learns? Experts replay their logs, static vehicles stand. */
#include <string.h>

#include "math/geometry.h"
#include "step/phases.h"

/* Takes the values of a log where it is valid; a loop without a branch, which compilers make into vectors. */
static void take_valid(float *restrict to, const float *restrict log, const uint8_t *restrict valid, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        const float logged = log[i], kept = to[i];
        to[i] = valid[i] ? logged : kept;
    }
}

/* Puts the log-replay vehicles where their logs have them `frame` frames after the start; gone where a log is not valid. */
static void replay(drv_world *world, int32_t frame) {
    const drv_scene *scene = world->scene;
    const int32_t first = scene->num_agents, count = scene->log_replay_count;
    if (frame >= scene->frame_count) {
        memset(world->present + first, 0, (size_t)count);
        return;
    }
    const int64_t at = (int64_t)frame * count;
    const uint8_t *valid = scene->log_valid + at;
    memcpy(world->present + first, valid, (size_t)count);
    take_valid(world->x_m + first, scene->log_x_m + at, valid, count);
    take_valid(world->y_m + first, scene->log_y_m + at, valid, count);
    take_valid(world->heading_rad + first, scene->log_heading_rad + at, valid, count);
    take_valid(world->cos_heading + first, scene->log_cos_heading + at, valid, count);
    take_valid(world->sin_heading + first, scene->log_sin_heading + at, valid, count);
    take_valid(world->speed_mps + first, scene->log_speed_mps + at, valid, count);
}

static void remember(drv_world *world) {
    const size_t count = (size_t)world->scene->vehicle_count;
    memcpy(world->previous_x_m, world->x_m, count * sizeof *world->x_m);
    memcpy(world->previous_y_m, world->y_m, count * sizeof *world->y_m);
    memcpy(world->previous_heading_rad, world->heading_rad, count * sizeof *world->heading_rad);
    memcpy(world->previous_present, world->present, count * sizeof *world->present);
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
        world->speed_mps[vehicle] = exists ? drv_start_speed_mps(scene, world->config, vehicle) : 0.0f;
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
