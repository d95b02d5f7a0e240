/* Which of its paths does an agent follow, and when does it change to the next one? */
#include "step/path_choice.h"

#include <math.h>

#include "math/geometry.h"
#include "step/height.h"
#include "step/path_nearest.h"
#include "step/rule_based.h"

/* Points at which the path leads against the agent's heading count as farther away: twice this, 144 m2, is added to
 * their squared distance, so that one at 0 m counts as one at 12 m. So the place of an agent on a path that crosses
 * itself is on the part that it drives along. */
static const float wrong_way_m2 = 72.0f;
/* Vehicles on the other path count up to this far ahead or behind: the stopping distance from 30 m/s, plus 20 m. A path
 * begins as far before its change: LEAD_IN_M in drive_env/drivers/lane_changes.py. */
static const float change_reach_m = 130.0f;
/* The shortest gap, ahead as well as behind: the sum of the gap at rest, half of the headway, and the distance in which
 * the faster one brakes to the speed of the other one. It brakes harder as the end of the lane nears. */
static const float gentle_mps2 = 2.0f, urgent_mps2 = 4.0f;
/* An agent that is this far on its way to the other lane turns back only from vehicles nearer than turning_back_m.
 * That is also the gap at rest that a change requires; it grows by the distance driven in slow_s, up to min_gap_m. */
static const float underway_m = 0.25f, turning_back_m = 0.5f, slow_s = 0.5f;
/* An agent that has missed the last place for a change still changes while the other path is no farther away than
 * this: more than a wide lane. */
static const float beside_m = 6.0f;
/* An agent that waits for a gap stops passing_m before the last place for a change, and farther by further_change_m for
 * each further change that follows, but not within the first least_window_m of the window. Beside another standing
 * vehicle it drives on into that spare length: past one of its own length, and at walking pace through the further
 * changes. */
static const float passing_m = 7.0f, further_change_m = 45.0f, least_window_m = 10.0f;
/* Margin beyond the distance that takes an agent past a vehicle beside it. */
static const float past_m = 0.3f;
/* A change is urgent if less than urgent_m, plus the distance driven in urgent_s, is left until its last place. */
static const float urgent_s = 6.0f, urgent_m = 40.0f;
/* A vehicle is on a path if its lateral gap to one that drives there would be below path_gap_beside_m. An agent that
 * changes to the path is on it, too, if that holds for the place that it reaches in changed_s, or after changed_m if
 * that is farther. */
static const float path_gap_beside_m = 0.3f, changed_s = 1.5f, changed_m = 10.0f;
/* The hardest braking for a gap that is not needed yet: of the agent that is to change, and of the one behind. */
static const float matching_mps2 = 1.5f, courtesy_mps2 = 2.0f;

/* ---- places ---- */

/* Where a vehicle is relative to a path. */
typedef struct path_spot {
    float along_m, left_m;
} path_spot;

static path_spot spot_on(const drv_paths *paths, int32_t path, drv_point at, drv_point ahead) {
    const int32_t start = paths->point_start[path], end = paths->point_start[path + 1] - DRV_WINDOW_POINTS;
    const int32_t nearest = drv_path_nearest(paths, start, end, at, ahead, wrong_way_m2);
    const drv_path_offset there = drv_path_offset_from(paths, nearest, at);
    return (path_spot){(float)(nearest - start) * drv_path_pitch_m + there.along_m, there.left_m};
}

static drv_point place_of(const drv_world *world, int32_t vehicle) {
    return (drv_point){world->x_m[vehicle], world->y_m[vehicle]};
}

static drv_point direction_of(const drv_world *world, int32_t vehicle) {
    return (drv_point){world->cos_heading[vehicle], world->sin_heading[vehicle]};
}

/* Sets the path that an agent follows, and its place there. */
static void follow(drv_driven *own, int32_t path, path_spot spot) {
    own->path = path;
    own->path_m = drv_larger(0.0f, spot.along_m);
    own->left_m = spot.left_m;
}

/* ---- the vehicles on the other path ---- */

