/* Which lanes lead a vehicle to its goal? The shortest path in the lane graph (Dijkstra 1959).
 *
 * The cost of a path is its length along lanes, plus `distance_cost` per metre between start or goal and their lanes.
 * Ties go to the lower lane index. */
#include <math.h>
#include <stdlib.h>

#include "math/geometry.h"
#include "platform/error.h"
#include "platform/fp_env.h"
#include "scene/lanes.h"
#include "scene/scene.h"

enum {
    /* Nearest lanes of a start or goal among which the search chooses. */
    CANDIDATE_LIMIT = 8
};

/* Largest distance of the ends of a route from the centre lines of its lanes: a bay is within it, the inside of a large
 * lot is not. */
static const double lane_reach_m = DRV_ROUTE_REACH_M;
/* Lanes overlap in junctions, and logged vehicles deviate from lane centres: lanes up to this much farther away than
 * the nearest one are candidates, too. Less than a lane width, so that the opposite lane is no candidate. */
static const double candidate_margin_m = 2.0;
/* Cost of a metre between a point and its lane: a nearer lane is preferred to a shorter path. */
static const double distance_cost = 5.0;

/* ---- lanes near a point ---- */

typedef struct candidates {
    drv_lane_place item[CANDIDATE_LIMIT];
    int32_t count;
} candidates;

/* The candidates for a point at a height, nearest first. */
static candidates lanes_near(const drv_lanes *lanes, drv_point at, float z_m, const drv_point *ahead) {
    candidates near = {.count = 0};
    for (int32_t lane = 0; lane < lanes->road_count; lane++) {
        const drv_lane_place found = drv_lane_nearest(lanes, lane, at, ahead);
        if (!(found.distance_m <= lane_reach_m) || drv_lane_is_apart(lanes, found, z_m)) continue;
        int32_t rank = near.count;
        while (rank > 0 && found.distance_m < near.item[rank - 1].distance_m) rank--;
        if (rank == CANDIDATE_LIMIT) continue;
        near.count += near.count < CANDIDATE_LIMIT;
        for (int32_t i = near.count - 1; i > rank; i--) near.item[i] = near.item[i - 1];
        near.item[rank] = found;
    }
    while (near.count > 0 && near.item[near.count - 1].distance_m > near.item[0].distance_m + candidate_margin_m)
        near.count--;
    return near;
}

static const drv_lane_place *candidate_of(const candidates *near, int32_t lane) {
    for (int32_t i = 0; i < near->count; i++)
        if (near->item[i].lane == lane) return &near->item[i];
    return NULL;
}

/* ---- queue ---- */

typedef struct entry {
    double cost_m;
    int32_t lane;
} entry;

typedef struct search {
    const drv_lanes *lanes;
    double *cost_m;    /* of each lane, at its first point */
    int32_t *previous; /* the lane before it on the path; ~lane where that is the start lane */
    entry *queue;      /* a binary heap, the cheapest first; each link adds at most two entries */
    int32_t queued;
} search;

static bool cheaper(entry a, entry b) { return a.cost_m < b.cost_m || (a.cost_m == b.cost_m && a.lane < b.lane); }

static void push(search *in, entry added) {
    int32_t i = in->queued++;
    for (; i > 0 && cheaper(added, in->queue[(i - 1) / 2]); i = (i - 1) / 2) in->queue[i] = in->queue[(i - 1) / 2];
    in->queue[i] = added;
}

static entry pop(search *in) {
    const entry first = in->queue[0], moved = in->queue[--in->queued];
    int32_t i = 0;
    for (int32_t child = 1; child < in->queued; child = 2 * i + 1) {
        if (child + 1 < in->queued && cheaper(in->queue[child + 1], in->queue[child])) child++;
        if (!cheaper(in->queue[child], moved)) break;
        in->queue[i] = in->queue[child];
        i = child;
    }
    in->queue[i] = moved;
    return first;
}

/* Relaxes the links of a lane, whose end has cost `cost_m`. */
static void relax(search *in, int32_t lane, double cost_m, int32_t previous) {
    for (int32_t link = in->lanes->successor_start[lane]; link < in->lanes->successor_start[lane + 1]; link++) {
        const int32_t to = in->lanes->successor[link];
        if (!(cost_m < in->cost_m[to])) continue;
        in->cost_m[to] = cost_m;
        in->previous[to] = previous;
        push(in, (entry){cost_m, to});
    }
}

/* ---- search ---- */

/* The end of the cheapest path. */
typedef struct found_path {
    double cost_m;
    int32_t last;  /* its last lane; -1 where there is no path */
    bool one_lane; /* start and goal are on the last lane, without a loop */
} found_path;

