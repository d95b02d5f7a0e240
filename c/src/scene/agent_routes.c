/* Along which points does each agent get to its goal? The points of the lanes of drv_scene_route. */
#include "scene/agent_routes.h"

#include <math.h>
#include <stdlib.h>

#include "scene/scene.h"

/* Points nearer to the one before are dropped: those at which two lanes join, and those between which float32 has no
 * direction. */
static const double joint_m = 0.05;

/* Writes the points of all routes; its buffers hold the lanes of a route and the points of a lane. */
typedef struct writer {
    const drv_scene *scene;
    drv_route_lane *lane;
    float *lane_x_m, *lane_y_m;
    drv_point *point;
    float *arc_m;
    int32_t count, capacity, first; /* of points; the first is that of the present route */
    double length_m;                /* of the present route; a float32 sum of many short steps would drift */
} writer;

/* Makes the capacity larger than the count; false if out of memory. */
static bool reserve_point(writer *to) {
    if (to->count < to->capacity) return true;
    if (to->capacity > INT32_MAX / 2) return false;
    const int32_t capacity = to->capacity > 0 ? 2 * to->capacity : 1024;
    drv_point *point = realloc(to->point, (size_t)capacity * sizeof *point);
    if (point) to->point = point;
    float *arc_m = realloc(to->arc_m, (size_t)capacity * sizeof *arc_m);
    if (arc_m) to->arc_m = arc_m;
    if (!point || !arc_m) return false;
    to->capacity = capacity;
    return true;
}

static bool add_point(writer *to, drv_point at) {
    if (to->count > to->first) {
        const drv_point last = to->point[to->count - 1];
        const double dx = (double)at.x - (double)last.x, dy = (double)at.y - (double)last.y;
        const double step_m = sqrt(dx * dx + dy * dy);
        if (step_m < joint_m) return true;
        to->length_m += step_m;
    }
    if (!reserve_point(to)) return false;
    to->point[to->count] = at;
    to->arc_m[to->count++] = (float)to->length_m;
    return true;
}

/* Writes the route between two ends; nothing where there is none, or its ends are the same point. */
static bool add_route(writer *to, const drv_route_ends *ends) {
    const drv_scene *scene = to->scene;
    char message[DRV_MESSAGE_BYTES];
    int32_t lanes = 0;
    to->first = to->count;
    to->length_m = 0.0;
    if (drv_scene_route(scene, ends, scene->road_count + 1, to->lane, &lanes, message) != DRV_OK) return false;
    for (int32_t i = 0; i < lanes; i++) {
        int32_t points = 0;
        const int32_t capacity = scene->lanes.point_count + 2;
        if (drv_scene_lane_points(scene, to->lane[i], capacity, to->lane_x_m, to->lane_y_m, &points, message) != DRV_OK)
            return false;
        for (int32_t k = 0; k < points; k++)
            if (!add_point(to, (drv_point){to->lane_x_m[k], to->lane_y_m[k]})) return false;
    }
    if (to->count - to->first < 2) to->count = to->first;
    return true;
}

static bool add_routes(writer *to, int32_t *point_start) {
    const drv_scene *scene = to->scene;
    const int32_t goals = drv_goals_per_agent(scene->candidate_count);
    for (int32_t agent = 0; agent < scene->num_agents; agent++)
        for (int32_t goal = 0; goal < goals; goal++) {
            const bool drawn = scene->candidate_count > 0;
            drv_route_ends ends = {scene->start_x_m[agent], scene->start_y_m[agent],
                                   scene->start_heading_rad[agent],
                                   drawn ? scene->candidate_x_m[goal] : scene->goal_x_m[agent],
                                   drawn ? scene->candidate_y_m[goal] : scene->goal_y_m[agent], 0.0f, 0.0f};
            if (scene->has_height) {
                ends.start_z_m = scene->start_z_m[agent];
                ends.goal_z_m = drawn ? scene->candidate_z_m[goal] : scene->goal_z_m[agent];
            }
            point_start[agent * goals + goal] = to->count;
            if (!add_route(to, &ends)) return false;
        }
    point_start[scene->num_agents * goals] = to->count;
    return true;
}

/* Lays the arrays out in a block, or measures it where `base` is NULL; returns its bytes. */
static uint64_t lay_out(drv_agent_routes *routes, uint8_t *base, int32_t points) {
    drv_block block = {base, 0};
    DRV_CARVE(&block, routes->point_start, routes->count + 1);
    DRV_CARVE(&block, routes->x_m, points);
    DRV_CARVE(&block, routes->y_m, points);
    DRV_CARVE(&block, routes->arc_m, points);
    return block.used;
}

bool drv_agent_routes_create(const drv_scene *scene, drv_arena *arena, drv_agent_routes *out, uint64_t *bytes) {
    /* write the points to memory that grows, then acquire what they need */
    *out = (drv_agent_routes){.count = scene->num_agents * drv_goals_per_agent(scene->candidate_count)};
    *bytes = 0;
    writer to = {.scene = scene};
    const size_t lane_points = (size_t)scene->lanes.point_count + 2;
    int32_t *point_start = malloc(((size_t)out->count + 1) * sizeof *point_start);
    to.lane = malloc(((size_t)scene->road_count + 1) * sizeof *to.lane);
    to.lane_x_m = malloc(lane_points * sizeof(float));
    to.lane_y_m = malloc(lane_points * sizeof(float));
    uint8_t *block = NULL;
    if (point_start && to.lane && to.lane_x_m && to.lane_y_m && add_routes(&to, point_start)) {
        *bytes = lay_out(out, NULL, to.count);
        block = drv_memory_acquire(arena, *bytes);
    }

    /* fill the arrays */
    if (block) {
        lay_out(out, block, to.count);
        for (int32_t i = 0; i <= out->count; i++) out->point_start[i] = point_start[i];
        for (int32_t i = 0; i < to.count; i++) {
            out->x_m[i] = to.point[i].x;
            out->y_m[i] = to.point[i].y;
            out->arc_m[i] = to.arc_m[i];
        }
    }
    free(point_start);
    free(to.lane);
    free(to.lane_x_m);
    free(to.lane_y_m);
    free(to.point);
    free(to.arc_m);
    return block != NULL;
}