/* Whether a vehicle is on a path, or changes to it; writes how far it is ahead of an agent along it. */
static bool is_on_path(const drv_world *world, const drv_lane_driver *driver, int32_t agent, int32_t other,
                       int32_t path, float agent_m, float *ahead_m) {
    /* its place */
    const drv_paths *paths = &driver->paths;
    const int32_t start = paths->point_start[path], end = paths->point_start[path + 1] - 1;
    const int32_t here = start + (int32_t)(agent_m / drv_path_pitch_m);
    const int32_t reach = (int32_t)(change_reach_m / drv_path_pitch_m);
    const int32_t low = here - reach > start ? here - reach : start, high = here + reach < end ? here + reach : end;
    const drv_point at = place_of(world, other), ahead = direction_of(world, other);
    const int32_t nearest = drv_path_nearest(paths, low, high, at, ahead, wrong_way_m2);
    const drv_path_offset there = drv_path_offset_from(paths, nearest, at);
    *ahead_m = (float)(nearest - start) * drv_path_pitch_m + there.along_m - agent_m;
    if (fabsf(there.along_m) > drv_path_pitch_m) return false; /* before or past it */
    const float apart_m =
        0.5f * (world->scene->width_m[agent] + world->scene->width_m[other]) + path_gap_beside_m;
    if (fabsf(there.left_m) < apart_m) return true;

    /* where it is going to be; agents of lower index have chosen already */
    if (other >= agent || world->status[other] != DRV_DRIVING) return false;
    if (!driver->driven[other].desired_change.is_changing) return false;
    const float driven_m = drv_larger(changed_m, changed_s * world->speed_mps[other]);
    const int32_t point = driver->window.point_start[other] + (int32_t)(driven_m / drv_path_pitch_m);
    const drv_point then = {driver->window.x_m[point], driver->window.y_m[point]};
    const int32_t near_then = drv_path_nearest(paths, low, high, then, ahead, wrong_way_m2);
    return fabsf(drv_path_offset_from(paths, near_then, then).left_m) < apart_m;
}

/* Finds the vehicles ahead of an agent and behind it on a path. */
static void find_gaps(const drv_world *world, const drv_scratch *scratch, const drv_lane_driver *driver, int32_t agent,
                      int32_t path, float agent_m, drv_desired_change *desired) {
    const drv_scene *scene = world->scene;
    const drv_on_map *on_map = &scratch->on_map;
    desired->ahead = desired->behind = -1;
    desired->ahead_gap_m = desired->behind_gap_m = INFINITY;
    for (int32_t i = 0; i < on_map->count; i++) {
        const int32_t other = on_map->vehicle[i];
        const float dx = on_map->x_m[i] - world->x_m[agent], dy = on_map->y_m[i] - world->y_m[agent];
        float ahead_m;
        if (other == agent || dx * dx + dy * dy > change_reach_m * change_reach_m || drv_is_apart(world, agent, other))
            continue;
        if (!is_on_path(world, driver, agent, other, path, agent_m, &ahead_m)) continue;
        const float gap_m = fabsf(ahead_m) - 0.5f * (scene->length_m[agent] + scene->length_m[other]);
        const float speed_mps = drv_larger(0.0f, world->speed_mps[other]);
        const bool is_ahead = ahead_m > 0.0f || (ahead_m == 0.0f && other < agent);
        if (is_ahead && gap_m < desired->ahead_gap_m) {
            desired->ahead = other;
            desired->ahead_gap_m = gap_m;
            desired->ahead_mps = speed_mps;
        } else if (!is_ahead && gap_m < desired->behind_gap_m) {
            desired->behind = other;
            desired->behind_gap_m = gap_m;
            desired->behind_mps = speed_mps;
        }
    }
}

/* The gap that a vehicle accepts behind another one. */
static float accepted_gap_m(drv_idm driver, float speed_mps, float lead_mps, float braking_mps2) {
    const float closing_m = drv_larger(0.0f, speed_mps * speed_mps - lead_mps * lead_mps) / (2.0f * braking_mps2);
    const float least_m = drv_smaller(driver.min_gap_m, turning_back_m + slow_s * speed_mps);
    return least_m + drv_gap_headway_share * driver.headway_s * speed_mps + closing_m;
}

/* Whether the gaps on the other path are long enough for an agent. */
static bool accepts(const drv_desired_change *desired, float speed_mps, bool is_underway) {
    if (is_underway) return desired->ahead_gap_m > turning_back_m && desired->behind_gap_m > turning_back_m;
    const float braking_mps2 = desired->is_urgent ? urgent_mps2 : gentle_mps2;
    return desired->ahead_gap_m > accepted_gap_m(drv_agent_idm, speed_mps, desired->ahead_mps, braking_mps2) &&
           desired->behind_gap_m > accepted_gap_m(drv_agent_idm, desired->behind_mps, speed_mps, braking_mps2);
}

/* ---- the choice of one agent ---- */

/* Returns the path that an agent is nearest to of those that it is beside, the first of equally near ones; writes its
 * place there. */
static int32_t nearest_path(const drv_world *world, const drv_lane_driver *driver, int32_t agent, path_spot *spot) {
    const drv_paths *paths = &driver->paths;
    const drv_point at = place_of(world, agent), ahead = direction_of(world, agent);
    const int32_t start = drv_start_of(world, agent);
    const int32_t first = driver->path_start[start], end = driver->path_start[start + 1];
    int32_t found = -1;
    for (int32_t path = first; path < end; path++) {
        const path_spot there = spot_on(paths, path, at, ahead);
        const bool is_beside = path == first || there.along_m >= 0.0f;
        const bool has_ended = path + 1 < end && there.along_m > drv_path_length_m(paths, path) - DRV_PATH_RUN_OUT_M;
        if (found >= 0 && (!is_beside || has_ended || !(fabsf(there.left_m) < fabsf(spot->left_m)))) continue;
        found = path;
        *spot = there;
    }
    return found;
}

