/* Which continuous quantities does a step have? Metres driven, and the decrease of the distance to the goal, from the
 * poses before and after the step; and, where a term or metric uses them, how accelerations change and how far an agent
 * came along its route. */
#include <math.h>

#include "step/goals.h"
#include "step/phases.h"
#include "step/route_progress.h"

void drv_measures_begin(drv_world *world) {
    for (int32_t agent = 0; agent < world->sizes.agents; agent++)
        world->distance_m[agent] = world->progress_m[agent] = 0.0f;
    for (int32_t agent = 0; agent < world->sizes.comfort_agents; agent++)
        world->lateral_mps2[agent] = world->jerk_mps3[agent] = world->previous_acceleration_mps2[agent] = 0.0f;
    drv_route_progress_begin(world);
}

void drv_measures_place(drv_world *world, int32_t agent) {
    if (world->sizes.comfort_agents > 0)
        world->lateral_mps2[agent] = world->previous_acceleration_mps2[agent] = 0.0f;
    if (world->sizes.route_agents > 0) world->route_m[agent] = 0.0f;
}

/* Writes by how much the distance of each point to its goal decreased as it moved from `from` to `to`. A loop without a
 * branch, which compilers vectorise. */
static void write_progress(float *restrict progress_m, const float *restrict goal_x_m, const float *restrict goal_y_m,
                           const float *restrict from_x_m, const float *restrict from_y_m,
                           const float *restrict to_x_m, const float *restrict to_y_m, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        const float from_x = goal_x_m[i] - from_x_m[i], from_y = goal_y_m[i] - from_y_m[i];
        const float to_x = goal_x_m[i] - to_x_m[i], to_y = goal_y_m[i] - to_y_m[i];
        progress_m[i] = sqrtf(from_x * from_x + from_y * from_y) - sqrtf(to_x * to_x + to_y * to_y);
    }
}

/* Measures the acceleration to the left, and the jerk: the rate at which the accelerations along the heading and to the
 * left changed since the step before. */
static void take_comfort(drv_world *world, int32_t agent) {
    const float acceleration_mps2 = world->acceleration_mps2[agent];
    const float lateral_mps2 = world->speed_mps[agent] * world->yaw_rate_radps[agent];
    const float ahead = acceleration_mps2 - world->previous_acceleration_mps2[agent];
    const float left = lateral_mps2 - world->lateral_mps2[agent];
    world->jerk_mps3[agent] = sqrtf(ahead * ahead + left * left) / world->scene->dt_s;
    world->lateral_mps2[agent] = lateral_mps2;
    world->previous_acceleration_mps2[agent] = acceleration_mps2;
}

void drv_measures_take(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    const int32_t agents = world->scene->num_agents;
    const float dt_s = world->scene->dt_s;
    write_progress(world->progress_m, world->goal_x_m, world->goal_y_m, world->previous_x_m, world->previous_y_m,
                   world->x_m, world->y_m, agents);
    for (int32_t agent = 0; agent < agents; agent++) {
        const bool drives = world->status[agent] == DRV_DRIVING;
        /* had_goal is of earlier steps: trial_judge follows. So the step that reaches the goal still has progress. */
        if (!drives || drv_goals_are_done(world, agent)) world->progress_m[agent] = 0.0f;
        if (drives) world->distance_m[agent] += fabsf(world->speed_mps[agent]) * dt_s;
    }
    for (int32_t agent = 0; agent < world->sizes.comfort_agents; agent++)
        if (world->status[agent] == DRV_DRIVING) take_comfort(world, agent);
    drv_route_progress_take(world);
}
