/* Which road segments does a row see? */
#ifndef DRV_ROADS_H
#define DRV_ROADS_H

#include "isa.h"
#include "nearest.h"
#include "state.h"

/* Chosen for a row that stands at `ego`; good until the next search with this scratch. */
drv_selection drv_roads_choose(const drv_world *world, drv_point ego, drv_scratch *scratch);

#endif
