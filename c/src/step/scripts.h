/* Which scripted vehicles does an episode have, and where are they? */
#ifndef DRV_SCRIPTS_H
#define DRV_SCRIPTS_H

#include "platform/isa.h"
#include "step/state.h"

/* Draws which scripted vehicles exist, the same in all trials of an episode, and puts them at frame 0 of their logs. */
DRV_STEP_API void drv_scripts_begin(drv_world *world);
/* Starts the logs whose lines an agent crossed in the last step, and advances those that have started. */
DRV_STEP_API void drv_scripts_advance(drv_world *world);
/* Puts the scripted vehicles where their own frames have them. */
DRV_STEP_API void drv_scripts_place(drv_world *world);

#endif
