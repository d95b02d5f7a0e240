/* Which goal does an agent have, and does it observe it? Each draw has a random stream of its own, so that it changes
 * no other one. */
#include "step/goals.h"

#include <stdbool.h>

#include "math/geometry.h"
#include "math/random.h"
#include "step/lane.h"

int32_t drv_goals_candidate(const drv_world *world, int32_t agent) {
    if (world->scene->candidate_count == 0) return 0;
    const uint64_t bits = drv_random_bits(*world->seed, *world->id, *world->episode, DRV_PURPOSE_GOAL, (uint32_t)agent);
    return (int32_t)drv_random_below(bits, (uint32_t)world->scene->candidate_count);
}

static drv_point goal_of(const drv_world *world, int32_t agent) {
    const drv_scene *scene = world->scene;
    const int32_t start = drv_start_of(world, agent);
    if (scene->candidate_count == 0) return (drv_point){scene->goal_x_m[start], scene->goal_y_m[start]};
    const int32_t drawn = drv_goals_candidate(world, agent);
    return (drv_point){scene->candidate_x_m[drawn], scene->candidate_y_m[drawn]};
}

/* The height of the road at the goal; 0 in a scene without heights. */
static float goal_height(const drv_world *world, int32_t agent) {
    const drv_scene *scene = world->scene;
    if (!scene->has_height || world->controller[agent] != DRV_CONTROLLER_AGENT) return 0.0f;
    return scene->candidate_count == 0 ? scene->goal_z_m[drv_start_of(world, agent)]
                                       : scene->candidate_z_m[drv_goals_candidate(world, agent)];
}

/* A point on a lane. */
typedef struct lane_point {
    int32_t lane; /* -1: none */
    float along_m;
} lane_point;

/* The point nearest to a goal on any lane within reach, and on its level. Searches the whole map, once per agent and
 * trial. */
static lane_point nearest_lane_point(const drv_lanes *lanes, drv_point at, float z_m) {
    lane_point best = {-1, 0.0f};
    float best2 = drv_lane_reach_m * drv_lane_reach_m;
    for (int32_t lane = 0; lane < lanes->road_count; lane++)
        for (int32_t i = lanes->point_start[lane]; i + 1 < lanes->point_start[lane + 1]; i++) {
            const drv_point from = {lanes->x_m[i], lanes->y_m[i]}, to = {lanes->x_m[i + 1], lanes->y_m[i + 1]};
            const float distance2 = drv_squared_distance_to_segment(at, from, to);
            if (!(distance2 < best2)) continue;
            const float dx = to.x - from.x, dy = to.y - from.y, length2 = dx * dx + dy * dy;
            const float share = length2 > 0.0f ? ((at.x - from.x) * dx + (at.y - from.y) * dy) / length2 : 0.0f;
            const drv_lane_part part = {i, i + 1, drv_clip(share, 0.0f, 1.0f)};
            if (lanes->z_m && fabsf(drv_on_lane(lanes->z_m, part) - z_m) > (float)DRV_LEVEL_HEIGHT_M) continue;
            const float step_m = lanes->arc_m[i + 1] - lanes->arc_m[i];
            best = (lane_point){lane, lanes->arc_m[i] + part.share * step_m};
            best2 = distance2;
        }
    return best;
}

void drv_goals_place(drv_world *world, int32_t agent) {
    const bool exists = world->controller[agent] == DRV_CONTROLLER_AGENT;
    const drv_point goal = exists ? goal_of(world, agent) : (drv_point){0.0f, 0.0f};
    world->goal_x_m[agent] = goal.x;
    world->goal_y_m[agent] = goal.y;
    if (world->sizes.height_agents > 0) world->goal_z_m[agent] = goal_height(world, agent);
    if (world->sizes.next_goals == 0) return;
    const lane_point place =
        exists ? nearest_lane_point(&world->scene->lanes, goal, goal_height(world, agent)) : (lane_point){-1, 0.0f};
    world->goal_lane[agent] = place.lane;
    world->goal_along_m[agent] = place.along_m;
}

void drv_goals_begin(drv_world *world) {
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) drv_goals_place(world, agent);
    for (int32_t agent = 0; agent < world->sizes.next_goals; agent++) world->goal_turns[agent] = 0;
    for (int32_t agent = 0; agent < world->sizes.counted_goals; agent++) world->goals_reached[agent] = 0;
}

/* ---- next goals ---- */

/* Limit on the lanes between two goals: without it the search would not end in a circle of lanes of length 0. */
enum { NEXT_LANE_LIMIT = 1024 };

