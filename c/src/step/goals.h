/* Which goal does an agent have, and does it observe it? */
#ifndef DRV_STEP_GOALS_H
#define DRV_STEP_GOALS_H

#include <math.h>

#include "math/geometry.h"
#include "platform/isa.h"
#include "step/respawn.h"
#include "step/state.h"
#include "view/layout.h"

/* The candidate goal of an agent in this episode; 0 where the scene has none. The draw does not depend on the trial, so
 * it is the same in all of them. */
DRV_STEP_API int32_t drv_goals_candidate(const drv_world *world, int32_t agent);

/* Sets the goal of every agent at the start of a trial: its own, or one of the scene's candidates. */
DRV_STEP_API void drv_goals_begin(drv_world *world);

/* Sets the goal of one agent: that of its start, or one of the scene's candidates. */
DRV_STEP_API void drv_goals_place(drv_world *world, int32_t agent);

/* Whether an agent has no goal left in this trial, or none until it respawns. */
static inline _Bool drv_goals_are_done(const drv_world *world, int32_t agent) {
    if (!world->had_goal[agent] || world->config->on_goal == DRV_NEXT) return 0;
    return world->config->on_goal != DRV_RESPAWN || drv_awaits_respawn(world, agent);
}

/* A goal of an agent, and its place along the lanes. */
typedef struct drv_goal {
    drv_point at;
    int32_t lane; /* its road; -1: it is on no lane */
    float along_m;
    int32_t turns;  /* lanes passed since the first goal */
    int32_t number; /* of goals before it in the trial */
} drv_goal;

/* The current goal of an agent, where goals have lanes. */
DRV_STEP_API drv_goal drv_goals_current(const drv_world *world, int32_t agent);

/* The goals of an agent after its first one, where the scene lists them. */
typedef struct drv_goal_list {
    int32_t first, count; /* count 0: there is no list, and goals follow along the lanes */
    _Bool repeats;
} drv_goal_list;

/* The list of an agent; only with on_goal DRV_NEXT do goals follow one another. */
static inline drv_goal_list drv_goals_list(const drv_world *world, int32_t agent) {
    const drv_scene *scene = world->scene;
    if (scene->listed_count == 0 || world->config->on_goal != DRV_NEXT) return (drv_goal_list){0, 0, 0};
    const int32_t first = scene->listed_start[agent];
    return (drv_goal_list){first, scene->listed_start[agent + 1] - first, scene->listed_repeats[agent] != 0};
}

/* The index of a goal of the scene's lists, by the number of goals before it in the trial; the last one for higher
 * numbers, -1 for the first goal and without a list. */
static inline int32_t drv_goals_listed(drv_goal_list list, int32_t number) {
    if (list.count == 0 || number == 0) return -1;
    if (list.repeats) return list.first + (number - 1) % list.count;
    return list.first + (number < list.count ? number : list.count) - 1;
}

/* The number of goals that the list of an agent gives it in a trial; 0 without a list, and where it has no end. */
static inline int32_t drv_goals_total(const drv_world *world, int32_t agent) {
    const drv_goal_list list = drv_goals_list(world, agent);
    const int32_t most = world->config->max_goals;
    if (list.count == 0 || list.repeats) return list.count > 0 ? most : 0;
    return most > 0 && most <= list.count ? most : list.count + 1;
}

/* The direction of a goal: that of its heading or, where it has none of its own, of the lane there; 0 without both. */
DRV_STEP_API drv_point drv_goals_direction(const drv_world *world, int32_t agent, drv_goal goal);

/* Replaces a goal by its next one: the one after it in the list of the agent or, without a list, goal_spacing_m further
 * along the lanes, at each fork on a drawn one. Returns false, and leaves the goal as it is, after max_goals, at the
 * end of a list that does not repeat, and without a list where lanes end and where it is on no lane. */
DRV_STEP_API _Bool drv_goals_follow(const drv_world *world, int32_t agent, drv_goal *goal) __attribute__((noinline));

/* Writes x, y and the height of the road of the current goal of an agent and of those that follow it, 3 numbers a goal;
 * returns how many there are, up to `capacity`. Heights are NAN in a scene without them. */
DRV_STEP_API int32_t drv_goals_ahead(const drv_world *world, int32_t agent, int32_t capacity, float *goal_m);

/* Counts the goal that an agent has reached, and sets its next one. Returns false where there is none. */
DRV_STEP_API _Bool drv_goals_advance(drv_world *world, int32_t agent) __attribute__((noinline));

/* Whether an agent observes its goal where the config hides goals. Not inlined: its caller would be slower where it is
 * not called. */
DRV_STEP_API _Bool drv_goals_is_revealed(const drv_world *world, int32_t agent) __attribute__((noinline));

/* Whether an agent observes its goal. */
static inline _Bool drv_goals_is_observed(const drv_world *world, int32_t agent) {
    return world->config->goal_reveal_s < 0.0f || drv_goals_is_revealed(world, agent);
}

/* The goal of an agent in the frame of another one, or in its own. */
static inline drv_point drv_goals_in_frame(const drv_world *world, int32_t of, int32_t agent) {
    const float dx = world->goal_x_m[of] - world->x_m[agent], dy = world->goal_y_m[of] - world->y_m[agent];
    const float c = world->cos_heading[agent], s = world->sin_heading[agent];
    return (drv_point){dx * c + dy * s, dy * c - dx * s};
}

/* Writes the features EGO_GOAL_X to EGO_GOAL_DISTANCE of a goal in the frame of its agent, scaled. */
static inline void drv_goals_write(const drv_head_scales *head, drv_point goal, float *out) {
    const float goal_m = sqrtf(goal.x * goal.x + goal.y * goal.y), per_m = goal_m > 0.0f ? 1.0f / goal_m : 0.0f;
    const float values[] = {goal.x, goal.y, goal.x * per_m, goal.y * per_m, goal_m};
    for (int32_t i = 0; i <= EGO_GOAL_DISTANCE - EGO_GOAL_X; i++)
        out[i] = drv_clip(values[i] * head->scale[EGO_GOAL_X + i], head->low[EGO_GOAL_X + i], 1.0f);
}

#endif
