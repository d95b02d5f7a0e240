/* Where does an agent that has reached its goal drive on? With on_goal DRV_RESPAWN it appears at the start of any agent
 * of the scene, drawn from those that are free, and has the goal that belongs to that start. Until a start is free, it
 * drives on where it is.
 *
 * Rewards and metrics of the step are computed before, and the poses before the next step are those at the start, so
 * the distance between the two places is in no fact. */
#include "step/respawn.h"

#include "math/geometry.h"
#include "math/random.h"
#include "step/goals.h"
#include "step/height.h"
#include "step/hidden.h"
#include "step/phases.h"
#include "step/proximity.h"
#include "step/vehicle_box.h"
#include "view/encoding.h"

/* A start is not free if another vehicle is nearer than this: the forecast, in which all hold speed and heading, leaves
 * no margin of its own. */
static const float free_gap_m = 2.0f;

void drv_respawn_begin(drv_world *world) {
    for (int32_t agent = 0; agent < world->sizes.respawn_agents; agent++) {
        world->respawns[agent] = 0;
        world->start_of[agent] = agent;
    }
}

/* ---- the start ---- */

/* The displacement at a constant velocity within the time for which collisions are forecast. */
static drv_point forecast(float speed_mps, drv_point ahead) {
    const float path_m = drv_collision_horizon_s * speed_mps;
    return (drv_point){path_m * ahead.x, path_m * ahead.y};
}

/* Whether an agent would be clear of all vehicles at a start: of where they are, and of where they will be if all hold
 * speed and heading. */
static bool is_free(const drv_world *world, int32_t agent, int32_t start) {
    const drv_scene *scene = world->scene;
    const drv_point ahead = drv_direction(scene->start_heading_rad[start]);
    const drv_box own = {{scene->start_x_m[start], scene->start_y_m[start]}, ahead,
                         0.5f * scene->length_m[agent], 0.5f * scene->width_m[agent]};
    const drv_point own_path = forecast(drv_start_speed_mps(scene, world->config, start), ahead);
    for (int32_t vehicle = 0; vehicle < scene->vehicle_count; vehicle++) {
        if (!world->present[vehicle] || vehicle == agent) continue;
        if (scene->has_height && drv_differs_in_level(world, scene->start_z_m[start], world->z_m[vehicle])) continue;

        /* skipped if the bounding circles of both stay apart within the time */
        const drv_box other = drv_vehicle_box(world, vehicle);
        const drv_point path = forecast(world->speed_mps[vehicle], other.ahead);
        const drv_point relative = {own_path.x - path.x, own_path.y - path.y};
        const drv_point end = {own.centre.x + relative.x, own.centre.y + relative.y};
        const float reach_m = scene->radius_m[agent] + scene->radius_m[vehicle] + free_gap_m;
        if (drv_squared_distance_to_segment(other.centre, own.centre, end) > reach_m * reach_m) continue;

        if (drv_boxes_distance(own, other) < free_gap_m) return false;
        if (drv_swept_boxes_overlap(own, relative, other)) return false;
    }
    return true;
}

/* Draws one of the starts that are free for an agent: those of agents of its kind; -1 where none is. All are equally
 * likely, since it is the free one with the lowest of independent draws. The draws do not depend on the trial. */
static int32_t draw_start(const drv_world *world, int32_t agent) {
    const drv_scene *scene = world->scene;
    const uint64_t of_agent =
        drv_random_bits(*world->seed, *world->id, *world->episode, DRV_PURPOSE_RESPAWN, (uint32_t)agent);
    const uint64_t key = drv_random_draw(of_agent, (uint32_t)world->respawns[agent]);
    uint64_t lowest = UINT64_MAX;
    int32_t best = -1;
    for (int32_t start = 0; start < scene->num_agents; start++) {
        const uint64_t drawn = drv_random_draw(key, (uint32_t)start);
        if (drawn >= lowest || scene->kind[start] != scene->kind[agent] || !is_free(world, agent, start)) continue;
        lowest = drawn;
        best = start;
    }
    return best;
}

/* ---- the agent there ---- */

/* Puts an agent at a start, as at the start of a trial. The counts and sums of its trial, its hidden values and its
 * disturbances stay. */
static void place(drv_world *world, int32_t agent, int32_t start) {
    /* the vehicle, as if it had been there before the step, too */
    drv_traffic_place(world, agent, start);
    world->previous_x_m[agent] = world->x_m[agent];
    world->previous_y_m[agent] = world->y_m[agent];
    world->previous_heading_rad[agent] = world->heading_rad[agent];
    if (world->sizes.has_hidden) drv_hidden_place(world, agent);

    /* its goal, and what the next step compares with */
    world->respawns[agent]++;
    world->start_of[agent] = start;
    drv_goals_place(world, agent);
    drv_events_place(world, agent);
    drv_traffic_controls_place(world, agent);
    drv_measures_place(world, agent);
    if (world->sizes.detailed_agents > 0) world->brakes_hard[agent] = 0;
}

void drv_respawn_agents(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    if (world->sizes.respawn_agents == 0 || *world->pending != DRV_GOES_ON) return;
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) {
        if (world->status[agent] != DRV_DRIVING || !drv_awaits_respawn(world, agent)) continue;
        const int32_t start = draw_start(world, agent);
        if (start >= 0) place(world, agent, start);
    }
}