/* Draws a successor of a lane; -1 where it has none. */
static int32_t next_lane(const drv_world *world, int32_t agent, int32_t lane, int32_t turn) {
    const drv_lanes *lanes = &world->scene->lanes;
    const int32_t first = lanes->successor_start[lane], count = lanes->successor_start[lane + 1] - first;
    if (count == 0) return -1;
    const uint32_t index = (uint32_t)turn * (DRV_OBJECT_LIMIT + 1) + (uint32_t)agent;
    const uint64_t bits = drv_random_bits(*world->seed, *world->id, *world->episode, DRV_PURPOSE_GOAL_NEXT, index);
    return lanes->successor[first + (int32_t)drv_random_below(bits, (uint32_t)count)];
}

drv_goal drv_goals_current(const drv_world *world, int32_t agent) {
    return (drv_goal){.at = {world->goal_x_m[agent], world->goal_y_m[agent]}, .lane = world->goal_lane[agent],
                      .along_m = world->goal_along_m[agent], .turns = world->goal_turns[agent],
                      .number = world->goals_reached[agent]};
}

bool drv_goals_follow(const drv_world *world, int32_t agent, drv_goal *goal) {
    const drv_lanes *lanes = &world->scene->lanes;
    drv_goal next = *goal;
    if (++next.number == world->config->max_goals || next.lane < 0) return false;

    /* follow the lanes for the length of the spacing */
    const int32_t last_turn = next.turns + NEXT_LANE_LIMIT;
    next.along_m += world->config->goal_spacing_m;
    for (float length_m; next.along_m > (length_m = drv_lane_length_m(lanes, next.lane)); next.turns++) {
        const int32_t lane = next.turns < last_turn ? next_lane(world, agent, next.lane, next.turns) : -1;
        if (lane < 0) return false;
        next.lane = lane;
        next.along_m -= length_m;
    }
    next.at = drv_lane_point(lanes, next.lane, next.along_m);
    *goal = next;
    return true;
}

bool drv_goals_advance(drv_world *world, int32_t agent) {
    const drv_lanes *lanes = &world->scene->lanes;
    drv_goal goal = drv_goals_current(world, agent);
    world->goals_reached[agent]++;
    if (!drv_goals_follow(world, agent, &goal)) return false;
    world->goal_x_m[agent] = goal.at.x;
    world->goal_y_m[agent] = goal.at.y;
    if (lanes->z_m)
        world->goal_z_m[agent] = drv_on_lane(lanes->z_m, drv_lane_part_at(lanes, goal.lane, goal.along_m));
    world->goal_lane[agent] = goal.lane;
    world->goal_along_m[agent] = goal.along_m;
    world->goal_turns[agent] = goal.turns;
    return true;
}

/* ---- observations ---- */

/* Whether the trial has come to its last goal_reveal_s, in which goals are observed; never with 0, not even in the last
 * observation. Half a step is subtracted, since the product of the steps and dt_s may round to either side of
 * goal_reveal_s. */
static bool is_near_end(const drv_world *world, int32_t elapsed_steps) {
    const float reveal_s = world->config->goal_reveal_s;
    const int32_t left_steps = world->scene->trial_steps - elapsed_steps;
    return reveal_s != 0.0f && ((float)left_steps - 0.5f) * world->scene->dt_s <= reveal_s;
}

/* Whether this is one of the trials that show the agent its goal, drawn with the config's share, and its delay is over.
 * One number draws both: where it is below the share, it is uniform from 0 to the share, and the delay is in
 * proportion. */
static bool is_shown(const drv_world *world, int32_t agent, int32_t elapsed_steps) {
    const float share = world->config->goal_reveal_share;
    if (share == 0.0f) return false;
    const uint32_t index = (uint32_t)*world->trial * (DRV_OBJECT_LIMIT + 1) + (uint32_t)agent; /* below 2^32 */
    const float drawn = drv_random_share(
        drv_random_bits(*world->seed, *world->id, *world->episode, DRV_PURPOSE_GOAL_REVEAL, index));
    const float elapsed_s = (float)elapsed_steps * world->scene->dt_s;
    return drawn < share && drawn * world->config->goal_reveal_delay_s <= elapsed_s * share;
}

bool drv_goals_is_revealed(const drv_world *world, int32_t agent) {
    const int32_t elapsed_steps = *world->clock_steps + *world->age_steps;
    return is_near_end(world, elapsed_steps) || is_shown(world, agent, elapsed_steps);
}
