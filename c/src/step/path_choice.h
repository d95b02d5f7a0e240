/* Which of its paths does an agent follow, and when does it change to the next one? An agent whose goal is on another
 * lane has a path along each lane on the way. It is on the path that it is nearest to. Between change_from_m and
 * change_to_m it changes to the next one as soon as the gaps there are long enough; towards change_to_m it slows down,
 * and the agent behind it on the other lane makes room. */
#ifndef DRV_PATH_CHOICE_H
#define DRV_PATH_CHOICE_H

#include "step/lane_driver.h"
#include "step/respawn.h"

/* Whether an agent has more than one path. */
static inline bool drv_changes_path(const drv_lane_driver *driver, const drv_world *world, int32_t agent) {
    const int32_t start = drv_start_of(world, agent);
    return driver->path_start[start + 1] > driver->path_start[start] + 1;
}

/* Sets the path that an agent follows, its place there and its desired lane change. Needs the list of vehicles on the
 * map, and the choices of the agents of lower index. */
DRV_STEP_API void drv_path_choose(const drv_world *world, drv_scratch *scratch, drv_lane_driver *driver, int32_t agent);

/* Lowers the accelerations of agents with a desired lane change, and of those that make room for them. */
DRV_STEP_API void drv_path_choice_react(const drv_world *world, drv_lane_driver *driver);

#endif
