/* Which scripted vehicles does an episode have, and where are they? */
#ifndef DRV_SCRIPTS_H
#define DRV_SCRIPTS_H

#include "platform/isa.h"
#include "step/state.h"

/* Draws which scripted vehicles exist, the same in all trials of an episode, and puts them at frame 0 of their logs. */
DRV_STEP_API void drv_scripts_begin(drv_world *world);
/* Marks the scripts whose lines an agent crosses in this step, by the poses before and after it. An agent that an event
 * of the step stops, removes or moves to another start has crossed all the same. */
DRV_STEP_API void drv_scripts_detect(drv_world *world);
/* Advances the logs whose lines have been crossed. */
DRV_STEP_API void drv_scripts_advance(drv_world *world);
/* Puts the scripted vehicles where their own frames have them. */
DRV_STEP_API void drv_scripts_place(drv_world *world);

#endif
