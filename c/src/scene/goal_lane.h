/* On which lane is a goal? The step and the scene find the lanes of goals alike. */
#ifndef DRV_GOAL_LANE_H
#define DRV_GOAL_LANE_H

#include <math.h>

#include "math/geometry.h"
#include "scene/scene.h"

/* A point on a lane. */
typedef struct drv_goal_place {
    int32_t lane; /* -1: none */
    float along_m;
} drv_goal_place;

/* Replaces `best` by the point of a lane nearest to a goal, if that is on the goal's level and nearer than `best2`, a
 * squared distance, or as near and on a lane of a lower index. */
static inline void drv_goal_search_lane(const drv_lanes *lanes, int32_t lane, drv_point at, float z_m,
                                        drv_goal_place *best, float *best2) {
    for (int32_t i = lanes->point_start[lane]; i + 1 < lanes->point_start[lane + 1]; i++) {
        const drv_point from = {lanes->x_m[i], lanes->y_m[i]}, to = {lanes->x_m[i + 1], lanes->y_m[i + 1]};
        const float distance2 = drv_squared_distance_to_segment(at, from, to);
        if (!(distance2 < *best2 || (distance2 == *best2 && lane < best->lane))) continue;
        const float dx = to.x - from.x, dy = to.y - from.y, length2 = dx * dx + dy * dy;
        const float share = length2 > 0.0f ? ((at.x - from.x) * dx + (at.y - from.y) * dy) / length2 : 0.0f;
        const drv_lane_part part = {i, i + 1, drv_clip(share, 0.0f, 1.0f)};
        if (lanes->z_m && fabsf(drv_on_lane(lanes->z_m, part) - z_m) > (float)DRV_LEVEL_HEIGHT_M) continue;
        const float step_m = lanes->arc_m[i + 1] - lanes->arc_m[i];
        *best = (drv_goal_place){lane, lanes->arc_m[i] + part.share * step_m};
        *best2 = distance2;
    }
}

/* The point nearest to a goal on any lane within reach, and on its level; ties go to the lower lane. Needs a lane
 * graph. Searches the lanes that have segments in a window of the grid, some of them repeatedly. */
static inline drv_goal_place drv_goal_nearest_lane(const drv_scene *scene, drv_point at, float z_m) {
    const float reach_m = DRV_LANE_REACH_M;
    drv_goal_place best = {-1, 0.0f};
    float best2 = reach_m * reach_m;
    const drv_window window =
        drv_grid_window(&scene->grid, at.x, at.y, reach_m + 0.5f * drv_segment_limit_m + drv_rounding_m);
    for (int32_t y = window.first_row; y <= window.last_row; y++) {
        const int32_t *cells = scene->segments.cell_start + y * scene->grid.columns;
        int32_t searched = -1;
        for (int32_t i = cells[window.first_column]; i < cells[window.last_column + 1]; i++) {
            const int32_t road = scene->segment_road[i];
            if (scene->road_kind[road] != DRV_ROAD_LANE || road == searched) continue;
            drv_goal_search_lane(&scene->lanes, road, at, z_m, &best, &best2);
            searched = road;
        }
    }
    return best;
}

#endif
