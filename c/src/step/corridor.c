/* Which vehicles are in the way of one that follows a path? Those whose boxes overlap the corridor along it. */
#include "step/corridor.h"
#include "step/height.h"
#include "step/vehicle_box.h"

#include <math.h>

#include "math/bits.h"
#include "math/geometry.h"
#include "math/vector.h"

/* Lateral gap without which a vehicle does not pass another. */
static const float side_gap_m = 0.3f;
/* How far a vehicle looks ahead: the distance that it drives in look_ahead_s, but at least min_look_ahead_m. */
static const float look_ahead_s = 4.0f, min_look_ahead_m = 20.0f;
/* Vehicles that follow no known path are forecast for this time if they are faster than moving_mps. They cross a path
 * if the cosine of the angle between their heading and the path is at most crossing_cos. */
static const float forecast_s = 3.0f, moving_mps = 0.5f, crossing_cos = 0.7f;

float drv_look_ahead_m(float speed_mps) { return drv_larger(min_look_ahead_m, look_ahead_s * speed_mps); }

drv_corridor drv_corridor_of(const drv_world *world, const drv_paths *paths, int32_t path, float path_m,
                             int32_t vehicle, float length_m) {
    const int32_t start = paths->point_start[path], last = drv_path_points(paths, path) - 1;
    int32_t first = (int32_t)(path_m / drv_path_pitch_m);
    if (first > last) first = last;
    int32_t count = (int32_t)(length_m / drv_path_pitch_m) + 2;
    if (count > last - first + 1) count = last - first + 1;
    return (drv_corridor){.paths = paths,
                          .centre = {world->x_m[vehicle], world->y_m[vehicle]},
                          .first = start + first,
                          .count = count,
                          .first_m = (float)first * drv_path_pitch_m - path_m,
                          .length_m = length_m,
                          .half_width_m = 0.5f * world->scene->width_m[vehicle] + side_gap_m,
                          .half_length_m = 0.5f * world->scene->length_m[vehicle]};
}

float drv_forecast_m(float speed_mps) { return speed_mps > moving_mps ? forecast_s * speed_mps : 0.0f; }

float drv_longest_forecast_m(const drv_world *world, int32_t end) {
    float fastest_mps = 0.0f;
    for (int32_t vehicle = 0; vehicle < end; vehicle++)
        if (world->present[vehicle]) fastest_mps = drv_larger(fastest_mps, world->speed_mps[vehicle]);
    return drv_forecast_m(fastest_mps);
}

/* ---- vehicles near it ---- */

/* The square of the distance from a corridor's vehicle within which other vehicles are near. */
static float reach_m2_of(const drv_world *world, const drv_corridor *corridor, float forecast_m) {
    const float reach_m =
        corridor->length_m + corridor->half_width_m + world->scene->largest_radius_m + forecast_m;
    return reach_m * reach_m;
}

/* Appends entry `first` + i of on_map for each bit i that is set, but not that of the corridor's vehicle; returns the
 * number of entries. */
static int32_t append_near(const drv_on_map *on_map, int32_t first, uint32_t bits, int32_t vehicle, int32_t *near,
                           int32_t count) {
    for (; bits; bits &= bits - 1) {
        const int32_t index = first + drv_lowest_bit(bits);
        if (index < on_map->count && on_map->vehicle[index] != vehicle) near[count++] = index;
    }
    return count;
}

int32_t drv_corridor_near(const drv_world *world, const drv_on_map *on_map, int32_t vehicle,
                          const drv_corridor *corridor, float forecast_m, int32_t *near) {
    const float reach_m2 = reach_m2_of(world, corridor, forecast_m);
    const drv_floats x_m = drv_splat(corridor->centre.x), y_m = drv_splat(corridor->centre.y);
    int32_t count = 0;
    for (int32_t first = 0; first < on_map->count; first += DRV_WIDTH) {
        const drv_floats distance2 = drv_squared_distances(on_map->x_m + first, on_map->y_m + first, x_m, y_m);
        count = append_near(on_map, first, drv_movemask_le(distance2, reach_m2), vehicle, near, count);
    }
    return count;
}

