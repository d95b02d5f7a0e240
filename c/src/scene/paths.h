/* Which paths do the rule-based vehicles of a scene follow? Each has one of its own, the same in every episode: its
 * logged positions, then lanes; a vehicle without a log follows lanes from its start on. Agents that drv_lane_driver
 * drives follow paths along given polylines. */
#ifndef DRV_PATHS_H
#define DRV_PATHS_H

#include "drive.h"
#include "math/geometry.h"
#include "platform/arena.h"
#include "scene/lanes.h"

/* Distance between neighbouring points of a path: short enough for the turns of a junction. */
enum { DRV_PATH_PITCH_M = 2 };
/* Length by which the path of an agent goes straight on past its end, so that there is always a path ahead. */
enum { DRV_PATH_RUN_OUT_M = 130 };
static const float drv_path_pitch_m = DRV_PATH_PITCH_M;

/* The path of a vehicle is points start[i] to start[i + 1], exactly one pitch apart, where i is its index among the
 * rule-based vehicles. A path has at least 2 points; a vehicle without a path stands at its start. */
typedef struct drv_paths {
    int32_t count, point_count;
    int32_t *point_start; /* count + 1 */
    /* Of length count. */
    int32_t *entry_step; /* the first frame in which the vehicle is on the map; -1 never */
    float *start_speed_mps;
    /* Of length point_count + DRV_SIMD_PAD. */
    float *x_m, *y_m;
    float *z_m; /* NULL without heights; the scene fills it in */
    float *heading_rad, *cos_heading, *sin_heading; /* of a vehicle whose centre is at the point */
    float *speed_mps; /* the desired speed, from which every slower point ahead is reached by comfortable braking */
} drv_paths;

/* Finds the paths of an input that was checked. `lanes` has no arrays where the scene has no lane graph. The arrays are
 * in one block of the arena, which begins at `point_start`; false if out of memory. */
bool drv_paths_create(const drv_scene_input *in, const drv_lanes *lanes, drv_arena *arena, drv_paths *out,
                      uint64_t *bytes);

/* Makes paths of the polylines of some agents, which were checked; if they run out, they go straight on past their
 * ends. The arrays are in one block, which begins at `point_start`; false if out of memory. */
bool drv_paths_along(const drv_lane_driver_setup *setup, int32_t agents, bool runs_out, drv_paths *out);

static inline int32_t drv_path_points(const drv_paths *paths, int32_t path) {
    return paths->point_start[path + 1] - paths->point_start[path];
}

static inline float drv_path_length_m(const drv_paths *paths, int32_t path) {
    return (float)(drv_path_points(paths, path) - 1) * drv_path_pitch_m;
}

#endif
