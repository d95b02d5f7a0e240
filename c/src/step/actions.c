/* Is an action in range, and which control does it stand for? Actions are copied once, at the API boundary, and checked
 * there: what a caller writes into the array later cannot reach a step in progress. */
#include "step/actions.h"

#include "platform/error.h"
#include "view/action_space.h"

static bool in_table(int64_t bin, int32_t bins) { return bin >= 0 && bin < bins; }
static bool is_share(float value) { return value >= -1.0f && value <= 1.0f; }

static bool agent_fits(drv_actions actions, int32_t action_type, int64_t agent) {
    const int64_t *bin = actions.bin;
    const float *share = actions.share;
    switch (action_type) {
        case DRV_DISCRETE: return in_table(bin[agent], DRV_ALL_BINS);
        case DRV_MULTI_DISCRETE:
            return in_table(bin[2 * agent], DRV_ACCELERATION_BINS) && in_table(bin[2 * agent + 1], DRV_STEERING_BINS);
        default: return is_share(share[2 * agent]) && is_share(share[2 * agent + 1]);
    }
}

bool drv_actions_fit(drv_actions actions, int32_t action_type, int64_t agents) {
    int64_t misfits = 0;
    for (int64_t agent = 0; agent < agents; agent++) misfits |= !agent_fits(actions, action_type, agent);
    return misfits == 0;
}

/* Reports the action of an agent, by its index among the agents of the call. */
static drv_status refuse_agent(const drv_world *world, int32_t world_number, int32_t agent, char *message) {
    const int32_t number = world_number * world->sizes.agents + agent;
    const int64_t *bin = world->actions.bin;
    const float *share = world->actions.share;
    switch (world->config->action_type) {
        case DRV_DISCRETE:
            return drv_fail(message, DRV_ERROR_ACTION,
                            "the action of agent %d (world %d) is %lld; it must be a whole number from 0 to %d", number,
                            world_number, (long long)bin[agent], DRV_ALL_BINS - 1);
        case DRV_MULTI_DISCRETE:
            return drv_fail(message, DRV_ERROR_ACTION,
                            "the action of agent %d (world %d) is (%lld, %lld); "
                            "it must be whole numbers from (0, 0) to (%d, %d)",
                            number, world_number, (long long)bin[2 * agent], (long long)bin[2 * agent + 1],
                            DRV_ACCELERATION_BINS - 1, DRV_STEERING_BINS - 1);
        default:
            return drv_fail(message, DRV_ERROR_ACTION,
                            "the action of agent %d (world %d) is (%.9g, %.9g); both must be finite and in -1 to 1",
                            number, world_number, (double)share[2 * agent], (double)share[2 * agent + 1]);
    }
}

drv_status drv_actions_check(const drv_world *world, int32_t world_number, char *message) {
    if (*world->pending != DRV_GOES_ON) return DRV_OK;
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++)
        if (world->status[agent] == DRV_DRIVING && !agent_fits(world->actions, world->config->action_type, agent))
            return refuse_agent(world, world_number, agent, message);
    return DRV_OK;
}

drv_control drv_discrete_control(const drv_config *config, int32_t acceleration_bin, int32_t steering_bin) {
    return (drv_control){drv_bin_share(acceleration_bin, DRV_ACCELERATION_BINS) * config->max_acceleration_mps2,
                         drv_bin_share(steering_bin, DRV_STEERING_BINS) * config->max_steering_rad};
}

drv_control drv_actions_control(const drv_world *world, int32_t agent) {
    const drv_config *config = world->config;
    const int64_t *bin = world->actions.bin;
    switch (config->action_type) {
        case DRV_DISCRETE:
            return drv_discrete_control(config, (int32_t)bin[agent] / DRV_STEERING_BINS,
                                        (int32_t)bin[agent] % DRV_STEERING_BINS);
        case DRV_MULTI_DISCRETE:
            return drv_discrete_control(config, (int32_t)bin[2 * agent], (int32_t)bin[2 * agent + 1]);
        default:
            return (drv_control){world->actions.share[2 * agent] * config->max_acceleration_mps2,
                                 world->actions.share[2 * agent + 1] * config->max_steering_rad};
    }
}