/* How far before the last place for a change from a path an agent stops for a gap, if `further` changes follow. */
static float spare_of(const drv_lane_driver *driver, int32_t path, int32_t further) {
    const float window_m = driver->change_to_m[path] - driver->change_from_m[path];
    return drv_clip(window_m - least_window_m, 0.0f, passing_m + further_change_m * (float)further);
}

void drv_path_choose(const drv_world *world, drv_scratch *scratch, drv_lane_driver *driver, int32_t agent) {
    /* the path that it is on */
    drv_driven *own = &driver->driven[agent];
    drv_desired_change *desired = &own->desired_change;
    *desired = (drv_desired_change){.end_gap_m = INFINITY, .ahead = -1, .behind = -1, .left_gap_m = INFINITY};
    const int32_t start = drv_start_of(world, agent);
    path_spot spot = {0.0f, 0.0f};
    const int32_t path = nearest_path(world, driver, agent, &spot);
    follow(own, path, spot);
    if (path + 1 == driver->path_start[start + 1]) return;

    /* whether a change to the next one is desired */
    const float front_m = own->path_m + 0.5f * world->scene->length_m[agent];
    const float speed_mps = drv_larger(0.0f, world->speed_mps[agent]);
    const int32_t further = driver->path_start[start + 1] - path - 2; /* changes that follow this one */
    desired->spare_m = spare_of(driver, path, further);
    desired->end_gap_m = driver->change_to_m[path] - desired->spare_m - front_m;
    if (front_m < driver->change_from_m[path]) return;
    const path_spot next = spot_on(&driver->paths, path + 1, place_of(world, agent), direction_of(world, agent));
    const float next_end_m = drv_path_length_m(&driver->paths, path + 1) - DRV_PATH_RUN_OUT_M;
    if (!(next.along_m >= 0.0f && next.along_m <= next_end_m && fabsf(next.left_m) <= beside_m)) return;
    desired->exists = true;
    desired->is_urgent = desired->end_gap_m < urgent_m + urgent_s * speed_mps;

    /* whether it does */
    find_gaps(world, scratch, driver, agent, path + 1, next.along_m, desired);
    const bool is_underway = fabsf(own->left_m) > underway_m && own->left_m * next.left_m < 0.0f;
    if (!accepts(&own->desired_change, speed_mps, is_underway)) return;
    desired->is_changing = true;
    if (!is_underway) {
        drv_desired_change left = {.ahead = -1};
        find_gaps(world, scratch, driver, agent, path, own->path_m, &left);
        desired->left_gap_m = left.ahead_gap_m;
        desired->left_mps = left.ahead_mps;
    }
    const float next_front_m = next.along_m + 0.5f * world->scene->length_m[agent];
    desired->end_gap_m = INFINITY;
    if (further > 0) { /* until the last place for the change after this one */
        desired->spare_m = spare_of(driver, path + 1, further - 1);
        desired->end_gap_m = driver->change_to_m[path + 1] - desired->spare_m - next_front_m;
    }
    follow(own, path + 1, next);
}

/* ---- agents that stand beside each other ---- */

/* Whether an agent stands, and waits for a change. */
static bool waits(const drv_world *world, const drv_lane_driver *driver, int32_t agent) {
    if (agent >= world->scene->num_agents || world->status[agent] != DRV_DRIVING) return false;
    const drv_desired_change *desired = &driver->driven[agent].desired_change;
    return desired->exists && !desired->is_changing && world->speed_mps[agent] < drv_rests_below_mps;
}

/* The standing vehicle beside an agent on the path that it is to change to; -1 if there is none. Of two, the one ahead:
 * past it, the agent is past the other one, too. */
static int32_t standing_beside(const drv_desired_change *desired) {
    if (desired->ahead >= 0 && desired->ahead_gap_m < turning_back_m && desired->ahead_mps < drv_rests_below_mps)
        return desired->ahead;
    if (desired->behind >= 0 && desired->behind_gap_m < turning_back_m && desired->behind_mps < drv_rests_below_mps)
        return desired->behind;
    return -1;
}

