/* Which controls keep agents on their paths and clear of each other? */
#include "step/lane_driver.h"

#include <math.h>
#include <string.h>

#include "math/geometry.h"
#include "math/vector.h"
#include "step/dynamics.h"
#include "step/height.h"
#include "step/on_map.h"
#include "step/overtaking.h"
#include "step/path_choice.h"
#include "step/path_nearest.h"
#include "step/path_place.h"
#include "step/precedence.h"
#include "step/rule_based.h"
#include "step/stopping.h"

/* The aim of pure pursuit is this time ahead, and at least two steps, within bounds: below 4 m, 13 steering bins make a
 * car weave; above 20 m, it cuts bends. */
static const float aim_s = 0.6f, nearest_aim_m = 4.0f, farthest_aim_m = 20.0f;
/* Steering bins are coarse where a step with one of them turns by more than this, as at more than 14 m/s: the aim is
 * nearer then, so that one bin corrects a small error. While an agent changes lanes they are coarse from 8 m/s on: a
 * slope flatter than planned leads it too near to what stands on the lane that it leaves. */
static const float coarse_turn_rad = 0.05f, coarse_change_rad = 0.03f, coarse_aim_m = 8.0f;
/* Vehicles that will not drive on are passed on the left: lateral gap, and length of the ramp by which the path gets
 * there. */
static const float passing_gap_m = 0.6f, passing_ramp_m = 10.0f;
/* Sideways speed of an agent that changes lanes, and of one that overtakes, which has less time; the steepest slope to
 * the other lane, and how far beside its path it counts as on it. */
static const float sideways_mps = 1.2f, overtaking_sideways_mps = 2.0f, steepest_slope = 0.25f, aligned_m = 0.3f;
/* The flattest slope to another lane, in units of the turn by one step with the first steering bin. */
static const float least_turns = 0.6f, overtaking_turns = 1.1f;
/* A vehicle still moves the path of an agent up to this many points behind the agent. */
enum { PASSED_POINTS = 8 };
/* The distance that a vehicle ahead that is no driving agent drives in this time counts as free. */
static const float reach_s = 4.0f;
/* Least gap to a vehicle ahead after both have braked hard to a stop. */
static const float least_gap_m = 0.5f;
/* An agent that brakes from less than this speed stops. */
static const float creep_mps = 0.4f;
/* A vehicle that moves in the opposite direction, within 45 degrees, is not followed. */
static const float oncoming_cos = -0.7f;

static bool drives(const drv_world *world, int32_t agent) { return world->status[agent] == DRV_DRIVING; }

/* ---- steering in bins ---- */

/* The wheel angle of the first bin of discrete actions beside the middle; 0 with continuous actions. */
static float first_bin_rad(const drv_world *world, int32_t agent) {
    const drv_action_dimension *steering = &world->action_space->dimension[1];
    if (world->action_space->type == DRV_CONTINUOUS || steering->bins == 0) return 0.0f;
    const float value = steering->value[steering->bins / 2 + 1];
    const bool is_curvature = strcmp(steering->name, "curvature") == 0;
    return is_curvature ? drv_arc_tangent(value * drv_wheelbase_share * world->scene->length_m[agent]) : value;
}

/* By how much a step with that wheel angle turns an agent. */
static float first_turn_rad(const drv_world *world, int32_t agent) {
    const float wheelbase_m = drv_wheelbase_share * world->scene->length_m[agent];
    return first_bin_rad(world, agent) * fabsf(world->speed_mps[agent]) * world->scene->dt_s / wheelbase_m;
}

/* ---- paths ---- */

/* Lists the vehicles that will not drive on: agents that do not drive, and static vehicles. Returns their number. */
static int32_t list_standing(const drv_world *world, int32_t *standing) {
    const drv_scene *scene = world->scene;
    const int32_t static_first = drv_scene_rule_first(scene) + scene->rule_based_count;
    int32_t count = 0;
    for (int32_t agent = 0; agent < scene->num_agents; agent++)
        if (world->present[agent] && !drives(world, agent)) standing[count++] = agent;
    for (int32_t vehicle = static_first; vehicle < scene->vehicle_count; vehicle++)
        if (world->present[vehicle]) standing[count++] = vehicle;
    return count;
}

