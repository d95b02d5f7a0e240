/* How do rule-based vehicles move? Along their paths, by the intelligent driver model. */
#include "step/rule_based.h"

#include "math/geometry.h"
#include "step/corridor.h"
#include "step/idm.h"
#include "step/on_map.h"
#include "step/right_of_way.h"
#include "step/stopping.h"
#include "step/vehicle_box.h"

/* Desired speed at which a path ends to stop there: a speed of 0 would divide by 0. */
static const float min_desired_mps = 0.1f;
/* Deceleration beyond which a vehicle does not stop for one that crosses its path, since that may brake as well. */
static const float yielding_mps2 = 4.0f;
/* Distance from a zone, beyond that for comfortable braking, at which a vehicle decides whether to enter it. */
static const float decision_margin_m = 2.0f;
/* Free length ahead of and behind a vehicle that enters the map. */
static const float entry_gap_m = 3.0f;

/* ---- places on a path ---- */

/* A place between two neighbouring points of a path. */
typedef struct path_place {
    int32_t before, after;
    float share; /* of the second point */
} path_place;

static path_place place_at(const drv_paths *paths, int32_t path, float path_m) {
    const int32_t last = drv_path_points(paths, path) - 1;
    const float pitches = path_m / drv_path_pitch_m;
    int32_t before = (int32_t)pitches;
    if (before > last - 1) before = last - 1;
    const int32_t first = paths->point_start[path];
    return (path_place){first + before, first + before + 1, drv_smaller(pitches - (float)before, 1.0f)};
}

static float between(const float *values, path_place place) {
    return values[place.before] + place.share * (values[place.after] - values[place.before]);
}

