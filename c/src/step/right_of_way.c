/* Which rule-based vehicle goes first where paths cross? The one that came near first, then the one from the right. */
#include "step/right_of_way.h"

#include "math/geometry.h"
#include "step/height.h"
#include "step/path_crossing.h"
#include "step/rule_based.h"
#include "step/stopping.h"

/* A vehicle is near a zone if its gap is at most its comfortable braking distance plus this margin. */
static const float stopping_margin_m = 10.0f;
/* Where signs have an effect it is also near if it arrives within this time: vehicles at a sign yield to it. */
static const float yield_s = 4.0f;
/* Vehicles whose zones begin on one lane follow each other: the starts of these zones are at most this far apart across
 * and along the lane, and their directions at most 30 degrees. */
static const float same_lane_lateral_m = 1.5f, same_lane_longitudinal_m = 15.0f, same_lane_cos = 0.866f;
/* A vehicle comes from the right where its direction is 30 to 150 degrees to the left: others are oncoming, or drive
 * the same way. */
static const float from_right_sin = 0.5f;

static float half_length_m(const drv_world *world, int32_t path) {
    return 0.5f * world->scene->length_m[drv_scene_rule_first(world->scene) + path];
}

float drv_zone_start_m(const drv_world *world, int32_t zone) {
    return drv_has_stop_lines(world) ? world->scene->stop_lines.zone_start_m[zone] : world->scene->zones.enter_m[zone];
}

bool drv_zone_yields(const drv_world *world, int32_t zone) {
    return drv_has_stop_lines(world) && world->scene->stop_lines.zone_yields[zone];
}

/* The priority of a vehicle on its way to a zone. Vehicles at signs need not wait for one that stands, since it may be
 * held up by something else. */
static int32_t priority_at(const drv_world *world, int32_t zone, float speed_mps) {
    if (drv_zone_yields(world, zone)) return -1;
    return speed_mps > drv_rests_below_mps;
}

/* The zone after another one on its path; -1 if there is none. */
static int32_t zone_after(const drv_zones *zones, int32_t zone) {
    return zone + 1 < zones->count && zones->path[zone + 1] == zones->path[zone] ? zone + 1 : -1;
}

/* The first zone of a path that does not end before `at_m`; -1 if there is none. */
static int32_t zone_from(const drv_world *world, int32_t path, float at_m) {
    const drv_paths *paths = &world->scene->paths;
    const drv_zones *zones = &world->scene->zones;
    const int32_t last = drv_path_points(paths, path) - 1;
    int32_t point = at_m > 0.0f ? (int32_t)(at_m / drv_path_pitch_m) : 0;
    if (point > last) point = last;
    int32_t zone = zones->next[paths->point_start[path] + point];
    while (zone >= 0 && zones->leave_m[zone] < at_m) zone = zone_after(zones, zone);
    return zone;
}

int32_t drv_zone_ahead(const drv_world *world, int32_t path) {
    const drv_zones *zones = &world->scene->zones;
    const float front_m = world->path_m[path] + half_length_m(world, path);
    int32_t zone = zone_from(world, path, front_m);
    return zone >= 0 && drv_zone_start_m(world, zone) <= front_m ? zone_after(zones, zone) : zone;
}

float drv_zone_gap_m(const drv_world *world, int32_t path, int32_t zone) {
    return drv_zone_start_m(world, zone) - world->path_m[path] - half_length_m(world, path);
}

/* Whether a vehicle is near the start of the zone ahead of it. */
static bool is_near(const drv_world *world, float gap_m, float speed_mps) {
    const float braking_mps2 = world->config->idm_braking_mps2;
    if (gap_m <= stopping_margin_m + speed_mps * speed_mps / (2.0f * braking_mps2)) return true;
    return drv_has_stop_lines(world) && gap_m <= yield_s * speed_mps;
}

/* ---- pairs ---- */

