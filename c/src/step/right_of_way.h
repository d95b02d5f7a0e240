/* Which rule-based vehicle goes first where paths cross? The one that came near first; of those that came in the same
 * step, the one of lowest index. A vehicle inside a zone is before all that are not. So the vehicles are in one order,
 * and the first of it never waits for another. */
#ifndef DRV_RIGHT_OF_WAY_H
#define DRV_RIGHT_OF_WAY_H

#include "platform/isa.h"
#include "step/state.h"

/* The first zone of a path whose start is ahead of a vehicle's front; -1 if there is none. */
DRV_STEP_API int32_t drv_zone_ahead(const drv_world *world, int32_t path);

/* The distance from a vehicle's front to the start of a zone. */
DRV_STEP_API float drv_zone_gap_m(const drv_world *world, int32_t path, int32_t zone);

/* Writes the step at which each vehicle came near the zone ahead of it, and the claims of all; returns their number. */
DRV_STEP_API int32_t drv_claims_update(drv_world *world, drv_claim *claims);

/* Whether a vehicle near a zone has to wait at its start for another one. */
DRV_STEP_API bool drv_has_to_wait(const drv_world *world, const drv_claim *claims, int32_t count, int32_t path,
                                  int32_t zone);

#endif
