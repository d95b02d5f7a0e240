/* Which discrete actions of an agent are valid? All but accelerations that cannot change its speed: above 0 at the
 * upper limit, below 0 at the lower one. A mask is information: an invalid action is executed like any other. */
#include <string.h>

#include "step/phases.h"

void drv_mask_begin(drv_world *world) {
    for (int32_t agent = 0; agent < world->sizes.mask_agents; agent++) world->valid_action_sum[agent] = 0.0f;
}

/* Whether an agent can change its speed by an acceleration. */
static bool is_effective(const drv_world *world, int32_t agent, float acceleration_mps2) {
    const drv_config *config = world->config;
    const float speed_mps = world->speed_mps[agent];
    return acceleration_mps2 > 0.0f ? speed_mps < config->max_speed_mps
                                    : acceleration_mps2 == 0.0f || speed_mps > config->min_speed_mps;
}

void drv_mask_write(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    const drv_action_space *space = world->action_space;
    const drv_action_dimension *acceleration = &space->dimension[0];
    /* the flags that one acceleration has: those of its bin, or of all actions with it */
    const int32_t repeated = space->type == DRV_DISCRETE ? space->count / acceleration->bins : 1;
    const int32_t size = drv_action_mask_size(space);
    for (int32_t agent = 0; agent < world->sizes.mask_agents; agent++) {
        uint8_t *mask = world->out.action_mask + (int64_t)agent * size;
        memset(mask, 1, (size_t)size);
        if (world->out.waits[agent]) continue; /* whatever it does has no effect */
        int32_t valid = 0;
        for (int32_t bin = 0; bin < acceleration->bins; bin++) {
            const bool is_valid = is_effective(world, agent, acceleration->value[bin]);
            valid += is_valid;
            memset(mask + bin * repeated, is_valid, (size_t)repeated);
        }
        world->valid_action_sum[agent] += (float)valid / (float)acceleration->bins;
    }
}
