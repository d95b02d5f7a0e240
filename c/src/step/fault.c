/* Is a collision the agent's fault? The tests of both rules are in their published order, and the first that applies
 * decides. */
#include "step/fault.h"

#include <math.h>

#include "math/geometry.h"
#include "step/hidden.h"
#include "step/lane.h"
#include "step/vehicle_box.h"

static const float fault_standing_mps = DRV_FAULT_STANDING_CMPS / 100.0f;
static const float run_into_mps = DRV_FAULT_CLOSING_CMPS / 100.0f;
static const float lane_change_mps = DRV_FAULT_SIDEWAYS_CMPS / 100.0f;

/* Cosines of 150 and 60 degrees: a vehicle at a larger bearing is behind, at a smaller one in front. */
static const float behind_cos = -0.8660254f, in_front_cos = 0.5f;

static bool stands(const drv_world *world, int32_t vehicle) {
    return fabsf(world->speed_mps[vehicle]) <= fault_standing_mps;
}

static drv_point ahead_of(const drv_world *world, int32_t vehicle) {
    return (drv_point){world->cos_heading[vehicle], world->sin_heading[vehicle]};
}

/* The unit vector from the agent's rear axle to the centre of a vehicle. */
static drv_point direction_to(const drv_world *world, int32_t agent, int32_t vehicle) {
    const drv_point ahead = ahead_of(world, agent);
    const float wheelbase_m = drv_wheelbase_share * world->scene->length_m[agent] * drv_hidden_wheelbase(world, agent);
    const float axle_m = 0.5f * wheelbase_m;
    const float dx = world->x_m[vehicle] - (world->x_m[agent] - axle_m * ahead.x);
    const float dy = world->y_m[vehicle] - (world->y_m[agent] - axle_m * ahead.y);
    const float distance_m = sqrtf(dx * dx + dy * dy);
    return distance_m > 0.0f ? (drv_point){dx / distance_m, dy / distance_m} : ahead;
}

static float bearing_cos(const drv_world *world, int32_t agent, drv_point direction) {
    const drv_point ahead = ahead_of(world, agent);
    return direction.x * ahead.x + direction.y * ahead.y;
}

/* The speed at which the two come nearer, along a unit vector from the agent to the vehicle. */
static float closing_speed(const drv_world *world, int32_t agent, int32_t vehicle, drv_point direction) {
    const drv_point own = ahead_of(world, agent), other = ahead_of(world, vehicle);
    return world->speed_mps[agent] * (own.x * direction.x + own.y * direction.y) -
           world->speed_mps[vehicle] * (other.x * direction.x + other.y * direction.y);
}

/* Whether the agent leaves its lane to a side. */
static bool changes_lanes(const drv_world *world, int32_t agent) {
    return drv_lane_border_crossed(world, agent) &&
           fabsf(world->speed_mps[agent] * world->lane_sin_error[agent]) > lane_change_mps;
}

bool drv_fault_by_bearing(const drv_world *world, int32_t agent, int32_t vehicle) {
    const uint8_t kind = world->scene->kind[vehicle];
    if (stands(world, agent)) return false;
    if (stands(world, vehicle) || kind == DRV_OBJECT_PEDESTRIAN || kind == DRV_OBJECT_CYCLIST) return true;
    const drv_point direction = direction_to(world, agent, vehicle);
    const float bearing = bearing_cos(world, agent, direction);
    if (bearing > in_front_cos && closing_speed(world, agent, vehicle, direction) > run_into_mps) return true;
    return changes_lanes(world, agent); /* behind or at a side */
}

/* Whether the front bumper touched the vehicle in the step: the sweep of the bumper, relative to the vehicle. */
static bool bumper_touches(const drv_world *world, int32_t agent, int32_t vehicle) {
    const drv_scene *scene = world->scene;
    const drv_point ahead = ahead_of(world, agent);
    const float front_m = 0.5f * scene->length_m[agent];
    const drv_point path = {
        world->x_m[agent] - world->previous_x_m[agent] - (world->x_m[vehicle] - world->previous_x_m[vehicle]),
        world->y_m[agent] - world->previous_y_m[agent] - (world->y_m[vehicle] - world->previous_y_m[vehicle])};
    const drv_box bumper = {{world->x_m[agent] + front_m * ahead.x - path.x,
                             world->y_m[agent] + front_m * ahead.y - path.y},
                            ahead, 0.0f, 0.5f * scene->width_m[agent]};
    return drv_swept_boxes_overlap(bumper, path, drv_vehicle_box(world, vehicle));
}

bool drv_fault_by_bumper(const drv_world *world, int32_t agent, int32_t vehicle) {
    if (stands(world, agent)) return false;
    if (stands(world, vehicle)) return true;
    if (bearing_cos(world, agent, direction_to(world, agent, vehicle)) < behind_cos) return false;
    return bumper_touches(world, agent, vehicle) || drv_lane_border_crossed(world, agent) || world->on_road_edge[agent];
}
