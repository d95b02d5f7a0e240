/* Which road segments does a row see? */
#ifndef DRV_ROADS_H
#define DRV_ROADS_H

#include "isa.h"
#include "nearest.h"
#include "state.h"

/* Finds the small cells that all rows of a world are in, to scratch->cell. */
void drv_roads_locate(const drv_world *world, drv_scratch *scratch);

/* Asks the cache for what a choice for this row will read, if there is such a row; it was located. */
void drv_roads_expect(const drv_world *world, int32_t row, const drv_scratch *scratch);

/* What the row sees, which was located; good until the next search with this scratch. */
drv_selection drv_roads_choose(const drv_world *world, int32_t row, drv_scratch *scratch);

#endif
