/* At which stop line does a rule-based vehicle have to stop? */
#include "step/stopping.h"

#include <math.h>

#include "step/corridor.h"
#include "step/rule_based.h"

/* For how long a vehicle stands before a stop sign. */
static const float stop_sign_s = 1.0f;

/* Counts the steps for which a vehicle has stood before the stop sign ahead of it; a vehicle that has stood long enough
 * may go until it is past the line. */
static int32_t counted_stand(const drv_world *world, int32_t path, float speed_mps, float sign_gap_m) {
    const int32_t steps = world->sign_steps[path];
    if (sign_gap_m > drv_stop_zone_m) return 0;
    if ((float)steps * world->scene->dt_s >= stop_sign_s) return steps;
    return speed_mps < drv_stop_speed_mps ? steps + 1 : 0;
}

/* Returns where a vehicle has to stop, and updates sign_steps. */
static float stop_of(drv_world *world, int32_t path, int32_t vehicle) {
    const drv_scene *scene = world->scene;
    const drv_stop_lines *lines = &scene->stop_lines;
    const float front_m = world->path_m[path] + 0.5f * scene->length_m[vehicle];
    const float speed_mps = world->speed_mps[vehicle], look_ahead_m = drv_look_ahead_m(speed_mps);
    const float hardest_mps2 = world->config->idm_hardest_braking_mps2;
    float stop_m = INFINITY, sign_m = INFINITY;
    for (int32_t i = lines->start[path]; i < lines->start[path + 1]; i++) {
        const float gap_m = lines->at_m[i] - front_m;
        if (!(gap_m > 0.0f && gap_m <= look_ahead_m)) continue;
        const int32_t control = lines->control[i];
        const uint8_t kind = scene->control_kind[control];
        if (kind == DRV_STOP_SIGN) sign_m = drv_smaller(sign_m, lines->at_m[i]);
        if (kind == DRV_TRAFFIC_LIGHT && drv_light_holds(world->light_state[control], hardest_mps2, speed_mps, gap_m))
            stop_m = drv_smaller(stop_m, lines->at_m[i]);
    }
    world->sign_steps[path] = counted_stand(world, path, speed_mps, sign_m - front_m);
    const bool has_stood = (float)world->sign_steps[path] * scene->dt_s >= stop_sign_s;
    return has_stood ? stop_m : drv_smaller(stop_m, sign_m);
}

void drv_stopping_update(drv_world *world, drv_scratch *scratch) {
    if (!drv_has_stop_lines(world)) return;
    const drv_scene *scene = world->scene;
    for (int32_t path = 0; path < scene->rule_based_count; path++) {
        const int32_t vehicle = drv_scene_rule_first(scene) + path;
        scratch->stop_m[path] = drv_follows_path(world, vehicle) ? stop_of(world, path, vehicle) : INFINITY;
    }
}