/* The point of a path at or before an arc length. */
static int32_t point_at(const drv_paths *paths, int32_t path, float at_m) {
    return paths->point_start[path] + (int32_t)(at_m / drv_path_pitch_m);
}

/* Whether two zones begin on one lane. */
static bool on_one_lane(const drv_paths *paths, int32_t point, int32_t other) {
    const float dx = paths->x_m[other] - paths->x_m[point], dy = paths->y_m[other] - paths->y_m[point];
    const float cosine = paths->cos_heading[point], sine = paths->sin_heading[point];
    const float turn_cos = paths->cos_heading[other] * cosine + paths->sin_heading[other] * sine;
    return fabsf(dx * cosine + dy * sine) <= same_lane_longitudinal_m &&
           fabsf(dy * cosine - dx * sine) <= same_lane_lateral_m && turn_cos >= same_lane_cos;
}

/* Whether a point of a path is where a part of another one crosses it. */
static bool point_crosses(const drv_paths *paths, int32_t point, int32_t first, int32_t last, float distance_m) {
    for (int32_t i = first; i <= last; i += DRV_WIDTH)
        if (drv_crossing_bits(paths, point, paths, i, last, distance_m, drv_crossing_cos)) return true;
    return false;
}

/* Whether a vehicle anywhere on the claimed part of its path is in the way of one in `zone` of `path`. */
static bool blocks(const drv_world *world, const drv_claim *claim, int32_t path, int32_t zone) {
    const drv_scene *scene = world->scene;
    const drv_paths *paths = &scene->paths;
    const drv_zones *zones = &scene->zones;
    const float *width_m = scene->width_m + drv_scene_rule_first(scene);
    const float distance_m = drv_crossing_distance_m(width_m[path], width_m[claim->path]);
    const float dx = zones->x_m[claim->zone] - zones->x_m[zone], dy = zones->y_m[claim->zone] - zones->y_m[zone];
    const float reach_m = zones->radius_m[claim->zone] + zones->radius_m[zone] + distance_m;
    if (dx * dx + dy * dy > reach_m * reach_m) return false;
    const int32_t first = point_at(paths, path, zones->enter_m[zone]);
    if (paths->z_m && drv_differs_in_level(world, paths->z_m[first],
                                           paths->z_m[point_at(paths, claim->path, zones->enter_m[claim->zone])]))
        return false;
    const int32_t last = point_at(paths, path, zones->leave_m[zone]);
    const int32_t other_first = point_at(paths, claim->path, claim->from_m);
    const int32_t other_last = point_at(paths, claim->path, claim->to_m);
    if (on_one_lane(paths, first, point_at(paths, claim->path, zones->enter_m[claim->zone]))) return false;
    for (int32_t point = first; point <= last; point++)
        if (point_crosses(paths, point, other_first, other_last, distance_m)) return true;
    return false;
}

/* ---- ties ---- */

/* Whether the vehicle of a claim comes from the right of another one, which it is in the way of. */
static bool comes_from_right(const drv_world *world, const drv_claim *claim, const drv_claim *own) {
    const drv_paths *paths = &world->scene->paths;
    const drv_zones *zones = &world->scene->zones;
    const int32_t here = point_at(paths, own->path, zones->enter_m[own->zone]);
    const int32_t there = point_at(paths, claim->path, zones->enter_m[claim->zone]);
    const float turn_sin = paths->cos_heading[here] * paths->sin_heading[there] -
                           paths->sin_heading[here] * paths->cos_heading[there];
    return turn_sin > from_right_sin && blocks(world, claim, own->path, own->zone);
}

/* Whether any vehicle that came near in the same step, and has no rank yet, comes from the right. */
static bool has_another_right(const drv_world *world, const drv_claim *claims, int32_t count, const drv_claim *own) {
    for (int32_t i = 0; i < count; i++)
        if (claims[i].step == own->step && claims[i].rank < 0 && &claims[i] != own &&
            comes_from_right(world, &claims[i], own))
            return true;
    return false;
}

