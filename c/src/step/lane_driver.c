/* Which controls keep agents on their paths and clear of each other? */
#include "step/lane_driver.h"

#include <math.h>

#include "math/bits.h"
#include "math/geometry.h"
#include "step/dynamics.h"
#include "step/height.h"
#include "step/on_map.h"
#include "step/path_crossing.h"
#include "step/path_nearest.h"
#include "step/path_place.h"
#include "step/respawn.h"

/* Quicker than rule-based vehicles: an agent has to reach its goal within the trial. */
static const drv_idm agent_idm = {1.5f, 0.8f, 2.5f, 2.5f, 5.0f};
/* Points at which the path leads against the agent's heading count as farther away: twice this, 144 m2, is added to
 * their squared distance, as if they were 12 m away. So the place of an agent on a path that crosses itself is on the
 * part that it drives along. */
static const float wrong_way_m2 = 72.0f;
/* The aim of pure pursuit is this time ahead, and at least two steps, within bounds: below 4 m, 13 steering bins make a
 * car weave; above 20 m, it cuts bends. */
static const float aim_s = 0.6f, nearest_aim_m = 4.0f, farthest_aim_m = 20.0f;
/* Vehicles that will not drive on are passed on the left: lateral gap, and length of the ramp by which the path gets
 * there. */
static const float passing_gap_m = 0.6f, passing_ramp_m = 10.0f;
/* Points behind an agent at which a vehicle still moves its path. */
enum { PASSED_POINTS = 8 };
/* Where two paths leave a smaller gap between the vehicles on them, one of the vehicles waits, whatever the directions
 * of the paths. */
static const float path_gap_m = 0.4f, any_cos = 2.0f;
/* An agent that waits goes this long after the other one has left. */
static const float clearance_s = 0.5f;
/* An agent that moves in the opposite direction, within 45 degrees, is not followed. */
static const float oncoming_cos = -0.7f;

static bool drives(const drv_world *world, int32_t agent) { return world->status[agent] == DRV_DRIVING; }

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
    const int32_t start = paths->point_start[drv_start_of(world, agent)];
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

/* Fills in the window of an agent, from the point of its path at or behind it on; returns the agent's place there.
 * Writes by how much points were moved, at most. */