static found_path find(search *in, const candidates *starts, const candidates *goals) {
    /* paths on one lane */
    found_path best = {INFINITY, -1, false};
    for (int32_t i = 0; i < starts->count; i++) {
        const drv_lane_place start = starts->item[i], *goal = candidate_of(goals, start.lane);
        if (!goal || goal->along_m < start.along_m) continue;
        const double cost_m = goal->along_m - start.along_m + distance_cost * (start.distance_m + goal->distance_m);
        if (cost_m < best.cost_m) best = (found_path){cost_m, start.lane, true};
    }

    /* paths over links: expand lanes in the order of their cost */
    for (int32_t lane = 0; lane < in->lanes->road_count; lane++) in->cost_m[lane] = INFINITY;
    for (int32_t i = 0; i < starts->count; i++) {
        const drv_lane_place start = starts->item[i];
        const double remaining_m = (double)drv_lane_length_m(in->lanes, start.lane) - start.along_m;
        relax(in, start.lane, remaining_m + distance_cost * start.distance_m, ~start.lane);
    }
    while (in->queued > 0) {
        const entry next = pop(in);
        if (next.cost_m > in->cost_m[next.lane] || next.cost_m >= best.cost_m) continue;
        const drv_lane_place *goal = candidate_of(goals, next.lane);
        const double arrival_m = goal ? next.cost_m + goal->along_m + distance_cost * goal->distance_m : INFINITY;
        if (arrival_m < best.cost_m) best = (found_path){arrival_m, next.lane, false};
        relax(in, next.lane, next.cost_m + (double)drv_lane_length_m(in->lanes, next.lane), next.lane);
    }
    return best;
}

/* Writes the lanes of a path, from its last one back; returns their number. */
static int32_t write_path(const search *in, found_path path, const candidates *starts, const candidates *goals,
                          int32_t capacity, drv_route_lane *out) {
    /* count the lanes and find the first */
    int32_t count = 1, lane = path.last;
    if (!path.one_lane)
        for (count = 2; in->previous[lane] >= 0; count++) lane = in->previous[lane];
    const int32_t start = path.one_lane ? path.last : ~in->previous[lane];

    /* write them, those beyond the capacity left out */
    lane = path.last;
    for (int32_t i = count - 1; i >= 0; i--) {
        const float from_m = i == 0 ? (float)candidate_of(starts, start)->along_m : 0.0f;
        const float to_m = i == count - 1 ? (float)candidate_of(goals, path.last)->along_m
                                          : drv_lane_length_m(in->lanes, i == 0 ? start : lane);
        if (i < capacity) out[i] = (drv_route_lane){i == 0 ? start : lane, from_m, to_m};
        if (i > 0) lane = in->previous[lane];
    }
    return count;
}

static drv_status check_graph(const drv_scene *scene, char *message) {
    if (scene->lanes.point_start) return DRV_OK;
    return drv_fail(message, DRV_ERROR_CALL, "scene %.80s has no lane graph; it must be created with lane_start",
                    scene->name);
}

static drv_status check_ends(const drv_scene *scene, const drv_route_ends *ends, char *message) {
    const struct {
        const char *name;
        float value;
    } numbers[] = {{"start_x_m", ends->start_x_m},
                   {"start_y_m", ends->start_y_m},
                   {"start_heading_rad", ends->start_heading_rad},
                   {"goal_x_m", ends->goal_x_m},
                   {"goal_y_m", ends->goal_y_m}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(fabsf(numbers[i].value) <= (float)DRV_COORDINATE_LIMIT_M))
            return drv_fail(message, DRV_ERROR_CALL, "scene %.80s: %s of a route is %g; it must be %d to %d",
                            scene->name, numbers[i].name, (double)numbers[i].value, -DRV_COORDINATE_LIMIT_M,
                            DRV_COORDINATE_LIMIT_M);
    return DRV_OK;
}

