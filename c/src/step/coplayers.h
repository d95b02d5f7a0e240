/* Which agents are co-players in an episode? */
#ifndef DRV_COPLAYERS_H
#define DRV_COPLAYERS_H

#include "platform/isa.h"
#include "step/state.h"

/* Draws the co-players of the episode in world->episode; no-op where there are none. */
DRV_STEP_API void drv_coplayers_draw(drv_world *world);

/* Whether an agent is a co-player. */
static inline bool drv_is_coplayer(const drv_world *world, int32_t agent) {
    return world->sizes.coplayer_agents > 0 && world->coplayer[agent];
}

#endif