static void put_on_path(drv_world *world, int32_t path, int32_t vehicle) {
    const drv_paths *paths = &world->scene->paths;
    const path_place place = place_at(paths, path, world->path_m[path]);
    const float turn_rad = drv_wrap_angle(paths->heading_rad[place.after] - paths->heading_rad[place.before]);
    const float heading_rad = drv_wrap_angle(paths->heading_rad[place.before] + place.share * turn_rad);
    const drv_point ahead = drv_direction(heading_rad);
    world->x_m[vehicle] = between(paths->x_m, place);
    world->y_m[vehicle] = between(paths->y_m, place);
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

/* Agents and log-replay vehicles, which follow no known path, are before the rule-based vehicles; static ones stand. */
static float longest_forecast_m(const drv_world *world) {
    float fastest_mps = 0.0f;
    for (int32_t vehicle = 0; vehicle < drv_scene_rule_first(world->scene); vehicle++)
        if (world->present[vehicle]) fastest_mps = drv_larger(fastest_mps, world->speed_mps[vehicle]);
    return drv_forecast_m(fastest_mps);
}

/* The desired speed at a distance ahead of a vehicle. */
static float desired_speed(const drv_world *world, int32_t path, float ahead_m) {
    const drv_paths *paths = &world->scene->paths;
    return between(paths->speed_mps, place_at(paths, path, world->path_m[path] + ahead_m));
}

/* The time in which a vehicle drives a distance at full acceleration. */
static float time_s(float speed_mps, float distance_m) {
    const float acceleration_mps2 = drv_idm_default.acceleration_mps2;
    const float root = sqrtf(speed_mps * speed_mps + 2.0f * acceleration_mps2 * drv_larger(0.0f, distance_m));
    return (root - speed_mps) / acceleration_mps2;
}

/* Whether a vehicle waits for one that crosses its path: the other comes before it has passed, and it comes before the
 * other has. */
static bool yields_to(const drv_crossing *crossing, float speed_mps, float length_m) {
    return speed_mps * speed_mps <= 2.0f * yielding_mps2 * crossing->gap_m &&
           time_s(speed_mps, crossing->gap_m) < crossing->leave_s &&
           time_s(speed_mps, crossing->gap_m + length_m) > crossing->arrive_s;
}

/* A rule-based vehicle in the step that is planned. */
typedef struct plan {
    int32_t path, vehicle;
    float speed_mps, desired_mps, length_m;
    int32_t zone;            /* the zone near it; -1 if there is none */
    float zone_gap_m;        /* to its start */
    float acceleration_mps2; /* the lowest yet */
    bool exit_is_free;       /* there is room for the vehicle behind the zone */
    bool exit_is_blocked;    /* something stands there */
} plan;

/* Lowers the acceleration of a plan to what keeps a gap to something ahead. */
static void keep_gap(plan *own, float gap_m, float lead_mps) {
    const float allowed_mps2 = drv_idm_acceleration_mps2(drv_idm_default, own->speed_mps, own->desired_mps, gap_m,
                                                         own->speed_mps - lead_mps);
    own->acceleration_mps2 = drv_smaller(own->acceleration_mps2, allowed_mps2);
}

/* Keeps the gaps to all vehicles ahead and to those that cross the path. */
static void react_to_vehicles(const drv_world *world, drv_scratch *scratch, surroundings around, plan *own) {
    const int32_t rule_first = drv_scene_rule_first(world->scene);
    const int32_t rule_end = rule_first + world->scene->rule_based_count;
    float room_m = 0.0f; /* from the front to where its rear would be behind the zone, and a gap ahead */
    if (own->zone >= 0)
        room_m = own->zone_gap_m + world->scene->zones.leave_m[own->zone] - drv_zone_start_m(world, own->zone) +
                 own->length_m + drv_idm_default.min_gap_m;
    const drv_corridor corridor =
        drv_corridor_of(world, own->path, drv_larger(drv_look_ahead_m(own->speed_mps), room_m + 0.5f * own->length_m));
    const int32_t near =
        drv_corridor_near(world, &scratch->on_map, own->vehicle, &corridor, around.forecast_m, scratch->near);
    for (int32_t i = 0; i < near; i++) {
        const int32_t other = scratch->on_map.vehicle[scratch->near[i]];
        drv_lead lead;
        drv_crossing crossing;
        if (drv_corridor_lead(world, &corridor, other, &lead)) {
            keep_gap(own, lead.gap_m, lead.speed_mps);
            const float stopping_m = lead.speed_mps * lead.speed_mps / (2.0f * drv_idm_default.braking_mps2);
            if (lead.gap_m + stopping_m < room_m) {
                own->exit_is_free = false;
                own->exit_is_blocked |= fabsf(world->speed_mps[other]) < drv_rests_below_mps;
            }
        } else if ((other < rule_first || other >= rule_end) &&
                   drv_corridor_crossing(world, &corridor, other, &crossing) &&
                   yields_to(&crossing, own->speed_mps, own->length_m)) {
            keep_gap(own, crossing.gap_m, 0.0f);
        }
    }
}

/* Stops at the start of a zone that another vehicle enters first, or behind which there is no room. A vehicle that
 * could not go on gives its turn to those that can. */
static void give_way(drv_world *world, const drv_scratch *scratch, int32_t claims, plan *own) {
    const bool can_stop = own->speed_mps * own->speed_mps <= 2.0f * yielding_mps2 * own->zone_gap_m;
    const bool stands = own->speed_mps < drv_rests_below_mps;
    /* farther away, the vehicle ahead may still make room */
    const float decides_m = decision_margin_m + own->speed_mps * own->speed_mps / (2.0f * drv_idm_default.braking_mps2);
    const bool is_full = !own->exit_is_free && can_stop && own->zone_gap_m <= decides_m;
    const bool is_held = is_full || (stands && own->acceleration_mps2 <= 0.0f);
    /* at a sign it keeps its turn while others pass */
    const bool loses_turn = drv_zone_yields(world, own->zone) ? own->exit_is_blocked : is_held;
    if (loses_turn && stands) world->arrival_step[own->path] = *world->clock_steps;
    if (is_held || drv_has_to_wait(world, scratch->claims, claims, own->path, own->zone))
        keep_gap(own, own->zone_gap_m, 0.0f);
}

/* The lowest of the accelerations that other vehicles and the path allow. */
static float planned_acceleration(drv_world *world, drv_scratch *scratch, surroundings around, int32_t path,
                                  int32_t vehicle) {
    const float speed_mps = world->speed_mps[vehicle], dt_s = world->scene->dt_s;
    plan own = {.path = path, .vehicle = vehicle, .speed_mps = speed_mps, .length_m = world->scene->length_m[vehicle],
               .desired_mps = drv_larger(min_desired_mps, desired_speed(world, path, 0.0f)),
               .zone = world->arrival_step[path] >= 0 ? drv_zone_ahead(world, path) : -1, .exit_is_free = true};
    if (own.zone >= 0) own.zone_gap_m = drv_zone_gap_m(world, path, own.zone);
    own.acceleration_mps2 = drv_idm_acceleration_mps2(drv_idm_default, speed_mps, own.desired_mps, INFINITY, 0.0f);
    react_to_vehicles(world, scratch, around, &own);
    if (own.zone >= 0) give_way(world, scratch, around.claims, &own);
    const float stop_m = drv_stop_m(world, scratch, path);
    if (stop_m < INFINITY) keep_gap(&own, stop_m - world->path_m[path] - 0.5f * own.length_m, 0.0f);

    /* the speed of the path where the step ends */
    const float allowed_mps = desired_speed(world, path, speed_mps * dt_s);
    const float lowest_mps2 = drv_smaller(own.acceleration_mps2, (allowed_mps - speed_mps) / dt_s);
    return drv_larger(lowest_mps2, -drv_idm_default.hardest_braking_mps2);
}

void drv_rule_based_plan(drv_world *world, drv_scratch *scratch) {
    const int32_t first = drv_scene_rule_first(world->scene);
    drv_on_map_list(world, scratch);
    drv_stopping_update(world, scratch);
    const surroundings around = {drv_claims_update(world, scratch), longest_forecast_m(world)};
    for (int32_t path = 0; path < world->scene->rule_based_count; path++) {
        const int32_t vehicle = first + path;
        world->acceleration_mps2[vehicle] =
            drv_follows_path(world, vehicle) ? planned_acceleration(world, scratch, around, path, vehicle) : 0.0f;
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
    if (drv_zone_ahead(world, path) != zone) world->arrival_step[path] = -1; /* it is inside now */
    put_on_path(world, path, vehicle);
    const bool stops_there = paths->speed_mps[paths->point_start[path + 1] - 1] == 0.0f;
    if (world->path_m[path] == length_m && !stops_there) world->present[vehicle] = 0;
}

/* The distance that a vehicle needs to brake comfortably to the speed of another one along its heading. */
static float braking_distance_m(const drv_world *world, int32_t vehicle, int32_t other) {
    const float turn_cos = world->cos_heading[other] * world->cos_heading[vehicle] +
                           world->sin_heading[other] * world->sin_heading[vehicle];
    const float speed_mps = world->speed_mps[vehicle];
    const float lead_mps = drv_larger(0.0f, world->speed_mps[other] * turn_cos);
    return drv_larger(0.0f, speed_mps * speed_mps - lead_mps * lead_mps) / (2.0f * drv_idm_default.braking_mps2);
}

/* Whether a vehicle may enter the map: no vehicle there overlaps its box, with a gap ahead of it and behind, and with
 * what it needs to brake ahead of it. */
static bool place_is_free(const drv_world *world, int32_t vehicle) {
    const drv_scene *scene = world->scene;
    const drv_box own = drv_vehicle_box(world, vehicle);
    for (int32_t other = 0; other < scene->vehicle_count; other++) {
        if (!world->present[other] || other == vehicle) continue;
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

static void enter(drv_world *world, int32_t path, int32_t vehicle) {
    world->path_m[path] = 0.0f;
    world->present[vehicle] = 1;
}

void drv_rule_based_move(drv_world *world) {
    const drv_scene *scene = world->scene;
    const int32_t first = drv_scene_rule_first(scene), step = *world->clock_steps + 1;
    for (int32_t path = 0; path < scene->rule_based_count; path++)
        if (drv_follows_path(world, first + path)) move(world, path, first + path);
    for (int32_t path = 0; path < scene->rule_based_count; path++) {
        const bool waits = world->path_m[path] < 0.0f && scene->paths.entry_step[path] <= step;
        if (waits && place_is_free(world, first + path)) enter(world, path, first + path);
    }
}

void drv_rule_based_begin(drv_world *world) {
    const drv_paths *paths = &world->scene->paths;
    for (int32_t path = 0; path < world->sizes.rule_based; path++) {
        world->path_m[path] = 0.0f;
        world->arrival_step[path] = -1;
    }
    for (int32_t path = 0; path < world->sizes.controlled_vehicles; path++) world->sign_steps[path] = 0;
    for (int32_t path = 0; path < paths->count; path++) {
        const int32_t vehicle = drv_scene_rule_first(world->scene) + path;
        const bool has_path = drv_path_points(paths, path) > 0;
        world->present[vehicle] = paths->entry_step[path] == 0;
        world->speed_mps[vehicle] = has_path ? paths->start_speed_mps[path] : 0.0f;
        /* one without a path is where it starts, or never on the map */
        if (has_path && paths->entry_step[path] > 0) world->path_m[path] = -1.0f;
    }
}
