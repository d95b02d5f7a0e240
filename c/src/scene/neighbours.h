/* How far beside a path is the next lane of its direction, or the oncoming one? */
#ifndef DRV_NEIGHBOURS_H
#define DRV_NEIGHBOURS_H

#include "drive.h"
#include "platform/arena.h"
#include "scene/crossings.h"
#include "scene/lanes.h"
#include "scene/paths.h"

/* Sides of a path, and the index of its lane. */
enum { DRV_LEFT = 0, DRV_RIGHT = 1, DRV_SIDES = 2 };

/* offset_m[DRV_LEFT] has, for each point of the paths, the metres to the left from there to the middle of the next
 * lane; offset_m[DRV_RIGHT] the negative ones to the right. 0 where there is no such lane, and near places where
 * paths cross. NULL where the scene was created without lane changes. */
typedef struct drv_neighbours {
    float *offset_m[DRV_SIDES];
} drv_neighbours;

/* Finds the lanes. The arrays are in one block of the arena, which begins at offset_m[DRV_LEFT]; false if out of
 * memory. */
bool drv_neighbours_create(const drv_lanes *lanes, const drv_paths *paths, const drv_zones *zones, drv_arena *arena,
                           drv_neighbours *out, uint64_t *bytes);

/* Finds the oncoming lanes to the left of paths: for each of their points the metres to the left to the middle of that
 * lane, 0 where there is none, and near places where paths cross. The array is a block of its own; false if out of
 * memory. */
bool drv_oncoming_create(const drv_lanes *lanes, const drv_paths *paths, const drv_zones *zones, float **offset_m);

#endif
