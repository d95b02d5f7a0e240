/* Which rule-based vehicle goes first where paths cross? The one that came near first; of those that came in the same
 * step, one that has none of the others on its right, and where each has one there, as at a junction with a vehicle on
 * every arm, the one of lowest index. A vehicle inside a zone goes before all that are not, and one that drives towards
 * a zone without a sign before those at a stop or yield sign. So the vehicles that stand have one order, and the first
 * in it never waits for another: a cycle of vehicles that wait for each other breaks up. A vehicle that has to stop at
 * the stop line of a zone is not in the order. */
#ifndef DRV_RIGHT_OF_WAY_H
#define DRV_RIGHT_OF_WAY_H

#include "platform/isa.h"
#include "step/state.h"

/* Where a vehicle waits for a zone: at its stop line, where lights and signs have an effect, or at its start. */
DRV_STEP_API float drv_zone_start_m(const drv_world *world, int32_t zone);

/* Whether the vehicles of a path wait at a stop or yield sign for a zone. */
DRV_STEP_API bool drv_zone_yields(const drv_world *world, int32_t zone);

/* The first zone of a path whose start, or stop line, is ahead of a vehicle's front; -1 if there is none. */
DRV_STEP_API int32_t drv_zone_ahead(const drv_world *world, int32_t path);

/* The distance from a vehicle's front to where it waits for a zone. */
DRV_STEP_API float drv_zone_gap_m(const drv_world *world, int32_t path, int32_t zone);

/* Writes the step at which each vehicle came near the zone ahead of it, and the claims of all to the scratch memory;
 * returns their number. Needs scratch->stop_m of this step. */
DRV_STEP_API int32_t drv_claims_update(drv_world *world, drv_scratch *scratch);

/* Whether a vehicle near a zone has to wait at its start for another one. */
DRV_STEP_API bool drv_has_to_wait(const drv_world *world, const drv_claim *claims, int32_t count, int32_t path,
                                  int32_t zone);

#endif
