/* Does an agent pass the vehicle ahead on the oncoming lane? */
#include "step/overtaking.h"

#include <math.h>

#include "math/geometry.h"
#include "step/height.h"
#include "step/path_nearest.h"
#include "step/path_place.h"
#include "step/stopping.h"

/* An agent passes a vehicle that drives, but slower than this share of the path's speed; a standing one may wait for
 * something. It begins once the gap is at most the distance driven in passing_reach_s plus passing_reach_m. */
static const float slow_share = 0.75f, least_passed_mps = 2.0f, passing_reach_s = 2.0f, passing_reach_m = 10.0f;
/* An agent is on the oncoming lane as soon as it is this far beside its path; one this near to its path is back. */
static const float moved_out_m = 0.5f, moved_in_m = 0.3f;
/* The agent is back on its lane this far ahead of the vehicle that it passed. It passes two vehicles at once if the
 * room between them is less than its length, this distance at both ends, and the distance in which it brakes to the
 * speed of the one ahead with closing_braking_mps2. */
static const float landing_m = 5.0f, closing_braking_mps2 = 3.0f;
enum { PASSED_VEHICLES = 4 }; /* at once, at most */
/* The forecast: for out_s it moves out at its speed, then it accelerates, by less than a free vehicle does. */
static const float out_s = 1.2f, passing_mps2 = 2.0f;
/* When the agent has passed, at least clear_s must be left until it would meet an oncoming vehicle; it gets back to its
 * lane in that time. An agent already on the oncoming lane turns back where less than least_clear_s would be left. */
static const float clear_s = 1.2f, least_clear_s = 0.5f;
/* It has passed at least this long before it reaches its goal, so that it is back in its lane there. */
static const float goal_room_s = 1.0f;
/* A vehicle is on the path if it is at most this far beside it; on the oncoming lane if it is farther, up to this
 * distance beyond the middle of that lane. */
static const float lane_half_m = 1.6f;
/* A vehicle behind an agent on the oncoming lane, as near as this, overtakes it. */
static const float behind_m = 40.0f;
/* How far away vehicles matter. One that is passed: passing_reach_m and 2 s at 30 m/s, and as far again for those right
 * ahead of it. An oncoming one: both drive 30 m/s for 13 s, longer than passing takes. */
static const float passed_range_m = 150.0f, oncoming_range_m = 800.0f;

/* A vehicle near a path. */
typedef struct path_vehicle {
    bool exists;
    int32_t index;
    float ahead_m; /* along the path, from the middle of the agent to that of the vehicle */
    float left_m;
    float speed_mps; /* along the path */
} path_vehicle;

/* Where a vehicle in range is. */
static path_vehicle vehicle_near(const drv_world *world, const drv_lane_driver *driver, int32_t agent, int32_t other,
                                 float range_m) {
    const drv_paths *paths = &driver->paths;
    const drv_driven *own = &driver->driven[agent];
    const int32_t start = paths->point_start[own->path], end = paths->point_start[own->path + 1] - 1;
    const int32_t here = start + (int32_t)(own->path_m / drv_path_pitch_m);
    const int32_t low = here - (int32_t)(behind_m / drv_path_pitch_m);
    const int32_t high = here + (int32_t)(range_m / drv_path_pitch_m);
    const drv_point at = {world->x_m[other], world->y_m[other]}, ahead = {0.0f, 0.0f}; /* either direction */
    const int32_t point =
        drv_path_nearest(paths, low > start ? low : start, high < end ? high : end, at, ahead, 0.0f);
    const drv_path_offset there = drv_path_offset_from(paths, point, at);
    const float turn_cos = world->cos_heading[other] * paths->cos_heading[point] +
                           world->sin_heading[other] * paths->sin_heading[point];
    const float ahead_m = (float)(point - start) * drv_path_pitch_m + there.along_m - own->path_m;
    return (path_vehicle){true, other, ahead_m, there.left_m, world->speed_mps[other] * turn_cos};
}

/* Half of the length of an agent and of another vehicle. */
static float half_lengths_m(const drv_world *world, int32_t agent, int32_t other) {
    return 0.5f * (world->scene->length_m[agent] + world->scene->length_m[other]);
}

/* Whether an entry of on_map is another vehicle in range, on the agent's level. */
static bool is_in_range(const drv_world *world, const drv_on_map *on_map, int32_t agent, int32_t entry,
                        float range_m) {
    const int32_t other = on_map->vehicle[entry];
    const float dx = on_map->x_m[entry] - world->x_m[agent], dy = on_map->y_m[entry] - world->y_m[agent];
    return other != agent && dx * dx + dy * dy < range_m * range_m && !drv_is_apart(world, agent, other);
}

/* Whether a vehicle near a path is an agent that has begun to pass the vehicle ahead of it: the agent behind does not
 * wait until it is off the path. */
static bool moves_out(const drv_world *world, path_vehicle found) {
    return found.index < world->scene->num_agents && found.left_m > moved_out_m && found.speed_mps > least_passed_mps;
}