/* Ranks vehicles that came near in the same step. Each pass, in index order, ranks those without an unranked one on
 * their right; if a pass ranks none, the first unranked one is next. */
static void order_ties(const drv_world *world, drv_claim *claims, int32_t count) {
    int32_t ranked = 0, unranked = 0;
    for (int32_t i = 0; i < count; i++) unranked += claims[i].rank < 0;
    while (ranked < unranked) {
        const int32_t before = ranked;
        int32_t first = -1;
        for (int32_t i = 0; i < count; i++) {
            if (claims[i].rank >= 0) continue;
            if (first < 0) first = i;
            if (!has_another_right(world, claims, count, &claims[i])) claims[i].rank = ranked++;
        }
        if (ranked == before) claims[first].rank = ranked++;
    }
}

/* ---- all ---- */

int32_t drv_claims_update(drv_world *world, drv_scratch *scratch) {
    const drv_scene *scene = world->scene;
    const drv_zones *zones = &scene->zones;
    drv_claim *claims = scratch->claims;
    int32_t count = 0;
    for (int32_t path = 0; path < scene->rule_based_count; path++) {
        const int32_t vehicle = drv_scene_rule_first(scene) + path;
        if (!drv_follows_path(world, vehicle)) continue;

        /* the zones that it is in */
        const float half_m = half_length_m(world, path), front_m = world->path_m[path] + half_m;
        const float rear_m = world->path_m[path] - half_m, stop_m = drv_stop_m(world, scratch, path);
        const int32_t ahead = drv_zone_ahead(world, path);
        int32_t inside = zone_from(world, path, rear_m);
        for (; inside >= 0 && inside != ahead; inside = zone_after(zones, inside))
            claims[count++] = (drv_claim){path, inside, drv_larger(rear_m, zones->enter_m[inside]),
                                          drv_smaller(stop_m, zones->leave_m[inside]), -1, 1, 0};

        /* the zone that it is near */
        if (ahead < 0) continue;
        const float speed_mps = world->speed_mps[vehicle], gap_m = drv_zone_start_m(world, ahead) - front_m;
        int32_t *arrival_step = &world->arrival_step[path];
        if (stop_m <= drv_zone_start_m(world, ahead)) *arrival_step = -1;
        else if (*arrival_step < 0 && is_near(world, gap_m, speed_mps)) *arrival_step = *world->clock_steps;
        if (*arrival_step >= 0)
            claims[count++] =
                (drv_claim){path, ahead, zones->enter_m[ahead], drv_smaller(stop_m, zones->leave_m[ahead]),
                            *arrival_step, priority_at(world, ahead, speed_mps), -1};
    }
    order_ties(world, claims, count);
    return count;
}

/* Whether the vehicle of a claim goes before another one, which is not inside a zone. */
static bool goes_before(const drv_claim *claim, int32_t step, int32_t rank, int32_t priority) {
    if (claim->step < 0) return true;
    if (claim->priority * priority < 0) return claim->priority > priority;
    return claim->step < step || (claim->step == step && claim->rank < rank);
}

/* The rank of a vehicle among those that came near in a step; the last one if it came near another time. */
static int32_t rank_of(const drv_claim *claims, int32_t count, int32_t path, int32_t step) {
    for (int32_t i = 0; i < count; i++)
        if (claims[i].path == path && claims[i].step == step) return claims[i].rank;
    return INT32_MAX;
}

bool drv_has_to_wait(const drv_world *world, const drv_claim *claims, int32_t count, int32_t path, int32_t zone) {
    const int32_t step = world->arrival_step[path];
    const float speed_mps = world->speed_mps[drv_scene_rule_first(world->scene) + path];
    const int32_t priority = priority_at(world, zone, speed_mps), rank = rank_of(claims, count, path, step);
    for (int32_t i = 0; i < count; i++) {
        if (claims[i].path == path || !goes_before(&claims[i], step, rank, priority)) continue;
        if (blocks(world, &claims[i], path, zone)) return true;
    }
    return false;
}
