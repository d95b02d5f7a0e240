/* At which height is the lane under a vehicle? The step and the paths of rule-based vehicles follow it alike. */
#ifndef DRV_LANE_HEIGHT_H
#define DRV_LANE_HEIGHT_H

#include <math.h>

#include "math/geometry.h"
#include "math/vector.h"
#include "scene/scene.h"

/* Farther from every centre line than this, a vehicle is on no lane, and keeps its height. */
static const float drv_height_reach_m = 5.0f;

/* The height of the lane at a point, for a vehicle that is at `z_m`: that of the lane nearest to it in the plane and in
 * height, the two distances added, so that below a bridge it is the lane of the lower road. A lane on another level
 * does not count; without a lane it is `z_m`. */
static inline float drv_lane_height(const drv_scene *scene, drv_point at, float z_m) {
    const drv_segments *segments = &scene->segments;
    const float level_m = DRV_LEVEL_HEIGHT_M;
    float best_z_m = z_m, best_m = INFINITY;
    const drv_window window =
        drv_grid_window(&scene->grid, at.x, at.y, drv_height_reach_m + 0.5f * drv_segment_limit_m + drv_rounding_m);
    for (int32_t y = window.first_row; y <= window.last_row; y++) {
        const int32_t *cells = segments->cell_start + y * scene->grid.columns;
        for (int32_t i = cells[window.first_column]; i < cells[window.last_column + 1]; i++) {
            const float half_m = segments->half_length_m[i];
            if (scene->road_kind[scene->segment_road[i]] != DRV_ROAD_LANE || !(half_m > 0.0f)) continue;
            const drv_segment_place place = drv_place_by_segment(segments, i, at);
            const float lane_z_m = segments->middle_z_m[i] + place.nearest_m / half_m * segments->half_rise_m[i];
            const float rise_m = fabsf(lane_z_m - z_m), apart_m = place.distance_m + rise_m;
            if (place.distance_m > drv_height_reach_m || rise_m > level_m || apart_m >= best_m) continue;
            best_m = apart_m;
            best_z_m = lane_z_m;
        }
    }
    return best_z_m;
}

#endif
