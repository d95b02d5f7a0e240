/* Which lane does a rule-based vehicle drive in: that of its path, or one beside it? By MOBIL, once a second. */
#ifndef DRV_LANE_CHANGE_H
#define DRV_LANE_CHANGE_H

#include <stdbool.h>

#include "platform/isa.h"
#include "step/state.h"

/* Whether the rule-based vehicles of a world change lanes. */
static inline bool drv_changes_lanes(const drv_world *world) { return world->sizes.lane_changers > 0; }

/* The lane of a vehicle while it changes lanes, as metres to the left of its path. */
typedef struct drv_lateral {
    float now_m, target_m;
    bool is_changing; /* it is not yet in the middle of the lane */
} drv_lateral;

/* Where a vehicle is, and where it changes to; on its path where no vehicle changes lanes. */
DRV_STEP_API drv_lateral drv_lateral_of(const drv_world *world, int32_t path);

/* Puts a vehicle in the lane of its path. */
DRV_STEP_API void drv_lane_change_reset(drv_world *world, int32_t path);

/* Puts all vehicles in the lanes of their paths. */
DRV_STEP_API void drv_lane_change_begin(drv_world *world);

/* Decides whether a vehicle changes lanes, in its steps for decisions. Needs the list of vehicles on the map. */
DRV_STEP_API void drv_lane_change_decide(drv_world *world, drv_scratch *scratch, int32_t path);

/* The distance from a vehicle's centre to where it has to stop if it is not back in the lane of its path by then;
 * INFINITY if it is in that lane, or changes to it, and while the end of the lane is farther than it looks ahead. */
DRV_STEP_API float drv_lane_change_end_m(const drv_world *world, int32_t path);

/* Moves a vehicle sideways, towards the middle of its lane, while it drives `driven_m`. */
DRV_STEP_API void drv_lane_change_move(drv_world *world, int32_t path, float driven_m);

#endif
