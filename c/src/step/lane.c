/* Which lane is each agent on? The nearest centre line, where one against the heading counts as farther away. */
#include "step/lane.h"

#include <math.h>

#include "math/geometry.h"
#include "step/height.h"
#include "step/phases.h"

static const float lane_turn_cost_m = DRV_LANE_TURN_COST_CM / 100.0f;
static const float usual_lane_width_m = DRV_USUAL_LANE_CM / 100.0f;

/* The pose of an agent relative to a segment of a centre line. */
typedef struct lane_pose {
    float distance_m; /* from the segment; with heights, plus the difference of theirs */
    float offset_m;   /* to the left of the line through it */
    float cos_error, sin_error;
} lane_pose;

static lane_pose pose_on(const drv_segments *segments, int32_t i, drv_point at, drv_point ahead) {
    const drv_point along = {segments->along_x[i], segments->along_y[i]};
    const drv_segment_place place = drv_place_by_segment(segments, i, at);
    return (lane_pose){place.distance_m, place.offset_m, ahead.x * along.x + ahead.y * along.y,
                       ahead.y * along.x - ahead.x * along.y};
}

static bool is_centre_line(const drv_scene *scene, int32_t segment) {
    return scene->road_kind[scene->segment_road[segment]] == DRV_ROAD_LANE &&
           scene->segments.half_length_m[segment] > 0.0f; /* a single point has no direction */
}

static void locate(drv_world *world, int32_t agent) {
    const drv_scene *scene = world->scene;
    const drv_segments *segments = &scene->segments;
    const drv_point at = {world->x_m[agent], world->y_m[agent]};
    const drv_point ahead = {world->cos_heading[agent], world->sin_heading[agent]};

    /* the best segment of a window that holds all within reach; the search ascends, so ties go to the lower index */
    lane_pose best = {0.0f, 0.0f, 0.0f, 0.0f};
    float best_cost_m = INFINITY;
    int32_t lane = -1;
    const drv_window window =
        drv_grid_window(&scene->grid, at.x, at.y, drv_lane_reach_m + 0.5f * drv_segment_limit_m + drv_rounding_m);
    for (int32_t y = window.first_row; y <= window.last_row; y++) {
        const int32_t *cells = segments->cell_start + y * scene->grid.columns;
        for (int32_t i = cells[window.first_column]; i < cells[window.last_column + 1]; i++) {
            if (!is_centre_line(scene, i)) continue;
            lane_pose pose = pose_on(segments, i, at, ahead);
            if (scene->has_height) {
                if (drv_differs_in_level(world, world->z_m[agent], segments->middle_z_m[i])) continue;
                pose.distance_m += fabsf(world->z_m[agent] - segments->middle_z_m[i]);
            }
            const float cost_m = pose.distance_m + lane_turn_cost_m * (1.0f - pose.cos_error);
            if (pose.distance_m > drv_lane_reach_m || cost_m >= best_cost_m) continue;
            best = pose;
            best_cost_m = cost_m;
            lane = scene->segment_road[i];
        }
    }

    world->lane[agent] = lane;
    world->lane_offset_m[agent] = best.offset_m;
    world->lane_cos_error[agent] = best.cos_error;
    world->lane_sin_error[agent] = best.sin_error;
}

float drv_lane_over_speed(const drv_world *world, int32_t agent) {
    if (world->lane[agent] < 0) return 0.0f;
    const float limit_mps = world->scene->road_speed_limit_mps[world->lane[agent]];
    return limit_mps > 0.0f ? drv_larger(fabsf(world->speed_mps[agent]) - limit_mps, 0.0f) : 0.0f;
}

bool drv_lane_border_crossed(const drv_world *world, int32_t agent) {
    const drv_scene *scene = world->scene;
    if (world->lane[agent] < 0) return false;
    const float width_m = scene->road_width_m[world->lane[agent]];
    const float half_lane_m = 0.5f * (width_m > 0.0f ? width_m : usual_lane_width_m);
    /* half the extent of the box across the lane */
    const float half_m = 0.5f * (scene->width_m[agent] * fabsf(world->lane_cos_error[agent]) +
                                 scene->length_m[agent] * fabsf(world->lane_sin_error[agent]));
    return fabsf(world->lane_offset_m[agent]) + half_m > half_lane_m;
}

void drv_lane_begin(drv_world *world) {
    for (int32_t agent = 0; agent < world->sizes.lane_agents; agent++) {
        world->lane[agent] = -1;
        world->lane_offset_m[agent] = world->lane_cos_error[agent] = world->lane_sin_error[agent] = 0.0f;
    }
}

void drv_lane_locate(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    for (int32_t agent = 0; agent < world->sizes.lane_agents; agent++)
        if (world->status[agent] == DRV_DRIVING) locate(world, agent);
}
