/* How do rule-based vehicles move? Along their paths, by the intelligent driver model. */
#include "step/rule_based.h"

#include "math/geometry.h"
#include "step/corridor.h"
#include "step/following.h"
#include "step/hand_back.h"
#include "step/height.h"
#include "step/lane_change.h"
#include "step/on_map.h"
#include "step/path_place.h"
#include "step/right_of_way.h"
#include "step/stopping.h"
#include "step/vehicle_box.h"

/* Free length ahead of and behind a vehicle that enters the map. */
static const float entry_gap_m = 3.0f;

static void put_on_path(drv_world *world, int32_t path, int32_t vehicle) {
    const drv_paths *paths = &world->scene->paths;
    const drv_path_place place = drv_path_place_at(paths, path, world->path_m[path]);
    const float turn_rad = drv_wrap_angle(paths->heading_rad[place.after] - paths->heading_rad[place.before]);
    const float heading_rad = drv_wrap_angle(paths->heading_rad[place.before] + place.share * turn_rad);
    const drv_point ahead = drv_direction(heading_rad);
    world->x_m[vehicle] = drv_between(paths->x_m, place);
    world->y_m[vehicle] = drv_between(paths->y_m, place);
    if (paths->z_m) world->z_m[vehicle] = drv_between(paths->z_m, place);
    world->heading_rad[vehicle] = heading_rad;
    world->cos_heading[vehicle] = ahead.x;
    world->sin_heading[vehicle] = ahead.y;
}

/* Moves a vehicle from its path to its lateral offset, and turns it to the direction in which it moves. */
static void put_beside_path(drv_world *world, int32_t path, int32_t vehicle) {
    const float left_m = world->path_offset_m[path];
    if (left_m == 0.0f) return;
    world->x_m[vehicle] -= left_m * world->sin_heading[vehicle];
    world->y_m[vehicle] += left_m * world->cos_heading[vehicle];
    const float turn_rad = drv_arc_tangent(world->path_offset_slope[path]);
    const float heading_rad = drv_wrap_angle(world->heading_rad[vehicle] + turn_rad);
    const drv_point ahead = drv_direction(heading_rad);
    world->heading_rad[vehicle] = heading_rad;
    world->cos_heading[vehicle] = ahead.x;
    world->sin_heading[vehicle] = ahead.y;
}

/* ---- accelerations ---- */

/* What the plans of all vehicles in a step have in common. */
typedef struct surroundings {
    int32_t claims;   /* entries of scratch->claims */
    float forecast_m; /* the longest forecast of a vehicle that follows no known path */
} surroundings;

/* A rule-based vehicle in the step that is planned. */
typedef struct plan {
    drv_follower follower;
    int32_t path, vehicle;
    int32_t zone;            /* the zone near it; -1 if there is none */
    float zone_gap_m;        /* to its start */
    bool exit_is_free;       /* there is room beyond the zone for the vehicle */
    bool exit_is_blocked;    /* something stands there */
} plan;

/* Keeps the gaps to all vehicles ahead, `left_m` to the left of the path, and to those that cross it there. */
static void react_to_vehicles(const drv_world *world, drv_scratch *scratch, surroundings around, float left_m,
                              plan *own) {
    /* the corridor: as far as the vehicle looks ahead, and as far as needed to decide whether it can leave the zone */
    drv_follower *follower = &own->follower;
    const int32_t rule_first = drv_scene_rule_first(world->scene);
    const int32_t rule_end = rule_first + world->scene->rule_based_count;
    float room_m = 0.0f; /* from the front to where its rear would be beyond the zone, and a gap ahead */
    if (own->zone >= 0)
        room_m = own->zone_gap_m + world->scene->zones.leave_m[own->zone] - drv_zone_start_m(world, own->zone) +
                 follower->length_m + follower->driver.min_gap_m;
    const float length_m = drv_larger(drv_look_ahead_m(follower->speed_mps), room_m + 0.5f * follower->length_m);
    drv_corridor corridor = drv_corridor_of(world, &world->scene->paths, own->path, world->path_m[own->path],
                                            own->vehicle, length_m);
    corridor.left_m = left_m;

    /* the vehicles near it */
    const int32_t near = drv_corridor_candidates(world, scratch, own->vehicle, &corridor, around.forecast_m);
    for (int32_t i = 0; i < near; i++) {
        const int32_t other = scratch->on_map.vehicle[scratch->near[i]];
        drv_lead lead;
        drv_crossing crossing;
        if (drv_corridor_lead(world, &corridor, other, &lead)) {
            drv_keep_gap(follower, lead.gap_m, lead.speed_mps);
            const float stopping_m = lead.speed_mps * lead.speed_mps / (2.0f * follower->driver.braking_mps2);
            if (lead.gap_m + stopping_m < room_m) {
                own->exit_is_free = false;
                own->exit_is_blocked |= fabsf(world->speed_mps[other]) < drv_rests_below_mps;
            }
        } else if ((other < rule_first || other >= rule_end) &&
                   drv_corridor_crossing(world, &corridor, other, &crossing) && drv_yields_to(follower, &crossing)) {
            drv_keep_gap(follower, crossing.gap_m, 0.0f);
        }
    }
}

