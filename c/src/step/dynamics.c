/* How does a vehicle move? Gathers the agents' motion into blocks, advances them by the config's model, scatters it. */
#include "step/dynamics.h"

#include <string.h>

#include "step/actions.h"
#include "step/disturbances.h"
#include "step/hidden.h"
#include "step/phases.h"

static const drv_dynamics_model dynamics_models[DRV_DYNAMICS_COUNT] = {
#define X(symbol, name, ...) [DRV_##symbol] = {drv_##name##_advance, drv_##name##_inverse},
    DRV_DYNAMICS(X)
#undef X
};

const drv_dynamics_model *drv_dynamics_model_of(int32_t dynamics) { return &dynamics_models[dynamics]; }

void drv_motion_block_clear(drv_motion_block *block, float friction) {
    memset(block, 0, sizeof *block);
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) block->wheelbase_m[i] = 1.0f;
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) block->friction[i] = friction;
}

/* Vehicles that one block moves. */
typedef struct block_vehicles {
    int32_t count, vehicle[DRV_MOTION_BLOCK];
} block_vehicles;

static void read_motion(const drv_world *world, const block_vehicles *moved, drv_motion_block *block) {
    drv_motion_block_clear(block, world->config->friction);
    for (int32_t i = 0; i < moved->count; i++) {
        const int32_t vehicle = moved->vehicle[i];
        block->x_m[i] = world->x_m[vehicle];
        block->y_m[i] = world->y_m[vehicle];
        block->heading_rad[i] = world->heading_rad[vehicle];
        block->speed_mps[i] = world->speed_mps[vehicle];
        block->steering_rad[i] = world->steering_rad[vehicle];
        block->acceleration_mps2[i] = world->acceleration_mps2[vehicle];
        block->wheelbase_m[i] = drv_wheelbase_share * world->scene->length_m[vehicle];
        if (world->status[vehicle] == DRV_DRIVING) /* an agent that waits may have any action */
            drv_actions_control(world->actions, world->action_space, vehicle, &block->control[0][i], DRV_MOTION_BLOCK);
    }
}

/* The states of cars that slip. */
static void read_slip(const drv_world *world, const block_vehicles *moved, drv_motion_block *block) {
    for (int32_t i = 0; i < moved->count; i++) {
        block->yaw_rate_radps[i] = world->yaw_rate_radps[moved->vehicle[i]];
        block->sideslip_rad[i] = world->sideslip_rad[moved->vehicle[i]];
    }
}

static void write_slip(drv_world *world, const block_vehicles *moved, const drv_motion_block *block) {
    for (int32_t i = 0; i < moved->count; i++)
        if (world->status[moved->vehicle[i]] == DRV_DRIVING)
            world->sideslip_rad[moved->vehicle[i]] = block->sideslip_rad[i];
}

/* A vehicle has jumped if an action set a pose that is too far away to reach in a step at the highest speed. Its pose
 * before the step is replaced by the new one, so that it meets nothing on the way. */
static void forget_jumps(drv_world *world, const block_vehicles *moved, float most_m) {
    for (int32_t i = 0; i < moved->count; i++) {
        const int32_t vehicle = moved->vehicle[i];
        const float dx = world->x_m[vehicle] - world->previous_x_m[vehicle];
        const float dy = world->y_m[vehicle] - world->previous_y_m[vehicle];
        if (dx * dx + dy * dy <= most_m * most_m) continue;
        world->previous_x_m[vehicle] = world->x_m[vehicle];
        world->previous_y_m[vehicle] = world->y_m[vehicle];
        world->previous_heading_rad[vehicle] = world->heading_rad[vehicle];
    }
}

static void apply_hidden(drv_world *world, const block_vehicles *moved, drv_motion_block *block) {
    for (int32_t i = 0; i < moved->count; i++)
        if (world->status[moved->vehicle[i]] == DRV_DRIVING) drv_hidden_apply(world, moved->vehicle[i], block, i);
}

static void brake_disturbed(const drv_world *world, const block_vehicles *moved, drv_motion_block *block) {
    for (int32_t i = 0; i < moved->count; i++) drv_disturbances_apply(world, moved->vehicle[i], block, i);
}

static void write_motion(drv_world *world, const block_vehicles *moved, const drv_motion_block *block) {
    for (int32_t i = 0; i < moved->count; i++) {
        const int32_t vehicle = moved->vehicle[i];
        if (world->status[vehicle] != DRV_DRIVING) continue;
        world->x_m[vehicle] = block->x_m[i];
        world->y_m[vehicle] = block->y_m[i];
        world->heading_rad[vehicle] = block->heading_rad[i];
        world->cos_heading[vehicle] = block->cos_heading[i];
        world->sin_heading[vehicle] = block->sin_heading[i];
        world->speed_mps[vehicle] = block->speed_mps[i];
        world->steering_rad[vehicle] = block->steering_rad[i];
        world->acceleration_mps2[vehicle] = block->acceleration_mps2[i];
        world->yaw_rate_radps[vehicle] = block->yaw_rate_radps[i];
    }
}

void drv_dynamics_integrate(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    const drv_dynamics_model *model = drv_dynamics_model_of(world->config->dynamics);
    const drv_motion_limits limits = drv_motion_limits_of(world->config);
    const int32_t vehicles = world->scene->vehicle_count;
    for (int32_t vehicle = 0; vehicle < vehicles;) {
        block_vehicles moved = {.count = 0};
        for (; vehicle < vehicles && moved.count < DRV_MOTION_BLOCK; vehicle++)
            if (world->controller[vehicle] == DRV_CONTROLLER_AGENT) moved.vehicle[moved.count++] = vehicle;
        if (moved.count == 0) continue;
        drv_motion_block block;
        read_motion(world, &moved, &block);
        if (world->sizes.slip_agents > 0) read_slip(world, &moved, &block);
        if (world->sizes.has_hidden) apply_hidden(world, &moved, &block);
        if (world->sizes.disturbed_agents > 0) brake_disturbed(world, &moved, &block);
        model->advance(&block, limits, world->scene->dt_s); /* agents that wait too; write_motion drops their result */
        write_motion(world, &moved, &block);
        if (world->sizes.slip_agents > 0) write_slip(world, &moved, &block);
        if (world->config->dynamics == DRV_STATE) forget_jumps(world, &moved, limits.max_mps * world->scene->dt_s);
    }
}
