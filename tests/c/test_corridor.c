/* Are the candidates of a corridor all vehicles that are in its way? Against a test of every vehicle on the map. */
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
