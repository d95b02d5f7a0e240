/* Are the candidates of a corridor all vehicles that are in its way, and where are those in it? Against a test of every
 * vehicle on the map, and of every point of the corridor. */
#include "step/corridor.h"

#include <math.h>

#include "check.h"
#include "math/simd_pad.h"
#include "rng.h"
#include "step/on_map.h"

enum { POINTS = 60, VEHICLES = 40, CAPACITY = VEHICLES + DRV_SIMD_PAD, PATH_CAPACITY = POINTS + DRV_SIMD_PAD };
enum { AGENTS = 15, RULE_BASED = 15, OWN = AGENTS, STATIC = VEHICLES - AGENTS - RULE_BASED };

/* A world of one path and of vehicles about it, and the scratch memory of its corridor. */
typedef struct street {
    float path_x[PATH_CAPACITY], path_y[PATH_CAPACITY], path_cos[PATH_CAPACITY], path_sin[PATH_CAPACITY];
    float x_m[CAPACITY], y_m[CAPACITY], cosine[CAPACITY], sine[CAPACITY], speed_mps[CAPACITY];
    float length_m[VEHICLES], width_m[VEHICLES], radius_m[VEHICLES];
    uint8_t present[VEHICLES];
    float near_x[CAPACITY], near_y[CAPACITY], forecast_x[CAPACITY], forecast_y[CAPACITY], forecast_radius[CAPACITY];
    int32_t start[2], listed[CAPACITY], index[AGENTS], near[CAPACITY], candidate[CAPACITY];
    drv_scene scene;
    drv_paths paths;
    drv_world world;
    drv_scratch scratch;
} street;

static void put(street *in, int32_t vehicle, drv_point at, drv_point ahead) {
    in->x_m[vehicle] = at.x;
    in->y_m[vehicle] = at.y;
    in->cosine[vehicle] = ahead.x;
    in->sine[vehicle] = ahead.y;
}

/* A winding path, its vehicle at one of its points, and the others up to 100 m from it. */
static void draw_street(street *in, test_rng *rng) {
    *in = (street){0};

    /* the path */
    drv_point at = {(float)rng_between(rng, -3000, 3000), (float)rng_between(rng, -3000, 3000)};
    float heading_rad = (float)rng_between(rng, -3, 3), curvature = 0.0f;
    for (int32_t i = 0; i < POINTS; i++) {
        const drv_point ahead = drv_direction(heading_rad);
        in->path_x[i] = at.x;
        in->path_y[i] = at.y;
        in->path_cos[i] = ahead.x;
        in->path_sin[i] = ahead.y;
        at = (drv_point){at.x + drv_path_pitch_m * ahead.x, at.y + drv_path_pitch_m * ahead.y};
        if (i % 8 == 0) curvature = (float)rng_between(rng, -0.15, 0.15);
        heading_rad = drv_wrap_angle(heading_rad + curvature * drv_path_pitch_m);
    }

    /* the vehicles: agents, rule-based ones, and static ones, of which some are off the map */
    for (int32_t i = 0; i < VEHICLES; i++) {
        const drv_point by = {in->path_x[20] + (float)rng_between(rng, -100, 100),
                              in->path_y[20] + (float)rng_between(rng, -100, 100)};
        put(in, i, by, drv_direction((float)rng_between(rng, -3, 3)));
        in->speed_mps[i] = i < VEHICLES - STATIC ? (float)rng_between(rng, -2, 25) : 0.0f;
        in->length_m[i] = (float)rng_between(rng, 1, 12);
        in->width_m[i] = (float)rng_between(rng, 0.5, 3);
        in->radius_m[i] = 0.5f * hypotf(in->length_m[i], in->width_m[i]);
        in->scene.largest_radius_m = fmaxf(in->scene.largest_radius_m, in->radius_m[i]);
        in->present[i] = i == OWN || rng_below(rng, 8) > 0;
    }
    put(in, OWN, (drv_point){in->path_x[5], in->path_y[5]}, (drv_point){in->path_cos[5], in->path_sin[5]});

    /* the world, which refers to them, and what the corridors of a step share */
    in->start[1] = POINTS;
    in->paths = (drv_paths){.count = 1, .point_count = POINTS, .point_start = in->start, .x_m = in->path_x,
                            .y_m = in->path_y, .cos_heading = in->path_cos, .sin_heading = in->path_sin};
    in->scene.num_agents = AGENTS;
    in->scene.rule_based_count = RULE_BASED;
    in->scene.vehicle_count = VEHICLES;
    in->scene.length_m = in->length_m;
    in->scene.width_m = in->width_m;
    in->scene.radius_m = in->radius_m;
    in->world = (drv_world){.scene = &in->scene, .x_m = in->x_m, .y_m = in->y_m, .cos_heading = in->cosine,
                            .sin_heading = in->sine, .speed_mps = in->speed_mps, .present = in->present};
    in->scratch = (drv_scratch){
        .on_map = {.vehicle = in->listed, .index = in->index, .x_m = in->near_x, .y_m = in->near_y},
        .forecast = {in->forecast_x, in->forecast_y, in->forecast_radius}, .near = in->candidate};
    drv_on_map_list(&in->world, &in->scratch);
    drv_corridor_forecast(&in->world, &in->scratch);
}

