/* How do rule-based vehicles move? Along their paths, by the intelligent driver model. */
#include "step/rule_based.h"

#include "math/geometry.h"
#include "step/corridor.h"
#include "step/idm.h"
#include "step/on_map.h"

/* Desired speed at which a path ends to stop there: a speed of 0 would divide by 0. */
static const float least_desired_mps = 0.1f;
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

/* Whether a vehicle follows its path: it has one, has entered and has not left. */
static bool moves(const drv_world *world, int32_t vehicle) {
    return world->present[vehicle] && world->scene->controller[vehicle] == DRV_CONTROLLER_RULE;
}

/* ---- accelerations ---- */

/* The desired speed at a distance ahead of a vehicle. */
static float desired_speed(const drv_world *world, int32_t path, float ahead_m) {
    const drv_paths *paths = &world->scene->paths;
    return between(paths->speed_mps, place_at(paths, path, world->path_m[path] + ahead_m));
}

/* The lowest of the accelerations that each vehicle ahead allows, and that the path allows. */
static float planned_acceleration(const drv_world *world, drv_scratch *scratch, int32_t path, int32_t vehicle) {
    const float speed_mps = world->speed_mps[vehicle], dt_s = world->scene->dt_s;
    const drv_idm driver = drv_idm_default;
    const float desired_mps = drv_larger(least_desired_mps, desired_speed(world, path, 0.0f));
    float lowest_mps2 = drv_idm_acceleration_mps2(driver, speed_mps, desired_mps, INFINITY, 0.0f);

    /* vehicles ahead */
    const drv_corridor corridor = drv_corridor_of(world, path, world->path_m[path], speed_mps);
    const int32_t near = drv_corridor_near(world, &scratch->on_map, vehicle, &corridor, scratch->near);
    for (int32_t i = 0; i < near; i++) {
        drv_lead lead;
        if (!drv_corridor_lead(world, &corridor, scratch->on_map.vehicle[scratch->near[i]], &lead)) continue;
        lowest_mps2 = drv_smaller(lowest_mps2, drv_idm_acceleration_mps2(driver, speed_mps, desired_mps, lead.gap_m,
                                                                         speed_mps - lead.speed_mps));
    }

    /* the speed of the path where the step ends */
    const float allowed_mps = desired_speed(world, path, speed_mps * dt_s);
    lowest_mps2 = drv_smaller(lowest_mps2, (allowed_mps - speed_mps) / dt_s);
    return drv_larger(lowest_mps2, -driver.hardest_braking_mps2);
}

void drv_rule_based_plan(drv_world *world, drv_scratch *scratch) {
    const int32_t first = drv_scene_rule_first(world->scene);
    drv_on_map_list(world, scratch);
    for (int32_t path = 0; path < world->scene->rule_based_count; path++) {
        const int32_t vehicle = first + path;
        world->acceleration_mps2[vehicle] =
            moves(world, vehicle) ? planned_acceleration(world, scratch, path, vehicle) : 0.0f;
    }
}

/* ---- motion ---- */

static void move(drv_world *world, int32_t path, int32_t vehicle) {
    const drv_paths *paths = &world->scene->paths;
    const float dt_s = world->scene->dt_s, length_m = drv_path_length_m(paths, path);
    const float speed_mps = drv_idm_next_speed_mps(world->speed_mps[vehicle], world->acceleration_mps2[vehicle], dt_s);
    world->speed_mps[vehicle] = speed_mps;
    world->path_m[path] = drv_smaller(world->path_m[path] + speed_mps * dt_s, length_m);
    put_on_path(world, path, vehicle);
    const bool stops_there = paths->speed_mps[paths->point_start[path + 1] - 1] == 0.0f;
    if (world->path_m[path] == length_m && !stops_there) world->present[vehicle] = 0;
}

/* Whether no vehicle on the map overlaps the box of one that enters, with a gap ahead of it and behind. */
static bool place_is_free(const drv_world *world, int32_t vehicle) {
    const drv_scene *scene = world->scene;
    const drv_box box = {{world->x_m[vehicle], world->y_m[vehicle]},
                         {world->cos_heading[vehicle], world->sin_heading[vehicle]},
                         0.5f * scene->length_m[vehicle] + entry_gap_m,
                         0.5f * scene->width_m[vehicle]};
    for (int32_t other = 0; other < scene->vehicle_count; other++) {
        if (!world->present[other] || other == vehicle) continue;
        const float dx_m = world->x_m[other] - box.centre.x, dy_m = world->y_m[other] - box.centre.y;
        const float reach_m = scene->radius_m[other] + scene->radius_m[vehicle] + entry_gap_m;
        if (dx_m * dx_m + dy_m * dy_m > reach_m * reach_m) continue;
        const drv_box its = {{world->x_m[other], world->y_m[other]},
                             {world->cos_heading[other], world->sin_heading[other]},
                             0.5f * scene->length_m[other],
                             0.5f * scene->width_m[other]};
        if (drv_boxes_overlap(box, its)) return false;
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
        if (moves(world, first + path)) move(world, path, first + path);
    for (int32_t path = 0; path < scene->rule_based_count; path++) {
        const bool waits = world->path_m[path] < 0.0f && scene->paths.entry_step[path] <= step;
        if (waits && place_is_free(world, first + path)) enter(world, path, first + path);
    }
}

void drv_rule_based_begin(drv_world *world) {
    const drv_paths *paths = &world->scene->paths;
    for (int32_t path = 0; path < paths->count; path++) {
        const int32_t vehicle = drv_scene_rule_first(world->scene) + path;
        const bool has_path = drv_path_points(paths, path) > 0;
        world->present[vehicle] = paths->entry_step[path] == 0;
        world->speed_mps[vehicle] = has_path ? paths->start_speed_mps[path] : 0.0f;
        /* one without a path is where it starts, or never on the map */
        world->path_m[path] = has_path && paths->entry_step[path] > 0 ? -1.0f : 0.0f;
    }
}
