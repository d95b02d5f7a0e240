/* What does an action ask for? Checked and read once, at the border, into controls of the core's own: what a caller
 * writes into the array later cannot reach a step that has begun. */
#include "error.h"
#include "phases.h"

static bool in_table(int64_t bin, int32_t bins) { return bin >= 0 && bin < bins; }
static bool is_share(float value) { return value >= -1.0f && value <= 1.0f; }

/* The row by its number in the batch. */
static int32_t number_of(const drv_world *world, int32_t world_number, int32_t row) {
    return world_number * world->sizes.rows + row;
}

static drv_status read_discrete(const drv_world *world, int32_t world_number, int32_t row, char *message) {
    const int32_t bins = DRV_ACCELERATION_BINS * DRV_STEERING_BINS;
    const int64_t action = world->out.discrete_actions[row];
    if (!in_table(action, bins))
        return drv_fail(message, DRV_ERROR_ACTION,
                        "the action of row %d (world %d) is %lld; it must be a whole number from 0 to %d",
                        number_of(world, world_number, row), world_number, (long long)action, bins - 1);
    world->control[row] = drv_discrete_control(
        world->config, (int32_t)action / DRV_STEERING_BINS, (int32_t)action % DRV_STEERING_BINS);
    return DRV_OK;
}

static drv_status read_multi_discrete(const drv_world *world, int32_t world_number, int32_t row, char *message) {
    const int64_t acceleration = world->out.discrete_actions[2 * row];
    const int64_t steering = world->out.discrete_actions[2 * row + 1];
    if (!in_table(acceleration, DRV_ACCELERATION_BINS) || !in_table(steering, DRV_STEERING_BINS))
        return drv_fail(message, DRV_ERROR_ACTION,
                        "the action of row %d (world %d) is (%lld, %lld); "
                        "it must be whole numbers from (0, 0) to (%d, %d)",
                        number_of(world, world_number, row), world_number, (long long)acceleration,
                        (long long)steering, DRV_ACCELERATION_BINS - 1, DRV_STEERING_BINS - 1);
    world->control[row] = drv_discrete_control(world->config, (int32_t)acceleration, (int32_t)steering);
    return DRV_OK;
}

static drv_status read_continuous(const drv_world *world, int32_t world_number, int32_t row, char *message) {
    const float throttle = world->out.continuous_actions[2 * row];
    const float steering = world->out.continuous_actions[2 * row + 1];
    if (!is_share(throttle) || !is_share(steering))
        return drv_fail(message, DRV_ERROR_ACTION,
                        "the action of row %d (world %d) is (%g, %g); both must be finite and in -1 to 1",
                        number_of(world, world_number, row), world_number, (double)throttle, (double)steering);
    world->control[row] = (drv_control){throttle * world->config->max_acceleration_mps2,
                                        steering * world->config->max_steering_rad};
    return DRV_OK;
}

drv_status drv_actions_read(const drv_world *world, int32_t world_number, char *message) {
    if (*world->pending != DRV_GOES_ON) return DRV_OK;
    const int32_t type = world->config->action_type;
    drv_status status = DRV_OK;
    for (int32_t row = 0; status == DRV_OK && row < world->scene->row_count; row++) {
        if (world->status[row] != DRV_DRIVING) continue;
        if (type == DRV_DISCRETE) status = read_discrete(world, world_number, row, message);
        else if (type == DRV_MULTI_DISCRETE) status = read_multi_discrete(world, world_number, row, message);
        else status = read_continuous(world, world_number, row, message);
    }
    return status;
}