/* Not inlined, so that the compiler moves no computation out of the core's floating-point environment. */
__attribute__((noinline)) static drv_status route(const drv_scene *scene, const drv_route_ends *ends, int32_t capacity,
                                                  drv_route_lane *out, int32_t *count, char *message) {
    *count = 0;
    drv_status status = check_graph(scene, message);
    if (status != DRV_OK) return status;
    status = check_ends(scene, ends, message);
    if (status != DRV_OK) return status;

    /* find the lanes at both ends */
    const drv_lanes *lanes = &scene->lanes;
    const drv_point ahead = drv_direction(drv_wrap_angle(ends->start_heading_rad));
    const candidates starts = lanes_near(lanes, (drv_point){ends->start_x_m, ends->start_y_m}, ends->start_z_m, &ahead);
    const candidates goals = lanes_near(lanes, (drv_point){ends->goal_x_m, ends->goal_y_m}, ends->goal_z_m, NULL);
    if (starts.count == 0 || goals.count == 0) return DRV_OK;

    /* search, with all memory in one block */
    const size_t roads = (size_t)lanes->road_count, queue_limit = 2 * (size_t)lanes->link_count;
    entry *block = malloc(queue_limit * sizeof(entry) + roads * (sizeof(double) + sizeof(int32_t)));
    if (!block)
        return drv_fail(message, DRV_ERROR_MEMORY, "scene %.80s: no memory to search its %d roads for a route",
                        scene->name, lanes->road_count);
    double *cost_m = (double *)(void *)(block + queue_limit);
    search in = {lanes, cost_m, (int32_t *)(void *)(cost_m + roads), block, 0};
    const found_path path = find(&in, &starts, &goals);
    if (path.last >= 0) *count = write_path(&in, path, &starts, &goals, capacity, out);
    free(block);
    return DRV_OK;
}

drv_status drv_scene_route(const drv_scene *scene, const drv_route_ends *ends, int32_t capacity, drv_route_lane *out,
                           int32_t *count, char *message) {
    const drv_fp_env saved = drv_fp_env_begin();
    const drv_status status = route(scene, ends, capacity, out, count, message);
    drv_fp_env_end(saved);
    return status;
}

/* ---- points ---- */

static void write_point(drv_point point, int32_t capacity, float *x_m, float *y_m, int32_t *count) {
    if (*count < capacity) {
        x_m[*count] = point.x;
        y_m[*count] = point.y;
    }
    ++*count;
}

static drv_status check_lane(const drv_scene *scene, int32_t road, char *message) {
    const drv_status status = check_graph(scene, message);
    if (status != DRV_OK) return status;
    if (road >= 0 && road < scene->road_count && scene->road_kind[road] == DRV_ROAD_LANE) return DRV_OK;
    return drv_fail(message, DRV_ERROR_CALL, "scene %.80s: road %d of a route is not a lane; it must be one",
                    scene->name, road);
}

__attribute__((noinline)) static drv_status lane_points(const drv_scene *scene, drv_route_lane part, int32_t capacity,
                                                        float *x_m, float *y_m, int32_t *count, char *message) {
    *count = 0;
    const drv_lanes *lanes = &scene->lanes;
    const drv_status status = check_lane(scene, part.road, message);
    if (status != DRV_OK) return status;
    const float length_m = drv_lane_length_m(lanes, part.road);
    if (!(part.from_m >= 0.0f && part.from_m <= part.to_m && part.to_m <= length_m))
        return drv_fail(message, DRV_ERROR_CALL,
                        "scene %.80s: lane %d of a route is from %g to %g m; it must be within 0 to %g", scene->name,
                        part.road, (double)part.from_m, (double)part.to_m, (double)length_m);

    write_point(drv_lane_point(lanes, part.road, part.from_m), capacity, x_m, y_m, count);
    for (int32_t i = lanes->point_start[part.road]; i < lanes->point_start[part.road + 1]; i++)
        if (lanes->arc_m[i] > part.from_m && lanes->arc_m[i] < part.to_m)
            write_point((drv_point){lanes->x_m[i], lanes->y_m[i]}, capacity, x_m, y_m, count);
    write_point(drv_lane_point(lanes, part.road, part.to_m), capacity, x_m, y_m, count);
    return DRV_OK;
}

drv_status drv_scene_lane_points(const drv_scene *scene, drv_route_lane lane, int32_t capacity, float *x_m, float *y_m,
                                 int32_t *count, char *message) {
    const drv_fp_env saved = drv_fp_env_begin();
    const drv_status status = lane_points(scene, lane, capacity, x_m, y_m, count, message);
    drv_fp_env_end(saved);
    return status;
}

__attribute__((noinline)) static drv_status lane_direction(const drv_scene *scene, int32_t road, float along_m,
                                                           float *x, float *y, char *message) {
    const drv_status status = check_lane(scene, road, message);
    if (status != DRV_OK) return status;
    const drv_point ahead = drv_lane_direction(&scene->lanes, road, along_m);
    *x = ahead.x;
    *y = ahead.y;
    return DRV_OK;
}

drv_status drv_scene_lane_direction(const drv_scene *scene, int32_t road, float along_m, float *x, float *y,
                                    char *message) {
    const drv_fp_env saved = drv_fp_env_begin();
    const drv_status status = lane_direction(scene, road, along_m, x, y, message);
    drv_fp_env_end(saved);
    return status;
}