/* Raises `left_m`, the shift of each point of a window, to what is needed to pass a standing vehicle; returns whether
 * that vehicle blocks the path. `first` is the point of the path that the window begins at. */
static bool shift_for(const drv_world *world, const drv_lane_driver *driver, int32_t agent, int32_t first,
                      int32_t vehicle, float *left_m) {
    /* whether it is near */
    const drv_scene *scene = world->scene;
    const drv_paths *paths = &driver->paths;
    const drv_point at = {world->x_m[vehicle], world->y_m[vehicle]};
    if (drv_is_apart(world, agent, vehicle)) return false;
    const float dx = at.x - world->x_m[agent], dy = at.y - world->y_m[agent];
    const float reach_m = DRV_WINDOW_POINTS * drv_path_pitch_m + scene->radius_m[vehicle] + scene->radius_m[agent];
    if (dx * dx + dy * dy > reach_m * reach_m) return false;

    /* whether it blocks the path */
    const int32_t start = paths->point_start[driver->driven[agent].path];
    const int32_t low = first - PASSED_POINTS > start ? first - PASSED_POINTS : start;
    const drv_point ahead = {world->cos_heading[agent], world->sin_heading[agent]};
    const int32_t nearest = drv_path_nearest(paths, low, first + DRV_WINDOW_POINTS - 1, at, ahead, 0.0f);
    const drv_path_offset there = drv_path_offset_from(paths, nearest, at);
    const float apart_m = 0.5f * (scene->width_m[agent] + scene->width_m[vehicle]) + passing_gap_m;
    if (!(fabsf(there.left_m) < apart_m && fabsf(there.along_m) < drv_path_pitch_m)) return false;

    /* fully beside the vehicle, and less along a ramp on both ends */
    const float beside_m = 0.5f * (scene->length_m[agent] + scene->length_m[vehicle]);
    const float vehicle_m = (float)(nearest - first) * drv_path_pitch_m + there.along_m;
    for (int32_t i = 0; i < DRV_WINDOW_POINTS; i++) {
        const float away_m = fabsf(vehicle_m - (float)i * drv_path_pitch_m) - beside_m;
        const float share = drv_clip(1.0f - away_m / passing_ramp_m, 0.0f, 1.0f);
        left_m[i] = drv_larger(left_m[i], (there.left_m + apart_m) * share * share * (3.0f - 2.0f * share));
    }
    return true;
}

/* Moves the points of a window to the left, and turns their directions to those between their neighbours. */
static void shift_window(drv_paths *window, int32_t start, const float *left_m) {
    for (int32_t i = 0; i < DRV_WINDOW_POINTS; i++) {
        window->x_m[start + i] -= left_m[i] * window->sin_heading[start + i];
        window->y_m[start + i] += left_m[i] * window->cos_heading[start + i];
    }
    for (int32_t i = 0; i < DRV_WINDOW_POINTS; i++) {
        const int32_t before = start + (i > 0 ? i - 1 : 0), after = start + (i + 1 < DRV_WINDOW_POINTS ? i + 1 : i);
        const float dx = window->x_m[after] - window->x_m[before], dy = window->y_m[after] - window->y_m[before];
        const float length_m = sqrtf(dx * dx + dy * dy);
        if (!(length_m > 0.0f)) continue;
        window->cos_heading[start + i] = dx / length_m;
        window->sin_heading[start + i] = dy / length_m;
    }
}

/* Shifts the points of a window so that they lead an agent along a straight line to its place beside its path, which is
 * its path itself unless it overtakes. */
