/* What do traffic lights show, and which agents disobey lights and stop signs?
 *
 * A step is judged by what lights show at its start, which is what agents observed when they acted. An agent passes a
 * stop line with the middle of its front bumper. */
#include <math.h>

#include "math/bits.h"
#include "math/geometry.h"
#include "math/random.h"
#include "math/vector.h"
#include "step/height.h"
#include "step/phases.h"
#include "step/stopping.h"

/* ---- what lights show ---- */

/* A program repeats; after the end of a log its last state stays. Signs have neither, and show nothing. */
static uint8_t state_shown(const drv_world *world, int32_t control) {
    const drv_scene *scene = world->scene;
    const int32_t first = scene->control_phase_start[control], end = scene->control_phase_start[control + 1];
    const int32_t clock = *world->clock_steps, last = scene->frame_count - 1, frame = clock < last ? clock : last;
    if (first == end) return scene->control_state[(int64_t)frame * scene->control_count + control];
    const int32_t at = (clock + world->light_offset_steps[control]) % scene->control_phase_end[end - 1];
    int32_t phase = first;
    while (scene->control_phase_end[phase] <= at) phase++;
    return scene->control_phase_state[phase];
}

void drv_lights_show(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    if (world->sizes.traffic_controls == 0) return;
    for (int32_t control = 0; control < world->scene->control_count; control++)
        world->light_state[control] = state_shown(world, control);
}

/* The offset of a program in this episode: that of the scene, and a share of the cycle drawn for the junction. */
static int32_t offset_of(const drv_world *world, int32_t control) {
    const drv_scene *scene = world->scene;
    const int32_t first = scene->control_phase_start[control], end = scene->control_phase_start[control + 1];
    const int32_t junction = scene->control_junction[control], own = scene->control_offset_steps[control];
    if (first == end || junction < 0) return own;
    const int32_t cycle = scene->control_phase_end[end - 1];
    const uint64_t bits =
        drv_random_bits(*world->seed, *world->id, *world->episode, DRV_PURPOSE_LIGHTS, (uint32_t)junction);
    return (int32_t)(((int64_t)own + drv_random_below(bits, (uint32_t)cycle)) % cycle);
}

/* ---- violations ---- */

/* How the front bumper of an agent meets the stop lines near it in a step. */
typedef struct approach {
    bool crosses_red, crosses_other_light, crosses_stop_sign;
    bool is_near; /* ends before the line of a stop sign, within the stop zone */
} approach;

static drv_point front_bumper(float x_m, float y_m, drv_point ahead, float half_length_m) {
    return (drv_point){x_m + half_length_m * ahead.x, y_m + half_length_m * ahead.y};
}

/* Adds how a bumper that moves from one point to the other meets one line. */
static void meet_line(const drv_world *world, int32_t control, drv_point from, drv_point to, approach *found) {
    const drv_scene *scene = world->scene;
    const float *line_m = scene->control_line_m + 4 * (int64_t)control;
    const float length2 = drv_squared_line_length(line_m);
    const drv_line_place before = drv_place_by_line(line_m, from), after = drv_place_by_line(line_m, to);
    const uint8_t kind = scene->control_kind[control];

    if (drv_passes_line(before, after, length2)) {
        const bool is_red = world->light_state[control] == DRV_LIGHT_RED;
        found->crosses_red = found->crosses_red || (kind == DRV_TRAFFIC_LIGHT && is_red);
        found->crosses_other_light = found->crosses_other_light || (kind == DRV_TRAFFIC_LIGHT && !is_red);
        found->crosses_stop_sign = found->crosses_stop_sign || kind == DRV_STOP_SIGN;
    }
    found->is_near = found->is_near ||
                     (kind == DRV_STOP_SIGN && after.beyond < 0.0f &&
                      after.beyond * after.beyond <= drv_stop_zone_m * drv_stop_zone_m * length2 &&
                      after.from_left >= 0.0f && after.from_left <= length2);
}

