/* Which lane does a rule-based vehicle drive in: that of its path, or one beside it? */
#include "step/lane_change.h"

#include <math.h>

#include "math/geometry.h"
#include "step/corridor.h"
#include "step/height.h"
#include "step/idm.h"
#include "step/mobil.h"
#include "step/path_nearest.h"
#include "step/path_place.h"
#include "step/rule_based.h"

/* Time between two decisions of a vehicle, and the speed below which it does not leave the lane of its path. */
static const float decision_s = 1.0f, slowest_change_mps = 1.0f;
/* By how much a vehicle prefers the lane of its path: it has to be there in the end. */
static const float own_lane_bias_mps2 = 0.3f;
/* A vehicle changes to a lane beside its path if the lane goes on for the distance that it drives in worth_s, at
 * least worth_m. Where less of the lane is left than the distance that it drives in return_s, at least return_m, the
 * vehicle has to return. */
static const float worth_s = 12.0f, worth_m = 80.0f, return_s = 8.0f, return_m = 50.0f;
/* A vehicle considers others up to this much farther than it looks ahead, in front and behind: those behind may be
 * faster. */
static const float beyond_look_ahead_m = 40.0f;
/* A vehicle that has to return stops this far before the end of the lane: it needs the rest to drive to its own. */
static const float back_m = 30.0f;
/* A change is complete, and another one may follow, once the vehicle is this near to the middle of the lane. */
static const float complete_m = 0.3f;
/* A vehicle is in a lane if its lateral gap to one that drives there would be smaller. */
static const float lane_gap_m = 0.3f;
/* The sideways motion is that of a critically damped spring, with the distance driven in place of time. In place of its
 * time constant it has a length: the distance driven in sideways_s, at least sideways_m. A change of 3.5 m then
 * takes 5.5 s in steps of 0.1 s, with 1.8 m/s2 at most, and longer below 5 m/s. */
static const float sideways_s = 1.3f, sideways_m = 6.0f;

/* ---- lanes ---- */

/* The offset of a lane from a path at an arc length: of the path's own lane 0, of the others 0 where there is none. */
static float lane_offset_m(const drv_world *world, int32_t path, int32_t side, float path_m) {
    if (side == 0) return 0.0f;
    const drv_path_place place = drv_path_place_at(&world->scene->paths, path, path_m);
    return world->scene->neighbours.offset_m[side > 0 ? DRV_LEFT : DRV_RIGHT][place.before];
}

/* How far a lane beside a path goes on from a vehicle's place, at most `limit_m`. */
static float lane_length_m(const drv_world *world, int32_t path, int32_t side, float limit_m) {
    const drv_paths *paths = &world->scene->paths;
    const float *offset_m = world->scene->neighbours.offset_m[side > 0 ? DRV_LEFT : DRV_RIGHT];
    const int32_t first = drv_path_place_at(paths, path, world->path_m[path]).before;
    int32_t point = first;
    while (point < paths->point_start[path + 1] && offset_m[point] != 0.0f &&
           (float)(point - first) * drv_path_pitch_m < limit_m)
        point++;
    return (float)(point - first) * drv_path_pitch_m;
}

drv_lateral drv_lateral_of(const drv_world *world, int32_t path) {
    if (!drv_changes_lanes(world)) return (drv_lateral){0.0f, 0.0f, false};
    const float now_m = world->path_offset_m[path];
    const float lane_m = lane_offset_m(world, path, world->path_side[path], world->path_m[path]);
    /* past the end of the lane beside its path, a vehicle keeps its offset until it may return */
    const float target_m = world->path_side[path] != 0 && lane_m == 0.0f ? now_m : lane_m;
    return (drv_lateral){now_m, target_m, fabsf(target_m - now_m) > complete_m};
}

/* ---- the vehicles around ---- */

/* A vehicle in a lane, or none: then at an infinite gap. */
typedef struct lane_vehicle {
    bool exists;
    float gap_m, speed_mps;
} lane_vehicle;

/* The nearest vehicles ahead and behind in a lane. */
typedef struct lane_traffic {
    lane_vehicle ahead, behind;
} lane_traffic;

/* Whether `other` would overlap a vehicle in the lane at `lane_m`, or leave it too small a lateral gap. `other` is
 * `left_m` to the left of the path; while it changes lanes, it also occupies all from there to its new lane. `turn_cos`
 * is the cosine of the angle between its heading and the path. */
