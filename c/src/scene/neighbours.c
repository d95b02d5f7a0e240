/* How far beside a path is the next lane of its direction, or the oncoming one? */
#include "scene/neighbours.h"

#include <math.h>
#include <stdlib.h>

/* Distance between the middles of two lanes side by side, and how much it may differ from one point of the path to the
 * next. */
static const float nearest_lane_m = DRV_NEAREST_LANE_CM / 100.0f, farthest_lane_m = DRV_FARTHEST_LANE_CM / 100.0f;
static const float largest_step_m = 0.5f;
static const float longitudinal_m = DRV_BESIDE_CM / 100.0f;
/* No lane change within this distance of a zone: half a lane width, and the length of a car. */
static const float zone_margin_m = 6.0f;

/* The rectangle around a lane. */
typedef struct bounds {
    float low_x, low_y, high_x, high_y;
} bounds;

static bounds bounds_of(const drv_lanes *lanes, int32_t lane) {
    bounds found = {INFINITY, INFINITY, -INFINITY, -INFINITY}; /* of no lane: nothing is inside */
    for (int32_t i = lanes->point_start[lane]; i < lanes->point_start[lane + 1]; i++) {
        found.low_x = drv_smaller(found.low_x, lanes->x_m[i]);
        found.low_y = drv_smaller(found.low_y, lanes->y_m[i]);
        found.high_x = drv_larger(found.high_x, lanes->x_m[i]);
        found.high_y = drv_larger(found.high_y, lanes->y_m[i]);
    }
    return found;
}

static bool is_near(const bounds *of, drv_point at) {
    return at.x >= of->low_x - farthest_lane_m && at.x <= of->high_x + farthest_lane_m &&
           at.y >= of->low_y - farthest_lane_m && at.y <= of->high_y + farthest_lane_m;
}

/* Whether a zone is on another level than a point of a path, by its height where it begins. */
static bool is_zone_apart(const drv_paths *paths, const drv_zones *zones, int32_t zone, int32_t point) {
    if (!paths->z_m) return false;
    const int32_t enter = paths->point_start[zones->path[zone]] + (int32_t)(zones->enter_m[zone] / drv_path_pitch_m);
    return fabsf(paths->z_m[enter] - paths->z_m[point]) > (float)DRV_LEVEL_HEIGHT_M;
}

/* Whether a point of a path is near a place where paths cross. */
static bool is_in_zone(const drv_paths *paths, const drv_zones *zones, int32_t point) {
    for (int32_t zone = 0; zone < zones->count; zone++) {
        const float dx = zones->x_m[zone] - paths->x_m[point], dy = zones->y_m[zone] - paths->y_m[point];
        const float reach_m = zones->radius_m[zone] + zone_margin_m;
        if (dx * dx + dy * dy <= reach_m * reach_m && !is_zone_apart(paths, zones, zone, point)) return true;
    }
    return false;
}

/* Sets the offsets of the lanes next to a point of a path, of those that lead along it or, with `sign` -1, against
 * it. */
static void find_beside(const drv_lanes *lanes, const bounds *of_lane, const drv_paths *paths, int32_t point,
                        float sign, const drv_neighbours *out) {
    const drv_point at = {paths->x_m[point], paths->y_m[point]};
    const drv_point ahead = {paths->cos_heading[point], paths->sin_heading[point]};
    const drv_point along = {sign * ahead.x, sign * ahead.y};
    for (int32_t lane = 0; lane < lanes->road_count; lane++) {
        if (!is_near(&of_lane[lane], at)) continue;
        const drv_lane_place place = drv_lane_nearest(lanes, lane, at, &along);
        if (!(place.distance_m >= (double)nearest_lane_m && place.distance_m <= (double)farthest_lane_m)) continue;
        if (paths->z_m && drv_lane_is_apart(lanes, place, paths->z_m[point])) continue;
        const drv_point beside = drv_lane_point(lanes, lane, (float)place.along_m);
        const float dx = beside.x - at.x, dy = beside.y - at.y;
        const float along_m = dx * ahead.x + dy * ahead.y, left_m = dy * ahead.x - dx * ahead.y;
        if (fabsf(along_m) > longitudinal_m) continue;
        float *of_side_m = out->offset_m[left_m > 0.0f ? DRV_LEFT : DRV_RIGHT];
        if (!of_side_m) continue;
        float *offset_m = &of_side_m[point];
        if (*offset_m == 0.0f || fabsf(left_m) < fabsf(*offset_m)) *offset_m = left_m;
    }
}

/* Clears offsets that differ too much from those of the point before: the lane approaches the path or leaves it. */
static void clear_steps(const drv_paths *paths, float *offset_m) {
    for (int32_t path = 0; path < paths->count; path++) {
        float before_m = 0.0f;
        for (int32_t i = paths->point_start[path]; i < paths->point_start[path + 1]; i++) {
            const float found_m = offset_m[i];
            if (before_m != 0.0f && fabsf(found_m - before_m) > largest_step_m) offset_m[i] = 0.0f;
            before_m = found_m;
        }
    }
}

/* Finds the lanes beside paths, in arrays that are zero; false if out of memory. */
static bool find_all(const drv_lanes *lanes, const drv_paths *paths, const drv_zones *zones, float sign,
                     const drv_neighbours *out) {
    bounds *of_lane = malloc(((size_t)lanes->road_count + 1) * sizeof *of_lane);
    if (!of_lane) return false;
    for (int32_t lane = 0; lane < lanes->road_count; lane++) of_lane[lane] = bounds_of(lanes, lane);
    for (int32_t point = 0; point < paths->point_count; point++)
        if (!is_in_zone(paths, zones, point)) find_beside(lanes, of_lane, paths, point, sign, out);
    for (int32_t side = 0; side < DRV_SIDES; side++)
        if (out->offset_m[side]) clear_steps(paths, out->offset_m[side]);
    free(of_lane);
    return true;
}

bool drv_neighbours_create(const drv_lanes *lanes, const drv_paths *paths, const drv_zones *zones, drv_arena *arena,
                           drv_neighbours *out, uint64_t *bytes) {
    *out = (drv_neighbours){{NULL, NULL}};
    const uint64_t side_bytes = drv_round_up_to_line((uint64_t)paths->point_count * sizeof(float));
    *bytes = DRV_SIDES * side_bytes;
    if (paths->point_count == 0) return true;
    uint8_t *block = drv_memory_acquire(arena, *bytes);
    if (!block) return false;
    out->offset_m[DRV_LEFT] = (float *)(void *)block;
    out->offset_m[DRV_RIGHT] = (float *)(void *)(block + side_bytes);
    return find_all(lanes, paths, zones, 1.0f, out);
}

bool drv_oncoming_create(const drv_lanes *lanes, const drv_paths *paths, const drv_zones *zones, float **offset_m) {
    *offset_m = drv_memory_acquire(NULL, (uint64_t)paths->point_count * sizeof **offset_m);
    return *offset_m && find_all(lanes, paths, zones, -1.0f, &(drv_neighbours){{*offset_m, NULL}});
}
