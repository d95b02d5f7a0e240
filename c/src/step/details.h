/* What do the detailed metrics need of a trial? */
#ifndef DRV_DETAILS_H
#define DRV_DETAILS_H

#include "platform/isa.h"
#include "step/state.h"

/* Sets the counts and extremes of every agent to those of a trial without steps. */
DRV_STEP_API void drv_details_begin(drv_world *world);

#endif
