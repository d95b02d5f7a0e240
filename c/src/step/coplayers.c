/* Which agents are co-players in an episode? Every subset of their number is equally likely, drawn from a random
 * stream of its own, so that all trials of an episode have the same ones. */
#include "step/coplayers.h"

#include "math/random.h"

/* The number of co-players among the agents of a scene: the config's, or its share of the agents, rounded, which leaves
 * at least one other. */
static int32_t count_of(const drv_config *config, int32_t agents) {
    if (config->coplayers >= 1.0f) return (int32_t)config->coplayers;
    const int32_t count = (int32_t)(config->coplayers * (float)agents + 0.5f);
    return count < agents ? count : agents - 1;
}

/* Selection sampling (Fan, Muller, Rezucha 1962): each agent in turn is drawn with probability
 * (places left) / (agents left). */
void drv_coplayers_draw(drv_world *world) {
    const int32_t agents = world->scene->num_agents;
    int32_t places = count_of(world->config, agents);
    for (int32_t agent = 0; agent < world->sizes.coplayer_agents; agent++) {
        const uint64_t bits =
            drv_random_bits(*world->seed, *world->id, *world->episode, DRV_PURPOSE_COPLAYERS, (uint32_t)agent);
        const bool is_drawn = agent < agents && (int32_t)drv_random_below(bits, (uint32_t)(agents - agent)) < places;
        world->coplayer[agent] = is_drawn;
        places -= is_drawn;
    }
}