/* Whether an agent has room on its path to get past the vehicle beside it, so that it can change ahead of that one. */
static bool has_room(const drv_world *world, const drv_lane_driver *driver, int32_t agent, int32_t beside) {
    const drv_driven *own = &driver->driven[agent];
    const drv_desired_change *desired = &own->desired_change;
    const float lengths_m = world->scene->length_m[agent] + world->scene->length_m[beside];
    const float needed_m = past_m + turning_back_m +
                           (desired->behind == beside ? -desired->behind_gap_m : lengths_m + desired->ahead_gap_m);
    const bool is_led = own->leads >= 0 && driver->driven[own->leads].follower.speed_mps < drv_rests_below_mps;
    const float end_m = desired->end_gap_m + desired->spare_m;
    return needed_m <= drv_smaller(end_m, is_led ? own->lead_gap_m : INFINITY) - drv_agent_idm.min_gap_m;
}

/* Whether an agent drives on past the standing vehicle beside it: if it has room. Of two that are to change to each
 * other's lanes, the one ahead does, unless only the other one has room. */
static bool drives_past(const drv_world *world, const drv_lane_driver *driver, int32_t agent, int32_t beside) {
    if (!has_room(world, driver, agent, beside)) return false;
    if (!waits(world, driver, beside) || standing_beside(&driver->driven[beside].desired_change) != agent) return true;
    return driver->driven[agent].desired_change.behind == beside || !has_room(world, driver, beside, agent);
}

/* ---- the reaction of all agents ---- */

/* Lowers the acceleration of an agent to what keeps a gap, but brakes no harder than `hardest_mps2` for it. */
static void make_gap(drv_driven *own, float gap_m, float lead_mps, float hardest_mps2) {
    drv_follower gap_follower = own->follower;
    drv_keep_gap(&gap_follower, gap_m, lead_mps);
    const float gap_mps2 = drv_larger(gap_follower.acceleration_mps2, -hardest_mps2);
    own->follower.acceleration_mps2 = drv_smaller(own->follower.acceleration_mps2, gap_mps2);
}

/* Whether an agent stays behind the agent ahead on the other path, which is to change to the path that this one is
 * on: if both braked alike for the ends of their windows, they would stand beside each other. */
static bool stays_behind(const drv_world *world, const drv_lane_driver *driver, int32_t agent) {
    const int32_t ahead = driver->driven[agent].desired_change.ahead;
    if (ahead < 0 || ahead >= world->scene->num_agents || world->status[ahead] != DRV_DRIVING) return false;
    const drv_desired_change *desired = &driver->driven[ahead].desired_change;
    return desired->exists && !desired->is_changing && desired->behind == agent;
}

/* Whether an agent can brake comfortably to the speed of a vehicle ahead. */
static bool can_brake_to(const drv_driven *own, float gap_m, float lead_mps) {
    const float speed_mps = own->follower.speed_mps;
    return speed_mps * speed_mps - lead_mps * lead_mps <= 2.0f * own->follower.driver.braking_mps2 * gap_m;
}

void drv_path_choice_react(const drv_world *world, drv_lane_driver *driver) {
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) {
        if (world->status[agent] != DRV_DRIVING) continue;
        drv_driven *own = &driver->driven[agent];
        const drv_desired_change *desired = &own->desired_change;
        const int32_t beside = desired->exists && !desired->is_changing ? standing_beside(desired) : -1;
        const bool is_past = beside >= 0 && drives_past(world, driver, agent, beside);

        /* it stops before the last place for its change */
        if (desired->end_gap_m < INFINITY) {
            const float hardest_mps2 = stays_behind(world, driver, agent) ? drv_agent_idm.hardest_braking_mps2
                                                                          : drv_agent_idm.braking_mps2;
            if (!is_past && !desired->is_changing) make_gap(own, desired->end_gap_m, 0.0f, hardest_mps2);
            drv_keep_gap(&own->follower, desired->end_gap_m + desired->spare_m, 0.0f);
        }
        if (!desired->exists) continue;

        /* while it changes, it keeps the gap on the path that it leaves, if it still can */
        if (desired->is_changing) {
            if (!can_brake_to(own, desired->left_gap_m, desired->left_mps))
                drv_keep_gap(&own->follower, desired->left_gap_m, desired->left_mps);
            continue;
        }

        /* it makes a gap behind the vehicle ahead on the other path */
        if (desired->ahead >= 0 && !(is_past && beside == desired->ahead))
            make_gap(own, desired->ahead_gap_m, desired->ahead_mps, matching_mps2);

        /* the agent behind makes a gap for an urgent change; one that is already beside passes instead */
        if (!desired->is_urgent || desired->behind < 0 || desired->behind_gap_m < turning_back_m) continue;
        if (desired->behind >= world->scene->num_agents) continue;
        if (world->status[desired->behind] != DRV_DRIVING) continue;
        drv_driven *behind = &driver->driven[desired->behind];
        if (behind->desired_change.is_changing) continue; /* it leaves that lane, or begins to */
        make_gap(behind, desired->behind_gap_m, own->follower.speed_mps, courtesy_mps2);
    }
}