static void shift_to_place(const drv_world *world, drv_paths *window, int32_t start, float ahead_m, int32_t agent,
                           const drv_driven *own) {
    /* Bins cannot steer along a flatter slope; what they drive is up to half a turn flatter than planned. */
    const float turns = drv_overtakes(own) ? overtaking_turns : least_turns;
    const float least_slope = turns * first_turn_rad(world, agent);
    const float across_mps = drv_overtakes(own) ? overtaking_sideways_mps : sideways_mps;
    const float slope =
        drv_clip(across_mps / drv_larger(1.0f, world->speed_mps[agent]), least_slope, steepest_slope);
    const float left_m = own->left_m - own->beside_m;
    float shift_m[DRV_WINDOW_POINTS];
    for (int32_t i = 0; i < DRV_WINDOW_POINTS; i++) {
        const float driven_m = drv_larger(0.0f, (float)i * drv_path_pitch_m - ahead_m);
        const float rest_m = drv_larger(0.0f, fabsf(left_m) - slope * driven_m);
        shift_m[i] = own->beside_m + (left_m < 0.0f ? -rest_m : rest_m);
    }
    shift_window(window, start, shift_m);
}

/* Whether an agent is on its way to another lane. */
static bool is_between_lanes(const drv_world *world, const drv_lane_driver *driver, int32_t agent) {
    return drv_changes_path(driver, world, agent) && fabsf(driver->driven[agent].left_m) > aligned_m;
}

/* Fills in the window of an agent, from the point of its path at or behind it on; returns the agent's place there.
 * Writes by how much points were moved, at most. */
static float fill_window(const drv_world *world, drv_lane_driver *driver, int32_t agent, int32_t standing,
                         float *shift_m) {
    /* the place on the path */
    const drv_paths *paths = &driver->paths;
    drv_paths *window = &driver->window;
    const drv_driven *own = &driver->driven[agent];
    const int32_t start = paths->point_start[own->path];
    const int32_t end = paths->point_start[own->path + 1] - DRV_WINDOW_POINTS;
    const int32_t behind = start + (int32_t)(own->path_m / drv_path_pitch_m), first = behind < end ? behind : end;
    const float ahead_m = own->path_m - (float)(first - start) * drv_path_pitch_m;

    /* the points, moved where something stands on them */
    const int32_t to = window->point_start[agent];
    for (int32_t i = 0; i < DRV_WINDOW_POINTS; i += DRV_WIDTH) {
        drv_store(window->x_m + to + i, drv_load(paths->x_m + first + i));
        drv_store(window->y_m + to + i, drv_load(paths->y_m + first + i));
        drv_store(window->cos_heading + to + i, drv_load(paths->cos_heading + first + i));
        drv_store(window->sin_heading + to + i, drv_load(paths->sin_heading + first + i));
        drv_store(window->speed_mps + to + i, drv_load(paths->speed_mps + first + i));
    }
    float left_m[DRV_WINDOW_POINTS] = {0.0f};
    bool is_blocked = false;
    for (int32_t i = 0; i < standing; i++)
        is_blocked |= shift_for(world, driver, agent, first, driver->standing[i], left_m);
    *shift_m = 0.0f;
    for (int32_t i = 0; is_blocked && i < DRV_WINDOW_POINTS; i++) *shift_m = drv_larger(*shift_m, left_m[i]);
    if (is_blocked) shift_window(window, to, left_m);
    if (drv_overtakes(own) ? !is_blocked : is_between_lanes(world, driver, agent)) {
        shift_to_place(world, window, to, ahead_m, agent, own);
        *shift_m += drv_larger(fabsf(own->left_m), own->beside_m);
    }
    return ahead_m;
}

/* Sets the rectangle around the points of an agent's corridor. */
static void bound_corridor(const drv_paths *window, drv_driven *own) {
    const drv_corridor *corridor = &own->corridor;
    float low_x = INFINITY, low_y = INFINITY, high_x = -INFINITY, high_y = -INFINITY;
    for (int32_t i = corridor->first; i < corridor->first + corridor->count; i++) {
        low_x = drv_smaller(low_x, window->x_m[i]);
        low_y = drv_smaller(low_y, window->y_m[i]);
        high_x = drv_larger(high_x, window->x_m[i]);
        high_y = drv_larger(high_y, window->y_m[i]);
    }
    own->middle_x_m = 0.5f * (low_x + high_x);
    own->middle_y_m = 0.5f * (low_y + high_y);
    own->half_x_m = 0.5f * (high_x - low_x);
    own->half_y_m = 0.5f * (high_y - low_y);
}