/* Stops at the start of a zone that another vehicle enters first, or beyond which there is no room. A vehicle that
 * could not go on gives its turn to those that can. */
static void give_way(drv_world *world, const drv_scratch *scratch, int32_t claims, plan *own) {
    drv_follower *follower = &own->follower;
    const float speed_mps = follower->speed_mps;
    const bool stands = speed_mps < drv_rests_below_mps;
    /* farther away, the vehicle ahead may still make room */
    const bool is_full = !own->exit_is_free && drv_can_stop(follower, own->zone_gap_m) &&
                         own->zone_gap_m <= drv_decides_m(follower);
    const bool is_held = is_full || (stands && follower->acceleration_mps2 <= 0.0f);
    /* at a sign it keeps its turn while others pass */
    const bool loses_turn = drv_zone_yields(world, own->zone) ? own->exit_is_blocked : is_held;
    if (loses_turn && stands) world->arrival_step[own->path] = *world->clock_steps;
    if (is_held || drv_has_to_wait(world, scratch->claims, claims, own->path, own->zone))
        drv_keep_gap(follower, own->zone_gap_m, 0.0f);
}

/* The lowest of the accelerations that other vehicles and the path allow. */
static float planned_acceleration(drv_world *world, drv_scratch *scratch, surroundings around, int32_t path,
                                  int32_t vehicle) {
    const float speed_mps = world->speed_mps[vehicle], dt_s = world->scene->dt_s, path_m = world->path_m[path];
    const float length_m = world->scene->length_m[vehicle], desired_mps = drv_desired_mps(world, path, path_m);
    plan own = {.follower = drv_follower_of(drv_rule_idm(world), speed_mps, desired_mps, length_m),
                .path = path, .vehicle = vehicle,
                .zone = world->arrival_step[path] >= 0 ? drv_zone_ahead(world, path) : -1, .exit_is_free = true};
    if (own.zone >= 0) own.zone_gap_m = drv_zone_gap_m(world, path, own.zone);
    const drv_lateral lateral = drv_lateral_of(world, path);
    react_to_vehicles(world, scratch, around, lateral.now_m, &own);
    if (lateral.is_changing) react_to_vehicles(world, scratch, around, lateral.target_m, &own);
    if (own.zone >= 0) give_way(world, scratch, around.claims, &own);
    const float stop_m = drv_stop_m(world, scratch, path);
    if (stop_m < INFINITY) drv_keep_gap(&own.follower, stop_m - path_m - 0.5f * length_m, 0.0f);
    const float end_m = drv_lane_change_end_m(world, path);
    if (end_m < INFINITY) drv_keep_gap(&own.follower, end_m - 0.5f * length_m, 0.0f);
    return drv_bounded_acceleration(&own.follower, drv_desired_mps(world, path, path_m + speed_mps * dt_s), dt_s);
}

/* Whether a vehicle is on its path, and not handed back to its log. */
static bool follows_rules(const drv_world *world, int32_t vehicle) {
    return drv_follows_path(world, vehicle) && !drv_is_handed_back(world, vehicle);
}

void drv_rule_based_plan(drv_world *world, drv_scratch *scratch) {
    const int32_t first = drv_scene_rule_first(world->scene);
    drv_on_map_list(world, scratch);
    drv_corridor_forecast(world, scratch);
    drv_stopping_update(world, scratch);
    /* agents and log-replay vehicles, which follow no known path, are before the rule-based ones; static ones stand */
    const float forecast_m = drv_longest_forecast_m(world, first);
    const surroundings around = {drv_claims_update(world, scratch), forecast_m};
    if (drv_hands_back(world)) drv_hand_back_decide(world, scratch);
    for (int32_t path = 0; drv_changes_lanes(world) && path < world->scene->rule_based_count; path++)
        if (follows_rules(world, first + path)) drv_lane_change_decide(world, scratch, path);
    for (int32_t path = 0; path < world->scene->rule_based_count; path++) {
        const int32_t vehicle = first + path;
        world->acceleration_mps2[vehicle] =
            follows_rules(world, vehicle) ? planned_acceleration(world, scratch, around, path, vehicle) : 0.0f;
    }
}

/* ---- motion ---- */

static void move(drv_world *world, int32_t path, int32_t vehicle) {
    const drv_paths *paths = &world->scene->paths;
    const float dt_s = world->scene->dt_s, length_m = drv_path_length_m(paths, path);
    const float speed_mps = drv_idm_next_speed_mps(world->speed_mps[vehicle], world->acceleration_mps2[vehicle], dt_s);
    world->speed_mps[vehicle] = speed_mps;
    const int32_t zone = drv_zone_ahead(world, path);
    world->path_m[path] = drv_smaller(world->path_m[path] + speed_mps * dt_s, length_m);
    if (drv_changes_lanes(world)) drv_lane_change_move(world, path, speed_mps * dt_s);
    if (drv_zone_ahead(world, path) != zone) world->arrival_step[path] = -1; /* it is inside now */
    put_on_path(world, path, vehicle);
    if (drv_changes_lanes(world)) put_beside_path(world, path, vehicle);
    const bool stops_there = paths->speed_mps[paths->point_start[path + 1] - 1] == 0.0f;
    if (world->path_m[path] == length_m && !stops_there) world->present[vehicle] = 0;
}

