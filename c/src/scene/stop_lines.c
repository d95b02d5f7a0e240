/* Which stop lines do paths cross, and where? */
#include "scene/stop_lines.h"

#include <math.h>

/* A path follows a lane if one of its points, which are 2 m apart, is at most this far from a point of the lane, see
 * probe_of; less than a lane width. */
static const float lane_distance_m = 2.0f;

/* ---- one path and one line ---- */

/* The arc length at which the part of a path between two neighbouring points crosses a line from the near side to the
 * far one; -1 if it does not. */
static float crossing_m(const drv_paths *paths, int32_t path, int32_t point, const float *line_m) {
    const drv_point from = {paths->x_m[point], paths->y_m[point]}, to = {paths->x_m[point + 1], paths->y_m[point + 1]};
    const drv_line_place before = drv_place_by_line(line_m, from), after = drv_place_by_line(line_m, to);
    if (!(before.beyond < 0.0f && after.beyond >= 0.0f)) return -1.0f;
    const float share = before.beyond / (before.beyond - after.beyond);
    const float from_left = before.from_left + share * (after.from_left - before.from_left);
    if (!(from_left >= 0.0f && from_left <= drv_squared_line_length(line_m))) return -1.0f;
    return ((float)(point - paths->point_start[path]) + share) * drv_path_pitch_m;
}

/* Returns the point by which a lane is told from the others at a stop line. Of a lane that ends at the line it is the
 * end, since a path may begin on the lane. Of a lane that goes on beyond the line, where lanes part, it is the middle
 * of the part beyond. */
static drv_point probe_of(const drv_lanes *lanes, int32_t lane, const float *line_m) {
    const float length_m = drv_lane_length_m(lanes, lane);
    const drv_point end = drv_lane_point(lanes, lane, length_m);
    const float beyond_m = drv_place_by_line(line_m, end).beyond / sqrtf(drv_squared_line_length(line_m));
    if (beyond_m <= lane_distance_m) return end;
    const drv_point line = {0.5f * (line_m[0] + line_m[2]), 0.5f * (line_m[1] + line_m[3])};
    const float line_at_m = (float)drv_lane_nearest(lanes, lane, line, NULL).along_m;
    return drv_lane_point(lanes, lane, 0.5f * (line_at_m + length_m));
}

/* Whether a path follows a lane where it crosses a stop line after `point`. */
static bool follows(const drv_paths *paths, int32_t path, int32_t point, const drv_lanes *lanes, int32_t lane,
                    const float *line_m) {
    const drv_point probe = probe_of(lanes, lane, line_m);
    const int32_t reach = (int32_t)(0.5f * drv_lane_length_m(lanes, lane) / drv_path_pitch_m) + 2;
    const int32_t low = paths->point_start[path], high = paths->point_start[path + 1] - 1;
    const int32_t first = point - reach > low ? point - reach : low;
    const int32_t last = point + reach < high ? point + reach : high;
    for (int32_t i = first; i <= last; i++) {
        const float dx = paths->x_m[i] - probe.x, dy = paths->y_m[i] - probe.y;
        if (dx * dx + dy * dy <= lane_distance_m * lane_distance_m) return true;
    }
    return false;
}

/* Whether a control applies to a path where that crosses its line: to one of the lanes that the path follows, or to
 * any path, if it names no lane or the scene has no lane graph. */
static bool applies(const drv_controls *in, const drv_lanes *lanes, const drv_paths *paths, int32_t path,
                    int32_t point, int32_t control) {
    const int32_t start = in->start[control], end = in->start[control + 1];
    const float *line_m = in->line_m + 4 * (int64_t)control;
    if (start == end || !lanes->point_start) return true;
    for (int32_t i = start; i < end; i++)
        if (follows(paths, path, point, lanes, in->lane[i], line_m)) return true;
    return false;
}

/* ---- all ---- */

/* Fills the arrays, or counts the lines where they are NULL. */
static void fill_lines(drv_stop_lines *to, const drv_controls *in, const drv_lanes *lanes, const drv_paths *paths) {
    to->count = 0;
    for (int32_t path = 0; path < paths->count; path++) {
        if (to->start) to->start[path] = to->count;
        for (int32_t point = paths->point_start[path]; point + 1 < paths->point_start[path + 1]; point++)
            for (int32_t control = 0; control < in->count; control++) {
                const float at_m = crossing_m(paths, path, point, in->line_m + 4 * (int64_t)control);
                if (at_m < 0.0f || !applies(in, lanes, paths, path, point, control)) continue;
                if (paths->z_m && fabsf(paths->z_m[point] - in->z_m[control]) > (float)DRV_LEVEL_HEIGHT_M)
                    continue;
                if (to->start) {
                    to->at_m[to->count] = at_m;
                    to->control[to->count] = control;
                }
                to->count++;
            }
    }
    if (to->start) to->start[paths->count] = to->count;
}

/* Finds the stop line of each zone: the last one before it. */
static void fill_zones_of(drv_stop_lines *to, const drv_controls *in, const drv_zones *zones) {
    for (int32_t zone = 0; zone < zones->count; zone++) {
        const int32_t path = zones->path[zone];
        const float enter_m = zones->enter_m[zone];
        float last_m = -INFINITY;
        to->zone_start_m[zone] = enter_m;
        to->zone_yields[zone] = 0;
        for (int32_t i = to->start[path]; i < to->start[path + 1]; i++) {
            if (to->at_m[i] < last_m || !drv_line_guards(to->at_m[i], enter_m)) continue;
            to->zone_start_m[zone] = last_m = to->at_m[i];
            to->zone_yields[zone] = in->kind[to->control[i]] != DRV_TRAFFIC_LIGHT;
        }
    }
}

/* Lays the arrays out in a block, or measures it where `base` is NULL; returns its bytes. */
static uint64_t lay_out(drv_stop_lines *to, int32_t paths, int32_t zones, uint8_t *base) {
    drv_block block = {base, 0};
    DRV_CARVE(&block, to->start, paths + 1);
    DRV_CARVE(&block, to->control, to->count);
    DRV_CARVE(&block, to->at_m, to->count);
    DRV_CARVE(&block, to->zone_start_m, zones);
    DRV_CARVE(&block, to->zone_yields, zones);
    return block.used;
}

bool drv_stop_lines_create(const drv_controls *in, const drv_lanes *lanes, const drv_paths *paths,
                           const drv_zones *zones, drv_arena *arena, drv_stop_lines *out, uint64_t *bytes) {
    *out = (drv_stop_lines){.count = 0};
    *bytes = 0;
    if (paths->point_count == 0 || in->count == 0) return true;
    fill_lines(out, in, lanes, paths);
    if (out->count == 0) return true;
    *bytes = lay_out(out, paths->count, zones->count, NULL);
    uint8_t *block = drv_memory_acquire(arena, *bytes);
    if (!block) return false;
    lay_out(out, paths->count, zones->count, block);
    fill_lines(out, in, lanes, paths);
    fill_zones_of(out, in, zones);
    return true;
}