/* ---- two agents ---- */

/* Whether a vehicle is so far from the rectangle around an agent's corridor that it cannot overlap the corridor. */
static bool is_far(const drv_world *world, const drv_driven *own, int32_t other) {
    const float reach_m = world->scene->radius_m[other] + drv_corner_margin_m(&own->corridor) + drv_rounding_m;
    return fabsf(world->x_m[other] - own->middle_x_m) > own->half_x_m + reach_m ||
           fabsf(world->y_m[other] - own->middle_y_m) > own->half_y_m + reach_m;
}

static bool is_oncoming(const drv_world *world, int32_t agent, int32_t other) {
    const float turn_cos = world->cos_heading[agent] * world->cos_heading[other] +
                           world->sin_heading[agent] * world->sin_heading[other];
    return turn_cos < oncoming_cos && drv_forecast_m(world->speed_mps[other]) > 0.0f;
}

/* Whether an agent can still stop behind a vehicle ahead if it drives on for one more step and both then brake hard.
 * Needed because the intelligent driver model brakes late for a vehicle far ahead that begins to brake hard. */
static bool stops_behind(const drv_driven *own, drv_lead lead, float dt_s) {
    const float speed_mps = own->follower.speed_mps, twice_mps2 = 2.0f * drv_yielding_mps2;
    return speed_mps * (speed_mps + twice_mps2 * dt_s) <=
           lead.speed_mps * lead.speed_mps + twice_mps2 * (lead.gap_m - least_gap_m);
}

/* Keeps the gap to another vehicle if it is ahead; returns whether it is, in the direction of the path. */
static bool follows(const drv_world *world, drv_driven *own, int32_t agent, int32_t other) {
    drv_lead lead;
    if (is_far(world, own, other) || is_oncoming(world, agent, other)) return false;
    if (!drv_corridor_lead(world, &own->corridor, other, &lead)) return false;
    const float before_mps2 = own->follower.acceleration_mps2;
    drv_keep_gap(&own->follower, lead.gap_m, lead.speed_mps);
    if (!stops_behind(own, lead, world->scene->dt_s))
        own->follower.acceleration_mps2 = -own->follower.driver.hardest_braking_mps2;
    const bool is_agent = other < world->scene->num_agents && drives(world, other);
    if (own->follower.acceleration_mps2 < before_mps2) {
        own->leads = is_agent ? other : -1;
        own->lead_gap_m = lead.gap_m;
    }
    if (!is_agent) own->reach_m = drv_smaller(own->reach_m, lead.gap_m + reach_s * lead.speed_mps);
    return lead.turn_cos > drv_stream_cos;
}

/* Stops an agent at lights, and at stop signs where it has not stopped yet. */
static void obey(const drv_world *world, const drv_lane_driver *driver, int32_t agent) {
    const drv_scene *scene = world->scene;
    const drv_stop_lines *lines = &driver->stop_lines;
    if (!drv_has_traffic_controls(world) || lines->count == 0) return;
    drv_driven *own = &driver->driven[agent];
    const int32_t path = own->path;
    const float front_m = own->path_m + own->corridor.half_length_m, speed_mps = own->follower.speed_mps;
    for (int32_t i = lines->start[path]; i < lines->start[path + 1]; i++) {
        const float gap_m = lines->at_m[i] - front_m;
        const int32_t control = lines->control[i];
        if (!(gap_m > 0.0f && gap_m <= own->corridor.length_m)) continue;
        if (scene->has_height && drv_differs_in_level(world, world->z_m[agent], scene->control_z_m[control])) continue;
        const uint8_t kind = scene->control_kind[control];
        const bool stops_for_light =
            kind == DRV_TRAFFIC_LIGHT &&
            drv_light_holds(world->light_state[control], drv_agent_idm.hardest_braking_mps2, speed_mps, gap_m);
        const bool stops_for_sign = kind == DRV_STOP_SIGN && !world->stopped_at_sign[agent];
        if (!stops_for_light && !stops_for_sign) continue;
        drv_keep_gap(&own->follower, gap_m, 0.0f);
        own->reach_m = drv_smaller(own->reach_m, gap_m);
    }
}

