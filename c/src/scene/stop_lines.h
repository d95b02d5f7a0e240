/* Which stop lines do paths cross, and where? Those of the lights and signs that apply to a lane that the path follows.
 * The last line before a zone, where paths cross, is the zone's. */
#ifndef DRV_STOP_LINES_H
#define DRV_STOP_LINES_H

#include "drive.h"
#include "math/geometry.h"
#include "platform/arena.h"
#include "scene/crossings.h"
#include "scene/lanes.h"
#include "scene/paths.h"

/* Where a point is relative to a stop line: metres beyond it, and metres along it from its left end, each multiplied by
 * the line's length. */
typedef struct drv_line_place {
    float beyond, from_left;
} drv_line_place;

/* A line has four numbers: x, y of its left end, then of its right one. */
static inline drv_line_place drv_place_by_line(const float *line_m, drv_point at) {
    const float along_x = line_m[2] - line_m[0], along_y = line_m[3] - line_m[1];
    const float dx = at.x - line_m[0], dy = at.y - line_m[1];
    return (drv_line_place){along_x * dy - along_y * dx, along_x * dx + along_y * dy};
}

static inline float drv_squared_line_length(const float *line_m) {
    const float along_x = line_m[2] - line_m[0], along_y = line_m[3] - line_m[1];
    return along_x * along_x + along_y * along_y;
}

/* Whether a point that moves from one place to the other passes the line between its ends, from the near side to the
 * far one. */
static inline bool drv_passes_line(drv_line_place before, drv_line_place after, float length2) {
    if (!(before.beyond < 0.0f && after.beyond >= 0.0f)) return false;
    /* where on the line it does, times `sum`, which saves a division */
    const float sum = after.beyond - before.beyond;
    const float from_left = before.from_left * after.beyond - after.from_left * before.beyond;
    return from_left >= 0.0f && from_left <= length2 * sum;
}

/* The stop line of a zone is at most this far before its start, or within it: a zone begins up to two points before the
 * place where vehicles may touch. */
static const float drv_before_zone_m = 10.0f, drv_in_zone_m = 4.0f;

/* Whether the stop line at `line_m` is that of the zone that begins at `enter_m`; both are lengths along one path. */
static inline bool drv_line_guards(float line_m, float enter_m) {
    return line_m >= enter_m - drv_before_zone_m && line_m <= enter_m + drv_in_zone_m;
}

/* The lights and signs of a scene, as DRV_SCENE_COPIED lists them. */
typedef struct drv_controls {
    int32_t count;
    const uint8_t *kind;
    const float *line_m, *z_m;
    const int32_t *start, *lane;
} drv_controls;

typedef struct drv_stop_lines {
    int32_t count;
    int32_t *start; /* the lines of path i are start[i] to start[i + 1] */
    /* Of length count. */
    int32_t *control;
    float *at_m; /* arc length along the path */
    /* Of each zone of the paths. */
    float *zone_start_m;  /* where vehicles wait for the zone: at its stop line, or where it begins */
    uint8_t *zone_yields; /* its stop line is that of a stop or yield sign */
} drv_stop_lines;

/* Finds the lines of controls that were checked. The arrays are in one block of the arena, which begins at `start`, and
 * NULL where no path crosses a line; false if out of memory. */
bool drv_stop_lines_create(const drv_controls *in, const drv_lanes *lanes, const drv_paths *paths,
                           const drv_zones *zones, drv_arena *arena, drv_stop_lines *out, uint64_t *bytes);

#endif
