/* Does an agent pass the vehicle ahead on the oncoming lane? It does where that vehicle is slow, the lane goes on for
 * long enough, and the agent is back before anything that comes towards it there, and before its goal. */
#ifndef DRV_OVERTAKING_H
#define DRV_OVERTAKING_H

#include "step/lane_driver.h"

/* Sets whether an agent is to be on the oncoming lane beside its path. Needs its path and its place there, and the list
 * of vehicles on the map. */
DRV_STEP_API void drv_overtaking_choose(const drv_world *world, const drv_scratch *scratch, drv_lane_driver *driver,
                                        int32_t agent);

/* Whether an agent overtakes, or is on its way back. */
static inline bool drv_overtakes(const drv_driven *own) { return own->oncoming_m > 0.0f; }

#endif
