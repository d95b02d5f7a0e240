/* Which goal does an agent have, and does it observe it? Each draw has a random stream of its own, so that it changes
 * no other one. */
#include "step/goals.h"

#include <stdbool.h>

#include "math/geometry.h"
#include "math/random.h"

int32_t drv_goals_candidate(const drv_world *world, int32_t agent) {
    if (world->scene->candidate_count == 0) return 0;
    const uint64_t bits = drv_random_bits(*world->seed, *world->id, *world->episode, DRV_PURPOSE_GOAL, (uint32_t)agent);
    return (int32_t)drv_random_below(bits, (uint32_t)world->scene->candidate_count);
}

static drv_point goal_of(const drv_world *world, int32_t agent) {
    const drv_scene *scene = world->scene;
    if (scene->candidate_count == 0) return (drv_point){scene->goal_x_m[agent], scene->goal_y_m[agent]};
    const int32_t drawn = drv_goals_candidate(world, agent);
    return (drv_point){scene->candidate_x_m[drawn], scene->candidate_y_m[drawn]};
}

void drv_goals_begin(drv_world *world) {
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        const bool exists = world->controller[agent] == DRV_CONTROLLER_AGENT;
        const drv_point goal = exists ? goal_of(world, agent) : (drv_point){0.0f, 0.0f};
        world->goal_x_m[agent] = goal.x;
        world->goal_y_m[agent] = goal.y;
    }
}

/* Whether the trial has come to its last goal_reveal_s, in which goals are observed; never with 0, not even in the last
 * observation. Half a step is taken off, since the product of whole steps may round to either side of the time. */
static bool is_near_end(const drv_world *world) {
    const float reveal_s = world->config->goal_reveal_s;
    const int32_t left_steps = world->scene->trial_steps - *world->clock_steps - *world->age_steps;
    return reveal_s != 0.0f && ((float)left_steps - 0.5f) * world->scene->dt_s <= reveal_s;
}

/* Whether the agent observes its goal from the first step of this trial on, drawn with the config's share. */
static bool is_shown_throughout(const drv_world *world, int32_t agent) {
    const float share = world->config->goal_reveal_share;
    if (share == 0.0f) return false;
    const uint32_t index = (uint32_t)*world->trial * (DRV_OBJECT_LIMIT + 1) + (uint32_t)agent; /* below 2^32 */
    const uint64_t bits = drv_random_bits(*world->seed, *world->id, *world->episode, DRV_PURPOSE_GOAL_REVEAL, index);
    return drv_random_share(bits) < share;
}

bool drv_goals_is_revealed(const drv_world *world, int32_t agent) {
    return is_near_end(world) || is_shown_throughout(world, agent);
}