/* Whether a vehicle is still too far ahead for an agent to have room to land in front of it. */
static bool is_ahead_of_landing(const drv_world *world, int32_t agent, path_vehicle found) {
    return found.ahead_m > -half_lengths_m(world, agent, found.index) - landing_m;
}

/* The first vehicle on the path whose middle is farther ahead than `beyond_m`; for an agent that is out, the first one
 * ahead of which it has no room to land yet. */
static path_vehicle first_on_path(const drv_world *world, const drv_scratch *scratch, const drv_lane_driver *driver,
                                  int32_t agent, float beyond_m, bool is_out) {
    path_vehicle first = {.exists = false, .ahead_m = INFINITY};
    for (int32_t i = 0; i < scratch->on_map.count; i++) {
        if (!is_in_range(world, &scratch->on_map, agent, i, passed_range_m)) continue;
        const path_vehicle found = vehicle_near(world, driver, agent, scratch->on_map.vehicle[i],
                                                passed_range_m);
        const bool is_beyond = is_out ? is_ahead_of_landing(world, agent, found) : found.ahead_m > beyond_m;
        const bool is_on_path = fabsf(found.left_m) <= lane_half_m && !moves_out(world, found);
        if (is_on_path && is_beyond && found.ahead_m < first.ahead_m) first = found;
    }
    return first;
}

/* The last one of the vehicles that an agent passes at once, from `first` on; none if they are too many. */
static path_vehicle last_passed(const drv_world *world, const drv_scratch *scratch, const drv_lane_driver *driver,
                                int32_t agent, path_vehicle first, float top_mps) {
    path_vehicle last = first;
    for (int32_t i = 0; i < PASSED_VEHICLES; i++) {
        const path_vehicle next = first_on_path(world, scratch, driver, agent, last.ahead_m, false);
        if (!next.exists) return last;
        const float closing_mps = drv_larger(0.0f, top_mps - next.speed_mps);
        const float room_m = next.ahead_m - last.ahead_m - half_lengths_m(world, last.index, next.index);
        const float needed_m = 2.0f * landing_m + world->scene->length_m[agent] +
                               closing_mps * closing_mps / (2.0f * closing_braking_mps2);
        if (room_m >= needed_m) return last;
        last = next;
    }
    return (path_vehicle){.exists = false};
}

/* ---- the manoeuvre ---- */

/* How long an agent takes to pass, and how far it drives meanwhile; INFINITY where it is no faster. */
typedef struct manoeuvre {
    float time_s, driven_m;
} manoeuvre;

static manoeuvre manoeuvre_of(float speed_mps, float top_mps, float passed_mps, float ahead_m, float delay_s) {
    const float rest_mps = drv_larger(0.0f, top_mps - passed_mps); /* relative to what it passes */
    if (rest_mps <= 0.0f) return (manoeuvre){INFINITY, INFINITY};
    const float start_mps = drv_smaller(speed_mps - passed_mps, rest_mps);
    const float remaining_m = drv_larger(0.0f, ahead_m - start_mps * delay_s);
    const float rise_m = (rest_mps * rest_mps - start_mps * start_mps) / (2.0f * passing_mps2);
    const float root_mps = sqrtf(drv_larger(0.0f, start_mps * start_mps + 2.0f * passing_mps2 * remaining_m));
    const float rising_s = (drv_smaller(root_mps, rest_mps) - start_mps) / passing_mps2;
    const float time_s = delay_s + rising_s + drv_larger(0.0f, remaining_m - rise_m) / rest_mps;
    return (manoeuvre){time_s, ahead_m + passed_mps * time_s};
}

/* Whether nothing comes towards an agent, or stands, on the oncoming lane before it is back. */
static bool oncoming_is_free(const drv_world *world, const drv_scratch *scratch, const drv_lane_driver *driver,
                             int32_t agent, manoeuvre needed, float lane_m, float top_mps, bool is_out) {
    const float spare_s = is_out ? least_clear_s : clear_s;
    for (int32_t i = 0; i < scratch->on_map.count; i++) {
        if (!is_in_range(world, &scratch->on_map, agent, i, oncoming_range_m)) continue;
        const path_vehicle other =
            vehicle_near(world, driver, agent, scratch->on_map.vehicle[i], oncoming_range_m);
        if (other.left_m <= lane_half_m || other.left_m > lane_m + lane_half_m) continue;
        const float half_m = half_lengths_m(world, agent, other.index);
        if (other.speed_mps > least_passed_mps) { /* it overtakes, too; if it is ahead, it is followed */
            if (!is_out && other.ahead_m <= half_m && other.ahead_m > -behind_m) return false;
            continue;
        }
        const float oncoming_mps = drv_larger(0.0f, -other.speed_mps);
        const float needed_m = needed.driven_m + oncoming_mps * needed.time_s + spare_s * (top_mps + oncoming_mps);
        if (other.ahead_m > -half_m && other.ahead_m - half_m < needed_m) return false;
    }
    return true;
}