static bool is_among(int32_t item, const int32_t *items, int32_t count) {
    for (int32_t i = 0; i < count; i++)
        if (items[i] == item) return true;
    return false;
}

/* Whether a vehicle is ahead in a corridor or, if it follows no known path, crosses it. */
static bool is_in_the_way(const street *in, const drv_corridor *corridor, int32_t vehicle) {
    drv_lead lead;
    drv_crossing crossing;
    const bool has_path = vehicle >= AGENTS && vehicle < AGENTS + RULE_BASED;
    return drv_corridor_lead(&in->world, corridor, vehicle, &lead) ||
           (!has_path && drv_corridor_crossing(&in->world, corridor, vehicle, &crossing));
}

TEST(candidates_are_all_vehicles_in_the_way_and_few_others) {
    static street in;
    test_rng rng = {3};
    int32_t in_the_way = 0, candidates = 0, all = 0;
    for (int32_t round = 0; round < 1000; round++) {
        draw_street(&in, &rng);
        const float path_m = 5.0f * drv_path_pitch_m, forecast_m = drv_forecast_m(25.0f);
        drv_corridor corridor =
            drv_corridor_of(&in.world, &in.paths, 0, path_m, OWN, (float)rng_between(&rng, 20, 100));
        corridor.left_m = round % 2 ? (float)rng_between(&rng, -4, 4) : 0.0f;
        const int32_t near =
            drv_corridor_near(&in.world, &in.scratch.on_map, OWN, &corridor, forecast_m, in.near);
        const int32_t count = drv_corridor_candidates(&in.world, &in.scratch, OWN, &corridor, forecast_m);
        for (int32_t i = 0; i < near; i++) {
            const int32_t vehicle = in.scratch.on_map.vehicle[in.near[i]];
            if (!is_in_the_way(&in, &corridor, vehicle)) continue;
            in_the_way++;
            CHECK(is_among(in.near[i], in.candidate, count), "round %d: vehicle %d", round, vehicle);
        }
        for (int32_t i = 0; i < count; i++)
            CHECK(is_among(in.candidate[i], in.near, near), "round %d: entry %d", round, in.candidate[i]);
        candidates += count;
        all += near;
    }
    CHECK(in_the_way > 500 && 5 * candidates < all, "%d, %d of %d", in_the_way, candidates, all);
}

/* ---- places ---- */

/* Moves points of the path to the left, as for a standing vehicle: up to 3.5 m, on a ramp of 10 m. */
static float shift_path(street *in, test_rng *rng) {
    const double middle = rng_between(rng, 5, 40), most_m = rng_between(rng, 0, 3.5);
    for (int32_t i = 0; i < POINTS; i++) {
        const double share = 1.0 - fabs(i - middle) * (double)drv_path_pitch_m / 10.0;
        const float left_m = (float)(most_m * (share > 0.0 ? share * share * (3.0 - 2.0 * share) : 0.0));
        in->path_x[i] -= left_m * in->path_sin[i];
        in->path_y[i] += left_m * in->path_cos[i];
    }
    return (float)most_m;
}

/* The first point of a corridor in a box, grown by the half width of the corridor; -1 for none, -2 if a millimetre
 * decides it. */
static int32_t first_inside(const drv_corridor *corridor, drv_point at, drv_point ahead, double half_length_m,
                            double half_width_m) {
    const drv_paths *paths = corridor->paths;
    for (int32_t i = 0; i < corridor->count; i++) {
        const int32_t point = corridor->first + i;
        const double left_m = (double)corridor->left_m;
        const double x = (double)paths->x_m[point] - left_m * (double)paths->sin_heading[point] - (double)at.x;
        const double y = (double)paths->y_m[point] + left_m * (double)paths->cos_heading[point] - (double)at.y;
        const double along = fabs(x * (double)ahead.x + y * (double)ahead.y) - half_length_m;
        const double across = fabs(y * (double)ahead.x - x * (double)ahead.y) - half_width_m;
        const double outside_m = (along > across ? along : across) - (double)corridor->half_width_m;
        if (fabs(outside_m) < 1e-3) return -2;
        if (outside_m < 0.0) return i;
    }
    return -1;
}

