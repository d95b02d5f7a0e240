/* Which goal does an agent have, and does it observe it? Each draw has a random stream of its own, so that it changes
 * no other one. */
#include "step/goals.h"

#include <stdbool.h>

#include "math/geometry.h"
#include "math/random.h"
#include "scene/goal_lane.h"

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

void drv_goals_place(drv_world *world, int32_t agent) {
    const bool exists = world->controller[agent] == DRV_CONTROLLER_AGENT;
    const drv_point goal = exists ? goal_of(world, agent) : (drv_point){0.0f, 0.0f};
    world->goal_x_m[agent] = goal.x;
    world->goal_y_m[agent] = goal.y;
    if (world->sizes.height_agents > 0) world->goal_z_m[agent] = goal_height(world, agent);
    if (world->sizes.next_goals == 0) return;
    const drv_goal_place place =
        exists ? drv_goal_nearest_lane(world->scene, goal, goal_height(world, agent)) : (drv_goal_place){-1, 0.0f};
    world->goal_lane[agent] = place.lane;
    world->goal_along_m[agent] = place.along_m;
}

void drv_goals_begin(drv_world *world) {
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) drv_goals_place(world, agent);
    for (int32_t agent = 0; agent < world->sizes.next_goals; agent++) world->goal_turns[agent] = 0;
    for (int32_t agent = 0; agent < world->sizes.counted_goals; agent++) world->goals_reached[agent] = 0;
}

/* ---- next goals ---- */

/* Limit on the lanes between two goals: through a cycle of lanes of length 0 the search would never end without it. */
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

/* The direction that the scene has for the heading of a goal; 0 where it has none. */
static drv_point own_direction(const drv_world *world, int32_t agent, int32_t number) {
    const drv_scene *scene = world->scene;
    const int32_t listed = drv_goals_listed(drv_goals_list(world, agent), number), start = drv_start_of(world, agent);
    const bool is_first = number == 0 || world->config->on_goal != DRV_NEXT; /* that of a start */
    if (listed >= 0) return (drv_point){scene->listed_direction_x[listed], scene->listed_direction_y[listed]};
    if (!is_first || !scene->has_goal_headings || scene->candidate_count > 0) return (drv_point){0.0f, 0.0f};
    return (drv_point){scene->goal_direction_x[start], scene->goal_direction_y[start]};
}

drv_point drv_goals_direction(const drv_world *world, int32_t agent, drv_goal goal) {
    const drv_point own = own_direction(world, agent, goal.number);
    if (own.x != 0.0f || own.y != 0.0f || goal.lane < 0) return own;
    return drv_lane_direction(&world->scene->lanes, goal.lane, goal.along_m);
}

/* Replaces a goal by its next one in the list of the agent; false after the last one. */
static bool follow_list(const drv_scene *scene, drv_goal_list list, drv_goal *goal) {
    const int32_t number = goal->number + 1;
    if (!list.repeats && number > list.count) return false;
    const int32_t listed = drv_goals_listed(list, number);
    *goal = (drv_goal){.at = {scene->listed_x_m[listed], scene->listed_y_m[listed]}, .lane = scene->listed_lane[listed],
                       .along_m = scene->listed_along_m[listed], .turns = goal->turns, .number = number};
    return true;
}

bool drv_goals_follow(const drv_world *world, int32_t agent, drv_goal *goal) {
    const drv_lanes *lanes = &world->scene->lanes;
    const drv_goal_list list = drv_goals_list(world, agent);
    drv_goal next = *goal;
    if (++next.number == world->config->max_goals) return false;
    if (list.count > 0) return follow_list(world->scene, list, goal);
    if (next.lane < 0) return false;

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

/* The height of the road at a goal that follows another one; NAN in a scene without heights. */
static float height_of(const drv_world *world, int32_t agent, const drv_goal *goal) {
    const drv_lanes *lanes = &world->scene->lanes;
    const int32_t listed = drv_goals_listed(drv_goals_list(world, agent), goal->number);
    if (!world->scene->has_height) return NAN;
    return listed >= 0 ? world->scene->listed_z_m[listed]
                       : drv_on_lane(lanes->z_m, drv_lane_part_at(lanes, goal->lane, goal->along_m));
}

int32_t drv_goals_ahead(const drv_world *world, int32_t agent, int32_t capacity, float *goal_m) {
    if (world->controller[agent] != DRV_CONTROLLER_AGENT || capacity == 0) return 0;
    goal_m[0] = world->goal_x_m[agent];
    goal_m[1] = world->goal_y_m[agent];
    goal_m[2] = world->scene->has_height ? world->goal_z_m[agent] : NAN;
    if (world->config->on_goal != DRV_NEXT) return 1;
    drv_goal goal = drv_goals_current(world, agent);
    int32_t count = 1;
    for (; count < capacity && drv_goals_follow(world, agent, &goal); count++) {
        goal_m[3 * count] = goal.at.x;
        goal_m[3 * count + 1] = goal.at.y;
        goal_m[3 * count + 2] = height_of(world, agent, &goal);
    }
    return count;
}

bool drv_goals_advance(drv_world *world, int32_t agent) {
    drv_goal goal = drv_goals_current(world, agent);
    world->goals_reached[agent]++;
    if (!drv_goals_follow(world, agent, &goal)) return false;
    world->goal_x_m[agent] = goal.at.x;
    world->goal_y_m[agent] = goal.at.y;
    if (world->scene->has_height) world->goal_z_m[agent] = height_of(world, agent, &goal);
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