/* Finds the zone that an agent is in, and the next one. */
static void find_zones(const drv_world *world, const drv_lane_driver *driver, int32_t agent) {
    drv_driven *own = &driver->driven[agent];
    own->zone_gap_m = own->zone_exit_m = INFINITY;
    own->inside_m = -1.0f;
    own->zone_yields = false;
    const drv_zones *zones = &driver->zones;
    const bool has_lines = drv_has_traffic_controls(world) && driver->stop_lines.count > 0;
    const int32_t path = own->path;
    const float front_m = own->path_m + own->corridor.half_length_m, length_m = own->follower.length_m;
    for (int32_t zone = driver->zone_start[path]; zone < driver->zone_start[path + 1]; zone++) {
        const float start_m = has_lines ? driver->stop_lines.zone_start_m[zone] : zones->enter_m[zone];
        const float exit_m = zones->leave_m[zone] + length_m - front_m;
        if (exit_m < 0.0f) continue;
        if (start_m <= front_m) {
            own->inside_m = exit_m;
            continue;
        }
        own->zone_gap_m = start_m - front_m;
        own->zone_exit_m = exit_m;
        own->zone_yields = has_lines && driver->stop_lines.zone_yields[zone];
        return;
    }
}

/* Finds the distance that the front of an agent can drive before it is blocked by something that stands ahead of the
 * agent, or ahead of the agents that it follows. */
static void find_reach(const drv_world *world, drv_lane_driver *driver, int32_t agent) {
    float way_m = 0.0f, reach_m = INFINITY;
    int32_t at = agent;
    for (int32_t turn = 0; turn < world->scene->num_agents; turn++) {
        const drv_driven *own = &driver->driven[at];
        reach_m = drv_smaller(reach_m, way_m + own->reach_m);
        if (own->leads < 0) break;
        const drv_driven *lead = &driver->driven[own->leads];
        way_m += own->lead_gap_m;
        if (lead->follower.speed_mps < drv_rests_below_mps) {
            reach_m = drv_smaller(reach_m, way_m);
            break;
        }
        way_m += lead->follower.length_m;
        at = own->leads;
    }
    driver->driven[agent].way_m = reach_m;
}

/* How far the front of an agent drives until its rear has left the zone that it is in, or the next one if that is as
 * near as it looks ahead; -1 if there is neither. */
static float zone_end_m(const drv_driven *own) {
    return own->zone_gap_m <= own->corridor.length_m ? own->zone_exit_m : own->inside_m;
}

/* The number of points of a window, from the first one of a corridor on and at most `most`, that the front of its agent
 * reaches if it drives `front_m`. */
static int32_t points_up_to(const drv_corridor *corridor, float front_m, int32_t most) {
    const float from_first_m = front_m + corridor->half_length_m - corridor->first_m;
    const int32_t points = (int32_t)(from_first_m / drv_path_pitch_m) + 1;
    return points < 0 ? 0 : points < most ? points : most;
}

/* Keeps an agent out of a zone that it could not leave, and sets the points of its corridor that its front can be
 * at. */
static void claim(drv_lane_driver *driver, int32_t agent) {
    drv_driven *own = &driver->driven[agent];
    const drv_corridor *corridor = &own->corridor;
    drv_follower *follower = &own->follower;
    float way_m = own->way_m;
    if (own->zone_gap_m < INFINITY && way_m < own->zone_exit_m + follower->driver.min_gap_m &&
        drv_can_stop(follower, own->zone_gap_m)) {
        /* farther away, the vehicles ahead may still make room */
        if (own->zone_gap_m <= drv_decides_m(follower)) drv_keep_gap(follower, own->zone_gap_m, 0.0f);
        way_m = drv_smaller(way_m, own->zone_gap_m);
    }
    own->claimed = points_up_to(corridor, drv_smaller(way_m, corridor->length_m), corridor->count);
    const float end_m = drv_larger(corridor->length_m, zone_end_m(own));
    /* past its goal, an agent may be beyond the first point of its window */
    const int32_t left = driver->window.point_start[agent + 1] - corridor->first;
    own->claimed_head_on = points_up_to(corridor, drv_smaller(way_m, end_m), left);
    own->led_mps2 = follower->acceleration_mps2;
    own->waits_for = own->leads;
    own->yields = false;
}

