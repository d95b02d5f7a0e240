/* Where do the paths of the rule-based vehicles of a scene cross? A zone is a part of a path within which another path
 * crosses it, joins it or leaves it: a vehicle there is in the way of those on the other path. */
#ifndef DRV_CROSSINGS_H
#define DRV_CROSSINGS_H

#include "math/geometry.h"
#include "platform/arena.h"

struct drv_paths;

/* Paths whose directions differ by less than 10 degrees are of one stream of traffic: a vehicle there is a leading
 * vehicle, not a crossing one. */
static const float drv_crossing_cos = 0.985f;
/* Lateral gap below which vehicles do not pass each other where paths cross: less than between those of neighbouring
 * lanes. */
static const float drv_crossing_gap_m = 0.8f;

/* Where two lines cross, their nearest points are up to 1 / sqrt(2) of their pitch of 2 m apart. */
static const float drv_min_crossing_distance_m = 1.42f;
/* Zones of a path are more than this far apart: a vehicle between nearer ones would stand in both. */
enum { DRV_ZONE_GAP_M = 16 };

/* Distance between points of two paths below which vehicles on them may touch. */
static inline float drv_crossing_distance_m(float width_m, float other_width_m) {
    return drv_larger(drv_min_crossing_distance_m, 0.5f * (width_m + other_width_m) + drv_crossing_gap_m);
}

typedef struct drv_zones {
    int32_t count;
    int32_t *next; /* of each point of the paths: the first zone of its path that does not end before it; -1: none */
    /* Of length count; the zones of a path are consecutive. */
    float *enter_m, *leave_m;    /* arc lengths along the path */
    int32_t *path;               /* index of the path */
    float *x_m, *y_m, *radius_m; /* a circle about the points of the zone */
} drv_zones;

/* Finds the zones of paths; `width_m` has the width of the vehicle of each. The arrays are in one block of the arena,
 * which begins at `next`; false if out of memory. */
bool drv_zones_create(const struct drv_paths *paths, const float *width_m, drv_arena *arena, drv_zones *out,
                      uint64_t *bytes);

#endif
