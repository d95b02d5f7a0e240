/* Which rule-based vehicles are handed back to their logs? */
#include "step/hand_back.h"

#include <math.h>

#include "step/corridor.h"
#include "step/following.h"
#include "step/lane_change.h"
#include "step/log_pose.h"
#include "step/path_nearest.h"
#include "step/right_of_way.h"
#include "step/rule_based.h"

/* A vehicle is at its log if its position differs from the logged one by at most idm_handback_m, its speed by at most
 * that distance per second, and its heading by at most 15 degrees, whose cosine is the second number. */
static const float speed_time_s = 1.0f, same_heading_cos = 0.966f;

/* Whether a rule-based vehicle is where its log has it, and goes on there in the step that begins. */
static bool is_at_log(const drv_world *world, int32_t vehicle) {
    const drv_scene *scene = world->scene;
    const int64_t now = drv_log_entry(scene, vehicle, *world->clock_steps);
    if (now < 0 || drv_log_entry(scene, vehicle, *world->clock_steps + 1) < 0) return false;
    const float limit_m = world->config->idm_handback_m;
    const float dx = world->x_m[vehicle] - scene->log_x_m[now], dy = world->y_m[vehicle] - scene->log_y_m[now];
    const float turn_cos = world->cos_heading[vehicle] * scene->log_cos_heading[now] +
                           world->sin_heading[vehicle] * scene->log_sin_heading[now];
    const float faster_mps = world->speed_mps[vehicle] - scene->log_speed_mps[now];
    return dx * dx + dy * dy <= limit_m * limit_m && fabsf(faster_mps) * speed_time_s <= limit_m &&
           turn_cos >= same_heading_cos;
}

/* ---- what is in the way ---- */

/* Whether a vehicle may be elsewhere than in the log: an agent, or a rule-based vehicle that is not at its log. */
static bool may_be_elsewhere(const drv_world *world, int32_t vehicle) {
    const int32_t rule_first = drv_scene_rule_first(world->scene);
    if (vehicle < world->scene->num_agents) return true;
    return vehicle >= rule_first && vehicle < rule_first + world->scene->rule_based_count && !is_at_log(world, vehicle);
}

/* Whether a vehicle has to brake more than comfortably to reach the speed of the one ahead before the gap is that of
 * vehicles at rest. A gap that does not shrink may be smaller: drivers in logs keep smaller ones than the model. */
static bool has_to_brake(const drv_follower *own, drv_lead lead) {
    const float closing_mps = own->speed_mps - lead.speed_mps, free_m = lead.gap_m - own->driver.min_gap_m;
    return closing_mps > 0.0f && closing_mps * closing_mps > 2.0f * own->driver.braking_mps2 * free_m;
}

static bool is_in_the_way(const drv_world *world, const drv_corridor *corridor, const drv_follower *own,
                          int32_t other) {
    drv_lead lead;
    drv_crossing crossing;
    if (drv_corridor_lead(world, corridor, other, &lead)) return has_to_brake(own, lead);
    return drv_corridor_crossing(world, corridor, other, &crossing) && drv_yields_to(own, &crossing);
}

/* Whether nothing is in the way of a vehicle at its log, which drives at its logged speed. */
static bool way_is_free(const drv_world *world, drv_scratch *scratch, int32_t path, int32_t vehicle,
                        float forecast_m) {
    const drv_scene *scene = world->scene;
    const float logged_mps = scene->log_speed_mps[drv_log_entry(scene, vehicle, *world->clock_steps)];
    const float speed_mps = drv_larger(0.0f, logged_mps);
    const drv_follower own = drv_follower_of(drv_rule_idm(world), speed_mps, speed_mps, scene->length_m[vehicle]);
    const drv_corridor corridor = drv_corridor_of(world, &scene->paths, path, world->path_m[path], vehicle,
                                                  drv_look_ahead_m(speed_mps));
    const int32_t near =
        drv_corridor_near(world, &scratch->on_map, vehicle, &corridor, forecast_m, scratch->near);
    for (int32_t i = 0; i < near; i++) {
        const int32_t other = scratch->on_map.vehicle[scratch->near[i]];
        if (may_be_elsewhere(world, other) && is_in_the_way(world, &corridor, &own, other)) return false;
    }
    return true;
}

void drv_hand_back_decide(drv_world *world, drv_scratch *scratch) {
    const int32_t first = drv_scene_rule_first(world->scene), end = first + world->scene->rule_based_count;
    const float forecast_m = drv_longest_forecast_m(world, end);
    for (int32_t vehicle = first; vehicle < end; vehicle++) {
        if (!drv_follows_path(world, vehicle)) continue;
        const bool follows_log =
            is_at_log(world, vehicle) && way_is_free(world, scratch, vehicle - first, vehicle, forecast_m);
        world->controller[vehicle] = follows_log ? DRV_CONTROLLER_LOG : DRV_CONTROLLER_RULE;
    }
}

/* ---- motion ---- */

/* The arc length along its path at which a vehicle is, near the one at which it was before the step. */
static float nearest_m(const drv_world *world, int32_t path, int32_t vehicle) {
    const drv_paths *paths = &world->scene->paths;
    const drv_point at = {world->x_m[vehicle], world->y_m[vehicle]};
    const drv_point ahead = {world->cos_heading[vehicle], world->sin_heading[vehicle]};
    const float dx = at.x - world->previous_x_m[vehicle], dy = at.y - world->previous_y_m[vehicle];

    /* the points as far from its place as it moved, and one more on both ends */
    const int32_t start = paths->point_start[path], last = paths->point_start[path + 1] - 1;
    const int32_t before = start + (int32_t)(world->path_m[path] / drv_path_pitch_m);
    const int32_t reach = 2 + (int32_t)(sqrtf(dx * dx + dy * dy) / drv_path_pitch_m);
    const int32_t low = before - reach > start ? before - reach : start;
    const int32_t high = before + reach < last ? before + reach : last;
    const int32_t nearest = drv_path_nearest(paths, low, high, at, ahead, 0.0f);
    const float point_m = (float)(nearest - start) * drv_path_pitch_m;
    return drv_clip(point_m + drv_path_offset_from(paths, nearest, at).along_m, 0.0f, drv_path_length_m(paths, path));
}

void drv_hand_back_move(drv_world *world, int32_t path) {
    const int32_t vehicle = drv_scene_rule_first(world->scene) + path;
    const int32_t zone = drv_zone_ahead(world, path);
    drv_put_on_log(world, vehicle, drv_log_entry(world->scene, vehicle, *world->clock_steps + 1));
    world->path_m[path] = nearest_m(world, path, vehicle);
    if (drv_changes_lanes(world)) drv_lane_change_reset(world, path);
    /* one that stands lets others go first, since its log may have it stand there for good */
    const bool stands = world->speed_mps[vehicle] < drv_rests_below_mps;
    if (stands || drv_zone_ahead(world, path) != zone) world->arrival_step[path] = -1;
}