static bool is_in_lane(const drv_world *world, int32_t vehicle, int32_t other, float left_m, float turn_cos,
                       float lane_m) {
    const drv_scene *scene = world->scene;
    const int32_t path = other - drv_scene_rule_first(scene);
    float shift_m = 0.0f;
    if (path >= 0 && path < scene->rule_based_count) {
        const drv_lateral lateral = drv_lateral_of(world, path);
        shift_m = lateral.target_m - lateral.now_m;
        if (turn_cos < 0.0f) shift_m = -shift_m; /* the left of an oncoming vehicle is the right of the path */
    }
    const float low_m = drv_smaller(left_m, left_m + shift_m), high_m = drv_larger(left_m, left_m + shift_m);
    const float apart_m = 0.5f * (scene->width_m[vehicle] + scene->width_m[other]) + lane_gap_m;
    return lane_m > low_m - apart_m && lane_m < high_m + apart_m;
}

/* Finds the vehicles ahead of a vehicle and behind it in the lane at `lane_m`, among `near` on the map. */
static lane_traffic traffic_in(const drv_world *world, const drv_scratch *scratch, int32_t path, int32_t vehicle,
                               int32_t near, float reach_m, float lane_m) {
    const drv_scene *scene = world->scene;
    const drv_paths *paths = &scene->paths;
    const drv_point ahead = {world->cos_heading[vehicle], world->sin_heading[vehicle]};
    const int32_t start = paths->point_start[path], last = paths->point_start[path + 1] - 1;
    const int32_t here = drv_path_place_at(paths, path, world->path_m[path]).before;
    const int32_t reach = (int32_t)(reach_m / drv_path_pitch_m) + 1;
    const int32_t low = here - reach > start ? here - reach : start, high = here + reach < last ? here + reach : last;
    lane_traffic found = {{false, INFINITY, 0.0f}, {false, INFINITY, 0.0f}};
    for (int32_t i = 0; i < near; i++) {
        /* its place relative to the path */
        const int32_t other = scratch->on_map.vehicle[scratch->near[i]];
        if (drv_is_apart(world, vehicle, other)) continue;
        const drv_point at = {world->x_m[other], world->y_m[other]};
        const int32_t point = drv_path_nearest(paths, low, high, at, ahead, 0.0f);
        const drv_path_offset there = drv_path_offset_from(paths, point, at);
        const float turn_cos = world->cos_heading[other] * paths->cos_heading[point] +
                               world->sin_heading[other] * paths->sin_heading[point];
        if (!is_in_lane(world, vehicle, other, there.left_m, turn_cos, lane_m)) continue;

        /* its gap and its speed along the path */
        const float along_m = (float)(point - start) * drv_path_pitch_m + there.along_m - world->path_m[path];
        const float gap_m = fabsf(along_m) - 0.5f * (scene->length_m[vehicle] + scene->length_m[other]);
        const lane_vehicle candidate = {true, gap_m, drv_larger(0.0f, world->speed_mps[other] * turn_cos)};
        lane_vehicle *nearest = along_m > 0.0f ? &found.ahead : &found.behind;
        if (candidate.gap_m < nearest->gap_m) *nearest = candidate;
    }
    return found;
}

/* The acceleration of a vehicle behind another one; on a free road where there is none. */
static float behind_mps2(drv_idm driver, float speed_mps, float desired_mps, float gap_m, float lead_mps) {
    return drv_idm_acceleration_mps2(driver, speed_mps, drv_larger(desired_mps, speed_mps), gap_m,
                                     speed_mps - lead_mps);
}

/* What a vehicle between two others does to the one behind: `before` is without it, `after` with it. */
static drv_mobil_effect effect_on_follower(drv_idm driver, lane_traffic of, float speed_mps, float desired_mps,
                                           float length_m) {
    if (!of.behind.exists) return (drv_mobil_effect){0.0f, 0.0f};
    const float to_lead_m = of.behind.gap_m + length_m + of.ahead.gap_m; /* INFINITY where there is none */
    return (drv_mobil_effect){behind_mps2(driver, of.behind.speed_mps, desired_mps, to_lead_m, of.ahead.speed_mps),
                              behind_mps2(driver, of.behind.speed_mps, desired_mps, of.behind.gap_m, speed_mps)};
}

/* ---- decisions ---- */