/* ---- all ---- */

/* Lowers the acceleration of an agent to what the vehicles near it allow, and the accelerations of the agents of higher
 * index that are behind it to what it allows. Pairs of agents of which none is ahead are left to the precedence. */
static void react(const drv_world *world, drv_scratch *scratch, drv_lane_driver *driver, int32_t agent, float reach_m) {
    drv_driven *own = &driver->driven[agent];
    uint64_t *pairs = driver->pairs + agent * driver->pair_words;
    const int32_t near =
        drv_corridor_near(world, &scratch->on_map, agent, &own->corridor, reach_m, driver->near);
    for (int32_t i = 0; i < near; i++) {
        const int32_t other = scratch->on_map.vehicle[driver->near[i]];
        if (drv_is_apart(world, agent, other)) continue;
        if (other < world->scene->num_agents && drives(world, other)) {
            if (other < agent) continue; /* `react` has handled the pair for the other one */
            const bool is_behind = follows(world, own, agent, other);
            const bool is_ahead = follows(world, &driver->driven[other], other, agent);
            if (!is_behind && !is_ahead) pairs[other / 64] |= (uint64_t)1 << (other % 64);
            continue;
        }
        drv_crossing crossing;
        if (!follows(world, own, agent, other) && drv_corridor_crossing(world, &own->corridor, other, &crossing) &&
            drv_yields_to(&own->follower, &crossing))
            drv_keep_gap(&own->follower, crossing.gap_m, 0.0f);
    }
}

/* The wheel angle by pure pursuit (Coulter 1992) of a point ahead, on the arc of the kinematic bicycle. */
static float pursuit_steering(const drv_world *world, const drv_lane_driver *driver, int32_t agent) {
    const drv_paths *window = &driver->window;
    const float time_s = drv_larger(aim_s, 2.0f * world->scene->dt_s), turn_rad = first_turn_rad(world, agent);
    const bool is_coarse =
        turn_rad > (is_between_lanes(world, driver, agent) ? coarse_change_rad : coarse_turn_rad);
    const float farthest_m = is_coarse ? coarse_aim_m : farthest_aim_m;
    const float aim_m = drv_clip(time_s * world->speed_mps[agent], nearest_aim_m, farthest_m);
    const drv_path_place place = drv_path_place_at(window, agent, driver->driven[agent].ahead_m + aim_m);
    const float dx = drv_between(window->x_m, place) - world->x_m[agent];
    const float dy = drv_between(window->y_m, place) - world->y_m[agent];
    const float away_m = drv_larger(0.1f, sqrtf(dx * dx + dy * dy));
    const float cosine = world->cos_heading[agent], sine = world->sin_heading[agent];
    const float aim_cos = (dx * cosine + dy * sine) / away_m, aim_sin = (dy * cosine - dx * sine) / away_m;
    /* The centre departs at the sideslip angle, tan(sideslip) = tan(steering) / 2, on an arc of curvature
     * 2 sin(sideslip) / wheelbase. It meets the aim where sin(bearing - sideslip) = distance sin(sideslip) /
     * wheelbase. The bounds of 0.1 m, here and above, keep the quotients finite. */
    const float wheelbase_m = drv_wheelbase_share * world->scene->length_m[agent];
    const float steering_rad =
        drv_arc_tangent(2.0f * wheelbase_m * aim_sin / drv_larger(0.1f, away_m + wheelbase_m * aim_cos));
    /* At high speed one step with the first bin turns the agent by more than a long arc needs, and the angle of that
     * arc would be rounded to 0. So use the first bin where the heading after the step is nearer to the aim with it. */
    const float bin_rad = first_bin_rad(world, agent);
    if (!(is_coarse && fabsf(steering_rad) < bin_rad)) return steering_rad;
    return fabsf(aim_sin) > 0.5f * turn_rad ? (aim_sin > 0.0f ? bin_rad : -bin_rad) : 0.0f;
}

