/* Which actions does a config offer, and which controls does each stand for? */
#include "view/action_space.h"

#include "platform/fp_env.h"

static drv_action_dimension dimension_of(const char *name, const char *unit, float limit, int32_t bins) {
    drv_action_dimension dimension = {.name = name, .unit = unit, .limit = limit, .bins = bins};
    for (int32_t bin = 0; bin < bins; bin++) dimension.share[bin] = drv_bin_share(bin, bins);
    return dimension;
}

drv_action_space drv_action_space_of(const drv_config *config) {
    const drv_fp_env callers = drv_fp_env_begin();
    const drv_action_space space = {
        .type = config->action_type,
        .width = config->action_type == DRV_DISCRETE ? 1 : DRV_ACTION_DIMENSIONS,
        .count = DRV_ALL_BINS,
        .low = -1.0f,
        .high = 1.0f,
        .dimension = {dimension_of("acceleration", "m/s2", config->max_acceleration_mps2, DRV_ACCELERATION_BINS),
                      dimension_of("steering", "rad", config->max_steering_rad, DRV_STEERING_BINS)},
    };
    drv_fp_env_end(callers);
    return space;
}