void drv_corridor_forecast(const drv_world *world, drv_scratch *scratch) {
    const drv_forecast *out = &scratch->forecast;
    const int32_t count = scratch->on_map.count, rule_first = drv_scene_rule_first(world->scene);
    const int32_t rule_end = rule_first + world->scene->rule_based_count;
    for (int32_t i = 0; i < count; i++) {
        const int32_t vehicle = scratch->on_map.vehicle[i];
        const bool follows_path = vehicle >= rule_first && vehicle < rule_end;
        const float half_m = follows_path ? 0.0f : 0.5f * drv_forecast_m(world->speed_mps[vehicle]);
        out->x_m[i] = world->x_m[vehicle] + half_m * world->cos_heading[vehicle];
        out->y_m[i] = world->y_m[vehicle] + half_m * world->sin_heading[vehicle];
        out->radius_m[i] = world->scene->radius_m[vehicle] + half_m;
    }
    for (int32_t i = count; i < count + DRV_SIMD_PAD; i++) out->x_m[i] = out->y_m[i] = out->radius_m[i] = 0.0f;
}

/* A rectangle in the frame of a corridor's vehicle that contains its centre and all points of the corridor. */
typedef struct corridor_box {
    drv_point origin, ahead; /* the frame */
    float ahead_m, left_m;   /* the middle of the rectangle */
    float half_ahead_m, half_left_m;
} corridor_box;

/* Returns the middle of the range from the lowest element of one vector to the highest of another; writes half its
 * length. */
static float range_middle(drv_floats low_m, drv_floats high_m, float *half_m) {
    float low = low_m[0], high = high_m[0];
    for (int32_t i = 1; i < DRV_WIDTH; i++) {
        low = drv_smaller(low, low_m[i]);
        high = drv_larger(high, high_m[i]);
    }
    *half_m = 0.5f * (high - low);
    return 0.5f * (high + low);
}

static corridor_box corridor_box_of(const drv_world *world, const drv_corridor *corridor, int32_t vehicle) {
    corridor_box out = {.origin = corridor->centre,
                        .ahead = {world->cos_heading[vehicle], world->sin_heading[vehicle]}};
    const drv_paths *paths = corridor->paths;
    const drv_floats x_m = drv_splat(out.origin.x), y_m = drv_splat(out.origin.y);
    const drv_floats cosine = drv_splat(out.ahead.x), sine = drv_splat(out.ahead.y);
    drv_floats lowest_ahead = drv_splat(0.0f), highest_ahead = lowest_ahead;
    drv_floats lowest_left = lowest_ahead, highest_left = lowest_ahead;
    for (int32_t i = 0; i < corridor->count; i += DRV_WIDTH) {
        const drv_floats x = drv_load(paths->x_m + corridor->first + i) - x_m;
        const drv_floats y = drv_load(paths->y_m + corridor->first + i) - y_m;
        /* points past the end of the corridor count as the vehicle's centre */
        const drv_ints inside = drv_iota(i) < corridor->count;
        const drv_floats ahead = (drv_floats)((drv_ints)(x * cosine + y * sine) & inside);
        const drv_floats left = (drv_floats)((drv_ints)(y * cosine - x * sine) & inside);
        lowest_ahead = drv_min(lowest_ahead, ahead);
        highest_ahead = drv_max(highest_ahead, ahead);
        lowest_left = drv_min(lowest_left, left);
        highest_left = drv_max(highest_left, left);
    }
    out.ahead_m = range_middle(lowest_ahead, highest_ahead, &out.half_ahead_m);
    out.left_m = range_middle(lowest_left, highest_left, &out.half_left_m);
    return out;
}