/* The acceleration of an agent; braking ends at rest, also where the config allows reverse. */
static float acceleration_of(const drv_world *world, const drv_lane_driver *driver, int32_t agent) {
    const drv_driven *own = &driver->driven[agent];
    const float dt_s = world->scene->dt_s, speed_mps = own->follower.speed_mps;
    const float allowed_mps = drv_path_speed(&driver->window, agent, own->ahead_m + drv_larger(0.0f, speed_mps * dt_s));
    const float bounded_mps2 = drv_bounded_acceleration(&own->follower, allowed_mps, dt_s);
    /* At low speed little deceleration is left, which bins of discrete actions round to 0: the vehicle would creep
     * on. */
    if (speed_mps < creep_mps && bounded_mps2 < 0.0f && world->config->min_speed_mps >= 0.0f)
        return -own->follower.driver.hardest_braking_mps2;
    return drv_larger(bounded_mps2, -speed_mps / dt_s);
}

void drv_lane_driver_drive(const drv_world *world, drv_scratch *scratch, drv_lane_driver *driver,
                           float *acceleration_mps2, float *steering_rad) {
    /* where each agent is on its path, and what lights, signs and zones are ahead */
    const int32_t agents = world->scene->num_agents;
    const int32_t standing = list_standing(world, driver->standing);
    float reach_m = drv_longest_forecast_m(world, world->scene->vehicle_count);
    drv_on_map_list(world, scratch);
    for (int32_t agent = 0; agent < agents; agent++) {
        if (!drives(world, agent)) continue;
        drv_driven *own = &driver->driven[agent];
        const float speed_mps = world->speed_mps[agent], look_ahead_m = drv_look_ahead_m(speed_mps);
        float shift_m;
        drv_path_choose(world, scratch, driver, agent);
        drv_overtaking_choose(world, scratch, driver, agent);
        own->ahead_m = fill_window(world, driver, agent, standing, &shift_m);
        own->corridor = drv_corridor_of(world, &driver->window, agent, own->ahead_m, agent, look_ahead_m);
        own->corridor.shift_m = shift_m;
        bound_corridor(&driver->window, own);
        own->top_mps = drv_larger(drv_min_desired_mps, drv_path_speed(&driver->window, agent, own->ahead_m));
        /* it accelerates until it has the speed of the path, see acceleration_of */
        own->follower = drv_follower_of(drv_agent_idm, speed_mps, INFINITY, world->scene->length_m[agent]);
        own->reach_m = INFINITY;
        own->leads = -1;
        own->is_released = false;
        obey(world, driver, agent);
        find_zones(world, driver, agent);
        reach_m = drv_larger(reach_m, look_ahead_m);
    }

    /* what the others allow */
    for (int32_t i = 0; i < agents * driver->pair_words; i++) driver->pairs[i] = 0;
    for (int32_t agent = 0; agent < agents; agent++)
        if (drives(world, agent)) react(world, scratch, driver, agent, reach_m);
    drv_path_choice_react(world, driver);
    for (int32_t agent = 0; agent < agents; agent++)
        if (drives(world, agent)) find_reach(world, driver, agent);
    for (int32_t agent = 0; agent < agents; agent++)
        if (drives(world, agent)) claim(driver, agent);
    drv_precedence_settle(world, driver);

    /* the controls */
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        const bool has_controls = agent < agents && drives(world, agent);
        acceleration_mps2[agent] = has_controls ? acceleration_of(world, driver, agent) : 0.0f;
        steering_rad[agent] = has_controls ? pursuit_steering(world, driver, agent) : 0.0f;
    }
}
