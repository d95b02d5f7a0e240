/* Is an action in range, and which control does it stand for? Actions are copied once, at the API boundary, and checked
 * there: what a caller writes into the array later cannot reach a step in progress. */
#include "step/actions.h"

#include <stdio.h>

#include "platform/error.h"

static bool is_bin(int64_t bin, int32_t bins) { return bin >= 0 && bin < bins; }
static bool is_share(float value) { return value >= -1.0f && value <= 1.0f; }

static bool agent_in_range(drv_actions actions, const drv_action_space *space, int64_t agent) {
    const int64_t first = agent * space->width;
    if (space->type == DRV_DISCRETE) return is_bin(actions.bin[agent], space->count);
    bool in_range = true;
    for (int32_t i = 0; i < space->dimensions; i++)
        in_range &= space->type == DRV_CONTINUOUS ? is_share(actions.share[first + i])
                                              : is_bin(actions.bin[first + i], space->dimension[i].bins);
    return in_range;
}

bool drv_actions_in_range(drv_actions actions, const drv_action_space *space, int64_t agents) {
    int64_t out_of_range = 0;
    if (space->type == DRV_DISCRETE) /* a loop that compilers vectorise */
        for (int64_t agent = 0; agent < agents; agent++) out_of_range |= !is_bin(actions.bin[agent], space->count);
    else
        for (int64_t agent = 0; agent < agents; agent++) out_of_range |= !agent_in_range(actions, space, agent);
    return out_of_range == 0;
}

/* ---- errors ---- */

/* The numbers of an agent's action, or of the lowest or highest one allowed, such as "(3, 6)". */
typedef struct tuple {
    char text[DRV_ACTION_DIMENSIONS * 24 + 3];
} tuple;

/* Which action a tuple shows. */
typedef enum tuple_of { FOUND, LOWEST, HIGHEST } tuple_of;

static tuple tuple_for(const drv_world *world, int32_t agent, tuple_of which) {
    const drv_action_space *space = world->action_space;
    tuple made = {"("};
    size_t used = 1;
    for (int32_t i = 0; i < space->dimensions; i++) {
        const int32_t at = agent * space->width + i;
        char *text = made.text + used;
        const size_t left = sizeof made.text - used;
        const char *end = i + 1 < space->dimensions ? ", " : ")";
        int length = 0;
        if (space->type == DRV_CONTINUOUS)
            length = snprintf(text, left, "%.9g%s", (double)world->actions.share[at], end);
        else if (which == FOUND) length = snprintf(text, left, "%lld%s", (long long)world->actions.bin[at], end);
        else length = snprintf(text, left, "%d%s", which == LOWEST ? 0 : space->dimension[i].bins - 1, end);
        used += (size_t)length;
    }
    return made;
}

/* Reports the action of an agent, by its index among the agents of the call. */
static drv_status refuse_agent(const drv_world *world, int32_t world_number, int32_t agent, char *message) {
    const int32_t number = world_number * world->sizes.agents + agent;
    const drv_action_space *space = world->action_space;
    switch (space->type) {
        case DRV_DISCRETE:
            return drv_fail(message, DRV_ERROR_ACTION,
                            "the action of agent %d (world %d) is %lld; it must be a whole number from 0 to %d", number,
                            world_number, (long long)world->actions.bin[agent], space->count - 1);
        case DRV_MULTI_DISCRETE:
            return drv_fail(message, DRV_ERROR_ACTION,
                            "the action of agent %d (world %d) is %s; it must be whole numbers from %s to %s", number,
                            world_number, tuple_for(world, agent, FOUND).text, tuple_for(world, agent, LOWEST).text,
                            tuple_for(world, agent, HIGHEST).text);
        default:
            return drv_fail(message, DRV_ERROR_ACTION,
                            "the action of agent %d (world %d) is %s; %s must be finite and in -1 to 1", number,
                            world_number, tuple_for(world, agent, FOUND).text, space->dimensions == 2 ? "both" : "all");
    }
}

drv_status drv_actions_check(const drv_world *world, int32_t world_number, char *message) {
    if (*world->pending != DRV_GOES_ON) return DRV_OK;
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++)
        if (world->status[agent] == DRV_DRIVING && !agent_in_range(world->actions, world->action_space, agent))
            return refuse_agent(world, world_number, agent, message);
    return DRV_OK;
}

/* ---- controls ---- */

void drv_actions_control(drv_actions actions, const drv_action_space *space, int64_t agent, float *control,
                         int64_t stride) {
    const int64_t first = agent * space->width;
    int32_t rest = space->type == DRV_DISCRETE ? (int32_t)actions.bin[agent] : 0;
    for (int32_t i = space->dimensions - 1; i >= 0; i--) {
        const drv_action_dimension *dimension = &space->dimension[i];
        float value;
        if (space->type == DRV_DISCRETE) {
            const int32_t upper = rest / dimension->bins;
            value = dimension->value[rest - upper * dimension->bins];
            rest = upper;
        } else if (space->type == DRV_MULTI_DISCRETE) {
            value = dimension->value[actions.bin[first + i]];
        } else {
            value = drv_control_of_share(dimension, actions.share[first + i]);
        }
        control[i * stride] = value;
    }
}

void drv_actions_write(drv_actions actions, const drv_action_space *space, int64_t agent, const float *control,
                       int64_t stride) {
    const int64_t first = agent * space->width;
    int64_t index = 0;
    for (int32_t i = 0; i < space->dimensions; i++) {
        const drv_action_dimension *dimension = &space->dimension[i];
        const float share = drv_share_of_control(dimension, control[i * stride]);
        if (space->type == DRV_CONTINUOUS) {
            actions.share[first + i] = share;
            continue;
        }
        const int32_t bin = drv_nearest_bin(dimension, share);
        index = index * dimension->bins + bin;
        if (space->type == DRV_MULTI_DISCRETE) actions.bin[first + i] = bin;
    }
    if (space->type == DRV_DISCRETE) actions.bin[agent] = index;
}
