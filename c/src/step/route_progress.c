/* How far is each agent along its route? At the nearest point of the route that it can have reached in the step: where
 * the route crosses itself, the agent stays on the part that it drives along. Progress is the difference of two such
 * lengths, however far the agent is from the route: its sum over a trial depends on the last place alone, so no detour
 * and no circle earns anything (Ng et al. 1999). */
#include "step/route_progress.h"

#include <math.h>

#include "math/geometry.h"
#include "step/goals.h"
#include "step/phases.h"

/* The search covers this many times the distance driven in the step, plus a length, before and after the last place on
 * the route: an agent may cut a bend, and its place jumps where two are equally near. */
static const float search_ratio = 2.0f, search_m = 5.0f;

/* The route of an agent to its goal, one of those that the scene has for it. */
static int32_t route_of(const drv_world *world, int32_t agent) {
    const int32_t first = drv_start_of(world, agent) * drv_goals_per_agent(world->scene->candidate_count);
    return first + drv_goals_candidate(world, agent);
}

/* Whether an agent drives to a later goal than its first; the route of the scene leads to the first one only. */
static bool is_beyond_route(const drv_world *world, int32_t agent) {
    return world->had_goal[agent] && world->config->on_goal == DRV_NEXT;
}

void drv_route_progress_begin(drv_world *world) {
    for (int32_t agent = 0; agent < world->sizes.route_agents; agent++)
        world->route_m[agent] = world->route_progress_m[agent] = 0.0f;
}

/* A place on a route. */
typedef struct route_place {
    float along_m, distance2_m2; /* the squared distance of the agent */
} route_place;

/* The first segment of a route that ends at a length or beyond; the last one where none does. */
static int32_t segment_at(const drv_agent_routes *routes, int32_t route, float along_m) {
    int32_t low = routes->point_start[route], high = routes->point_start[route + 1] - 2;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (routes->arc_m[middle + 1] < along_m) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The place nearest to `at` among those from `low_m` to `high_m` along the route; the first of equally near ones, and
 * infinitely far away on a route without points. */
static route_place place_on(const drv_agent_routes *routes, int32_t route, drv_point at, float low_m, float high_m) {
    route_place best = {low_m, INFINITY};
    const int32_t last = routes->point_start[route + 1] - 1;
    for (int32_t i = segment_at(routes, route, low_m); i < last && routes->arc_m[i] <= high_m; i++) {
        const float side_x = routes->x_m[i + 1] - routes->x_m[i], side_y = routes->y_m[i + 1] - routes->y_m[i];
        const float length_m = sqrtf(side_x * side_x + side_y * side_y);
        const float along_x = side_x / length_m, along_y = side_y / length_m;
        const float dx = at.x - routes->x_m[i], dy = at.y - routes->y_m[i];
        const float first_m = drv_larger(low_m - routes->arc_m[i], 0.0f);
        const float end_m = drv_smaller(high_m - routes->arc_m[i], length_m);
        const float along_m = drv_clip(dx * along_x + dy * along_y, first_m, drv_larger(end_m, first_m));
        const float off_x = dx - along_m * along_x, off_y = dy - along_m * along_y;
        const float distance2_m2 = off_x * off_x + off_y * off_y;
        if (distance2_m2 < best.distance2_m2) best = (route_place){routes->arc_m[i] + along_m, distance2_m2};
    }
    return best;
}

static void take(drv_world *world, int32_t agent) {
    const drv_point at = {world->x_m[agent], world->y_m[agent]};
    const float dx = at.x - world->previous_x_m[agent], dy = at.y - world->previous_y_m[agent];
    const float before_m = world->route_m[agent], search = search_ratio * sqrtf(dx * dx + dy * dy) + search_m;
    const route_place place =
        place_on(&world->scene->routes, route_of(world, agent), at, before_m - search, before_m + search);
    const bool has_route = place.distance2_m2 < INFINITY;
    const float along_m = has_route ? drv_larger(place.along_m, 0.0f) : 0.0f;
    world->route_progress_m[agent] = along_m - before_m;
    world->route_m[agent] = along_m;
}

void drv_route_progress_take(drv_world *world) {
    for (int32_t agent = 0; agent < world->sizes.route_agents; agent++) {
        world->route_progress_m[agent] = 0.0f;
        /* had_goal is of earlier steps, as in drv_measures_take */
        if (world->status[agent] == DRV_DRIVING && !drv_goals_are_done(world, agent)) take(world, agent);
    }
}

float drv_route_left_m(const drv_world *world, int32_t agent) {
    if (drv_goals_are_done(world, agent)) return 0.0f;
    const drv_agent_routes *routes = &world->scene->routes;
    const int32_t route = route_of(world, agent), end = routes->point_start[route + 1];
    if (!is_beyond_route(world, agent) && end > routes->point_start[route])
        return drv_larger(routes->arc_m[end - 1] - world->route_m[agent], 0.0f);
    const float dx = world->goal_x_m[agent] - world->x_m[agent], dy = world->goal_y_m[agent] - world->y_m[agent];
    return sqrtf(dx * dx + dy * dy);
}

bool drv_route_ahead(const drv_world *world, int32_t agent, float ahead_m, drv_point *at, drv_point *along) {
    if (is_beyond_route(world, agent) || drv_goals_are_done(world, agent)) return false;
    const drv_agent_routes *routes = &world->scene->routes;
    const int32_t route = route_of(world, agent), end = routes->point_start[route + 1];
    const float along_m = world->route_m[agent] + ahead_m;
    if (end == routes->point_start[route] || along_m > routes->arc_m[end - 1]) return false;
    const int32_t i = segment_at(routes, route, along_m);
    const float side_x = routes->x_m[i + 1] - routes->x_m[i], side_y = routes->y_m[i + 1] - routes->y_m[i];
    const float length_m = sqrtf(side_x * side_x + side_y * side_y), from_m = along_m - routes->arc_m[i];
    *along = (drv_point){side_x / length_m, side_y / length_m};
    *at = (drv_point){routes->x_m[i] + from_m * along->x, routes->y_m[i] + from_m * along->y};
    return true;
}