/* The distance that a vehicle needs to brake comfortably to the speed of another one along its heading. */
static float braking_distance_m(const drv_world *world, int32_t vehicle, int32_t other) {
    const float turn_cos = world->cos_heading[other] * world->cos_heading[vehicle] +
                           world->sin_heading[other] * world->sin_heading[vehicle];
    const float speed_mps = world->speed_mps[vehicle];
    const float lead_mps = drv_larger(0.0f, world->speed_mps[other] * turn_cos);
    return drv_larger(0.0f, speed_mps * speed_mps - lead_mps * lead_mps) / (2.0f * world->config->idm_braking_mps2);
}

/* Whether a vehicle that enters the map in this step is at its log, to which it may be handed back. */
static bool enters_at_log(const drv_world *world, int32_t path) {
    return drv_hands_back(world) && world->scene->paths.entry_step[path] == *world->clock_steps + 1;
}

/* Whether a vehicle may enter the map: no other one overlaps its box, lengthened at both ends by a gap and ahead also
 * by the distance that it needs to brake. At its log, only those matter that may be elsewhere than in the log. */
static bool place_is_free(const drv_world *world, int32_t vehicle, bool is_at_log) {
    const drv_scene *scene = world->scene;
    const drv_box own = drv_vehicle_box(world, vehicle);
    for (int32_t other = 0; other < scene->vehicle_count; other++) {
        if (!world->present[other] || other == vehicle || drv_is_apart(world, vehicle, other)) continue;
        if (is_at_log && world->controller[other] != DRV_CONTROLLER_AGENT &&
            world->controller[other] != DRV_CONTROLLER_RULE)
            continue;
        const float braking_m = braking_distance_m(world, vehicle, other);
        const float dx_m = world->x_m[other] - own.centre.x, dy_m = world->y_m[other] - own.centre.y;
        const float reach_m = scene->radius_m[other] + scene->radius_m[vehicle] + entry_gap_m + braking_m;
        if (dx_m * dx_m + dy_m * dy_m > reach_m * reach_m) continue;
        const drv_box needed = {{own.centre.x + 0.5f * braking_m * own.ahead.x,
                                 own.centre.y + 0.5f * braking_m * own.ahead.y},
                                own.ahead,
                                own.half_length_m + entry_gap_m + 0.5f * braking_m,
                                own.half_width_m};
        if (drv_boxes_overlap(needed, drv_vehicle_box(world, other))) return false;
    }
    return true;
}

static void enter(drv_world *world, int32_t path, int32_t vehicle, bool is_at_log) {
    world->controller[vehicle] = is_at_log ? DRV_CONTROLLER_LOG : DRV_CONTROLLER_RULE;
    world->path_m[path] = 0.0f;
    world->present[vehicle] = 1;
}

void drv_rule_based_move(drv_world *world) {
    const drv_scene *scene = world->scene;
    const int32_t first = drv_scene_rule_first(scene), step = *world->clock_steps + 1;
    for (int32_t path = 0; path < scene->rule_based_count; path++) {
        if (!drv_follows_path(world, first + path)) continue;
        if (drv_is_handed_back(world, first + path)) drv_hand_back_move(world, path);
        else move(world, path, first + path);
    }
    for (int32_t path = 0; path < scene->rule_based_count; path++) {
        const bool waits = world->path_m[path] < 0.0f && scene->paths.entry_step[path] <= step;
        const bool is_at_log = enters_at_log(world, path);
        if (waits && place_is_free(world, first + path, is_at_log)) enter(world, path, first + path, is_at_log);
    }
}

/* A vehicle that shall drive slower than its log also begins so, else it would brake hard at once. One that is handed
 * back to its log begins with the speed that it has there. */
static float start_speed_mps(const drv_world *world, int32_t path) {
    const float factor = drv_hands_back(world) ? 1.0f : drv_smaller(1.0f, world->config->idm_speed_factor);
    return factor * world->scene->paths.start_speed_mps[path];
}

void drv_rule_based_begin(drv_world *world) {
    const drv_paths *paths = &world->scene->paths;
    for (int32_t path = 0; path < world->sizes.rule_based; path++) {
        world->path_m[path] = 0.0f;
        world->arrival_step[path] = -1;
    }
    for (int32_t path = 0; path < world->sizes.controlled_vehicles; path++) world->sign_steps[path] = 0;
    drv_lane_change_begin(world);
    for (int32_t path = 0; path < paths->count; path++) {
        const int32_t vehicle = drv_scene_rule_first(world->scene) + path;
        const bool has_path = drv_path_points(paths, path) > 0;
        world->present[vehicle] = paths->entry_step[path] == 0;
        world->speed_mps[vehicle] = has_path ? start_speed_mps(world, path) : 0.0f;
        /* one without a path is where it starts, or never on the map */
        if (has_path && paths->entry_step[path] > 0) world->path_m[path] = -1.0f;
    }
}
