/* Which road segments does a row see? */
#ifndef DRV_ROADS_H
#define DRV_ROADS_H

#include "isa.h"
#include "state.h"

/* What fills slots, in ascending order. */
typedef struct drv_selection {
    const int32_t *name;
    int32_t count;
} drv_selection;

/* Chosen for a row that stands at `ego`; good until the next search with this scratch. */
drv_selection drv_roads_choose(const drv_world *world, drv_point ego, drv_scratch *scratch);

#endif