/* How far ahead of an agent the oncoming lane goes on, up to `limit_m`; writes whether it ends there. */
static float lane_remaining_m(const drv_lane_driver *driver, const drv_driven *own, float limit_m, bool *ends) {
    const int32_t start = driver->paths.point_start[own->path], end = driver->paths.point_start[own->path + 1];
    const int32_t first = start + (int32_t)(own->path_m / drv_path_pitch_m);
    int32_t point = first;
    while (point < end && driver->oncoming_m[point] > 0.0f && (float)(point - first) * drv_path_pitch_m < limit_m)
        point++;
    *ends = point < end && driver->oncoming_m[point] <= 0.0f;
    return (float)(point - first) * drv_path_pitch_m;
}

/* Whether the road ahead allows it: the oncoming lane goes on, no stop line is on the way, and the goal lies beyond the
 * place where the agent is back. */
static bool has_road(const drv_lane_driver *driver, const drv_driven *own, manoeuvre needed, float top_mps) {
    const float driven_m = needed.driven_m + clear_s * top_mps;
    /* where the lane ends, a vehicle may come from there that is not in range yet */
    const float needed_lane_m = driven_m + top_mps * (needed.time_s + clear_s);
    bool ends;
    if (lane_remaining_m(driver, own, needed_lane_m, &ends) < needed_lane_m && ends) return false;
    const float goal_m = drv_path_length_m(&driver->paths, own->path) - (float)DRV_PATH_RUN_OUT_M - own->path_m;
    if (goal_m < needed.driven_m + goal_room_s * top_mps) return false;
    const drv_stop_lines *lines = &driver->stop_lines;
    for (int32_t i = lines->count > 0 ? lines->start[own->path] : 0;
         lines->count > 0 && i < lines->start[own->path + 1]; i++)
        if (lines->at_m[i] > own->path_m && lines->at_m[i] < own->path_m + driven_m) return false;
    return true;
}

/* ---- all ---- */

/* Whether an agent moves to the oncoming lane at `lane_m`, or stays there. */
static bool passes(const drv_world *world, const drv_scratch *scratch, const drv_lane_driver *driver, int32_t agent,
                   float lane_m, bool is_out) {
    /* the vehicle ahead, or beside it */
    const drv_driven *own = &driver->driven[agent];
    const float speed_mps = drv_larger(0.0f, world->speed_mps[agent]);
    const float top_mps = drv_path_speed(&driver->paths, own->path, own->path_m);
    const path_vehicle first = first_on_path(world, scratch, driver, agent, 0.0f, is_out);
    if (!first.exists) return false;
    const float gap_m = first.ahead_m - half_lengths_m(world, agent, first.index);
    if (is_out && gap_m < 0.0f) return true; /* beside it, or less than landing_m ahead of it */
    if (first.index < world->scene->num_agents || gap_m > passing_reach_s * speed_mps + passing_reach_m) return false;
    if ((!is_out && first.speed_mps < least_passed_mps) || first.speed_mps > slow_share * top_mps) return false;
    const float closing_mps = drv_larger(0.0f, speed_mps - first.speed_mps);
    const float closing_m = closing_mps * closing_mps / (2.0f * closing_braking_mps2);
    const float headway_s = drv_gap_headway_share * drv_agent_idm.headway_s;
    if (!is_out && gap_m < drv_agent_idm.min_gap_m + headway_s * speed_mps + closing_m)
        return false; /* too near for a vehicle at constant speed: that one brakes, and may stop */

    /* whether there is time to pass it, and those right ahead of it */
    const path_vehicle last = last_passed(world, scratch, driver, agent, first, top_mps);
    if (!last.exists) return false;
    const float ahead_m = last.ahead_m + half_lengths_m(world, agent, last.index) + landing_m;
    const manoeuvre needed = manoeuvre_of(speed_mps, top_mps, last.speed_mps, ahead_m, is_out ? 0.0f : out_s);
    return (is_out || has_road(driver, own, needed, top_mps)) &&
           oncoming_is_free(world, scratch, driver, agent, needed, lane_m, top_mps, is_out);
}

void drv_overtaking_choose(const drv_world *world, const drv_scratch *scratch, drv_lane_driver *driver, int32_t agent) {
    drv_driven *own = &driver->driven[agent];
    own->oncoming_m = own->beside_m = 0.0f;
    if (!driver->oncoming_m) return;
    const drv_path_place place = drv_path_place_at(&driver->paths, own->path, own->path_m);
    const float lane_m = driver->oncoming_m[place.before];
    if (!(lane_m > 0.0f)) return;
    if (passes(world, scratch, driver, agent, lane_m, own->left_m > moved_out_m)) own->beside_m = lane_m;
    if (own->beside_m > 0.0f || own->left_m > moved_in_m) own->oncoming_m = lane_m;
}
