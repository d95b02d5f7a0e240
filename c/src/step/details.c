/* What do the detailed metrics need of a trial? Counts and extremes over its steps. */
#include "step/details.h"

#include <math.h>

#include "math/geometry.h"
#include "step/fault.h"
#include "step/goals.h"
#include "step/lane.h"
#include "step/phases.h"
#include "step/proximity.h"
#include "step/stopping.h"

/* The gap of an agent that nothing came near in a trial. */
static const float farthest_gap_m = DRV_FARTHEST_GAP_M;

/* Braking harder than this is hard braking: the comfort limit, which the default vehicle model can exceed. */
static const float hard_braking_mps2 = 3.0f;

float drv_details_to_goal(const drv_world *world, int32_t agent) {
    const float dx = world->goal_x_m[agent] - world->x_m[agent], dy = world->goal_y_m[agent] - world->y_m[agent];
    return sqrtf(dx * dx + dy * dy);
}

float drv_details_progress(const drv_world *world, int32_t agent, float left_m) {
    const float whole_m = world->start_to_goal_m[agent];
    const int32_t goals = drv_goals_total(world, agent), reached = goals > 0 ? world->goals_reached[agent] : 0;
    if (goals > 0 ? reached >= goals : world->had_goal[agent]) return 1.0f;
    const float share = whole_m > 0.0f ? drv_larger(1.0f - left_m / whole_m, 0.0f) : 0.0f;
    return goals > 0 ? ((float)reached + share) / (float)goals : share;
}

void drv_details_advance(drv_world *world, int32_t agent) {
    if (world->sizes.detailed_agents == 0 || drv_goals_total(world, agent) == 0) return;
    world->start_to_goal_m[agent] = world->min_to_goal_m[agent] = drv_details_to_goal(world, agent);
}

void drv_details_begin(drv_world *world) {
    for (int32_t agent = 0; agent < world->sizes.detailed_agents; agent++) {
        world->start_to_goal_m[agent] = world->min_to_goal_m[agent] = drv_details_to_goal(world, agent);
        world->lane_steps[agent] = world->wrong_way_steps[agent] = world->over_speed_steps[agent] = 0;
        world->lane_offset_sum_m[agent] = 0.0f;
        world->min_gap_m[agent] = farthest_gap_m;
        world->min_time_to_collision_s[agent] = drv_collision_horizon_s;
        world->max_jerk_mps3[agent] = 0.0f;
        world->hard_brakings[agent] = world->infractions[agent] = 0;
        world->brakes_hard[agent] = world->had_fault_by_bearing[agent] = world->had_fault_by_bumper[agent] = 0;
    }
}

static void add_lane(drv_world *world, int32_t agent) {
    world->lane_steps[agent] += world->lane[agent] >= 0;
    world->lane_offset_sum_m[agent] += fabsf(world->lane_offset_m[agent]);
    world->wrong_way_steps[agent] += world->speed_mps[agent] * world->lane_cos_error[agent] < 0.0f;
    world->over_speed_steps[agent] += drv_lane_over_speed(world, agent) > 0.0f;
}

static void add_comfort(drv_world *world, int32_t agent) {
    const float acceleration_mps2 = world->acceleration_mps2[agent];
    const float braking_mps2 = world->speed_mps[agent] < 0.0f ? acceleration_mps2 : -acceleration_mps2;
    const bool brakes_hard = braking_mps2 > hard_braking_mps2;
    world->max_jerk_mps3[agent] = drv_larger(world->max_jerk_mps3[agent], world->jerk_mps3[agent]);
    world->hard_brakings[agent] += brakes_hard && !world->brakes_hard[agent];
    world->brakes_hard[agent] = brakes_hard;
}

/* The infractions that begin in this step. */
static int32_t infractions_of(const drv_world *world, int32_t agent) {
    const bool has_controls = drv_has_traffic_controls(world);
    const int32_t violations = has_controls ? world->red_light_onset[agent] + world->stop_sign_onset[agent] : 0;
    return world->collision_onset[agent] + world->offroad_onset[agent] + violations;
}

static void add_safety(drv_world *world, int32_t agent, const drv_scratch *scratch) {
    const bool collides = world->collision_onset[agent];
    const int32_t vehicle = world->collision_vehicle[agent];
    world->min_time_to_collision_s[agent] =
        drv_smaller(world->min_time_to_collision_s[agent], world->time_to_collision_s[agent]);
    /* a collision is a gap of 0, also where the boxes are apart again at the end of the step */
    world->min_gap_m[agent] = collides ? 0.0f : drv_proximity_gap(world, agent, scratch, world->min_gap_m[agent]);
    world->infractions[agent] += infractions_of(world, agent);
    if (!collides) return;
    world->had_fault_by_bearing[agent] |= drv_fault_by_bearing(world, agent, vehicle);
    world->had_fault_by_bumper[agent] |= drv_fault_by_bumper(world, agent, vehicle);
}

void drv_details_add(drv_world *world, drv_scratch *scratch) {
    for (int32_t agent = 0; agent < world->sizes.detailed_agents; agent++) {
        if (world->status[agent] != DRV_DRIVING) continue;
        world->min_to_goal_m[agent] = drv_smaller(world->min_to_goal_m[agent], drv_details_to_goal(world, agent));
        add_lane(world, agent);
        add_comfort(world, agent);
        add_safety(world, agent, scratch);
    }
}
