/* How does a vehicle move? Gathers the agents' motion into blocks, advances them by the config's model, scatters it. */
#include "step/dynamics.h"

#include <math.h>
#include <string.h>

#include "step/actions.h"
#include "step/dynamics/bicycle.h"
#include "step/phases.h"

static const drv_dynamics_model dynamics_models[] = {
    [DRV_BICYCLE] = {drv_bicycle_advance_block},
};

/* The motion and controls of `count` agents from `first` on. */
static void read_motion(const drv_world *world, int32_t first, int32_t count, drv_motion_block *block) {
    const drv_control still = {0.0f, 0.0f}; /* an agent that waits may have any action */
    memset(block, 0, sizeof *block);
    for (int32_t i = count; i < DRV_MOTION_BLOCK; i++) block->wheelbase_m[i] = 1.0f;
    for (int32_t i = 0, agent = first; i < count; i++, agent++) {
        const drv_control wanted = world->status[agent] == DRV_DRIVING ? drv_actions_control(world, agent) : still;
        block->x_m[i] = world->x_m[agent];
        block->y_m[i] = world->y_m[agent];
        block->heading_rad[i] = world->heading_rad[agent];
        block->speed_mps[i] = world->speed_mps[agent];
        block->steering_rad[i] = wanted.steering_rad;
        block->wanted_mps2[i] = wanted.acceleration_mps2;
        block->wheelbase_m[i] = drv_wheelbase_share * world->scene->length_m[agent];
    }
}

static void write_motion(drv_world *world, int32_t first, int32_t count, const drv_motion_block *block) {
    for (int32_t i = 0, agent = first; i < count; i++, agent++) {
        if (world->status[agent] != DRV_DRIVING) continue;
        world->x_m[agent] = block->x_m[i];
        world->y_m[agent] = block->y_m[i];
        world->heading_rad[agent] = block->heading_rad[i];
        world->cos_heading[agent] = block->cos_heading[i];
        world->sin_heading[agent] = block->sin_heading[i];
        world->speed_mps[agent] = block->speed_mps[i];
        world->steering_rad[agent] = block->steering_rad[i];
        world->acceleration_mps2[agent] = block->acceleration_mps2[i];
        world->yaw_rate_radps[agent] = block->yaw_rate_radps[i];
        world->distance_m[agent] += fabsf(block->speed_mps[i]) * world->scene->dt_s;
    }
}

void drv_dynamics_integrate(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    const drv_dynamics_model *model = &dynamics_models[world->config->dynamics];
    const drv_speed_limits limits = {world->config->min_speed_mps, world->config->max_speed_mps};
    for (int32_t first = 0; first < world->scene->num_agents; first += DRV_MOTION_BLOCK) {
        const int32_t left = world->scene->num_agents - first, count = left < DRV_MOTION_BLOCK ? left : DRV_MOTION_BLOCK;
        drv_motion_block block;
        read_motion(world, first, count, &block);
        model->advance(&block, limits, world->scene->dt_s); /* agents that wait too; write_motion drops their result */
        write_motion(world, first, count, &block);
    }
}