int32_t drv_corridor_candidates(const drv_world *world, drv_scratch *scratch, int32_t vehicle,
                                const drv_corridor *corridor, float forecast_m) {
    /* the rectangle, grown by as much as first_overlap grows boxes, up to their corners */
    const corridor_box box = corridor_box_of(world, corridor, vehicle);
    const float margin_m = fabsf(corridor->left_m) + drv_corner_margin_m(corridor) + drv_rounding_m;
    const drv_floats x_m = drv_splat(box.origin.x), y_m = drv_splat(box.origin.y);
    const drv_floats cosine = drv_splat(box.ahead.x), sine = drv_splat(box.ahead.y);
    const drv_floats middle_ahead = drv_splat(box.ahead_m), middle_left = drv_splat(box.left_m);
    const drv_floats half_ahead = drv_splat(box.half_ahead_m + margin_m);
    const drv_floats half_left = drv_splat(box.half_left_m + margin_m);

    /* the vehicles near it whose circle meets the rectangle */
    const drv_on_map *on_map = &scratch->on_map;
    const drv_forecast *forecast = &scratch->forecast;
    const float reach_m2 = reach_m2_of(world, corridor, forecast_m);
    int32_t count = 0;
    for (int32_t first = 0; first < on_map->count; first += DRV_WIDTH) {
        const drv_floats distance2 = drv_squared_distances(on_map->x_m + first, on_map->y_m + first, x_m, y_m);
        const drv_floats x = drv_load(forecast->x_m + first) - x_m, y = drv_load(forecast->y_m + first) - y_m;
        const drv_floats radius = drv_load(forecast->radius_m + first);
        const drv_ints meets = drv_mask_le(drv_abs(x * cosine + y * sine - middle_ahead), half_ahead + radius) &
                               drv_mask_le(drv_abs(y * cosine - x * sine - middle_left), half_left + radius) &
                               drv_mask_le(distance2, drv_splat(reach_m2));
        count = append_near(on_map, first, drv_movemask(meets), vehicle, scratch->near, count);
    }
    return count;
}

/* ---- what is in the way ---- */

/* Returns the first point of a corridor within its half width of a box, counted from the first of the corridor; -1 if
 * there is none. The corners of the grown box are not rounded. */
static int32_t first_overlap(const drv_corridor *corridor, drv_box box, float radius_m) {
    const drv_paths *paths = corridor->paths;
    /* skip the points that are nearer to the first one along the path than the grown box is in a straight line: they
     * cannot be in it; both points may have been moved, and the corridor may be to the left of the path */
    const float dx_m = box.centre.x - paths->x_m[corridor->first], dy_m = box.centre.y - paths->y_m[corridor->first];
    const float moved_m = fabsf(corridor->left_m) + 2.0f * corridor->shift_m + drv_rounding_m;
    const float skipped_m = sqrtf(dx_m * dx_m + dy_m * dy_m) - radius_m - drv_corner_margin_m(corridor) - moved_m;

    /* the box, grown by half the width of the corridor */
    const float half_length_m = box.half_length_m + corridor->half_width_m;
    const float half_width_m = box.half_width_m + corridor->half_width_m;
    const drv_floats x_m = drv_splat(box.centre.x), y_m = drv_splat(box.centre.y);
    const drv_floats ahead_x = drv_splat(box.ahead.x), ahead_y = drv_splat(box.ahead.y);
    const drv_floats length2 = drv_splat(half_length_m * half_length_m);
    const drv_floats width2 = drv_splat(half_width_m * half_width_m);

    /* the points, DRV_WIDTH at a time */
    for (int32_t i = skipped_m > 0.0f ? (int32_t)(skipped_m / drv_path_pitch_m) : 0; i < corridor->count;
         i += DRV_WIDTH) {
        drv_floats x = drv_load(paths->x_m + corridor->first + i) - x_m;
        drv_floats y = drv_load(paths->y_m + corridor->first + i) - y_m;
        if (corridor->left_m != 0.0f) {
            x -= drv_splat(corridor->left_m) * drv_load(paths->sin_heading + corridor->first + i);
            y += drv_splat(corridor->left_m) * drv_load(paths->cos_heading + corridor->first + i);
        }
        const drv_floats along = x * ahead_x + y * ahead_y, across = y * ahead_x - x * ahead_y;
        const drv_ints inside = drv_mask_le(along * along, length2) & drv_mask_le(across * across, width2);
        /* points past the end of the corridor come after all others */
        const uint32_t bits = drv_movemask(inside);
        if (bits) {
            const int32_t found = i + drv_lowest_bit(bits);
            return found < corridor->count ? found : -1;
        }
    }
    return -1;
}