static approach approach_of(const drv_world *world, int32_t agent, drv_point from, drv_point to) {
    const drv_scene *scene = world->scene;
    const float dx = to.x - from.x, dy = to.y - from.y;
    /* lines with their middle farther away are neither crossed nor near */
    const float reach_m = scene->control_reach_m + drv_stop_zone_m + sqrtf(dx * dx + dy * dy);
    const drv_floats x_m = drv_splat(to.x), y_m = drv_splat(to.y);
    approach found = {false, false, false, false};
    for (int32_t first = 0; first < scene->control_count; first += DRV_WIDTH) {
        const drv_floats distance2 =
            drv_squared_distances(scene->control_x_m + first, scene->control_y_m + first, x_m, y_m);
        for (uint32_t near = drv_movemask_le(distance2, reach_m * reach_m); near; near &= near - 1) {
            const int32_t control = first + drv_lowest_bit(near);
            if (scene->has_height && drv_differs_in_level(world, world->z_m[agent], scene->control_z_m[control]))
                continue;
            meet_line(world, control, from, to, &found);
        }
    }
    return found;
}

/* The front bumper of an agent at the end of the step. */
static drv_point bumper_after(const drv_world *world, int32_t agent) {
    return front_bumper(world->x_m[agent], world->y_m[agent],
                        (drv_point){world->cos_heading[agent], world->sin_heading[agent]},
                        0.5f * world->scene->length_m[agent]);
}

static drv_point bumper_before(const drv_world *world, int32_t agent) {
    return front_bumper(world->previous_x_m[agent], world->previous_y_m[agent],
                        drv_direction(world->previous_heading_rad[agent]), 0.5f * world->scene->length_m[agent]);
}

static bool is_slow(const drv_world *world, int32_t agent) {
    return fabsf(world->speed_mps[agent]) < drv_stop_speed_mps;
}

void drv_traffic_controls_detect(drv_world *world) {
    if (!drv_has_traffic_controls(world)) return;
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) {
        world->red_light_onset[agent] = world->stop_sign_onset[agent] = 0;
        if (world->status[agent] != DRV_DRIVING) continue;
        const approach found = approach_of(world, agent, bumper_before(world, agent), bumper_after(world, agent));
        const bool had_stopped = world->stopped_at_sign[agent];
        /* Lights of several lanes that begin at one line do not show which lane the agent follows: one of them that is
         * not red excuses it. */
        world->red_light_onset[agent] = found.crosses_red && !found.crosses_other_light;
        world->stop_sign_onset[agent] = found.crosses_stop_sign && !had_stopped;
        world->stopped_at_sign[agent] = found.is_near && (had_stopped || is_slow(world, agent));
    }
}

/* An agent that is slow where it appears has stopped there, as far as a stop sign is concerned. */
static bool has_stopped_at_start(const drv_world *world, int32_t agent) {
    const drv_point bumper = bumper_after(world, agent);
    return is_slow(world, agent) && approach_of(world, agent, bumper, bumper).is_near;
}

void drv_traffic_controls_place(drv_world *world, int32_t agent) {
    if (drv_has_traffic_controls(world)) world->stopped_at_sign[agent] = has_stopped_at_start(world, agent);
}

void drv_traffic_controls_begin(drv_world *world, drv_scratch *scratch) {
    for (int32_t control = 0; control < world->sizes.traffic_controls; control++) {
        world->light_state[control] = DRV_LIGHT_OFF;
        world->light_offset_steps[control] = control < world->scene->control_count ? offset_of(world, control) : 0;
    }
    for (int32_t agent = 0; agent < world->sizes.control_agents; agent++) {
        world->red_light_onset[agent] = world->stop_sign_onset[agent] = 0;
        world->had_red_light[agent] = world->had_stop_sign[agent] = 0;
        const bool exists = world->controller[agent] == DRV_CONTROLLER_AGENT;
        world->stopped_at_sign[agent] = exists && has_stopped_at_start(world, agent);
    }
    drv_lights_show(world, scratch);
}