static float fill_window(const drv_world *world, drv_lane_driver *driver, int32_t agent, int32_t standing,
                         float *shift_m) {
    /* the place on the path */
    const drv_paths *paths = &driver->paths;
    drv_paths *window = &driver->window;
    const drv_point at = {world->x_m[agent], world->y_m[agent]};
    const drv_point ahead = {world->cos_heading[agent], world->sin_heading[agent]};
    const int32_t path = drv_start_of(world, agent);
    const int32_t start = paths->point_start[path], end = paths->point_start[path + 1] - DRV_WINDOW_POINTS;
    const int32_t nearest = drv_path_nearest(paths, start, end, at, ahead, wrong_way_m2);
    const float point_m = (float)(nearest - start) * drv_path_pitch_m;
    const float path_m = drv_larger(0.0f, point_m + drv_path_offset_from(paths, nearest, at).along_m);
    const int32_t behind = start + (int32_t)(path_m / drv_path_pitch_m), first = behind < end ? behind : end;

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
    if (is_blocked) shift_window(window, to, left_m);
    *shift_m = 0.0f;
    for (int32_t i = 0; i < DRV_WINDOW_POINTS; i++) *shift_m = drv_larger(*shift_m, left_m[i]);
    return path_m - (float)(first - start) * drv_path_pitch_m;
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

/* Tests DRV_WIDTH points of a window from `first` on. Bit i: point `first` + i is within a distance of the rectangle
 * around an agent's corridor; only such points can be within that distance of a point of the corridor. */
static uint32_t bits_near(const drv_paths *window, int32_t first, const drv_driven *other, float distance_m) {
    const float reach_m = distance_m + drv_rounding_m;
    const drv_floats x = drv_load(window->x_m + first) - drv_splat(other->middle_x_m);
    const drv_floats y = drv_load(window->y_m + first) - drv_splat(other->middle_y_m);
    return drv_movemask(drv_mask_le(drv_abs(x), drv_splat(other->half_x_m + reach_m)) &
                        drv_mask_le(drv_abs(y), drv_splat(other->half_y_m + reach_m)));
}

/* The part of an agent's corridor from the first point to the last that is too near to another corridor; last is -1
 * where none is. */
typedef struct crossed_part {
    int32_t first, last;
} crossed_part;

/* Extends these parts of two corridors by a point of the first and the points of the second that are too near to it. */
static void extend_crossing(const drv_paths *window, const drv_corridor *own, int32_t point, const drv_corridor *other,
                            float distance_m, crossed_part *own_part, crossed_part *other_part) {
    for (int32_t k = 0; k < other->count; k += DRV_WIDTH) {
        const uint32_t bits = drv_crossing_bits(window, own->first + point, window, other->first + k,
                                                other->first + other->count - 1, distance_m, any_cos);
        if (!bits) continue;
        const int32_t low = k + drv_lowest_bit(bits), high = k + drv_highest_bit(bits);
        if (own_part->last < 0) own_part->first = point;
        own_part->last = point;
        if (low < other_part->first) other_part->first = low;
        if (high > other_part->last) other_part->last = high;
    }
}

/* Finds these parts of the corridors of two agents. */
static void find_crossing(const drv_paths *window, const drv_driven *own, const drv_driven *other, float distance_m,
                          crossed_part *own_part, crossed_part *other_part) {
    *own_part = *other_part = (crossed_part){DRV_WINDOW_POINTS, -1};
    const drv_corridor *corridor = &own->corridor;
    for (int32_t first = 0; first < corridor->count; first += DRV_WIDTH)
        for (uint32_t bits = bits_near(window, corridor->first + first, other, distance_m); bits; bits &= bits - 1) {
            const int32_t point = first + drv_lowest_bit(bits);
            if (point >= corridor->count) break; /* past the end of the corridor */
            extend_crossing(window, corridor, point, &other->corridor, distance_m, own_part, other_part);
        }
}

/* When an agent would be on the crossed part of its corridor, if nothing stopped it. */
typedef struct passage {
    float gap_m; /* from its front */
    float arrive_s, leave_s;
} passage;

static passage passage_of(const drv_driven *own, crossed_part part) {
    const drv_follower *follower = &own->follower;
    const float front_m = own->corridor.first_m - own->corridor.half_length_m;
    const float gap_m = front_m + (float)(part.first - 1) * drv_path_pitch_m; /* it may begin before the point */
    const float leave_m = front_m + (float)part.last * drv_path_pitch_m + follower->length_m;
    const float speed_mps = drv_larger(0.0f, follower->speed_mps);
    return (passage){gap_m, drv_idm_travel_time_s(follower->driver, speed_mps, own->top_mps, gap_m),
                     drv_idm_travel_time_s(follower->driver, speed_mps, own->top_mps, leave_m)};
}

/* Stops the agent that arrives second where two paths cross, unless the other has left by then. Of two that arrive
 * together, that of the lower index goes first. */
static void yield_to_first(const drv_world *world, drv_lane_driver *driver, int32_t agent, int32_t other) {
    /* when each is where the paths cross */
    drv_driven *a = &driver->driven[agent], *b = &driver->driven[other];
    const float *width_m = world->scene->width_m;
    crossed_part a_part, b_part;
    const float apart_m = 0.5f * (width_m[agent] + width_m[other]) + path_gap_m;
    find_crossing(&driver->window, a, b, drv_larger(drv_min_crossing_distance_m, apart_m), &a_part, &b_part);
    if (a_part.last < 0) return;
    const passage of_a = passage_of(a, a_part), of_b = passage_of(b, b_part);

    /* the second one waits */
    const bool a_goes_first = of_a.arrive_s <= of_b.arrive_s;
    drv_driven *second = a_goes_first ? b : a;
    const passage later = a_goes_first ? of_b : of_a, earlier = a_goes_first ? of_a : of_b;
    if (later.arrive_s < earlier.leave_s + clearance_s) drv_keep_gap(&second->follower, later.gap_m, 0.0f);
}

static bool is_oncoming(const drv_world *world, int32_t agent, int32_t other) {
    const float turn_cos = world->cos_heading[agent] * world->cos_heading[other] +
                           world->sin_heading[agent] * world->sin_heading[other];
    return turn_cos < oncoming_cos && drv_forecast_m(world->speed_mps[other]) > 0.0f;
}

/* Keeps the gap to another vehicle if it is ahead; returns whether it is. */
static bool follows(const drv_world *world, drv_driven *own, int32_t agent, int32_t other) {
    drv_lead lead;
    if (is_far(world, own, other) || is_oncoming(world, agent, other)) return false;
    if (!drv_corridor_lead(world, &own->corridor, other, &lead)) return false;
    drv_keep_gap(&own->follower, lead.gap_m, lead.speed_mps);
    return true;
}

/* ---- all ---- */

/* Lowers the acceleration of an agent to what the vehicles near it allow, and the accelerations of the agents of higher
 * index to what this agent allows. */
static void react(const drv_world *world, drv_scratch *scratch, drv_lane_driver *driver, int32_t agent, float reach_m) {
    drv_driven *own = &driver->driven[agent];
    const int32_t near =
        drv_corridor_near(world, &scratch->on_map, agent, &own->corridor, reach_m, driver->near);
    for (int32_t i = 0; i < near; i++) {
        const int32_t other = scratch->on_map.vehicle[driver->near[i]];
        if (drv_is_apart(world, agent, other)) continue;
        if (other < world->scene->num_agents && drives(world, other)) {
            if (other < agent) continue; /* the pair was considered there */
            const bool is_behind = follows(world, own, agent, other);
            const bool is_ahead = follows(world, &driver->driven[other], other, agent);
            if (!is_behind && !is_ahead) yield_to_first(world, driver, agent, other);
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
    const float time_s = drv_larger(aim_s, 2.0f * world->scene->dt_s);
    const float aim_m = drv_clip(time_s * world->speed_mps[agent], nearest_aim_m, farthest_aim_m);
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
    return drv_arc_tangent(2.0f * wheelbase_m * aim_sin / drv_larger(0.1f, away_m + wheelbase_m * aim_cos));
}

/* The acceleration of an agent; braking ends at rest, also where the config allows reverse. */
static float acceleration_of(const drv_world *world, const drv_lane_driver *driver, int32_t agent) {
    const drv_driven *own = &driver->driven[agent];
    const float dt_s = world->scene->dt_s, speed_mps = own->follower.speed_mps;
    const float allowed_mps = drv_path_speed(&driver->window, agent, own->ahead_m + drv_larger(0.0f, speed_mps * dt_s));
    return drv_larger(drv_bounded_acceleration(&own->follower, allowed_mps, dt_s), -speed_mps / dt_s);
}

void drv_lane_driver_drive(const drv_world *world, drv_scratch *scratch, drv_lane_driver *driver,
                           float *acceleration_mps2, float *steering_rad) {
    /* where each is on its path */
    const int32_t agents = world->scene->num_agents;
    const int32_t standing = list_standing(world, driver->standing);
    float reach_m = drv_longest_forecast_m(world, world->scene->vehicle_count);
    drv_on_map_list(world, scratch);
    for (int32_t agent = 0; agent < agents; agent++) {
        if (!drives(world, agent)) continue;
        drv_driven *own = &driver->driven[agent];
        const float speed_mps = world->speed_mps[agent], look_ahead_m = drv_look_ahead_m(speed_mps);
        float shift_m;
        own->ahead_m = fill_window(world, driver, agent, standing, &shift_m);
        own->corridor = drv_corridor_of(world, &driver->window, agent, own->ahead_m, agent, look_ahead_m);
        own->corridor.shift_m = shift_m;
        bound_corridor(&driver->window, own);
        own->top_mps = drv_larger(drv_min_desired_mps, drv_path_speed(&driver->window, agent, own->ahead_m));
        /* it accelerates until it has the speed of the path, see acceleration_of */
        own->follower = drv_follower_of(agent_idm, speed_mps, INFINITY, world->scene->length_m[agent]);
        reach_m = drv_larger(reach_m, look_ahead_m);
    }

    /* what the others allow */
    for (int32_t agent = 0; agent < agents; agent++)
        if (drives(world, agent)) react(world, scratch, driver, agent, reach_m);

    /* the controls */
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        const bool has_controls = agent < agents && drives(world, agent);
        acceleration_mps2[agent] = has_controls ? acceleration_of(world, driver, agent) : 0.0f;
        steering_rad[agent] = has_controls ? pursuit_steering(world, driver, agent) : 0.0f;
    }
}
