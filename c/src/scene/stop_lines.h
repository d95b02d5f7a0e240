/* Which stop lines do the paths of the rule-based vehicles of a scene cross, and where? Those of the lights and signs
 * that apply to a lane that the path follows. The last line before a zone, where paths cross, is the zone's. */
#ifndef DRV_STOP_LINES_H
#define DRV_STOP_LINES_H

#include "drive.h"
#include "platform/arena.h"
#include "scene/crossings.h"
#include "scene/lanes.h"
#include "scene/paths.h"

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

/* Finds the lines of an input that was checked. The arrays are in one block of the arena, which begins at `start`,
 * and NULL where no path crosses a line; false if out of memory. */
bool drv_stop_lines_create(const drv_scene_input *in, const drv_lanes *lanes, const drv_paths *paths,
                           const drv_zones *zones, drv_arena *arena, drv_stop_lines *out, uint64_t *bytes);

#endif
