/* Which road segments does a row see? */
#ifndef DRV_ROADS_H
#define DRV_ROADS_H

#include "isa.h"
#include "nearest.h"
#include "state.h"

/* Finds where all rows of a world are; to be called before the others, whenever rows have moved. */
void drv_roads_locate(const drv_world *world, drv_scratch *scratch);

/* Says that this row, if there is one, is chosen for next. */
void drv_roads_expect(const drv_world *world, int32_t row, const drv_scratch *scratch);

/* What the row sees; good until the next search with this scratch. */
drv_selection drv_roads_choose(const drv_world *world, int32_t row, drv_scratch *scratch);

#endif