/* Whether a vehicle changes from its lane to another one. */
static bool changes_to(const drv_world *world, const drv_scratch *scratch, int32_t path, int32_t vehicle, int32_t near,
                       float reach_m, float from_m, float to_m, bool has_to) {
    const lane_traffic left = traffic_in(world, scratch, path, vehicle, near, reach_m, from_m);
    const lane_traffic joined = traffic_in(world, scratch, path, vehicle, near, reach_m, to_m);
    const drv_idm driver = drv_rule_idm(world);
    if (joined.ahead.gap_m < driver.min_gap_m || joined.behind.gap_m < driver.min_gap_m) return false;

    /* the accelerations of the three vehicles */
    const float speed_mps = world->speed_mps[vehicle], length_m = world->scene->length_m[vehicle];
    const float desired_mps = drv_desired_mps(world, path, world->path_m[path]);
    const drv_mobil_effect own = {
        behind_mps2(driver, speed_mps, desired_mps, left.ahead.gap_m, left.ahead.speed_mps),
        behind_mps2(driver, speed_mps, desired_mps, joined.ahead.gap_m, joined.ahead.speed_mps)};
    const drv_mobil_effect new_follower = effect_on_follower(driver, joined, speed_mps, desired_mps, length_m);
    const drv_mobil_effect present = effect_on_follower(driver, left, speed_mps, desired_mps, length_m);
    const drv_mobil_effect old_follower = {present.after_mps2, present.before_mps2};

    /* a vehicle that has to change does so as soon as that is safe, for itself too */
    const drv_config *config = world->config;
    const drv_mobil rule = {config->mobil_politeness, config->mobil_safe_braking_mps2, config->mobil_threshold_mps2};
    if (has_to) return drv_mobil_is_safe(rule, new_follower) && own.after_mps2 >= -rule.safe_braking_mps2;
    return drv_mobil_changes(rule, own, new_follower, old_follower, to_m == 0.0f ? own_lane_bias_mps2 : 0.0f);
}

void drv_lane_change_decide(drv_world *world, drv_scratch *scratch, int32_t path) {
    /* in a step for decisions, and not during a change */
    const int32_t vehicle = drv_scene_rule_first(world->scene) + path;
    const float period = decision_s / world->scene->dt_s, speed_mps = world->speed_mps[vehicle];
    const int32_t steps = period > 1.0f ? (int32_t)(period + 0.5f) : 1;
    const drv_lateral lateral = drv_lateral_of(world, path);
    if ((*world->clock_steps + path) % steps != 0 || lateral.is_changing) return;
    if (world->path_side[path] == 0 && speed_mps < slowest_change_mps) return;

    /* the vehicles near it, on both sides */
    const float reach_m = drv_look_ahead_m(speed_mps);
    const drv_corridor corridor =
        drv_corridor_of(world, &world->scene->paths, path, world->path_m[path], vehicle, reach_m);
    const int32_t near =
        drv_corridor_near(world, &scratch->on_map, vehicle, &corridor, beyond_look_ahead_m, scratch->near);

    /* back to the lane of the path, or from it to the left and, if not there, to the right */
    int32_t *side = &world->path_side[path];
    const float all_m = reach_m + beyond_look_ahead_m;
    if (*side != 0) {
        const float left_m = drv_larger(return_m, return_s * speed_mps);
        const bool has_to = lane_length_m(world, path, *side, left_m) < left_m;
        if (changes_to(world, scratch, path, vehicle, near, all_m, lateral.now_m, 0.0f, has_to)) *side = 0;
        return;
    }
    const float needed_m = drv_larger(worth_m, worth_s * speed_mps);
    for (int32_t to = 1; *side == 0 && to >= -1; to -= 2)
        if (lane_length_m(world, path, to, needed_m) >= needed_m &&
            changes_to(world, scratch, path, vehicle, near, all_m, lateral.now_m,
                       lane_offset_m(world, path, to, world->path_m[path]), false))
            *side = to;
}

/* ---- motion ---- */

void drv_lane_change_reset(drv_world *world, int32_t path) {
    world->path_side[path] = 0;
    world->path_offset_m[path] = world->path_offset_slope[path] = 0.0f;
}

void drv_lane_change_begin(drv_world *world) {
    for (int32_t path = 0; path < world->sizes.lane_changers; path++) drv_lane_change_reset(world, path);
}

float drv_lane_change_end_m(const drv_world *world, int32_t path) {
    if (!drv_changes_lanes(world) || world->path_side[path] == 0) return INFINITY;
    const int32_t vehicle = drv_scene_rule_first(world->scene) + path;
    const float limit_m = drv_look_ahead_m(world->speed_mps[vehicle]) + back_m;
    const float length_m = lane_length_m(world, path, world->path_side[path], limit_m);
    return length_m < limit_m ? length_m - back_m : INFINITY;
}

void drv_lane_change_move(drv_world *world, int32_t path, float driven_m) {
    /* the spring, by an implicit step, which is stable for every distance */
    const int32_t vehicle = drv_scene_rule_first(world->scene) + path;
    const drv_lateral lateral = drv_lateral_of(world, path);
    const float stiffness_per_m = 1.0f / drv_larger(sideways_m, sideways_s * world->speed_mps[vehicle]);
    const float ratio = 1.0f + stiffness_per_m * driven_m;
    const float pull = stiffness_per_m * stiffness_per_m * driven_m * (lateral.target_m - lateral.now_m);
    const float slope = (world->path_offset_slope[path] + pull) / (ratio * ratio);
    world->path_offset_slope[path] = slope;
    world->path_offset_m[path] = lateral.now_m + slope * driven_m;
}
