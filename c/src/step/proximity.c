/* How near are other vehicles to an agent? The time to collision, if all vehicles hold their speed and heading, and the
 * gap between boxes. */
#include "step/proximity.h"

#include <math.h>

#include "math/geometry.h"
#include "step/height.h"
#include "step/on_map.h"
#include "step/phases.h"
#include "step/vehicle_box.h"

/* Slower than this, an agent stands and runs into nothing; published with nuPlan's metric. */
static const float standing_mps = 0.005f;

/* The displacement of a vehicle within the horizon. */
static drv_point displacement(const drv_world *world, int32_t vehicle) {
    const float path_m = drv_collision_horizon_s * world->speed_mps[vehicle];
    return (drv_point){path_m * world->cos_heading[vehicle], path_m * world->sin_heading[vehicle]};
}

/* Whether a vehicle is in contact with the agent already, or farther back than the rear of its box, seen in the
 * direction in which the agent moves. */
static bool is_past(const drv_world *world, int32_t agent, const drv_box *own, int32_t vehicle) {
    const uint64_t *overlapping = world->overlapping + agent * world->sizes.contact_words;
    if (overlapping[vehicle / 64] >> (vehicle % 64) & 1u) return true;
    const float dx = world->x_m[vehicle] - own->centre.x, dy = world->y_m[vehicle] - own->centre.y;
    const float ahead_m = dx * own->ahead.x + dy * own->ahead.y;
    return (world->speed_mps[agent] < 0.0f ? -ahead_m : ahead_m) < -own->half_length_m;
}

static float time_to_collision(const drv_world *world, int32_t agent, const drv_on_map *on_map) {
    const drv_scene *scene = world->scene;
    const drv_box own = drv_vehicle_box(world, agent);
    const drv_point own_path = displacement(world, agent);
    float first = 1.0f; /* share of the horizon */
    for (int32_t i = 0; i < on_map->count; i++) {
        const int32_t vehicle = on_map->vehicle[i];
        if (vehicle == agent || drv_is_apart(world, agent, vehicle)) continue;

        /* the bounding circles of both meet within the horizon */
        const drv_point path = displacement(world, vehicle), relative = {own_path.x - path.x, own_path.y - path.y};
        const float reach_m = scene->radius_m[agent] + scene->radius_m[vehicle];
        const drv_point centre = {on_map->x_m[i], on_map->y_m[i]};
        const drv_point end = {own.centre.x + relative.x, own.centre.y + relative.y};
        if (drv_squared_distance_to_segment(centre, own.centre, end) > reach_m * reach_m) continue;

        if (is_past(world, agent, &own, vehicle)) continue;
        first = drv_smaller(first, drv_swept_boxes_contact(own, relative, drv_vehicle_box(world, vehicle)));
    }
    return first * drv_collision_horizon_s;
}

float drv_proximity_gap(const drv_world *world, int32_t agent, const drv_scratch *scratch, float limit_m) {
    const drv_on_map *on_map = &scratch->on_map;
    const drv_box own = drv_vehicle_box(world, agent);
    float nearest_m = limit_m;
    for (int32_t i = 0; i < on_map->count; i++) {
        const int32_t vehicle = on_map->vehicle[i];
        if (vehicle == agent || drv_is_apart(world, agent, vehicle)) continue;
        const float reach_m = nearest_m + world->scene->radius_m[agent] + world->scene->radius_m[vehicle];
        const float dx = on_map->x_m[i] - own.centre.x, dy = on_map->y_m[i] - own.centre.y;
        if (dx * dx + dy * dy > reach_m * reach_m) continue;
        nearest_m = drv_smaller(nearest_m, drv_boxes_distance(own, drv_vehicle_box(world, vehicle)));
    }
    return nearest_m;
}

void drv_proximity_begin(drv_world *world) {
    for (int32_t agent = 0; agent < world->sizes.proximity_agents; agent++)
        world->time_to_collision_s[agent] = drv_collision_horizon_s;
}

void drv_proximity_measure(drv_world *world, drv_scratch *scratch) {
    if (world->sizes.proximity_agents == 0) return;
    drv_on_map_list(world, scratch);
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) {
        if (world->status[agent] != DRV_DRIVING) continue;
        const bool stands = fabsf(world->speed_mps[agent]) <= standing_mps;
        world->time_to_collision_s[agent] =
            stands ? drv_collision_horizon_s : time_to_collision(world, agent, &scratch->on_map);
    }
}