/* A corridor anywhere about the path, whose vehicle is beside it, too. */
static drv_corridor draw_corridor(street *in, test_rng *rng, int32_t round) {
    const float shift_m = round % 3 == 0 ? shift_path(in, rng) : 0.0f;
    const float left_m = round % 3 == 1 ? (float)rng_between(rng, -4, 4) : 0.0f;
    const float beside_m = round % 2 ? left_m : (float)rng_between(rng, -2, 2);
    put(in, OWN, (drv_point){in->path_x[5] - beside_m * in->path_sin[5], in->path_y[5] + beside_m * in->path_cos[5]},
        (drv_point){in->path_cos[5], in->path_sin[5]});
    drv_corridor corridor = drv_corridor_of(&in->world, &in->paths, 0, 5.2f * drv_path_pitch_m, OWN, 100.0f);
    corridor.left_m = left_m;
    corridor.shift_m = shift_m;
    return corridor;
}

/* Puts every second vehicle just beyond a point of the corridor, as seen from the corridor's vehicle. The point is then
 * at the near end of the grown box: first_overlap, which skips points by their distance, must not skip this one. */
static void put_in_the_way(street *in, test_rng *rng, const drv_corridor *corridor) {
    for (int32_t other = 0; other < VEHICLES; other += 2) {
        const int32_t point = corridor->first + 1 + rng_below(rng, 12);
        const float x = in->path_x[point] - corridor->left_m * in->path_sin[point];
        const float y = in->path_y[point] + corridor->left_m * in->path_cos[point];
        const drv_point ahead = drv_direction(
            atan2f(y - corridor->centre.y, x - corridor->centre.x) + (float)rng_between(rng, -0.4, 0.4));
        const float half_m = 0.5f * in->length_m[other] + (float)rng_between(rng, 0.0, 1.3);
        if (other != OWN) put(in, other, (drv_point){x + half_m * ahead.x, y + half_m * ahead.y}, ahead);
    }
}

TEST(a_vehicle_is_in_the_way_from_the_first_point_of_the_corridor_in_its_box) {
    static street in;
    test_rng rng = {5};
    const int32_t rounds = check_cases(3000);
    int32_t leads = 0, crossings = 0;
    for (int32_t round = 0; round < rounds; round++) {
        draw_street(&in, &rng);
        const drv_corridor corridor = draw_corridor(&in, &rng, round);
        put_in_the_way(&in, &rng, &corridor);
        for (int32_t other = 0; other < VEHICLES; other++) {
            if (other == OWN) continue;
            /* one ahead in the corridor: its middle, projected on the path, is ahead */
            const drv_point at = {in.x_m[other], in.y_m[other]}, ahead = {in.cosine[other], in.sine[other]};
            const double half_m = 0.5 * (double)in.length_m[other], half_width_m = 0.5 * (double)in.width_m[other];
            int32_t found = first_inside(&corridor, at, ahead, half_m, half_width_m);
            drv_lead lead;
            bool is_lead = drv_corridor_lead(&in.world, &corridor, other, &lead);
            if (found >= -1) {
                const int32_t point = corridor.first + found;
                const double centre_m = found < 0 ? -1.0 : (double)corridor.first_m + (double)drv_path_pitch_m * found +
                    (double)(at.x - in.path_x[point]) * (double)in.path_cos[point] +
                    (double)(at.y - in.path_y[point]) * (double)in.path_sin[point];
                if (fabs(centre_m) > 1e-3)
                    CHECK(is_lead == (centre_m > 0.0), "round %d: vehicle %d at %g m", round, other, centre_m);
                leads += is_lead;
            }

            /* one that crosses it: the gap is that of the first point */
            drv_crossing crossing;
            const double driven_m = (double)drv_forecast_m(in.speed_mps[other]);
            const float half_driven_m = (float)(0.5 * driven_m);
            const drv_point middle = {at.x + half_driven_m * ahead.x, at.y + half_driven_m * ahead.y};
            found = first_inside(&corridor, middle, ahead, half_m + 0.5 * driven_m, half_width_m);
            if (found == -2 || !drv_corridor_crossing(&in.world, &corridor, other, &crossing)) continue;
            crossings++;
            const double point_m = (double)(crossing.gap_m + corridor.half_length_m - corridor.first_m);
            CHECK(fabs(point_m - (double)drv_path_pitch_m * found) < 1e-3,
                  "round %d: vehicle %d crosses after %g m, not at point %d", round, other, (double)crossing.gap_m,
                  found);
        }
    }
    CHECK(leads > rounds / 10 && crossings > rounds / 10, "%d, %d", leads, crossings);
}
