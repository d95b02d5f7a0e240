/* What does an action ask for? Actions are copied once, at the border, and checked there: what a caller writes into the
 * array later cannot reach a step that has begun. */
#include "error.h"
#include "phases.h"

enum { all_bins = DRV_ACCELERATION_BINS * DRV_STEERING_BINS };

static bool in_table(int64_t bin, int32_t bins) { return bin >= 0 && bin < bins; }
static bool is_share(float value) { return value >= -1.0f && value <= 1.0f; }

bool drv_actions_fit(drv_actions actions, int32_t action_type, int64_t rows) {
    const int64_t *bin = actions.bin;
    const float *share = actions.share;
    int64_t misfits = 0;
    switch (action_type) {
        case DRV_DISCRETE:
            for (int64_t i = 0; i < rows; i++) misfits |= !in_table(bin[i], all_bins);
            break;
        case DRV_MULTI_DISCRETE:
            for (int64_t i = 0; i < 2 * rows; i += 2) {
                misfits |= !in_table(bin[i], DRV_ACCELERATION_BINS);
                misfits |= !in_table(bin[i + 1], DRV_STEERING_BINS);
            }
            break;
        default:
            for (int64_t i = 0; i < 2 * rows; i++) misfits |= !is_share(share[i]);
    }
    return misfits == 0;
}

/* Says what is wrong with the action of a row, if anything is, by its number among those that are called. */
static drv_status check_row(const drv_world *world, int32_t world_number, int32_t row, char *message) {
    const int32_t number = world_number * world->sizes.rows + row;
    if (world->config->action_type == DRV_DISCRETE) {
        const int64_t action = world->actions.bin[row];
        if (in_table(action, all_bins)) return DRV_OK;
        return drv_fail(message, DRV_ERROR_ACTION,
                        "the action of row %d (world %d) is %lld; it must be a whole number from 0 to %d", number,
                        world_number, (long long)action, all_bins - 1);
    }
    if (world->config->action_type == DRV_MULTI_DISCRETE) {
        const int64_t acceleration = world->actions.bin[2 * row], steering = world->actions.bin[2 * row + 1];
        if (in_table(acceleration, DRV_ACCELERATION_BINS) && in_table(steering, DRV_STEERING_BINS)) return DRV_OK;
        return drv_fail(message, DRV_ERROR_ACTION,
                        "the action of row %d (world %d) is (%lld, %lld); "
                        "it must be whole numbers from (0, 0) to (%d, %d)",
                        number, world_number, (long long)acceleration, (long long)steering, DRV_ACCELERATION_BINS - 1,
                        DRV_STEERING_BINS - 1);
    }
    const float throttle = world->actions.share[2 * row], steering = world->actions.share[2 * row + 1];
    if (is_share(throttle) && is_share(steering)) return DRV_OK;
    return drv_fail(message, DRV_ERROR_ACTION,
                    "the action of row %d (world %d) is (%g, %g); both must be finite and in -1 to 1", number,
                    world_number, (double)throttle, (double)steering);
}

drv_status drv_actions_check(const drv_world *world, int32_t world_number, char *message) {
    if (*world->pending != DRV_GOES_ON) return DRV_OK;
    drv_status status = DRV_OK;
    for (int32_t row = 0; status == DRV_OK && row < world->scene->row_count; row++)
        if (world->status[row] == DRV_DRIVING) status = check_row(world, world_number, row, message);
    return status;
}

drv_control drv_actions_control(const drv_world *world, int32_t row) {
    const drv_config *config = world->config;
    const int64_t *bin = world->actions.bin;
    switch (config->action_type) {
        case DRV_DISCRETE:
            return drv_discrete_control(config, (int32_t)bin[row] / DRV_STEERING_BINS,
                                        (int32_t)bin[row] % DRV_STEERING_BINS);
        case DRV_MULTI_DISCRETE:
            return drv_discrete_control(config, (int32_t)bin[2 * row], (int32_t)bin[2 * row + 1]);
        default:
            return (drv_control){world->actions.share[2 * row] * config->max_acceleration_mps2,
                                 world->actions.share[2 * row + 1] * config->max_steering_rad};
    }
}
