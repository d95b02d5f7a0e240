/* What does an action ask for? Actions are copied once, at the border, and checked there: what a caller writes into the
 * array later cannot reach a step that has begun. */
#include "error.h"
#include "phases.h"

enum { all_bins = DRV_ACCELERATION_BINS * DRV_STEERING_BINS };

static bool in_table(int64_t bin, int32_t bins) { return bin >= 0 && bin < bins; }
static bool is_share(float value) { return value >= -1.0f && value <= 1.0f; }

static bool row_fits(drv_actions actions, int32_t action_type, int64_t row) {
    const int64_t *bin = actions.bin;
    const float *share = actions.share;
    switch (action_type) {
        case DRV_DISCRETE: return in_table(bin[row], all_bins);
        case DRV_MULTI_DISCRETE:
            return in_table(bin[2 * row], DRV_ACCELERATION_BINS) && in_table(bin[2 * row + 1], DRV_STEERING_BINS);
        default: return is_share(share[2 * row]) && is_share(share[2 * row + 1]);
    }
}

bool drv_actions_fit(drv_actions actions, int32_t action_type, int64_t rows) {
    int64_t misfits = 0;
    for (int64_t row = 0; row < rows; row++) misfits |= !row_fits(actions, action_type, row);
    return misfits == 0;
}

/* Says what is wrong with the action of a row, by its number among those that are called. */
static drv_status refuse_row(const drv_world *world, int32_t world_number, int32_t row, char *message) {
    const int32_t number = world_number * world->sizes.rows + row;
    const int64_t *bin = world->actions.bin;
    const float *share = world->actions.share;
    switch (world->config->action_type) {
        case DRV_DISCRETE:
            return drv_fail(message, DRV_ERROR_ACTION,
                            "the action of row %d (world %d) is %lld; it must be a whole number from 0 to %d", number,
                            world_number, (long long)bin[row], all_bins - 1);
        case DRV_MULTI_DISCRETE:
            return drv_fail(message, DRV_ERROR_ACTION,
                            "the action of row %d (world %d) is (%lld, %lld); "
                            "it must be whole numbers from (0, 0) to (%d, %d)",
                            number, world_number, (long long)bin[2 * row], (long long)bin[2 * row + 1],
                            DRV_ACCELERATION_BINS - 1, DRV_STEERING_BINS - 1);
        default:
            return drv_fail(message, DRV_ERROR_ACTION,
                            "the action of row %d (world %d) is (%.9g, %.9g); both must be finite and in -1 to 1",
                            number, world_number, (double)share[2 * row], (double)share[2 * row + 1]);
    }
}

drv_status drv_actions_check(const drv_world *world, int32_t world_number, char *message) {
    if (*world->pending != DRV_GOES_ON) return DRV_OK;
    for (int32_t row = 0; row < world->scene->row_count; row++)
        if (world->status[row] == DRV_DRIVING && !row_fits(world->actions, world->config->action_type, row))
            return refuse_row(world, world_number, row, message);
    return DRV_OK;
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