/* Whether a vehicle is on another level than a point of a path that has heights. */
static bool is_apart_at(const drv_world *world, const drv_corridor *corridor, int32_t point, int32_t vehicle) {
    const float *z_m = corridor->paths->z_m;
    return z_m && drv_differs_in_level(world, z_m[point], world->z_m[vehicle]);
}

bool drv_corridor_lead(const drv_world *world, const drv_corridor *corridor, int32_t other, drv_lead *out) {
    const drv_paths *paths = corridor->paths;
    const drv_box box = drv_vehicle_box(world, other);
    const int32_t found = first_overlap(corridor, box, world->scene->radius_m[other]);
    if (found < 0 || is_apart_at(world, corridor, corridor->first + found, other)) return false;

    /* project the box on the direction of the path there */
    const int32_t point = corridor->first + found;
    const drv_point along = {paths->cos_heading[point], paths->sin_heading[point]};
    const float to_point_m = corridor->first_m + (float)found * drv_path_pitch_m;
    const float centre_m = to_point_m + (box.centre.x - paths->x_m[point]) * along.x +
                           (box.centre.y - paths->y_m[point]) * along.y;
    if (!(centre_m > 0.0f)) return false; /* beside or behind: it is the other that follows */
    const float turn_cos = box.ahead.x * along.x + box.ahead.y * along.y;
    const float turn_sin = box.ahead.x * along.y - box.ahead.y * along.x;
    const float radius_m = box.half_length_m * fabsf(turn_cos) + box.half_width_m * fabsf(turn_sin);
    *out = (drv_lead){centre_m - radius_m - corridor->half_length_m,
                      drv_larger(0.0f, world->speed_mps[other] * turn_cos), turn_cos};
    return true;
}

bool drv_corridor_crossing(const drv_world *world, const drv_corridor *corridor, int32_t other, drv_crossing *out) {
    const float speed_mps = world->speed_mps[other], driven_m = drv_forecast_m(speed_mps);
    if (driven_m == 0.0f) return false;

    /* the box that the other sweeps in that time */
    const drv_paths *paths = corridor->paths;
    const drv_point ahead = {world->cos_heading[other], world->sin_heading[other]};
    const float half_length_m = 0.5f * world->scene->length_m[other];
    const drv_box swept = {{world->x_m[other] + 0.5f * driven_m * ahead.x,
                            world->y_m[other] + 0.5f * driven_m * ahead.y},
                           ahead,
                           half_length_m + 0.5f * driven_m,
                           0.5f * world->scene->width_m[other]};
    const int32_t found = first_overlap(corridor, swept, swept.half_length_m + swept.half_width_m);
    if (found < 0 || is_apart_at(world, corridor, corridor->first + found, other)) return false;
    const int32_t point = corridor->first + found;
    const float turn_cos = ahead.x * paths->cos_heading[point] + ahead.y * paths->sin_heading[point];
    if (fabsf(turn_cos) > crossing_cos) return false;

    /* when its box is on the path there */
    const float x_m = paths->x_m[point] - corridor->left_m * paths->sin_heading[point];
    const float y_m = paths->y_m[point] + corridor->left_m * paths->cos_heading[point];
    const float away_m = (x_m - world->x_m[other]) * ahead.x + (y_m - world->y_m[other]) * ahead.y;
    const float half_m = half_length_m + corridor->half_width_m;
    *out = (drv_crossing){corridor->first_m + (float)found * drv_path_pitch_m - corridor->half_length_m,
                          drv_larger(0.0f, away_m - half_m) / speed_mps, (away_m + half_m) / speed_mps};
    return out->gap_m > 0.0f && out->leave_s > 0.0f;
}
